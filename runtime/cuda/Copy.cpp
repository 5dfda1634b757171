//===- Copy.cpp - elements from one layout to another ---------------------===//
// Runs that both tensors have are moved in pieces of up to 16 bytes, several in
// flight; where one is a transposition of the other, squares go through shared
// memory, so that reads and writes are whole sectors.
#include "GeneratedRoutine.h"

#include <algorithm>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 256;
constexpr int64_t kInFlight = 4;
/// Side of a transposed square, and the rows of it that a block moves at once.
constexpr int64_t kTile = 32, kTileRows = 8;
enum { Source, Target };

/// What a kernel copies: pieces of `width` bytes, offsets counted in them.
struct Pieces {
  int64_t width;
  std::vector<StridedDim> dims;
  int64_t sourceOffset, targetOffset; ///< of the first piece
};

/// Loops in the order of the target's memory, with positive strides there.
Pieces arrange(const plan::TensorRef &source, const plan::TensorRef &target) {
  Pieces pieces{byteWidth(source.dtype), {}, source.offset, target.offset};
  std::vector<StridedDim> dims;
  for (size_t d = 0; d < source.sizes.size(); ++d) {
    StridedDim dim{source.sizes[d], {source.strides[d], target.strides[d]}};
    if (dim.size == 1)
      continue;
    if (dim.strides[Target] < 0) {
      pieces.sourceOffset += (dim.size - 1) * dim.strides[Source];
      pieces.targetOffset += (dim.size - 1) * dim.strides[Target];
      dim.strides = {-dim.strides[Source], -dim.strides[Target]};
    }
    dims.push_back(dim);
  }
  std::stable_sort(dims.begin(), dims.end(), [](auto &a, auto &b) {
    return a.strides[Target] > b.strides[Target];
  });
  pieces.dims = joinDims(dims);
  return pieces;
}

/// Makes pieces as wide as runs and alignment let them be. Buffers themselves
/// are aligned.
Pieces widen(Pieces pieces) {
  auto isEven = [&] {
    const StridedDim &inner = pieces.dims.back();
    bool result = inner.size % 2 == 0 && pieces.sourceOffset % 2 == 0 &&
                  pieces.targetOffset % 2 == 0;
    for (size_t d = 0; d + 1 < pieces.dims.size(); ++d)
      result &= pieces.dims[d].strides[Source] % 2 == 0 &&
                pieces.dims[d].strides[Target] % 2 == 0;
    return result;
  };
  if (pieces.dims.empty() ||
      pieces.dims.back().strides != std::vector<int64_t>{1, 1})
    return pieces;
  while (pieces.width < 16 && isEven()) {
    pieces.width *= 2;
    pieces.sourceOffset /= 2;
    pieces.targetOffset /= 2;
    pieces.dims.back().size /= 2;
    for (size_t d = 0; d + 1 < pieces.dims.size(); ++d)
      for (int64_t &stride : pieces.dims[d].strides)
        stride /= 2;
  }
  return pieces;
}

std::string_view typeOfWidth(int64_t width) {
  switch (width) {
  case 1:
    return "u8";
  case 2:
    return "u16";
  case 4:
    return "u32";
  case 8:
    return "u64";
  default:
    return "Vec<u64, 2>";
  }
}

std::string prologue(const Pieces &pieces) {
  return fmt::format("#include \"gcompile.cuh\"\nusing Piece = {};\n{}{}",
                     typeOfWidth(pieces.width),
                     offsetFunction("source_offset", pieces.dims, Source),
                     offsetFunction("target_offset", pieces.dims, Target));
}

struct Generated {
  std::string source;
  Dim3 grid, block;
};

Generated stridedKernel(const Pieces &pieces) {
  const int64_t count = numElements(pieces.dims);
  std::string source =
      prologue(pieces) + fmt::format(R"(constexpr i64 kCount = {0};
extern "C" __global__ void __launch_bounds__({1}) KERNEL(const Piece *source, Piece *target) {{
  const i64 first = i64(blockIdx.x) * ({1} * {2}) + threadIdx.x;
  Piece piece[{2}];
#pragma unroll
  for (int i = 0; i < {2}; ++i)
    if (first + i * {1} < kCount)
      piece[i] = source[source_offset(first + i * {1})];
#pragma unroll
  for (int i = 0; i < {2}; ++i)
    if (first + i * {1} < kCount)
      target[target_offset(first + i * {1})] = piece[i];
}}
)",
                                     count, kThreads, kInFlight);
  return {std::move(source), gridFor(count, kThreads * kInFlight), {kThreads}};
}

