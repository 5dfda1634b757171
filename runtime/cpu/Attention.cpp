//===- Attention.cpp - scaled dot-product attention -----------------------===//
// A block of queries of one head at a time: its scores against all keys it may
// see stay in a thread's workspace, from the first product to the second.
#include "Gemm.h"
#include "RoutineSupport.h"
#include "VectorLoops.h"

#include <cmath>
#include <limits>

namespace gcompile::cpu {
namespace {

constexpr int64_t kBlockQueries = 64;
/// Keys at a time whose packed form is kept; scores are kept for all.
constexpr int64_t kBlockKeys = kBlockColumns;

struct AttentionShape {
  explicit AttentionShape(const plan::LibraryCall &call);

  plan::TensorRef query, key, value, result;
  std::optional<plan::TensorRef> mask, logsumexp;
  std::vector<int64_t> batch; ///< sizes before the heads
  int64_t heads, headsPerKey, queries, keys, depth, valueDepth;
  double scale;
  bool causal;

  /// The first element of a head of a view that has `headShare` heads as one.
  std::byte *head(const plan::TensorRef &ref, int64_t item, int64_t headShare,
                  void *const *buffers) const {
    int64_t offset = item % heads / headShare * ref.strides[batch.size()];
    item /= heads;
    for (size_t d = batch.size(); d-- > 0; item /= batch[d])
      offset += item % batch[d] * ref.strides[d];
    return addressOf(ref, buffers) + offset * byteWidth(ref.dtype);
  }
  int64_t numHeads() const {
    int64_t count = heads;
    for (int64_t size : batch)
      count *= size;
    return count;
  }
  /// Keys that queries before `query` may see.
  int64_t visibleKeys(int64_t query) const {
    return causal ? std::min(query, keys) : keys;
  }
};

AttentionShape::AttentionShape(const plan::LibraryCall &call) {
  expectOperands(call, 3, 4, 1, 2);
  query = call.inputs[0];
  key = call.inputs[1];
  value = call.inputs[2];
  result = call.outputs[0];
  if (call.inputs.size() > 3)
    mask = call.inputs[3];
  if (call.outputs.size() > 1)
    logsumexp = call.outputs[1];
  scale = numberAttribute(call, "scale");
  causal = boolAttribute(call, "causal");

  const size_t rank = query.sizes.size();
  if (rank < 3 || key.sizes.size() != rank || value.sizes.size() != rank)
    failCall(call, "ranks differ or are below 3");
  batch.assign(query.sizes.begin(), query.sizes.end() - 3);
  heads = query.sizes[rank - 3];
  queries = query.sizes[rank - 2];
  depth = query.sizes[rank - 1];
  keys = key.sizes[rank - 2];
  valueDepth = value.sizes[rank - 1];
  const int64_t keyHeads = key.sizes[rank - 3];
  auto shape = [&](std::initializer_list<int64_t> tail) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), tail);
    return sizes;
  };
  if (key.sizes != shape({keyHeads, keys, depth}) ||
      value.sizes != shape({keyHeads, keys, valueDepth}) ||
      result.sizes != shape({heads, queries, valueDepth}) ||
      (mask && mask->sizes != shape({heads, queries, keys})) ||
      (logsumexp && logsumexp->sizes != shape({heads, queries})))
    failCall(call, "shapes do not agree");
  if (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0)
    failCall(call, "the heads of the query are not a multiple of the key's");
  headsPerKey = keyHeads == 0 ? 1 : std::max<int64_t>(1, heads / keyHeads);
  const DType sums =
      query.dtype == DType::Float64 ? DType::Float64 : DType::Float32;
  if (key.dtype != query.dtype || value.dtype != query.dtype ||
      result.dtype != query.dtype || (logsumexp && logsumexp->dtype != sums) ||
      (mask && mask->dtype != DType::Bool && !isFloatingPoint(mask->dtype)))
    failCall(call, "types do not agree");
}

/// Scores in memory, as an operand.
template <typename T>
class DenseMatrix : public MatrixSource<T> {
public:
  DenseMatrix(const T *data, int64_t rowStride) {
    this->inPlace = {data, rowStride, false};
  }
  BlasMatrix<T> pack(int64_t, int64_t, int64_t, int64_t, T *) const override {
    return *this->inPlace;
  }
};

/// T is the type of scores and sums: float or double.
template <typename T>
class Attention : public Routine {
public:
  explicit Attention(AttentionShape s)
      : shape(std::move(s)), storeRow(storeRowOf<T>(shape.result.dtype)) {
    if (shape.mask && shape.mask->dtype != DType::Bool)
      visitElementType(shape.mask->dtype, [&]<typename S>(S) {
        if constexpr (!isComplexType<S>)
          addMask = addMaskRow<S>;
      });
    else if (shape.mask)
      addMask = excludeMaskRow;
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes() * numThreads;
  }

  void run(const RoutineContext &context) const override {
    const int64_t blocks = (shape.queries + kBlockQueries - 1) / kBlockQueries;
    context.pool.parallelFor(
        shape.numHeads() * blocks, 1,
        [&](int64_t begin, int64_t end, int thread) {
          auto *workspace =
              reinterpret_cast<T *>(context.workspace + thread * threadBytes());
          for (int64_t block = begin; block < end; ++block)
            runBlock(context, block / blocks, block % blocks * kBlockQueries,
                     workspace);
        });
  }

private:
  using AddMask = void (*)(const std::byte *mask, int64_t stride, int64_t count,
                           T *scores);

