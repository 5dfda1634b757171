//===- Views.cpp - views as steps that can be taken and undone ------------===//
#include "Views.h"

#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace gcompile {

using aten::AtenBuilder;
using aten::Call;
using aten::CallOp;
using Dims = SmallVector<int64_t>;
using Kind = ViewStep::Kind;

//===----------------------------------------------------------------------===//
// Memory layouts
//===----------------------------------------------------------------------===//

MemoryLayout rowMajor(ArrayRef<int64_t> shape) {
  MemoryLayout layout;
  layout.strides.resize(shape.size());
  int64_t stride = 1;
  for (size_t i = shape.size(); i-- > 0;) {
    layout.strides[i] = stride;
    stride *= std::max<int64_t>(shape[i], 1);
  }
  return layout;
}

bool isDense(const MemoryLayout &layout, ArrayRef<int64_t> shape,
             ArrayRef<int64_t> order) {
  int64_t expected = 1;
  for (int64_t dim : llvm::reverse(order)) {
    if (shape[dim] == 0)
      return true;
    // A dimension of size one has no neighbours.
    if (shape[dim] != 1 && layout.strides[dim] != expected)
      return false;
    expected *= shape[dim];
  }
  return true;
}

bool isRowMajor(const MemoryLayout &layout, ArrayRef<int64_t> shape) {
  return isDense(layout, shape,
                 llvm::to_vector(llvm::seq<int64_t>(0, shape.size())));
}

/// Strides that show the elements of (`shape`, `strides`) in the same order as
/// `target`, or none: PyTorch's condition for a view.
static std::optional<Dims> reshapeStrides(ArrayRef<int64_t> shape,
                                          ArrayRef<int64_t> strides,
                                          ArrayRef<int64_t> target) {
  Dims result(target.size(), 1);
  if (shape.empty() || llvm::is_contained(shape, 0))
    return rowMajor(target).strides;
  // Walk both from the end; each run of source dimensions that are dense among
  // themselves must be made up of whole target dimensions.
  int64_t to = static_cast<int64_t>(target.size()) - 1;
  int64_t chunk = 1, covered = 1;
  int64_t base = strides.back();
  for (int64_t from = static_cast<int64_t>(shape.size()) - 1; from >= 0;
       --from) {
    chunk *= shape[from];
    bool ends = from == 0 ||
                (shape[from - 1] != 1 && strides[from - 1] != chunk * base);
    if (!ends)
      continue;
    while (to >= 0 && (covered < chunk || target[to] == 1)) {
      result[to] = covered * base;
      covered *= target[to--];
    }
    if (covered != chunk)
      return std::nullopt;
    if (from > 0) {
      base = strides[from - 1];
      chunk = covered = 1;
    }
  }
  return to < 0 ? std::optional(result) : std::nullopt;
}

std::optional<MemoryLayout> ViewStep::layout(const MemoryLayout &from) const {
  MemoryLayout to = from;
  switch (kind) {
  case Kind::Identity:
    return to;
  case Kind::Reshape: {
    auto reshaped =
        reshapeStrides(source.getShape(), from.strides, result.getShape());
    if (!reshaped)
      return std::nullopt;
    to.strides = *reshaped;
    return to;
  }
  case Kind::Permute:
    for (auto [i, dim] : llvm::enumerate(numbers))
      to.strides[i] = from.strides[dim];
    return to;
  case Kind::Expand: {
    int64_t lead = result.getRank() - source.getRank();
    to.strides.assign(result.getRank(), 0);
    for (int64_t i = 0; i < source.getRank(); ++i)
      if (source.getDimSize(i) == result.getDimSize(lead + i))
        to.strides[lead + i] = from.strides[i];
    return to;
  }
  case Kind::Slice:
    to.offset += numbers[1] * from.strides[numbers[0]];
    to.strides[numbers[0]] *= numbers[3];
    return to;
  case Kind::Select:
    to.offset += numbers[1] * from.strides[numbers[0]];
    to.strides.erase(to.strides.begin() + numbers[0]);
    return to;
  case Kind::Diagonal: {
    int64_t offset = numbers[0], dim1 = numbers[1], dim2 = numbers[2];
    to.offset += offset >= 0 ? offset * from.strides[dim2]
                             : -offset * from.strides[dim1];
    int64_t stride = from.strides[dim1] + from.strides[dim2];
    to.strides.erase(to.strides.begin() + std::max(dim1, dim2));
    to.strides.erase(to.strides.begin() + std::min(dim1, dim2));
    to.strides.push_back(stride);
    return to;
  }
  case Kind::Strided:
    return MemoryLayout{strides, numbers[0]};
  case Kind::Windows: {
    int64_t stride = from.strides.empty() ? 1 : from.strides[numbers[0]];
    if (!from.strides.empty())
      to.strides[numbers[0]] = stride * numbers[2];
    to.strides.push_back(stride);
    return to;
  }
  case Kind::Bits:
    if (source.getShape() != result.getShape())
      return std::nullopt; // counts other elements
    return to;
  }
  llvm_unreachable("unknown view");
}

