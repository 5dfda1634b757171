//===- Contractions.cpp - linear, matmul, convolution, attention ----------===//
#include "Decompose.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t result = 1;
  for (int64_t size : sizes)
    result *= size;
  return result;
}

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

/// x [..., K] times weight^T [K, N]; weight is N x K, or K for one output.
Values decomposeLinear(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("input"), weight = call.value("weight");
  RankedTensorType type = tensorType(x);
  int64_t inner = type.getShape().back();
  int64_t rows = product(type.getShape().drop_back());
  bool isVector = tensorType(weight).getRank() == 1;
  Value matrix = isVector ? b.unsqueeze(weight, 0) : weight;
  SmallVector<int64_t> sizes(type.getShape().drop_back());
  if (!isVector)
    sizes.push_back(tensorType(matrix).getDimSize(0));
  Value flat = b.view(x, {rows, inner});
  Value transposed = b.permute(matrix, {1, 0});
  Value bias = call.value("bias");
  Value y = bias ? b.call("aten.addmm.default", {bias, flat, transposed})
                 : b.mm(flat, transposed);
  return SmallVector<Value>{b.view(y, sizes)};
}

/// numpy's matmul: vectors on either side, batch dimensions broadcast.
Value matmul(DecompositionBuilder &b, Value x, Value y) {
  RankedTensorType xType = tensorType(x), yType = tensorType(y);
  int64_t xRank = xType.getRank(), yRank = yType.getRank();
  if (xRank == 1 && yRank == 1)
    return b.sum(b.mul(x, y), {0}, false);
  if (xRank == 1) {
    Value product = matmul(b, b.unsqueeze(x, 0), y);
    SmallVector<int64_t> sizes(tensorType(product).getShape());
    sizes.erase(sizes.end() - 2);
    return b.view(product, sizes);
  }
  if (yRank == 1) {
    Value product = matmul(b, x, b.unsqueeze(y, 1));
    return b.view(product, tensorType(product).getShape().drop_back());
  }
  if (yRank == 2) {
    // One product of all rows.
    SmallVector<int64_t> sizes(xType.getShape().drop_back());
    Value flat = b.view(x, {product(sizes), xType.getShape().back()});
    sizes.push_back(yType.getDimSize(1));
    return b.view(b.mm(flat, y), sizes);
  }
  // Broadcast the batch dimensions, then flatten them.
  SmallVector<int64_t> batch;
  auto batchSize = [](RankedTensorType type, int64_t fromRight) -> int64_t {
    int64_t dim = type.getRank() - 3 - fromRight;
    return dim < 0 ? 1 : type.getDimSize(dim);
  };
  for (int64_t i = std::max(xRank, yRank) - 3; i >= 0; --i) {
    int64_t a = batchSize(xType, i), c = batchSize(yType, i);
    batch.push_back(a == 1 ? c : a);
  }
  auto batched = [&](Value v, RankedTensorType type) {
    SmallVector<int64_t> sizes(batch);
    llvm::append_range(sizes, type.getShape().take_back(2));
    Value expanded = b.expand(v, sizes);
    return b.view(expanded, {product(batch), sizes[sizes.size() - 2],
                             sizes[sizes.size() - 1]});
  };
  Value flat = b.bmm(batched(x, xType), batched(y, yType));
  SmallVector<int64_t> sizes(batch);
  sizes.push_back(xType.getDimSize(xRank - 2));
  sizes.push_back(yType.getDimSize(yRank - 1));
  return b.view(flat, sizes);
}

Values decomposeMatmul(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{matmul(b, call.value("self"), call.value("other"))};
}

/// beta * self + alpha * (sum of products), where `product` is the product.
Value scaledSum(const Call &call, DecompositionBuilder &b, Value product) {
  double beta = call.number("beta"), alpha = call.number("alpha");
  if (alpha != 1)
    product = b.mul(product, alpha);
  // beta = 0 ignores self, NaN included.
  if (beta == 0)
    return b.add(product, 0.0);
  Value self = call.value("self");
  return b.add(beta == 1 ? self : b.mul(self, beta), product);
}

Values decomposeAddmv(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{
      scaledSum(call, b, matmul(b, call.value("mat"), call.value("vec")))};
}

Values decomposeAddbmm(const Call &call, DecompositionBuilder &b) {
  Value products = b.bmm(call.value("batch1"), call.value("batch2"));
  return SmallVector<Value>{scaledSum(call, b, b.sum(products, {0}, false))};
}

Values decomposeMv(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{matmul(b, call.value("self"), call.value("vec"))};
}

Values decomposeDot(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{
      matmul(b, call.value("self"), call.value("tensor"))};
}

//===----------------------------------------------------------------------===//
// Convolutions
//===----------------------------------------------------------------------===//

SmallVector<int64_t> spatial(ArrayRef<int64_t> values, int64_t count) {
  // A single value counts for all dimensions.
  return values.size() == 1 ? SmallVector<int64_t>(count, values[0])
                            : SmallVector<int64_t>(values);
}

struct ConvolutionArgs {
  SmallVector<int64_t> stride, padding, dilation, outputPadding;
  bool transposed = false;
};

