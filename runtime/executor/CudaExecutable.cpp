//===- CudaExecutable.cpp - plans on the GPU ------------------------------===//
// Loading puts weights and constants into device memory and turns every step
// into launches with all but the addresses of inputs and outputs fixed. A
// launch's parameters point into the table of addresses, so that a run only
// goes through the steps.
#include "Backend.h"
#include "PlanQueries.h"
#include "WeightUpload.h"
#include "gcompile/cuda/Device.h"
#include "gcompile/cuda/Libraries.h"
#include "gcompile/cuda/Routine.h"

#include <algorithm>
#include <deque>
#include <fmt/format.h>
#include <map>
#include <optional>

namespace gcompile {
namespace {

using cuda::Device;
using cuda::DeviceMemory;
using plan::Buffer;
using plan::BufferKind;

/// Of every tensor in memory that is ours.
constexpr int64_t kAlignment = 256;
/// Of the embedder's: what 16-byte accesses and TMA want.
constexpr uintptr_t kBoundAlignment = 16;

int64_t alignUp(int64_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// A step made ready to run.
struct BoundStep {
  const plan::Step *step;
  std::unique_ptr<cuda::Routine> routine;
  cuda::KernelHandle kernel;
  std::vector<void *> parameters; ///< addresses of the kernel's parameters
  std::vector<std::vector<BoundStep>> branches;
  double seconds = 0; ///< of the last profiled run
  int64_t numRuns = 0;
};

/// Times of steps on the device; read when a run is over.
class StepTimer {
public:
  explicit StepTimer(cuda::DevicePointer device) : device(std::move(device)) {}

  void begin(BoundStep &step, CUstream stream) {
    open.push_back(&intervals.emplace_back(step, device));
    open.back()->begin.record(stream);
  }
  void end(CUstream stream) {
    open.back()->end.record(stream);
    open.pop_back();
  }
  void read() {
    for (const Interval &interval : intervals) {
      interval.end.synchronize();
      interval.step.seconds += interval.end.secondsSince(interval.begin);
      ++interval.step.numRuns;
    }
  }

private:
  struct Interval {
    Interval(BoundStep &step, const cuda::DevicePointer &device)
        : step(step), begin(device), end(device) {}
    BoundStep &step;
    cuda::Event begin, end;
  };
  const cuda::DevicePointer device;
  std::deque<Interval> intervals;
  std::vector<Interval *> open; ///< a step of control flow contains others
};

/// Why a run of these steps cannot be one CUDA graph; empty if it can.
std::string findGraphProblem(const std::vector<plan::Step> &steps) {
  for (const plan::Step &step : steps)
    if (!step.control.empty())
      return fmt::format("step '{}' ({}) decides on the host what runs next",
                         step.name, step.control);
  return {};
}

bool callsRandom(const std::vector<plan::Step> &steps) {
  return std::any_of(steps.begin(), steps.end(), [](const plan::Step &step) {
    return (step.library && step.library->op == "random") ||
           std::any_of(step.branches.begin(), step.branches.end(), callsRandom);
  });
}

class CudaExecutable : public ExecutableBackend {
public:
  CudaExecutable(plan::Plan plan, const LoadOptions &options);

  void load(const WeightResolver &resolve) override;
  std::vector<Tensor> run(std::span<const Tensor> inputs,
                          const RunOptions &options) override;
  Tensor state(size_t buffer) const override;
  int64_t workspaceBytes() const override { return workspace.numBytes(); }
  std::vector<StepTime> profile() const override;

  void bindDevice(std::span<void *const> inputs,
                  std::span<void *const> outputs) override;
  void *deviceInput(size_t index) const override;
  void *deviceOutput(size_t index) const override;
  void enqueue(CUstream stream, const RunOptions &options) override;
  std::vector<double> benchmark(int64_t repetitions,
                                const RunOptions &options) override;
  std::string graphProblem() const override {
    return options.cudaGraph ? findGraphProblem(plan.forward.steps) : "";
  }
  std::string libraryProblems() const override {
    return libraries ? libraries->problems() : "";
  }

private:
  /// An area of weights while they are collected.
  struct Area {
    std::vector<UploadPiece> pieces;
    std::vector<std::pair<size_t, int64_t>> places; ///< buffers, offsets
    std::map<const std::byte *, UploadPiece> known; ///< sources of weights
    int64_t numBytes = 0;
    DeviceMemory *memory = nullptr;
  };
  /// Where an output of the plan is when a run has ended.
  struct Output {
    int64_t numBytes = 0;  ///< gaps of its strides included
    void *own = nullptr;   ///< our memory for it
    bool isDirect = false; ///< a step writes it, with these strides
    std::unique_ptr<cuda::Routine> copy; ///< null: byte for byte
  };

  // Loading.
  void bindSteps();
  std::vector<BoundStep> bind(const std::vector<plan::Step> &steps,
                              const cuda::RoutineEnvironment &environment);
  void bindLaunch(const plan::Launch &launch, BoundStep &bound,
                  cuda::KernelRequests &kernels);
  void bindOutputs(const cuda::RoutineEnvironment &environment);
  void compile(const cuda::KernelRequests &kernels);
  void uploadWeights(const WeightResolver &resolve);
  void addWeight(Area &area, size_t index, const Tensor &tensor);
  void addPiece(Area &area, size_t index, const std::byte *source);
  void allocateOwnMemory();
  void allocateWorkspace();
  void runPrepare();
  void placeArena(const DeviceMemory &memory);
  void stageMutations();

  // Running.
  void runAll(CUstream stream, StepTimer *timer);
  void runSteps(std::vector<BoundStep> &steps, CUstream stream,
                StepTimer *timer);
  void runStep(BoundStep &step, CUstream stream, StepTimer *timer);
  bool holds(int64_t predicate, CUstream stream);
  void copyOutputs(CUstream stream);
  void mutate(CUstream stream);
  void replay(CUstream stream);
  void poison(CUstream stream);
  void setSeed(uint64_t seed, CUstream stream);
  void copyMutatedInputs(std::span<const Tensor> inputs);

  void *&address(int64_t index) {
    return addresses[static_cast<size_t>(index)];
  }
  void *&outputAddress(size_t index) {
    return addresses[plan.buffers.size() + index];
  }
  cuda::RoutineContext routineContext(CUstream stream) const {
    return {addresses.data(), stream, workspace.data(), seedOnDevice()};
  }
  /// Whether a step writes an output to memory that is copied from.
  bool isDetached(const Buffer &buffer) const {
    return buffer.kind == BufferKind::Output &&
           !outputs[static_cast<size_t>(buffer.index)].isDirect;
  }
  uint64_t *seedOnDevice() const {
    return reinterpret_cast<uint64_t *>(seedMemory.data());
  }

  cuda::DevicePointer device;
  cuda::Stream stream;
  std::optional<cuda::Libraries> libraries; ///< absent: not to be used
  std::vector<BoundStep> prepare, forward;
  /// Of the buffers, by index, and after them of the outputs. Parameters of
  /// launches point to its entries: it never grows.
  std::vector<void *> addresses;
  std::vector<void *> ownInputs; ///< our memory for inputs nobody binds
  std::vector<Output> outputs;
  DeviceMemory weights, prepareWeights, prepared, arena, workspace, ownMemory;
  DeviceMemory seedMemory;
  std::vector<DeviceMemory> staged; ///< as in CpuExecutable, by mutation
  cuda::PinnedMemory predicate;
  const bool usesSeed;
  std::optional<uint64_t> seed; ///< that the device has
  std::unique_ptr<cuda::Graph> graph;
};

cuda::DevicePointer openDevice(const LoadOptions &options) {
  return Device::open(options.deviceOrdinal).valueOrThrow();
}

CudaExecutable::CudaExecutable(plan::Plan plan, const LoadOptions &options)
    : ExecutableBackend(std::move(plan), options), device(openDevice(options)),
      stream(device), predicate(device, 1),
      usesSeed(callsRandom(this->plan.forward.steps) ||
               callsRandom(this->plan.prepare.steps)) {
  if (options.libraries)
    libraries.emplace(device);
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

void CudaExecutable::load(const WeightResolver &resolve) {
  Device::Scope scope(*device);
  addresses.assign(plan.buffers.size() + plan.outputs.size(), nullptr);
  bindSteps();
  allocateWorkspace();
  uploadWeights(resolve);
  runPrepare();
  arena = DeviceMemory(device, plan.forward.arenaBytes);
  placeArena(arena);
  allocateOwnMemory();
  stageMutations();
}

void CudaExecutable::bindSteps() {
  cuda::KernelRequests kernels;
  const cuda::RoutineEnvironment environment{device->info(), kernels,
                                             libraries ? &*libraries : nullptr};
  prepare = bind(plan.prepare.steps, environment);
  forward = bind(plan.forward.steps, environment);
  bindOutputs(environment);
  compile(kernels);
}

std::vector<BoundStep>
CudaExecutable::bind(const std::vector<plan::Step> &steps,
                     const cuda::RoutineEnvironment &environment) {
  std::vector<BoundStep> bound;
  for (const plan::Step &step : steps) {
    BoundStep &result = bound.emplace_back(BoundStep{&step});
    if (step.library) {
      auto routine = cuda::bindRoutine(*step.library, environment);
      if (!routine.ok())
        failStep(step, routine.error());
      result.routine = std::move(*routine);
    }
    if (step.launch)
      bindLaunch(*step.launch, result, environment.kernels);
    for (const std::vector<plan::Step> &branch : step.branches)
      result.branches.push_back(bind(branch, environment));
  }
  return bound;
}

void CudaExecutable::bindLaunch(const plan::Launch &launch, BoundStep &bound,
                                cuda::KernelRequests &kernels) {
  const plan::Kernel &kernel = plan.kernels[static_cast<size_t>(launch.kernel)];
  if (kernel.language != "cuda")
    throwError(ErrorCode::InvalidArgument,
               fmt::format("kernel '{}' is in language '{}', which the GPU "
                           "does not run",
                           kernel.symbol, kernel.language));
  bound.kernel = kernels.add(kernel.symbol, kernel.source, launch.sharedBytes);
  for (int64_t argument : launch.arguments)
    bound.parameters.push_back(&address(argument));
}

void CudaExecutable::bindOutputs(const cuda::RoutineEnvironment &environment) {
  for (size_t i = 0; i < plan.outputs.size(); ++i) {
    const plan::OutputBinding &binding = plan.outputs[i];
    const Buffer &source = buffer(binding.buffer);
    Output &output = outputs.emplace_back();
    output.numBytes =
        spanOf(binding.sizes, binding.strides) * byteWidth(binding.dtype);
    const Tensor layout{binding.dtype, binding.sizes, binding.strides, 0,
                        nullptr};
    output.isDirect = source.kind == BufferKind::Output &&
                      source.index == static_cast<int64_t>(i) &&
                      layout.isContiguous();
    if (layout.isContiguous())
      continue;
    plan::LibraryCall copy{"copy", nlohmann::json::object(), {}, {}};
    copy.inputs.push_back({binding.buffer, binding.dtype, binding.sizes,
                           contiguousStrides(binding.sizes), 0});
    copy.outputs.push_back({static_cast<int64_t>(plan.buffers.size() + i),
                            binding.dtype, binding.sizes, binding.strides, 0});
    output.copy = cuda::bindRoutine(copy, environment).valueOrThrow();
  }
}

void CudaExecutable::compile(const cuda::KernelRequests &kernels) {
  if (kernels.requests().empty())
    return;
  std::shared_ptr<cuda::CompileService> compiler = options.cudaCompiler;
  if (!compiler)
    compiler = cuda::CompileService::create().valueOrThrow();
  auto cubins =
      compiler->compile(kernels.requests(), device->info().architecture())
          .valueOrThrow();
  cuda::loadKernels(kernels, cubins, device);
}

void CudaExecutable::allocateWorkspace() {
  int64_t numBytes = 0;
  auto visit = [&](const std::vector<BoundStep> &steps, auto &&self) -> void {
    for (const BoundStep &step : steps) {
      if (step.routine)
        numBytes = std::max(numBytes, step.routine->workspaceBytes());
      for (const std::vector<BoundStep> &branch : step.branches)
        self(branch, self);
    }
  };
  visit(prepare, visit);
  visit(forward, visit);
  for (const Output &output : outputs)
    if (output.copy)
      numBytes = std::max(numBytes, output.copy->workspaceBytes());
  workspace = DeviceMemory(device, numBytes);
  seedMemory = DeviceMemory(device, sizeof(uint64_t));
}

void CudaExecutable::uploadWeights(const WeightResolver &resolve) {
  const std::vector<bool> used = usedInForward(plan);
  std::vector<Tensor> tensors; // keeps their memory until it is copied
  Area kept, temporary;
  kept.memory = &weights;
  temporary.memory = &prepareWeights;
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (buffer.kind == BufferKind::Constant)
      addPiece(kept, i,
               reinterpret_cast<const std::byte *>(buffer.data.data()));
    if (buffer.kind != BufferKind::Weight && buffer.kind != BufferKind::State)
      continue;
    Tensor tensor = resolveWeight(buffer, resolve);
    if (!tensor.isContiguous())
      tensor = privateCopy(tensor, pool());
    const bool isKept = used[i] || buffer.kind == BufferKind::State;
    addWeight(isKept ? kept : temporary, i, tensor);
    tensors.push_back(std::move(tensor));
    info.totalBytes += buffer.numBytes;
  }
  info.copiedBytes = kept.numBytes + temporary.numBytes;
  WeightUpload upload(device, stream, pool(), info.copiedBytes,
                      options.progress);
  for (Area *area : {&temporary, &kept}) {
    *area->memory = DeviceMemory(device, area->numBytes);
    for (const auto &[index, offset] : area->places)
      addresses[index] = area->memory->data() + offset;
    upload.upload(area->memory->data(), area->numBytes, area->pieces);
  }
  stream.synchronize("copy weights to the GPU");
}

/// Tensors that share memory, as tied weights do, are copied once. State is
/// written, and so is never shared.
void CudaExecutable::addWeight(Area &area, size_t index, const Tensor &tensor) {
  const Buffer &buffer = plan.buffers[index];
  if (buffer.numBytes == 0)
    return;
  auto known = area.known.find(tensor.data());
  if (buffer.kind == BufferKind::Weight && known != area.known.end() &&
      known->second.numBytes == buffer.numBytes) {
    area.places.emplace_back(index, known->second.offset);
    return;
  }
  addPiece(area, index, tensor.data());
  if (buffer.kind == BufferKind::Weight)
    area.known.emplace(tensor.data(), area.pieces.back());
}

void CudaExecutable::addPiece(Area &area, size_t index,
                              const std::byte *source) {
  const int64_t numBytes = plan.buffers[index].numBytes;
  if (numBytes == 0)
    return;
  area.pieces.push_back({area.numBytes, source, numBytes});
  area.places.emplace_back(index, area.numBytes);
  area.numBytes += alignUp(numBytes);
}

void CudaExecutable::runPrepare() {
  info.preparedBytes = plan.preparedBytes;
  prepared = DeviceMemory(device, plan.preparedBytes);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Prepared)
      addresses[i] = prepared.data() + plan.buffers[i].offset;
  DeviceMemory temporary(device, plan.prepare.arenaBytes);
  placeArena(temporary);
  setSeed(0, stream.get());
  runSteps(prepare, stream.get(), nullptr);
  stream.synchronize("prepare the weights");
  prepare.clear();
  prepareWeights.release();
  const std::vector<bool> used = usedInForward(plan);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (plan.buffers[i].kind == BufferKind::Weight && !used[i])
      addresses[i] = nullptr;
}

/// Sets the addresses of the buffers that lie within `memory`. One that does
/// not is the other entry's.
void CudaExecutable::placeArena(const DeviceMemory &memory) {
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (buffer.kind != BufferKind::Arena)
      continue;
    const bool isInside = buffer.offset >= 0 &&
                          buffer.offset <= memory.numBytes() - buffer.numBytes;
    addresses[i] = isInside ? memory.data() + buffer.offset : nullptr;
  }
}

/// Memory for the inputs and outputs that nobody binds, and for buffers of
/// outputs that are not in the layout the program promises.
void CudaExecutable::allocateOwnMemory() {
  int64_t numBytes = 0;
  std::vector<std::pair<void **, int64_t>> places;
  auto place = [&](void *&address, int64_t size) {
    if (size > 0)
      places.emplace_back(&address, numBytes);
    numBytes += alignUp(size);
  };
  for (size_t i = 0; i < plan.buffers.size(); ++i) {
    const Buffer &buffer = plan.buffers[i];
    if (buffer.kind == BufferKind::Input || isDetached(buffer))
      place(addresses[i], buffer.numBytes);
  }
  for (Output &output : outputs)
    place(output.own, output.numBytes);
  ownMemory = DeviceMemory(device, numBytes);
  for (const auto &[address, offset] : places)
    *address = ownMemory.data() + offset;
  for (size_t i = 0; i < plan.inputs.size(); ++i)
    ownInputs.push_back(deviceInput(i));
  bindDevice(std::vector<void *>(plan.inputs.size()),
             std::vector<void *>(plan.outputs.size()));
}

void CudaExecutable::stageMutations() {
  const std::vector<bool> overwritten = overwrittenSources(plan);
  staged.resize(plan.mutations.size());
  for (size_t i = 0; i < plan.mutations.size(); ++i)
    if (overwritten[i])
      staged[i] =
          DeviceMemory(device, buffer(plan.mutations[i].source).numBytes);
}

//===----------------------------------------------------------------------===//
// Inputs and outputs on the device
//===----------------------------------------------------------------------===//

void CudaExecutable::bindDevice(std::span<void *const> inputAddresses,
                                std::span<void *const> outputAddresses) {
  if (inputAddresses.size() != plan.inputs.size() ||
      outputAddresses.size() != plan.outputs.size())
    throwError(ErrorCode::InvalidArgument,
               fmt::format("addresses of {} inputs and {} outputs for a model "
                           "with {} and {}",
                           inputAddresses.size(), outputAddresses.size(),
                           plan.inputs.size(), plan.outputs.size()));
  auto check = [](const void *address, const std::string &name) {
    if (reinterpret_cast<uintptr_t>(address) % kBoundAlignment != 0)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("the device memory of '{}' at {} is not aligned "
                             "to {} bytes",
                             name, address, kBoundAlignment));
  };
  for (size_t i = 0; i < inputAddresses.size(); ++i)
    check(inputAddresses[i], plan.inputs[i].name);
  for (size_t i = 0; i < outputAddresses.size(); ++i)
    check(outputAddresses[i], plan.outputs[i].name);

