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

/// The attention itself and, where they are asked for, the logs of its sums.
static std::pair<Tensor, Tensor> attend(LoweringBuilder &b, Tensor query,
                                        Tensor key, Tensor value, Tensor mask,
                                        std::optional<double> scale,
                                        bool isCausal, bool hasSums) {
  SizeVector shape(query.shape());
  if (mask) {
    shape.back() = key.shape()[key.rank() - 2];
    mask = b.expand(mask, shape);
  }
  shape.back() = value.shape().back();
  SmallVector<Type> types{b.type(shape, query.element)};
  Type sums = computeType(query.element);
  if (hasSums)
    types.push_back(b.type(query.shape().drop_back(), sums));
  auto op = b.builder.create<tg::AttentionOp>(
      b.loc, types, query.value, key.value, value.value, mask.value,
      b.builder.getF64FloatAttr(
          scale.value_or(1 / std::sqrt(double(query.shape().back())))),
      b.builder.getBoolAttr(isCausal));
  return {b.wrap(op.getResult(), query.element),
          hasSums ? b.wrap(op.getLogsumexp(), sums) : Tensor()};
}

/// All results of a call: after the attention and its sums come the state of
/// dropout, and sizes.
static Lowered withState(const aten::Call &call, LoweringBuilder &b,
                         Tensor result, Tensor sums) {
  SmallVector<Tensor> results(call.op->getNumResults());
  results[0] = result;
  if (sums)
    results[1] = asRecorded(call, b, sums, 1);
  for (unsigned i = 2; i < results.size(); ++i)
    if (isUsed(call, i))
      results[i] = b.full(resultShape(call, i), resultElement(call, i), 0);
  return results;
}

static Lowered lowerAttention(const aten::Call &call, LoweringBuilder &b,
                              StringRef maskArgument) {
  if (call.number("dropout_p") != 0)
    return unsupported(call) << "with dropout inside attention";
  Tensor mask;
  if (call.schema->find(maskArgument) >= 0)
    mask = b.tensor(call.value(maskArgument));
  auto [result, sums] =
      attend(b, b.tensor(call.value("query")), b.tensor(call.value("key")),
             b.tensor(call.value("value")), mask, call.maybeNumber("scale"),
             call.flag("is_causal"), isUsed(call, 1));
  return withState(call, b, result, sums);
}

/// The variant below the efficient one: heads behind positions, and sequences
/// of several lengths in one batch, which are not supported.
static Lowered lowerEfficientForward(const aten::Call &call,
                                     LoweringBuilder &b) {
  if (call.number("dropout_p") != 0)
    return unsupported(call) << "with dropout inside attention";
  if (!call.isNone("cu_seqlens_q") || !call.isNone("seqlen_k") ||
      !call.isNone("window_size"))
    return unsupported(call) << "with sequences of several lengths";
  auto headsFirst = [&](Tensor x) { return b.transpose(x, 1, 2); };
  Tensor query = headsFirst(b.tensor(call.value("query")));
  Tensor key = headsFirst(b.tensor(call.value("key")));
  enum MaskType { None, CausalFromTopLeft, CausalFromBottomRight };
  int64_t maskType = call.integer("custom_mask_type");
  if (maskType == CausalFromBottomRight && query.shape()[2] != key.shape()[2])
    return unsupported(call) << "with a causal mask from the bottom right";
  auto [result, sums] =
      attend(b, query, key, headsFirst(b.tensor(call.value("value"))),
             b.tensor(call.value("bias")), call.maybeNumber("scale"),
             maskType != None, isUsed(call, 1));
  return withState(call, b, headsFirst(result), sums);
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
  registry["aten._efficient_attention_forward.default"] = lowerEfficientForward;
}

} // namespace gcompile::legalize
