//===- Scalar.cpp - arithmetic on single elements, as PyTorch does it -----===//
#include "Scalar.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace gcompile::legalize {

Type signless(Type element) {
  if (element.isUnsignedInteger())
    return IntegerType::get(element.getContext(),
                            element.getIntOrFloatBitWidth());
  return element;
}

bool isUnsigned(Type element) {
  return element.isUnsignedInteger() || element.isInteger(1);
}

Type computeType(Type element) {
  if (element.isF16() || element.isBF16())
    return Float32Type::get(element.getContext());
  return element;
}

/// Builds or folds an op on `x` and the others, whose result has type `type`.
template <typename Op, typename... Args>
static Scalar build(Scalar x, Type type, Args &&...args) {
  return x.body->wrap(x.body->builder.createOrFold<Op>(
                          x.body->loc, std::forward<Args>(args)...),
                      type);
}

//===----------------------------------------------------------------------===//
// Leaves and control flow
//===----------------------------------------------------------------------===//

Scalar LoopBody::number(double value, Type type) {
  if (!isa<FloatType>(type))
    return integer(static_cast<int64_t>(value), type);
  return wrap(
      builder.create<arith::ConstantOp>(loc, builder.getFloatAttr(type, value)),
      type);
}

Scalar LoopBody::integer(int64_t value, Type type) {
  if (isa<FloatType>(type))
    return number(static_cast<double>(value), type);
  if (isa<IndexType>(type))
    return position(value);
  if (type.isInteger(1))
    return boolean(value != 0);
  APInt bits(64, value, /*isSigned=*/true);
  return wrap(
      builder.create<arith::ConstantOp>(
          loc, builder.getIntegerAttr(
                   signless(type), bits.trunc(type.getIntOrFloatBitWidth()))),
      type);
}

Scalar LoopBody::position(int64_t value) {
  return wrap(builder.create<arith::ConstantIndexOp>(loc, value),
              builder.getIndexType());
}

Scalar LoopBody::boolean(bool value) {
  return wrap(
      builder.create<arith::ConstantOp>(loc, builder.getBoolAttr(value)),
      builder.getI1Type());
}

Scalar LoopBody::literal(Attribute value, Type type) {
  if (auto number = dyn_cast<FloatAttr>(value))
    return this->number(number.getValueAsDouble(), type);
  if (auto flag = dyn_cast<BoolAttr>(value))
    return integer(flag.getValue(), type);
  return integer(cast<IntegerAttr>(value).getInt(), type);
}

Scalar LoopBody::index(int64_t dim) {
  if (!givenIndices.empty())
    return wrap(givenIndices[dim], builder.getIndexType());
  return wrap(builder.create<linalg::IndexOp>(loc, dim),
              builder.getIndexType());
}

SmallVector<Scalar> LoopBody::indices(unsigned rank) {
  SmallVector<Scalar> all;
  for (unsigned i = 0; i < rank; ++i)
    all.push_back(index(i));
  return all;
}

Scalar LoopBody::read(Tensor tensor, ArrayRef<Scalar> places) {
  SmallVector<Value> values;
  for (Scalar place : places)
    values.push_back(toIndex(place).value);
  return wrap(builder.create<tensor::ExtractOp>(loc, tensor.value, values),
              tensor.element);
}

Scalar LoopBody::ifElse(Scalar condition, function_ref<Scalar()> onTrue,
                        function_ref<Scalar()> onFalse) {
  Type type;
  auto fill = [&](function_ref<Scalar()> side) {
    return [&type, side](OpBuilder &, Location loc) {
      Scalar result = side();
      type = result.type;
      result.body->builder.create<scf::YieldOp>(loc, result.value);
    };
  };
  // The builder callbacks insert through `builder` itself, whose insertion
  // point scf.if's builder moves into the region and back.
  auto ifOp = builder.create<scf::IfOp>(loc, condition.value, fill(onTrue),
                                        fill(onFalse));
  return wrap(ifOp.getResult(0), type);
}

