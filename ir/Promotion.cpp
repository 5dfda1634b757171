#include "gcompile/ir/Promotion.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;

namespace gcompile::aten {

bool isBool(Type type) { return type.isSignlessInteger(1); }

bool isInteger(Type type) { return isa<IntegerType>(type) && !isBool(type); }

Type toFloat(Type type) {
  return isa<IntegerType>(type) ? Float32Type::get(type.getContext()) : type;
}

Type accumulatorType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                       : type;
}

/// The unsigned types of 16 bits and more, which PyTorch hardly promotes.
static bool isBarebonesUnsigned(Type type) {
  return type.isUnsignedInteger() && !type.isUnsignedInteger(8);
}

static bool isFloat8(Type type) {
  return isa<FloatType>(type) && type.getIntOrFloatBitWidth() == 8;
}

static Type promoteFloats(Type a, Type b) {
  if (isFloat8(a) || isFloat8(b))
    return {};
  unsigned widthA = a.getIntOrFloatBitWidth(),
           widthB = b.getIntOrFloatBitWidth();
  if (widthA == widthB) // float16 and bfloat16
    return Float32Type::get(a.getContext());
  return widthA > widthB ? a : b;
}

Type promoteTypes(Type a, Type b) {
  if (a == b)
    return a;
  auto complexA = dyn_cast<ComplexType>(a), complexB = dyn_cast<ComplexType>(b);
  if (complexA || complexB) {
    Type partA = complexA ? complexA.getElementType() : a;
    Type partB = complexB ? complexB.getElementType() : b;
    Type part = promoteTypes(partA, partB);
    return part ? ComplexType::get(part) : Type();
  }
  bool isFloatA = isa<FloatType>(a), isFloatB = isa<FloatType>(b);
  if (isFloatA && isFloatB)
    return promoteFloats(a, b);
  if (isFloatA || isFloatB) {
    Type type = isFloatA ? a : b;
    return isFloat8(type) ? Type() : type;
  }
  if (isBarebonesUnsigned(a) || isBarebonesUnsigned(b))
    return {};
  if (isBool(a))
    return b;
  if (isBool(b))
    return a;
  unsigned widthA = a.getIntOrFloatBitWidth(),
           widthB = b.getIntOrFloatBitWidth();
  if (widthA == widthB) // uint8 and int8
    return IntegerType::get(a.getContext(), 2 * widthA);
  return widthA > widthB ? a : b;
}

/// `higher` decides the category where it can, `lower` only lifts it.
static Type combineCategories(Type higher, Type lower) {
  if (!higher || !lower)
    return higher ? higher : lower;
  if (isa<ComplexType>(higher))
    return higher;
  if (isa<FloatType>(higher))
    return isa<ComplexType>(lower) ? ComplexType::get(higher) : higher;
  if (isBool(higher) || isa<FloatType, ComplexType>(lower))
    return promoteTypes(higher, lower);
  return higher;
}

Type resultElementType(ArrayRef<Type> operands) {
  Type classes[3]; // with dimensions, without, Python scalars
  bool refused = false;
  for (Type type : operands) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    Type element = tensor ? tensor.getElementType() : type;
    if (!tensor && element.isF64())
      element = Float32Type::get(type.getContext()); // the default float
    Type &slot = classes[tensor ? tensor.getRank() == 0 : 2];
    slot = slot ? promoteTypes(slot, element) : element;
    refused |= !slot;
  }
  if (refused)
    return {};
  return combineCategories(classes[0],
                           combineCategories(classes[1], classes[2]));
}

Type promotedElementType(const Call &call) {
  SmallVector<Type> operands;
  for (auto [argument, arg] :
       llvm::zip(call.schema->arguments, CallOp(call.op).getArgs())) {
    bool takesPart =
        argument.type == ArgType::Tensor
            ? argument.name != "condition" && argument.name != "mask"
            : argument.type == ArgType::Scalar &&
                  llvm::StringSwitch<bool>(argument.name)
                      .Cases("self", "other", "exponent", "min", "max", true)
                      .Default(false);
    if (!takesPart)
      continue;
    if (auto operand = dyn_cast<OperandAttr>(arg))
      operands.push_back(
          CallOp(call.op).getOperand(operand.getIndex()).getType());
    else if (auto literal = dyn_cast<TypedAttr>(arg))
      operands.push_back(literal.getType());
    else if (argument.isList)
      for (Value value : call.values(argument.name))
        if (value)
          operands.push_back(value.getType());
  }
  return resultElementType(operands);
}

std::string dtypeName(Type type) {
  if (auto complex = dyn_cast<ComplexType>(type))
    return "complex" +
           std::to_string(2 * complex.getElementType().getIntOrFloatBitWidth());
  if (isBool(type))
    return "bool";
  if (type.isBF16())
    return "bfloat16";
  std::string width = std::to_string(type.getIntOrFloatBitWidth());
  if (isa<FloatType>(type) && !isFloat8(type))
    return "float" + width;
  if (isa<IntegerType>(type))
    return (type.isUnsignedInteger() ? "uint" : "int") + width;
  std::string text;
  llvm::raw_string_ostream(text) << type; // f8E4M3FN
  return text;
}

} // namespace gcompile::aten
