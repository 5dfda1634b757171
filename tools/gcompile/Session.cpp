#include "Session.h"
#include "Compare.h"
#include "Compiler.h"
#include "Inputs.h"
#include "Summary.h"

#include "gcompile/cpu/CpuJit.h"
#include "gcompile/executor/Executable.h"
#include "gcompile/frontend/Readers.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <dlfcn.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>

namespace gcompile::tool {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point begin) {
  return std::chrono::duration<double>(Clock::now() - begin).count();
}

const char *formatName(frontend::Format format) {
  switch (format) {
  case frontend::Format::Pt2Archive:
    return ".pt2 archive";
  case frontend::Format::ExportJson:
    return "torch.export JSON";
  case frontend::Format::FxText:
    return "FX text";
  case frontend::Format::FxJson:
    return "FX JSON";
  }
  return "";
}

/// A CUDA driver with a device, as far as one can tell without using it.
bool haveCudaDevice() {
  void *driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (!driver)
    return false;
  using Init = int (*)(unsigned);
  using Count = int (*)(int *);
  auto init = reinterpret_cast<Init>(dlsym(driver, "cuInit"));
  auto count = reinterpret_cast<Count>(dlsym(driver, "cuDeviceGetCount"));
  int devices = 0;
  bool found =
      init && count && init(0) == 0 && count(&devices) == 0 && devices > 0;
  dlclose(driver);
  return found;
}

/// "cpu", "cuda" or "cuda:N"; an error that says what is missing.
std::string chooseDevice(const Options &options) {
  if (options.device == "auto")
    return haveCudaDevice() ? "cuda" : "cpu";
  if (options.device.starts_with("cuda") && !haveCudaDevice())
    throwError(ErrorCode::Device,
               "no CUDA device: the driver library "
               "libcuda.so.1 is missing or finds none",
               "use --device cpu, or install the NVIDIA driver");
  return options.device;
}

/// The model with its weights and its signature settled.
frontend::Model readInputs(const Options &options, Progress &progress) {
  progress.stage("read");
  frontend::Model model =
      frontend::readModel(options.model, {options.archiveModel}).valueOrThrow();
  std::optional<frontend::Model> reference;
  if (!options.weights.empty()) {
    model.weights = frontend::readWeights(options.weights).valueOrThrow();
    // A .pt2 given for its weights also knows what the names in a text mean.
    if (model.program.signatureSource == frontend::SignatureSource::Guessed) {
      auto other = frontend::readModel(options.weights, {options.archiveModel});
      if (other.ok())
        reference = std::move(other).value();
    }
  }
  frontend::resolveSignature(model.program, model.weights,
                             reference ? &reference->program : nullptr)
      .orThrow();
  if (options.randomWeights)
    model.weights = randomWeights(model.program, options.seed);
  return model;
}

/// Every weight that the program names, or an error that lists the missing.
void checkWeights(const frontend::Model &model) {
  std::vector<std::string> missing;
  std::vector<std::string> notes;
  for (const frontend::InputSpec &spec : model.program.inputs) {
    if (spec.kind != frontend::InputSpec::Kind::Parameter &&
        spec.kind != frontend::InputSpec::Kind::Buffer &&
        spec.kind != frontend::InputSpec::Kind::Constant)
      continue;
    auto found = model.weights.tensors.find(spec.target);
    if (found == model.weights.tensors.end()) {
      auto absent = model.weights.absent.find(spec.target);
      missing.push_back(
          absent == model.weights.absent.end()
              ? spec.target
              : fmt::format("{} ({})", spec.target, absent->second));
      continue;
    }
    auto meta = model.program.graph.values.find(spec.name);
    if (meta == model.program.graph.values.end())
      continue;
    std::vector<std::string> sizes;
    bool agrees = found->second.dtype == meta->second.dtype &&
                  found->second.sizes.size() == meta->second.sizes.size();
    for (size_t d = 0; d < meta->second.sizes.size(); ++d) {
      const frontend::SymInt &size = meta->second.sizes[d];
      sizes.push_back(size.isStatic() ? std::to_string(size.value)
                                      : size.expr->str());
      agrees =
          agrees && (!size.isStatic() || size.value == found->second.sizes[d]);
    }
    if (!agrees)
      notes.push_back(fmt::format("'{}' is {}, but the graph was exported with "
                                  "{}[{}]",
                                  spec.target, found->second.describe(),
                                  shortName(meta->second.dtype),
                                  fmt::join(sizes, ", ")));
  }
  if (!notes.empty())
    throwError(ErrorCode::InvalidArgument,
               "weights have another dtype or shape than the model",
               "give the weights that the model was exported with", notes);
  if (missing.empty())
    return;
  size_t count = missing.size();
  if (count > 10)
    missing.resize(10);
  throwError(ErrorCode::InvalidArgument,
             fmt::format("{}: no data for {} weight{}: {}{}", model.path, count,
                         count == 1 ? "" : "s", fmt::join(missing, ", "),
                         count > 10 ? ", …" : ""),
             "give them with --weights FILE, or use --random-weights");
}

