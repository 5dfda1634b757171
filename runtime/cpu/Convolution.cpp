//===- Convolution.cpp - convolutions over any number of dimensions -------===//
// Most are products of matrices: of the weights with the patches of the input,
// which are gathered block by block, or, transposed, of the weights with the
// input, whose products are then added where they belong. With few output
// channels a group (depthwise ones above all) a product would be too thin, and
// rows of the input are added directly.
#include "Gemm.h"
#include "RoutineSupport.h"
#include "VectorLoops.h"

#include <array>
#include <fmt/format.h>

namespace gcompile::cpu {
namespace {

constexpr size_t kMaxSpatialRank = 6;
/// Output channels a group up to which rows are added directly.
constexpr int64_t kFewChannels = 4;
/// Products of elements that a thread should at least be given.
constexpr int64_t kProductsPerChunk = 1 << 16;

using Spatial = std::array<int64_t, kMaxSpatialRank>;

int64_t ceilDiv(int64_t a, int64_t b) {
  return a >= 0 ? (a + b - 1) / b : -(-a / b);
}

/// Sizes of a call, checked. `in` and `out` are the sizes of the input's and
/// the result's spatial dimensions.
struct Geometry {
  explicit Geometry(const plan::LibraryCall &call);

  plan::TensorRef input, weight, result;
  int64_t images, groups;
  int64_t inChannels, outChannels; ///< of a group
  size_t rank;                     ///< number of spatial dimensions
  Spatial in, out, window, stride, dilation, padding;
  int64_t windowSize = 1, inPositions = 1, outPositions = 1;
  bool transposed;

