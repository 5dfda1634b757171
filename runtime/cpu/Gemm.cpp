#include "Gemm.h"

#include "VectorLoops.h"

#include <cblas.h>

namespace gcompile::cpu {
namespace {

/// target = lhs * rhs, or += where `accumulate`; all dense enough for BLAS.
template <typename T>
void callBlas(const BlasMatrix<T> &lhs, const BlasMatrix<T> &rhs, int64_t m,
              int64_t n, int64_t k, bool accumulate, T *target,
              int64_t targetStride) {
  // Our own threads divide the work: BLAS's would be a second set beside them.
  static const bool isSingleThreaded = (openblas_set_num_threads(1), true);
  static_cast<void>(isSingleThreaded);
  const CBLAS_TRANSPOSE lhsForm = lhs.transposed ? CblasTrans : CblasNoTrans;
  const CBLAS_TRANSPOSE rhsForm = rhs.transposed ? CblasTrans : CblasNoTrans;
  const auto rows = static_cast<blasint>(m), columns = static_cast<blasint>(n),
             depth = static_cast<blasint>(k),
             lda = static_cast<blasint>(lhs.leadingDimension),
             ldb = static_cast<blasint>(rhs.leadingDimension),
             ldc = static_cast<blasint>(targetStride);
  const T one = 1, beta = accumulate ? T(1) : T(0);
  if constexpr (std::is_same_v<T, float>)
    cblas_sgemm(CblasRowMajor, lhsForm, rhsForm, rows, columns, depth, one,
                lhs.data, lda, rhs.data, ldb, beta, target, ldc);
  else if constexpr (std::is_same_v<T, double>)
    cblas_dgemm(CblasRowMajor, lhsForm, rhsForm, rows, columns, depth, one,
                lhs.data, lda, rhs.data, ldb, beta, target, ldc);
  else if constexpr (std::is_same_v<T, std::complex<float>>)
    cblas_cgemm(CblasRowMajor, lhsForm, rhsForm, rows, columns, depth, &one,
                lhs.data, lda, rhs.data, ldb, &beta, target, ldc);
  else
    cblas_zgemm(CblasRowMajor, lhsForm, rhsForm, rows, columns, depth, &one,
                lhs.data, lda, rhs.data, ldb, &beta, target, ldc);
}

/// Integers, which BLAS does not do. They wrap.
void callBlas(const BlasMatrix<int64_t> &lhs, const BlasMatrix<int64_t> &rhs,
              int64_t m, int64_t n, int64_t k, bool accumulate, int64_t *target,
              int64_t targetStride) {
  for (int64_t i = 0; i < m; ++i) {
    int64_t *sums = target + i * targetStride;
    if (!accumulate)
      std::fill(sums, sums + n, 0);
    for (int64_t l = 0; l < k; ++l) {
      const auto factor = static_cast<uint64_t>(*lhs.at(i, l));
      const int64_t step = rhs.transposed ? rhs.leadingDimension : 1;
      const int64_t *from = rhs.at(l, 0);
      for (int64_t j = 0; j < n; ++j)
        sums[j] = static_cast<int64_t>(
            static_cast<uint64_t>(sums[j]) +
            factor * static_cast<uint64_t>(from[j * step]));
    }
  }
}

/// A product of at most kFewRows rows: each element of rhs is read once, along
/// columns as sums of dot products, along rows as sums of rows.
template <typename T>
void multiplyFewRows(const BlasMatrix<T> &lhs, const BlasMatrix<T> &rhs,
                     int64_t m, int64_t n, int64_t k, bool accumulate,
                     T *target, int64_t targetStride) {
  // Pieces of the rows of lhs that stay in L1 or, where they need not be copied
  // to lie side by side, in L2.
  constexpr int64_t pieceSize = 4096, columnStep = 1024;
  T copy[pieceSize];
  const int64_t depthStep = lhs.transposed ? pieceSize / m / 4 * 4 : 16384;
  if (!accumulate)
    for (int64_t i = 0; i < m; ++i)
      std::fill(target + i * targetStride, target + i * targetStride + n, T(0));
  for (int64_t l = 0; l < k; l += depthStep) {
    const int64_t depth = std::min(depthStep, k - l);
    const T *piece = lhs.at(0, l);
    int64_t stride = lhs.leadingDimension;
    if (lhs.transposed) {
      for (int64_t i = 0; i < m; ++i)
        for (int64_t d = 0; d < depth; ++d)
          copy[i * depth + d] = *lhs.at(i, l + d);
      piece = copy;
      stride = depth;
    }
    if (rhs.transposed) {
      for (int64_t j = 0; j < n; ++j) {
        if (m == 4)
          dot4(piece, stride, rhs.at(l, j), depth, target + j, targetStride);
        else
          for (int64_t i = 0; i < m; ++i)
            target[i * targetStride + j] +=
                dot(piece + i * stride, rhs.at(l, j), depth);
      }
      continue;
    }
    for (int64_t j = 0; j < n; j += columnStep) {
      const int64_t columns = std::min(columnStep, n - j);
      for (int64_t d = 0; d < depth; d += 4)
        for (int64_t i = 0; i < m; ++i) {
          const T *factors = piece + i * stride + d;
          T *sums = target + i * targetStride + j;
          if (depth - d >= 4)
            multiplyAdd4(factors, rhs.at(l + d, j), rhs.leadingDimension,
                         columns, sums);
          else
            for (int64_t r = 0; r < depth - d; ++r)
              multiplyAdd(factors[r], rhs.at(l + d + r, j), 1, columns, sums);
        }
    }
  }
}

template <typename T>
void multiply(const BlasMatrix<T> &lhs, const BlasMatrix<T> &rhs, int64_t m,
              int64_t n, int64_t k, bool accumulate, T *target,
              int64_t targetStride) {
  if constexpr (std::is_floating_point_v<T>)
    if (m <= kFewRows)
      return multiplyFewRows(lhs, rhs, m, n, k, accumulate, target,
                             targetStride);
  callBlas(lhs, rhs, m, n, k, accumulate, target, targetStride);
}

int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

} // namespace

template <typename T>
BlasMatrix<T> StridedMatrix<T>::pack(int64_t row, int64_t numRows,
                                     int64_t column, int64_t numColumns,
                                     T *target) const {
  const std::byte *from =
      data + (row * rowStride + column * columnStride) * width;
  // Reads along the smaller stride.
  if (std::abs(columnStride) <= std::abs(rowStride) || numRows == 1) {
    for (int64_t i = 0; i < numRows; ++i)
      load(from + i * rowStride * width, columnStride, numColumns,
           target + i * numColumns);
    return {target, numColumns, false};
  }
  for (int64_t j = 0; j < numColumns; ++j)
    load(from + j * columnStride * width, rowStride, numRows,
         target + j * numRows);
  return {target, numRows, true};
}

template <typename T>
BlasMatrix<T> AxisMatrix<T>::pack(int64_t row, int64_t numRows, int64_t column,
                                  int64_t numColumns, T *target) const {
  if (strided)
    return strided->pack(row, numRows, column, numColumns, target);
  rows.forRuns(
      row, numRows,
      [&](int64_t i, int64_t rowOffset, int64_t rowCount, int64_t rowStride) {
        columns.forRuns(
            column, numColumns,
            [&](int64_t j, int64_t columnOffset, int64_t columnCount,
                int64_t columnStride) {
              for (int64_t r = 0; r < rowCount; ++r)
                load(data + (rowOffset + r * rowStride + columnOffset) * width,
                     columnStride, columnCount,
                     target + (i + r) * numColumns + j);
            });
      });
  return {target, numColumns, false};
}

template <typename T>
void multiplyBlock(const MatrixSource<T> &lhs, const MatrixSource<T> &rhs,
                   int64_t row, int64_t numRows, int64_t column,
                   int64_t numColumns, int64_t depth, T *target,
                   int64_t targetStride, T *workspace) {
  if (depth == 0)
    for (int64_t i = 0; i < numRows; ++i)
      std::fill(target + i * targetStride,
                target + i * targetStride + numColumns, T(0));
  const bool isPacked = !lhs.inPlace || !rhs.inPlace;
  const int64_t step = isPacked ? kBlockDepth : std::max<int64_t>(1, depth);
  T *packedLhs = workspace;
  T *packedRhs = workspace + (lhs.inPlace ? 0 : numRows * kBlockDepth);
  for (int64_t k = 0; k < depth; k += step) {
    const int64_t numK = std::min(step, depth - k);
    auto place = [&](const MatrixSource<T> &source, int64_t i, int64_t count,
                     int64_t j, int64_t columns, T *packed) -> BlasMatrix<T> {
      if (source.inPlace)
        return {source.inPlace->at(i, j), source.inPlace->leadingDimension,
                source.inPlace->transposed};
      return source.pack(i, count, j, columns, packed);
    };
    const BlasMatrix<T> a = place(lhs, row, numRows, k, numK, packedLhs);
    const BlasMatrix<T> b = place(rhs, k, numK, column, numColumns, packedRhs);
    multiply(a, b, numRows, numColumns, numK, k > 0, target, targetStride);
  }
}

Blocking chooseBlocking(int64_t numRows, int64_t numColumns,
                        int64_t numProducts, bool packLhs, bool packRhs,
                        int numThreads) {
  // Smaller pieces than these waste more time in BLAS than a thread gains.
  constexpr int64_t minRows = 32, minColumns = 64;
  if (numRows == 0 || numColumns == 0)
    return {1, 1, 0, 0};
  int64_t rowBlocks = packLhs ? ceilDiv(numRows, kBlockRows) : 1;
  int64_t columnBlocks = packRhs ? ceilDiv(numColumns, kBlockColumns) : 1;
  // Two blocks for each thread, so that an interrupted one holds up less.
  const int64_t wanted = numThreads == 1 ? 1 : 2 * numThreads;
  while (numProducts * rowBlocks * columnBlocks < wanted) {
    const int64_t rows = ceilDiv(numRows, rowBlocks);
    const int64_t columns = ceilDiv(numColumns, columnBlocks);
    const bool isShort = numProducts * rowBlocks * columnBlocks < numThreads;
    const bool canSplitRows = rows >= 2 * minRows && (isShort || !packRhs);
    const bool canSplitColumns = columns >= 2 * minColumns;
    if (canSplitColumns && (columns >= rows || !canSplitRows || packRhs))
      ++columnBlocks;
    else if (canSplitRows)
      ++rowBlocks;
    else
      break;
  }
  auto roundUp = [](int64_t value) { return ceilDiv(value, 16) * 16; };
  Blocking blocking;
  blocking.rows = std::min(numRows, roundUp(ceilDiv(numRows, rowBlocks)));
  blocking.columns =
      std::min(numColumns, roundUp(ceilDiv(numColumns, columnBlocks)));
  blocking.rowBlocks = ceilDiv(numRows, blocking.rows);
  blocking.columnBlocks = ceilDiv(numColumns, blocking.columns);
  return blocking;
}

// NOLINTBEGIN(bugprone-macro-parentheses): the argument is a type.
#define GCOMPILE_INSTANTIATE(T)                                                \
  template class StridedMatrix<T>;                                             \
  template class AxisMatrix<T>;                                                \
  template void multiplyBlock(const MatrixSource<T> &,                         \
                              const MatrixSource<T> &, int64_t, int64_t,       \
                              int64_t, int64_t, int64_t, T *, int64_t, T *);
GCOMPILE_INSTANTIATE(float)
GCOMPILE_INSTANTIATE(double)
GCOMPILE_INSTANTIATE(int64_t)
GCOMPILE_INSTANTIATE(std::complex<float>)
GCOMPILE_INSTANTIATE(std::complex<double>)
#undef GCOMPILE_INSTANTIATE
// NOLINTEND(bugprone-macro-parentheses)

} // namespace gcompile::cpu