  template <typename S>
  static void addMaskRow(const std::byte *mask, int64_t stride, int64_t count,
                         T *scores) {
    auto *values = reinterpret_cast<const S *>(mask);
    for (int64_t i = 0; i < count; ++i)
      scores[i] += static_cast<T>(values[i * stride]);
  }

  static void excludeMaskRow(const std::byte *mask, int64_t stride,
                             int64_t count, T *scores) {
    auto *values = reinterpret_cast<const uint8_t *>(mask);
    for (int64_t i = 0; i < count; ++i)
      scores[i] =
          values[i * stride] ? scores[i] : -std::numeric_limits<T>::infinity();
  }

  int64_t blockQueries() const {
    return std::min(kBlockQueries, shape.queries);
  }
  int64_t scoreElements() const { return blockQueries() * shape.keys; }
  int64_t resultElements() const { return blockQueries() * shape.valueDepth; }
  int64_t threadBytes() const {
    const int64_t packed = packedElements(
        true, true, blockQueries(), std::max(kBlockKeys, shape.valueDepth));
    return alignToCacheLine((scoreElements() + resultElements() + packed) *
                            static_cast<int64_t>(sizeof(T)));
  }

  /// The rows and columns of one head, the columns first where `transposed`.
  StridedMatrix<T> matrix(const plan::TensorRef &ref, const std::byte *head,
                          bool transposed) const {
    const size_t rank = ref.sizes.size();
    const size_t row = transposed ? rank - 1 : rank - 2;
    const size_t column = transposed ? rank - 2 : rank - 1;
    return {ref.dtype,        head,
            ref.sizes[row],   ref.sizes[column],
            ref.strides[row], ref.strides[column]};
  }

  void runBlock(const RoutineContext &context, int64_t item, int64_t query,
                T *workspace) const {
    void *const *buffers = context.buffers;
    const int64_t rows = std::min(kBlockQueries, shape.queries - query);
    const int64_t keys = shape.visibleKeys(query + rows);
    T *scores = workspace;
    T *sums = scores + scoreElements();
    T *packed = sums + resultElements();
    const auto queries =
        matrix(shape.query, shape.head(shape.query, item, 1, buffers), false);
    const auto keyColumns =
        matrix(shape.key,
               shape.head(shape.key, item, shape.headsPerKey, buffers), true);
    const auto values = matrix(
        shape.value, shape.head(shape.value, item, shape.headsPerKey, buffers),
        false);
    for (int64_t k = 0; k < keys; k += kBlockKeys)
      multiplyBlock(queries, keyColumns, query, rows, k,
                    std::min(kBlockKeys, keys - k), shape.depth, scores + k,
                    keys, packed);
    T factors[kBlockQueries];
    for (int64_t i = 0; i < rows; ++i)
      factors[i] = weighRow(context, item, query + i, keys, scores + i * keys);
    multiplyBlock(DenseMatrix<T>(scores, std::max<int64_t>(1, keys)), values, 0,
                  rows, 0, shape.valueDepth, keys, sums, shape.valueDepth,
                  packed);
    const size_t rank = shape.result.sizes.size();
    const int64_t width = byteWidth(shape.result.dtype);
    std::byte *target = shape.head(shape.result, item, 1, buffers);
    for (int64_t i = 0; i < rows; ++i) {
      T *row = sums + i * shape.valueDepth;
      cpu::scale(row, shape.valueDepth, factors[i]);
      storeRow(row, shape.valueDepth,
               target + (query + i) * shape.result.strides[rank - 2] * width,
               shape.result.strides[rank - 1]);
    }
  }

  /// Turns the scores of a query into the weights of the values, up to a factor
  /// that is returned.
  T weighRow(const RoutineContext &context, int64_t item, int64_t query,
             int64_t keys, T *scores) const {
    constexpr T infinity = std::numeric_limits<T>::infinity();
    const int64_t visible = std::min(keys, shape.visibleKeys(query + 1));
    cpu::scale(scores, visible, static_cast<T>(shape.scale));
    if (shape.mask) {
      const size_t rank = shape.mask->sizes.size();
      addMask(shape.head(*shape.mask, item, 1, context.buffers) +
                  query * shape.mask->strides[rank - 2] *
                      byteWidth(shape.mask->dtype),
              shape.mask->strides[rank - 1], visible, scores);
    }
    const T largest = maximum(scores, visible);
    T sum = 0;
    if (largest == -infinity && !hasNan(scores, visible))
      std::fill(scores, scores + visible, T(0)); // sees no key
    else
      sum = exponentials(scores, visible, largest);
    std::fill(scores + visible, scores + keys, T(0));
    if (shape.logsumexp) {
      std::byte *target =
          shape.head(*shape.logsumexp, item, 1, context.buffers) +
          query * shape.logsumexp->strides.back() *
              static_cast<int64_t>(sizeof(T));
      *reinterpret_cast<T *>(target) =
          sum == 0 ? -infinity : largest + std::log(sum);
    }
    return sum == 0 ? T(0) : 1 / sum;
  }

  static bool hasNan(const T *scores, int64_t count) {
    return std::any_of(scores, scores + count, [](T x) { return x != x; });
  }

  const AttentionShape shape;
  const StoreRow<T> storeRow;
  AddMask addMask = nullptr;
};

} // namespace

std::unique_ptr<Routine> bindAttention(const plan::LibraryCall &call) {
  AttentionShape shape(call);
  switch (shape.query.dtype) {
  case DType::Float16:
  case DType::BFloat16:
  case DType::Float32:
    return std::make_unique<Attention<float>>(std::move(shape));
  case DType::Float64:
    return std::make_unique<Attention<double>>(std::move(shape));
  default:
    failDType(call, shape.query.dtype);
  }
}

} // namespace gcompile::cpu
