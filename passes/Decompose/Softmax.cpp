//===- Softmax.cpp - softmax, log-softmax and the losses made of them -----===//
#include "Decompose.h"

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

struct SoftmaxParts {
  Value shifted, exponentials, sum; ///< sum keeps the dimension
};

/// exp(x - max), and its sum, along `dim`. Computed in `compute`.
SoftmaxParts softmaxParts(DecompositionBuilder &b, Value x, int64_t dim) {
  RankedTensorType type = tensorType(x);
  if (type.getRank() == 0) {
    // One element: softmax along dimension 0 of a 0-dimensional tensor.
    Value zero = b.sub(x, x);
    Value one = b.exp(zero);
    return {zero, one, one};
  }
  Value shifted =
      type.getNumElements() == 0 ? x : b.sub(x, b.amax(x, {dim}, true));
  Value exponentials = b.exp(shifted);
  return {shifted, exponentials, b.sum(exponentials, {dim}, true)};
}

Value softmax(DecompositionBuilder &b, Value x, int64_t dim, Type result) {
  Type compute = computeType(result);
  SoftmaxParts parts = softmaxParts(b, b.cast(x, compute), dim);
  return b.cast(b.div(parts.exponentials, parts.sum), result);
}

Value logSoftmax(DecompositionBuilder &b, Value x, int64_t dim, Type result) {
  Type compute = computeType(result);
  SoftmaxParts parts = softmaxParts(b, b.cast(x, compute), dim);
  return b.cast(b.sub(parts.shifted, b.log(parts.sum)), result);
}

Type resultElement(const Call &call) {
  return cast<RankedTensorType>(call.op->getResult(0).getType())
      .getElementType();
}

/// Serves softmax.int (dim, dtype) and _softmax (dim, half_to_float): both say
/// the dtype of the result in their type.
Values decomposeSoftmax(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  return SmallVector<Value>{softmax(
      b, x, call.dim("dim", tensorType(x).getRank()), resultElement(call))};
}

Values decomposeLogSoftmax(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  return SmallVector<Value>{logSoftmax(
      b, x, call.dim("dim", tensorType(x).getRank()), resultElement(call))};
}

/// A softmax that gives zeros where every score is -inf.
Values decomposeSafeSoftmax(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  Type result = resultElement(call);
  int64_t dim = call.dim("dim", tensorType(x).getRank());
  Value soft = softmax(b, x, dim, result);
  Value isMasked =
      b.call("aten.eq.Scalar", {b.amax(x, {dim}, true),
                                -std::numeric_limits<double>::infinity()});
  return SmallVector<Value>{b.where(isMasked, b.scalar(0, result), soft)};
}

/// reduction: 0 none, 1 mean, 2 sum.
Value reduceLoss(DecompositionBuilder &b, Value loss, int64_t reduction) {
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(0, tensorType(loss).getRank()));
  if (reduction == 0)
    return loss;
  return reduction == 1 ? b.mean(loss, dims, false) : b.sum(loss, dims, false);
}

Values decomposeMseLoss(const Call &call, DecompositionBuilder &b) {
  Value difference = b.sub(call.value("self"), call.value("target"));
  return SmallVector<Value>{
      reduceLoss(b, b.square(difference), call.integer("reduction"))};
}

struct NllLoss {
  Value loss, totalWeight;
};

/// Negative log-likelihood of classes along dimension 1 (0 without a batch).
NllLoss nllLoss(DecompositionBuilder &b, Value logProbabilities, Value target,
                Value weight, int64_t reduction, int64_t ignoreIndex) {
  RankedTensorType type = tensorType(logProbabilities);
  Type element = type.getElementType();
  int64_t dim = type.getRank() == 1 ? 0 : 1;
  Value counts = b.call("aten.ne.Scalar", {target, ignoreIndex});
  Value zeroIndex = b.scalar(0, tensorType(target).getElementType());
  Value index = b.where(counts, target, zeroIndex);
  auto gathered = [&](Value source) {
    Value indices = b.unsqueeze(index, dim);
    Value picked = b.call("aten.gather.default", {source, dim, indices});
    return b.view(picked, tensorType(target).getShape());
  };
  Value loss = b.neg(gathered(logProbabilities));
  Value weights;
  if (weight) {
    SmallVector<int64_t> sizes(type.getRank(), 1);
    sizes[dim] = type.getDimSize(dim);
    SmallVector<int64_t> full(type.getShape());
    weights = gathered(b.expand(b.view(weight, sizes), full));
    loss = b.mul(loss, weights);
  } else {
    weights = b.full(tensorType(target).getShape(), 1, element);
  }
  Value zero = b.scalar(0, element);
  loss = b.where(counts, loss, zero);
  auto dims =
      llvm::to_vector(llvm::seq<int64_t>(0, tensorType(target).getRank()));
  Value total = b.sum(b.where(counts, weights, zero), dims, false);
  if (reduction == 0)
    return {loss, b.scalar(0, element)};
  Value sum = b.sum(loss, dims, false);
  return {reduction == 1 ? b.div(sum, total) : sum, total};
}

Values decomposeNllLoss(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{
      nllLoss(b, call.value("self"), call.value("target"), call.value("weight"),
              call.integer("reduction"), call.integer("ignore_index"))
          .loss};
}

Values decomposeNllLossForward(const Call &call, DecompositionBuilder &b) {
  NllLoss n =
      nllLoss(b, call.value("self"), call.value("target"), call.value("weight"),
              call.integer("reduction"), call.integer("ignore_index"));
  return SmallVector<Value>{n.loss, n.totalWeight};
}

Values decomposeCrossEntropy(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self"), target = call.value("target");
  RankedTensorType type = tensorType(x);
  if (call.number("label_smoothing") != 0 ||
      isa<FloatType>(tensorType(target).getElementType()))
    return call.op->emitError("unsupported: cross entropy with label smoothing "
                              "or class probabilities as targets");
  Value logProbabilities =
      logSoftmax(b, x, type.getRank() == 1 ? 0 : 1, type.getElementType());
  return SmallVector<Value>{
      nllLoss(b, logProbabilities, target, call.value("weight"),
              call.integer("reduction"), call.integer("ignore_index"))
          .loss};
}

} // namespace

void addSoftmaxDecompositions(DecompositionTable &table) {
  table["aten.softmax.int"] = decomposeSoftmax;
  table["aten._softmax.default"] = decomposeSoftmax;
  table["aten.log_softmax.int"] = decomposeLogSoftmax;
  table["aten._log_softmax.default"] = decomposeLogSoftmax;
  table["aten._safe_softmax.default"] = decomposeSafeSoftmax;
  table["aten.mse_loss.default"] = decomposeMseLoss;
  table["aten.nll_loss_nd.default"] = decomposeNllLoss;
  table["aten.nll_loss.default"] = decomposeNllLoss;
  table["aten.nll_loss_forward.default"] = decomposeNllLossForward;
  table["aten.nll_loss2d_forward.default"] = decomposeNllLossForward;
  table["aten.cross_entropy_loss.default"] = decomposeCrossEntropy;
}

} // namespace gcompile