/// A run of odd length: 16-byte pieces, and the rest by the first threads.
Generated runKernel(const Pieces &pieces) {
  const int64_t perVector = 16 / pieces.width;
  const int64_t count = pieces.dims[0].size, vectors = count / perVector;
  std::string source = fmt::format(R"(#include "gcompile.cuh"
using Piece = {0};
using Vector = Vec<u64, 2>;
constexpr i64 kCount = {1}, kVectors = {2};
extern "C" __global__ void __launch_bounds__({3}) KERNEL(const Piece *source, Piece *target) {{
  const Vector *from = reinterpret_cast<const Vector *>(source);
  Vector *to = reinterpret_cast<Vector *>(target);
  const i64 first = i64(blockIdx.x) * ({3} * {4}) + threadIdx.x;
  if (first < kCount - kVectors * {5})
    target[kVectors * {5} + first] = source[kVectors * {5} + first];
  Vector piece[{4}];
#pragma unroll
  for (int i = 0; i < {4}; ++i)
    if (first + i * {3} < kVectors)
      piece[i] = from[first + i * {3}];
#pragma unroll
  for (int i = 0; i < {4}; ++i)
    if (first + i * {3} < kVectors)
      to[first + i * {3}] = piece[i];
}}
)",
                                   typeOfWidth(pieces.width), count, vectors,
                                   kThreads, kInFlight, perVector);
  return {std::move(source),
          gridFor(std::max<int64_t>(1, vectors), kThreads * kInFlight),
          {kThreads}};
}

/// The loop along which the source runs, where it is not the target's; or -1.
int transposedDim(const Pieces &pieces) {
  if (pieces.dims.size() < 2)
    return -1;
  const int64_t along = std::llabs(pieces.dims.back().strides[Source]);
  int best = -1;
  int64_t least = along;
  for (size_t d = 0; d + 1 < pieces.dims.size(); ++d) {
    const int64_t stride = std::llabs(pieces.dims[d].strides[Source]);
    if (stride != 0 && stride < least) {
      least = stride;
      best = static_cast<int>(d);
    }
  }
  return best;
}

Generated tileKernel(Pieces pieces, int rowDim) {
  const StridedDim row = pieces.dims[static_cast<size_t>(rowDim)];
  const StridedDim column = pieces.dims.back();
  pieces.dims.pop_back();
  pieces.dims.erase(pieces.dims.begin() + rowDim);
  const int64_t rowTiles = (row.size + kTile - 1) / kTile;
  const int64_t columnTiles = (column.size + kTile - 1) / kTile;
  std::string source =
      prologue(pieces) +
      fmt::format(R"(constexpr i64 kRows = {0}, kColumns = {1};
// The source runs along the rows' dimension, the target along the columns'.
extern "C" __global__ void __launch_bounds__({2} * {3}) KERNEL(const Piece *source, Piece *target) {{
  __shared__ Piece tile[{2}][{2} + 1];
  i64 index = blockIdx.x;
  const i64 column = index % {4} * {2};
  index /= {4};
  const i64 row = index % {5} * {2};
  index /= {5};
  source += source_offset(index);
  target += target_offset(index);
#pragma unroll
  for (int i = threadIdx.y; i < {2}; i += {3})
    if (row + threadIdx.x < kRows && column + i < kColumns)
      tile[i][threadIdx.x] = source[(row + threadIdx.x) * {6} + (column + i) * {7}];
  __syncthreads();
#pragma unroll
  for (int i = threadIdx.y; i < {2}; i += {3})
    if (row + i < kRows && column + threadIdx.x < kColumns)
      target[(row + i) * {8} + (column + threadIdx.x) * {9}] = tile[threadIdx.x][i];
}}
)",
                  row.size, column.size, kTile, kTileRows, columnTiles,
                  rowTiles, row.strides[Source], column.strides[Source],
                  row.strides[Target], column.strides[Target]);
  return {std::move(source),
          gridFor(rowTiles * columnTiles * numElements(pieces.dims), 1),
          {kTile, kTileRows}};
}

} // namespace

std::unique_ptr<Routine> bindCopy(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment) {
  plan::expectOperands(call, 1, 1, 1, 1);
  const plan::TensorRef &source = call.inputs[0], &target = call.outputs[0];
  if (byteWidth(source.dtype) != byteWidth(target.dtype) ||
      source.sizes != target.sizes)
    failCall(call,
             fmt::format("from {}[{}] to {}[{}]", name(source.dtype),
                         fmt::join(source.sizes, ", "), name(target.dtype),
                         fmt::join(target.sizes, ", ")));
  if (plan::numElements(source) == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});
  const Pieces pieces = widen(arrange(source, target));
  const bool isRun = pieces.dims.size() == 1 && pieces.width < 16 &&
                     pieces.dims[0].strides == std::vector<int64_t>{1, 1} &&
                     pieces.sourceOffset * pieces.width % 16 == 0 &&
                     pieces.targetOffset * pieces.width % 16 == 0;
  const int rowDim = transposedDim(pieces);
  Generated kernel = isRun         ? runKernel(pieces)
                     : rowDim >= 0 ? tileKernel(pieces, rowDim)
                                   : stridedKernel(pieces);
  auto argument = [&](const plan::TensorRef &ref, int64_t offset) {
    return KernelArgument{KernelArgument::Base::Buffer, ref.buffer,
                          offset * pieces.width};
  };
  return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{
      {addKernel(environment, "copy", std::move(kernel.source)),
       kernel.grid,
       kernel.block,
       0,
       {argument(source, pieces.sourceOffset),
        argument(target, pieces.targetOffset)}}});
}

} // namespace gcompile::cuda
