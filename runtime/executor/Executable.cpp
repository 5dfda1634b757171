#include "gcompile/executor/Executable.h"

#include "Backend.h"

#include <fmt/format.h>

namespace gcompile {
namespace {

std::unique_ptr<ExecutableBackend> makeBackend(plan::Plan plan,
                                               const LoadOptions &options) {
  if (plan.target == "cpu")
    return makeCpuExecutable(std::move(plan), options);
  if (plan.target == "cuda")
    return makeCudaExecutable(std::move(plan), options);
  throwError(ErrorCode::InvalidArgument,
             fmt::format("this plan is for '{}', which gcompile does not run",
                         plan.target),
             "compile the model for the CPU or the GPU");
}

} // namespace

Executable::Executable(std::unique_ptr<ExecutableBackend> backend)
    : backend(std::move(backend)) {}
Executable::~Executable() = default;

Result<std::unique_ptr<Executable>>
Executable::load(plan::Plan plan, const WeightResolver &weights,
                 const LoadOptions &options) {
  using ResultT = Result<std::unique_ptr<Executable>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    plan::checkPlan(plan).orThrow();
    std::unique_ptr<Executable> executable(
        new Executable(makeBackend(std::move(plan), options)));
    executable->backend->load(weights);
    return executable;
  });
}

Result<std::vector<Tensor>> Executable::run(std::span<const Tensor> inputs,
                                            const RunOptions &options) {
  return catchErrors<Result<std::vector<Tensor>>>(
      [&]() -> Result<std::vector<Tensor>> {
        return backend->run(inputs, options);
      });
}

Result<Tensor> Executable::state(const std::string &weight) const {
  return catchErrors<Result<Tensor>>([&]() -> Result<Tensor> {
    for (size_t i = 0; i < plan().buffers.size(); ++i)
      if (plan().buffers[i].kind == plan::BufferKind::State &&
          plan().buffers[i].weight == weight)
        return backend->state(i);
    throwError(ErrorCode::InvalidArgument,
               fmt::format("the model has no state named '{}'", weight));
  });
}

Status Executable::bindDevice(std::span<void *const> inputs,
                              std::span<void *const> outputs) {
  return catchErrors<Status>([&]() -> Status {
    backend->bindDevice(inputs, outputs);
    return {};
  });
}

void *Executable::deviceInput(size_t index) const {
  return backend->deviceInput(index);
}

void *Executable::deviceOutput(size_t index) const {
  return backend->deviceOutput(index);
}

Status Executable::enqueue(CUstream stream, const RunOptions &options) {
  return catchErrors<Status>([&]() -> Status {
    backend->enqueue(stream, options);
    return {};
  });
}

Result<std::vector<double>> Executable::benchmark(int64_t repetitions,
                                                  const RunOptions &options) {
  return catchErrors<Result<std::vector<double>>>(
      [&]() -> Result<std::vector<double>> {
        return backend->benchmark(repetitions, options);
      });
}

std::string Executable::graphProblem() const { return backend->graphProblem(); }

std::string Executable::libraryProblems() const {
  return backend->libraryProblems();
}

const plan::Plan &Executable::plan() const { return backend->plan; }

WeightsInfo Executable::weightsInfo() const { return backend->info; }

int64_t Executable::workspaceBytes() const { return backend->workspaceBytes(); }

std::vector<StepTime> Executable::profile() const { return backend->profile(); }

} // namespace gcompile
