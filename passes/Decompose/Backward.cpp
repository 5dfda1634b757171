//===- Backward.cpp - gradients of pointwise operators, norms, softmax ----===//
#include "Decompose.h"

#include <cmath>

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

Type elementOf(Value value) { return tensorType(value).getElementType(); }

/// Operands cast to the compute type, the result cast back to that of `like`.
struct Computed {
  DecompositionBuilder &b;
  Type element, compute;
  Computed(DecompositionBuilder &b, Value like)
      : b(b), element(elementOf(like)), compute(computeType(element)) {}
  Value in(Value x) { return b.cast(x, compute); }
  SmallVector<Value> out(Value x) { return {b.cast(x, element)}; }
};

Values sigmoidBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), y = c.in(call.value("output"));
  return c.out(b.mul(grad, b.mul(y, b.rsub(y, 1))));
}

Values tanhBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), y = c.in(call.value("output"));
  return c.out(b.mul(grad, b.rsub(b.square(y), 1)));
}

Values siluBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), x = c.in(call.value("self"));
  Value s = b.sigmoid(x);
  return c.out(b.mul(b.mul(grad, s), b.add(b.mul(x, b.rsub(s, 1)), 1.0)));
}

Values thresholdBackward(const Call &call, DecompositionBuilder &b) {
  Value grad = call.value("grad_output"), x = call.value("self");
  Value isBelow = b.call("aten.le.Scalar", {x, call.number("threshold")});
  return SmallVector<Value>{
      b.where(isBelow, b.scalar(0, elementOf(grad)), grad)};
}

Values geluBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), x = c.in(call.value("self"));
  if (call.string("approximate") == "tanh") {
    // y = x/2 (1 + t), t = tanh(u), u = k (x + 0.044715 x^3).
    double k = std::sqrt(2 / M_PI);
    Value cube = b.mul(b.square(x), x);
    Value t = b.tanh(b.mul(b.add(x, b.mul(cube, 0.044715)), k));
    Value slope = b.mul(b.add(b.mul(b.square(x), 3 * 0.044715), 1.0), k);
    Value left = b.mul(b.add(t, 1.0), 0.5);
    Value right = b.mul(b.mul(x, 0.5), b.mul(b.rsub(b.square(t), 1), slope));
    return c.out(b.mul(grad, b.add(left, right)));
  }
  Value cdf = b.mul(
      b.add(b.call("aten.erf.default", {b.mul(x, std::sqrt(0.5))}), 1.0), 0.5);
  Value pdf = b.mul(b.exp(b.mul(b.square(x), -0.5)), 1 / std::sqrt(2 * M_PI));
  return c.out(b.mul(grad, b.add(cdf, b.mul(x, pdf))));
}

/// y (g - sum(g y)).
Values softmaxBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), y = c.in(call.value("output"));
  Value product = b.mul(grad, y);
  int64_t dim = call.dim("dim", tensorType(y).getRank());
  Value total = b.sum(product, {dim}, true);
  Value result = b.sub(product, b.mul(y, total));
  return SmallVector<Value>{
      b.cast(result, cast<RankedTensorType>(call.op->getResult(0).getType())
                         .getElementType())};
}

/// g - exp(y) sum(g).
Values logSoftmaxBackward(const Call &call, DecompositionBuilder &b) {
  Computed c(b, call.value("grad_output"));
  Value grad = c.in(call.value("grad_output")), y = c.in(call.value("output"));
  int64_t dim = call.dim("dim", tensorType(y).getRank());
  Value total = b.sum(grad, {dim}, true);
  Value result = b.sub(grad, b.mul(b.exp(y), total));
  return SmallVector<Value>{
      b.cast(result, cast<RankedTensorType>(call.op->getResult(0).getType())
                         .getElementType())};
}

/// With n = (x - mean) rstd and h = g w:
///   dx = rstd (h - mean(h) - n mean(h n)), dw = sum(g n), db = sum(g).
Values layerNormBackward(const Call &call, DecompositionBuilder &b) {
  Value gradOut = call.value("grad_out");
  Computed c(b, gradOut);
  Value x = c.in(call.value("input")), grad = c.in(gradOut);
  RankedTensorType type = tensorType(x);
  int64_t count = call.integers("normalized_shape").size();
  auto inner = llvm::to_vector(
      llvm::seq<int64_t>(type.getRank() - count, type.getRank()));
  auto outer = llvm::to_vector(llvm::seq<int64_t>(0, type.getRank() - count));
  Value rstd = c.in(call.value("rstd"));
  Value n = b.mul(b.sub(x, c.in(call.value("mean"))), rstd);
  Value weight = call.value("weight");
  Value h = weight ? b.mul(grad, c.in(weight)) : grad;
  Value dx = b.mul(rstd, b.sub(b.sub(h, b.mean(h, inner, true)),
                               b.mul(n, b.mean(b.mul(h, n), inner, true))));
  auto overRows = [&](Value v) {
    return outer.empty() ? v : b.sum(v, outer, false);
  };
  SmallVector<Value> results{b.cast(dx, c.element), Value(), Value()};
  if (!call.op->getResult(1).use_empty())
    results[1] = b.cast(overRows(b.mul(grad, n)), c.element);
  if (!call.op->getResult(2).use_empty())
    results[2] = b.cast(overRows(grad), c.element);
  return results;
}

/// Rows of the gradient added up by the index they were read at.
Values embeddingBackward(const Call &call, DecompositionBuilder &b) {
  Value grad = call.value("grad_output"), indices = call.value("indices");
  Computed c(b, grad);
  if (call.flag("scale_grad_by_freq"))
    return call.op->emitError(
        "unsupported: embedding gradient scaled by frequency");
  int64_t width = tensorType(grad).getShape().back();
  int64_t rows = tensorType(indices).getNumElements();
  Value flatGrad = b.view(c.in(grad), {rows, width});
  Value flatIndices = b.view(indices, {rows});
  Value padding =
      b.call("aten.eq.Scalar", {flatIndices, call.integer("padding_idx")});
  flatGrad = b.where(b.unsqueeze(padding, 1), b.scalar(0, c.compute), flatGrad);
  Value zeros = b.full({call.integer("num_weights"), width}, 0, c.compute);
  Value sum =
      b.call("aten.index_put.default",
             {zeros, aten::Arg(ArrayRef<Value>{flatIndices}), flatGrad, true});
  return c.out(sum);
}

Values mseLossBackward(const Call &call, DecompositionBuilder &b) {
  Value difference = b.sub(call.value("self"), call.value("target"));
  double scale = 2;
  if (call.integer("reduction") == 1)
    scale /= static_cast<double>(tensorType(difference).getNumElements());
  return SmallVector<Value>{
      b.mul(b.mul(difference, call.value("grad_output")), scale)};
}

} // namespace

void addBackwardDecompositions(DecompositionTable &table) {
  table["aten.sigmoid_backward.default"] = sigmoidBackward;
  table["aten.tanh_backward.default"] = tanhBackward;
  table["aten.silu_backward.default"] = siluBackward;
  table["aten.threshold_backward.default"] = thresholdBackward;
  table["aten.gelu_backward.default"] = geluBackward;
  table["aten._softmax_backward_data.default"] = softmaxBackward;
  table["aten._log_softmax_backward_data.default"] = logSoftmaxBackward;
  table["aten.native_layer_norm_backward.default"] = layerNormBackward;
  table["aten.embedding_dense_backward.default"] = embeddingBackward;
  table["aten.mse_loss_backward.default"] = mseLossBackward;
}

} // namespace gcompile