  /// Innermost spatial dimension.
  size_t last() const { return rank - 1; }
  std::span<const int64_t> spatialStrides(const plan::TensorRef &ref) const {
    return std::span(ref.strides).subspan(2);
  }
};

Geometry::Geometry(const plan::LibraryCall &call) {
  expectOperands(call, 2, 2, 1, 1);
  input = call.inputs[0];
  weight = call.inputs[1];
  result = call.outputs[0];
  if (input.sizes.size() < 3 || weight.sizes.size() != input.sizes.size() ||
      result.sizes.size() != input.sizes.size())
    failCall(call, "ranks differ or are below 3");
  rank = input.sizes.size() - 2;
  if (rank > kMaxSpatialRank)
    throwError(ErrorCode::Unsupported,
               fmt::format("convolution over {} dimensions; at most {} are "
                           "supported",
                           rank, kMaxSpatialRank));
  transposed = boolAttribute(call, "transposed");
  groups = integerAttribute(call, "groups");
  auto strides = integersAttribute(call, "stride", rank);
  auto dilations = integersAttribute(call, "dilation", rank);
  auto paddings = integersAttribute(call, "padding", 2 * rank);
  auto outputPadding = integersAttribute(call, "output_padding", rank);
  images = input.sizes[0];
  if (groups < 1 || input.sizes[1] % groups != 0 ||
      result.sizes[1] % groups != 0 || result.sizes[0] != images)
    failCall(call, "groups or batch do not agree");
  inChannels = input.sizes[1] / groups;
  outChannels = result.sizes[1] / groups;
  if (weight.sizes[0] != (transposed ? input : result).sizes[1] ||
      weight.sizes[1] != (transposed ? outChannels : inChannels))
    failCall(call, "channels do not agree");
  for (size_t d = 0; d < rank; ++d) {
    in[d] = input.sizes[d + 2];
    out[d] = result.sizes[d + 2];
    window[d] = weight.sizes[d + 2];
    stride[d] = strides[d];
    dilation[d] = dilations[d];
    padding[d] = paddings[2 * d];
    if (stride[d] < 1 || dilation[d] < 1 || window[d] < 1)
      failCall(call, "a stride, a dilation or a window below 1");
    const int64_t reach = dilation[d] * (window[d] - 1) + 1;
    const int64_t padded = padding[d] + paddings[2 * d + 1];
    const int64_t expected =
        transposed ? (in[d] - 1) * stride[d] - padded + reach + outputPadding[d]
                   : (in[d] + padded - reach) / stride[d] + 1;
    if (out[d] != expected)
      failCall(call,
               fmt::format("size {} in spatial dimension {} instead of {}",
                           out[d], d, expected));
    windowSize *= window[d];
    inPositions *= in[d];
    outPositions *= out[d];
  }
  const bool isHalfType =
      input.dtype == DType::Float16 || input.dtype == DType::BFloat16;
  if (weight.dtype != input.dtype ||
      (result.dtype != input.dtype &&
       !(isHalfType && result.dtype == DType::Float32)))
    failCall(call, "types do not agree");
}

/// sums[i] += factor * x[i * stride].
template <typename T>
void addScaled(T factor, const T *x, int64_t stride, int64_t count, T *sums) {
  if constexpr (std::is_floating_point_v<T>)
    multiplyAdd(factor, x, stride, count, sums);
  else if constexpr (std::is_integral_v<T>)
    for (int64_t i = 0; i < count; ++i) // wraps
      sums[i] = static_cast<T>(static_cast<uint64_t>(sums[i]) +
                               static_cast<uint64_t>(factor) *
                                   static_cast<uint64_t>(x[i * stride]));
  else
    for (int64_t i = 0; i < count; ++i)
      sums[i] += factor * x[i * stride];
}

/// The indices in [0, count) for which begin + index * step is in [0, size).
struct Range {
  Range(int64_t begin, int64_t step, int64_t size, int64_t count)
      : first(std::clamp<int64_t>(ceilDiv(-begin, step), 0, count)),
        last(std::clamp<int64_t>(ceilDiv(size - begin, step), first, count)) {}
  int64_t first, last;
};

/// Axes of the spatial dimensions of a view, without or with the images before.
Axis positionsOf(const plan::TensorRef &ref, bool withImages) {
  std::vector<int64_t> sizes(ref.sizes.begin() + 2, ref.sizes.end());
  std::vector<int64_t> strides(ref.strides.begin() + 2, ref.strides.end());
  if (withImages) {
    sizes.insert(sizes.begin(), ref.sizes[0]);
    strides.insert(strides.begin(), ref.strides[0]);
  }
  return {sizes, strides};
}

//===----------------------------------------------------------------------===//
// Patches times weights
//===----------------------------------------------------------------------===//

/// Row (channel, place in the window), column (image, output position): what
/// that place of the window sees at that position, zero outside the input.
template <typename T>
class PatchMatrix : public MatrixSource<T> {
public:
  PatchMatrix(const Geometry &geometry, const std::byte *data)
      : geometry(geometry), load(loadRowOf<T>(geometry.input.dtype)),
        data(data), width(byteWidth(geometry.input.dtype)) {}

