//===- AttentionLowering.cpp - fused attention operators ------------------===//
// PyTorch's variants differ in their outputs; they compute one thing.
#include "Lowering.h"

#include <cmath>

using namespace mlir;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

/// The log of the sums, for the shape that the variant records: some pad its
/// last dimension, some add one of size 1.
static Tensor asRecorded(const aten::Call &call, LoweringBuilder &b,
                         Tensor logsumexp, unsigned index) {
  Sizes shape = resultShape(call, index);
  Tensor x = b.narrow(logsumexp, resultElement(call, index));
  if (x.numElements() == ShapedType::getNumElements(shape))
    return b.reshape(x, shape);
  SizeVector before(x.rank(), 0), after(x.rank(), 0);
  after.back() = shape.back() - x.shape().back();
  return b.pad(x, before, after, 0);
}

static Lowered lowerAttention(const aten::Call &call, LoweringBuilder &b,
                              StringRef maskArgument) {
  if (call.number("dropout_p") != 0)
    return unsupported(call) << "with dropout inside attention";
  Tensor query = b.tensor(call.value("query"));
  Tensor key = b.tensor(call.value("key"));
  Tensor value = b.tensor(call.value("value"));
  Value mask;
  if (call.schema->find(maskArgument) >= 0 && !call.isNone(maskArgument)) {
    SizeVector scores(query.shape().drop_back());
    scores.push_back(key.shape()[key.rank() - 2]);
    mask = b.expand(b.tensor(call.value(maskArgument)), scores).value;
  }
  double scale = call.maybeNumber("scale").value_or(
      1 / std::sqrt(double(query.shape().back())));

  SmallVector<Type> types{b.type(resultShape(call), query.element)};
  Type sums = computeType(query.element);
  bool hasLogSumExp = isUsed(call, 1);
  if (hasLogSumExp)
    types.push_back(b.type(query.shape().drop_back(), sums));
  auto op = b.builder.create<tg::AttentionOp>(
      b.loc, types, query.value, key.value, value.value, mask,
      b.builder.getF64FloatAttr(scale),
      b.builder.getBoolAttr(call.flag("is_causal")));

  SmallVector<Tensor> results(call.op->getNumResults());
  results[0] = b.wrap(op.getResult(), query.element);
  if (hasLogSumExp)
    results[1] = asRecorded(call, b, b.wrap(op.getLogsumexp(), sums), 1);
  // The rest is the state of dropout, and sizes.
  for (unsigned i = 2; i < results.size(); ++i)
    if (isUsed(call, i))
      results[i] = b.full(resultShape(call, i), resultElement(call, i), 0);
  return results;
}

void addAttentionLowerings(Registry &registry) {
  auto add = [&](StringRef name, StringRef maskArgument) {
    registry[name] = [maskArgument](const aten::Call &call,
                                    LoweringBuilder &b) {
      return lowerAttention(call, b, maskArgument);
    };
  };
  add("aten._scaled_dot_product_efficient_attention.default", "attn_bias");
  add("aten._scaled_dot_product_cudnn_attention.default", "attn_bias");
  add("aten._scaled_dot_product_flash_attention.default", "");
  add("aten._scaled_dot_product_flash_attention_for_cpu.default", "attn_mask");
}

} // namespace gcompile::legalize
