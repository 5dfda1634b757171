//===- ShapeRules.cpp - rules of views, creation and data movement --------===//
#include "ResultRules.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

using namespace mlir;

namespace gcompile::aten {

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

/// Replaces one -1 of `target` so that it has `count` elements.
static FailureOr<Shape> resolveSizes(ArrayRef<int64_t> source,
                                     ArrayRef<int64_t> target,
                                     EmitError error) {
  Shape shape(target);
  int64_t count = numElements(source), known = 1, unknown = -1;
  for (auto [i, size] : llvm::enumerate(shape)) {
    if (size != -1) {
      known *= size;
      continue;
    }
    if (unknown >= 0)
      return error() << "two sizes of " << describe(target) << " are -1";
    unknown = i;
  }
  bool fits = known == count;
  if (unknown >= 0) {
    fits = known != 0 && count % known == 0;
    shape[unknown] = fits ? count / known : 0;
  }
  if (!fits) {
    InFlightDiagnostic diagnostic = error()
                                    << "cannot view " << count
                                    << " elements as " << describe(target);
    diagnostic.attachNote() << "the input has shape " << describe(source)
                            << ", which is " << count << " elements";
    return diagnostic;
  }
  return shape;
}

ResultTypes rules::view(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  StringRef name = call.schema->find("shape") >= 0 ? "shape" : "size";
  FailureOr<Shape> shape =
      resolveSizes(self.getShape(), call.integers(name), error);
  if (failed(shape))
    return failure();
  return oneTensor(*shape, self.getElementType());
}

ResultTypes rules::viewAs(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  FailureOr<Shape> shape =
      resolveSizes(self.getShape(), call.tensorType("other").getShape(), error);
  if (failed(shape))
    return failure();
  return oneTensor(*shape, self.getElementType());
}

static ResultTypes expandTo(RankedTensorType self, ArrayRef<int64_t> target,
                            EmitError error) {
  Shape shape(target);
  int64_t lead = static_cast<int64_t>(shape.size()) - self.getRank();
  bool fits = lead >= 0;
  for (int64_t i = 0; fits && i < static_cast<int64_t>(shape.size()); ++i) {
    int64_t source = i < lead ? 1 : self.getDimSize(i - lead);
    if (shape[i] == -1 && i >= lead)
      shape[i] = source;
    fits = shape[i] >= 0 && (source == 1 || source == shape[i]);
  }
  if (!fits)
    return error() << "cannot expand " << describe(self.getShape()) << " to "
                   << describe(target);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::expand(const Call &call, EmitError error) {
  return expandTo(firstTensor(call), call.integers("size"), error);
}

ResultTypes rules::expandAs(const Call &call, EmitError error) {
  return expandTo(firstTensor(call), call.tensorType("other").getShape(),
                  error);
}

static ResultTypes permuted(RankedTensorType self, ArrayRef<int64_t> dims) {
  return oneTensor(
      llvm::map_to_vector(dims, [&](int64_t d) { return self.getDimSize(d); }),
      self.getElementType());
}

ResultTypes rules::permute(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> order = call.integers("dims");
  auto dims = dimensions(order, self.getRank(), error);
  if (failed(dims))
    return failure();
  if (static_cast<int64_t>(dims->size()) != self.getRank())
    return error() << "cannot permute " << self.getRank() << " dimensions with "
                   << describe(order);
  return permuted(self, *dims);
}

ResultTypes rules::transposeDims(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  bool isSwap = call.schema->find("axis0") >= 0;
  auto a = dimension(call, isSwap ? "axis0" : "dim0", self.getRank(), error);
  auto b = dimension(call, isSwap ? "axis1" : "dim1", self.getRank(), error);
  if (failed(a) || failed(b))
    return failure();
  Shape shape(self.getShape());
  if (!shape.empty())
    std::swap(shape[*a], shape[*b]);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::transposeLast(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  Shape shape(self.getShape());
  bool isMatrixOnly = call.schema->callee == "aten.t.default";
  if (isMatrixOnly ? shape.size() > 2 : shape.size() < 2)
    return error() << "cannot transpose a tensor of " << shape.size()
                   << " dimensions";
  if (shape.size() >= 2)
    std::swap(shape[shape.size() - 1], shape[shape.size() - 2]);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::reversed(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  Shape shape(llvm::reverse(self.getShape()));
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::moveDims(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto read = [&](StringRef name) {
    return isa<ArrayAttr>(call.literal(name))
               ? call.integers(name)
               : SmallVector<int64_t>{call.integer(name)};
  };
  auto from = dimensions(read("source"), self.getRank(), error);
  auto to = dimensions(read("destination"), self.getRank(), error);
  if (failed(from) || failed(to))
    return failure();
  if (from->size() != to->size())
    return error() << "moves " << from->size() << " dimensions to "
                   << to->size() << " places";
  SmallVector<int64_t> order(self.getRank(), -1);
  for (auto [source, target] : llvm::zip(*from, *to))
    order[target] = source;
  int64_t next = 0;
  for (int64_t &place : order) {
    if (place >= 0)
      continue;
    while (llvm::is_contained(*from, next))
      ++next;
    place = next++;
  }
  return permuted(self, order);
}

ResultTypes rules::squeeze(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> dims;
  if (call.schema->find("dim") < 0)
    llvm::append_range(dims, llvm::seq<int64_t>(0, self.getRank()));
  else if (isa<ArrayAttr>(call.literal("dim")))
    dims = call.integers("dim");
  else
    dims = {call.integer("dim")};
  auto wrapped = dimensions(dims, self.getRank(), error);
  if (failed(wrapped))
    return failure();
  Shape shape;
  for (auto [i, size] : llvm::enumerate(self.getShape()))
    if (size != 1 || !llvm::is_contained(*wrapped, static_cast<int64_t>(i)))
      shape.push_back(size);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::unsqueeze(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimension(call, "dim", self.getRank() + 1, error);
  if (failed(dim))
    return failure();
  Shape shape(self.getShape());
  shape.insert(shape.begin() + *dim, 1);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::flatten(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto first = dimension(call, "start_dim", self.getRank(), error);
  auto last = dimension(call, "end_dim", self.getRank(), error);
  if (failed(first) || failed(last))
    return failure();
  if (*first > *last)
    return error() << "flattens from dimension " << *first << " to " << *last;
  if (self.getRank() == 0)
    return oneTensor({1}, self.getElementType());
  ArrayRef<int64_t> sizes = self.getShape();
  Shape shape(sizes.take_front(*first));
  shape.push_back(numElements(sizes.slice(*first, *last - *first + 1)));
  llvm::append_range(shape, sizes.drop_front(*last + 1));
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::ravel(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  return oneTensor({self.getNumElements()}, self.getElementType());
}

ResultTypes rules::unflatten(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimension(call, "dim", self.getRank(), error);
  if (failed(dim) || self.getRank() == 0)
    return failure();
  auto parts =
      resolveSizes({self.getDimSize(*dim)}, call.integers("sizes"), error);
  if (failed(parts))
    return failure();
  Shape shape(self.getShape());
  shape.erase(shape.begin() + *dim);
  shape.insert(shape.begin() + *dim, parts->begin(), parts->end());
  return oneTensor(shape, self.getElementType());
}

/// `self` with `size` in dimension `dim`.
static RankedTensorType resized(RankedTensorType self, int64_t dim,
                                int64_t size) {
  Shape shape(self.getShape());
  shape[dim] = size;
  return tensorOf(shape, self.getElementType());
}

static FailureOr<int64_t> dimensionOfView(const Call &call, StringRef name,
                                          EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (self.getRank() == 0)
    return error() << "needs a tensor with dimensions";
  return dimension(call, name, self.getRank(), error);
}

ResultTypes rules::slice(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = self.getDimSize(*dim), step = call.integer("step");
  if (step <= 0)
    return error() << "step must be positive, but is " << step;
  auto clamp = [&](std::optional<int64_t> position, int64_t otherwise) {
    int64_t value = position.value_or(otherwise);
    return std::clamp<int64_t>(value < 0 ? value + size : value, 0, size);
  };
  int64_t start = clamp(call.maybeInteger("start"), 0);
  int64_t end = std::max(clamp(call.maybeInteger("end"), size), start);
  return SmallVector<Type>{
      resized(self, *dim, (end - start + step - 1) / step)};
}

ResultTypes rules::select(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = self.getDimSize(*dim), index = call.integer("index");
  if (index < -size || index >= size)
    return error() << "index " << index << " is out of range for dimension "
                   << *dim << " of size " << size;
  Shape shape(self.getShape());
  shape.erase(shape.begin() + *dim);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::narrow(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = self.getDimSize(*dim), length = call.integer("length"),
          start = call.integer("start");
  if (start < 0)
    start += size;
  if (start < 0 || length < 0 || start + length > size)
    return error() << "range of " << length << " from " << start
                   << " leaves dimension " << *dim << " of size " << size;
  return SmallVector<Type>{resized(self, *dim, length)};
}

/// Pieces of `size` along `dim`, the last one what is left.
static ResultTypes splitEvenly(RankedTensorType self, int64_t dim,
                               int64_t size) {
  SmallVector<Type> types;
  int64_t total = self.getDimSize(dim);
  if (total == 0 || size == 0)
    return SmallVector<Type>{self};
  for (int64_t start = 0; start < total; start += size)
    types.push_back(resized(self, dim, std::min(size, total - start)));
  return types;
}

ResultTypes rules::split(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = call.integer("split_size");
  if (size < 0 || (size == 0 && self.getDimSize(*dim) != 0))
    return error() << "pieces of " << size << " elements cannot make up "
                   << self.getDimSize(*dim);
  return splitEvenly(self, *dim, size);
}

ResultTypes rules::chunk(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t chunks = call.integer("chunks"), size = self.getDimSize(*dim);
  if (chunks <= 0)
    return error() << "needs at least one chunk, not " << chunks;
  if (size == 0) // that many empty ones, unlike split
    return SmallVector<Type>(chunks, self);
  return splitEvenly(self, *dim, (size + chunks - 1) / chunks);
}

ResultTypes rules::splitWithSizes(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  SmallVector<int64_t> sizes = call.integers(
      call.schema->find("split_size") >= 0 ? "split_size" : "split_sizes");
  SmallVector<Type> types;
  int64_t total = 0;
  for (int64_t size : sizes) {
    total += size;
    if (size < 0)
      return error() << "negative size in " << describe(sizes);
    types.push_back(resized(self, *dim, size));
  }
  if (total != self.getDimSize(*dim))
    return error() << "sizes " << describe(sizes) << " add up to " << total
                   << ", but dimension " << *dim << " has "
                   << self.getDimSize(*dim);
  return types;
}

ResultTypes rules::tensorSplit(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = self.getDimSize(*dim);
  SmallVector<Type> types;
  if (call.schema->find("sections") >= 0) {
    int64_t sections = call.integer("sections");
    if (sections <= 0)
      return error() << "needs at least one section, not " << sections;
    for (int64_t i = 0; i < sections; ++i)
      types.push_back(
          resized(self, *dim, size / sections + (i < size % sections)));
    return types;
  }
  auto wrap = [&](int64_t position) {
    return std::clamp<int64_t>(position < 0 ? position + size : position, 0,
                               size);
  };
  int64_t start = 0;
  for (int64_t index : call.integers("indices")) {
    int64_t end = wrap(index);
    types.push_back(resized(self, *dim, std::max<int64_t>(end - start, 0)));
    start = end;
  }
  types.push_back(resized(self, *dim, size - start));
  return types;
}

ResultTypes rules::unbind(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  Shape shape(self.getShape());
  shape.erase(shape.begin() + *dim);
  return SmallVector<Type>(self.getDimSize(*dim),
                           tensorOf(shape, self.getElementType()));
}

ResultTypes rules::diagonal(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dims = dimensions({call.integer("dim1"), call.integer("dim2")},
                         self.getRank(), error);
  if (failed(dims))
    return failure();
  if (self.getRank() < 2)
    return error() << "needs two dimensions";
  int64_t first = (*dims)[0], second = (*dims)[1];
  int64_t offset = call.integer("offset");
  int64_t length =
      offset >= 0
          ? std::min(self.getDimSize(first), self.getDimSize(second) - offset)
          : std::min(self.getDimSize(first) + offset, self.getDimSize(second));
  Shape shape;
  for (int64_t i = 0; i < self.getRank(); ++i)
    if (i != first && i != second)
      shape.push_back(self.getDimSize(i));
  shape.push_back(std::max<int64_t>(length, 0));
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::stridedView(const Call &call, EmitError error) {
  SmallVector<int64_t> sizes = call.integers("size");
  if (sizes.size() != call.integers("stride").size())
    return error() << "has " << sizes.size() << " sizes, but "
                   << call.integers("stride").size() << " strides";
  return oneTensor(sizes, firstTensor(call).getElementType());
}

/// aten.unfold: sliding windows along one dimension.
ResultTypes rules::windows(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimension(call, "dimension", self.getRank(), error);
  if (failed(dim))
    return failure();
  int64_t size = call.integer("size"), step = call.integer("step");
  int64_t total = self.getRank() == 0 ? 1 : self.getDimSize(*dim);
  if (step <= 0 || size < 0 || size > total)
    return error() << "windows of " << size << " every " << step
                   << " do not fit a dimension of size " << total;
  Shape shape(self.getShape());
  if (!shape.empty())
    shape[*dim] = (total - size) / step + 1;
  shape.push_back(size);
  return oneTensor(shape, self.getElementType());
}

//===----------------------------------------------------------------------===//
// Creation
//===----------------------------------------------------------------------===//

static ResultTypes checkedTensor(ArrayRef<int64_t> shape, Type element,
                                 EmitError error) {
  if (llvm::any_of(shape, [](int64_t size) { return size < 0; }))
    return error() << "negative size in " << describe(shape);
  return oneTensor(shape, element);
}

/// zeros, empty, rand: `size` of `dtype` or the default float.
ResultTypes rules::sized(const Call &call, EmitError error) {
  return checkedTensor(call.integers("size"), dtypeOr(call, f32Type(call)),
                       error);
}

ResultTypes rules::sizedLikeSelf(const Call &call, EmitError error) {
  Type element = firstTensor(call).getElementType();
  if (call.schema->find("dtype") >= 0)
    element = dtypeOr(call, element);
  return checkedTensor(call.integers("size"), element, error);
}

/// The element type that Python gives a number.
static Type numberType(const Call &call, StringRef name) {
  Value value = call.value(name);
  Type type =
      value ? value.getType() : cast<TypedAttr>(call.literal(name)).getType();
  return type.isF64() ? f32Type(call) : type;
}

ResultTypes rules::filled(const Call &call, EmitError error) {
  return checkedTensor(call.integers("size"),
                       dtypeOr(call, numberType(call, "fill_value")), error);
}

ResultTypes rules::likeSelf(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  Type element = self.getElementType();
  if (call.schema->find("dtype") >= 0)
    element = dtypeOr(call, element);
  return oneTensor(self.getShape(), element);
}

ResultTypes rules::arange(const Call &call, EmitError error) {
  bool hasStart = call.schema->find("start") >= 0;
  bool hasStep = call.schema->find("step") >= 0;
  SmallVector<StringRef, 3> names{"end"};
  if (hasStart)
    names.push_back("start");
  if (hasStep)
    names.push_back("step");
  bool isFloat = false;
  for (StringRef name : names) {
    if (call.value(name))
      return error() << "the length depends on the value of '" << name << "'";
    isFloat |= isa<FloatAttr>(call.literal(name));
  }
  double start = hasStart ? call.number("start") : 0, end = call.number("end");
  double step = hasStep ? call.number("step") : 1;
  if (step == 0 || (end - start) / step < 0)
    return error() << "cannot count from " << start << " to " << end
                   << " by steps of " << step;
  int64_t length;
  if (isFloat) {
    length = static_cast<int64_t>(std::ceil((end - start) / step));
  } else {
    int64_t first = hasStart ? call.integer("start") : 0;
    int64_t by = hasStep ? call.integer("step") : 1;
    int64_t span = call.integer("end") - first;
    length = (span + by - (by > 0 ? 1 : -1)) / by;
  }
  return oneTensor({length},
                   dtypeOr(call, isFloat ? f32Type(call) : i64Type(call)));
}

ResultTypes rules::linspace(const Call &call, EmitError error) {
  return checkedTensor({call.integer("steps")}, dtypeOr(call, f32Type(call)),
                       error);
}

ResultTypes rules::identityMatrix(const Call &call, EmitError error) {
  int64_t n = call.integer("n");
  int64_t m = call.schema->find("m") >= 0 ? call.integer("m") : n;
  return checkedTensor({n, m}, dtypeOr(call, f32Type(call)), error);
}

ResultTypes rules::scalarTensor(const Call &call, EmitError error) {
  return oneTensor({}, dtypeOr(call, f32Type(call)));
}

ResultTypes rules::randomInts(const Call &call, EmitError error) {
  SmallVector<int64_t> sizes = call.schema->find("size") >= 0
                                   ? call.integers("size")
                                   : SmallVector<int64_t>{call.integer("n")};
  return checkedTensor(sizes, dtypeOr(call, i64Type(call)), error);
}

ResultTypes rules::iota(const Call &call, EmitError error) {
  return checkedTensor({call.integer("length")}, call.dtype("dtype"), error);
}

ResultTypes rules::triangleIndices(const Call &call, EmitError error) {
  int64_t rows = call.integer("row"), columns = call.integer("col"),
          offset = call.integer("offset");
  bool isUpper = call.schema->callee == "aten.triu_indices.default";
  int64_t count = 0;
  for (int64_t row = 0; row < rows; ++row) {
    int64_t lower = std::clamp<int64_t>(row + offset + 1, 0, columns);
    int64_t below = std::clamp<int64_t>(row + offset, 0, columns);
    count += isUpper ? columns - below : lower;
  }
  return oneTensor({2, count}, dtypeOr(call, i64Type(call)));
}

//===----------------------------------------------------------------------===//
// Joining and repeating
//===----------------------------------------------------------------------===//

static Type promotedList(ArrayRef<RankedTensorType> tensors) {
  return resultElementType(
      llvm::map_to_vector(tensors, [](auto type) { return Type(type); }));
}

static ResultTypes concatenateAt(ArrayRef<RankedTensorType> tensors,
                                 std::optional<int64_t> dimArg,
                                 EmitError error) {
  if (tensors.empty())
    return error() << "needs at least one tensor";
  Type element = promotedList(tensors);
  if (!element)
    return error() << "the tensors' dtypes do not promote to one";
  std::optional<Shape> shape;
  int64_t dim = 0;
  for (RankedTensorType tensor : tensors) {
    if (tensor.getRank() == 1 && tensor.getDimSize(0) == 0)
      continue; // PyTorch ignores these whatever the others' rank
    if (!shape) {
      shape = Shape(tensor.getShape());
      auto wrapped = wrapDimension(*dimArg, tensor.getRank(), error);
      if (failed(wrapped))
        return failure();
      if (tensor.getRank() == 0)
        return error() << "0-dimensional tensors cannot be concatenated";
      dim = *wrapped;
      continue;
    }
    bool fits = tensor.getRank() == static_cast<int64_t>(shape->size());
    for (int64_t i = 0; fits && i < tensor.getRank(); ++i)
      fits = i == dim || tensor.getDimSize(i) == (*shape)[i];
    if (!fits)
      return error() << "shapes " << describe(*shape) << " and "
                     << describe(tensor.getShape())
                     << " differ outside dimension " << dim;
    (*shape)[dim] += tensor.getDimSize(dim);
  }
  return oneTensor(shape.value_or(Shape{0}), element);
}

ResultTypes rules::concatenate(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> tensors = listTypes(call, "tensors");
  if (call.schema->find("dim") >= 0)
    return concatenateAt(tensors, call.integer("dim"), error);
  StringRef callee = call.schema->callee;
  // vstack and dstack see each tensor as a matrix or a box, hstack as a vector,
  // column_stack a vector as a column.
  for (RankedTensorType &tensor : tensors) {
    Shape shape(tensor.getShape());
    if (callee == "aten.hstack.default" && shape.empty())
      shape = {1};
    if (callee == "aten.column_stack.default" && shape.size() < 2)
      shape = {tensor.getNumElements(), 1};
    if (callee == "aten.vstack.default" && shape.size() < 2)
      shape = {1, tensor.getNumElements()};
    if (callee == "aten.dstack.default" && shape.size() < 2)
      shape = {1, tensor.getNumElements()};
    if (callee == "aten.dstack.default" && shape.size() == 2)
      shape.push_back(1);
    tensor = tensorOf(shape, tensor.getElementType());
  }
  int64_t dim = callee == "aten.vstack.default"                     ? 0
                : callee == "aten.dstack.default"                   ? 2
                : tensors.empty() || tensors.front().getRank() == 1 ? 0
                                                                    : 1;
  return concatenateAt(tensors, dim, error);
}

ResultTypes rules::stack(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> tensors = listTypes(call, "tensors");
  if (tensors.empty())
    return error() << "needs at least one tensor";
  for (RankedTensorType tensor : tensors)
    if (tensor.getShape() != tensors.front().getShape())
      return error() << "shapes " << describe(tensors.front().getShape())
                     << " and " << describe(tensor.getShape()) << " differ";
  Shape shape(tensors.front().getShape());
  auto dim = dimension(call, "dim", shape.size() + 1, error);
  if (failed(dim))
    return failure();
  shape.insert(shape.begin() + *dim, tensors.size());
  Type element = promotedList(tensors);
  if (!element)
    return error() << "the tensors' dtypes do not promote to one";
  return oneTensor(shape, element);
}

ResultTypes rules::meshgrid(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> tensors = listTypes(call, "tensors");
  Shape shape = llvm::map_to_vector(
      tensors, [](auto type) { return type.getNumElements(); });
  if (call.schema->find("indexing") >= 0 && call.string("indexing") == "xy" &&
      shape.size() >= 2)
    std::swap(shape[0], shape[1]);
  SmallVector<Type> types;
  for (RankedTensorType tensor : tensors)
    types.push_back(tensorOf(shape, tensor.getElementType()));
  return types;
}

ResultTypes rules::atLeast(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  Shape shape(self.getShape());
  StringRef callee = call.schema->callee;
  if (shape.empty())
    shape = {1};
  if (callee != "aten.atleast_1d.default" && shape.size() == 1)
    shape.insert(shape.begin(), 1);
  if (callee == "aten.atleast_3d.default" && shape.size() == 2)
    shape.push_back(1);
  return oneTensor(shape, self.getElementType());
}

/// `pad` lists (before, after) from the last dimension backwards.
ResultTypes rules::pad(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> amounts =
      call.integers(call.schema->find("pad") >= 0 ? "pad" : "padding");
  if (amounts.size() % 2 ||
      static_cast<int64_t>(amounts.size() / 2) > self.getRank())
    return error() << "cannot pad " << self.getRank() << " dimensions with "
                   << describe(amounts);
  Shape shape(self.getShape());
  for (size_t i = 0; i < amounts.size() / 2; ++i) {
    int64_t &size = shape[shape.size() - 1 - i];
    size += amounts[2 * i] + amounts[2 * i + 1];
    if (size < 0)
      return error() << "padding " << describe(amounts) << " leaves less than "
                     << "nothing of " << describe(self.getShape());
  }
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::repeat(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  bool isTile = call.schema->find("dims") >= 0;
  SmallVector<int64_t> times = call.integers(isTile ? "dims" : "repeats");
  if (isTile && static_cast<int64_t>(times.size()) < self.getRank())
    times.insert(times.begin(), self.getRank() - times.size(), 1);
  int64_t lead = static_cast<int64_t>(times.size()) - self.getRank();
  if (lead < 0)
    return error() << "repeats " << describe(times)
                   << " are fewer than the dimensions of "
                   << describe(self.getShape());
  Shape shape(times);
  for (int64_t i = 0; i < self.getRank(); ++i)
    shape[lead + i] *= self.getDimSize(i);
  return checkedTensor(shape, self.getElementType(), error);
}

ResultTypes rules::repeatInterleave(const Call &call, EmitError error) {
  RankedTensorType self = call.tensorType("self");
  bool isCounted = call.schema->callee == "aten.repeat_interleave.self_int";
  std::optional<int64_t> total = call.maybeInteger("output_size");
  if (!isCounted && !total)
    return error() << "the result's size depends on the values of 'repeats'";
  if (!self) // repeat_interleave.Tensor gives positions
    return oneTensor({*total}, firstTensor(call).getElementType());
  Shape shape(self.getShape());
  if (call.isNone("dim"))
    shape = {self.getNumElements()};
  auto dim =
      wrapDimension(call.maybeInteger("dim").value_or(0), shape.size(), error);
  if (failed(dim))
    return failure();
  if (shape.empty())
    shape = {1};
  shape[*dim] = isCounted ? shape[*dim] * call.integer("repeats") : *total;
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::rotate(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dims = dimensions(call.integers("dims"), self.getRank(), error);
  if (failed(dims))
    return failure();
  if (dims->size() != 2)
    return error() << "rotates in a plane of two dimensions, not "
                   << dims->size();
  Shape shape(self.getShape());
  if (call.integer("k") % 2)
    std::swap(shape[(*dims)[0]], shape[(*dims)[1]]);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::difference(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimensionOfView(call, "dim", error);
  if (failed(dim))
    return failure();
  int64_t size = self.getDimSize(*dim);
  for (StringRef name : {"prepend", "append"})
    if (RankedTensorType extra = call.tensorType(name))
      size += extra.getRank() == 0 ? 1 : extra.getDimSize(*dim);
  return SmallVector<Type>{
      resized(self, *dim, std::max<int64_t>(size - call.integer("n"), 0))};
}

ResultTypes rules::diag(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  int64_t offset = call.integer("diagonal");
  if (self.getRank() == 1) {
    int64_t size = self.getDimSize(0) + std::abs(offset);
    return oneTensor({size, size}, self.getElementType());
  }
  if (self.getRank() != 2)
    return error() << "needs a vector or a matrix";
  int64_t rows = self.getDimSize(0), columns = self.getDimSize(1);
  int64_t length = offset >= 0 ? std::min(rows, columns - offset)
                               : std::min(rows + offset, columns);
  return oneTensor({std::max<int64_t>(length, 0)}, self.getElementType());
}

ResultTypes rules::diagEmbed(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (self.getRank() == 0)
    return error() << "needs a tensor with dimensions";
  auto dims = dimensions({call.integer("dim1"), call.integer("dim2")},
                         self.getRank() + 1, error);
  if (failed(dims))
    return failure();
  int64_t size = self.getShape().back() + std::abs(call.integer("offset"));
  Shape shape(self.getShape().drop_back());
  llvm::sort(*dims);
  for (int64_t dim : *dims)
    shape.insert(shape.begin() + dim, size);
  return oneTensor(shape, self.getElementType());
}

//===----------------------------------------------------------------------===//
// Indexing
//===----------------------------------------------------------------------===//

ResultTypes rules::gather(const Call &call, EmitError error) {
  return oneTensor(call.tensorType("index").getShape(),
                   call.tensorType("self").getElementType());
}

ResultTypes rules::take(const Call &call, EmitError error) {
  RankedTensorType self = call.tensorType("self");
  if (call.schema->find("indices") < 0) // aten.take
    return oneTensor(call.tensorType("index").getShape(),
                     self.getElementType());
  RankedTensorType indices = call.tensorType("indices");
  std::optional<int64_t> dimArg = call.maybeInteger("dim");
  if (!dimArg) // take_along_dim of the flattened tensor
    return oneTensor({indices.getNumElements()}, self.getElementType());
  auto dim = wrapDimension(*dimArg, self.getRank(), error);
  if (failed(dim))
    return failure();
  Shape left(self.getShape()), right(indices.getShape());
  if (left.size() != right.size())
    return error() << "the ranks of " << describe(left) << " and "
                   << describe(right) << " differ";
  int64_t length = right[*dim];
  left[*dim] = right[*dim] = 1;
  auto shape = broadcast({left, right}, error);
  if (failed(shape))
    return failure();
  (*shape)[*dim] = length;
  return oneTensor(*shape, self.getElementType());
}

ResultTypes rules::indexSelect(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  RankedTensorType index = call.tensorType("index");
  auto dim = dimension(call, "dim", self.getRank(), error);
  if (failed(dim))
    return failure();
  if (index.getRank() > 1)
    return error() << "needs a vector of indices, not one of shape "
                   << describe(index.getShape());
  if (self.getRank() == 0)
    return SmallVector<Type>{self};
  return SmallVector<Type>{resized(self, *dim, index.getNumElements())};
}

/// Advanced indexing: the broadcast shape of the index tensors takes the place
/// of the dimensions they index, in front where those are not neighbours.
ResultTypes rules::indexTensors(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<ArrayRef<int64_t>> indices;
  SmallVector<int64_t> indexed;
  SmallVector<Value> entries = call.values("indices");
  if (static_cast<int64_t>(entries.size()) > self.getRank())
    return error() << entries.size() << " indices for a tensor of "
                   << self.getRank() << " dimensions";
  for (auto [i, entry] : llvm::enumerate(entries)) {
    if (!entry)
      continue;
    auto type = cast<RankedTensorType>(entry.getType());
    if (isBool(type.getElementType()) ||
        type.getElementType().isUnsignedInteger(8))
      return error() << "the result's size depends on the values of a mask";
    indices.push_back(type.getShape());
    indexed.push_back(i);
  }
  auto common = broadcast(indices, error);
  if (failed(common))
    return failure();
  if (indexed.empty())
    return SmallVector<Type>{self};
  bool isAdjacent = indexed.back() - indexed.front() + 1 ==
                    static_cast<int64_t>(indexed.size());
  Shape shape;
  if (!isAdjacent)
    llvm::append_range(shape, *common);
  for (int64_t i = 0; i < self.getRank(); ++i) {
    if (isAdjacent && i == indexed.front())
      llvm::append_range(shape, *common);
    if (!llvm::is_contained(indexed, i))
      shape.push_back(self.getDimSize(i));
  }
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::embedding(const Call &call, EmitError error) {
  RankedTensorType weight = call.tensorType("weight");
  if (weight.getRank() != 2)
    return error() << "the weight must be a matrix, but has shape "
                   << describe(weight.getShape());
  Shape shape(call.tensorType("indices").getShape());
  shape.push_back(weight.getDimSize(1));
  return oneTensor(shape, weight.getElementType());
}

ResultTypes rules::embeddingBag(const Call &call, EmitError error) {
  RankedTensorType weight = call.tensorType("weight");
  RankedTensorType offsets = call.tensorType("offsets");
  int64_t bags =
      offsets.getDimSize(0) - (call.flag("include_last_offset") ? 1 : 0);
  Type index = call.tensorType("indices").getElementType();
  int64_t numIndices = call.tensorType("indices").getNumElements();
  bool isMax = call.integer("mode") == 2;
  return SmallVector<Type>{
      tensorOf({bags, weight.getDimSize(1)}, weight.getElementType()),
      tensorOf({isMax ? 0 : numIndices}, index), tensorOf({bags}, index),
      isMax ? tensorOf({bags, weight.getDimSize(1)}, index)
            : tensorOf({bags}, index)};
}

ResultTypes rules::oneHot(const Call &call, EmitError error) {
  int64_t classes = call.integer("num_classes");
  if (classes < 0)
    return error() << "the number of classes depends on the values";
  Shape shape(firstTensor(call).getShape());
  shape.push_back(classes);
  return oneTensor(shape, i64Type(call));
}

/// The gradient of a view or a gather: `input_sizes` or the like.
ResultTypes rules::backwardToSizes(const Call &call, EmitError error) {
  RankedTensorType grad = firstTensor(call);
  if (call.schema->find("num_weights") >= 0) // embedding_dense_backward
    return oneTensor({call.integer("num_weights"), grad.getShape().back()},
                     grad.getElementType());
  for (StringRef name : {"input_sizes", "self_sizes", "input_size", "sizes"})
    if (call.schema->find(name) >= 0)
      return checkedTensor(call.integers(name), grad.getElementType(), error);
  llvm_unreachable("a gradient without sizes");
}

//===----------------------------------------------------------------------===//
// Rearranging images
//===----------------------------------------------------------------------===//

ResultTypes rules::pixelShuffle(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  int64_t r = call.integer("upscale_factor"), rank = self.getRank();
  if (rank < 3 || r <= 0 || self.getDimSize(rank - 3) % (r * r))
    return error() << "cannot shuffle " << describe(self.getShape())
                   << " by a factor of " << r;
  Shape shape(self.getShape());
  shape[rank - 3] /= r * r;
  shape[rank - 2] *= r;
  shape[rank - 1] *= r;
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::pixelUnshuffle(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  int64_t r = call.integer("downscale_factor"), rank = self.getRank();
  if (rank < 3 || r <= 0 || self.getDimSize(rank - 2) % r ||
      self.getDimSize(rank - 1) % r)
    return error() << "cannot unshuffle " << describe(self.getShape())
                   << " by a factor of " << r;
  Shape shape(self.getShape());
  shape[rank - 3] *= r * r;
  shape[rank - 2] /= r;
  shape[rank - 1] /= r;
  return oneTensor(shape, self.getElementType());
}

/// Number of window positions in each spatial dimension of im2col.
static int64_t numWindows(const Call &call, ArrayRef<int64_t> image) {
  auto kernel = call.integers("kernel_size"), stride = call.integers("stride"),
       padding = call.integers("padding"), dilation = call.integers("dilation");
  int64_t count = 1;
  for (int i = 0; i < 2; ++i)
    count *= (image[i] + 2 * padding[i] - dilation[i] * (kernel[i] - 1) - 1) /
                 stride[i] +
             1;
  return count;
}

ResultTypes rules::imageToColumns(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  int64_t rank = self.getRank();
  if (rank != 3 && rank != 4)
    return error() << "needs an image or a batch of them, not "
                   << describe(self.getShape());
  Shape shape(self.getShape().drop_back(2));
  shape.back() *= numElements(call.integers("kernel_size"));
  shape.push_back(numWindows(call, self.getShape().take_back(2)));
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::columnsToImage(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> image = call.integers("output_size");
  int64_t window = numElements(call.integers("kernel_size"));
  if (self.getRank() < 2 || self.getDimSize(self.getRank() - 2) % window != 0 ||
      self.getShape().back() != numWindows(call, image))
    return error() << "columns " << describe(self.getShape())
                   << " do not make an image of " << describe(image);
  Shape shape(self.getShape().drop_back());
  shape.back() /= window;
  llvm::append_range(shape, image);
  return oneTensor(shape, self.getElementType());
}

} // namespace gcompile::aten
