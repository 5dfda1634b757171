//===- Routine.h - library calls of a plan, on the GPU --------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/cuda/Kernels.h"
#include "gcompile/plan/Plan.h"

#include <cstddef>
#include <memory>

namespace gcompile::cuda {

class Libraries;

/// What a routine is given to run.
struct RoutineContext {
  /// Device addresses of the first bytes of the plan's buffers, by index:
  /// 16-byte aligned where an embedder has bound an input or output, else as in
  /// the plan.
  void *const *buffers;
  CUstream stream;
  /// workspaceBytes() bytes of device memory, 256-byte aligned; their content
  /// means nothing.
  std::byte *workspace;
  /// Device memory: the run's seed, for random numbers.
  const uint64_t *seed;
};

/// A library call whose shapes, types and attributes have been checked, and for
/// which the algorithm has been chosen. Enqueueing allocates nothing and can be
/// captured in a CUDA graph. Outputs overlap neither inputs nor one another.
class Routine {
public:
  virtual ~Routine() = default;
  virtual int64_t workspaceBytes() const { return 0; }
  /// Throws an ErrorException if the driver or a library reports an error.
  virtual void enqueue(const RoutineContext &context) const = 0;
};

/// What a routine may use when it is bound.
struct RoutineEnvironment {
  const DeviceInfo &device;
  /// Kernels it asks for are compiled together, after all routines are bound.
  KernelRequests &kernels;
  /// cuBLASLt and cuDNN, each of which may be missing: null then.
  Libraries *libraries;
};

/// The GPU's counterpart of cpu::bindRoutine: the same calls with the same
/// meaning (see gcompile/cpu/Routine.h). A library is used where it is there
/// and takes the call, else a generated kernel.
Result<std::unique_ptr<Routine>>
bindRoutine(const plan::LibraryCall &call,
            const RoutineEnvironment &environment);

} // namespace gcompile::cuda
