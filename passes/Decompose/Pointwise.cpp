//===- Pointwise.cpp - activations and other elementwise composites -------===//
// Computed in float32 where the input is half precision, and rounded once.
#include "Decompose.h"

#include <limits>

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

/// y(x) of one tensor argument.
template <Value (*Formula)(const Call &, DecompositionBuilder &, Value)>
Values activation(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  Type element = tensorType(x).getElementType();
  Value y = Formula(call, b, b.cast(x, computeType(element)));
  return SmallVector<Value>{b.cast(y, element)};
}

Value silu(const Call &, DecompositionBuilder &b, Value x) {
  return b.mul(x, b.sigmoid(x));
}

Value clamp(DecompositionBuilder &b, Value x, double low, double high) {
  return b.call("aten.clamp.default", {x, low, high});
}

Value relu6(const Call &, DecompositionBuilder &b, Value x) {
  return clamp(b, x, 0, 6);
}

Value hardSigmoid(const Call &, DecompositionBuilder &b, Value x) {
  return b.div(clamp(b, b.add(x, 3.0), 0, 6), 6.0);
}

Value hardSwish(const Call &call, DecompositionBuilder &b, Value x) {
  return b.mul(x, hardSigmoid(call, b, x));
}

/// log(1 + exp(x)), as max(x, 0) + log1p(exp(-|x|)): exact at both ends.
Value logOnePlusExp(DecompositionBuilder &b, Value x) {
  Value magnitude = b.call("aten.abs.default", {x});
  return b.add(b.relu(x),
               b.call("aten.log1p.default", {b.exp(b.neg(magnitude))}));
}

Value softplus(const Call &call, DecompositionBuilder &b, Value x) {
  double beta = call.number("beta");
  Value scaled = b.mul(x, beta);
  Value isLinear = b.call("aten.gt.Scalar", {scaled, call.number("threshold")});
  return b.where(isLinear, x, b.div(logOnePlusExp(b, scaled), beta));
}

Value mish(const Call &, DecompositionBuilder &b, Value x) {
  return b.mul(x, b.tanh(logOnePlusExp(b, x)));
}

Value logSigmoid(const Call &, DecompositionBuilder &b, Value x) {
  return b.neg(logOnePlusExp(b, b.neg(x)));
}

Value square(const Call &, DecompositionBuilder &b, Value x) {
  return b.square(x);
}

/// The first half of a dimension times the sigmoid of the second.
Values decomposeGlu(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  RankedTensorType type = tensorType(x);
  int64_t dim = call.dim("dim", type.getRank());
  int64_t half = type.getDimSize(dim) / 2;
  return SmallVector<Value>{b.mul(b.slice(x, dim, 0, half),
                                  b.sigmoid(b.slice(x, dim, half, 2 * half)))};
}

Values decomposePrelu(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self"), weight = call.value("weight");
  RankedTensorType type = tensorType(x);
  if (type.getRank() > 1) {
    SmallVector<int64_t> sizes(type.getRank() - 1, 1);
    sizes[0] = tensorType(weight).getNumElements();
    weight = b.view(weight, sizes);
  }
  Value isPositive = b.call("aten.gt.Scalar", {x, 0});
  return SmallVector<Value>{b.where(isPositive, x, b.mul(x, weight))};
}

/// self + value * (tensor1 op tensor2).
template <Value (DecompositionBuilder::*Op)(Value, Value)>
Values decomposeAddc(const Call &call, DecompositionBuilder &b) {
  Value product = (b.*Op)(call.value("tensor1"), call.value("tensor2"));
  double scale = call.number("value");
  return SmallVector<Value>{
      b.add(call.value("self"), scale == 1 ? product : b.mul(product, scale))};
}

/// start + weight (end - start), from the nearer end (as PyTorch does, so that
/// weight = 1 gives `end` exactly).
Values decomposeLerp(const Call &call, DecompositionBuilder &b) {
  Value start = call.value("self"), end = call.value("end");
  Value difference = b.sub(end, start);
  if (Value weight = call.value("weight")) {
    Value magnitude = b.call("aten.abs.default", {weight});
    Value isNear = b.call("aten.lt.Scalar", {magnitude, 0.5});
    return SmallVector<Value>{
        b.where(isNear, b.add(start, b.mul(weight, difference)),
                b.sub(end, b.mul(b.rsub(weight, 1), difference)))};
  }
  double weight = call.number("weight");
  return SmallVector<Value>{weight < 0.5 && weight > -0.5
                                ? b.add(start, b.mul(difference, weight))
                                : b.sub(end, b.mul(difference, 1 - weight))};
}