  for (size_t i = 0; i < inputAddresses.size(); ++i)
    if (plan.inputs[i].buffer >= 0)
      address(plan.inputs[i].buffer) =
          inputAddresses[i] ? inputAddresses[i] : ownInputs[i];
  for (size_t i = 0; i < outputs.size(); ++i) {
    outputAddress(i) = outputAddresses[i] ? outputAddresses[i] : outputs[i].own;
    if (outputs[i].isDirect)
      address(plan.outputs[i].buffer) = outputAddress(i);
  }
  graph.reset(); // it has the addresses in it
}

void *CudaExecutable::deviceInput(size_t index) const {
  const int64_t buffer = plan.inputs.at(index).buffer;
  return buffer < 0 ? nullptr : addresses[static_cast<size_t>(buffer)];
}

void *CudaExecutable::deviceOutput(size_t index) const {
  return addresses.at(plan.buffers.size() + index);
}

//===----------------------------------------------------------------------===//
// Running
//===----------------------------------------------------------------------===//

std::vector<Tensor> CudaExecutable::run(std::span<const Tensor> inputs,
                                        const RunOptions &runOptions) {
  checkInputs(plan, inputs);
  Device::Scope scope(*device);
  std::vector<Tensor> rowMajor; // lives until it is copied
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!deviceInput(i))
      continue;
    rowMajor.push_back(
        inputs[i].isContiguous() ? inputs[i] : privateCopy(inputs[i], pool()));
    cuda::copyToDevice(deviceInput(i), rowMajor.back().data(),
                       inputs[i].numBytes(), stream.get());
  }
  enqueue(stream.get(), runOptions);
  std::vector<Tensor> results;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const plan::OutputBinding &binding = plan.outputs[i];
    Tensor &result = results.emplace_back(
        Tensor{binding.dtype, binding.sizes, binding.strides, 0,
               Storage::allocate(static_cast<size_t>(outputs[i].numBytes))});
    cuda::copyToHost(result.storage->mutableData(), outputAddress(i),
                     outputs[i].numBytes, stream.get());
  }
  stream.synchronize("run the model");
  copyMutatedInputs(inputs);
  return results;
}

