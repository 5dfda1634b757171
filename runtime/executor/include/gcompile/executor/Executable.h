//===- Executable.h - a plan that can be run ------------------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/cpu/KernelCompiler.h"
#include "gcompile/cpu/ThreadPool.h"
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
  std::shared_ptr<cpu::KernelCompiler> compiler; ///< required
  /// Fill the arena and the outputs with NaN (all bits set) before each run, so
  /// that reading what was never written shows.
  bool poison = false;
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
  int64_t copiedBytes = 0;   ///< not used where the resolver had them
  int64_t preparedBytes = 0; ///< computed from them when loading
};

/// A plan with its weights, memory and compiled kernels. One run at a time;
/// different executables are independent, also where they share a pool.
class Executable {
public:
  /// Checks the plan, compiles its kernels, fetches the weights (used in place
  /// where they are row-major and aligned, else copied; state is always copied)
  /// and runs the plan's `prepare` entry. Weights that only `prepare` reads are
  /// released after it.
  static Result<std::unique_ptr<Executable>> load(plan::Plan plan,
                                                  const WeightResolver &weights,
                                                  const LoadOptions &options);
  ~Executable();

  /// Runs the plan once. `inputs` are the user inputs in the order of
  /// plan().inputs, with exactly those types and sizes and any strides; where
  /// the plan mutates one, it is written and has to be writable. Returns new
  /// tensors in the order of plan().outputs, with the strides given there.
  /// Allocates no other tensor memory, save for inputs that are not row-major.
  Result<std::vector<Tensor>> run(std::span<const Tensor> inputs,
                                  const RunOptions &options = {});

  /// The present value of a piece of state, by the name of its weight; shares
  /// memory with the executable. An error if the plan has none of the name.
  Result<Tensor> state(const std::string &weight) const;

  const plan::Plan &plan() const;
  WeightsInfo weightsInfo() const;
  /// Bytes of the library routines' common workspace, beside the arena.
  int64_t workspaceBytes() const;
  /// Of the last run that was profiled, in the order of the plan; steps that
  /// did not run are left out.
  std::vector<StepTime> profile() const;

private:
  Executable();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile
