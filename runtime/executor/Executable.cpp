//===- Executable.cpp - a plan that can be run ----------------------------===//
// Loading turns every step into calls with all but addresses fixed; a run fills
// the table of buffer addresses and goes through the steps.
#include "gcompile/executor/Executable.h"

#include "gcompile/cpu/Routine.h"
#include "gcompile/cpu/StridedCopy.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

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

/// Copies a row-major buffer into a tensor of the same sizes.
void copyInto(Tensor &target, const void *source, cpu::ThreadPool &pool) {
  cpu::StridedCopy(byteWidth(target.dtype), target.sizes,
                   contiguousStrides(target.sizes), target.strides)
      .run(source, target.mutableData(), pool);
}

/// A row-major, aligned copy in memory of its own.
Tensor privateCopy(const Tensor &tensor, cpu::ThreadPool &pool) {
  Tensor copy = Tensor::empty(tensor.dtype, tensor.sizes);
  if (tensor.numElements() > 0)
    cpu::StridedCopy(byteWidth(tensor.dtype), tensor.sizes, tensor.strides,
                     copy.strides)
        .run(tensor.data(), copy.mutableData(), pool);
  return copy;
}

std::string describe(DType dtype, const std::vector<int64_t> &sizes) {
  return fmt::format("{}[{}]", shortName(dtype), fmt::join(sizes, ", "));
}

void clearTimes(std::vector<BoundStep> &steps) {
  for (BoundStep &step : steps) {
    step.seconds = 0;
    step.numRuns = 0;
    for (std::vector<BoundStep> &branch : step.branches)
      clearTimes(branch);
  }
}

void collectTimes(const std::vector<BoundStep> &steps,
                  std::vector<StepTime> &times) {
  for (const BoundStep &step : steps) {
    if (step.numRuns > 0)
      times.push_back({step.step, step.seconds, step.numRuns});
    for (const std::vector<BoundStep> &branch : step.branches)
      collectTimes(branch, times);
  }
}

/// Elements from the first to the last of a tensor with these strides, 0 if
/// empty.
int64_t spanOf(const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0)
      return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

} // namespace

struct Executable::Impl {
  Impl(plan::Plan plan, const LoadOptions &options)
      : plan(std::move(plan)), options(options) {}

  const plan::Plan plan;
  const LoadOptions options;
  std::vector<KernelFunction> kernels;
  std::vector<BoundStep> prepare, forward;

  std::vector<void *> addresses; ///< of the buffers, by index
  std::vector<void *> arguments; ///< of the launch that is running
  std::vector<Tensor> weights;   ///< by buffer; keeps their memory
  std::shared_ptr<Storage> prepared, arena, workspace;
  /// Copies of mutation sources that another mutation overwrites, by mutation.
  std::vector<std::shared_ptr<Storage>> staged;
  WeightsInfo info;

  cpu::ThreadPool &pool() const { return *options.pool; }
  const Buffer &buffer(int64_t index) const {
    return plan.buffers[static_cast<size_t>(index)];
  }
  void *&address(int64_t index) {
    return addresses[static_cast<size_t>(index)];
  }

  // Loading.
  void load(const WeightResolver &resolve);
  std::vector<BoundStep> bind(const std::vector<plan::Step> &steps);
  int64_t workspaceBytes(const std::vector<BoundStep> &steps) const;
  void fetchWeights(const WeightResolver &resolve);
  void fetchWeight(size_t index, const WeightResolver &resolve);
  void runPrepare();
  void releasePrepareWeights();
  void placeArena(const std::shared_ptr<Storage> &memory);
  void stageMutations();