std::vector<std::vector<int64_t>> sizesOf(const std::vector<Tensor> &tensors) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Tensor &tensor : tensors)
    sizes.push_back(tensor.sizes);
  return sizes;
}

constexpr int64_t kDeviceRuns = 50;

struct Device {
  std::shared_ptr<cpu::ThreadPool> pool;
  std::shared_ptr<cpu::CpuJit> jit;
  int ordinal = 0; ///< which GPU
  bool cudaGraph = false;
  bool libraries = true; ///< use cuBLASLt and cuDNN
};

std::unique_ptr<Executable> loadPlan(plan::Plan plan,
                                     const frontend::WeightStore &weights,
                                     const Device &device, bool poison,
                                     bool widen) {
  WeightResolver resolver = [&](const std::string &name) -> Result<Tensor> {
    auto found = weights.tensors.find(name);
    if (found == weights.tensors.end())
      return Error{ErrorCode::InvalidArgument,
                   fmt::format("no weight named '{}'", name),
                   {},
                   {}};
    bool isWide = widen && isFloatingPoint(found->second.dtype);
    return isWide ? toFloat64(found->second) : found->second;
  };
  LoadOptions options;
  options.pool = device.pool;
  options.compiler = device.jit;
  options.poison = poison;
  options.deviceOrdinal = device.ordinal;
  options.cudaGraph = device.cudaGraph;
  options.libraries = device.libraries;
  return Executable::load(std::move(plan), resolver, options).valueOrThrow();
}

/// Named outputs of a run.
std::map<std::string, Tensor> nameOutputs(const plan::Plan &plan,
                                          std::vector<Tensor> tensors) {
  std::map<std::string, Tensor> outputs;
  for (size_t i = 0; i < tensors.size(); ++i)
    outputs.emplace(plan.outputs[i].name, std::move(tensors[i]));
  return outputs;
}

/// Prints one line an output; an Error where some differ.
Status compareOutputs(const std::map<std::string, Tensor> &actual,
                      const std::map<std::string, Tensor> &expected,
                      const Tolerance &tolerance, const std::string &what) {
  std::vector<std::string> wrong;
  double maxAbsolute = 0, maxRelative = 0;
  size_t compared = 0;
  for (const auto &[name, tensor] : expected) {
    auto found = actual.find(name);
    if (found == actual.end()) {
      std::vector<std::string> names;
      for (const auto &entry : actual)
        names.push_back(entry.first);
      wrong.push_back(fmt::format("output '{}' does not exist; there are {}",
                                  name, fmt::join(names, ", ")));
      continue;
    }
    Difference difference = compareTensors(found->second, tensor, tolerance);
    maxAbsolute = std::max(maxAbsolute, difference.maxAbsolute);
    maxRelative = std::max(maxRelative, difference.maxRelative);
    ++compared;
    if (!difference.message.empty())
      wrong.push_back(fmt::format("output '{}' {}", name, difference.message));
  }
  if (!wrong.empty())
    return Error{ErrorCode::Mismatch,
                 fmt::format("outputs disagree with {}", what),
                 wrong,
                 {}};
  fmt::print("  {:<9}{}: {} output{}, largest error {:.2g} absolute, {:.2g} "
             "relative\n",
             "agrees", what, compared, compared == 1 ? "" : "s", maxAbsolute,
             maxRelative);
  return {};
}