//===----------------------------------------------------------------------===//
// Taking and undoing a step
//===----------------------------------------------------------------------===//

static Dims shapeOf(RankedTensorType type) { return Dims(type.getShape()); }

Value ViewStep::apply(AtenBuilder &builder, Value from) const {
  switch (kind) {
  case Kind::Identity:
    return from;
  case Kind::Reshape:
    return builder.call("aten.view.default", {from, shapeOf(result)});
  case Kind::Permute:
    return builder.call("aten.permute.default", {from, numbers});
  case Kind::Expand:
    return builder.call("aten.expand.default", {from, shapeOf(result)});
  case Kind::Slice:
    return builder.call("aten.slice.Tensor",
                        {from, numbers[0], numbers[1], numbers[2], numbers[3]});
  case Kind::Select:
    return builder.call("aten.select.int", {from, numbers[0], numbers[1]});
  case Kind::Diagonal:
    return builder.call("aten.diagonal.default",
                        {from, numbers[0], numbers[1], numbers[2]});
  case Kind::Strided:
    return builder.call("aten.as_strided.default",
                        {from, shapeOf(result), strides, numbers[0]});
  case Kind::Windows:
    return builder.call("aten.unfold.default",
                        {from, numbers[0], numbers[1], numbers[2]});
  case Kind::Bits:
    return builder.call("aten.view.dtype", {from, result.getElementType()});
  }
  llvm_unreachable("unknown view");
}

/// Whether no two elements of a strided view lie at one place: each dimension
/// steps over all that the smaller ones reach.
static bool isInjective(ArrayRef<int64_t> shape, ArrayRef<int64_t> strides) {
  SmallVector<std::pair<int64_t, int64_t>> dims;
  for (auto [size, stride] : llvm::zip_equal(shape, strides))
    if (size > 1)
      dims.emplace_back(stride, size);
  llvm::sort(dims);
  int64_t reach = 0;
  for (auto [stride, size] : dims) {
    if (stride <= reach)
      return false;
    reach += stride * (size - 1);
  }
  return true;
}

Value ViewStep::undo(AtenBuilder &builder, Value old, Value written) const {
  switch (kind) {
  case Kind::Identity:
    return written;
  case Kind::Reshape:
    return builder.call("aten.view.default", {written, shapeOf(source)});
  case Kind::Permute: {
    Dims inverse(numbers.size());
    for (auto [i, dim] : llvm::enumerate(numbers))
      inverse[dim] = i;
    return builder.call("aten.permute.default", {written, inverse});
  }
  case Kind::Expand:
    if (source.getNumElements() != result.getNumElements())
      return {};
    return builder.call("aten.view.default", {written, shapeOf(source)});
  case Kind::Slice:
    return builder.call(
        "aten.slice_scatter.default",
        {old, written, numbers[0], numbers[1], numbers[2], numbers[3]});
  case Kind::Select:
    return builder.call("aten.select_scatter.default",
                        {old, written, numbers[0], numbers[1]});
  case Kind::Diagonal:
    return builder.call("aten.diagonal_scatter.default",
                        {old, written, numbers[0], numbers[1], numbers[2]});
  case Kind::Strided:
    if (!isInjective(result.getShape(), strides))
      return {};
    return builder.call("aten.as_strided_scatter.default",
                        {old, written, shapeOf(result), strides, numbers[0]});
  case Kind::Windows:
    return {};
  case Kind::Bits:
    return builder.call("aten.view.dtype", {written, source.getElementType()});
  }
  llvm_unreachable("unknown view");
}

