//===- StridedCopy.h - elements from one layout to another ----------------===//
#pragma once
#include "gcompile/cpu/ThreadPool.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcompile::cpu {

/// A copy of elements between tensors of one shape and two layouts, with its
/// loops arranged once: whole runs where both have them, tiles where one is a
/// transposition of the other.
class StridedCopy {
public:
  /// Of elements of `width` bytes (1, 2, 4, 8 or 16). Strides count elements
  /// and may be zero or negative, but no two elements of the target share a
  /// place.
  StridedCopy(int64_t width, std::span<const int64_t> sizes,
              std::span<const int64_t> sourceStrides,
              std::span<const int64_t> targetStrides);

  /// Copies between memory that does not overlap.
  void run(const void *source, void *target, ThreadPool &pool) const;

private:
  struct Dim {
    int64_t size, source, target; ///< source and target are strides
  };
  template <typename T>
  void copy(const T *source, T *target, ThreadPool &pool) const;

  int64_t width;
  std::vector<Dim> outer; ///< loops around the tiles
  Dim row{1, 0, 0};    ///< the source runs along this one, if not along columns
  Dim column{1, 1, 1}; ///< the target runs along this one
};

} // namespace gcompile::cpu
