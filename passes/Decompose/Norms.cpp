//===- Norms.cpp - layer, batch, group and RMS norms ----------------------===//
// All are computed in float32 where the input is half precision, as PyTorch
// does, with the variance as the mean of squared distances from the mean.
#include "Decompose.h"

#include <cfloat>

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

SmallVector<int64_t> lastDims(int64_t rank, int64_t count) {
  return llvm::to_vector(llvm::seq<int64_t>(rank - count, rank));
}

Type resultElement(const Call &call, unsigned index) {
  return cast<RankedTensorType>(call.op->getResult(index).getType())
      .getElementType();
}

struct Normalized {
  Value output, mean, rstd;
};

/// (x - mean) * rstd over `dims`, in the compute type, sizes of 1 kept.
Normalized normalize(DecompositionBuilder &b, Value x, ArrayRef<int64_t> dims,
                     double eps) {
  Value mean = b.mean(x, dims, true);
  Value centered = b.sub(x, mean);
  Value variance = b.mean(b.square(centered), dims, true);
  Value rstd = b.rsqrt(b.add(variance, eps));
  return {b.mul(centered, rstd), mean, rstd};
}

/// y * weight + bias, either of which may be null; broadcasts on the right.
Value affine(DecompositionBuilder &b, Value y, Value weight, Value bias) {
  Type compute = tensorType(y).getElementType();
  if (weight)
    y = b.mul(y, b.cast(weight, compute));
  if (bias)
    y = b.add(y, b.cast(bias, compute));
  return y;
}

Normalized layerNorm(const Call &call, DecompositionBuilder &b) {
  Value input = call.value("input");
  RankedTensorType type = tensorType(input);
  Value x = b.cast(input, computeType(type.getElementType()));
  auto dims =
      lastDims(type.getRank(), call.integers("normalized_shape").size());
  Normalized n = normalize(b, x, dims, call.number("eps"));
  n.output =
      b.cast(affine(b, n.output, call.value("weight"), call.value("bias")),
             type.getElementType());
  return n;
}

Values decomposeLayerNorm(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{layerNorm(call, b).output};
}

Values decomposeNativeLayerNorm(const Call &call, DecompositionBuilder &b) {
  Normalized n = layerNorm(call, b);
  return SmallVector<Value>{n.output, b.cast(n.mean, resultElement(call, 1)),
                            b.cast(n.rstd, resultElement(call, 2))};
}

std::pair<Value, Value> rmsNorm(const Call &call, DecompositionBuilder &b) {
  Value input = call.value("input");
  RankedTensorType type = tensorType(input);
  Type compute = computeType(type.getElementType());
  Value x = b.cast(input, compute);
  auto dims =
      lastDims(type.getRank(), call.integers("normalized_shape").size());
  double eps = call.maybeNumber("eps").value_or(compute.isF64() ? DBL_EPSILON
                                                                : FLT_EPSILON);
  Value rstd = b.rsqrt(b.add(b.mean(b.square(x), dims, true), eps));
  Value y = affine(b, b.mul(x, rstd), call.value("weight"), Value());
  return {b.cast(y, type.getElementType()), rstd};
}

Values decomposeRmsNorm(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{rmsNorm(call, b).first};
}

Values decomposeFusedRmsNorm(const Call &call, DecompositionBuilder &b) {
  auto [output, rstd] = rmsNorm(call, b);
  return SmallVector<Value>{output, b.cast(rstd, resultElement(call, 1))};
}

/// A vector over channels as [C, 1, 1, ...], to broadcast against N x C x ....
Value overChannels(DecompositionBuilder &b, Value vector, int64_t rank) {
  if (!vector)
    return vector;
  SmallVector<int64_t> sizes(std::max<int64_t>(rank - 1, 1), 1);
  sizes[0] = tensorType(vector).getDimSize(0);
  return b.view(vector, sizes);
}

SmallVector<int64_t> allButChannels(int64_t rank) {
  SmallVector<int64_t> dims{0};
  for (int64_t d = 2; d < rank; ++d)
    dims.push_back(d);
  return dims;
}

