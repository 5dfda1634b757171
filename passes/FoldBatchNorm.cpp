//===- FoldBatchNorm.cpp - fold inference batch norms into weights --------===//
// Works on the aten program, where the norm is one call. The new weight and
// bias are written in aten calls too, so that they mean what PyTorch means.
#include "FixedValues.h"
#include "gcompile/ir/AtenBuilder.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/Tg.h"
#include "gcompile/passes/Passes.h"

#include "llvm/ADT/StringSwitch.h"

namespace gcompile {
#define GEN_PASS_DEF_FOLDBATCHNORMPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;
using aten::Arg;
using aten::AtenBuilder;
using aten::Call;
using aten::CallOp;

namespace {

/// How an operator names what a batch norm can be folded into.
struct LinearLayer {
  StringRef input, weight, bias;
  int channelDim = 0; ///< of the weight
};

std::optional<LinearLayer> getLinearLayer(const Call &call) {
  LinearLayer conv{"input", "weight", "bias"};
  LinearLayer transposed{"input", "weight", "bias", 1};
  StringRef callee = call.schema->callee;
  if (callee == "aten.convolution.default" && call.flag("transposed"))
    return call.integer("groups") == 1 ? std::optional(transposed)
                                       : std::nullopt;
  if (callee.starts_with("aten.conv_transpose"))
    return call.integer("groups") == 1 ? std::optional(transposed)
                                       : std::nullopt;
  bool isConv = llvm::StringSwitch<bool>(callee)
                    .Cases("aten.convolution.default", "aten.conv1d.default",
                           "aten.conv2d.default", "aten.conv3d.default", true)
                    .Cases("aten.conv1d.padding", "aten.conv2d.padding",
                           "aten.conv3d.padding", true)
                    .Case("aten.linear.default", true)
                    .Default(false);
  if (isConv)
    return conv;
  // A linear layer with the product spelled out.
  if (callee == "aten.addmm.default" && call.number("beta") == 1 &&
      call.number("alpha") == 1 && call.tensorType("self").getRank() == 1)
    return LinearLayer{"mat1", "mat2", "self", 1};
  return std::nullopt;
}

/// The input of a batch norm with fixed statistics, or null.
Value getNormInput(const Call &call) {
  StringRef callee = call.schema->callee;
  bool isFixed = callee == "aten._native_batch_norm_legit_no_training.default";
  if (callee == "aten.batch_norm.default" ||
      callee == "aten.native_batch_norm.default")
    isFixed = !call.flag("training") && !call.isNone("running_mean") &&
              !call.isNone("running_var");
  // The saved statistics are for a backward pass.
  for (OpResult result : llvm::drop_begin(call.op->getResults()))
    isFixed &= result.use_empty();
  return isFixed ? call.value("input") : Value();
}

class FoldBatchNormPass
    : public impl::FoldBatchNormPassBase<FoldBatchNormPass> {
  void runOnOperation() override;

  bool isWeight(Value value) const;
  bool tryFold(const Call &norm, Value input);

  llvm::SmallPtrSet<Value, 32> weights;
};

/// A weight, or another view or type of one.
bool FoldBatchNormPass::isWeight(Value value) const {
  if (weights.contains(value))
    return true;
  auto op = value.getDefiningOp<CallOp>();
  if (!op || op.getInputs().empty())
    return false;
  bool isPure =
      Call(op).schema->isView() ||
      llvm::StringSwitch<bool>(op.getCallee())
          .Cases("aten._to_copy.default", "aten.clone.default",
                 "aten.mul.Tensor", "aten.add.Tensor", "aten.sub.Tensor",
                 "aten.add.Scalar", "aten.rsqrt.default", true)
          .Default(false);
  return isPure && llvm::all_of(op.getInputs(),
                                [&](Value input) { return isWeight(input); });
}

bool FoldBatchNormPass::tryFold(const Call &norm, Value input) {
  auto layerOp = input.getDefiningOp<CallOp>();
  if (!layerOp || !input.hasOneUse() ||
      input.getType() != norm.op->getResult(0).getType())
    return false;
  Call layer(layerOp);
  std::optional<LinearLayer> names = getLinearLayer(layer);
  if (!names)
    return false;
  for (StringRef name : {"weight", "bias", "running_mean", "running_var"})
    if (!norm.isNone(name) && !isWeight(norm.value(name)))
      return false;
  if (!isWeight(layer.value(names->weight)) ||
      (!layer.isNone(names->bias) && !isWeight(layer.value(names->bias))))
    return false;

  RankedTensorType weightType = layer.tensorType(names->weight);
  Type stored = weightType.getElementType();
  // A norm's channels are dimension 1, so the layer's must be.
  auto type = cast<RankedTensorType>(input.getType());
  if (type.getRank() != weightType.getRank() ||
      type.getDimSize(1) != weightType.getDimSize(names->channelDim))
    return false;

  OpBuilder builder(norm.op);
  Location loc = builder.getFusedLoc({layerOp.getLoc(), norm.op->getLoc()});
  AtenBuilder b(builder, loc);
  Type wide = stored.isF64() ? stored : builder.getF32Type();
  auto convert = [&](Value value, Type type) {
    return getElementTypeOrSelf(value) == type
               ? value
               : b.call("aten._to_copy.default", {value}, {{"dtype", type}});
  };
  auto normValue = [&](StringRef name) {
    return convert(norm.value(name), wide);
  };
  Value scale = b.call("aten.rsqrt.default",
                       {b.call("aten.add.Scalar", {normValue("running_var"),
                                                   norm.number("eps")})});
  if (!norm.isNone("weight"))
    scale = b.call("aten.mul.Tensor", {scale, normValue("weight")});
  // bias = (bias - mean) * scale + beta
  Value mean = normValue("running_mean"), bias;
  if (layer.isNone(names->bias)) {
    bias =
        b.call("aten.neg.default", {b.call("aten.mul.Tensor", {mean, scale})});
  } else {
    Value old = convert(layer.value(names->bias), wide);
    bias = b.call("aten.mul.Tensor",
                  {b.call("aten.sub.Tensor", {old, mean}), scale});
  }
  if (!norm.isNone("bias"))
    bias = b.call("aten.add.Tensor", {bias, normValue("bias")});
  SmallVector<int64_t> broadcast(weightType.getRank(), 1);
  broadcast[names->channelDim] = weightType.getDimSize(names->channelDim);
  Value weight = b.call("aten.mul.Tensor",
                        {convert(layer.value(names->weight), wide),
                         b.call("aten.view.default", {scale, broadcast})});

  SmallVector<Arg> args;
  for (const aten::SchemaArgument &argument : layer.schema->arguments) {
    if (argument.name == names->weight)
      args.push_back(convert(weight, stored));
    else if (argument.name == names->bias)
      args.push_back(convert(bias, stored));
    else if (Value value = layer.value(argument.name))
      args.push_back(value);
    else
      args.push_back(layer.literal(argument.name));
  }
  norm.op->getResult(0).replaceAllUsesWith(b.call(layerOp.getCallee(), args));
  norm.op->erase();
  layerOp->erase();
  return true;
}

void FoldBatchNormPass::runOnOperation() {
  weights.clear();
  for (BlockArgument weight : weightArguments(getOperation()))
    weights.insert(weight);
  SmallVector<CallOp> calls(getOperation().getBody().front().getOps<CallOp>());
  for (CallOp op : calls) {
    if (!op.getCallee().contains("batch_norm"))
      continue;
    Call norm(op);
    if (Value input = getNormInput(norm); input && tryFold(norm, input))
      count(&getContext(), "tg-fold-batch-norm.folded");
  }
}

} // namespace
} // namespace gcompile
