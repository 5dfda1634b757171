//===- PoolingLowering.cpp - maxima and means over windows ----------------===//
// A window is a reduction over loops of its own that reads a padded input.
#include "Lowering.h"

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

namespace {
/// Windows over the last dimensions of a tensor.
struct Windows {
  SizeVector size, stride, padding, dilation; ///< one a spatial dimension
  Sizes input, output;                        ///< whole shapes
  unsigned leading;                           ///< dimensions before

  unsigned rank() const { return size.size(); }
  /// Loops: those of the output, then those of a window.
  Loops loops() const;
  /// Where a point of the loops reads the padded input.
  AffineMap map(LoweringBuilder &b) const;
};
} // namespace

Loops Windows::loops() const {
  Loops loops{SizeVector(output), {}};
  for (int64_t size : size) {
    loops.reduced.push_back(loops.sizes.size());
    loops.sizes.push_back(size);
  }
  return loops;
}

AffineMap Windows::map(LoweringBuilder &b) const {
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < leading; ++i)
    places.push_back(b.dim(i));
  for (unsigned i = 0; i < rank(); ++i)
    places.push_back(b.dim(leading + i) * stride[i] +
                     b.dim(leading + rank() + i) * dilation[i]);
  return AffineMap::get(leading + 2 * rank(), 0, places, b.context);
}

template <unsigned spatialRank>
static Windows windowsOf(const aten::Call &call, Tensor input) {
  auto list = [&](StringRef name, ArrayRef<int64_t> otherwise) {
    SizeVector values(otherwise);
    if (call.schema->find(name) >= 0)
      if (auto given = call.maybeIntegers(name); given && !given->empty())
        values = *given;
    if (values.size() == 1)
      values.assign(spatialRank, values[0]);
    return values;
  };
  Windows windows;
  windows.size = list("kernel_size", {});
  windows.stride = list("stride", windows.size); // empty: as the window
  windows.padding = list("padding", {0});
  windows.dilation = list("dilation", {1});
  windows.input = input.shape();
  windows.output = resultShape(call);
  windows.leading = input.rank() - spatialRank;
  return windows;
}

/// `x` with `value` wherever a window reaches outside.
static Tensor padForWindows(LoweringBuilder &b, Tensor x,
                            const Windows &windows, double value) {
  SizeVector before(x.rank(), 0), after(x.rank(), 0);
  for (unsigned i = 0; i < windows.rank(); ++i) {
    unsigned dim = windows.leading + i;
    int64_t reach = (windows.output[dim] - 1) * windows.stride[i] +
                    (windows.size[i] - 1) * windows.dilation[i] + 1;
    before[dim] = windows.padding[i];
    after[dim] =
        std::max<int64_t>(reach - windows.padding[i] - windows.input[dim], 0);
  }
  return b.pad(x, before, after, value);
}

//===----------------------------------------------------------------------===//
// Maxima
//===----------------------------------------------------------------------===//

template <unsigned spatialRank>
static Lowered lowerMaxPool(const aten::Call &call, LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("self"));
  Windows windows = windowsOf<spatialRank>(call, input);
  Type element = computeType(input.element);
  double lowest = isa<FloatType>(element) ? -INFINITY
                  : isUnsigned(element)
                      ? 0
                      : -std::ldexp(1.0, element.getIntOrFloatBitWidth() - 1);
  Tensor padded = padForWindows(b, input, windows, lowest);
  Read read(padded, windows.map(b));
  bool hasIndices = call.op->getNumResults() > 1;
  if (!hasIndices || !isUsed(call, 1)) {
    Tensor values = b.reduce(ReduceKind::Max, element, windows.loops(), read,
                             [](LoopBody &, Args in) { return widen(in[0]); });
    SmallVector<Tensor> results{b.narrow(values, input.element)};
    results.resize(call.op->getNumResults());
    return results;
  }
  auto candidate = [&](LoopBody &loop, Args in) {
    // The position of the element in the spatial dimensions of the input.
    Scalar position, isInside = loop.boolean(true);
    for (unsigned i = 0; i < spatialRank; ++i) {
      int64_t size = windows.input[windows.leading + i];
      Scalar place =
          loop.index(windows.leading + i) * windows.stride[i] +
          loop.index(windows.leading + spatialRank + i) * windows.dilation[i] -
          windows.padding[i];
      isInside = isInside & (place >= 0) & (place < size);
      position = i == 0 ? place : position * size + place;
    }
    return LoweringBuilder::Candidate{widen(in[0]), toI64(position), isInside};
  };
  auto [values, positions] =
      b.argReduce(true, element, windows.loops(), read, candidate);
  return SmallVector<Tensor>{b.narrow(values, input.element), positions};
}

