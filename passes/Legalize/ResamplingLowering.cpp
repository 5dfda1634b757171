//===- ResamplingLowering.cpp - upsampling and sampling of grids ----------===//
// Pointwise over the result: each element computes where it lies in the input
// and reads the elements around.
#include "Indexing.h"

#include "gcompile/ir/IndexMaps.h"

#include <cmath>

using namespace mlir;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

namespace {
/// An interpolation along one dimension: places in the input and their weights.
struct Taps {
  SmallVector<Scalar> places; ///< i64, inside the input
  SmallVector<Scalar> weights;
};
} // namespace

/// Two neighbours of `position`, which is not negative.
static Taps linearTaps(Scalar position, int64_t size) {
  Scalar low = minimum(toI64(position),
                       position.body->integer(size - 1, toI64(position).type));
  Scalar high = clampIndex(low + 1, size);
  Scalar weight = position - cast(low, position.type);
  return {{low, high}, {1 - weight, weight}};
}

/// Weights of the four elements around a position, `t` after the second, for
/// Keys' kernel with a = -0.75.
static SmallVector<Scalar> cubicWeights(Scalar t) {
  const double a = -0.75;
  auto inner = [&](Scalar x) { return (x * (a + 2) - (a + 3)) * x * x + 1; };
  auto outer = [&](Scalar x) {
    return ((x * a - 5 * a) * x + 8 * a) * x - 4 * a;
  };
  return {outer(t + 1), inner(t), inner(1 - t), outer(2 - t)};
}

static Taps cubicTaps(Scalar position, int64_t size) {
  Scalar low = floor(position);
  Taps taps{{}, cubicWeights(position - low)};
  for (int i = -1; i <= 2; ++i)
    taps.places.push_back(clampIndex(toI64(low) + i, size));
  return taps;
}