SmallVector<Scalar> LoopBody::repeat(
    Scalar count, ArrayRef<Scalar> initial,
    function_ref<SmallVector<Scalar>(Scalar, ArrayRef<Scalar>)> step) {
  auto valuesOf = [](ArrayRef<Scalar> scalars) {
    return llvm::map_to_vector(scalars, [](Scalar s) { return s.value; });
  };
  auto typed = [&](ValueRange values) {
    SmallVector<Scalar> scalars;
    for (auto [value, like] : llvm::zip_equal(values, initial))
      scalars.push_back(wrap(value, like.type));
    return scalars;
  };
  auto loop = builder.create<scf::ForOp>(
      loc, position(0).value, toIndex(count).value, position(1).value,
      valuesOf(initial),
      [&](OpBuilder &nested, Location loc, Value round, ValueRange state) {
        SmallVector<Scalar> next =
            step(wrap(round, nested.getIndexType()), typed(state));
        nested.create<scf::YieldOp>(loc, valuesOf(next));
      });
  return typed(loop.getResults());
}

std::optional<double> constantOf(Scalar x) {
  Attribute value;
  if (!matchPattern(x.value, m_Constant(&value)))
    return std::nullopt;
  if (auto number = dyn_cast<FloatAttr>(value))
    return number.getValueAsDouble();
  auto integer = cast<IntegerAttr>(value).getValue();
  return isUnsigned(x.type) ? integer.roundToDouble(false)
                            : integer.roundToDouble(true);
}

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

static Scalar castFloatToFloat(Scalar x, Type type, bool elidable) {
  unsigned from = x.type.getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  Type f32 = Float32Type::get(type.getContext());
  // PyTorch goes through float32 from and to half precision.
  if (to == 16 && from != 32)
    return castFloatToFloat(castFloatToFloat(x, f32, false), type, elidable);
  if (from < to)
    return build<arith::ExtFOp>(x, type, type, x.value);
  if (!elidable)
    return build<arith::TruncFOp>(x, type, type, x.value);
  auto contract = arith::FastMathFlagsAttr::get(type.getContext(),
                                                arith::FastMathFlags::contract);
  return build<arith::TruncFOp>(x, type, type, x.value,
                                arith::RoundingModeAttr(), contract);
}

static Scalar castIntToInt(Scalar x, Type type) {
  unsigned from = x.type.getIntOrFloatBitWidth();
  unsigned to = type.getIntOrFloatBitWidth();
  Type target = signless(type);
  if (from == to)
    return x.body->wrap(x.value, type);
  if (from > to)
    return build<arith::TruncIOp>(x, type, target, x.value);
  if (isUnsigned(x.type))
    return build<arith::ExtUIOp>(x, type, target, x.value);
  return build<arith::ExtSIOp>(x, type, target, x.value);
}

Scalar cast(Scalar x, Type type, bool elidable) {
  if (x.type == type)
    return x;
  Builder &builder = x.body->builder;
  bool fromFloat = x.isFloat(), toFloat = isa<FloatType>(type);
  if (type.isInteger(1))
    return x != 0;
  if (isa<IndexType>(type))
    return toIndex(x);
  if (isa<IndexType>(x.type))
    return cast(build<arith::IndexCastOp>(x, builder.getI64Type(),
                                          builder.getI64Type(), x.value),
                type);
  if (fromFloat && toFloat)
    return castFloatToFloat(x, type, elidable);
  if (toFloat) {
    if (type.getIntOrFloatBitWidth() == 16)
      return cast(cast(x, builder.getF32Type()), type, elidable);
    if (isUnsigned(x.type))
      return build<arith::UIToFPOp>(x, type, type, x.value);
    return build<arith::SIToFPOp>(x, type, type, x.value);
  }
  if (!fromFloat)
    return castIntToInt(x, type);
  // Negative numbers wrap into unsigned types, and large ones into narrow
  // types: both go through i64.
  if (type.isUnsignedInteger(64))
    return build<arith::FPToUIOp>(x, type, builder.getI64Type(), x.value);
  Type wide = type.isInteger(32) ? type : builder.getI64Type();
  return castIntToInt(build<arith::FPToSIOp>(x, wide, wide, x.value), type);
}

Scalar widen(Scalar x) { return cast(x, computeType(x.type)); }