//===----------------------------------------------------------------------===//
// Means
//===----------------------------------------------------------------------===//

/// How many elements the window at `place` of spatial dimension `i` counts.
static Scalar countedElements(const Windows &windows, unsigned i, Scalar place,
                              bool countsPadding) {
  LoopBody &loop = *place.body;
  int64_t size = windows.input[windows.leading + i],
          padding = windows.padding[i];
  auto limit = [&](int64_t value) { return loop.integer(value, place.type); };
  Scalar start = place * windows.stride[i] - padding;
  // Padding counts, but not what ceil_mode adds behind it.
  Scalar end = minimum(start + windows.size[i], limit(size + padding));
  if (!countsPadding) {
    start = maximum(start, limit(0));
    end = minimum(end, limit(size));
  }
  return end - start;
}

/// The same number for each window, where there is one.
static std::optional<int64_t> uniformCount(const Windows &windows,
                                           bool countsPadding) {
  int64_t count = 1;
  for (unsigned i = 0; i < windows.rank(); ++i) {
    int64_t size = windows.input[windows.leading + i];
    int64_t padding = windows.padding[i];
    int64_t reach =
        (windows.output[windows.leading + i] - 1) * windows.stride[i] -
        padding + windows.size[i];
    if (countsPadding ? reach > size + padding : padding > 0 || reach > size)
      return std::nullopt;
    count *= windows.size[i];
  }
  return count;
}

static Tensor meanOverWindows(LoweringBuilder &b, Tensor input,
                              const Windows &windows, bool countsPadding,
                              std::optional<int64_t> divisor) {
  Type element = computeType(input.element);
  if (!divisor)
    divisor = uniformCount(windows, countsPadding);
  Tensor sums =
      b.reduce(ReduceKind::Sum, element, windows.loops(),
               Read(padForWindows(b, input, windows, 0), windows.map(b)),
               [](LoopBody &, Args in) { return widen(in[0]); });
  return b.pointwise(
      windows.output, input.element, {sums}, [&](LoopBody &loop, Args in) {
        if (divisor)
          return in[0] / double(*divisor);
        Scalar count;
        for (unsigned i = 0; i < windows.rank(); ++i) {
          Scalar along = countedElements(
              windows, i, loop.index(windows.leading + i), countsPadding);
          count = count ? count * along : along;
        }
        return in[0] / cast(count, element);
      });
}

template <unsigned spatialRank>
static Lowered lowerAvgPool(const aten::Call &call, LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("self"));
  std::optional<int64_t> divisor;
  if (call.schema->find("divisor_override") >= 0)
    divisor = call.maybeInteger("divisor_override");
  return meanOverWindows(b, input, windowsOf<spatialRank>(call, input),
                         call.flag("count_include_pad"), divisor);
}

/// Gathers the gradients of the windows that hold an element.
template <unsigned spatialRank>
static Lowered lowerAvgPoolBackward(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor grad = b.tensor(call.value("grad_output"));
  Windows windows = windowsOf<spatialRank>(call, b.tensor(call.value("self")));
  windows.output = grad.shape();
  Type element = computeType(grad.element);
  bool countsPadding = call.flag("count_include_pad");
  std::optional<int64_t> divisor = call.maybeInteger("divisor_override");
  // Loops: those of the input, then the windows that may hold its element.
  unsigned rank = grad.rank();
  Loops loops{SizeVector(windows.input), {}};
  for (unsigned i = 0; i < spatialRank; ++i) {
    loops.reduced.push_back(rank + i);
    loops.sizes.push_back(llvm::divideCeil(windows.size[i], windows.stride[i]));
  }
  Tensor sums =
      b.reduce(ReduceKind::Sum, element, loops, {}, [&](LoopBody &loop, Args) {
        SmallVector<Scalar> places = loop.indices(windows.leading);
        Scalar isInside = loop.boolean(true), count;
        for (unsigned i = 0; i < spatialRank; ++i) {
          unsigned dim = windows.leading + i;
          // The last window that holds the element, then those before it.
          Scalar place = loop.index(dim) + windows.padding[i];
          Scalar window =
              place / loop.position(windows.stride[i]) - loop.index(rank + i);
          isInside = isInside & (window >= 0) & (window < windows.output[dim]) &
                     (place < window * windows.stride[i] + windows.size[i]);
          places.push_back(window);
          Scalar along = countedElements(windows, i, window, countsPadding);
          count = i == 0 ? along : count * along;
        }
        return loop.ifElse(
            isInside,
            [&] {
              Scalar value = widen(loop.read(grad, places));
              return divisor ? value / double(*divisor)
                             : value / cast(count, element);
            },
            [&] { return loop.number(0, element); });
      });
  return b.narrow(sums, grad.element);
}