/// The weighted sum of the elements at all combinations of the taps.
static Scalar interpolate(LoopBody &loop, Tensor x, ArrayRef<Taps> taps,
                          SmallVector<Scalar> &places) {
  if (taps.empty())
    return widen(loop.read(x, places));
  Scalar sum;
  for (auto [place, weight] :
       llvm::zip_equal(taps.front().places, taps.front().weights)) {
    places.push_back(place);
    Scalar term = interpolate(loop, x, taps.drop_front(), places) * weight;
    places.pop_back();
    sum = sum ? sum + term : term;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Upsampling
//===----------------------------------------------------------------------===//

namespace {
/// An upsample_* call: its last dimensions change.
struct Upsampling {
  Tensor input;
  Sizes output;
  unsigned spatialRank;
  SmallVector<double> steps; ///< in the input, for one in the output

  unsigned leading() const { return output.size() - spatialRank; }
};
} // namespace

static Upsampling upsamplingOf(const aten::Call &call, LoweringBuilder &b,
                               unsigned spatialRank, bool alignCorners) {
  Upsampling up{
      b.tensor(call.op->getOperand(0)), resultShape(call), spatialRank, {}};
  // Scale factors are a list in one overload, arguments in the other.
  SmallVector<std::optional<double>> scales(spatialRank);
  if (call.schema->find("scale_factors") >= 0) {
    if (!call.isNone("scale_factors"))
      llvm::copy(call.numbers("scale_factors"), scales.begin());
  } else {
    StringRef names[] = {"scales_d", "scales_h", "scales_w"};
    for (unsigned i = 0; i < spatialRank; ++i)
      scales[i] = call.maybeNumber(
          spatialRank == 1 ? "scales" : names[3 - spatialRank + i]);
  }
  for (unsigned i = 0; i < spatialRank; ++i) {
    double in = up.input.shape()[up.leading() + i];
    double out = up.output[up.leading() + i];
    if (alignCorners)
      up.steps.push_back(out > 1 ? (in - 1) / (out - 1) : 0);
    else
      up.steps.push_back(scales[i] && *scales[i] > 0 ? 1 / *scales[i]
                                                     : in / out);
  }
  return up;
}

template <unsigned spatialRank, bool isExact>
static Lowered lowerNearest(const aten::Call &call, LoweringBuilder &b) {
  Upsampling up = upsamplingOf(call, b, spatialRank, false);
  unsigned rank = up.output.size(), leading = up.leading();
  auto source = [&](unsigned i, int64_t place) {
    float step = up.steps[i];
    int64_t nearest = std::floor((place + (isExact ? 0.5f : 0.0f)) * step);
    return std::min(nearest, up.input.shape()[leading + i] - 1);
  };
  // Mostly this is place * in / out in integers, and so a view.
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < leading; ++i)
    places.push_back(b.dim(i));
  bool isView = true;
  for (unsigned i = 0; i < spatialRank; ++i) {
    int64_t in = up.input.shape()[leading + i], out = up.output[leading + i];
    places.push_back(
        isExact ? (b.dim(leading + i) * (2 * in) + in).floorDiv(2 * out)
                : (b.dim(leading + i) * in).floorDiv(out));
    for (int64_t place = 0; place < out; ++place)
      isView &= source(i, place) ==
                (isExact ? (2 * place + 1) * in / (2 * out) : place * in / out);
  }
  if (isView)
    return b.view(
        up.input, up.output,
        simplifyInRange(AffineMap::get(rank, 0, places, b.context), up.output));
  return b.pointwise(
      up.output, up.input.element, {}, [&](LoopBody &loop, Args) {
        SmallVector<Scalar> places = loop.indices(rank);
        for (unsigned i = 0; i < spatialRank; ++i) {
          Scalar place = cast(places[leading + i], b.builder.getF32Type());
          Scalar nearest = toI64((place + (isExact ? 0.5 : 0)) * up.steps[i]);
          places[leading + i] =
              clampIndex(nearest, up.input.shape()[leading + i]);
        }
        return loop.read(up.input, places);
      });
}

template <unsigned spatialRank, bool isCubic>
static Lowered lowerSmooth(const aten::Call &call, LoweringBuilder &b) {
  bool alignCorners = call.flag("align_corners");
  Upsampling up = upsamplingOf(call, b, spatialRank, alignCorners);
  Type type = computeType(up.input.element);
  return b.pointwise(
      up.output, up.input.element, {}, [&](LoopBody &loop, Args) {
        SmallVector<Taps> taps;
        for (unsigned i = 0; i < spatialRank; ++i) {
          Scalar place = cast(loop.index(up.leading() + i), type);
          Scalar position = alignCorners ? place * up.steps[i]
                                         : (place + 0.5) * up.steps[i] - 0.5;
          int64_t size = up.input.shape()[up.leading() + i];
          taps.push_back(
              isCubic
                  ? cubicTaps(position, size)
                  : linearTaps(maximum(position, loop.number(0, type)), size));
        }
        SmallVector<Scalar> places = loop.indices(up.leading());
        return interpolate(loop, up.input, taps, places);
      });
}

/// The weight with which input `first + tap` counts at an output position, for
/// a triangle as wide as the step, where that is more than one.
static Scalar antialiasWeight(Scalar center, Scalar place, double step) {
  double width = std::max(step, 1.0);
  Scalar distance = abs(cast(place, center.type) - center + 0.5) / width;
  return maximum(1 - distance, center.body->number(0, center.type));
}

/// Bilinear, over all inputs that an output covers.
static Lowered lowerAntialiased(const aten::Call &call, LoweringBuilder &b) {
  Upsampling up = upsamplingOf(call, b, 2, call.flag("align_corners"));
  Type type = computeType(up.input.element);
  unsigned rank = up.output.size(), leading = up.leading();
  Loops loops{SizeVector(up.output), {}};
  for (unsigned i = 0; i < 2; ++i) {
    loops.reduced.push_back(rank + i);
    loops.sizes.push_back(
        static_cast<int64_t>(std::ceil(std::max(up.steps[i], 1.0))) * 2 + 1);
  }
  // The inputs at a point of the loops, and their weight: zero beside them.
  auto tap = [&](LoopBody &loop, SmallVector<Scalar> &places) {
    Scalar weight;
    for (unsigned i = 0; i < 2; ++i) {
      int64_t size = up.input.shape()[leading + i];
      double support = std::max(up.steps[i], 1.0);
      Scalar center = (cast(loop.index(leading + i), type) + 0.5) * up.steps[i];
      Scalar first =
          toI64(maximum(center - support + 0.5, loop.number(0, type)));
      Scalar place = first + toI64(loop.index(rank + i));
      Scalar isInside = place < size;
      Scalar along =
          select(isInside, antialiasWeight(center, place, up.steps[i]), 0);
      weight = weight ? weight * along : along;
      places.push_back(clampIndex(place, size));
    }
    return weight;
  };
  auto sum = [&](bool ofWeights) {
    return b.reduce(
        tg::ReduceKind::Sum, type, loops, {}, [&](LoopBody &loop, Args) {
          SmallVector<Scalar> places = loop.indices(leading);
          Scalar weight = tap(loop, places);
          return ofWeights ? weight
                           : weight * widen(loop.read(up.input, places));
        });
  };
  return b.pointwise(up.output, up.input.element, {sum(false), sum(true)},
                     [](LoopBody &, Args in) { return in[0] / in[1]; });
}

//===----------------------------------------------------------------------===//
// Sampling at the points of a grid
//===----------------------------------------------------------------------===//

namespace {
enum class Interpolation { Linear, Nearest, Cubic };
enum class Outside { Zeros, Border, Reflection };

/// How grid_sampler reads outside its input.
struct GridRule {
  Outside outside;
  bool alignCorners;

  /// From [-1, 1] to positions in the input.
  Scalar position(Scalar coordinate, int64_t size) const {
    if (alignCorners)
      return (coordinate + 1) / 2 * double(size - 1);
    return ((coordinate + 1) * double(size) - 1) / 2;
  }
  /// Moves a position inside, where the rule says so.
  Scalar resolve(Scalar x, int64_t size) const {
    LoopBody &loop = *x.body;
    if (outside == Outside::Zeros)
      return x;
    if (outside == Outside::Reflection)
      x = reflect(x, size);
    // NaN goes to the border, as on the GPU.
    x = select(isNan(x), 0, x);
    return minimum(maximum(x, loop.number(0, x.type)),
                   loop.number(size - 1, x.type));
  }
  Scalar reflect(Scalar x, int64_t size) const {
    double low = alignCorners ? 0 : -0.5;
    double span = alignCorners ? size - 1 : size;
    if (span == 0)
      return x.body->number(0, x.type);
    Scalar distance = abs(x - low);
    Scalar extra = fmod(distance, x.body->number(span, x.type));
    Scalar flips = floor(distance / span);
    Scalar isEven = fmod(flips, x.body->number(2, x.type)) == 0;
    return select(isEven, extra + low, span - extra + low);
  }
};
} // namespace

/// The element at a position of whole numbers; zero outside.
static Scalar readOrZero(LoopBody &loop, Tensor x, ArrayRef<Scalar> leading,
                         ArrayRef<Scalar> position) {
  SmallVector<Scalar> places(leading);
  Scalar isInside = loop.boolean(true);
  for (auto [i, coordinate] : llvm::enumerate(position)) {
    double size = x.shape()[leading.size() + i];
    isInside = isInside & (coordinate >= 0) & (coordinate < size);
    places.push_back(coordinate);
  }
  Type type = computeType(x.element);
  return loop.ifElse(
      isInside,
      [&] {
        for (Scalar &place : llvm::drop_begin(places, leading.size()))
          place = toI64(place);
        return widen(loop.read(x, places));
      },
      [&] { return loop.number(0, type); });
}

/// Whole positions around a point, with weights, in one dimension.
static Taps gridTaps(const GridRule &rule, Interpolation mode,
                     Scalar coordinate, int64_t size) {
  Scalar position = rule.position(coordinate, size);
  if (mode == Interpolation::Cubic) {
    // Each of the four is resolved by itself.
    Scalar low = floor(position);
    Taps taps{{}, cubicWeights(position - low)};
    for (int i = -1; i <= 2; ++i)
      taps.places.push_back(rule.resolve(low + i, size));
    return taps;
  }
  position = rule.resolve(position, size);
  if (mode == Interpolation::Nearest)
    return {{roundEven(position)}, {}};
  Scalar low = floor(position);
  Scalar weight = position - low;
  return {{low, low + 1}, {1 - weight, weight}};
}

static Scalar sampleGrid(LoopBody &loop, Tensor x, ArrayRef<Scalar> leading,
                         ArrayRef<Taps> taps, SmallVector<Scalar> &position) {
  if (taps.empty())
    return readOrZero(loop, x, leading, position);
  Scalar sum;
  for (auto [i, place] : llvm::enumerate(taps.front().places)) {
    position.push_back(place);
    Scalar term = sampleGrid(loop, x, leading, taps.drop_front(), position);
    position.pop_back();
    if (!taps.front().weights.empty())
      term = term * taps.front().weights[i];
    sum = sum ? sum + term : term;
  }
  return sum;
}

template <unsigned spatialRank>
static Lowered lowerGridSampler(const aten::Call &call, LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("input"));
  Tensor grid = b.tensor(call.value("grid"));
  auto mode = static_cast<Interpolation>(call.integer("interpolation_mode"));
  GridRule rule{static_cast<Outside>(call.integer("padding_mode")),
                call.flag("align_corners")};
  Sizes output = resultShape(call); // N x C x spatial
  // The grid is N x spatial x coordinates, the last dimension first.
  SmallVector<Read> inputs;
  for (unsigned i = 0; i < spatialRank; ++i) {
    SmallVector<AffineExpr> places{b.dim(0)};
    for (unsigned j = 0; j < spatialRank; ++j)
      places.push_back(b.dim(j + 2));
    places.push_back(b.constant(spatialRank - 1 - i));
    inputs.push_back(
        {grid, AffineMap::get(output.size(), 0, places, b.context)});
  }
  return b.pointwise(
      output, input.element, inputs, [&](LoopBody &loop, Args in) {
        SmallVector<Taps> taps;
        for (unsigned i = 0; i < spatialRank; ++i)
          taps.push_back(
              gridTaps(rule, mode, widen(in[i]), input.shape()[i + 2]));
        SmallVector<Scalar> position;
        return sampleGrid(loop, input, loop.indices(2), taps, position);
      });
}

