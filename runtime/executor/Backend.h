//===- Backend.h - what an Executable is on each device -------------------===//
#pragma once
#include "gcompile/executor/Executable.h"

namespace gcompile {

/// An Executable's plan on one kind of device. Throws ErrorExceptions, which
/// Executable turns into results; its comments say what the functions do.
class ExecutableBackend {
public:
  ExecutableBackend(plan::Plan plan, const LoadOptions &options)
      : plan(std::move(plan)), options(options) {}
  virtual ~ExecutableBackend() = default;

  virtual void load(const WeightResolver &resolve) = 0;
  virtual std::vector<Tensor> run(std::span<const Tensor> inputs,
                                  const RunOptions &options) = 0;
  /// Of the State buffer of this index.
  virtual Tensor state(size_t buffer) const = 0;
  virtual int64_t workspaceBytes() const = 0;
  virtual std::vector<StepTime> profile() const = 0;

  // On the CPU there is no device memory: these throw there.
  virtual void bindDevice(std::span<void *const> inputs,
                          std::span<void *const> outputs);
  virtual void *deviceInput(size_t index) const;
  virtual void *deviceOutput(size_t index) const;
  virtual void enqueue(CUstream stream, const RunOptions &options);
  virtual std::vector<double> benchmark(int64_t repetitions,
                                        const RunOptions &options);
  virtual std::string graphProblem() const { return {}; }
  virtual std::string libraryProblems() const { return {}; }

  const plan::Plan plan;
  const LoadOptions options;
  WeightsInfo info;

protected:
  const plan::Buffer &buffer(int64_t index) const {
    return plan.buffers[static_cast<size_t>(index)];
  }
  cpu::ThreadPool &pool() const { return *options.pool; }
};

std::unique_ptr<ExecutableBackend>
makeCpuExecutable(plan::Plan plan, const LoadOptions &options);
std::unique_ptr<ExecutableBackend>
makeCudaExecutable(plan::Plan plan, const LoadOptions &options);

} // namespace gcompile
