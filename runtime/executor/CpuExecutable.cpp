//===- CpuExecutable.cpp - plans on the CPU -------------------------------===//
// Loading turns every step into calls with all but addresses fixed; a run fills
// the table of buffer addresses and goes through the steps.
#include "Backend.h"
#include "PlanQueries.h"
#include "gcompile/cpu/Routine.h"

#include <algorithm>
#include <chrono>
#include <cstring>

namespace gcompile {
namespace {

using cpu::KernelFunction;
using cpu::Routine;
using plan::Buffer;
using plan::BufferKind;

/// Elements that a thread should at least handle for a wake-up to pay.
constexpr int64_t kElementsPerChunk = 1 << 14;

constexpr int64_t kAlignment = 64;

int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A step made ready to run.
struct BoundStep {
  const plan::Step *step;
  std::unique_ptr<Routine> routine;
  KernelFunction kernel = nullptr;
  int64_t grain = 1;
  std::vector<std::vector<BoundStep>> branches;
  double seconds = 0; ///< of the last profiled run
  int64_t numRuns = 0;
};

void *dataOf(const std::shared_ptr<Storage> &storage) {
  return storage->mutableData();
}

/// Whether kernels, which assume it of every buffer, may read the tensor.
bool isNaturallyAligned(const Tensor &tensor) {
  auto address = reinterpret_cast<uintptr_t>(tensor.data());
  return address % static_cast<uintptr_t>(
                       std::min<int64_t>(byteWidth(tensor.dtype), 8)) ==
         0;
}

class CpuExecutable : public ExecutableBackend {
public:
  using ExecutableBackend::ExecutableBackend;

  void load(const WeightResolver &resolve) override;
  std::vector<Tensor> run(std::span<const Tensor> inputs,
                          const RunOptions &options) override;
  Tensor state(size_t buffer) const override { return weights[buffer]; }
  int64_t workspaceBytes() const override {
    return static_cast<int64_t>(workspace->numBytes());
  }
  std::vector<StepTime> profile() const override {
    std::vector<StepTime> times;
    collectTimes(forward, times);
    return times;
  }

private:
  // Loading.
  std::vector<BoundStep> bind(const std::vector<plan::Step> &steps);
  int64_t workspaceBytes(const std::vector<BoundStep> &steps) const;
  void fetchWeights(const WeightResolver &resolve);
  void fetchWeight(size_t index, const WeightResolver &resolve);
  void runPrepare();
  void releasePrepareWeights();
  void placeArena(const std::shared_ptr<Storage> &memory);
  void stageMutations();

  // Running.
  void runSteps(std::vector<BoundStep> &steps, const RunOptions &options);
  void runStep(BoundStep &step, const RunOptions &options);
  void runLaunch(const plan::Launch &launch, const BoundStep &step);
  std::vector<Tensor> makeOutputs(std::vector<Tensor> &direct);
  void mutate(std::span<const Tensor> inputs);

  void *&address(int64_t index) {
    return addresses[static_cast<size_t>(index)];
  }