void CudaExecutable::copyMutatedInputs(std::span<const Tensor> inputs) {
  for (const plan::Mutation &mutation : plan.mutations) {
    const Buffer &target = buffer(mutation.target);
    if (target.kind != BufferKind::Input || target.numBytes == 0)
      continue;
    Tensor tensor = inputs[static_cast<size_t>(target.index)];
    Tensor values = Tensor::empty(tensor.dtype, tensor.sizes);
    cuda::copyToHost(values.mutableData(), address(mutation.target),
                     target.numBytes, stream.get());
    stream.synchronize("copy a mutated input from the GPU");
    copyInto(tensor, values.data(), pool());
  }
}

void CudaExecutable::enqueue(CUstream target, const RunOptions &runOptions) {
  Device::Scope scope(*device);
  if (options.poison)
    poison(target);
  setSeed(runOptions.seed, target);
  if (!runOptions.profile) {
    replay(target);
    return;
  }
  clearTimes(forward);
  StepTimer timer(device);
  runAll(target, &timer);
  timer.read();
}

/// A run, as one launch where that was asked for and can be.
void CudaExecutable::replay(CUstream target) {
  if (!options.cudaGraph || !graphProblem().empty()) {
    runAll(target, nullptr);
    return;
  }
  if (!graph)
    graph = std::make_unique<cuda::Graph>(
        device, stream.get(), [&] { runAll(stream.get(), nullptr); });
  graph->launch(target);
}

