//===- Matmul.cpp - batched matrix products -------------------------------===//
#include "Gemm.h"
#include "RoutineSupport.h"

#include <fmt/format.h>

namespace gcompile::cpu {
namespace {

/// Products of elements that a thread should at least be given.
constexpr int64_t kProductsPerChunk = 1 << 16;

/// A matrix among the last two dimensions of a view.
struct Operand {
  plan::TensorRef ref;
  int64_t rowStride, columnStride;
};

/// Sizes and strides of a call. `swap` gives the equal product of the
/// transposes in exchanged order.
struct Shape {
  explicit Shape(const plan::LibraryCall &call) {
    auto operand = [&](const plan::TensorRef &ref) -> Operand {
      return {ref, ref.strides.end()[-2], ref.strides.end()[-1]};
    };
    lhs = operand(call.inputs[0]);
    rhs = operand(call.inputs[1]);
    result = operand(call.outputs[0]);
    rows = result.ref.sizes.end()[-2];
    columns = result.ref.sizes.end()[-1];
    depth = lhs.ref.sizes.end()[-1];
    batch.assign(result.ref.sizes.begin(), result.ref.sizes.end() - 2);
    for (int64_t size : batch)
      numProducts *= size;
  }

  void swap() {
    std::swap(lhs, rhs);
    std::swap(rows, columns);
    for (Operand *operand : {&lhs, &rhs, &result})
      std::swap(operand->rowStride, operand->columnStride);
  }

  /// The first element of an operand in a product of the batch.
  std::byte *address(const Operand &operand, int64_t product,
                     void *const *buffers) const {
    int64_t offset = 0;
    for (size_t d = batch.size(); d-- > 0; product /= batch[d])
      offset += product % batch[d] * operand.ref.strides[d];
    return addressOf(operand.ref, buffers) +
           offset * byteWidth(operand.ref.dtype);
  }

  Operand lhs, rhs, result;
  int64_t rows, columns, depth;
  std::vector<int64_t> batch;
  int64_t numProducts = 1;
};

/// Whether rows of T may be written where they belong.
template <typename T>
bool canWriteInPlace(const Shape &shape) {
  const Operand &result = shape.result;
  return StridedMatrix<T>::canStayInPlace(result.ref.dtype, shape.rows,
                                          shape.columns, result.rowStride,
                                          result.columnStride) &&
         (result.columnStride == 1 || shape.columns == 1);
}

template <typename T>
class Matmul : public Routine {
public:
  explicit Matmul(Shape s) : shape(std::move(s)) {
    if (shape.rows > kFewRows) {
      shape.swap();
      if (shape.rows > kFewRows && !canWriteInPlace<T>(shape))
        shape.swap();
    }
    writesInPlace = canWriteInPlace<T>(shape);
    auto isPacked = [](const Operand &operand, int64_t rows, int64_t columns) {
      return !StridedMatrix<T>::canStayInPlace(operand.ref.dtype, rows, columns,
                                               operand.rowStride,
                                               operand.columnStride);
    };
    packsLhs = isPacked(shape.lhs, shape.rows, shape.depth);
    packsRhs = isPacked(shape.rhs, shape.depth, shape.columns);
    storeRow = storeRowOf<T>(shape.result.ref.dtype);
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes(blockingFor(numThreads)) * numThreads;
  }

  void run(const RoutineContext &context) const override {
    const Blocking blocking = blockingFor(context.pool.numThreads());
    const int64_t products = blocking.rows * blocking.columns * shape.depth;
    context.pool.parallelFor(shape.numProducts * blocking.numBlocks(),
                             kProductsPerChunk / std::max<int64_t>(1, products),
                             [&](int64_t begin, int64_t end, int thread) {
                               auto *workspace = reinterpret_cast<T *>(
                                   context.workspace +
                                   thread * threadBytes(blocking));
                               for (int64_t block = begin; block < end; ++block)
                                 runBlock(context, blocking, block, workspace);
                             });
  }

private:
  Blocking blockingFor(int numThreads) const {
    return chooseBlocking(shape.rows, shape.columns, shape.numProducts,
                          packsLhs || !writesInPlace,
                          packsRhs || !writesInPlace, numThreads);
  }

