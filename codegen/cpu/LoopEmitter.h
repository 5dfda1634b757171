//===- LoopEmitter.h - loop nests as LLVM IR ------------------------------===//
#pragma once
#include "../loops/LoopNest.h"

#include "mlir/IR/BuiltinOps.h"

namespace gcompile::cpu {

using namespace loops;

/// A loop nest, and how the emitted function gets its tensors.
struct LoopFunction {
  std::string symbol;
  const LoopKernel *kernel = nullptr;
  const LoopNest *nest = nullptr;
  const LoopFacts *facts = nullptr;
  /// Positions of the tensors among the buffers of the launch. An input with
  /// the position of an output is updated in place.
  llvm::SmallVector<unsigned> inputArguments, outputArguments;
};

struct EmittedFunction {
  mlir::OwningOpRef<mlir::ModuleOp> module; ///< func, scf, arith, math and llvm
  int64_t extent = 1;                       ///< of the launch
  int64_t iterations = 1; ///< of the parallel loops, in one of the launch
  int64_t scratchBytes = 0;
};

/// The function, with the ABI of plan::Launch.
mlir::FailureOr<EmittedFunction> emitLoops(const LoopFunction &function);

/// Lowers to the LLVM dialect and prints LLVM IR.
mlir::FailureOr<std::string> lowerToLlvmText(mlir::ModuleOp module);

} // namespace gcompile::cpu
