//===- LoopNest.h - what a generated function computes --------------------===//
#pragma once
#include "Evaluator.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/Tg.h"

#include "llvm/ADT/MapVector.h"

namespace gcompile::loops {

/// The part of a tg.kernel that runs as loops: generics (with the views, fills
/// and constants that they read) or one tg.scatter.
struct LoopKernel {
  llvm::SmallVector<mlir::Operation *> ops; ///< in program order
  /// Tensors in memory that may be read, and tensors to write.
  llvm::SmallVector<mlir::Value> inputs, outputs;
};

/// KernelLoops, or the loops of a scatter: parallel loops, then reduction loops
/// (for a scatter, those whose iterations may meet in one place).
struct LoopNest {
  struct Root {
    mlir::Operation *op = nullptr; ///< linalg.generic or tg.scatter
    mlir::AffineMap loopMap;       ///< its loop indices, over those of the nest
    bool isInner = false;
    unsigned stage = 0;
  };
  llvm::SmallVector<int64_t> sizes;
  unsigned numParallel = 0;
  llvm::SmallVector<Root> roots;

  llvm::ArrayRef<int64_t> parallel() const {
    return llvm::ArrayRef(sizes).take_front(numParallel);
  }
  llvm::ArrayRef<int64_t> reduction() const {
    return llvm::ArrayRef(sizes).drop_front(numParallel);
  }
  /// The loops of a stage come first, then what runs once a parallel iteration.
  static unsigned phaseOf(unsigned stage, bool isInner) {
    return 2 * stage + (isInner ? 0 : 1);
  }
  unsigned numPhases() const;
  /// Index at which `result` of a root is written, over the loops of the nest.
  static mlir::AffineMap resultIndex(const Root &root, mlir::OpResult result);
};

/// A read or write of memory. Positions count elements, over the nest's loops
/// and, after them, computed indices.
struct Access {
  unsigned tensor = 0; ///< number among the inputs, or among the outputs
  mlir::AffineExpr position;
  mlir::AffineMap index; ///< in each dimension of the tensor
  unsigned phase = 0;
  bool inBranch = false; ///< not made by every iteration
};

/// What a trial run of the nest finds.
struct LoopFacts {
  llvm::SmallVector<Access> loads, stores;
  /// Loop indices that bodies use as values.
  llvm::SmallVector<mlir::AffineExpr> indices;
  /// Elements to keep between stages, because several need them and computing
  /// them is dear, and the phase that computes them.
  llvm::MapVector<Element, unsigned> kept;
  /// Of one pass through each phase: operations, and a measure of time in which
  /// a simple element (load, add, store) takes 1.
  llvm::SmallVector<int64_t> operations, work;
};

/// What buildLoopNest lists in LoopFacts::kept.
struct KeepPolicy {
  /// Elements read from memory too, not only dear ones.
  bool loads = false;
};

int64_t product(llvm::ArrayRef<int64_t> sizes);

/// Loops of the kernel, simplified: no loops of one iteration, neighbours
/// merged where no access can tell. Reports an error where the kernel cannot be
/// loops.
mlir::FailureOr<LoopNest> buildLoopNest(const LoopKernel &kernel,
                                        const KeepPolicy &policy,
                                        LoopFacts &facts);

} // namespace gcompile::loops