std::vector<double> CudaExecutable::benchmark(int64_t repetitions,
                                              const RunOptions &runOptions) {
  Device::Scope scope(*device);
  setSeed(runOptions.seed, stream.get());
  replay(stream.get());
  stream.synchronize("run the model");
  std::deque<cuda::Event> events;
  events.emplace_back(device);
  events.back().record(stream.get());
  for (int64_t i = 0; i < repetitions; ++i) {
    replay(stream.get());
    events.emplace_back(device);
    events.back().record(stream.get());
  }
  stream.synchronize("run the model");
  std::vector<double> seconds;
  for (size_t i = 1; i < events.size(); ++i)
    seconds.push_back(events[i].secondsSince(events[i - 1]));
  return seconds;
}

void CudaExecutable::runAll(CUstream target, StepTimer *timer) {
  runSteps(forward, target, timer);
  copyOutputs(target);
  mutate(target);
}

void CudaExecutable::runSteps(std::vector<BoundStep> &steps, CUstream target,
                              StepTimer *timer) {
  for (BoundStep &step : steps) {
    if (timer)
      timer->begin(step, target);
    runStep(step, target, timer);
    if (timer)
      timer->end(target);
  }
}

void CudaExecutable::runStep(BoundStep &step, CUstream target,
                             StepTimer *timer) {
  const int64_t predicateBuffer = step.step->predicate;
  if (step.step->control == "cond") {
    runSteps(step.branches[holds(predicateBuffer, target) ? 0 : 1], target,
             timer);
  } else if (step.step->control == "while") {
    for (;;) {
      runSteps(step.branches[0], target, timer);
      if (!holds(predicateBuffer, target))
        break;
      runSteps(step.branches[1], target, timer);
    }
  }
  if (step.routine)
    step.routine->enqueue(routineContext(target));
  if (!step.kernel)
    return;
  const plan::Launch &launch = *step.step->launch;
  const auto [x, y, z] = launch.grid;
  if (x == 0 || y == 0 || z == 0)
    return;
  cuda::launch(step.kernel,
               {static_cast<unsigned>(x), static_cast<unsigned>(y),
                static_cast<unsigned>(z)},
               {static_cast<unsigned>(launch.blockThreads), 1, 1},
               launch.sharedBytes, target, step.parameters.data());
}