Scalar toIndex(Scalar x) {
  if (isa<IndexType>(x.type))
    return x;
  Type index = x.body->builder.getIndexType();
  if (isUnsigned(x.type))
    return build<arith::IndexCastUIOp>(x, index, index, x.value);
  return build<arith::IndexCastOp>(x, index, index, x.value);
}

Scalar toI64(Scalar x) { return cast(x, x.body->builder.getI64Type()); }

Scalar bitcast(Scalar x, Type type) {
  return build<arith::BitcastOp>(x, type, signless(type), x.value);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

template <typename FloatOp, typename IntOp>
static Scalar binary(Scalar x, Scalar y) {
  assert(x.type == y.type && "operands of one type");
  if (x.isFloat())
    return build<FloatOp>(x, x.type, x.value, y.value);
  assert(!x.isBool() && "bools do not add up");
  return build<IntOp>(x, x.type, x.value, y.value);
}

Scalar operator-(Scalar x) {
  if (x.isFloat())
    return build<arith::NegFOp>(x, x.type, x.value);
  return x.body->integer(0, x.type) - x;
}
Scalar operator+(Scalar x, Scalar y) {
  return binary<arith::AddFOp, arith::AddIOp>(x, y);
}
Scalar operator-(Scalar x, Scalar y) {
  return binary<arith::SubFOp, arith::SubIOp>(x, y);
}
Scalar operator*(Scalar x, Scalar y) {
  return binary<arith::MulFOp, arith::MulIOp>(x, y);
}

/// A divisor for which the machine's integer division is defined, and whether
/// `y` was replaced by it.
static std::pair<Scalar, Scalar> safeDivisor(Scalar x, Scalar y) {
  Scalar bad = y == 0;
  // The quotient of the smallest number and -1 does not fit; PyTorch wraps.
  if (!isUnsigned(x.type))
    bad = bad | (y == -1);
  return {select(bad, 1, y), bad};
}

Scalar operator/(Scalar x, Scalar y) {
  if (x.isFloat())
    return build<arith::DivFOp>(x, x.type, x.value, y.value);
  auto divide = [&](Scalar divisor) {
    if (isUnsigned(x.type))
      return build<arith::DivUIOp>(x, x.type, x.value, divisor.value);
    return build<arith::DivSIOp>(x, x.type, x.value, divisor.value);
  };
  auto constant = constantOf(y);
  if (constant && *constant != 0 && *constant != -1)
    return divide(y);
  auto [divisor, bad] = safeDivisor(x, y);
  // x * y is 0 for y = 0 and -x for y = -1.
  return select(bad, x * y, divide(divisor));
}

Scalar remainderOf(Scalar x, Scalar y) {
  if (x.isFloat())
    return fmod(x, y);
  auto modulo = [&](Scalar divisor) {
    if (isUnsigned(x.type))
      return build<arith::RemUIOp>(x, x.type, x.value, divisor.value);
    return build<arith::RemSIOp>(x, x.type, x.value, divisor.value);
  };
  auto constant = constantOf(y);
  if (constant && *constant != 0 && *constant != -1)
    return modulo(y);
  // The remainder by 1 is 0, as it is by -1.
  return modulo(safeDivisor(x, y).first);
}

Scalar floorDivide(Scalar x, Scalar y) {
  if (isUnsigned(x.type))
    return x / y;
  if (!x.isFloat()) {
    Scalar quotient = x / y;
    Scalar remainder = x - quotient * y;
    Scalar isBelow = (remainder != 0) & ((x < 0) ^ (y < 0)) & (y != 0);
    return quotient - cast(isBelow, x.type);
  }
  Scalar modulo = fmod(x, y);
  Scalar quotient = (x - modulo) / y;
  quotient =
      select((modulo != 0) & ((y < 0) ^ (modulo < 0)), quotient - 1, quotient);
  Scalar whole = floor(quotient);
  whole = select(quotient - whole > 0.5, whole + 1, whole);
  Scalar zero = copySign(x.body->number(0, x.type), x / y);
  return select(y == 0, x / y, select(quotient != 0, whole, zero));
}

Scalar operator+(Scalar x, double y) { return x + x.body->number(y, x.type); }
Scalar operator-(Scalar x, double y) { return x - x.body->number(y, x.type); }
Scalar operator-(double x, Scalar y) { return y.body->number(x, y.type) - y; }
Scalar operator*(Scalar x, double y) { return x * x.body->number(y, x.type); }
Scalar operator/(Scalar x, double y) { return x / x.body->number(y, x.type); }
Scalar operator/(double x, Scalar y) { return y.body->number(x, y.type) / y; }

Scalar operator&(Scalar x, Scalar y) {
  return build<arith::AndIOp>(x, x.type, x.value, y.value);
}
Scalar operator|(Scalar x, Scalar y) {
  return build<arith::OrIOp>(x, x.type, x.value, y.value);
}
Scalar operator^(Scalar x, Scalar y) {
  return build<arith::XOrIOp>(x, x.type, x.value, y.value);
}
Scalar operator~(Scalar x) {
  return x ^ (x.isBool() ? x.body->boolean(true) : x.body->integer(-1, x.type));
}

Scalar operator<<(Scalar x, Scalar distance) {
  return build<arith::ShLIOp>(x, x.type, x.value, distance.value);
}
Scalar operator>>(Scalar x, Scalar distance) {
  if (isUnsigned(x.type))
    return build<arith::ShRUIOp>(x, x.type, x.value, distance.value);
  return build<arith::ShRSIOp>(x, x.type, x.value, distance.value);
}

static Scalar compare(Scalar x, Scalar y, arith::CmpFPredicate forFloat,
                      arith::CmpIPredicate forSigned,
                      arith::CmpIPredicate forUnsigned) {
  assert(x.type == y.type && "operands of one type");
  Type boolean = x.body->builder.getI1Type();
  if (x.isFloat())
    return build<arith::CmpFOp>(x, boolean, forFloat, x.value, y.value);
  return build<arith::CmpIOp>(x, boolean,
                              isUnsigned(x.type) ? forUnsigned : forSigned,
                              x.value, y.value);
}

using FloatPredicate = arith::CmpFPredicate;
using IntPredicate = arith::CmpIPredicate;

Scalar operator==(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::OEQ, IntPredicate::eq, IntPredicate::eq);
}
Scalar operator!=(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::UNE, IntPredicate::ne, IntPredicate::ne);
}
Scalar operator<(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::OLT, IntPredicate::slt,
                 IntPredicate::ult);
}
Scalar operator<=(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::OLE, IntPredicate::sle,
                 IntPredicate::ule);
}
Scalar operator>(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::OGT, IntPredicate::sgt,
                 IntPredicate::ugt);
}
Scalar operator>=(Scalar x, Scalar y) {
  return compare(x, y, FloatPredicate::OGE, IntPredicate::sge,
                 IntPredicate::uge);
}
Scalar operator==(Scalar x, double y) { return x == x.body->number(y, x.type); }
Scalar operator!=(Scalar x, double y) { return x != x.body->number(y, x.type); }
Scalar operator<(Scalar x, double y) { return x < x.body->number(y, x.type); }
Scalar operator<=(Scalar x, double y) { return x <= x.body->number(y, x.type); }
Scalar operator>(Scalar x, double y) { return x > x.body->number(y, x.type); }
Scalar operator>=(Scalar x, double y) { return x >= x.body->number(y, x.type); }