Value convolution(const Call &call, DecompositionBuilder &b, Value input,
                  const ConvolutionArgs &args) {
  Value weight = call.value("weight");
  bool isBatched = tensorType(input).getRank() == tensorType(weight).getRank();
  if (!isBatched)
    input = b.unsqueeze(input, 0);
  Value bias = call.value("bias");
  Value y = b.call("aten.convolution.default",
                   {input, weight, bias ? aten::Arg(bias) : aten::Arg::none(),
                    args.stride, args.padding, args.dilation, args.transposed,
                    args.outputPadding, call.integer("groups")});
  return isBatched ? y : b.view(y, tensorType(y).getShape().drop_front());
}

Values decomposeConv(const Call &call, DecompositionBuilder &b) {
  int64_t n = tensorType(call.value("weight")).getRank() - 2;
  ConvolutionArgs args{
      spatial(call.integers("stride"), n), spatial(call.integers("padding"), n),
      spatial(call.integers("dilation"), n), SmallVector<int64_t>(n, 0)};
  return SmallVector<Value>{convolution(call, b, call.value("input"), args)};
}

/// padding = "same" pads by dilation * (window - 1), the odd one at the end.
Values decomposeConvNamedPadding(const Call &call, DecompositionBuilder &b) {
  RankedTensorType weight = tensorType(call.value("weight"));
  int64_t n = weight.getRank() - 2;
  ConvolutionArgs args{
      spatial(call.integers("stride"), n), SmallVector<int64_t>(n, 0),
      spatial(call.integers("dilation"), n), SmallVector<int64_t>(n, 0)};
  Value input = call.value("input");
  if (call.string("padding") == "same") {
    SmallVector<int64_t> pad; // from the last dimension on
    for (int64_t d = n - 1; d >= 0; --d) {
      int64_t total = args.dilation[d] * (weight.getDimSize(d + 2) - 1);
      pad.push_back(total / 2);
      pad.push_back(total - total / 2);
    }
    input = b.call("aten.constant_pad_nd.default", {input, pad, 0});
  }
  return SmallVector<Value>{convolution(call, b, input, args)};
}

