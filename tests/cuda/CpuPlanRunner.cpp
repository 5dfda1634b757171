//===- CpuPlanRunner.cpp - runs a GPU's plan on the CPU -------------------===//
// The plan becomes one for the CPU in which each launch has a kernel of its
// own: a function that launches the CUDA kernel's whole grid. One library holds
// them all, since most of the time of compiling one goes into starting.
#include "CpuPlanRunner.h"
#include "CpuKernelRunner.h"

#include <fmt/format.h>

namespace gcompile::testing {
namespace {

/// What launchers share: the first problem of a run.
constexpr const char *kLauncherStart = R"(
extern "C" {
const char *first_problem;
}
static void launch_grid(void *kernel, const unsigned (&grid)[3], unsigned threads,
                        size_t shared_bytes, void *const *buffers, int count) {
  const unsigned block[3] = {threads, 1, 1};
  void *arguments[cuda_on_cpu::kMaxArguments] = {};
  std::copy(buffers, buffers + count, arguments);
  const char *problem =
      cuda_on_cpu_launch(kernel, grid, block, shared_bytes, arguments);
  if (problem && !first_problem)
    first_problem = problem;
}
)";

constexpr size_t kMaxArguments = 32; // as in cuda_on_cpu.h

class LauncherCompiler : public cpu::KernelCompiler {
public:
  explicit LauncherCompiler(const std::vector<plan::Kernel> &kernels) {
    for (const plan::Kernel &kernel : kernels)
      source += kernel.source + "\n";
    source += kLauncherStart;
  }

  Result<std::vector<cpu::KernelFunction>>
  compile(std::span<const plan::Kernel> launchers, cpu::ThreadPool &) override {
    for (const plan::Kernel &launcher : launchers)
      source += launcher.source;
    library = loadCudaForCpu(source);
    std::vector<cpu::KernelFunction> functions;
    for (const plan::Kernel &launcher : launchers)
      functions.push_back(reinterpret_cast<cpu::KernelFunction>(
          findSymbol(library.get(), launcher.symbol)));
    return functions;
  }

  const char *problem() const {
    return *static_cast<const char **>(
        findSymbol(library.get(), "first_problem"));
  }

private:
  std::string source;
  std::shared_ptr<void> library;
};

plan::Kernel launcherOf(const plan::Launch &launch, const std::string &kernel,
                        const std::string &symbol) {
  if (launch.arguments.size() > kMaxArguments)
    throwError(ErrorCode::Unsupported,
               fmt::format("'{}' has {} arguments; on the CPU a kernel takes "
                           "{} at most",
                           kernel, launch.arguments.size(), kMaxArguments));
  return {symbol, "cuda",
          fmt::format("extern \"C\" void {}(void *const *buffers, int64_t, "
                      "int64_t, void *) {{\n"
                      "  launch_grid((void *){}, {{{}, {}, {}}}, {}, {}, "
                      "buffers, {});\n}}\n",
                      symbol, kernel, launch.grid[0], launch.grid[1],
                      launch.grid[2], launch.blockThreads, launch.sharedBytes,
                      launch.arguments.size())};
}

void launchOnCpu(std::vector<plan::Step> &steps,
                 const std::vector<plan::Kernel> &kernels,
                 std::vector<plan::Kernel> &launchers) {
  for (plan::Step &step : steps) {
    if (step.launch) {
      plan::Launch &launch = *step.launch;
      launchers.push_back(
          launcherOf(launch, kernels[static_cast<size_t>(launch.kernel)].symbol,
                     fmt::format("launch_{}", launchers.size())));
      launch.kernel = static_cast<int64_t>(launchers.size()) - 1;
      launch.extent = 1;
      launch.scratchBytes = 0; // a buffer among the arguments
    }
    for (std::vector<plan::Step> &branch : step.branches)
      launchOnCpu(branch, kernels, launchers);
  }
}

} // namespace

Result<std::vector<Tensor>> runCudaPlan(const plan::Plan &plan,
                                        std::span<const Tensor> inputs,
                                        const WeightResolver &weights) {
  using ResultT = Result<std::vector<Tensor>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    auto compiler = std::make_shared<LauncherCompiler>(plan.kernels);
    plan::Plan onCpu = plan;
    onCpu.target = "cpu";
    onCpu.kernels.clear();
    launchOnCpu(onCpu.prepare.steps, plan.kernels, onCpu.kernels);
    launchOnCpu(onCpu.forward.steps, plan.kernels, onCpu.kernels);
    LoadOptions options;
    options.pool = std::make_shared<cpu::ThreadPool>(1);
    options.compiler = compiler;
    options.poison = true;
    auto executable =
        Executable::load(std::move(onCpu), weights, options).valueOrThrow();
    std::vector<Tensor> outputs = executable->run(inputs).valueOrThrow();
    if (const char *problem = compiler->problem())
      throwError(ErrorCode::Internal, problem);
    return outputs;
  });
}

} // namespace gcompile::testing
