//===- ReductionRules.cpp - rules of reductions, scans, sorts and losses --===//
#include "ResultRules.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace gcompile::aten {

/// The dimensions that the call reduces: argument `dim` or `dims`, a number or
/// a list. None, an empty list and no such argument mean all.
static FailureOr<SmallVector<int64_t>>
reducedDims(const Call &call, int64_t rank, EmitError error) {
  StringRef name = call.schema->find("dims") >= 0 ? "dims" : "dim";
  SmallVector<int64_t> dims;
  if (call.schema->find(name) >= 0 && !call.isNone(name))
    dims = isa<ArrayAttr>(call.literal(name))
               ? call.integers(name)
               : SmallVector<int64_t>{call.integer(name)};
  if (dims.empty())
    return llvm::to_vector(llvm::seq<int64_t>(0, rank));
  return dimensions(dims, rank, error);
}

static FailureOr<Shape> reducedShape(const Call &call, RankedTensorType self,
                                     EmitError error) {
  auto dims = reducedDims(call, self.getRank(), error);
  if (failed(dims))
    return failure();
  bool keep = call.schema->find("keepdim") >= 0 && call.flag("keepdim");
  Shape shape;
  for (auto [i, size] : llvm::enumerate(self.getShape())) {
    if (!llvm::is_contained(*dims, static_cast<int64_t>(i)))
      shape.push_back(size);
    else if (keep)
      shape.push_back(1);
  }
  return shape;
}

static ResultTypes reduce(const Call &call, Type element, EmitError error) {
  auto shape = reducedShape(call, firstTensor(call), error);
  if (failed(shape))
    return failure();
  return oneTensor(*shape, element);
}

/// Argument `dtype` where there is one and it is given.
static Type dtypeIfAny(const Call &call, Type otherwise) {
  return call.schema->find("dtype") >= 0 ? dtypeOr(call, otherwise) : otherwise;
}

/// Sums and products of integers and bools are int64.
ResultTypes rules::sumLike(const Call &call, EmitError error) {
  Type element = firstTensor(call).getElementType();
  if (isa<IntegerType>(element))
    element = i64Type(call);
  return reduce(call, dtypeIfAny(call, element), error);
}

ResultTypes rules::meanLike(const Call &call, EmitError error) {
  Type element = dtypeIfAny(call, firstTensor(call).getElementType());
  if (isa<IntegerType>(element))
    return error() << "needs floating point, but the input is "
                   << dtypeName(element);
  return reduce(call, element, error);
}

ResultTypes rules::reduceSame(const Call &call, EmitError error) {
  return reduce(call, firstTensor(call).getElementType(), error);
}

ResultTypes rules::reduceToFloat(const Call &call, EmitError error) {
  return reduce(call, toFloat(firstTensor(call).getElementType()), error);
}

/// any and all; PyTorch keeps uint8 for the sake of old programs.
ResultTypes rules::reduceToBool(const Call &call, EmitError error) {
  Type element = firstTensor(call).getElementType();
  if (!element.isUnsignedInteger(8))
    element = IntegerType::get(element.getContext(), 1);
  return reduce(call, element, error);
}

ResultTypes rules::reduceToIndex(const Call &call, EmitError error) {
  return reduce(call, i64Type(call), error);
}

/// max.dim, median.dim: values and their positions.
ResultTypes rules::reduceWithIndex(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto shape = reducedShape(call, self, error);
  if (failed(shape))
    return failure();
  return SmallVector<Type>{tensorOf(*shape, self.getElementType()),
                           tensorOf(*shape, i64Type(call))};
}

/// var_mean, std_mean, aminmax: two reductions of one type.
ResultTypes rules::reducePair(const Call &call, EmitError error) {
  ResultTypes types = reduce(call, firstTensor(call).getElementType(), error);
  if (failed(types))
    return failure();
  types->push_back(types->front());
  return types;
}

/// max and min of everything.
ResultTypes rules::extrema(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (self.getNumElements() == 0)
    return error() << "there is no element to take, shape "
                   << describe(self.getShape());
  return oneTensor({}, self.getElementType());
}

ResultTypes rules::vectorNorm(const Call &call, EmitError error) {
  Type element = dtypeIfAny(call, firstTensor(call).getElementType());
  if (auto complex = dyn_cast<ComplexType>(element))
    element = complex.getElementType();
  return reduce(call, element, error);
}

