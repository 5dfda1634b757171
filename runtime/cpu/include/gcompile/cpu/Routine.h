//===- Routine.h - library calls of a plan --------------------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/cpu/ThreadPool.h"
#include "gcompile/plan/Plan.h"

#include <cstddef>
#include <memory>

namespace gcompile::cpu {

/// What a routine is given to run.
struct RoutineContext {
  /// First bytes of the plan's buffers, by their index.
  void *const *buffers;
  ThreadPool &pool;
  /// workspaceBytes() bytes, 64-byte aligned; their content means nothing.
  std::byte *workspace;
  /// The run's seed, for random numbers.
  uint64_t seed;
};

/// A library call whose shapes, types and attributes have been checked, and for
/// which the algorithm has been chosen. Running it cannot fail and allocates
/// nothing. Any strides are taken, zero and negative ones included; outputs
/// overlap neither inputs nor one another.
class Routine {
public:
  virtual ~Routine() = default;
  /// Workspace for a pool of `numThreads` threads.
  virtual int64_t workspaceBytes(int numThreads) const { return 0; }
  virtual void run(const RoutineContext &context) const = 0;
};

/// Attributes have the names of the tg op's: integers, booleans and numbers as
/// such, arrays as lists, enumerations by their keyword ("sum"). Optional
/// operands come last and may be missing.
///
// clang-format off
///   op           inputs                      outputs               attributes
///   matmul       lhs, rhs                    result
///   convolution  input, weight               result                stride, padding, dilation, output_padding, groups, transposed
///   attention    query, key, value, [mask]   result, [logsumexp]   scale, causal
///   sort         input                       values, indices       dim, descending, is_unsigned
///   top_k        input                       values, indices       dim, k, largest, is_unsigned
///   scan         input                       values, [indices]     dim, kind, is_unsigned
///   random                                   result                distribution, stream
///   copy         source                      result
// clang-format on
///
/// Products of half-precision operands are summed in float32; the result is
/// that, or rounded once to the operands' type.
///
/// An error (of kind Internal where the call is malformed, Unsupported where an
/// element type is) or a routine that may be run any number of times, by one
/// thread at a time for each workspace.
Result<std::unique_ptr<Routine>> bindRoutine(const plan::LibraryCall &call);

} // namespace gcompile::cpu