void addResamplingLowerings(Registry &registry) {
  for (StringRef overload : {"default", "vec"}) {
    auto add = [&](const char *name,
                   Lowered (*lowering)(const aten::Call &, LoweringBuilder &)) {
      registry[(name + ("." + overload)).str()] = lowering;
    };
    add("aten.upsample_nearest1d", lowerNearest<1, false>);
    add("aten.upsample_nearest2d", lowerNearest<2, false>);
    add("aten.upsample_nearest3d", lowerNearest<3, false>);
    add("aten._upsample_nearest_exact1d", lowerNearest<1, true>);
    add("aten._upsample_nearest_exact2d", lowerNearest<2, true>);
    add("aten._upsample_nearest_exact3d", lowerNearest<3, true>);
    add("aten.upsample_linear1d", lowerSmooth<1, false>);
    add("aten.upsample_bilinear2d", lowerSmooth<2, false>);
    add("aten.upsample_trilinear3d", lowerSmooth<3, false>);
    add("aten.upsample_bicubic2d", lowerSmooth<2, true>);
    add("aten._upsample_bilinear2d_aa", lowerAntialiased);
  }
  registry["aten.grid_sampler_2d.default"] = lowerGridSampler<2>;
  registry["aten.grid_sampler_3d.default"] = lowerGridSampler<3>;
}

} // namespace gcompile::legalize