ResultTypes rules::distance(const Call &call, EmitError error) {
  StringRef callee = call.schema->callee;
  if (callee == "aten.dist.default") {
    FailureOr<Shape> shape = broadcastTensors(call, error);
    if (failed(shape))
      return failure();
    return oneTensor({}, toFloat(promotedElementType(call)));
  }
  if (callee == "aten._pdist_forward.default") {
    RankedTensorType self = firstTensor(call);
    int64_t n = self.getRank() == 2 ? self.getDimSize(0) : 0;
    return oneTensor({n * (n - 1) / 2}, self.getElementType());
  }
  RankedTensorType x1 = call.tensorType("x1"), x2 = call.tensorType("x2");
  if (callee == "aten.cosine_similarity.default" ||
      callee == "aten.pairwise_distance.default") {
    auto shape = broadcast({x1.getShape(), x2.getShape()}, error);
    if (failed(shape))
      return failure();
    bool isPairwise = callee == "aten.pairwise_distance.default";
    auto dim = wrapDimension(isPairwise ? -1 : call.integer("dim"),
                             shape->size(), error);
    if (failed(dim))
      return failure();
    if (isPairwise && call.flag("keepdim"))
      (*shape)[*dim] = 1;
    else if (!shape->empty())
      shape->erase(shape->begin() + *dim);
    return oneTensor(*shape,
                     promoteTypes(x1.getElementType(), x2.getElementType()));
  }
  // cdist: batches of rows against rows.
  if (x1.getRank() < 2 || x2.getRank() < 2)
    return error() << "needs matrices";
  auto shape = broadcast(
      {x1.getShape().drop_back(2), x2.getShape().drop_back(2)}, error);
  if (failed(shape))
    return failure();
  shape->push_back(x1.getDimSize(x1.getRank() - 2));
  shape->push_back(x2.getDimSize(x2.getRank() - 2));
  return oneTensor(*shape, x1.getElementType());
}

//===----------------------------------------------------------------------===//
// Softmax, scans, sorting
//===----------------------------------------------------------------------===//

ResultTypes rules::softmax(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (failed(dimension(call, "dim", self.getRank(), error)))
    return failure();
  Type element = dtypeIfAny(call, self.getElementType());
  if (call.schema->find("half_to_float") >= 0 && call.flag("half_to_float"))
    element = f32Type(call);
  if (isa<IntegerType>(element))
    return error() << "needs floating point, but the input is "
                   << dtypeName(element);
  return oneTensor(self.getShape(), element);
}

ResultTypes rules::softmaxBackward(const Call &call, EmitError error) {
  return oneTensor(firstTensor(call).getShape(), call.dtype("input_dtype"));
}

/// The inductor's fusion of the two reductions of a softmax: the maximum and
/// the sum of exponentials along `dim`, which is kept.
ResultTypes rules::onlineSoftmax(const Call &call, EmitError error) {
  RankedTensorType x = firstTensor(call);
  auto dim = dimension(call, "dim", x.getRank(), error);
  if (failed(dim))
    return failure();
  Shape shape(x.getShape());
  if (!shape.empty())
    shape[*dim] = 1;
  Type type = tensorOf(shape, x.getElementType());
  return SmallVector<Type>{type, type};
}

ResultTypes rules::scan(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (failed(dimension(call, "dim", self.getRank(), error)))
    return failure();
  Type element = self.getElementType();
  if (call.schema->find("dtype") >= 0) {
    if (isa<IntegerType>(element))
      element = i64Type(call);
    element = dtypeOr(call, element);
  }
  return oneTensor(self.getShape(), element);
}

ResultTypes rules::scanWithIndex(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (failed(dimension(call, "dim", self.getRank(), error)))
    return failure();
  return SmallVector<Type>{self, tensorOf(self.getShape(), i64Type(call))};
}

ResultTypes rules::topK(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimension(call, "dim", self.getRank(), error);
  if (failed(dim))
    return failure();
  int64_t k = call.integer("k");
  int64_t size = self.getRank() == 0 ? 1 : self.getDimSize(*dim);
  if (k < 0 || k > size)
    return error() << "k is " << k << ", but dimension " << *dim << " has "
                   << size << " elements";
  Shape shape(self.getShape());
  if (!shape.empty())
    shape[*dim] = k;
  return SmallVector<Type>{tensorOf(shape, self.getElementType()),
                           tensorOf(shape, i64Type(call))};
}

ResultTypes rules::toIndices(const Call &call, EmitError error) {
  return oneTensor(firstTensor(call).getShape(), i64Type(call));
}

ResultTypes rules::histogram(const Call &call, EmitError error) {
  return oneTensor({call.integer("bins")}, firstTensor(call).getElementType());
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// `reduction`: 0 none, 1 mean, 2 sum.
ResultTypes rules::loss(const Call &call, EmitError error) {
  FailureOr<Shape> shape = broadcastTensors(call, error);
  if (failed(shape))
    return failure();
  Type element = firstTensor(call).getElementType();
  if (RankedTensorType target = call.tensorType("target"))
    if (Type common = promoteTypes(element, target.getElementType());
        common && isa<FloatType>(common))
      element = common;
  if (call.integer("reduction") != 0)
    shape->clear();
  return oneTensor(*shape, element);
}

/// Shape of the target: the classes' dimension of `self` left out.
static Shape withoutClasses(RankedTensorType self) {
  Shape shape(self.getShape());
  if (!shape.empty())
    shape.erase(shape.begin() + (shape.size() > 1 ? 1 : 0));
  return shape;
}

ResultTypes rules::crossEntropy(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  return oneTensor(call.integer("reduction") ? Shape() : withoutClasses(self),
                   self.getElementType());
}

ResultTypes rules::negativeLogLikelihood(const Call &call, EmitError error) {
  ResultTypes types = crossEntropy(call, error);
  if (call.schema->returns.size() == 2) // the total weight
    types->push_back(tensorOf({}, firstTensor(call).getElementType()));
  return types;
}

} // namespace gcompile::aten