  std::vector<KernelFunction> kernels;
  std::vector<BoundStep> prepare, forward;
  std::vector<void *> addresses; ///< of the buffers, by index
  std::vector<void *> arguments; ///< of the launch that is running
  std::vector<Tensor> weights;   ///< by buffer; keeps their memory
  std::shared_ptr<Storage> prepared, arena, workspace;
  /// Copies of mutation sources that another mutation overwrites, by mutation.
  std::vector<std::shared_ptr<Storage>> staged;
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void CpuExecutable::load(const WeightResolver &resolve) {
  kernels =
      options.compiler->compile(plan.kernels, *options.pool).valueOrThrow();
  addresses.assign(plan.buffers.size(), nullptr);
  prepare = bind(plan.prepare.steps);
  forward = bind(plan.forward.steps);
  workspace = Storage::allocate(static_cast<size_t>(
      std::max(workspaceBytes(prepare), workspaceBytes(forward))));

  fetchWeights(resolve);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Constant)
      // Kernels only read constants; the table has one type for all buffers.
      addresses[i] = const_cast<uint8_t *>(plan.buffers[i].data.data());
  runPrepare();
  releasePrepareWeights();
  arena = Storage::allocate(static_cast<size_t>(plan.forward.arenaBytes));
  placeArena(arena);
  stageMutations();
}

std::vector<BoundStep>
CpuExecutable::bind(const std::vector<plan::Step> &steps) {
  std::vector<BoundStep> bound;
  for (const plan::Step &step : steps) {
    BoundStep &result = bound.emplace_back(BoundStep{&step});
    if (step.library) {
      auto routine = cpu::bindRoutine(*step.library);
      if (!routine.ok())
        failStep(step, routine.error());
      result.routine = std::move(*routine);
    }
    if (step.launch) {
      result.kernel = kernels[static_cast<size_t>(step.launch->kernel)];
      result.grain = std::max<int64_t>(
          1, kElementsPerChunk /
                 std::max<int64_t>(1, step.launch->elementsPerIteration));
      arguments.resize(
          std::max(arguments.size(), step.launch->arguments.size()));
    }
    for (const std::vector<plan::Step> &branch : step.branches)
      result.branches.push_back(bind(branch));
  }
  return bound;
}

int64_t
CpuExecutable::workspaceBytes(const std::vector<BoundStep> &steps) const {
  int64_t bytes = 0;
  for (const BoundStep &step : steps) {
    if (step.routine)
      bytes =
          std::max(bytes, step.routine->workspaceBytes(pool().numThreads()));
    if (step.step->launch)
      bytes = std::max(bytes, alignUp(step.step->launch->scratchBytes) *
                                  pool().numThreads());
    for (const std::vector<BoundStep> &branch : step.branches)
      bytes = std::max(bytes, workspaceBytes(branch));
  }
  return bytes;
}

void CpuExecutable::fetchWeights(const WeightResolver &resolve) {
  weights.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Weight ||
        plan.buffers[i].kind == BufferKind::State)
      fetchWeight(i, resolve);
}

void CpuExecutable::fetchWeight(size_t index, const WeightResolver &resolve) {
  const Buffer &buffer = plan.buffers[index];
  Tensor tensor = resolveWeight(buffer, resolve);
  info.totalBytes += buffer.numBytes;
  if (buffer.kind == BufferKind::State || !tensor.isContiguous() ||
      (tensor.numElements() > 0 && !isNaturallyAligned(tensor))) {
    tensor = privateCopy(tensor, pool());
    info.copiedBytes += buffer.numBytes;
  }
  // Kernels only write to state, which is a private copy.
  addresses[index] = const_cast<std::byte *>(
      tensor.numElements() > 0 ? tensor.data() : nullptr);
  weights[index] = std::move(tensor);
}

void CpuExecutable::runPrepare() {
  info.preparedBytes = plan.preparedBytes;
  prepared = Storage::allocate(static_cast<size_t>(plan.preparedBytes));
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Prepared)
      addresses[i] =
          static_cast<std::byte *>(dataOf(prepared)) + plan.buffers[i].offset;
  auto temporary =
      Storage::allocate(static_cast<size_t>(plan.prepare.arenaBytes));
  placeArena(temporary);
  runSteps(prepare, {});
  prepare.clear();
}

/// Sets the addresses of the buffers that lie within `memory`. One that does
/// not is the other entry's.
void CpuExecutable::placeArena(const std::shared_ptr<Storage> &memory) {
  const auto areaBytes = static_cast<int64_t>(memory->numBytes());
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::Arena)
      continue;
    const bool isInside =
        buffer.offset >= 0 && buffer.offset <= areaBytes - buffer.numBytes;
    addresses[i] = isInside ? memory->mutableData() + buffer.offset : nullptr;
  }
}

void CpuExecutable::releasePrepareWeights() {
  const std::vector<bool> used = usedInForward(plan);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Weight && !used[i]) {
      weights[i] = {};
      addresses[i] = nullptr;
    }
}

void CpuExecutable::stageMutations() {
  const std::vector<bool> overwritten = overwrittenSources(plan);
  staged.resize(plan.mutations.size());
  for (size_t i = 0; i < plan.mutations.size(); ++i)
    if (overwritten[i])
      staged[i] = Storage::allocate(
          static_cast<size_t>(buffer(plan.mutations[i].source).numBytes));
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::vector<Tensor> CpuExecutable::run(std::span<const Tensor> inputs,
                                       const RunOptions &runOptions) {
  checkInputs(plan, inputs);
  if (runOptions.profile)
    clearTimes(forward);
  // Keeps row-major copies of inputs, and the outputs that steps write
  // directly, by buffer.
  std::vector<Tensor> rowMajor(plan.inputs.size());
  std::vector<Tensor> direct(plan.buffers.size());
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (plan.inputs[i].buffer < 0 || inputs[i].numElements() == 0)
      continue;
    rowMajor[i] = inputs[i].isContiguous() && isNaturallyAligned(inputs[i])
                      ? inputs[i]
                      : privateCopy(inputs[i], pool());
    address(plan.inputs[i].buffer) =
        const_cast<std::byte *>(rowMajor[i].data());
  }
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Output) {
      direct[i] = Tensor::empty(plan.buffers[i].dtype, plan.buffers[i].sizes);
      addresses[i] = dataOf(direct[i].storage);
      if (options.poison)
        std::memset(addresses[i], 0xff, direct[i].storage->numBytes());
    }
  if (options.poison) {
    std::memset(dataOf(arena), 0xff, arena->numBytes());
    std::memset(dataOf(workspace), 0xff, workspace->numBytes());
  }
  runSteps(forward, runOptions);
  std::vector<Tensor> outputs = makeOutputs(direct);
  mutate(inputs);
  return outputs;
}

