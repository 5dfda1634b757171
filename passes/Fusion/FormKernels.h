//===- FormKernels.h - moving groups of operations into kernels -----------===//
#pragma once
#include "mlir/IR/Block.h"

#include <string>

namespace gcompile {

/// One step of a block: a group that becomes a kernel, or an operation that
/// stays (control flow).
struct KernelStep {
  llvm::SmallVector<mlir::Operation *> ops; ///< in program order
  bool isKernel = true;
  std::string reason;
};

/// Rebuilds `block` as `steps`, which are in an order that respects their reads
/// and hold all that computes in it; the constants, fills and views that they
/// need go along. Constants in memory stay before the steps; the terminator
/// must read no view or fill.
void formKernels(mlir::Block &block, llvm::ArrayRef<KernelStep> steps);

/// Erases what is left over of `block`: views, fills, empty tensors and scalars
/// that nobody reads any more.
void eraseLeftovers(mlir::Block &block);

/// "linear_gelu" for nodes linear_3 and gelu_1: readable, not unique.
std::string kernelName(llvm::ArrayRef<mlir::Operation *> ops);

} // namespace gcompile
