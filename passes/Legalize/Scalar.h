//===- Scalar.h - arithmetic on single elements, as PyTorch does it -------===//
// The bodies of loops are written as expressions over Scalars: `x * tanh(y)`
// appends arith and math ops. A Scalar knows PyTorch's type of the value, so
// that unsigned integers divide, compare, shift and widen as unsigned ones
// although the tensor program has signless types.
#pragma once
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLFunctionalExtras.h"

#include <optional>

namespace gcompile::legalize {

class LoopBody;

/// A tensor of the tensor program, with PyTorch's element type (`ui8`, `i1`).
struct Tensor {
  mlir::Value value;
  mlir::Type element;

  explicit operator bool() const { return bool(value); }
  llvm::ArrayRef<int64_t> shape() const {
    return mlir::cast<mlir::RankedTensorType>(value.getType()).getShape();
  }
  int64_t rank() const { return static_cast<int64_t>(shape().size()); }
  int64_t numElements() const {
    return mlir::ShapedType::getNumElements(shape());
  }
};

struct Scalar {
  LoopBody *body = nullptr;
  mlir::Value value;
  mlir::Type type; ///< PyTorch's; half precision is widened before arithmetic

  explicit operator bool() const { return bool(value); }
  bool isFloat() const { return mlir::isa<mlir::FloatType>(type); }
  bool isBool() const { return type.isInteger(1); }
};

/// The type of the tensor program that stands for PyTorch's `element`.
mlir::Type signless(mlir::Type element);
/// Bools count as unsigned.
bool isUnsigned(mlir::Type element);
/// The type arithmetic on `element` is done in: half precision is widened.
mlir::Type computeType(mlir::Type element);

/// Where the body of a loop is being built.
class LoopBody {
public:
  /// Indices are `linalg.index` unless they are given.
  LoopBody(mlir::OpBuilder &builder, mlir::Location loc,
           llvm::ArrayRef<mlir::Value> indices = {})
      : builder(builder), loc(loc), givenIndices(indices) {}
  LoopBody(const LoopBody &) = delete;

  mlir::OpBuilder &builder;
  mlir::Location loc;

  Scalar number(double value, mlir::Type type);
  Scalar integer(int64_t value, mlir::Type type);
  Scalar position(int64_t value); ///< a constant of type `index`
  Scalar boolean(bool value);
  /// An integer, float or bool literal of the program.
  Scalar literal(mlir::Attribute value, mlir::Type type);
  /// The index of loop `dim`.
  Scalar index(int64_t dim);
  /// Those of the first `rank` loops.
  llvm::SmallVector<Scalar> indices(unsigned rank);
  /// An element at computed places, which must lie inside `tensor`.
  Scalar read(Tensor tensor, llvm::ArrayRef<Scalar> places);

  /// Evaluates one side only.
  Scalar ifElse(Scalar condition, llvm::function_ref<Scalar()> onTrue,
                llvm::function_ref<Scalar()> onFalse);
  /// Runs `step(round, state)` for rounds 0 to `count` - 1; none if it is
  /// negative.
  llvm::SmallVector<Scalar>
  repeat(Scalar count, llvm::ArrayRef<Scalar> initial,
         llvm::function_ref<llvm::SmallVector<Scalar>(Scalar,
                                                      llvm::ArrayRef<Scalar>)>
             step);

