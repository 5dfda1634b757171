//===- Axis.h - several dimensions as one ---------------------------------===//
#pragma once
#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace gcompile::cpu {

/// An index that runs over several dimensions, row-major, with the offset in
/// elements that it stands for. Dimensions that are one run are joined.
class Axis {
public:
  Axis(std::span<const int64_t> sizes, std::span<const int64_t> strides);

  int64_t size() const { return count; }
  /// Whether offsets are multiples of one stride.
  bool isUniform() const { return dims.size() == 1; }
  int64_t stride() const { return dims.back().stride; }

  /// Calls `visit(done, offset, length, stride)` for each run of the indices
  /// [begin, begin + number), `done` of which lie before it.
  template <typename Visit>
  void forRuns(int64_t begin, int64_t number, Visit &&visit) const {
    const Dim &inner = dims.back();
    for (int64_t done = 0; done < number;) {
      int64_t rest = begin + done;
      const int64_t within = rest % inner.size;
      int64_t offset = within * inner.stride;
      rest /= inner.size;
      for (size_t d = dims.size() - 1; d-- > 0; rest /= dims[d].size)
        offset += rest % dims[d].size * dims[d].stride;
      const int64_t length = std::min(inner.size - within, number - done);
      visit(done, offset, length, inner.stride);
      done += length;
    }
  }

private:
  struct Dim {
    int64_t size, stride;
  };
  std::vector<Dim> dims; ///< at least one
  int64_t count = 1;
};

} // namespace gcompile::cpu
