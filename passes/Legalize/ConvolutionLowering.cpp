//===- ConvolutionLowering.cpp - convolutions and their gradients ---------===//
// A convolution is tg.convolution, then bias and rounding, pointwise. Its
// gradients are convolutions too: that of the input is the transposed one, that
// of the weight slides the output's gradient over the input.
#include "Lowering.h"

using namespace mlir;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

namespace {
/// The geometry of an aten.convolution; lists have one entry a spatial
/// dimension.
struct Geometry {
  SizeVector stride, padding, dilation, outputPadding;
  int64_t groups;
  bool transposed;
};
} // namespace

static Geometry geometryOf(const aten::Call &call, int64_t spatialRank) {
  auto list = [&](StringRef name) {
    SizeVector values = call.integers(name);
    if (values.size() == 1) // one for all dimensions
      values.assign(spatialRank, values[0]);
    return values;
  };
  return {list("stride"),         list("padding"),
          list("dilation"),       list("output_padding"),
          call.integer("groups"), call.flag("transposed")};
}

/// Sums of products, in the compute type. `spatial` are the sizes of the
/// result.
static Tensor convolve(LoweringBuilder &b, Tensor input, Tensor weight,
                       const Geometry &geometry, Sizes spatial) {
  SizeVector shape{input.shape()[0], geometry.transposed
                                         ? weight.shape()[1] * geometry.groups
                                         : weight.shape()[0]};
  shape.append(spatial.begin(), spatial.end());
  Type element = computeType(input.element);
  if (input.numElements() == 0 || weight.numElements() == 0)
    return b.full(shape, element, 0);
  SizeVector pairs;
  for (int64_t padding : geometry.padding)
    pairs.append(2, padding);
  return b.wrap(b.builder.create<tg::ConvolutionOp>(
                    b.loc, b.type(shape, element), input.value, weight.value,
                    geometry.stride, pairs, geometry.dilation,
                    geometry.outputPadding, geometry.groups,
                    geometry.transposed),
                element);
}

static Lowered lowerConvolution(const aten::Call &call, LoweringBuilder &b) {
  Tensor input = b.tensor(call.value("input"));
  Tensor weight = b.tensor(call.value("weight"));
  Sizes shape = resultShape(call);
  Tensor sums = convolve(b, input, weight, geometryOf(call, input.rank() - 2),
                         shape.drop_front(2));
  Value bias = call.value("bias");
  if (!bias)
    return b.narrow(sums, resultElement(call));
  Read perChannel(b.tensor(bias),
                  AffineMap::get(shape.size(), 0, b.dim(1), b.context));
  return b.pointwise(
      shape, resultElement(call), {sums, perChannel},
      [](LoopBody &, Args in) { return in[0] + cast(in[1], in[0].type); });
}

/// The size a convolution's result has in spatial dimension `i`.
static int64_t convolvedSize(const Geometry &g, unsigned i, int64_t size,
                             int64_t window) {
  int64_t span = (window - 1) * g.dilation[i] + 1;
  return (size + 2 * g.padding[i] - span) / g.stride[i] + 1;
}

/// The first `sizes` elements of the spatial dimensions.
static Tensor cropSpatial(LoweringBuilder &b, Tensor x, Sizes sizes) {
  for (auto [i, size] : llvm::enumerate(sizes))
    if (x.shape()[i + 2] != size)
      x = b.slice(x, i + 2, 0, size);
  return x;
}

static Tensor inputGradient(LoweringBuilder &b, Tensor grad, Tensor weight,
                            Geometry g, Sizes inputShape) {
  Sizes spatial = inputShape.drop_front(2);
  SizeVector sizes(spatial);
  g.transposed = !g.transposed;
  for (unsigned i = 0; i < spatial.size(); ++i) {
    int64_t window = weight.shape()[i + 2], size = grad.shape()[i + 2];
    if (!g.transposed) {
      g.outputPadding[i] = 0;
      sizes[i] = convolvedSize(g, i, size, window);
      continue;
    }
    // Inputs that the last window did not reach.
    int64_t reached = (size - 1) * g.stride[i] - 2 * g.padding[i] +
                      (window - 1) * g.dilation[i] + 1;
    g.outputPadding[i] = spatial[i] - reached;
  }
  return cropSpatial(b, convolve(b, grad, weight, g, sizes), spatial);
}

/// Moves the groups of the channels behind them: N x (G C) x spatial becomes
/// C x (G N) x spatial.
static Tensor swapBatchAndChannels(LoweringBuilder &b, Tensor x,
                                   int64_t groups) {
  SizeVector spatial(x.shape().drop_front(2));
  int64_t batch = x.shape()[0], channels = x.shape()[1] / groups;
  SizeVector split{batch, groups, channels};
  split.append(spatial);
  x = b.reshape(x, split);
  SizeVector order{2, 1, 0};
  for (int64_t i = 3; i < x.rank(); ++i)
    order.push_back(i);
  SizeVector joined{channels, groups * batch};
  joined.append(spatial);
  return b.reshape(b.permute(x, order), joined);
}

static Tensor weightGradient(LoweringBuilder &b, Tensor grad, Tensor input,
                             const Geometry &g, Sizes weightShape) {
  // In a transposed convolution input and output change places.
  Tensor image = g.transposed ? grad : input;
  Tensor filter = g.transposed ? input : grad;
  Geometry swapped{g.dilation, g.padding,
                   g.stride,   SizeVector(g.stride.size(), 0),
                   g.groups,   /*transposed=*/false};
  image = swapBatchAndChannels(b, image, g.groups);
  filter = b.transpose(filter, 0, 1);
  SizeVector sizes;
  for (unsigned i = 0; i < g.stride.size(); ++i)
    sizes.push_back(
        convolvedSize(swapped, i, image.shape()[i + 2], filter.shape()[i + 2]));
  Tensor sums = convolve(b, image, filter, swapped, sizes);
  return cropSpatial(b, b.transpose(sums, 0, 1), weightShape.drop_front(2));
}

static Lowered lowerConvolutionBackward(const aten::Call &call,
                                        LoweringBuilder &b) {
  Tensor grad = b.tensor(call.value("grad_output"));
  Tensor input = b.tensor(call.value("input"));
  Tensor weight = b.tensor(call.value("weight"));
  Geometry geometry = geometryOf(call, input.rank() - 2);
  SmallVector<Tensor> results(3);
  if (isUsed(call, 0))
    results[0] =
        b.narrow(inputGradient(b, grad, weight, geometry, input.shape()),
                 resultElement(call, 0));
  if (isUsed(call, 1))
    results[1] =
        b.narrow(weightGradient(b, grad, input, geometry, weight.shape()),
                 resultElement(call, 1));
  if (isUsed(call, 2)) {
    SmallVector<unsigned> allButChannels{0};
    for (unsigned i = 2; i < grad.rank(); ++i)
      allButChannels.push_back(i);
    results[2] = b.narrow(b.reduce(tg::ReduceKind::Sum, grad, allButChannels),
                          resultElement(call, 2));
  }
  return results;
}

void addConvolutionLowerings(Registry &registry) {
  registry["aten.convolution.default"] = lowerConvolution;
  registry["aten.convolution_backward.default"] = lowerConvolutionBackward;
}

} // namespace gcompile::legalize