  int64_t packedElementsOf(const Blocking &blocking) const {
    return packedElements(packsLhs, packsRhs, blocking.rows, blocking.columns);
  }

  int64_t threadBytes(const Blocking &blocking) const {
    int64_t elements = packedElementsOf(blocking);
    if (!writesInPlace)
      elements += blocking.rows * blocking.columns;
    return alignToCacheLine(elements * static_cast<int64_t>(sizeof(T)));
  }

  void runBlock(const RoutineContext &context, const Blocking &blocking,
                int64_t block, T *workspace) const {
    const int64_t product = block / blocking.numBlocks();
    block %= blocking.numBlocks();
    const int64_t row = block / blocking.columnBlocks * blocking.rows;
    const int64_t column = block % blocking.columnBlocks * blocking.columns;
    const int64_t numRows = std::min(blocking.rows, shape.rows - row);
    const int64_t numColumns =
        std::min(blocking.columns, shape.columns - column);
    const Operand &result = shape.result;
    const StridedMatrix<T> lhs(
        shape.lhs.ref.dtype, shape.address(shape.lhs, product, context.buffers),
        shape.rows, shape.depth, shape.lhs.rowStride, shape.lhs.columnStride);
    const StridedMatrix<T> rhs(
        shape.rhs.ref.dtype, shape.address(shape.rhs, product, context.buffers),
        shape.depth, shape.columns, shape.rhs.rowStride,
        shape.rhs.columnStride);
    const int64_t width = byteWidth(result.ref.dtype);
    std::byte *target =
        shape.address(result, product, context.buffers) +
        (row * result.rowStride + column * result.columnStride) * width;
    if (writesInPlace) {
      multiplyBlock(lhs, rhs, row, numRows, column, numColumns, shape.depth,
                    reinterpret_cast<T *>(target),
                    std::max(result.rowStride, numColumns), workspace);
      return;
    }
    T *tile = workspace + packedElementsOf(blocking);
    multiplyBlock(lhs, rhs, row, numRows, column, numColumns, shape.depth, tile,
                  numColumns, workspace);
    for (int64_t i = 0; i < numRows; ++i)
      storeRow(tile + i * numColumns, numColumns,
               target + i * result.rowStride * width, result.columnStride);
  }

  Shape shape;
  bool writesInPlace, packsLhs, packsRhs;
  StoreRow<T> storeRow;
};

void checkShapes(const plan::LibraryCall &call) {
  expectOperands(call, 2, 2, 1, 1);
  const plan::TensorRef &lhs = call.inputs[0], &rhs = call.inputs[1],
                        &result = call.outputs[0];
  const size_t rank = result.sizes.size();
  if (rank < 2 || lhs.sizes.size() != rank || rhs.sizes.size() != rank)
    failCall(call, "ranks differ or are below 2");
  std::vector<int64_t> expectedLhs = result.sizes, expectedRhs = result.sizes;
  expectedLhs[rank - 1] = expectedRhs[rank - 2] = lhs.sizes[rank - 1];
  if (lhs.sizes != expectedLhs || rhs.sizes != expectedRhs)
    failCall(call, "shapes do not agree");
  if (lhs.dtype != rhs.dtype)
    failCall(call, "operands of different types");
  const bool isHalfType =
      lhs.dtype == DType::Float16 || lhs.dtype == DType::BFloat16;
  if (result.dtype != lhs.dtype &&
      !(isHalfType && result.dtype == DType::Float32))
    failCall(call, fmt::format("a result of {} from {}", name(result.dtype),
                               name(lhs.dtype)));
}

} // namespace

std::unique_ptr<Routine> bindMatmul(const plan::LibraryCall &call) {
  checkShapes(call);
  Shape shape(call);
  std::unique_ptr<Routine> routine;
  visitSumType(call.inputs[0].dtype, [&]<typename T>(T) {
    routine = std::make_unique<Matmul<T>>(shape);
  });
  if (!routine)
    failDType(call, call.inputs[0].dtype);
  return routine;
}

} // namespace gcompile::cpu
