//===- CudaEmitter.h - loop nests as CUDA kernels -------------------------===//
#pragma once
#include "Schedule.h"

#include "mlir/IR/BuiltinOps.h"

namespace gcompile::cuda {

/// A kernel's loop nest, and how the emitted function gets its tensors.
struct CudaFunction {
  std::string symbol;
  const loops::LoopPart *part = nullptr;
  Schedule schedule;
  /// Positions of the tensors among the function's parameters. An input with
  /// the position of an output is updated in place.
  llvm::ArrayRef<unsigned> inputArguments, outputArguments;
};

struct CudaSource {
  std::string text;
  int64_t gridBlocks = 1, blockThreads = 1;
  /// Global memory that the kernel is given as its last argument; 0: none.
  int64_t scratchBytes = 0;
};

/// CUDA C++ of the kernel; reports an error where it cannot be written.
mlir::FailureOr<CudaSource> emitCuda(const CudaFunction &function);

} // namespace gcompile::cuda