/// The same program unfused in float64, on the same inputs.
std::map<std::string, Tensor> evaluateReference(const frontend::Model &model,
                                                const Inputs &inputs,
                                                const Options &options,
                                                const Device &device,
                                                Progress &progress) {
  CompileRequest request;
  request.model = &model;
  request.inputSizes = sizesOf(inputs.tensors);
  request.reference = true;
  if (!options.dumpIr.empty())
    request.dumpDir = options.dumpIr + "/reference";
  CompiledProgram compiled = compileProgram(request, progress).valueOrThrow();
  progress.stage("reference");
  auto executable = loadPlan(std::move(compiled.plan), model.weights, device,
                             options.poison, /*widen=*/true);
  std::vector<Tensor> wide;
  for (const Tensor &tensor : inputs.tensors)
    wide.push_back(isFloatingPoint(tensor.dtype) ? toFloat64(tensor) : tensor);
  auto outputs = executable->run(wide, {options.seed}).valueOrThrow();
  return nameOutputs(executable->plan(), std::move(outputs));
}

/// Time that the steps need at the speed this machine copies and multiplies.
double floorSeconds(const plan::Plan &plan) {
  // Both are nominal rates of one core of a server; they bound from below.
  constexpr double bytesPerSecond = 2e10, flopsPerSecond = 2e11;
  double seconds = 0;
  for (const plan::Step &step : plan.forward.steps)
    seconds += std::max(static_cast<double>(step.floorBytes) / bytesPerSecond,
                        static_cast<double>(step.floorFlops) / flopsPerSecond);
  return seconds;
}

/// Prints the table, and what else was asked for of the same.
void report(const Options &options, const Summary &summary) {
  fmt::print("{}", renderSummary(summary));
  if (options.verbose && summary.plan)
    fmt::print("{}", renderSteps(*summary.plan));
  if (options.json.empty())
    return;
  std::ofstream file(options.json);
  file << summaryToJson(summary).dump(1) << "\n";
  if (!file.flush())
    throwError(ErrorCode::InvalidArgument,
               fmt::format("cannot write '{}'", options.json));
}

void printKnownOperators() {
  for (const std::string &name : knownOperators())
    fmt::print("{}\n", name);
}

Status triage(const frontend::Model &model) {
  std::vector<std::string> unknown = unsupportedOperators(model);
  if (unknown.empty()) {
    fmt::print("{}: every operator is supported ({} nodes)\n", model.path,
               model.program.graph.nodes.size());
    return {};
  }
  return Error{ErrorCode::Unsupported,
               fmt::format("{}: {} operator{} not supported", model.path,
                           unknown.size(),
                           unknown.size() == 1 ? " is" : "s are"),
               unknown,
               {}};
}

} // namespace