  BlasMatrix<T> pack(int64_t row, int64_t numRows, int64_t column,
                     int64_t numColumns, T *target) const override {
    // Pieces of one output row each: their place is found once for all rows.
    const int64_t length = geometry.out[geometry.last()];
    for (int64_t j = 0; j < numColumns;) {
      const int64_t within = (column + j) % length;
      const int64_t count = std::min(length - within, numColumns - j);
      packPiece(row, numRows, (column + j) / length, within, count, target + j,
                numColumns);
      j += count;
    }
    return {target, numColumns, false};
  }

private:
  /// `count` columns from the one at `within` in an output row.
  void packPiece(int64_t row, int64_t numRows, int64_t outRow, int64_t within,
                 int64_t count, T *target, int64_t targetStride) const {
    const Geometry &g = geometry;
    const size_t last = g.last();
    const std::span<const int64_t> inStrides = g.spatialStrides(g.input);
    Spatial start; // input coordinates of the window's first place
    for (size_t d = last; d-- > 0; outRow /= g.out[d])
      start[d] = outRow % g.out[d] * g.stride[d] - g.padding[d];
    start[last] = within * g.stride[last] - g.padding[last];
    const int64_t image = outRow * g.input.strides[0];

    int64_t channel = row / g.windowSize;
    Spatial place; // in the window
    for (size_t d = g.rank, rest = static_cast<size_t>(row % g.windowSize);
         d-- > 0; rest /= static_cast<size_t>(g.window[d]))
      place[d] = static_cast<int64_t>(rest) % g.window[d];
    for (int64_t i = 0; i < numRows; ++i, target += targetStride) {
      bool isInside = true;
      int64_t offset = image + channel * g.input.strides[1];
      for (size_t d = 0; d < last; ++d) {
        const int64_t at = start[d] + place[d] * g.dilation[d];
        isInside &= at >= 0 && at < g.in[d];
        offset += at * inStrides[d];
      }
      const int64_t begin = start[last] + place[last] * g.dilation[last];
      const Range range(begin, g.stride[last], isInside ? g.in[last] : 0,
                        count);
      std::fill(target, target + range.first, T(0));
      if (range.first < range.last)
        load(data + (offset +
                     (begin + range.first * g.stride[last]) * inStrides[last]) *
                        width,
             g.stride[last] * inStrides[last], range.last - range.first,
             target + range.first);
      std::fill(target + range.last, target + count, T(0));
      size_t d = g.rank;
      while (d > 0 && ++place[d - 1] == g.window[d - 1])
        place[--d] = 0;
      channel += d == 0;
    }
  }

  const Geometry &geometry;
  LoadRow<T> load;
  const std::byte *data;
  int64_t width;
};

template <typename T>
class PatchConvolution : public Routine {
public:
  explicit PatchConvolution(Geometry g)
      : geometry(std::move(g)),
        // Images with few positions are done together.
        joinsImages(geometry.images > 1 && geometry.outPositions < 128),
        weightRows({{geometry.outChannels}}, {{geometry.weight.strides[0]}}),
        weightColumns(std::span(geometry.weight.sizes).subspan(1),
                      std::span(geometry.weight.strides).subspan(1)),
        inputRows({{geometry.inChannels}}, {{geometry.input.strides[1]}}),
        inputPositions(positionsOf(geometry.input, joinsImages)),
        resultPositions(positionsOf(geometry.result, joinsImages)),
        storeRow(storeRowOf<T>(geometry.result.dtype)) {
    for (size_t d = 0; d < geometry.rank; ++d)
      readsInputOnce &= geometry.window[d] == 1 && geometry.stride[d] == 1 &&
                        geometry.out[d] == geometry.in[d] &&
                        geometry.padding[d] == 0;
    packsWeight = !AxisMatrix<T>(geometry.weight.dtype, nullptr, weightRows,
                                 weightColumns)
                       .inPlace;
    packsInput =
        !readsInputOnce ||
        !AxisMatrix<T>(geometry.input.dtype, nullptr, inputRows, inputPositions)
             .inPlace;
    writesInPlace =
        resultPositions.isUniform() &&
        (resultPositions.stride() == 1 || resultPositions.size() == 1) &&
        StridedMatrix<T>::canStayInPlace(
            geometry.result.dtype, geometry.outChannels, resultPositions.size(),
            geometry.result.strides[1], 1);
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes(blockingFor(numThreads)) * numThreads;
  }