Scalar select(Scalar condition, Scalar onTrue, Scalar onFalse) {
  assert(onTrue.type == onFalse.type && "operands of one type");
  return build<arith::SelectOp>(condition, onTrue.type, condition.value,
                                onTrue.value, onFalse.value);
}
Scalar select(Scalar condition, double onTrue, Scalar onFalse) {
  return select(condition, onFalse.body->number(onTrue, onFalse.type), onFalse);
}
Scalar select(Scalar condition, Scalar onTrue, double onFalse) {
  return select(condition, onTrue, onTrue.body->number(onFalse, onTrue.type));
}

Scalar maximum(Scalar x, Scalar y) {
  if (x.isFloat())
    return build<arith::MaximumFOp>(x, x.type, x.value, y.value);
  if (isUnsigned(x.type))
    return build<arith::MaxUIOp>(x, x.type, x.value, y.value);
  return build<arith::MaxSIOp>(x, x.type, x.value, y.value);
}
Scalar minimum(Scalar x, Scalar y) {
  if (x.isFloat())
    return build<arith::MinimumFOp>(x, x.type, x.value, y.value);
  if (isUnsigned(x.type))
    return build<arith::MinUIOp>(x, x.type, x.value, y.value);
  return build<arith::MinSIOp>(x, x.type, x.value, y.value);
}