  Scalar wrap(mlir::Value value, mlir::Type type) {
    return {this, value, type};
  }

private:
  llvm::ArrayRef<mlir::Value> givenIndices;
};

/// The constant that `x` is, if it is one.
std::optional<double> constantOf(Scalar x);

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// PyTorch's conversion: floats are truncated towards zero, integers wrap, and
/// everything but zero is true. `elidable` marks a narrowing of floats that
/// only exists because PyTorch stores the result of each operation.
Scalar cast(Scalar x, mlir::Type type, bool elidable = false);
/// To the compute type.
Scalar widen(Scalar x);
Scalar toIndex(Scalar x);
Scalar toI64(Scalar x);
/// The bits of a float as an integer of its width, or the reverse.
Scalar bitcast(Scalar x, mlir::Type type);

//===----------------------------------------------------------------------===//
// Arithmetic. Both sides have one type; a number takes the type of the other.
//===----------------------------------------------------------------------===//

Scalar operator-(Scalar x);
Scalar operator+(Scalar x, Scalar y);
Scalar operator-(Scalar x, Scalar y);
Scalar operator*(Scalar x, Scalar y);
/// Integers divide towards zero; a zero divisor gives zero.
Scalar operator/(Scalar x, Scalar y);
/// Sign of the dividend, as in C; a zero divisor gives the dividend's 0.
Scalar remainderOf(Scalar x, Scalar y);
/// Python's `//`.
Scalar floorDivide(Scalar x, Scalar y);
Scalar operator+(Scalar x, double y);
Scalar operator-(Scalar x, double y);
Scalar operator-(double x, Scalar y);
Scalar operator*(Scalar x, double y);
Scalar operator/(Scalar x, double y);
Scalar operator/(double x, Scalar y);

/// Bitwise on integers, logical on bools.
Scalar operator&(Scalar x, Scalar y);
Scalar operator|(Scalar x, Scalar y);
Scalar operator^(Scalar x, Scalar y);
Scalar operator~(Scalar x);
/// The distance is not negative and less than the width. Signed integers keep
/// their sign when they shift right.
Scalar operator<<(Scalar x, Scalar distance);
Scalar operator>>(Scalar x, Scalar distance);

/// Comparisons are false where either side is NaN, but for `!=`, which is true.
Scalar operator==(Scalar x, Scalar y);
Scalar operator!=(Scalar x, Scalar y);
Scalar operator<(Scalar x, Scalar y);
Scalar operator<=(Scalar x, Scalar y);
Scalar operator>(Scalar x, Scalar y);
Scalar operator>=(Scalar x, Scalar y);
Scalar operator==(Scalar x, double y);
Scalar operator!=(Scalar x, double y);
Scalar operator<(Scalar x, double y);
Scalar operator<=(Scalar x, double y);
Scalar operator>(Scalar x, double y);
Scalar operator>=(Scalar x, double y);

Scalar select(Scalar condition, Scalar onTrue, Scalar onFalse);
Scalar select(Scalar condition, double onTrue, Scalar onFalse);
Scalar select(Scalar condition, Scalar onTrue, double onFalse);
/// NaN where either is NaN.
Scalar maximum(Scalar x, Scalar y);
Scalar minimum(Scalar x, Scalar y);
Scalar isNan(Scalar x);
Scalar isInf(Scalar x);

Scalar abs(Scalar x);
Scalar ceil(Scalar x);
Scalar floor(Scalar x);
Scalar trunc(Scalar x);
Scalar roundEven(Scalar x);
Scalar copySign(Scalar magnitude, Scalar sign);
Scalar fma(Scalar x, Scalar y, Scalar z);
Scalar fmod(Scalar x, Scalar y);
Scalar pow(Scalar x, Scalar y);

Scalar sqrt(Scalar x);
Scalar rsqrt(Scalar x);
Scalar exp(Scalar x);
Scalar exp2(Scalar x);
Scalar expm1(Scalar x);
Scalar log(Scalar x);
Scalar log2(Scalar x);
Scalar log10(Scalar x);
Scalar log1p(Scalar x);
Scalar erf(Scalar x);
Scalar sin(Scalar x);
Scalar cos(Scalar x);
Scalar tan(Scalar x);
Scalar asin(Scalar x);
Scalar acos(Scalar x);
Scalar atan(Scalar x);
Scalar atan2(Scalar y, Scalar x);
Scalar sinh(Scalar x);
Scalar cosh(Scalar x);
Scalar tanh(Scalar x);
Scalar asinh(Scalar x);
Scalar acosh(Scalar x);
Scalar atanh(Scalar x);
Scalar sigmoid(Scalar x);

} // namespace gcompile::legalize
