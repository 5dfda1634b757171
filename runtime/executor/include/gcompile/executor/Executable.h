//===- Executable.h - a plan that can be run ------------------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/cpu/KernelCompiler.h"
#include "gcompile/cpu/ThreadPool.h"
#include "gcompile/cuda/CompileService.h"
#include "gcompile/plan/Plan.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcompile {

/// The tensor of a parameter, buffer or constant of the model, by its name.
using WeightResolver = std::function<Result<Tensor>(const std::string &name)>;

struct LoadOptions {
  std::shared_ptr<cpu::ThreadPool> pool;         ///< required
  std::shared_ptr<cpu::KernelCompiler> compiler; ///< required by CPU plans
  /// Fill the arena and the outputs with NaN (all bits set) before each run, so
  /// that reading what was never written shows.
  bool poison = false;

  // Plans for the GPU:
  /// Compiles their kernels; null for one with the default options.
  std::shared_ptr<cuda::CompileService> cudaCompiler;
  int deviceOrdinal = 0; ///< which GPU
  /// Record a run as a CUDA graph and replay it: hundreds of launches then cost
  /// what one does ("reduce-overhead"). See Executable::graphProblem().
  bool cudaGraph = false;
  /// Use cuBLASLt and cuDNN where they are; else generated kernels compute
  /// everything. See Executable::libraryProblems().
  bool libraries = true;
  /// Called while weights are copied to the GPU, by the thread that loads.
  std::function<void(int64_t copiedBytes, int64_t totalBytes)> progress;
};

struct RunOptions {
  uint64_t seed = 0;    ///< of the random numbers
  bool profile = false; ///< time each step
};

/// Time of a step in the last profiled run, summed over its repetitions.
struct StepTime {
  const plan::Step *step;
  double seconds;
  int64_t numRuns;
};

struct WeightsInfo {
  int64_t totalBytes = 0;    ///< of all tensors the plan names
  int64_t copiedBytes = 0;   ///< not used where the resolver had them; on the
                             ///< GPU all, each tensor once
  int64_t preparedBytes = 0; ///< computed from them when loading
};

class ExecutableBackend;

/// A plan with its weights, memory and compiled kernels, for the device that
/// it was made for ("cpu" or "cuda"). One run at a time; different executables
/// are independent, also where they share a pool.
class Executable {
public:
  /// Checks the plan, compiles its kernels, fetches the weights and runs the
  /// plan's `prepare` entry. Weights that only `prepare` reads are released
  /// after it. On the CPU weights are used in place where they are row-major
  /// and aligned, else copied; state is always copied. On the GPU all are
  /// copied, and released when this returns.
  static Result<std::unique_ptr<Executable>> load(plan::Plan plan,
                                                  const WeightResolver &weights,
                                                  const LoadOptions &options);
  ~Executable();

  /// Runs the plan once. `inputs` are the user inputs in the order of
  /// plan().inputs, with exactly those types and sizes and any strides; where
  /// the plan mutates one, it is written and has to be writable. Returns new
  /// tensors in the order of plan().outputs, with the strides given there.
  /// Allocates no other tensor memory, save for inputs that are not row-major.
  /// On the GPU it copies inputs there and outputs back, and waits for them.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs,
                                  const RunOptions &options = {});

  /// The present value of a piece of state, by the name of its weight. On the
  /// CPU it shares memory with the executable, on the GPU it is a copy. An
  /// error if the plan has none of the name.
  Result<Tensor> state(const std::string &weight) const;

  //===--- Inputs and outputs that stay on the GPU ------------------------===//
  // Errors of code InvalidArgument for plans of the CPU.

  /// Lets runs read and write the caller's device memory instead of the
  /// executable's own: one address for each of plan().inputs (row-major) and
  /// plan().outputs (with the strides given there), 16-byte aligned; null for
  /// the executable's own memory. Outputs overlap neither inputs nor one
  /// another. Borrowed until the next call and the end of what was enqueued.
  Status bindDevice(std::span<void *const> inputs,
                    std::span<void *const> outputs);
  /// The device memory that runs use at present for an input or output; null
  /// for one that the program does not read, or that has no elements.
  void *deviceInput(size_t index) const;
  void *deviceOutput(size_t index) const;

  /// Queues a run on `stream` (null: the default stream) with the inputs and
  /// outputs as they are on the device, and returns. Copies nothing between
  /// host and device, and allocates nothing after the first call. Plans with
  /// control flow wait for their predicates. Runs share the arena: one on
  /// another stream has to wait for the one before.
  Status enqueue(CUstream stream, const RunOptions &options = {});

  /// Seconds of each of `repetitions` runs that follow one another on the GPU,
  /// after one that does not count. Works on the device memory as it is.
  Result<std::vector<double>> benchmark(int64_t repetitions,
                                        const RunOptions &options = {});

  /// Why runs are single launches although LoadOptions::cudaGraph asks for a
  /// graph; empty otherwise.
  std::string graphProblem() const;
  /// Why generated kernels stand in for libraries that the plan could have used
  /// (see LoadOptions::libraries): one line for each that is missing; empty
  /// where none is, or on the CPU.
  std::string libraryProblems() const;

  //===--- What it is
  //------------------------------------------------------===//

  const plan::Plan &plan() const;
  WeightsInfo weightsInfo() const;
  /// Bytes of the library routines' common workspace, beside the arena.
  int64_t workspaceBytes() const;
  /// Of the last run that was profiled, in the order of the plan; steps that
  /// did not run are left out.
  std::vector<StepTime> profile() const;

private:
  explicit Executable(std::unique_ptr<ExecutableBackend> backend);
  std::unique_ptr<ExecutableBackend> backend;
};

} // namespace gcompile