//===----------------------------------------------------------------------===//
// Reading view operators
//===----------------------------------------------------------------------===//

namespace {

/// How a view operator is read; several share one way.
enum class Reading {
  None,
  Identity,
  Reshape,
  Expand,
  Permute,
  Transpose,
  TransposeLast,
  Reverse,
  MoveDims,
  Slice,
  Narrow,
  Select,
  Split,
  Unbind,
  Diagonal,
  Strided,
  Windows,
  Bits,
  Convert,
};

/// `operatorName` is the name without namespace and overload.
Reading readingOf(StringRef operatorName) {
  return llvm::StringSwitch<Reading>(operatorName)
      .Cases("alias", "detach", "lift", "lift_fresh", "conj", Reading::Identity)
      .Cases("resolve_conj", "resolve_neg", "real", "positive",
             Reading::Identity)
      .Cases("contiguous", "dropout", "feature_dropout", "alpha_dropout",
             "feature_alpha_dropout", Reading::Identity)
      .Cases("view", "view_as", "reshape", "reshape_as", "_reshape_alias",
             "flatten", "unflatten", "ravel", "squeeze", "unsqueeze",
             Reading::Reshape)
      .Cases("atleast_1d", "atleast_2d", "atleast_3d", Reading::Reshape)
      .Cases("expand", "expand_as", "broadcast_to", Reading::Expand)
      .Case("permute", Reading::Permute)
      .Cases("transpose", "swapaxes", "swapdims", Reading::Transpose)
      .Cases("t", "mT", "mH", "adjoint", Reading::TransposeLast)
      .Case("numpy_T", Reading::Reverse)
      .Cases("movedim", "moveaxis", Reading::MoveDims)
      .Case("slice", Reading::Slice)
      .Case("narrow", Reading::Narrow)
      .Case("select", Reading::Select)
      .Cases("split", "split_with_sizes", "chunk", "tensor_split",
             Reading::Split)
      .Case("unbind", Reading::Unbind)
      .Cases("diagonal", "linalg_diagonal", Reading::Diagonal)
      .Case("as_strided", Reading::Strided)
      .Case("unfold", Reading::Windows)
      .Cases("to", "type_as", Reading::Convert)
      .Default(Reading::None);
}

StringRef operatorName(const Call &call) {
  return StringRef(call.schema->callee).split('.').second.split('.').first;
}

/// One dimension or a list of them, wrapped.
Dims dimsOf(const Call &call, StringRef name, int64_t rank) {
  Attribute literal = call.literal(name);
  Dims dims =
      isa<ArrayAttr>(literal) ? call.integers(name) : Dims{call.integer(name)};
  for (int64_t &dim : dims)
    dim += dim < 0 ? std::max<int64_t>(rank, 1) : 0;
  return dims;
}

/// Views that show everything as it is are an identity.
ViewStep makeStep(Kind kind, RankedTensorType source, Type result,
                  Dims numbers = {}) {
  bool keepsOrder = kind == Kind::Reshape || kind == Kind::Expand ||
                    kind == Kind::Slice ||
                    (kind == Kind::Permute && llvm::is_sorted(numbers));
  if (keepsOrder && source == result)
    kind = Kind::Identity;
  return ViewStep{
      kind, source, cast<RankedTensorType>(result), std::move(numbers), {}};
}

ViewStep makeSlice(RankedTensorType source, Type result, int64_t dim,
                   int64_t start, int64_t end, int64_t step) {
  return makeStep(Kind::Slice, source, result, {dim, start, end, step});
}

Dims swapped(int64_t rank, int64_t a, int64_t b) {
  Dims order = llvm::to_vector(llvm::seq<int64_t>(0, rank));
  if (rank > 0)
    std::swap(order[a], order[b]);
  return order;
}

/// The steps of a view call's results. An as_strided without an offset keeps
/// that of its source, which is marked by -1.
SmallVector<ViewStep> stepsOf(const Call &call, Reading reading,
                              RankedTensorType source, TypeRange results) {
  int64_t rank = source.getRank();
  Type result = results.front();
  auto dim = [&](StringRef name) { return call.dim(name, rank); };
  switch (reading) {
  case Reading::Identity:
  case Reading::Convert:
    return {makeStep(Kind::Identity, source, result)};
  case Reading::Reshape:
    return {makeStep(Kind::Reshape, source, result)};
  case Reading::Expand:
    return {makeStep(Kind::Expand, source, result)};
  case Reading::Bits:
    return {makeStep(Kind::Bits, source, result)};
  case Reading::Permute:
    return {
        makeStep(Kind::Permute, source, result, dimsOf(call, "dims", rank))};
  case Reading::Transpose: {
    bool isSwap = call.schema->find("axis0") >= 0;
    return {makeStep(Kind::Permute, source, result,
                     swapped(rank, dim(isSwap ? "axis0" : "dim0"),
                             dim(isSwap ? "axis1" : "dim1")))};
  }
  case Reading::TransposeLast:
    if (rank < 2)
      return {makeStep(Kind::Identity, source, result)};
    return {makeStep(Kind::Permute, source, result,
                     swapped(rank, rank - 2, rank - 1))};
  case Reading::Reverse:
    return {makeStep(Kind::Permute, source, result,
                     Dims(llvm::reverse(llvm::seq<int64_t>(0, rank))))};
  case Reading::MoveDims: {
    Dims from = dimsOf(call, "source", rank),
         to = dimsOf(call, "destination", rank);
    Dims order(rank, -1);
    for (auto [source, target] : llvm::zip_equal(from, to))
      order[target] = source;
    int64_t next = 0;
    for (int64_t &place : order) {
      if (place >= 0)
        continue;
      while (llvm::is_contained(from, next))
        ++next;
      place = next++;
    }
    return {makeStep(Kind::Permute, source, result, order)};
  }
  case Reading::Slice: {
    int64_t size = source.getDimSize(dim("dim")), step = call.integer("step");
    int64_t start = call.maybeInteger("start").value_or(0);
    start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
    int64_t length = cast<RankedTensorType>(result).getDimSize(dim("dim"));
    int64_t end = length ? start + (length - 1) * step + 1 : start;
    return {makeSlice(source, result, dim("dim"), start, end, step)};
  }
  case Reading::Narrow: {
    int64_t start = call.integer("start"), length = call.integer("length");
    start += start < 0 ? source.getDimSize(dim("dim")) : 0;
    return {makeSlice(source, result, dim("dim"), start, start + length, 1)};
  }
  case Reading::Select: {
    int64_t index = call.integer("index");
    index += index < 0 ? source.getDimSize(dim("dim")) : 0;
    return {makeStep(Kind::Select, source, result, {dim("dim"), index})};
  }
  case Reading::Split: {
    SmallVector<ViewStep> steps;
    int64_t start = 0;
    for (Type part : results) {
      int64_t end = start + cast<RankedTensorType>(part).getDimSize(dim("dim"));
      steps.push_back(makeSlice(source, part, dim("dim"), start, end, 1));
      start = end;
    }
    return steps;
  }
  case Reading::Unbind: {
    SmallVector<ViewStep> steps;
    for (auto [i, part] : llvm::enumerate(results))
      steps.push_back(makeStep(Kind::Select, source, part,
                               {dim("dim"), static_cast<int64_t>(i)}));
    return steps;
  }
  case Reading::Diagonal:
    return {makeStep(Kind::Diagonal, source, result,
                     {call.integer("offset"), dim("dim1"), dim("dim2")})};
  case Reading::Strided: {
    ViewStep step =
        makeStep(Kind::Strided, source, result,
                 {call.maybeInteger("storage_offset").value_or(-1)});
    step.strides = call.integers("stride");
    return {step};
  }
  case Reading::Windows:
    return {makeStep(
        Kind::Windows, source, result,
        {dim("dimension"), call.integer("size"), call.integer("step")})};
  case Reading::None:
    break;
  }
  llvm_unreachable("not a view");
}

/// Whether the strides decide if a call gives a view or a copy.
bool dependsOnLayout(StringRef name) {
  return llvm::StringSwitch<bool>(name)
      .Cases("reshape", "reshape_as", "flatten", "ravel", "contiguous", true)
      .Default(false);
}

} // namespace

