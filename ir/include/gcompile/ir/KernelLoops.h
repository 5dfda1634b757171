//===- KernelLoops.h - the loops that run a group of operations -----------===//
// Shared by fusion, which asks whether a group can be one loop nest, and by the
// code generators, which emit it.
#pragma once
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "llvm/ADT/DenseMap.h"

#include <memory>
#include <string>

namespace gcompile {

/// One tensor that a generic reads, through the views before it.
struct TensorRead {
  mlir::Value tensor;  ///< not the result of a view
  mlir::AffineMap map; ///< index, over the loops of the reader
};

/// The loop nest of one kernel: parallel loops outside, each iteration
/// independent, then reduction loops, run once a stage.
///
/// Only roots have loops: reductions, and generics whose results leave the
/// group. A pointwise generic that is no root is evaluated where it is read, at
/// the index of the read. A read of a reduction's result inside the group must
/// be at the element that the current parallel iteration computes, and comes
/// after the stage that computes it.
///
/// One parallel iteration runs, for each stage in turn, the reduction loops
/// with the inner roots of that stage, then the outer roots of that stage.
struct KernelLoops {
  llvm::SmallVector<int64_t> parallel;  ///< sizes
  llvm::SmallVector<int64_t> reduction; ///< sizes; empty without a reduction
  struct Root {
    mlir::linalg::GenericOp op;
    /// Loop indices of `op` as functions of (parallel..., reduction...), one to
    /// one. That of an outer root uses the parallel ones only.
    mlir::AffineMap loopMap;
    /// Stores or reduces within the reduction loops; else once a parallel
    /// iteration.
    bool isInner = false;
    unsigned stage = 0;
    /// What one iteration reads, over the kernel's loops: by the root itself
    /// and by the pointwise generics evaluated for it, results of the group
    /// included.
    llvm::SmallVector<TensorRead> reads;
  };
  llvm::SmallVector<Root> roots; ///< in program order
};

/// The loops of a group: `ops` are linalg.generics (views, constants, fills and
/// structured ops among them are passed over: results of the last count as
/// inputs), in program order; `outputs` are the values read outside. Fails with
/// a reason ("the reductions of 'a' and 'b' run over different loops") in
/// `why`.
mlir::FailureOr<KernelLoops>
analyzeKernelLoops(llvm::ArrayRef<mlir::Operation *> ops,
                   llvm::ArrayRef<mlir::Value> outputs, std::string &why);

/// True for a generic that computes each element of its results by itself:
/// parallel loops, identity output maps, a body that does not read its outputs.
bool isPointwise(mlir::linalg::GenericOp op);

/// What the analysis learns of single generics, kept between groups. For
/// callers that analyse many overlapping groups of operations that do not
/// change.
class KernelLoopsCache {
public:
  KernelLoopsCache();
  ~KernelLoopsCache();
  mlir::FailureOr<KernelLoops> analyze(llvm::ArrayRef<mlir::Operation *> ops,
                                       llvm::ArrayRef<mlir::Value> outputs,
                                       std::string &why);
  struct Generic;
  /// Facts about `op`; valid until the cache goes.
  Generic &get(mlir::linalg::GenericOp op);

private:
  llvm::DenseMap<mlir::Operation *, std::unique_ptr<Generic>> generics;
};

struct KernelLoopsCache::Generic {
  mlir::linalg::GenericOp op;
  llvm::SmallVector<int64_t> sizes; ///< of its loops
  bool isReduction = false;
  llvm::SmallVector<TensorRead> reads;
  /// Tensors its body reads at computed indices.
  llvm::SmallVector<mlir::Value> extracted;
  /// Why it cannot be part of a loop nest; empty where it can.
  std::string problem;
};

} // namespace gcompile
