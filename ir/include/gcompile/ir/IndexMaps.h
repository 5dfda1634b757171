//===- IndexMaps.h - affine maps between static index spaces --------------===//
// Views and accesses are affine maps with floordiv and mod. Upstream simplifies
// them without knowing how far an index runs; these functions know.
#pragma once
#include "mlir/IR/AffineMap.h"
#include "llvm/ADT/SmallVector.h"

#include <cstdint>
#include <optional>

namespace gcompile {

/// Simplifies `expr`, where dimension i runs over [0, sizes[i]): drops a mod
/// that never wraps and a floordiv that is always zero, and takes apart sums of
/// multiples (`(d0 * 64 + d1) floordiv 64` is d0 where d1 < 64).
mlir::AffineExpr simplifyInRange(mlir::AffineExpr expr,
                                 llvm::ArrayRef<int64_t> sizes);
mlir::AffineMap simplifyInRange(mlir::AffineMap map,
                                llvm::ArrayRef<int64_t> sizes);

/// Smallest and largest value of `expr`, both inclusive; not always tight, but
/// never too narrow. None for an empty index space or on overflow.
std::optional<std::pair<int64_t, int64_t>>
rangeOf(mlir::AffineExpr expr, llvm::ArrayRef<int64_t> sizes);

/// Row-major position of the indices `map` gives in a tensor of `shape`, as one
/// expression over the map's dimensions.
mlir::AffineExpr linearize(mlir::AffineMap map, llvm::ArrayRef<int64_t> shape);

/// The map that takes an index of `targetShape` to the element of `sourceShape`
/// at the same row-major position. Both have the same number of elements.
mlir::AffineMap reshapeMap(llvm::ArrayRef<int64_t> sourceShape,
                           llvm::ArrayRef<int64_t> targetShape,
                           mlir::MLIRContext *context);

/// Where `expr` is `offset + sum of strides[i] * d_i` over the first `numDims`
/// dimensions, its parts.
struct StridedForm {
  int64_t offset = 0;
  llvm::SmallVector<int64_t> strides; ///< one a dimension
};
std::optional<StridedForm> getStridedForm(mlir::AffineExpr expr,
                                          unsigned numDims);

/// One digit of a dimension in mixed radix, `(d floordiv divisor) mod size`,
/// and what it counts for in a position.
struct Digit {
  unsigned dim;
  int64_t divisor, size, stride;
};

/// Where `position` takes each value in [0, total) exactly once as the first
/// `needed` dimensions run over `sizes`, and depends on no other: the digits
/// that make it up, smallest stride first. Dimensions of size 1 have none.
std::optional<llvm::SmallVector<Digit>>
denseDigits(mlir::AffineExpr position, llvm::ArrayRef<int64_t> sizes,
            unsigned needed, int64_t total);

/// The index of a point whose digits make up `position`, for each of `numDims`
/// dimensions: the inverse of `position` as a function of that index.
llvm::SmallVector<mlir::AffineExpr>
indexFromDigits(llvm::ArrayRef<Digit> digits, unsigned numDims,
                mlir::AffineExpr position);

} // namespace gcompile