Values decomposeConvTranspose(const Call &call, DecompositionBuilder &b) {
  int64_t n = tensorType(call.value("weight")).getRank() - 2;
  ConvolutionArgs args{spatial(call.integers("stride"), n),
                       spatial(call.integers("padding"), n),
                       spatial(call.integers("dilation"), n),
                       spatial(call.integers("output_padding"), n), true};
  return SmallVector<Value>{convolution(call, b, call.value("input"), args)};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// B x Hkv x S x E to B x H x S x E, each head repeated.
Value repeatHeads(DecompositionBuilder &b, Value x, int64_t heads) {
  RankedTensorType type = tensorType(x);
  int64_t dim = type.getRank() - 3;
  int64_t repeats = heads / type.getDimSize(dim);
  if (repeats == 1)
    return x;
  SmallVector<int64_t> expanded(type.getShape()), sizes(type.getShape());
  expanded.insert(expanded.begin() + dim + 1, repeats);
  sizes[dim] = heads;
  return b.view(b.expand(b.unsqueeze(x, dim + 1), expanded), sizes);
}

/// A mask as numbers to add: 0 where a bool mask lets through, -inf elsewhere.
Value additiveMask(DecompositionBuilder &b, Value mask, Type element) {
  if (!tensorType(mask).getElementType().isInteger(1))
    return b.cast(mask, element);
  return b.where(mask, b.scalar(0, element),
                 b.scalar(-std::numeric_limits<double>::infinity(), element));
}

/// Lower triangle of L x S: query i sees keys 0 to i.
Value causalMask(DecompositionBuilder &b, int64_t queries, int64_t keys) {
  Value rows = b.call("aten.arange.default", {queries});
  Value columns = b.call("aten.arange.default", {keys});
  return b.call("aten.ge.Tensor",
                {b.unsqueeze(rows, 1), b.unsqueeze(columns, 0)});
}

Values decomposeAttention(const Call &call, DecompositionBuilder &b) {
  Value query = call.value("query"), key = call.value("key"),
        value = call.value("value"), mask = call.value("attn_mask");
  if (call.number("dropout_p") != 0)
    return call.op->emitError("unsupported: attention with dropout; export the "
                              "model in eval mode");
  RankedTensorType type = tensorType(query);
  int64_t rank = type.getRank();
  double scale = call.maybeNumber("scale").value_or(
      1 / std::sqrt(static_cast<double>(type.getShape().back())));
  // The operator underneath wants B x H x L x E.
  auto toFour = [&](Value v, int64_t wantedRank) {
    while (tensorType(v).getRank() < wantedRank)
      v = b.unsqueeze(v, 0);
    return v;
  };
  int64_t fullRank = std::max<int64_t>(rank, 4);
  query = toFour(query, fullRank);
  key = toFour(key, fullRank);
  value = toFour(value, fullRank);
  auto flattenBatch = [&](Value v) {
    ArrayRef<int64_t> sizes = tensorType(v).getShape();
    SmallVector<int64_t> four{product(sizes.drop_back(3))};
    llvm::append_range(four, sizes.take_back(3));
    return b.view(v, four);
  };
  SmallVector<int64_t> fullShape(tensorType(query).getShape());
  SmallVector<int64_t> scoreShape(fullShape);
  scoreShape.back() = tensorType(key).getDimSize(fullRank - 2);
  auto withBatchOf = [&](Value v) {
    SmallVector<int64_t> sizes(tensorType(v).getShape());
    std::copy(fullShape.begin(), fullShape.end() - 3, sizes.begin());
    return flattenBatch(b.expand(v, sizes));
  };
  query = flattenBatch(query);
  int64_t heads = tensorType(query).getDimSize(1);
  key = repeatHeads(b, withBatchOf(key), heads);
  value = repeatHeads(b, withBatchOf(value), heads);
  if (mask)
    mask = flattenBatch(
        b.expand(toFour(additiveMask(b, mask, type.getElementType()), fullRank),
                 scoreShape));
  auto results = b.callMulti(
      "aten._scaled_dot_product_efficient_attention.default",
      {query, key, value, mask ? aten::Arg(mask) : aten::Arg::none(), false,
       0.0, call.flag("is_causal")},
      {{"scale", scale}});
  auto result = cast<RankedTensorType>(call.op->getResult(0).getType());
  return SmallVector<Value>{b.view(results[0], result.getShape())};
}

/// Gradients of attention from the saved log-sum-exp of its rows:
///   P = exp(S - lse), dV = P^T dO, dP = dO V^T,
///   dS = P * (dP - rowsum(dO * O)), dQ = dS K scale, dK = dS^T Q scale.
/// Source: Dao et al., "FlashAttention", 2022, appendix B.2.
Values decomposeAttentionBackward(const Call &call, DecompositionBuilder &b) {
  if (call.number("dropout_p") != 0)
    return call.op->emitError(
        "unsupported: gradient of attention with dropout");
  Value query = call.value("query"), key = call.value("key"),
        value = call.value("value"), bias = call.value("attn_bias");
  Type element = tensorType(query).getElementType();
  Type compute = computeType(element);
  int64_t queries = tensorType(query).getDimSize(2);
  int64_t keys = tensorType(key).getDimSize(2);
  double scale = call.maybeNumber("scale").value_or(
      1 / std::sqrt(static_cast<double>(tensorType(query).getShape().back())));
  Value q = b.cast(query, compute), k = b.cast(key, compute),
        v = b.cast(value, compute),
        gradOut = b.cast(call.value("grad_out_"), compute),
        out = b.cast(call.value("out"), compute);
  // Its rows are padded to a multiple of 32.
  Value logsumexp =
      b.cast(b.slice(call.value("logsumexp"), 2, 0, queries), compute);

  Value scores = b.mul(matmul(b, q, b.transposeLast(k)), scale);
  if (bias)
    scores = b.add(scores, b.cast(bias, compute));
  if (call.flag("is_causal"))
    scores =
        b.where(causalMask(b, queries, keys), scores,
                b.scalar(-std::numeric_limits<double>::infinity(), compute));
  Value p = b.exp(b.sub(scores, b.unsqueeze(logsumexp, 3)));
  Value gradV = matmul(b, b.transposeLast(p), gradOut);
  Value gradP = matmul(b, gradOut, b.transposeLast(v));
  Value delta = b.sum(b.mul(gradOut, out), {3}, true);
  Value gradScores = b.mul(p, b.sub(gradP, delta));
  Value gradQ = b.mul(matmul(b, gradScores, k), scale);
  Value gradK = b.mul(matmul(b, b.transposeLast(gradScores), q), scale);
  SmallVector<Value> results{b.cast(gradQ, element), b.cast(gradK, element),
                             b.cast(gradV, element), Value()};
  if (bias)
    results[3] = b.cast(gradScores, tensorType(bias).getElementType());
  return results;
}

} // namespace

void addContractionDecompositions(DecompositionTable &table) {
  table["aten.linear.default"] = decomposeLinear;
  table["aten.matmul.default"] = decomposeMatmul;
  table["aten.addmv.default"] = decomposeAddmv;
  table["aten.addbmm.default"] = decomposeAddbmm;
  table["aten.mv.default"] = decomposeMv;
  table["aten.dot.default"] = decomposeDot;
  for (const char *name :
       {"aten.conv1d.default", "aten.conv2d.default", "aten.conv3d.default"})
    table[name] = decomposeConv;
  for (const char *name :
       {"aten.conv1d.padding", "aten.conv2d.padding", "aten.conv3d.padding"})
    table[name] = decomposeConvNamedPadding;
  for (const char *name :
       {"aten.conv_transpose1d.default", "aten.conv_transpose2d.input",
        "aten.conv_transpose3d.input"})
    table[name] = decomposeConvTranspose;
  table["aten.scaled_dot_product_attention.default"] = decomposeAttention;
  table["aten._scaled_dot_product_efficient_attention_backward.default"] =
      decomposeAttentionBackward;
}

} // namespace gcompile
