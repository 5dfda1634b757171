#include "gcompile/cpu/StridedCopy.h"

#include <algorithm>
#include <cassert>
#include <cstdlib>
#include <cstring>

namespace gcompile::cpu {
namespace {

/// Elements that a thread should at least copy.
constexpr int64_t kElementsPerChunk = 1 << 15;
/// Side of the square in which a transposition reads and writes whole lines.
constexpr int64_t kTile = 32;
/// Longest piece of a row that is copied as one item.
constexpr int64_t kRowPiece = 1 << 14;

struct Element16 {
  uint64_t words[2];
};

} // namespace

StridedCopy::StridedCopy(int64_t width, std::span<const int64_t> sizes,
                         std::span<const int64_t> sourceStrides,
                         std::span<const int64_t> targetStrides)
    : width(width) {
  std::vector<Dim> dims;
  for (size_t d = 0; d < sizes.size(); ++d)
    if (sizes[d] != 1)
      dims.push_back({sizes[d], sourceStrides[d], targetStrides[d]});
  std::stable_sort(dims.begin(), dims.end(), [](const Dim &a, const Dim &b) {
    return std::llabs(a.target) > std::llabs(b.target);
  });
  for (const Dim &dim : dims) {
    // Neighbours that are one run in both tensors are one loop.
    if (!outer.empty() && outer.back().source == dim.size * dim.source &&
        outer.back().target == dim.size * dim.target)
      outer.back() = {outer.back().size * dim.size, dim.source, dim.target};
    else
      outer.push_back(dim);
  }
  if (outer.empty())
    return;
  column = outer.back();
  outer.pop_back();
  if (column.source == 1 || outer.empty())
    return;
  auto along = std::min_element(
      outer.begin(), outer.end(), [](const Dim &a, const Dim &b) {
        return std::llabs(a.source) < std::llabs(b.source);
      });
  if (along->source != 0 &&
      std::llabs(along->source) < std::llabs(column.source)) {
    row = *along;
    outer.erase(along);
  }
}

template <typename T>
void StridedCopy::copy(const T *source, T *target, ThreadPool &pool) const {
  const int64_t tileRows = std::min(row.size, kTile);
  const int64_t tileColumns =
      row.size > 1 ? kTile : std::min(column.size, kRowPiece);
  const int64_t rowTiles = (row.size + tileRows - 1) / tileRows;
  const int64_t columnTiles = (column.size + tileColumns - 1) / tileColumns;
  int64_t numTiles = rowTiles * columnTiles;
  for (const Dim &dim : outer)
    numTiles *= dim.size;

  auto copyTile = [&](int64_t tile) {
    const int64_t j = tile % columnTiles * tileColumns;
    tile /= columnTiles;
    const int64_t i = tile % rowTiles * tileRows;
    tile /= rowTiles;
    const T *from = source + i * row.source + j * column.source;
    T *to = target + i * row.target + j * column.target;
    for (size_t d = outer.size(); d-- > 0; tile /= outer[d].size) {
      from += tile % outer[d].size * outer[d].source;
      to += tile % outer[d].size * outer[d].target;
    }
    const int64_t rows = std::min(tileRows, row.size - i);
    const int64_t columns = std::min(tileColumns, column.size - j);
    for (int64_t r = 0; r < rows; ++r, from += row.source, to += row.target) {
      if (column.source == 1 && column.target == 1)
        std::memcpy(to, from, static_cast<size_t>(columns) * sizeof(T));
      else
        for (int64_t c = 0; c < columns; ++c)
          to[c * column.target] = from[c * column.source];
    }
  };
  pool.parallelFor(
      numTiles,
      std::max<int64_t>(1, kElementsPerChunk / (tileRows * tileColumns)),
      [&](int64_t begin, int64_t end, int) {
        for (int64_t tile = begin; tile < end; ++tile)
          copyTile(tile);
      });
}

void StridedCopy::run(const void *source, void *target,
                      ThreadPool &pool) const {
  bool isEmpty = row.size == 0 || column.size == 0;
  for (const Dim &dim : outer)
    isEmpty |= dim.size == 0;
  if (isEmpty)
    return;
  auto as = [&]<typename T>(T) {
    copy(static_cast<const T *>(source), static_cast<T *>(target), pool);
  };
  switch (width) {
  case 1:
    return as(uint8_t{});
  case 2:
    return as(uint16_t{});
  case 4:
    return as(uint32_t{});
  case 8:
    return as(uint64_t{});
  case 16:
    return as(Element16{});
  default:
    assert(false && "no element has this width");
  }
}

} // namespace gcompile::cpu
