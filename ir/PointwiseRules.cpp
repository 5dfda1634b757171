//===- PointwiseRules.cpp - shared parts, and rules of one-to-one operators ==//
#include "ResultRules.h"

#include "mlir/IR/BuiltinTypes.h"

using namespace mlir;

namespace gcompile::aten {

//===----------------------------------------------------------------------===//
// What rules share
//===----------------------------------------------------------------------===//

Type i64Type(const Call &call) {
  return IntegerType::get(CallOp(call.op).getContext(), 64);
}
Type f32Type(const Call &call) {
  return Float32Type::get(CallOp(call.op).getContext());
}
static Type i1Type(const Call &call) {
  return IntegerType::get(CallOp(call.op).getContext(), 1);
}
Type noType(const Call &call) {
  return NoneType::get(CallOp(call.op).getContext());
}

SmallVector<RankedTensorType> tensorTypes(const Call &call) {
  SmallVector<RankedTensorType> types;
  for (Type type : CallOp(call.op).getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      types.push_back(tensor);
  return types;
}

RankedTensorType firstTensor(const Call &call) {
  return tensorTypes(call).front();
}

SmallVector<RankedTensorType> listTypes(const Call &call, StringRef name) {
  SmallVector<RankedTensorType> types;
  for (Value value : call.values(name))
    if (value)
      types.push_back(cast<RankedTensorType>(value.getType()));
  return types;
}

std::string describe(ArrayRef<int64_t> shape) {
  std::string text;
  llvm::raw_string_ostream os(text);
  os << "[";
  llvm::interleaveComma(shape, os);
  os << "]";
  return text;
}

int64_t numElements(ArrayRef<int64_t> shape) {
  int64_t count = 1;
  for (int64_t size : shape)
    count *= size;
  return count;
}

FailureOr<Shape> broadcast(ArrayRef<ArrayRef<int64_t>> shapes,
                           EmitError error) {
  Shape result;
  for (ArrayRef<int64_t> shape : shapes) {
    if (shape.size() > result.size())
      result.insert(result.begin(), shape.size() - result.size(), 1);
    for (auto [i, size] : llvm::enumerate(shape)) {
      int64_t &target = result[result.size() - shape.size() + i];
      if (target == 1)
        target = size;
      else if (size != 1 && size != target)
        return error() << "shapes " << describe(shapes.front()) << " and "
                       << describe(shape) << " do not broadcast: " << target
                       << " against " << size;
    }
  }
  return result;
}

FailureOr<Shape> broadcastTensors(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> types = tensorTypes(call);
  SmallVector<ArrayRef<int64_t>> shapes;
  for (RankedTensorType type : types)
    shapes.push_back(type.getShape());
  return broadcast(shapes, error);
}

FailureOr<int64_t> wrapDimension(int64_t dim, int64_t rank, EmitError error) {
  int64_t bound = std::max<int64_t>(rank, 1);
  if (dim < -bound || dim >= bound)
    return error() << "dimension " << dim << " is out of range for a tensor of "
                   << rank << " dimensions";
  return dim < 0 ? dim + bound : dim;
}

FailureOr<int64_t> dimension(const Call &call, StringRef name, int64_t rank,
                             EmitError error) {
  return wrapDimension(call.integer(name), rank, error);
}

FailureOr<SmallVector<int64_t>> dimensions(ArrayRef<int64_t> dims, int64_t rank,
                                           EmitError error) {
  SmallVector<int64_t> result;
  for (int64_t dim : dims) {
    FailureOr<int64_t> wrapped = wrapDimension(dim, rank, error);
    if (failed(wrapped))
      return failure();
    if (llvm::is_contained(result, *wrapped))
      return error() << "dimension " << dim << " appears twice in "
                     << describe(dims);
    result.push_back(*wrapped);
  }
  return result;
}

Type dtypeOr(const Call &call, Type otherwise) {
  Type dtype = call.dtype("dtype");
  return dtype ? dtype : otherwise;
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

/// Broadcast shape with the element type that `convert` makes of the promoted
/// one.
static ResultTypes promoted(const Call &call, EmitError error,
                            llvm::function_ref<Type(Type)> convert) {
  FailureOr<Shape> shape = broadcastTensors(call, error);
  if (failed(shape))
    return failure();
  Type element = promotedElementType(call);
  if (!element)
    return error() << "the operands' dtypes do not promote to one";
  return oneTensor(*shape, convert(element));
}

ResultTypes rules::pointwise(const Call &call, EmitError error) {
  return promoted(call, error, [](Type type) { return type; });
}

ResultTypes rules::pointwiseToFloat(const Call &call, EmitError error) {
  return promoted(call, error, toFloat);
}

ResultTypes rules::pointwiseToBool(const Call &call, EmitError error) {
  return promoted(call, error, [&](Type) { return i1Type(call); });
}

ResultTypes rules::divideRounded(const Call &call, EmitError error) {
  return call.isNone("rounding_mode") ? pointwiseToFloat(call, error)
                                      : pointwise(call, error);
}

ResultTypes rules::floatPower(const Call &call, EmitError error) {
  return promoted(call, error, [&](Type) {
    return Float64Type::get(CallOp(call.op).getContext());
  });
}

ResultTypes rules::sameAsFirst(const Call &call, EmitError error) {
  return SmallVector<Type>{firstTensor(call)};
}

ResultTypes rules::gradOfSelf(const Call &call, EmitError error) {
  return SmallVector<Type>{call.tensorType("self")};
}

/// An in-place call returns what it writes to, if anything.
ResultTypes rules::inPlace(const Call &call, EmitError error) {
  SmallVector<Type> types;
  for (const SchemaReturn &result : call.schema->returns)
    types.push_back(
        call.tensorType(call.schema->arguments[result.aliasOf].name));
  return types;
}

ResultTypes rules::noResult(const Call &call, EmitError error) {
  return SmallVector<Type>();
}

/// Broadcast shape, element type of the first tensor.
ResultTypes rules::maskedFill(const Call &call, EmitError error) {
  FailureOr<Shape> shape = broadcastTensors(call, error);
  if (failed(shape))
    return failure();
  return oneTensor(*shape, firstTensor(call).getElementType());
}

ResultTypes rules::convertType(const Call &call, EmitError error) {
  RankedTensorType type = firstTensor(call);
  if (call.schema->find("dtype") >= 0)
    return oneTensor(type.getShape(), dtypeOr(call, type.getElementType()));
  RankedTensorType other = call.tensorType("other"); // aten.to.other, type_as
  return oneTensor(type.getShape(),
                   other ? other.getElementType() : type.getElementType());
}

/// A reinterpretation: the last dimension keeps its number of bytes.
ResultTypes rules::viewType(const Call &call, EmitError error) {
  RankedTensorType type = firstTensor(call);
  Type target = call.dtype("dtype");
  auto bytes = [](Type element) {
    if (auto complex = dyn_cast<ComplexType>(element))
      return complex.getElementType().getIntOrFloatBitWidth() / 4;
    return std::max(element.getIntOrFloatBitWidth() / 8, 1u);
  };
  Shape shape(type.getShape());
  int64_t from = bytes(type.getElementType()), to = bytes(target);
  if (from != to) {
    if (shape.empty() || shape.back() * from % to != 0)
      return error() << "cannot view " << describe(shape) << " of "
                     << dtypeName(type.getElementType()) << " as "
                     << dtypeName(target);
    shape.back() = shape.back() * from / to;
  }
  return oneTensor(shape, target);
}

/// (self, mask): the values and whether they count.
ResultTypes rules::sameAsSelfWithMask(const Call &call, EmitError error) {
  RankedTensorType type = firstTensor(call);
  return SmallVector<Type>{type, tensorOf(type.getShape(), i1Type(call))};
}

/// A list in, each tensor expanded to the common shape.
ResultTypes rules::broadcastAll(const Call &call, EmitError error) {
  FailureOr<Shape> shape = broadcastTensors(call, error);
  if (failed(shape))
    return failure();
  SmallVector<Type> types;
  for (RankedTensorType type : tensorTypes(call))
    types.push_back(tensorOf(*shape, type.getElementType()));
  return types;
}

ResultTypes rules::containedIn(const Call &call, EmitError error) {
  RankedTensorType elements = call.tensorType("elements");
  return oneTensor(elements ? elements.getShape() : ArrayRef<int64_t>(),
                   i1Type(call));
}

ResultTypes rules::bucketPosition(const Call &call, EmitError error) {
  RankedTensorType self = call.tensorType("self");
  Type index = IntegerType::get(CallOp(call.op).getContext(),
                                call.flag("out_int32") ? 32 : 64);
  return oneTensor(self ? self.getShape() : ArrayRef<int64_t>(), index);
}

ResultTypes rules::logSigmoidForward(const Call &call, EmitError error) {
  RankedTensorType type = firstTensor(call);
  // The buffer is used on the CPU only; CUDA leaves it empty.
  return SmallVector<Type>{type, tensorOf({0}, type.getElementType())};
}

//===----------------------------------------------------------------------===//
// Symbolic scalars
//===----------------------------------------------------------------------===//

/// Type of a Scalar argument: i64, f64 or i1.
static SmallVector<Type> scalarTypes(const Call &call) {
  SmallVector<Type> types;
  for (Attribute arg : CallOp(call.op).getArgs())
    if (auto operand = dyn_cast<OperandAttr>(arg))
      types.push_back(CallOp(call.op).getOperand(operand.getIndex()).getType());
    else
      types.push_back(cast<TypedAttr>(arg).getType());
  return types;
}

/// Python's arithmetic: a float if an operand is one, else an integer.
ResultTypes rules::symbolicArithmetic(const Call &call, EmitError error) {
  bool isFloat =
      llvm::any_of(scalarTypes(call), [](Type type) { return type.isF64(); });
  Type f64 = Float64Type::get(CallOp(call.op).getContext());
  return SmallVector<Type>{isFloat ? f64 : i64Type(call)};
}

/// and_ and or_ keep bools.
ResultTypes rules::symbolicLogic(const Call &call, EmitError error) {
  bool isBoolean = llvm::all_of(scalarTypes(call), isBool);
  return SmallVector<Type>{isBoolean ? i1Type(call) : i64Type(call)};
}

/// The Python number in a tensor of one element.
ResultTypes rules::itemOf(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  if (self.getNumElements() != 1)
    return error() << "needs one element, but the shape is "
                   << describe(self.getShape());
  Type element = self.getElementType();
  return isBool(element)           ? symbolicToBool(call, error)
         : isa<FloatType>(element) ? symbolicToFloat(call, error)
                                   : symbolicToInt(call, error);
}

ResultTypes rules::symbolicToInt(const Call &call, EmitError error) {
  return SmallVector<Type>{i64Type(call)};
}
ResultTypes rules::symbolicToFloat(const Call &call, EmitError error) {
  return SmallVector<Type>{Float64Type::get(CallOp(call.op).getContext())};
}
ResultTypes rules::symbolicToBool(const Call &call, EmitError error) {
  return SmallVector<Type>{i1Type(call)};
}

} // namespace gcompile::aten
