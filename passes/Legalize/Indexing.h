//===- Indexing.h - places that data says ---------------------------------===//
// Shared by lowerings that read and those that write at computed places.
#pragma once
#include "Lowering.h"

namespace gcompile::legalize {

/// The geometry of x[i, :, j]. Loops over what `self[indices]` selects: the
/// dimensions of the indices, broadcast against each other, and the dimensions
/// without an index.
struct IndexedDims {
  static mlir::FailureOr<IndexedDims> get(const aten::Call &call,
                                          LoweringBuilder &b);

  llvm::SmallVector<Tensor> indices; ///< one a dimension of self; null for `:`
  SizeVector selfShape;
  SizeVector indexShape;
  SizeVector domain;    ///< sizes of the loops
  int64_t position = 0; ///< of the first index dimension among the loops

  /// The index tensors, over the domain.
  llvm::SmallVector<Read> reads(LoweringBuilder &b) const;
  /// The place in self of one point of the domain, negative indices resolved;
  /// `elements` are those of the reads.
  llvm::SmallVector<Scalar> places(LoopBody &loop,
                                   llvm::ArrayRef<Scalar> elements) const;
};

/// `index`, as i64, counted from the end of a dimension where it is negative.
Scalar resolveNegative(Scalar index, int64_t size);

/// `index` moved into [0, size).
Scalar clampIndex(Scalar index, int64_t size);

/// How many elements of a sorted row come before `value`, or, with `right`, are
/// not greater. `prefix` are the leading indices of the row; `sorter`, if not
/// null, has the places of its elements in order.
Scalar search(LoopBody &loop, Tensor sequence, Tensor sorter,
              llvm::ArrayRef<Scalar> prefix, Scalar value, bool right);

} // namespace gcompile::legalize
