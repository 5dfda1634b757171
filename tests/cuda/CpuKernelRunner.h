//===- CpuKernelRunner.h - runs a CUDA kernel on the CPU ------------------===//
#pragma once
#include "gcompile/cuda/Kernels.h"

#include <initializer_list>
#include <memory>
#include <span>
#include <string>

namespace gcompile::testing {

/// Compiles CUDA C++ by the system's C++ compiler, with cuda_on_cpu.h before it
/// (see there for what that can do and find), and loads it. Libraries are kept
/// in the temporary directory under a hash of all they were made from. Throws
/// std::runtime_error with the compiler's messages.
std::shared_ptr<void> loadCudaForCpu(const std::string &source);

/// A function or variable of such a library; throws where it has none.
void *findSymbol(void *library, const std::string &symbol);

/// A kernel that loadCudaForCpu() has compiled.
///
///   CpuKernelRunner("scale", source).run({4}, {256}, 0, {x.data(), y.data()});
///
/// One run at a time for each source.
class CpuKernelRunner {
public:
  /// `symbol` is an `extern "C" __global__` function of `source`, which may
  /// include the headers of runtime/cuda/device. Throws std::runtime_error with
  /// the compiler's messages.
  CpuKernelRunner(const std::string &symbol, const std::string &source);

  /// Runs the whole grid. `arguments` are the parameters' values, at most 32:
  /// pointers to host memory, or integers cast to pointers; no floating-point
  /// numbers or structs. Throws std::runtime_error where threads wait for ones
  /// that never come.
  void run(cuda::Dim3 grid, cuda::Dim3 block, int64_t sharedBytes,
           std::span<void *const> arguments) const;
  void run(cuda::Dim3 grid, cuda::Dim3 block, int64_t sharedBytes,
           std::initializer_list<void *> arguments) const {
    run(grid, block, sharedBytes,
        std::span(arguments.begin(), arguments.size()));
  }

private:
  std::shared_ptr<void> library;
  void *kernel, *launch;
};

} // namespace gcompile::testing