bool CudaExecutable::holds(int64_t predicateBuffer, CUstream target) {
  cuda::copyToHost(predicate.data(), address(predicateBuffer), 1, target);
  cuda::synchronize(target, "run the model up to a decision");
  return *predicate.data() != std::byte{0};
}

void CudaExecutable::copyOutputs(CUstream target) {
  for (size_t i = 0; i < outputs.size(); ++i) {
    const Output &output = outputs[i];
    if (output.isDirect || output.numBytes == 0)
      continue;
    if (output.copy)
      output.copy->enqueue(routineContext(target));
    else
      cuda::copyOnDevice(outputAddress(i), address(plan.outputs[i].buffer),
                         output.numBytes, target);
  }
}

void CudaExecutable::mutate(CUstream target) {
  std::vector<void *> sources;
  for (size_t i = 0; i < plan.mutations.size(); ++i) {
    sources.push_back(address(plan.mutations[i].source));
    if (staged[i].numBytes() == 0)
      continue;
    cuda::copyOnDevice(staged[i].data(), sources.back(), staged[i].numBytes(),
                       target);
    sources.back() = staged[i].data();
  }
  for (size_t i = 0; i < plan.mutations.size(); ++i) {
    void *to = address(plan.mutations[i].target);
    if (sources[i] != to)
      cuda::copyOnDevice(to, sources[i],
                         buffer(plan.mutations[i].target).numBytes, target);
  }
}