//===----------------------------------------------------------------------===//
// Adaptive windows: output i covers [i * n / m, ceil((i + 1) * n / m))
//===----------------------------------------------------------------------===//

namespace {
struct AdaptiveWindows {
  Sizes input, output;
  unsigned leading;
  SizeVector longest; ///< window a spatial dimension

  AdaptiveWindows(Sizes input, Sizes output, unsigned spatialRank)
      : input(input), output(output), leading(input.size() - spatialRank) {
    for (unsigned i = leading; i < input.size(); ++i) {
      int64_t size = 0;
      for (int64_t place = 0; place < output[i]; ++place)
        size = std::max(size, end(i, place) - start(i, place));
      longest.push_back(size);
    }
  }
  int64_t start(unsigned dim, int64_t place) const {
    return place * input[dim] / output[dim];
  }
  int64_t end(unsigned dim, int64_t place) const {
    return llvm::divideCeil((place + 1) * input[dim], output[dim]);
  }
  /// As windows of one size side by side, where they are.
  std::optional<Windows> equalWindows() const {
    for (unsigned i = leading; i < input.size(); ++i)
      if (input[i] % output[i] != 0)
        return std::nullopt;
    unsigned rank = longest.size();
    return Windows{
        longest, longest, SizeVector(rank, 0), SizeVector(rank, 1), input,
        output,  leading};
  }
  Loops loops() const {
    Loops loops{SizeVector(output), {}};
    for (int64_t size : longest) {
      loops.reduced.push_back(loops.sizes.size());
      loops.sizes.push_back(size);
    }
    return loops;
  }
  /// First place of the window of `place`, and the place after its last.
  std::pair<Scalar, Scalar> bounds(unsigned dim, Scalar place) const {
    LoopBody &loop = *place.body;
    Scalar from = loop.position(input[dim]), to = loop.position(output[dim]);
    return {place * from / to, ((place + 1) * from + (output[dim] - 1)) / to};
  }
  /// The place in the input at a point of the loops, and whether it belongs to
  /// the window; the count of the window too.
  struct Point {
    SmallVector<Scalar> places;
    Scalar isInside, count;
  };
  Point point(LoopBody &loop) const {
    Point point{loop.indices(leading), loop.boolean(true), {}};
    for (unsigned dim = leading; dim < input.size(); ++dim) {
      auto [first, end] = bounds(dim, loop.index(dim));
      Scalar place = first + loop.index(input.size() + dim - leading);
      point.isInside = point.isInside & (place < end);
      point.places.push_back(place);
    }
    return point;
  }
};
} // namespace

template <unsigned spatialRank>
static Lowered lowerAdaptiveAvgPool(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("self"));
  AdaptiveWindows windows(input.shape(), resultShape(call), spatialRank);
  if (std::optional<Windows> equal = windows.equalWindows())
    return meanOverWindows(b, input, *equal, false, std::nullopt);
  Type element = computeType(input.element);
  Tensor sums = b.reduce(
      ReduceKind::Sum, element, windows.loops(), {}, [&](LoopBody &loop, Args) {
        auto point = windows.point(loop);
        return loop.ifElse(
            point.isInside,
            [&] { return widen(loop.read(input, point.places)); },
            [&] { return loop.number(0, element); });
      });
  return b.pointwise(
      windows.output, input.element, {sums}, [&](LoopBody &loop, Args in) {
        Scalar count;
        for (unsigned dim = windows.leading; dim < input.rank(); ++dim) {
          auto [first, end] = windows.bounds(dim, loop.index(dim));
          count = count ? count * (end - first) : end - first;
        }
        return in[0] / cast(count, element);
      });
}