FailureOr<AliasInfo> analyzeAlias(CallOp op) {
  Call call(op);
  AliasInfo info;
  if (op.getNumResults() == 0 || op.getNumOperands() == 0)
    return info;
  StringRef name = operatorName(call);
  Reading reading = readingOf(name);
  bool isTypeView = call.schema->callee == "aten.view.dtype";
  if (isTypeView)
    reading = Reading::Bits;
  // The schemas of composite operators do not tell when they return their
  // input.
  bool isHidden = reading == Reading::Identity || reading == Reading::Convert ||
                  name.starts_with("atleast_");
  if (!call.schema->isView() && !isHidden)
    return info;
  auto source = dyn_cast<RankedTensorType>(op.getOperand(0).getType());
  if (reading == Reading::None || !source ||
      isa<ComplexType>(source.getElementType()))
    return op.emitError("unsupported: no rule says which memory '")
           << call.schema->callee << "' of " << op.getOperand(0).getType()
           << " shares";
  // Dropout in training and a conversion that changes something are new
  // tensors.
  if (isRandom(op))
    return info;
  if (reading == Reading::Convert &&
      (source != op.getResult(0).getType() ||
       (call.schema->find("copy") >= 0 && call.flag("copy"))))
    return info;
  info.aliasing = dependsOnLayout(name) ? Aliasing::Layout : Aliasing::View;
  info.source = op.getOperand(0);
  info.steps = stepsOf(call, reading, source, op.getResultTypes());
  if (name == "contiguous") {
    int64_t rank = source.getRank();
    StringRef format = call.string("memory_format");
    llvm::append_range(info.denseOrder, llvm::seq<int64_t>(0, rank));
    if (format.starts_with("channels_last") && rank > 2)
      std::rotate(info.denseOrder.begin() + 1, info.denseOrder.begin() + 2,
                  info.denseOrder.end());
  }
  return info;
}

std::optional<bool> sharesMemory(const AliasInfo &info,
                                 const std::optional<MemoryLayout> &source) {
  if (info.aliasing != Aliasing::Layout)
    return info.aliasing == Aliasing::View;
  if (!source)
    return std::nullopt;
  const ViewStep &step = info.steps.front();
  if (!info.denseOrder.empty())
    return isDense(*source, step.source.getShape(), info.denseOrder);
  return step.layout(*source).has_value();
}

std::optional<ViewStep> analyzeInPlaceView(CallOp op) {
  Call call(op);
  StringRef name = operatorName(call);
  bool isView = llvm::StringSwitch<bool>(name)
                    .Cases("squeeze_", "unsqueeze_", "t_", "transpose_", true)
                    .Cases("swapaxes_", "swapdims_", "detach_", true)
                    .Default(false);
  if (!isView)
    return std::nullopt;
  return stepsOf(call, readingOf(name.drop_back()),
                 cast<RankedTensorType>(op.getOperand(0).getType()),
                 op.getResultTypes())
      .front();
}

} // namespace gcompile
