//===- KernelLoops.h - the loops that run a group of operations -----------===//
// Shared by fusion, which asks whether a group can be one loop nest, and by the
// code generators, which emit it.
#pragma once
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/MapVector.h"

#include <string>

namespace gcompile {

/// The loop nest of one kernel: parallel loops outside, each iteration
/// independent, then reduction loops, run once a stage.
///
/// Only roots have loops: reductions, and generics whose results leave the
/// group. A pointwise generic that is no root is evaluated where it is read, at
/// the index of the read. A read of a reduction's result inside the group must be
/// at the element that the current parallel iteration computes; it starts a new
/// stage.
struct KernelLoops {
  llvm::SmallVector<int64_t> parallel;  ///< sizes
  llvm::SmallVector<int64_t> reduction; ///< sizes; empty without a reduction
  struct Root {
    mlir::linalg::GenericOp op;
    /// Loop indices of `op` as functions of (parallel..., reduction...).
    mlir::AffineMap loopMap;
    /// Stores or reduces within the reduction loops; else once a parallel
    /// iteration, after the reductions of its stage.
    bool isInner = false;
    unsigned stage = 0;
  };
  llvm::SmallVector<Root> roots; ///< in program order
};

/// The loops of a group: `ops` are linalg.generics (with the views between them
/// and, for `anchorResults`, results of a structured op that count as inputs), in
/// program order; `outputs` are the values read outside. Fails with a reason ("the
/// reductions of 'a' and 'b' run over different loops") in `why`.
mlir::FailureOr<KernelLoops>
analyzeKernelLoops(llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Value> outputs, std::string &why);

} // namespace gcompile