/// (x - running_mean) * (weight / sqrt(running_var + eps)) + bias, and the
/// statistics of that: running_mean and 1 / sqrt(running_var + eps).
SmallVector<Value> inferenceBatchNorm(const Call &call,
                                      DecompositionBuilder &b) {
  Value input = call.value("input");
  RankedTensorType type = tensorType(input);
  Type compute = computeType(type.getElementType());
  auto channels = [&](Value v) {
    return v ? overChannels(b, b.cast(v, compute), type.getRank()) : v;
  };
  Value mean = b.cast(call.value("running_mean"), compute);
  Value rstd = b.rsqrt(
      b.add(b.cast(call.value("running_var"), compute), call.number("eps")));
  Value scale = rstd;
  if (Value weight = call.value("weight"))
    scale = b.mul(scale, b.cast(weight, compute));
  Value y =
      b.mul(b.sub(b.cast(input, compute), channels(mean)), channels(scale));
  if (Value bias = call.value("bias"))
    y = b.add(y, channels(bias));
  return {b.cast(y, type.getElementType()), mean, rstd};
}

struct TrainingBatchNorm {
  Value output, mean, rstd, newMean, newVar;
};

/// Statistics over the batch; `newMean` and `newVar` are null without running
/// statistics.
TrainingBatchNorm trainingBatchNorm(const Call &call, DecompositionBuilder &b,
                                    Value runningMean, Value runningVar) {
  Value input = call.value("input");
  RankedTensorType type = tensorType(input);
  Type compute = computeType(type.getElementType());
  Value x = b.cast(input, compute);
  auto dims = allButChannels(type.getRank());
  int64_t channels = type.getDimSize(1);
  int64_t count = type.getNumElements() / std::max<int64_t>(channels, 1);

  Value mean = b.mean(x, dims, true);
  Value centered = b.sub(x, mean);
  Value variance = b.mean(b.square(centered), dims, true);
  Value rstd = b.rsqrt(b.add(variance, call.number("eps")));
  auto channelVector = [&](Value v) {
    return v ? overChannels(b, v, type.getRank()) : v;
  };
  Value y =
      affine(b, b.mul(centered, rstd), channelVector(call.value("weight")),
             channelVector(call.value("bias")));
  TrainingBatchNorm result{b.cast(y, type.getElementType()),
                           b.view(mean, {channels}), b.view(rstd, {channels}),
                           Value(), Value()};
  double momentum = call.number("momentum");
  // running = (1 - momentum) * running + momentum * batch, with the unbiased
  // variance.
  auto update = [&](Value running, Value batch) {
    return b.add(b.mul(b.cast(running, compute), 1 - momentum),
                 b.mul(b.view(batch, {channels}), momentum));
  };
  if (runningMean)
    result.newMean = update(runningMean, mean);
  if (runningVar)
    result.newVar =
        update(runningVar, b.mul(variance, static_cast<double>(count) /
                                               static_cast<double>(count - 1)));
  return result;
}

Values decomposeBatchNorm(const Call &call, DecompositionBuilder &b) {
  if (!call.flag("training"))
    return SmallVector<Value>{inferenceBatchNorm(call, b).front()};
  if (call.value("running_mean"))
    return call.op->emitError("updates its running statistics: run "
                              "tg-functionalize first");
  return SmallVector<Value>{
      trainingBatchNorm(call, b, Value(), Value()).output};
}

/// Training without running statistics, or inference.
Values decomposeNativeBatchNorm(const Call &call, DecompositionBuilder &b) {
  if (!call.flag("training"))
    return inferenceBatchNorm(call, b);
  TrainingBatchNorm n = trainingBatchNorm(call, b, Value(), Value());
  return SmallVector<Value>{n.output, n.mean, n.rstd};
}

Values decomposeInferenceBatchNorm(const Call &call, DecompositionBuilder &b) {
  return inferenceBatchNorm(call, b);
}

Values decomposeFunctionalBatchNorm(const Call &call, DecompositionBuilder &b) {
  if (!call.flag("training")) {
    SmallVector<Value> values = inferenceBatchNorm(call, b);
    values.append({call.value("running_mean"), call.value("running_var")});
    return values;
  }
  TrainingBatchNorm n = trainingBatchNorm(call, b, call.value("running_mean"),
                                          call.value("running_var"));
  return SmallVector<Value>{n.output, n.mean, n.rstd,
                            b.cast(n.newMean, resultElement(call, 3)),
                            b.cast(n.newVar, resultElement(call, 4))};
}

