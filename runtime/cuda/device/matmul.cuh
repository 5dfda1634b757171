//===- matmul.cuh - matrix products of any layout -------------------------===//
// A block of 256 threads computes a square of 64 x 64 results, each thread 4 x
// 4 of them, in steps of 16 along the sum through shared memory. Serves every
// type and stride; tensor cores are the libraries' business.
#pragma once
#include "gcompile.cuh"

template <class Sum, class T> __device__ inline Sum to_sum(T value) {
  return Sum(value);
}
template <> __device__ inline float to_sum<float, f16>(f16 value) {
  return to_float(value);
}
template <> __device__ inline float to_sum<float, bf16>(bf16 value) {
  return to_float(value);
}
template <class T, class Sum> __device__ inline T from_sum(Sum value) {
  return T(value);
}
template <> __device__ inline f16 from_sum<f16, float>(float value) {
  return to_f16(value);
}
template <> __device__ inline bf16 from_sum<bf16, float>(float value) {
  return to_bf16(value);
}

/// Rows x Depth times Depth x Columns; strides in elements, of a row and of a
/// column of each matrix.
template <i64 Rows_, i64 Columns_, i64 Depth_, i64 LhsRow_, i64 LhsColumn_,
          i64 RhsRow_, i64 RhsColumn_, i64 ResultRow_, i64 ResultColumn_>
struct MatmulShape {
  static constexpr i64 Rows = Rows_, Columns = Columns_, Depth = Depth_;
  static constexpr i64 LhsRow = LhsRow_, LhsColumn = LhsColumn_;
  static constexpr i64 RhsRow = RhsRow_, RhsColumn = RhsColumn_;
  static constexpr i64 ResultRow = ResultRow_, ResultColumn = ResultColumn_;
};

template <class Shape, class Sum, class In, class Out>
__device__ inline void matmul_tile(const In *lhs, const In *rhs, Out *result,
                                   i64 tile_row, i64 tile_column) {
  constexpr int kTile = 64, kDepth = 16;
  // Padded: neither writing along rows nor along columns meets one bank.
  __shared__ Sum a[kDepth][kTile + 1], b[kDepth][kTile + 1];
  const int thread = threadIdx.x;
  const i64 row0 = tile_row * kTile, column0 = tile_column * kTile;
  Sum sums[4][4] = {};
  for (i64 k0 = 0; k0 < Shape::Depth; k0 += kDepth) {
#pragma unroll
    for (int i = 0; i < kTile * kDepth / 256; ++i) {
      const int number = thread + i * 256;
      // Neighbouring threads read neighbours in memory.
      const bool along = Shape::LhsColumn == 1, down = Shape::RhsRow == 1;
      const int ar = along ? number / kDepth : number % kTile;
      const int ak = along ? number % kDepth : number / kTile;
      const int bc = down ? number / kDepth : number % kTile;
      const int bk = down ? number % kDepth : number / kTile;
      a[ak][ar] = row0 + ar < Shape::Rows && k0 + ak < Shape::Depth
                      ? to_sum<Sum>(lhs[(row0 + ar) * Shape::LhsRow +
                                        (k0 + ak) * Shape::LhsColumn])
                      : Sum(0);
      b[bk][bc] = column0 + bc < Shape::Columns && k0 + bk < Shape::Depth
                      ? to_sum<Sum>(rhs[(k0 + bk) * Shape::RhsRow +
                                        (column0 + bc) * Shape::RhsColumn])
                      : Sum(0);
    }
    __syncthreads();
#pragma unroll
    for (int k = 0; k < kDepth; ++k)
#pragma unroll
      for (int i = 0; i < 4; ++i)
#pragma unroll
        for (int j = 0; j < 4; ++j)
          sums[i][j] += a[k][thread / 16 + i * 16] * b[k][thread % 16 + j * 16];
    __syncthreads();
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      const i64 row = row0 + thread / 16 + i * 16;
      const i64 column = column0 + thread % 16 + j * 16;
      if (row < Shape::Rows && column < Shape::Columns)
        result[row * Shape::ResultRow + column * Shape::ResultColumn] =
            from_sum<Out>(sums[i][j]);
    }
}
