//===- Shapes.cpp - reshaping, padding and pooling composites -------------===//
#include "Decompose.h"

using namespace mlir;

namespace gcompile {
namespace {

using aten::Call;
using Values = FailureOr<SmallVector<Value>>;

RankedTensorType resultType(const Call &call, unsigned index = 0) {
  return cast<RankedTensorType>(call.op->getResult(index).getType());
}

/// Any operator that only changes the shape, row-major order kept.
Values decomposeReshape(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{
      b.view(call.value("self"), resultType(call).getShape())};
}

/// Any operator that only changes the dtype (or the device or the layout).
Values decomposeCast(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{
      b.cast(call.op->getOperand(0), resultType(call).getElementType())};
}

/// Pieces along a dimension, as long as the results say.
Values decomposeSplit(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  int64_t dim = call.dim("dim", tensorType(x).getRank());
  SmallVector<Value> parts;
  int64_t start = 0;
  for (unsigned i = 0; i < call.op->getNumResults(); ++i) {
    int64_t size = resultType(call, i).getDimSize(dim);
    parts.push_back(b.slice(x, dim, start, start + size));
    start += size;
  }
  return parts;
}

/// Each element `repeats` times, next to one another.
Values decomposeRepeatInterleave(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  int64_t repeats = call.integer("repeats");
  if (call.isNone("dim"))
    x = b.view(x, {tensorType(x).getNumElements()});
  RankedTensorType type = tensorType(x);
  int64_t dim = call.isNone("dim") ? 0 : call.dim("dim", type.getRank());
  SmallVector<int64_t> expanded(type.getShape()), sizes(type.getShape());
  expanded.insert(expanded.begin() + dim + 1, repeats);
  sizes[dim] *= repeats;
  return SmallVector<Value>{
      b.view(b.expand(b.unsqueeze(x, dim + 1), expanded), sizes)};
}

/// Index along a padded dimension, for modes that read the input again.
Value paddedIndex(DecompositionBuilder &b, StringRef mode, int64_t size,
                  int64_t before, int64_t after) {
  Value index = b.call("aten.arange.start", {-before, size + after});
  if (mode == "circular")
    return b.call("aten.remainder.Scalar", {index, size});
  Value clamped = b.call("aten.clamp.default", {index, 0, size - 1});
  if (mode == "replicate")
    return clamped;
  // Reflected at both ends, the end elements not repeated:
  // i -> (size - 1) - | |i| - (size - 1) |.
  Value fromEnd =
      b.sub(b.call("aten.abs.default", {index}), static_cast<double>(size - 1));
  return b.rsub(b.call("aten.abs.default", {fromEnd}),
                static_cast<double>(size - 1));
}

Values decomposePad(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  StringRef mode = call.string("mode");
  SmallVector<int64_t> pad = call.integers("pad");
  if (mode == "constant")
    return SmallVector<Value>{
        b.call("aten.constant_pad_nd.default",
               {x, pad, call.maybeNumber("value").value_or(0)})};
  int64_t rank = tensorType(x).getRank();
  for (size_t i = 0; i + 1 < pad.size(); i += 2) {
    if (pad[i] == 0 && pad[i + 1] == 0)
      continue;
    int64_t dim = rank - 1 - static_cast<int64_t>(i / 2);
    Value index =
        paddedIndex(b, mode, tensorType(x).getDimSize(dim), pad[i], pad[i + 1]);
    x = b.call("aten.index_select.default", {x, dim, index});
  }
  return SmallVector<Value>{x};
}

Values decomposeDiff(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  int64_t dim = call.dim("dim", tensorType(x).getRank());
  SmallVector<Value> parts;
  if (Value before = call.value("prepend"))
    parts.push_back(before);
  parts.push_back(x);
  if (Value after = call.value("append"))
    parts.push_back(after);
  if (parts.size() > 1)
    x = b.cat(parts, dim);
  bool isBool = tensorType(x).getElementType().isInteger(1);
  for (int64_t i = 0; i < call.integer("n"); ++i) {
    int64_t size = tensorType(x).getDimSize(dim);
    if (size == 0)
      break;
    Value later = b.slice(x, dim, 1, size);
    Value earlier = b.slice(x, dim, 0, size - 1);
    x = isBool ? b.call("aten.logical_xor.default", {later, earlier})
               : b.sub(later, earlier);
  }
  return SmallVector<Value>{x};
}

/// Deviation from the variance operator of the same arguments.
Values decomposeStd(const Call &call, DecompositionBuilder &b) {
  Value variance =
      b.call("aten.var.correction", {call.value("self"), call.literal("dim")},
             {{"correction", call.schema->find("correction") >= 0
                                 ? aten::Arg(call.literal("correction"))
                                 : aten::Arg(call.flag("unbiased") ? 1 : 0)},
              {"keepdim", call.flag("keepdim")}});
  return SmallVector<Value>{b.sqrt(variance)};
}

Values decomposeMaxPool(const Call &call, DecompositionBuilder &b) {
  Value x = call.value("self");
  auto results =
      b.callMulti("aten.max_pool2d_with_indices.default",
                  {x, call.literal("kernel_size"), call.literal("stride"),
                   call.literal("padding"), call.literal("dilation"),
                   call.literal("ceil_mode")});
  return SmallVector<Value>{results[0]};
}

/// A full tensor shaped like the result.
Value filled(const Call &call, DecompositionBuilder &b, double value) {
  return b.full(resultType(call).getShape(), value,
                resultType(call).getElementType());
}

Values decomposeOnes(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{filled(call, b, 1)};
}

Values decomposeZeros(const Call &call, DecompositionBuilder &b) {
  return SmallVector<Value>{filled(call, b, 0)};
}

} // namespace

void addShapeDecompositions(DecompositionTable &table) {
  for (const char *name :
       {"aten.reshape.default", "aten.flatten.using_ints", "aten.unflatten.int",
        "aten.view_as.default", "aten.ravel.default",
        "aten._unsafe_view.default", "aten._reshape_alias.default",
        "aten.view_copy.default"})
    table[name] = decomposeReshape;
  for (const char *name :
       {"aten.to.dtype", "aten.to.dtype_layout", "aten.to.device",
        "aten.to.other", "aten.type_as.default", "aten.contiguous.default",
        "prims.convert_element_type.default"})
    table[name] = decomposeCast;
  for (const char *name :
       {"aten.split.Tensor", "aten.split.sizes", "aten.chunk.default",
        "aten.split_with_sizes.default", "aten.tensor_split.sections",
        "aten.tensor_split.indices"})
    table[name] = decomposeSplit;
  for (const char *name :
       {"aten.ones.default", "aten.ones_like.default", "aten.new_ones.default"})
    table[name] = decomposeOnes;
  for (const char *name : {"aten.zeros.default", "aten.zeros_like.default",
                           "aten.new_zeros.default"})
    table[name] = decomposeZeros;
  table["aten.repeat_interleave.self_int"] = decomposeRepeatInterleave;
  table["aten.pad.default"] = decomposePad;
  table["aten.diff.default"] = decomposeDiff;
  table["aten.std.dim"] = decomposeStd;
  table["aten.std.correction"] = decomposeStd;
  table["aten.max_pool2d.default"] = decomposeMaxPool;
}

} // namespace gcompile
