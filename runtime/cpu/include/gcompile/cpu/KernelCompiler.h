//===- KernelCompiler.h - kernels to functions ----------------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/cpu/ThreadPool.h"
#include "gcompile/plan/Plan.h"

#include <span>
#include <vector>

namespace gcompile::cpu {

/// See plan::Launch: runs iterations [begin, end) of a kernel's parallel loops.
using KernelFunction = void (*)(void *const *buffers, int64_t begin,
                                int64_t end, void *scratch);

/// Stands between the executor, which links no compiler, and the JIT.
class KernelCompiler {
public:
  virtual ~KernelCompiler() = default;

  /// One function for each kernel, valid as long as the compiler lives. Uses
  /// the pool to compile several at once. Thread-safe.
  virtual Result<std::vector<KernelFunction>>
  compile(std::span<const plan::Kernel> kernels, ThreadPool &pool) = 0;
};

} // namespace gcompile::cpu