Values decomposeBatchNormWithUpdate(const Call &call, DecompositionBuilder &b) {
  // Training, with a reserve tensor of cuDNN's that nothing here reads.
  TrainingBatchNorm n = trainingBatchNorm(call, b, call.value("running_mean"),
                                          call.value("running_var"));
  Value reserve =
      b.call("aten.empty.memory_format", {aten::Arg(ArrayRef<int64_t>{0})},
             {{"dtype", resultElement(call, 3)}});
  return SmallVector<Value>{n.output,
                            n.mean,
                            n.rstd,
                            reserve,
                            b.cast(n.newMean, resultElement(call, 4)),
                            b.cast(n.newVar, resultElement(call, 5))};
}

/// Normalises N x C x ... over groups of channels; weight and bias a channel.
Normalized groupNorm(DecompositionBuilder &b, Value input, Value weight,
                     Value bias, int64_t groups, double eps) {
  RankedTensorType type = tensorType(input);
  int64_t batch = type.getDimSize(0);
  int64_t perGroup =
      type.getNumElements() / std::max<int64_t>(batch * groups, 1);
  Value x = b.view(b.cast(input, computeType(type.getElementType())),
                   {batch, groups, perGroup});
  Normalized n = normalize(b, x, {2}, eps);
  auto channelVector = [&](Value v) {
    return v ? overChannels(b, v, type.getRank()) : v;
  };
  n.output = b.cast(affine(b, b.view(n.output, type.getShape()),
                           channelVector(weight), channelVector(bias)),
                    type.getElementType());
  n.mean = b.view(n.mean, {batch, groups});
  n.rstd = b.view(n.rstd, {batch, groups});
  return n;
}

Values decomposeGroupNorm(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{groupNorm(b, call.value("input"),
                                      call.value("weight"), call.value("bias"),
                                      call.integer("num_groups"),
                                      call.number("eps"))
                                .output};
}

Values decomposeNativeGroupNorm(const Call &call, DecompositionBuilder &b) {
  Normalized n =
      groupNorm(b, call.value("input"), call.value("weight"),
                call.value("bias"), call.integer("group"), call.number("eps"));
  return SmallVector<Value>{n.output, b.cast(n.mean, resultElement(call, 1)),
                            b.cast(n.rstd, resultElement(call, 2))};
}

Values decomposeInstanceNorm(const Call &call, DecompositionBuilder &b) {
  if (call.value("running_mean"))
    return call.op->emitError(
        "unsupported: instance norm with running statistics");
  int64_t channels = tensorType(call.value("input")).getDimSize(1);
  return SmallVector<Value>{groupNorm(b, call.value("input"),
                                      call.value("weight"), call.value("bias"),
                                      channels, call.number("eps"))
                                .output};
}

} // namespace

void addNormDecompositions(DecompositionTable &table) {
  table["aten.layer_norm.default"] = decomposeLayerNorm;
  table["aten.native_layer_norm.default"] = decomposeNativeLayerNorm;
  table["aten.rms_norm.default"] = decomposeRmsNorm;
  table["aten._fused_rms_norm.default"] = decomposeFusedRmsNorm;
  table["aten.batch_norm.default"] = decomposeBatchNorm;
  table["aten._native_batch_norm_legit_no_training.default"] =
      decomposeInferenceBatchNorm;
  table["aten._native_batch_norm_legit_functional.default"] =
      decomposeFunctionalBatchNorm;
  table["aten._batch_norm_with_update_functional.default"] =
      decomposeBatchNormWithUpdate;
  table["aten._native_batch_norm_legit.no_stats"] = decomposeNativeBatchNorm;
  table["aten.native_batch_norm.default"] = decomposeNativeBatchNorm;
  table["aten.group_norm.default"] = decomposeGroupNorm;
  table["aten.native_group_norm.default"] = decomposeNativeGroupNorm;
  table["aten.instance_norm.default"] = decomposeInstanceNorm;
}

} // namespace gcompile