  // Running.
  void checkInputs(std::span<const Tensor> inputs) const;
  std::vector<Tensor> run(std::span<const Tensor> inputs,
                          const RunOptions &options);
  void runSteps(std::vector<BoundStep> &steps, const RunOptions &options);
  void runStep(BoundStep &step, const RunOptions &options);
  void runLaunch(const plan::Launch &launch, const BoundStep &step);
  std::vector<Tensor> makeOutputs(std::vector<Tensor> &direct);
  void mutate(std::span<const Tensor> inputs);
};

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void Executable::Impl::load(const WeightResolver &resolve) {
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
Executable::Impl::bind(const std::vector<plan::Step> &steps) {
  std::vector<BoundStep> bound;
  for (const plan::Step &step : steps) {
    BoundStep &result = bound.emplace_back(BoundStep{&step});
    if (step.library) {
      auto routine = cpu::bindRoutine(*step.library);
      if (!routine.ok()) {
        Error error = routine.error();
        error.notes.push_back(fmt::format("in step '{}' of nodes {}", step.name,
                                          fmt::join(step.nodes, ", ")));
        throw ErrorException(std::move(error));
      }
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
Executable::Impl::workspaceBytes(const std::vector<BoundStep> &steps) const {
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

void Executable::Impl::fetchWeights(const WeightResolver &resolve) {
  weights.resize(plan.buffers.size());
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Weight ||
        plan.buffers[i].kind == BufferKind::State)
      fetchWeight(i, resolve);
}

void Executable::Impl::fetchWeight(size_t index,
                                   const WeightResolver &resolve) {
  const Buffer &buffer = plan.buffers[index];
  Tensor tensor = resolve(buffer.weight).valueOrThrow();
  if (tensor.dtype != buffer.dtype || tensor.sizes != buffer.sizes)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("weight '{}' is not the one that the model was "
                           "compiled for",
                           buffer.weight),
               "pass the weights that belong to this model, or compile again",
               {"expected " + describe(buffer.dtype, buffer.sizes),
                "found " + tensor.describe()});
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

void Executable::Impl::runPrepare() {
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
void Executable::Impl::placeArena(const std::shared_ptr<Storage> &memory) {
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

void Executable::Impl::releasePrepareWeights() {
  std::vector<bool> used(plan.buffers.size(), false);
  auto use = [&](int64_t index) {
    if (index >= 0)
      used[static_cast<size_t>(index)] = true;
  };
  auto useSteps = [&](const std::vector<plan::Step> &steps,
                      auto &&self) -> void {
    for (const plan::Step &step : steps) {
      if (step.library) {
        for (const plan::TensorRef &ref : step.library->inputs)
          use(ref.buffer);
        for (const plan::TensorRef &ref : step.library->outputs)
          use(ref.buffer);
      }
      if (step.launch)
        for (int64_t argument : step.launch->arguments)
          use(argument);
      use(step.predicate);
      for (const std::vector<plan::Step> &branch : step.branches)
        self(branch, self);
    }
  };
  useSteps(plan.forward.steps, useSteps);
  for (const plan::OutputBinding &output : plan.outputs)
    use(output.buffer);
  for (const plan::Mutation &mutation : plan.mutations)
    use(mutation.source);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Weight && !used[i]) {
      weights[i] = {};
      addresses[i] = nullptr;
    }
}

void Executable::Impl::stageMutations() {
  staged.resize(plan.mutations.size());
  for (size_t i = 0; i < plan.mutations.size(); ++i) {
    const plan::Mutation &mutation = plan.mutations[i];
    bool isOverwritten = std::any_of(
        plan.mutations.begin(), plan.mutations.begin() + static_cast<long>(i),
        [&](const plan::Mutation &other) {
          return other.target == mutation.source &&
                 other.source != other.target;
        });
    if (isOverwritten)
      staged[i] = Storage::allocate(
          static_cast<size_t>(buffer(mutation.source).numBytes));
  }
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

void Executable::Impl::checkInputs(std::span<const Tensor> inputs) const {
  if (inputs.size() != plan.inputs.size()) {
    std::vector<std::string> names;
    names.reserve(plan.inputs.size());
    for (const plan::InputBinding &input : plan.inputs)
      names.push_back(fmt::format("{}: {}", input.name,
                                  describe(input.dtype, input.sizes)));
    throwError(ErrorCode::InvalidArgument,
               fmt::format("the model takes {} inputs, but {} were given",
                           plan.inputs.size(), inputs.size()),
               {},
               {fmt::format("it takes {}",
                            names.empty()
                                ? "none"
                                : fmt::format("{}", fmt::join(names, ", ")))});
  }
  for (size_t i = 0; i < inputs.size(); ++i) {
    const plan::InputBinding &binding = plan.inputs[i];
    const Tensor &input = inputs[i];
    std::vector<std::string> notes = {
        "expected " + describe(binding.dtype, binding.sizes),
        "found " + input.describe()};
    if (input.dtype != binding.dtype)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("input '{}' has type {} instead of {}",
                             binding.name, name(input.dtype),
                             name(binding.dtype)),
                 fmt::format("convert it to {}", name(binding.dtype)), notes);
    if (input.sizes != binding.sizes)
      throwError(
          ErrorCode::InvalidArgument,
          fmt::format("input '{}' has shape [{}] instead of [{}]", binding.name,
                      fmt::join(input.sizes, ", "),
                      fmt::join(binding.sizes, ", ")),
          "this program was compiled for the expected shape; pass an input of "
          "that shape, or compile for the other",
          notes);
  }
  for (const plan::Mutation &mutation : plan.mutations)
    if (buffer(mutation.target).kind == BufferKind::Input) {
      auto index = static_cast<size_t>(buffer(mutation.target).index);
      const Tensor &input = inputs[index];
      if (input.numElements() > 0 && !input.storage->mutableData())
        throwError(ErrorCode::InvalidArgument,
                   fmt::format("input '{}' is updated by the model, but its "
                               "memory is read-only",
                               plan.inputs[index].name),
                   "pass a copy of it");
    }
}

std::vector<Tensor> Executable::Impl::run(std::span<const Tensor> inputs,
                                          const RunOptions &runOptions) {
  checkInputs(inputs);
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

void Executable::Impl::runSteps(std::vector<BoundStep> &steps,
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

void Executable::Impl::runStep(BoundStep &step, const RunOptions &runOptions) {
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

void Executable::Impl::runLaunch(const plan::Launch &launch,
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

std::vector<Tensor> Executable::Impl::makeOutputs(std::vector<Tensor> &direct) {
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

void Executable::Impl::mutate(std::span<const Tensor> inputs) {
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

//===----------------------------------------------------------------------===//
// Executable
//===----------------------------------------------------------------------===//

Executable::Executable() = default;
Executable::~Executable() = default;

Result<std::unique_ptr<Executable>>
Executable::load(plan::Plan plan, const WeightResolver &weights,
                 const LoadOptions &options) {
  using ResultT = Result<std::unique_ptr<Executable>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    if (plan.target != "cpu")
      throwError(
          ErrorCode::InvalidArgument,
          fmt::format("this plan is for '{}', not for the CPU", plan.target));
    plan::checkPlan(plan).orThrow();
    std::unique_ptr<Executable> executable(new Executable());
    executable->impl = std::make_unique<Impl>(std::move(plan), options);
    executable->impl->load(weights);
    return executable;
  });
}

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor> inputs,
                                            const RunOptions &options) {
  return catchErrors<Result<std::vector<Tensor>>>(
      [&]() -> Result<std::vector<Tensor>> {
        if (options.profile)
          clearTimes(impl->forward);
        return impl->run(inputs, options);
      });
}

Result<Tensor> Executable::state(const std::string &weight) const {
  for (size_t i = 0; i < impl->plan.buffers.size(); ++i)
    if (impl->plan.buffers[i].kind == BufferKind::State &&
        impl->plan.buffers[i].weight == weight)
      return impl->weights[i];
  return Error{ErrorCode::InvalidArgument,
               fmt::format("the model has no state named '{}'", weight),
               {},
               {}};
}

const plan::Plan &Executable::plan() const { return impl->plan; }

WeightsInfo Executable::weightsInfo() const { return impl->info; }

int64_t Executable::workspaceBytes() const {
  return static_cast<int64_t>(impl->workspace->numBytes());
}

std::vector<StepTime> Executable::profile() const {
  std::vector<StepTime> times;
  collectTimes(impl->forward, times);
  return times;
}

} // namespace gcompile