  void run(const RoutineContext &context) const override {
    const Blocking blocking = blockingFor(context.pool.numThreads());
    const int64_t products = blocking.rows * blocking.columns * depth();
    context.pool.parallelFor(numProducts() * blocking.numBlocks(),
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
  int64_t depth() const { return geometry.inChannels * geometry.windowSize; }
  int64_t numProducts() const {
    return geometry.groups * (joinsImages ? 1 : geometry.images);
  }
  Blocking blockingFor(int numThreads) const {
    return chooseBlocking(geometry.outChannels, resultPositions.size(),
                          numProducts(), packsWeight || !writesInPlace,
                          packsInput || !writesInPlace, numThreads);
  }
  int64_t packedElementsOf(const Blocking &blocking) const {
    return packedElements(packsWeight, packsInput, blocking.rows,
                          blocking.columns);
  }
  int64_t threadBytes(const Blocking &blocking) const {
    int64_t elements = packedElementsOf(blocking);
    if (!writesInPlace)
      elements += blocking.rows * blocking.columns;
    return alignToCacheLine(elements * static_cast<int64_t>(sizeof(T)));
  }

  void runBlock(const RoutineContext &context, const Blocking &blocking,
                int64_t block, T *workspace) const {
    const Geometry &g = geometry;
    const int64_t product = block / blocking.numBlocks();
    block %= blocking.numBlocks();
    const int64_t group = product % g.groups, image = product / g.groups;
    const int64_t row = block / blocking.columnBlocks * blocking.rows;
    const int64_t column = block % blocking.columnBlocks * blocking.columns;
    const int64_t numRows = std::min(blocking.rows, g.outChannels - row);
    const int64_t numColumns =
        std::min(blocking.columns, resultPositions.size() - column);

    const AxisMatrix<T> weights(g.weight.dtype,
                                addressOf(g.weight, context.buffers) +
                                    group * g.outChannels *
                                        g.weight.strides[0] *
                                        byteWidth(g.weight.dtype),
                                weightRows, weightColumns);
    const std::byte *input = addressOf(g.input, context.buffers) +
                             (image * g.input.strides[0] +
                              group * g.inChannels * g.input.strides[1]) *
                                 byteWidth(g.input.dtype);
    const AxisMatrix<T> wholeInput(g.input.dtype, input, inputRows,
                                   inputPositions);
    const PatchMatrix<T> patches(g, input);
    const MatrixSource<T> &rhs =
        readsInputOnce ? static_cast<const MatrixSource<T> &>(wholeInput)
                       : patches;

    const int64_t width = byteWidth(g.result.dtype);
    const int64_t rowStride = g.result.strides[1];
    std::byte *target = addressOf(g.result, context.buffers) +
                        (image * g.result.strides[0] +
                         (group * g.outChannels + row) * rowStride) *
                            width;
    if (writesInPlace) {
      multiplyBlock(weights, rhs, row, numRows, column, numColumns, depth(),
                    reinterpret_cast<T *>(target) + column,
                    std::max(rowStride, numColumns), workspace);
      return;
    }
    T *tile = workspace + packedElementsOf(blocking);
    multiplyBlock(weights, rhs, row, numRows, column, numColumns, depth(), tile,
                  numColumns, workspace);
    resultPositions.forRuns(
        column, numColumns,
        [&](int64_t done, int64_t offset, int64_t length, int64_t stride) {
          for (int64_t i = 0; i < numRows; ++i)
            storeRow(tile + i * numColumns + done, length,
                     target + (i * rowStride + offset) * width, stride);
        });
  }

  const Geometry geometry;
  const bool joinsImages;
  const Axis weightRows, weightColumns, inputRows, inputPositions,
      resultPositions;
  const StoreRow<T> storeRow;
  bool readsInputOnce = true; ///< a window of one element: no patches
  bool packsWeight, packsInput, writesInPlace;
};

//===----------------------------------------------------------------------===//
// Few output channels: rows of the input added to rows of the result
//===----------------------------------------------------------------------===//

template <typename T>
class DirectConvolution : public Routine {
public:
  explicit DirectConvolution(Geometry g)
      : geometry(std::move(g)), load(loadRowOf<T>(geometry.input.dtype)),
        loadWeight(loadRowOf<T>(geometry.weight.dtype)),
        storeRow(storeRowOf<T>(geometry.result.dtype)) {
    visitElementType(geometry.input.dtype, [&]<typename S>(S) {
      readsInPlace = std::is_same_v<S, T>;
    });
    const size_t last = geometry.last();
    for (int64_t place = 0; place < geometry.window[last]; ++place) {
      const int64_t begin =
          place * geometry.dilation[last] - geometry.padding[last];
      const Range range(begin, geometry.stride[last], geometry.in[last],
                        geometry.out[last]);
      if (range.first < range.last)
        reaches.push_back({place, range.first, range.last - range.first,
                           begin + range.first * geometry.stride[last]});
    }
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes() * numThreads;
  }

  void run(const RoutineContext &context) const override {
    const int64_t length = geometry.out[geometry.last()];
    const int64_t rows = length > 0 ? geometry.images * geometry.groups *
                                          geometry.outChannels *
                                          (geometry.outPositions / length)
                                    : 0;
    const int64_t products = geometry.inChannels * geometry.windowSize * length;
    context.pool.parallelFor(
        rows, kProductsPerChunk / std::max<int64_t>(1, products),
        [&](int64_t begin, int64_t end, int thread) {
          auto *workspace =
              reinterpret_cast<T *>(context.workspace + thread * threadBytes());
          for (int64_t row = begin; row < end; ++row)
            runRow(context, row, workspace, workspace + length,
                   workspace + 2 * length);
        });
  }

private:
  /// A row of the result, one of the input and one of the window.
  int64_t threadBytes() const {
    return alignToCacheLine(
        (2 * geometry.out[geometry.last()] + geometry.window[geometry.last()]) *
        static_cast<int64_t>(sizeof(T)));
  }

  void runRow(const RoutineContext &context, int64_t row, T *sums, T *converted,
              T *factors) const {
    const Geometry &g = geometry;
    const size_t last = g.last();
    const std::span<const int64_t> outStrides = g.spatialStrides(g.result);
    Spatial start;
    int64_t target = 0;
    for (size_t d = last; d-- > 0; row /= g.out[d]) {
      start[d] = row % g.out[d] * g.stride[d] - g.padding[d];
      target += row % g.out[d] * outStrides[d];
    }
    const int64_t channels = g.groups * g.outChannels;
    const int64_t outChannel = row % channels, image = row / channels;
    target += image * g.result.strides[0] + outChannel * g.result.strides[1];
    const int64_t firstChannel = outChannel / g.outChannels * g.inChannels;

    std::fill(sums, sums + g.out[last], T(0));
    for (int64_t c = 0; c < g.inChannels; ++c)
      addWindow(context, start,
                image * g.input.strides[0] +
                    (firstChannel + c) * g.input.strides[1],
                outChannel * g.weight.strides[0] + c * g.weight.strides[1],
                sums, converted, factors);
    storeRow(sums, g.out[last],
             addressOf(g.result, context.buffers) +
                 target * byteWidth(g.result.dtype),
             outStrides[last]);
  }

  /// Adds what one channel's window sees at the positions of an output row.
  void addWindow(const RoutineContext &context, const Spatial &start,
                 int64_t inputOffset, int64_t weightOffset, T *sums,
                 T *converted, T *factors) const {
    const Geometry &g = geometry;
    const size_t last = g.last();
    const std::span<const int64_t> inStrides = g.spatialStrides(g.input);
    const std::span<const int64_t> weightStrides = g.spatialStrides(g.weight);
    const std::byte *input = addressOf(g.input, context.buffers);
    const std::byte *weight = addressOf(g.weight, context.buffers);
    const int64_t width = byteWidth(g.input.dtype);
    const int64_t step = g.stride[last] * inStrides[last];
    for (int64_t row = 0; row < g.windowSize / g.window[last]; ++row) {
      int64_t rest = row, from = inputOffset, at = weightOffset;
      bool isInside = true;
      for (size_t d = last; d-- > 0; rest /= g.window[d]) {
        const int64_t place = rest % g.window[d];
        const int64_t coordinate = start[d] + place * g.dilation[d];
        isInside &= coordinate >= 0 && coordinate < g.in[d];
        from += coordinate * inStrides[d];
        at += place * weightStrides[d];
      }
      if (!isInside)
        continue;
      loadWeight(weight + at * width, weightStrides[last], g.window[last],
                 factors);
      for (const Reach &reach : reaches) {
        const std::byte *first =
            input + (from + reach.begin * inStrides[last]) * width;
        T *to = sums + reach.first;
        const T factor = factors[reach.place];
        if (readsInPlace) {
          addScaled(factor, reinterpret_cast<const T *>(first), step,
                    reach.count, to);
        } else {
          load(first, step, reach.count, converted);
          addScaled(factor, converted, 1, reach.count, to);
        }
      }
    }
  }

  /// What a place in a row of the window sees of a row of the input: `count`
  /// output positions from `first` on, the input from `begin` on.
  struct Reach {
    int64_t place, first, count, begin;
  };

  const Geometry geometry;
  const LoadRow<T> load, loadWeight;
  const StoreRow<T> storeRow;
  std::vector<Reach> reaches; ///< places that see something
  bool readsInPlace = false;
};

//===----------------------------------------------------------------------===//
// Transposed
//===----------------------------------------------------------------------===//

/// Products of weights and input, one for each place of the window and input
/// position, added to the output positions they belong to. A thread has some
/// output channels of an image to itself.
template <typename T>
class TransposedConvolution : public Routine {
public:
  explicit TransposedConvolution(Geometry g)
      : geometry(std::move(g)),
        weightRows(std::span(geometry.weight.sizes).subspan(1),
                   std::span(geometry.weight.strides).subspan(1)),
        weightColumns({{geometry.inChannels}}, {{geometry.weight.strides[0]}}),
        inputRows({{geometry.inChannels}}, {{geometry.input.strides[1]}}),
        inputPositions(positionsOf(geometry.input, false)),
        resultPositions(positionsOf(geometry.result, false)),
        storeRow(storeRowOf<T>(geometry.result.dtype)) {
    packsWeight = !AxisMatrix<T>(geometry.weight.dtype, nullptr, weightRows,
                                 weightColumns)
                       .inPlace;
    packsInput =
        !AxisMatrix<T>(geometry.input.dtype, nullptr, inputRows, inputPositions)
             .inPlace;
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes(channelsOfBlock(numThreads)) * numThreads;
  }

  void run(const RoutineContext &context) const override {
    const int64_t channels = channelsOfBlock(context.pool.numThreads());
    const int64_t blocks = ceilDiv(geometry.outChannels, channels);
    context.pool.parallelFor(
        geometry.images * geometry.groups * blocks, 1,
        [&](int64_t begin, int64_t end, int thread) {
          auto *workspace = reinterpret_cast<T *>(
              context.workspace + thread * threadBytes(channels));
          for (int64_t block = begin; block < end; ++block)
            runBlock(context, block / blocks / geometry.groups,
                     block / blocks % geometry.groups,
                     block % blocks * channels, channels, workspace);
        });
  }

private:
  /// Enough for a product of some rows, but few enough that all threads have
  /// some.
  int64_t channelsOfBlock(int numThreads) const {
    const int64_t enough =
        ceilDiv(64, std::max<int64_t>(1, geometry.windowSize));
    const int64_t share =
        ceilDiv(geometry.images * geometry.groups * geometry.outChannels,
                int64_t{2} * numThreads);
    return std::clamp<int64_t>(std::min(enough, share), 1,
                               std::max<int64_t>(1, geometry.outChannels));
  }
  int64_t productElements(int64_t channels) const {
    return channels * geometry.windowSize * kBlockColumns;
  }
  int64_t threadBytes(int64_t channels) const {
    return alignToCacheLine(
        (packedElements(packsWeight, packsInput, channels * geometry.windowSize,
                        kBlockColumns) +
         productElements(channels) + channels * geometry.outPositions) *
        static_cast<int64_t>(sizeof(T)));
  }

  void runBlock(const RoutineContext &context, int64_t image, int64_t group,
                int64_t channel, int64_t channelsOfBlock, T *workspace) const {
    const Geometry &g = geometry;
    const int64_t channels = std::min(channelsOfBlock, g.outChannels - channel);
    const AxisMatrix<T> weights(g.weight.dtype,
                                addressOf(g.weight, context.buffers) +
                                    group * g.inChannels * g.weight.strides[0] *
                                        byteWidth(g.weight.dtype),
                                weightRows, weightColumns);
    const AxisMatrix<T> input(g.input.dtype,
                              addressOf(g.input, context.buffers) +
                                  (image * g.input.strides[0] +
                                   group * g.inChannels * g.input.strides[1]) *
                                      byteWidth(g.input.dtype),
                              inputRows, inputPositions);
    T *sums = workspace;
    T *products = sums + channelsOfBlock * g.outPositions;
    T *packed = products + productElements(channelsOfBlock);
    std::fill(sums, sums + channels * g.outPositions, T(0));
    for (int64_t column = 0; column < g.inPositions; column += kBlockColumns) {
      const int64_t count = std::min(kBlockColumns, g.inPositions - column);
      multiplyBlock(weights, input, channel * g.windowSize,
                    channels * g.windowSize, column, count, g.inChannels,
                    products, count, packed);
      for (int64_t row = 0; row < channels * g.windowSize; ++row)
        addProducts(row % g.windowSize, column, count, products + row * count,
                    sums + row / g.windowSize * g.outPositions);
    }
    const int64_t width = byteWidth(g.result.dtype);
    std::byte *target =
        addressOf(g.result, context.buffers) +
        (image * g.result.strides[0] +
         (group * g.outChannels + channel) * g.result.strides[1]) *
            width;
    for (int64_t c = 0; c < channels; ++c)
      resultPositions.forRuns(
          0, g.outPositions,
          [&](int64_t done, int64_t offset, int64_t length, int64_t stride) {
            storeRow(sums + c * g.outPositions + done, length,
                     target + (c * g.result.strides[1] + offset) * width,
                     stride);
          });
  }

  /// Adds the products of one place in the window with the input positions from
  /// `column` on.
  void addProducts(int64_t place, int64_t column, int64_t count,
                   const T *products, T *sums) const {
    const Geometry &g = geometry;
    const size_t last = g.last();
    Spatial shift;
    for (size_t d = g.rank; d-- > 0; place /= g.window[d])
      shift[d] = place % g.window[d] * g.dilation[d] - g.padding[d];
    for (int64_t done = 0; done < count;) {
      const int64_t within = (column + done) % g.in[last];
      const int64_t length = std::min(g.in[last] - within, count - done);
      int64_t rest = (column + done) / g.in[last];
      int64_t to = 0, rowStride = g.out[last];
      bool isInside = true;
      for (size_t d = last; d-- > 0; rest /= g.in[d]) {
        const int64_t at = rest % g.in[d] * g.stride[d] + shift[d];
        isInside &= at >= 0 && at < g.out[d];
        to += at * rowStride;
        rowStride *= g.out[d];
      }
      const int64_t begin = within * g.stride[last] + shift[last];
      const Range range(begin, g.stride[last], isInside ? g.out[last] : 0,
                        length);
      for (int64_t i = range.first; i < range.last; ++i) {
        T &sum = sums[to + begin + i * g.stride[last]];
        if constexpr (std::is_integral_v<T>) // wraps
          sum = static_cast<T>(static_cast<uint64_t>(sum) +
                               static_cast<uint64_t>(products[done + i]));
        else
          sum += products[done + i];
      }
      done += length;
    }
  }

  const Geometry geometry;
  const Axis weightRows, weightColumns, inputRows, inputPositions,
      resultPositions;
  const StoreRow<T> storeRow;
  bool packsWeight, packsInput;
};

} // namespace

std::unique_ptr<Routine> bindConvolution(const plan::LibraryCall &call) {
  Geometry geometry(call);
  std::unique_ptr<Routine> routine;
  visitSumType(geometry.input.dtype, [&]<typename T>(T) {
    if (geometry.transposed)
      routine = std::make_unique<TransposedConvolution<T>>(geometry);
    else if (geometry.outChannels <= kFewChannels)
      routine = std::make_unique<DirectConvolution<T>>(geometry);
    else
      routine = std::make_unique<PatchConvolution<T>>(geometry);
  });
  if (!routine)
    failDType(call, geometry.input.dtype);
  return routine;
}

} // namespace gcompile::cpu