template <unsigned spatialRank>
static Lowered lowerAdaptiveMaxPool(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("self"));
  AdaptiveWindows windows(input.shape(), resultShape(call), spatialRank);
  Type element = computeType(input.element);
  auto candidate = [&](LoopBody &loop, Args) {
    auto point = windows.point(loop);
    Scalar value = loop.ifElse(
        point.isInside, [&] { return widen(loop.read(input, point.places)); },
        [&] { return loop.number(-INFINITY, element); });
    Scalar position;
    for (unsigned dim = windows.leading; dim < input.rank(); ++dim) {
      Scalar place = point.places[dim];
      position = position ? position * input.shape()[dim] + place : place;
    }
    return LoweringBuilder::Candidate{value, toI64(position), point.isInside};
  };
  auto [values, positions] =
      b.argReduce(true, element, windows.loops(), {}, candidate);
  return SmallVector<Tensor>{b.narrow(values, input.element), positions};
}

/// Gathers the gradients of the windows that hold an element.
template <unsigned spatialRank>
static Lowered lowerAdaptiveAvgPoolBackward(const aten::Call &call,
                                            LoweringBuilder &b) {
  Tensor grad = b.tensor(call.value("grad_output"));
  Sizes shape = resultShape(call);
  AdaptiveWindows windows(shape, grad.shape(), spatialRank);
  Type element = computeType(grad.element);
  // Loops: those of the input, then all windows; few hold an element, but their
  // number is small.
  Loops loops{SizeVector(shape), {}};
  for (unsigned dim = windows.leading; dim < shape.size(); ++dim) {
    loops.reduced.push_back(loops.sizes.size());
    loops.sizes.push_back(grad.shape()[dim]);
  }
  Tensor sums =
      b.reduce(ReduceKind::Sum, element, loops, {}, [&](LoopBody &loop, Args) {
        SmallVector<Scalar> places = loop.indices(windows.leading);
        Scalar isInside = loop.boolean(true), count;
        for (unsigned dim = windows.leading; dim < shape.size(); ++dim) {
          Scalar window = loop.index(shape.size() + dim - windows.leading);
          auto [first, end] = windows.bounds(dim, window);
          Scalar place = loop.index(dim);
          isInside = isInside & (place >= first) & (place < end);
          places.push_back(window);
          count = count ? count * (end - first) : end - first;
        }
        return loop.ifElse(
            isInside,
            [&] {
              return widen(loop.read(grad, places)) / cast(count, element);
            },
            [&] { return loop.number(0, element); });
      });
  return b.narrow(sums, grad.element);
}

void addPoolingLowerings(Registry &registry) {
  registry["aten.max_pool2d_with_indices.default"] = lowerMaxPool<2>;
  registry["aten.max_pool3d_with_indices.default"] = lowerMaxPool<3>;
  registry["aten.max_pool1d.default"] = lowerMaxPool<1>;
  registry["aten.max_pool3d.default"] = lowerMaxPool<3>;
  registry["aten.avg_pool1d.default"] = lowerAvgPool<1>;
  registry["aten.avg_pool2d.default"] = lowerAvgPool<2>;
  registry["aten.avg_pool3d.default"] = lowerAvgPool<3>;
  registry["aten.avg_pool2d_backward.default"] = lowerAvgPoolBackward<2>;
  registry["aten.avg_pool3d_backward.default"] = lowerAvgPoolBackward<3>;
  for (StringRef name : {"aten.adaptive_avg_pool1d.default"})
    registry[name] = lowerAdaptiveAvgPool<1>;
  for (StringRef name : {"aten._adaptive_avg_pool2d.default",
                         "aten.adaptive_avg_pool2d.default"})
    registry[name] = lowerAdaptiveAvgPool<2>;
  for (StringRef name : {"aten._adaptive_avg_pool3d.default",
                         "aten.adaptive_avg_pool3d.default"})
    registry[name] = lowerAdaptiveAvgPool<3>;
  registry["aten.adaptive_max_pool2d.default"] = lowerAdaptiveMaxPool<2>;
  registry["aten.adaptive_max_pool3d.default"] = lowerAdaptiveMaxPool<3>;
  registry["aten._adaptive_avg_pool2d_backward.default"] =
      lowerAdaptiveAvgPoolBackward<2>;
  registry["aten._adaptive_avg_pool3d_backward.default"] =
      lowerAdaptiveAvgPoolBackward<3>;
}

} // namespace gcompile::legalize