void CudaExecutable::poison(CUstream target) {
  constexpr uint8_t value = 0xff;
  cuda::fillBytes(arena.data(), value, arena.numBytes(), target);
  cuda::fillBytes(workspace.data(), value, workspace.numBytes(), target);
  for (size_t i = 0; i < outputs.size(); ++i)
    cuda::fillBytes(outputAddress(i), value, outputs[i].numBytes, target);
  for (size_t i = 0; i < plan.buffers.size(); ++i)
    if (isDetached(plan.buffers[i]))
      cuda::fillBytes(addresses[i], value, plan.buffers[i].numBytes, target);
}

void CudaExecutable::setSeed(uint64_t value, CUstream target) {
  if (!usesSeed || seed == value)
    return;
  cuda::writeWord(seedOnDevice(), value, target);
  seed = value;
}

Tensor CudaExecutable::state(size_t index) const {
  Device::Scope scope(*device);
  Tensor value =
      Tensor::empty(plan.buffers[index].dtype, plan.buffers[index].sizes);
  cuda::copyToHost(value.mutableData(), addresses[index],
                   plan.buffers[index].numBytes, stream.get());
  stream.synchronize("copy state from the GPU");
  return value;
}

std::vector<StepTime> CudaExecutable::profile() const {
  std::vector<StepTime> times;
  collectTimes(forward, times);
  return times;
}

} // namespace

std::unique_ptr<ExecutableBackend>
makeCudaExecutable(plan::Plan plan, const LoadOptions &options) {
  return std::make_unique<CudaExecutable>(std::move(plan), options);
}

} // namespace gcompile