Status runSession(const Options &options) {
  if (options.printSupported && options.model.empty()) {
    printKnownOperators();
    return {};
  }
  Progress progress;
  auto begin = Clock::now();
  frontend::Model model = readInputs(options, progress);
  if (options.printSupported)
    printKnownOperators();
  if (options.triage)
    return triage(model);

  // With --target alone the model is compiled for a machine that is elsewhere.
  bool willRun = options.targets.empty() || options.device != "auto";
  std::string device = willRun ? chooseDevice(options) : "none";
  Inputs inputs = loadInputs(options, model);
  if (willRun)
    checkWeights(model);

  CompileRequest request;
  request.model = &model;
  request.inputSizes = sizesOf(inputs.tensors);
  request.dumpDir = options.dumpIr;
  const bool onGpu = device.starts_with("cuda") || !willRun;
  request.device = onGpu ? TargetDevice::Cuda : TargetDevice::Cpu;
  CompiledProgram compiled = compileProgram(request, progress).valueOrThrow();

  Summary summary;
  summary.model = options.model;
  summary.format = formatName(model.format);
  summary.torchVersion = model.program.torchVersion;
  summary.mode = options.mode;
  summary.numNodes = static_cast<int64_t>(model.program.graph.nodes.size());
  summary.numOperations = compiled.numOperations;
  summary.kernels = compiled.kernels;
  summary.inputsFrom = inputs.source;
  if (!willRun) {
    progress.stage("");
    summary.device = fmt::format("{}", fmt::join(options.targets, ", "));
    summary.stages = progress.times();
    summary.compileSeconds = secondsSince(begin);
    report(options, summary);
    return {};
  }

  progress.stage("kernels");
  Device cpu;
  cpu.pool = std::make_shared<cpu::ThreadPool>(options.threads);
  cpu.jit = cpu::CpuJit::create().valueOrThrow();
  if (device.starts_with("cuda:"))
    cpu.ordinal = std::stoi(device.substr(strlen("cuda:")));
  cpu.libraries = !options.noLibraries;
  cpu.cudaGraph =
      options.mode == "reduce-overhead" || options.mode == "max-autotune";
  auto executable = loadPlan(std::move(compiled.plan), model.weights, cpu,
                             options.poison, /*widen=*/false);
  double compileSeconds = secondsSince(begin);
  cpu::CpuJitStatistics jit = cpu.jit->statistics();

  progress.stage("run");
  auto firstBegin = Clock::now();
  auto tensors = executable->run(inputs.tensors, {options.seed}).valueOrThrow();
  summary.firstRunSeconds = secondsSince(firstBegin);
  auto outputs = nameOutputs(executable->plan(), std::move(tensors));

  // State changes from run to run, so only a model without any is timed again.
  std::vector<double> times{summary.firstRunSeconds};
  if (onGpu) {
    // On the device's own clock, without copies of inputs and outputs.
    times = executable->benchmark(kDeviceRuns, {options.seed}).valueOrThrow();
  } else if (executable->plan().mutations.empty()) {
    times.clear();
    auto timingBegin = Clock::now();
    do {
      auto runBegin = Clock::now();
      (void)executable->run(inputs.tensors, {options.seed}).valueOrThrow();
      times.push_back(secondsSince(runBegin));
    } while (times.size() < 20 && secondsSince(timingBegin) < 0.2);
  }
  std::nth_element(times.begin(), times.begin() + times.size() / 2,
                   times.end());
  summary.medianRunSeconds = times[times.size() / 2];
  summary.numRuns = static_cast<int>(times.size());

  std::map<std::string, Tensor> reference;
  std::vector<std::pair<std::string, double>> stages = progress.times();
  if (options.reference)
    reference = evaluateReference(model, inputs, options, cpu, progress);
  progress.stage("");

  summary.device = device;
  summary.threads = cpu.pool->numThreads();
  summary.libraryProblems = executable->libraryProblems();
  summary.plan = &executable->plan();
  summary.weightBytes = executable->weightsInfo().totalBytes;
  summary.stages = std::move(stages);
  summary.compileSeconds = compileSeconds;
  summary.kernelsCompiled = jit.numCompiled;
  summary.kernelsCached = jit.numFromDisk;
  summary.hasRun = true;
  summary.floorSeconds = floorSeconds(executable->plan());
  report(options, summary);
  for (const auto &[name, tensor] : outputs)
    fmt::print("  {:<9}{}: {}\n", "output", name, tensor.describe());

  if (!options.outputs.empty())
    frontend::writeSafetensors(options.outputs, outputs).orThrow();
  Tolerance tolerance{options.rtol, options.atol};
  if (!options.expect.empty()) {
    auto expected = frontend::readSafetensors(options.expect).valueOrThrow();
    compareOutputs(outputs, expected, tolerance, options.expect).orThrow();
  }
  if (options.reference)
    compareOutputs(outputs, reference, tolerance, "the float64 reference")
        .orThrow();
  return {};
}

} // namespace gcompile::tool