Values decomposeMinOther(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{b.call("aten.minimum.default",
                                   {call.value("self"), call.value("other")})};
}

Values decomposeMaxOther(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{b.call("aten.maximum.default",
                                   {call.value("self"), call.value("other")})};
}

Values decomposeMaskedFill(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self"), mask = call.value("mask");
  Type element = tensorType(x).getElementType();
  Value value = call.value("value");
  value = value ? b.cast(value, element)
                : b.call("aten.full.default",
                         {ArrayRef<int64_t>{}, call.literal("value")},
                         {{"dtype", element}});
  return SmallVector<Value>{b.where(mask, value, x)};
}

/// Python's operators on tensors.
Values decomposeOperator(const Call &call, DecompositionBuilder &b) {
  // aten.__and__.Tensor is aten.bitwise_and.Tensor.
  StringRef name = call.schema->callee;
  name.consume_front("aten.__");
  std::string callee =
      "aten.bitwise_" + name.split("__").first.str() + ".Tensor";
  return SmallVector<Value>{
      b.call(callee, {call.value("self"), call.value("other")})};
}

/// Dropout that is off, or lets nothing through.
Values decomposeDropout(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("input");
  double p = call.number("p");
  if (!call.flag("train") || p == 0)
    return SmallVector<Value>{x};
  return SmallVector<Value>{
      b.callMulti("aten.native_dropout.default", {x, p, true})[0]};
}

/// (x * mask / (1 - p), mask).
Values decomposeNativeDropout(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("input");
  RankedTensorType type = tensorType(x);
  double p = call.number("p");
  Type mask = IntegerType::get(b.builder.getContext(), 1);
  bool isOff = call.literal("train") == b.builder.getBoolAttr(false);
  if (isOff || p == 0)
    return SmallVector<Value>{x, b.full(type.getShape(), 1, mask)};
  if (p == 1)
    return SmallVector<Value>{b.mul(x, 0.0), b.full(type.getShape(), 0, mask)};
  Value uniform = b.call("aten.rand.default", {type.getShape()},
                         {{"dtype", Float32Type::get(b.builder.getContext())}});
  Value keep = b.call("aten.ge.Scalar", {uniform, p});
  Value kept =
      b.mul(b.mul(x, b.cast(keep, type.getElementType())), 1 / (1 - p));
  return SmallVector<Value>{kept, keep};
}

Values decomposeIdentity(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{call.value("self")};
}

} // namespace

void addPointwiseDecompositions(DecompositionTable &table) {
  table["aten.silu.default"] = activation<silu>;
  table["aten.relu6.default"] = activation<relu6>;
  table["aten.hardsigmoid.default"] = activation<hardSigmoid>;
  table["aten.hardswish.default"] = activation<hardSwish>;
  table["aten.softplus.default"] = activation<softplus>;
  table["aten.mish.default"] = activation<mish>;
  table["aten.log_sigmoid.default"] = activation<logSigmoid>;
  table["aten.square.default"] = activation<square>;
  table["aten.glu.default"] = decomposeGlu;
  table["aten.prelu.default"] = decomposePrelu;
  table["aten._prelu_kernel.default"] = decomposePrelu;
  table["aten.addcmul.default"] = decomposeAddc<&DecompositionBuilder::mul>;
  table["aten.addcdiv.default"] = decomposeAddc<&DecompositionBuilder::div>;
  table["aten.lerp.Scalar"] = decomposeLerp;
  table["aten.lerp.Tensor"] = decomposeLerp;
  table["aten.min.other"] = decomposeMinOther;
  table["aten.max.other"] = decomposeMaxOther;
  table["aten.masked_fill.Scalar"] = decomposeMaskedFill;
  table["aten.masked_fill.Tensor"] = decomposeMaskedFill;
  for (const char *name :
       {"aten.__and__.Tensor", "aten.__or__.Tensor", "aten.__xor__.Tensor"})
    table[name] = decomposeOperator;
  table["aten.dropout.default"] = decomposeDropout;
  table["aten.feature_dropout.default"] = decomposeDropout;
  table["aten.native_dropout.default"] = decomposeNativeDropout;
  for (const char *name :
       {"aten.clone.default", "aten.alias.default", "aten.detach.default",
        "aten.lift_fresh_copy.default"})
    table[name] = decomposeIdentity;
}

} // namespace gcompile