Scalar isNan(Scalar x) { return x.isFloat() ? x != x : x.body->boolean(false); }
Scalar isInf(Scalar x) {
  return x.isFloat() ? abs(x) == std::numeric_limits<double>::infinity()
                     : x.body->boolean(false);
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

/// Rounding functions leave integers as they are.
template <typename Op>
static Scalar roundBy(Scalar x) {
  return x.isFloat() ? build<Op>(x, x.type, x.value) : x;
}

Scalar abs(Scalar x) {
  if (x.isFloat())
    return build<math::AbsFOp>(x, x.type, x.value);
  return isUnsigned(x.type) ? x : select(x < 0, -x, x);
}
Scalar ceil(Scalar x) { return roundBy<math::CeilOp>(x); }
Scalar floor(Scalar x) { return roundBy<math::FloorOp>(x); }
Scalar trunc(Scalar x) { return roundBy<math::TruncOp>(x); }
Scalar roundEven(Scalar x) { return roundBy<math::RoundEvenOp>(x); }

template <typename Op, typename... Rest>
static Scalar call(Scalar x, Rest... rest) {
  assert(x.isFloat() && "a function of floats");
  return build<Op>(x, x.type, x.value, rest.value...);
}

Scalar copySign(Scalar x, Scalar y) { return call<math::CopySignOp>(x, y); }
Scalar fma(Scalar x, Scalar y, Scalar z) { return call<math::FmaOp>(x, y, z); }
Scalar fmod(Scalar x, Scalar y) { return call<arith::RemFOp>(x, y); }
Scalar pow(Scalar x, Scalar y) { return call<math::PowFOp>(x, y); }
Scalar sqrt(Scalar x) { return call<math::SqrtOp>(x); }
Scalar rsqrt(Scalar x) { return call<math::RsqrtOp>(x); }
Scalar exp(Scalar x) { return call<math::ExpOp>(x); }
Scalar exp2(Scalar x) { return call<math::Exp2Op>(x); }
Scalar expm1(Scalar x) { return call<math::ExpM1Op>(x); }
Scalar log(Scalar x) { return call<math::LogOp>(x); }
Scalar log2(Scalar x) { return call<math::Log2Op>(x); }
Scalar log10(Scalar x) { return call<math::Log10Op>(x); }
Scalar log1p(Scalar x) { return call<math::Log1pOp>(x); }
Scalar erf(Scalar x) { return call<math::ErfOp>(x); }
Scalar sin(Scalar x) { return call<math::SinOp>(x); }
Scalar cos(Scalar x) { return call<math::CosOp>(x); }
Scalar tan(Scalar x) { return call<math::TanOp>(x); }
Scalar asin(Scalar x) { return call<math::AsinOp>(x); }
Scalar acos(Scalar x) { return call<math::AcosOp>(x); }
Scalar atan(Scalar x) { return call<math::AtanOp>(x); }
Scalar atan2(Scalar y, Scalar x) { return call<math::Atan2Op>(y, x); }
Scalar sinh(Scalar x) { return call<math::SinhOp>(x); }
Scalar cosh(Scalar x) { return call<math::CoshOp>(x); }
Scalar tanh(Scalar x) { return call<math::TanhOp>(x); }
Scalar asinh(Scalar x) { return call<math::AsinhOp>(x); }
Scalar acosh(Scalar x) { return call<math::AcoshOp>(x); }
Scalar atanh(Scalar x) { return call<math::AtanhOp>(x); }
Scalar sigmoid(Scalar x) { return 1 / (exp(-x) + 1); }

} // namespace gcompile::legalize