void CpuExecutable::runSteps(std::vector<BoundStep> &steps,
                             const RunOptions &runOptions) {
  for (BoundStep &step : steps) {
    if (!runOptions.profile) {
      runStep(step, runOptions);
      continue;
    }
    auto start = std::chrono::steady_clock::now();
    runStep(step, runOptions);
    std::chrono::duration<double> seconds =
        std::chrono::steady_clock::now() - start;
    step.seconds += seconds.count();
    ++step.numRuns;
  }
}

void CpuExecutable::runStep(BoundStep &step, const RunOptions &runOptions) {
  auto holds = [&] {
    return *static_cast<const uint8_t *>(address(step.step->predicate)) != 0;
  };
  if (step.step->control == "cond") {
    runSteps(step.branches[holds() ? 0 : 1], runOptions);
  } else if (step.step->control == "while") {
    for (;;) {
      runSteps(step.branches[0], runOptions);
      if (!holds())
        break;
      runSteps(step.branches[1], runOptions);
    }
  }
  if (step.routine)
    step.routine->run({addresses.data(), pool(),
                       static_cast<std::byte *>(dataOf(workspace)),
                       runOptions.seed});
  if (step.step->launch)
    runLaunch(*step.step->launch, step);
}

void CpuExecutable::runLaunch(const plan::Launch &launch,
                              const BoundStep &step) {
  for (size_t i = 0; i < launch.arguments.size(); ++i)
    arguments[i] = address(launch.arguments[i]);
  auto *scratch = static_cast<std::byte *>(dataOf(workspace));
  const int64_t scratchBytes = alignUp(launch.scratchBytes);
  pool().parallelFor(launch.extent, step.grain,
                     [&](int64_t begin, int64_t end, int thread) {
                       step.kernel(arguments.data(), begin, end,
                                   scratch + thread * scratchBytes);
                     });
}

std::vector<Tensor> CpuExecutable::makeOutputs(std::vector<Tensor> &direct) {
  std::vector<Tensor> outputs;
  outputs.reserve(plan.outputs.size());
  for (const plan::OutputBinding &binding : plan.outputs) {
    Tensor output{binding.dtype, binding.sizes, binding.strides, 0, nullptr};
    if (buffer(binding.buffer).kind == BufferKind::Output &&
        output.isContiguous()) {
      output.storage = direct[static_cast<size_t>(binding.buffer)].storage;
    } else {
      output.storage = Storage::allocate(static_cast<size_t>(
          spanOf(output.sizes, output.strides) * byteWidth(output.dtype)));
      if (output.numElements() > 0)
        copyInto(output, address(binding.buffer), pool());
    }
    outputs.push_back(std::move(output));
  }
  return outputs;
}

void CpuExecutable::mutate(std::span<const Tensor> inputs) {
  std::vector<const void *> sources;
  for (size_t i = 0; i < plan.mutations.size(); ++i) {
    const void *source = address(plan.mutations[i].source);
    if (staged[i]) {
      std::memcpy(dataOf(staged[i]), source, staged[i]->numBytes());
      source = dataOf(staged[i]);
    }
    sources.push_back(source);
  }
  for (size_t i = 0; i < plan.mutations.size(); ++i) {
    const plan::Mutation &mutation = plan.mutations[i];
    const Buffer &target = buffer(mutation.target);
    if (target.numBytes == 0)
      continue;
    Tensor tensor = target.kind == BufferKind::Input
                        ? inputs[static_cast<size_t>(target.index)]
                        : weights[static_cast<size_t>(mutation.target)];
    if (sources[i] != tensor.data())
      copyInto(tensor, sources[i], pool());
  }
}

} // namespace

std::unique_ptr<ExecutableBackend>
makeCpuExecutable(plan::Plan plan, const LoadOptions &options) {
  return std::make_unique<CpuExecutable>(std::move(plan), options);
}

} // namespace gcompile
