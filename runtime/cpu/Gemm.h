//===- Gemm.h - products of matrices that lie anywhere --------------------===//
// A blocked product around BLAS, with loops of our own for products of few
// rows, which run at the speed of memory. Operands that BLAS can read stay
// where they are; others (other element types, both strides above one, the
// patches of a convolution) are packed block by block into a thread's
// workspace.
#pragma once
#include "Axis.h"
#include "Elements.h"

#include <algorithm>
#include <optional>

namespace gcompile::cpu {

/// A matrix that BLAS can read, row-major or, where `transposed`, column-major.
template <typename T>
struct BlasMatrix {
  const T *data = nullptr;
  int64_t leadingDimension = 1;
  bool transposed = false;

  const T *at(int64_t row, int64_t column) const {
    return transposed ? data + column * leadingDimension + row
                      : data + row * leadingDimension + column;
  }
};

/// The operand of a product.
template <typename T>
class MatrixSource {
public:
  virtual ~MatrixSource() = default;
  /// Set if BLAS can read the operand.
  std::optional<BlasMatrix<T>> inPlace;
  /// Writes a block densely, in rows or in columns, whichever is faster, and
  /// says how it lies. Only called where inPlace is not set.
  virtual BlasMatrix<T> pack(int64_t row, int64_t numRows, int64_t column,
                             int64_t numColumns, T *target) const = 0;
};

/// Rows and columns at constant strides, which count elements.
template <typename T>
class StridedMatrix : public MatrixSource<T> {
public:
  StridedMatrix(DType dtype, const std::byte *data, int64_t numRows,
                int64_t numColumns, int64_t rowStride, int64_t columnStride)
      : load(loadRowOf<T>(dtype)), width(byteWidth(dtype)), data(data),
        rowStride(rowStride), columnStride(columnStride) {
    if (canStayInPlace(dtype, numRows, numColumns, rowStride, columnStride)) {
      bool transposed =
          !isUnitRow(numRows, numColumns, rowStride, columnStride);
      int64_t rows = transposed ? numColumns : numRows;
      int64_t columns = transposed ? numRows : numColumns;
      int64_t stride = transposed ? columnStride : rowStride;
      this->inPlace = {reinterpret_cast<const T *>(data),
                       rows > 1 ? stride : std::max<int64_t>(1, columns),
                       transposed};
    }
  }

  static bool canStayInPlace(DType dtype, int64_t numRows, int64_t numColumns,
                             int64_t rowStride, int64_t columnStride) {
    bool sameType = false;
    visitElementType(dtype,
                     [&]<typename S>(S) { sameType = std::is_same_v<S, T>; });
    return sameType &&
           (isUnitRow(numRows, numColumns, rowStride, columnStride) ||
            isUnitRow(numColumns, numRows, columnStride, rowStride));
  }

  BlasMatrix<T> pack(int64_t row, int64_t numRows, int64_t column,
                     int64_t numColumns, T *target) const override;

private:
  /// Whether the rows are dense and do not overlap.
  static bool isUnitRow(int64_t numRows, int64_t numColumns, int64_t rowStride,
                        int64_t columnStride) {
    return (columnStride == 1 || numColumns == 1) &&
           (numRows == 1 ||
            (rowStride >= numColumns && rowStride <= INT32_MAX));
  }

  LoadRow<T> load;
  int64_t width;
  const std::byte *data;
  int64_t rowStride, columnStride;
};

/// Rows and columns that are axes, which outlive the matrix.
template <typename T>
class AxisMatrix : public MatrixSource<T> {
public:
  AxisMatrix(DType dtype, const std::byte *data, const Axis &rows,
             const Axis &columns)
      : load(loadRowOf<T>(dtype)), width(byteWidth(dtype)), data(data),
        rows(rows), columns(columns) {
    if (rows.isUniform() && columns.isUniform()) {
      strided.emplace(dtype, data, rows.size(), columns.size(), rows.stride(),
                      columns.stride());
      this->inPlace = strided->inPlace;
    }
  }

  BlasMatrix<T> pack(int64_t row, int64_t numRows, int64_t column,
                     int64_t numColumns, T *target) const override;

private:
  LoadRow<T> load;
  int64_t width;
  const std::byte *data;
  const Axis &rows, &columns;
  std::optional<StridedMatrix<T>> strided;
};

/// Products of fewer rows than this are not worth BLAS's packing: bring the
/// side that is short to the left.
constexpr int64_t kFewRows = 4;

/// The block sizes at which packed operands stay in a core's cache.
constexpr int64_t kBlockDepth = 384;
constexpr int64_t kBlockRows = 256;
constexpr int64_t kBlockColumns = 256;

/// Elements of workspace that multiplyBlock needs.
inline int64_t packedElements(bool packLhs, bool packRhs, int64_t numRows,
                              int64_t numColumns) {
  return kBlockDepth * ((packLhs ? numRows : 0) + (packRhs ? numColumns : 0));
}

/// target[i, j] = sum over k < depth of lhs[row + i, k] * rhs[k, column + j],
/// for numRows x numColumns elements at a row stride of `targetStride`. Runs on
/// the calling thread.
template <typename T>
void multiplyBlock(const MatrixSource<T> &lhs, const MatrixSource<T> &rhs,
                   int64_t row, int64_t numRows, int64_t column,
                   int64_t numColumns, int64_t depth, T *target,
                   int64_t targetStride, T *workspace);

/// How a product is divided among threads.
struct Blocking {
  int64_t rows, columns;           ///< of a block
  int64_t rowBlocks, columnBlocks; ///< number of them

  int64_t numBlocks() const { return rowBlocks * columnBlocks; }
};

/// Blocks of a numRows x numColumns result, of which there are `numProducts`,
/// so that `numThreads` threads have work and packed blocks stay in cache.
Blocking chooseBlocking(int64_t numRows, int64_t numColumns,
                        int64_t numProducts, bool packLhs, bool packRhs,
                        int numThreads);

} // namespace gcompile::cpu
