//===- PointwiseLowering.cpp - operators that act on single elements ------===//
// Tables: names, overloads, the arguments that the body sees as scalars, and
// the body. Arguments are tensors, broadcast against each other, or numbers;
// None is a null Scalar.
#include "Lowering.h"
#include "SpecialFunctions.h"

#include "gcompile/ir/Promotion.h"

#include "mlir/IR/BuiltinTypes.h"

#include <cmath>

using namespace mlir;

namespace gcompile::legalize {

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

using Args = ArrayRef<Scalar>;

static Scalar add(Args x) {
  if (x[0].isBool())
    return x[0] | (x[1] & x[2]);
  return x[0] + x[1] * x[2];
}
static Scalar subtract(Args x) { return x[0] - x[1] * x[2]; }
static Scalar multiply(Scalar x, Scalar y) {
  return x.isBool() ? x & y : x * y;
}

/// Python's `%`: the sign of the divisor.
static Scalar floorRemainder(Scalar x, Scalar y) {
  Scalar remainder = remainderOf(x, y);
  if (isUnsigned(x.type))
    return remainder;
  return select((remainder != 0) & ((y < 0) ^ (remainder < 0)), remainder + y,
                remainder);
}

/// x to a positive power, by squaring.
static Scalar constantPower(Scalar x, int64_t exponent) {
  if (exponent == 1)
    return x;
  Scalar half = constantPower(x, exponent / 2);
  return exponent % 2 ? half * half * x : half * half;
}

static Scalar integerPower(Scalar x, Scalar y) {
  LoopBody &body = *x.body;
  int64_t bits = x.type.getIntOrFloatBitWidth();
  Scalar one = body.integer(1, x.type);
  SmallVector<Scalar> state = body.repeat(
      body.position(bits), {one, x, y},
      [&](Scalar, Args s) -> SmallVector<Scalar> {
        Scalar isOdd = (s[2] & one) != 0;
        return {select(isOdd, s[0] * s[1], s[0]), s[1] * s[1], s[2] / 2};
      });
  if (isUnsigned(x.type))
    return state[0];
  // A negative power is zero but for 1 and -1.
  Scalar ofMinusOne = select((y & one) != 0, -one, one);
  Scalar inverse = select(
      x == 1, one, select(x == -1, ofMinusOne, x.body->integer(0, x.type)));
  return select(y < 0, inverse, state[0]);
}

static Scalar power(Args args) {
  Scalar x = args[0], y = args[1];
  auto exponent = constantOf(y);
  bool isSmallInteger = exponent && *exponent == std::trunc(*exponent) &&
                        std::abs(*exponent) <= 16;
  if (!x.isFloat()) {
    if (!isSmallInteger || *exponent < 0)
      return integerPower(x, y);
    return *exponent == 0 ? x.body->integer(1, x.type)
                          : constantPower(x, *exponent);
  }
  if (isSmallInteger && *exponent == 0)
    return x.body->number(1, x.type);
  if (isSmallInteger)
    return *exponent > 0 ? constantPower(x, *exponent)
                         : 1 / constantPower(x, -*exponent);
  if (exponent == 0.5)
    return sqrt(x);
  if (exponent == -0.5)
    return rsqrt(x);
  return constantOf(x) == 2.0 ? exp2(y) : pow(x, y);
}

static Scalar where(Args x) {
  return select(cast(x[0], x[0].body->builder.getI1Type()), x[1], x[2]);
}
static Scalar clamp(Args x) {
  Scalar result = x[0];
  if (x[1])
    result = maximum(result, x[1]);
  return x.size() > 2 && x[2] ? minimum(result, x[2]) : result;
}
static Scalar clampMax(Args x) { return minimum(x[0], x[1]); }

static Scalar signOf(Scalar x) {
  if (isUnsigned(x.type))
    return cast(x != 0, x.type);
  return cast(x > 0, x.type) - cast(x < 0, x.type);
}
static Scalar signBit(Scalar x) {
  if (isUnsigned(x.type))
    return x.body->boolean(false);
  return x.isFloat() ? copySign(x.body->number(1, x.type), x) < 0 : x < 0;
}
static Scalar isFinite(Scalar x) {
  return x.isFloat() ? abs(x) < INFINITY : x.body->boolean(true);
}
static Scalar isPosInf(Scalar x) {
  return x.isFloat() ? x == INFINITY : x.body->boolean(false);
}
static Scalar isNegInf(Scalar x) {
  return x.isFloat() ? x == -INFINITY : x.body->boolean(false);
}
static Scalar angle(Scalar x) {
  return select(isNan(x), x, select(x < 0, M_PI, x.body->number(0, x.type)));
}
static Scalar sinc(Scalar x) {
  Scalar scaled = x * M_PI;
  return select(x == 0, 1, sin(scaled) / scaled);
}

/// A distance that the machine can shift by, and whether `y` is one.
static std::pair<Scalar, Scalar> shiftDistance(Scalar x, Scalar y) {
  Scalar isInside = y < x.type.getIntOrFloatBitWidth();
  if (!isUnsigned(y.type))
    isInside = isInside & (y >= 0);
  return {select(isInside, y, 0), isInside};
}
static Scalar shiftLeft(Scalar x, Scalar y) {
  auto [distance, isInside] = shiftDistance(x, y);
  return select(isInside, x << distance, 0);
}
static Scalar shiftRight(Scalar x, Scalar y) {
  auto [distance, isInside] = shiftDistance(x, y);
  // Only the sign is left.
  Scalar rest =
      isUnsigned(x.type) ? x.body->integer(0, x.type) : -cast(x < 0, x.type);
  return select(isInside, x >> distance, rest);
}

static Scalar fmax(Scalar x, Scalar y) {
  return select(isNan(x), y, select(isNan(y), x, maximum(x, y)));
}
static Scalar fmin(Scalar x, Scalar y) {
  return select(isNan(x), y, select(isNan(y), x, minimum(x, y)));
}
static Scalar hypot(Scalar x, Scalar y) {
  Scalar larger = maximum(abs(x), abs(y)), smaller = minimum(abs(x), abs(y));
  Scalar ratio = smaller / larger;
  Scalar length = larger * sqrt(ratio * ratio + 1);
  return select(isInf(x) | isInf(y), INFINITY,
                select(larger == 0, larger, length));
}
static Scalar heaviside(Args args) {
  Scalar x = args[0], atZero = args[1];
  if (x.isBool())
    return x | atZero;
  return select(x == 0, atZero, cast(x > 0, x.type));
}
static Scalar greatestDivisor(Scalar x, Scalar y) {
  // Fibonacci numbers need most steps: 1.44 a bit.
  int64_t steps = x.type.getIntOrFloatBitWidth() * 3 / 2;
  return x.body->repeat(x.body->position(steps), {abs(x), abs(y)},
                        [](Scalar, Args s) -> SmallVector<Scalar> {
                          Scalar isDone = s[1] == 0;
                          return {select(isDone, s[0], s[1]),
                                  remainderOf(s[0], s[1]) *
                                      cast(~isDone, s[0].type)};
                        })[0];
}
static Scalar leastMultiple(Scalar x, Scalar y) {
  return abs(x / greatestDivisor(x, y) * y);
}
static Scalar nextAfter(Scalar x, Scalar y) {
  Type bitsType =
      IntegerType::get(x.type.getContext(), x.type.getIntOrFloatBitWidth());
  Scalar bits = bitcast(x, bitsType);
  Scalar up = bitcast(bits + 1, x.type), down = bitcast(bits - 1, x.type);
  Scalar smallest = bitcast(x.body->integer(1, bitsType), x.type);
  Scalar moved = select((x < y) ^ (x < 0), up, down);
  moved = select(x == 0, copySign(smallest, y), moved);
  return select(isNan(x) | isNan(y), x + y, select(x == y, y, moved));
}
static Scalar logAddExp(Scalar x, Scalar y) {
  Scalar larger = maximum(x, y);
  Scalar sum = larger + log1p(exp(-abs(x - y)));
  return select(isInf(x) & (x == y), x, sum);
}
static Scalar logAddExp2(Scalar x, Scalar y) {
  Scalar larger = maximum(x, y);
  Scalar sum = larger + log1p(exp2(-abs(x - y))) * M_LOG2E;
  return select(isInf(x) & (x == y), x, sum);
}
static Scalar timesLog(Scalar x, Scalar y) {
  return select(isNan(y), y, select(x == 0, 0, x * log(y)));
}
static Scalar timesLog1p(Scalar x, Scalar y) {
  return select(isNan(y), y, select(x == 0, 0, x * log1p(y)));
}
static Scalar entropy(Scalar x) {
  Scalar outside = select(x == 0, 0, x.body->number(-INFINITY, x.type));
  return select(isNan(x), x, select(x > 0, -x * log(x), outside));
}

//===----------------------------------------------------------------------===//
// Activations and their gradients (gradient first, as in the schemas)
//===----------------------------------------------------------------------===//

static Scalar relu(Scalar x) {
  return x.isBool() ? x : maximum(x, x.body->number(0, x.type));
}
static Scalar elu(Args args) {
  auto [x, alpha, scale, inputScale] =
      std::tuple(args[0], args[1], args[2], args[3]);
  return select(x > 0, x * scale, expm1(x * inputScale) * (alpha * scale));
}
static Scalar selu(Scalar x) {
  LoopBody &b = *x.body;
  return elu({x, b.number(1.6732632423543772848, x.type),
              b.number(1.0507009873554804934, x.type), b.number(1, x.type)});
}
static Scalar logit(Args x) {
  Scalar z = x[1] ? minimum(maximum(x[0], x[1]), 1 - x[1]) : x[0];
  return log(z / (1 - z));
}
static Scalar hardSigmoidBackward(Args args) {
  Scalar grad = args[0], x = args[1];
  return select((x > -3) & (x < 3), grad / 6, 0);
}
static Scalar hardSwishBackward(Args args) {
  Scalar grad = args[0], x = args[1];
  return select(x <= -3, 0, select(x < 3, grad * (x / 3 + 0.5), grad));
}
static Scalar mishBackward(Args args) {
  Scalar grad = args[0], x = args[1];
  Scalar t = tanh(log1p(exp(x)));
  return grad * (t + x * (1 - t * t) * sigmoid(x));
}
static Scalar leakyRelu(Args x) { return select(x[0] > 0, x[0], x[0] * x[1]); }
static Scalar threshold(Args x) { return select(x[0] <= x[1], x[2], x[0]); }
static Scalar hardTanhBackward(Args x) {
  return select((x[1] <= x[2]) | (x[1] >= x[3]), 0, x[0]);
}
static Scalar leakyReluBackward(Args x) {
  return select(x[1] > 0, x[0], x[0] * x[2]);
}
static Scalar softplusBackward(Args x) {
  Scalar scaled = x[1] * x[2];
  return select(scaled > x[3], x[0], x[0] * sigmoid(scaled));
}
static Scalar gelu(Scalar x, bool isTanh) {
  if (!isTanh)
    return x * 0.5 * (erf(x * M_SQRT1_2) + 1);
  Scalar inner = (x + x * x * x * 0.044715) * (M_SQRT2 * M_2_SQRTPI * 0.5);
  return x * 0.5 * (tanh(inner) + 1);
}

//===----------------------------------------------------------------------===//
// The tables
//===----------------------------------------------------------------------===//

namespace {
/// The type in which arguments arrive, widened if it is half precision.
enum class Compute {
  Result,   ///< that of the result
  Operands, ///< that which the arguments promote to
};

struct UnaryOp {
  const char *name; ///< aten.NAME.default(self)
  Scalar (*body)(Scalar);
};

struct BinaryOp {
  const char *name;
  const char *overloads; ///< with spaces between them
  Scalar (*body)(Scalar, Scalar);
};

struct PointwiseOp {
  const char *name;
  const char *arguments; ///< likewise; `?` before one that keeps its type
  Scalar (*body)(Args);
};
} // namespace

static const UnaryOp unaryOps[] = {
    {"abs", abs},
    {"acos", acos},
    {"acosh", acosh},
    {"angle", angle},
    {"asin", asin},
    {"asinh", asinh},
    {"atan", atan},
    {"atanh", atanh},
    {"bitwise_not", [](Scalar x) { return ~x; }},
    {"ceil", ceil},
    {"cos", cos},
    {"cosh", cosh},
    {"digamma", digamma},
    {"deg2rad", [](Scalar x) { return x * (M_PI / 180); }},
    {"erf", erf},
    {"erfc", erfc},
    {"erfinv", erfInverse},
    {"exp", exp},
    {"exp2", exp2},
    {"expm1", expm1},
    {"floor", floor},
    {"frac", [](Scalar x) { return x - trunc(x); }},
    {"i0", besselI0},
    {"lgamma", logGamma},
    {"log", log},
    {"log10", log10},
    {"log1p", log1p},
    {"log2", log2},
    {"neg", [](Scalar x) { return -x; }},
    {"positive", [](Scalar x) { return x; }},
    {"rad2deg", [](Scalar x) { return x * (180 / M_PI); }},
    {"reciprocal", [](Scalar x) { return 1 / x; }},
    {"relu", relu},
    {"round", roundEven},
    {"rsqrt", rsqrt},
    {"selu", selu},
    {"sgn", signOf},
    {"sigmoid", sigmoid},
    {"sign", signOf},
    {"sin", sin},
    {"sinc", sinc},
    {"sinh", sinh},
    {"special_bessel_j0", besselJ0},
    {"special_bessel_j1", besselJ1},
    {"special_bessel_y0", besselY0},
    {"special_bessel_y1", besselY1},
    {"special_entr", entropy},
    {"special_erfcx", scaledErfc},
    {"special_i0e", scaledBesselI0},
    {"special_i1", besselI1},
    {"special_i1e", scaledBesselI1},
    {"special_modified_bessel_i0", besselI0},
    {"special_modified_bessel_i1", besselI1},
    {"special_modified_bessel_k0", besselK0},
    {"special_modified_bessel_k1", besselK1},
    {"special_ndtri", normalQuantile},
    {"sqrt", sqrt},
    {"tan", tan},
    {"tanh", tanh},
    {"trunc", trunc},
};

/// They give bools.
static const UnaryOp unaryPredicates[] = {
    {"isfinite", isFinite}, {"isinf", isInf},
    {"isnan", isNan},       {"isneginf", isNegInf},
    {"isposinf", isPosInf}, {"logical_not", [](Scalar x) { return x == 0; }},
    {"signbit", signBit},
};

static const BinaryOp binaryOps[] = {
    {"__lshift__", "Tensor Scalar", shiftLeft},
    {"__rshift__", "Tensor Scalar", shiftRight},
    {"atan2", "default", atan2},
    {"bitwise_and", "Tensor Scalar Scalar_Tensor",
     [](Scalar x, Scalar y) { return x & y; }},
    {"bitwise_left_shift", "Tensor Tensor_Scalar Scalar_Tensor", shiftLeft},
    {"bitwise_or", "Tensor Scalar Scalar_Tensor",
     [](Scalar x, Scalar y) { return x | y; }},
    {"bitwise_right_shift", "Tensor Tensor_Scalar Scalar_Tensor", shiftRight},
    {"bitwise_xor", "Tensor Scalar Scalar_Tensor",
     [](Scalar x, Scalar y) { return x ^ y; }},
    {"copysign", "Tensor Scalar", copySign},
    {"div", "Tensor Scalar", [](Scalar x, Scalar y) { return x / y; }},
    {"floor_divide", "default Scalar", floorDivide},
    {"fmax", "default", fmax},
    {"fmin", "default", fmin},
    {"fmod", "Tensor Scalar", remainderOf},
    {"gcd", "default", greatestDivisor},
    {"hypot", "default", hypot},
    {"igamma", "default", lowerGamma},
    {"igammac", "default", upperGamma},
    {"lcm", "default", leastMultiple},
    {"ldexp", "Tensor", [](Scalar x, Scalar y) { return x * exp2(y); }},
    {"logaddexp", "default", logAddExp},
    {"logaddexp2", "default", logAddExp2},
    {"maximum", "default", maximum},
    {"minimum", "default", minimum},
    {"mul", "Tensor Scalar", multiply},
    {"remainder", "Tensor Scalar Scalar_Tensor", floorRemainder},
    {"special_zeta", "default self_scalar other_scalar", zeta},
    {"special_xlog1py", "default self_scalar other_scalar", timesLog1p},
    {"xlogy", "Tensor Scalar_Self Scalar_Other", timesLog},
};

/// They give bools.
static const BinaryOp binaryPredicates[] = {
    {"eq", "Tensor Scalar", [](Scalar x, Scalar y) { return x == y; }},
    {"ge", "Tensor Scalar", [](Scalar x, Scalar y) { return x >= y; }},
    {"gt", "Tensor Scalar", [](Scalar x, Scalar y) { return x > y; }},
    {"le", "Tensor Scalar", [](Scalar x, Scalar y) { return x <= y; }},
    {"logical_and", "default",
     [](Scalar x, Scalar y) { return (x != 0) & (y != 0); }},
    {"logical_or", "default",
     [](Scalar x, Scalar y) { return (x != 0) | (y != 0); }},
    {"logical_xor", "default",
     [](Scalar x, Scalar y) { return (x != 0) ^ (y != 0); }},
    {"lt", "Tensor Scalar", [](Scalar x, Scalar y) { return x < y; }},
    {"ne", "Tensor Scalar", [](Scalar x, Scalar y) { return x != y; }},
};

static const PointwiseOp pointwiseOps[] = {
    {"aten.add.Tensor", "self other alpha", add},
    {"aten.add.Scalar", "self other alpha", add},
    {"aten.sub.Tensor", "self other alpha", subtract},
    {"aten.sub.Scalar", "self other alpha", subtract},
    {"aten.rsub.Tensor", "other self alpha", subtract},
    {"aten.rsub.Scalar", "other self alpha", subtract},
    {"aten.pow.Tensor_Tensor", "self exponent", power},
    {"aten.pow.Tensor_Scalar", "self exponent", power},
    {"aten.pow.Scalar", "self exponent", power},
    {"aten.heaviside.default", "self values", heaviside},
    {"aten.where.self", "?condition self other", where},
    {"aten.where.Scalar", "?condition self other", where},
    {"aten.where.ScalarSelf", "?condition self other", where},
    {"aten.where.ScalarOther", "?condition self other", where},
    {"aten.clamp.default", "self min max", clamp},
    {"aten.clamp.Tensor", "self min max", clamp},
    {"aten.clamp_min.default", "self min", clamp},
    {"aten.clamp_min.Tensor", "self min", clamp},
    {"aten.clamp_max.default", "self max", clampMax},
    {"aten.clamp_max.Tensor", "self max", clampMax},
    {"aten.hardtanh.default", "self min_val max_val", clamp},
    {"aten.leaky_relu.default", "self negative_slope", leakyRelu},
    {"aten.elu.default", "self alpha scale input_scale", elu},
    {"aten.threshold.default", "self threshold value", threshold},
    {"aten.logit.default", "self eps", logit},
    {"aten.mish_backward.default", "grad_output self", mishBackward},
    {"aten.hardsigmoid_backward.default", "grad_output self",
     hardSigmoidBackward},
    {"aten.hardswish_backward.default", "grad_output self", hardSwishBackward},
    {"aten.hardtanh_backward.default", "grad_output self min_val max_val",
     hardTanhBackward},
    {"aten.leaky_relu_backward.default", "grad_output self negative_slope",
     leakyReluBackward},
    {"aten.softplus_backward.default", "grad_output self beta threshold",
     softplusBackward},
    {"aten.special_airy_ai.default", "x", [](Args x) { return airyAi(x[0]); }},
    {"aten.special_spherical_bessel_j0.default", "x",
     [](Args x) { return sphericalBesselJ0(x[0]); }},
    {"aten.special_scaled_modified_bessel_k0.default", "x",
     [](Args x) { return scaledBesselK0(x[0]); }},
    {"aten.special_scaled_modified_bessel_k1.default", "x",
     [](Args x) { return scaledBesselK1(x[0]); }},
    {"prims.fma.default", "self other third",
     [](Args x) { return fma(x[0], x[1], x[2]); }},
};

/// aten.special_NAME.default(x, n); shifted_NAME takes [0, 1] to [-1, 1] first.
static const BinaryOp polynomials[] = {
    {"chebyshev_polynomial_t", "default", chebyshevT},
    {"chebyshev_polynomial_u", "default", chebyshevU},
    {"chebyshev_polynomial_v", "default", chebyshevV},
    {"chebyshev_polynomial_w", "default", chebyshevW},
    {"hermite_polynomial_h", "default", hermiteH},
    {"hermite_polynomial_he", "default", hermiteHe},
    {"laguerre_polynomial_l", "default", laguerreL},
    {"legendre_polynomial_p", "default", legendreP},
    {"shifted_chebyshev_polynomial_t", "default",
     [](Scalar x, Scalar n) { return chebyshevT(x * 2 - 1, n); }},
    {"shifted_chebyshev_polynomial_u", "default",
     [](Scalar x, Scalar n) { return chebyshevU(x * 2 - 1, n); }},
    {"shifted_chebyshev_polynomial_v", "default",
     [](Scalar x, Scalar n) { return chebyshevV(x * 2 - 1, n); }},
    {"shifted_chebyshev_polynomial_w", "default",
     [](Scalar x, Scalar n) { return chebyshevW(x * 2 - 1, n); }},
};

/// Arguments of a call as the scalars a body sees.
static Tensor lowerBody(const aten::Call &call, LoweringBuilder &b,
                        ArrayRef<StringRef> arguments, Compute compute,
                        function_ref<Scalar(Args)> body) {
  Type common = compute == Compute::Result ? resultElement(call)
                                           : aten::promotedElementType(call);
  SmallVector<Read> inputs;
  for (StringRef name : arguments)
    if (Value value = call.value(name.ltrim('?')))
      inputs.push_back(b.tensor(value));
  return b.pointwise(resultShape(call), resultElement(call), inputs,
                     [&](LoopBody &loop, Args elements) {
                       SmallVector<Scalar> scalars;
                       for (StringRef name : arguments) {
                         bool keepsType = name.consume_front("?");
                         Scalar &scalar = scalars.emplace_back();
                         if (call.value(name)) {
                           scalar = elements.front();
                           elements = elements.drop_front();
                           if (!keepsType)
                             scalar = widen(cast(scalar, common));
                         } else if (!call.isNone(name)) {
                           scalar = loop.literal(call.literal(name),
                                                 computeType(common));
                         }
                       }
                       return body(scalars);
                     });
}

//===----------------------------------------------------------------------===//
// Operators with other arguments
//===----------------------------------------------------------------------===//

static Lowered lowerGelu(const aten::Call &call, LoweringBuilder &b) {
  bool isTanh = call.string("approximate") == "tanh";
  return lowerBody(call, b, {"self"}, Compute::Result,
                   [&](Args x) { return gelu(x[0], isTanh); });
}

static Lowered lowerPolygamma(const aten::Call &call, LoweringBuilder &b) {
  return lowerBody(call, b, {"self"}, Compute::Result,
                   [&](Args x) { return polygamma(call.integer("n"), x[0]); });
}

static Lowered lowerDivMode(const aten::Call &call, LoweringBuilder &b) {
  StringRef mode =
      call.isNone("rounding_mode") ? "" : call.string("rounding_mode");
  return lowerBody(call, b, {"self", "other"}, Compute::Result, [&](Args x) {
    if (mode == "floor")
      return floorDivide(x[0], x[1]);
    Scalar quotient = x[0] / x[1];
    return mode == "trunc" ? trunc(quotient) : quotient;
  });
}

static Lowered lowerRoundDecimals(const aten::Call &call, LoweringBuilder &b) {
  int64_t decimals = call.integer("decimals");
  double scale = std::pow(10.0, std::abs(decimals));
  return lowerBody(call, b, {"self"}, Compute::Result, [&](Args x) {
    return decimals < 0 ? roundEven(x[0] / scale) * scale
                        : roundEven(x[0] * scale) / scale;
  });
}

static Lowered lowerNanToNum(const aten::Call &call, LoweringBuilder &b) {
  auto type = dyn_cast<FloatType>(resultElement(call));
  if (!type)
    return b.tensor(call.value("self"));
  APFloat largest = APFloat::getLargest(type.getFloatSemantics());
  bool losesInfo;
  largest.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                  &losesInfo);
  double limit = largest.convertToDouble();
  double forNan = call.maybeNumber("nan").value_or(0);
  double forPosInf = call.maybeNumber("posinf").value_or(limit);
  double forNegInf = call.maybeNumber("neginf").value_or(-limit);
  return lowerBody(call, b, {"self"}, Compute::Result, [&](Args x) {
    Scalar result = select(x[0] == INFINITY, forPosInf, x[0]);
    result = select(x[0] == -INFINITY, forNegInf, result);
    return select(isNan(x[0]), forNan, result);
  });
}

static Lowered lowerEluBackward(const aten::Call &call, LoweringBuilder &b) {
  bool isResult = call.flag("is_result");
  return lowerBody(
      call, b,
      {"grad_output", "alpha", "scale", "input_scale", "self_or_result"},
      Compute::Result, [&](Args x) {
        auto [grad, alpha, scale, inputScale, y] =
            std::tuple(x[0], x[1], x[2], x[3], x[4]);
        Scalar negative = isResult ? grad * inputScale * (y + alpha * scale)
                                   : grad * inputScale * (alpha * scale) *
                                         exp(y * inputScale);
        return select(y <= 0, negative, grad * scale);
      });
}

/// The next number of the result's own type: nothing is widened.
static Lowered lowerNextAfter(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  return b.pointwise(
      resultShape(call), element,
      {b.tensor(call.value("self")), b.tensor(call.value("other"))},
      [&](LoopBody &, Args x) {
        return nextAfter(cast(x[0], element), cast(x[1], element));
      });
}

/// Conversions that the user asked for: always exact, never elided.
static Lowered lowerCast(const aten::Call &call, LoweringBuilder &b) {
  return b.cast(b.tensor(call.op->getOperand(0)), resultElement(call));
}

static Lowered lowerCopy(const aten::Call &call, LoweringBuilder &b) {
  return b.cast(b.expand(b.tensor(call.value("src")), resultShape(call)),
                resultElement(call));
}

static void addUnary(Registry &registry, ArrayRef<UnaryOp> ops,
                     Compute compute) {
  for (const UnaryOp &op : ops)
    registry[("aten." + Twine(op.name) + ".default").str()] =
        [&op, compute](const aten::Call &call, LoweringBuilder &b) {
          return Lowered(lowerBody(call, b, {"self"}, compute,
                                   [&](Args x) { return op.body(x[0]); }));
        };
}

static void addBinary(Registry &registry, StringRef prefix,
                      ArrayRef<BinaryOp> ops,
                      std::array<StringRef, 2> arguments, Compute compute) {
  for (const BinaryOp &op : ops) {
    SmallVector<StringRef> overloads;
    StringRef(op.overloads).split(overloads, ' ');
    for (StringRef overload : overloads)
      registry[(prefix + op.name + "." + overload).str()] =
          [&op, arguments, compute](const aten::Call &call,
                                    LoweringBuilder &b) {
            return Lowered(lowerBody(call, b, arguments, compute, [&](Args x) {
              return op.body(x[0], x[1]);
            }));
          };
  }
}

void addPointwiseLowerings(Registry &registry) {
  addUnary(registry, unaryOps, Compute::Result);
  addUnary(registry, unaryPredicates, Compute::Operands);
  addBinary(registry, "aten.", binaryOps, {"self", "other"}, Compute::Result);
  addBinary(registry, "aten.", binaryPredicates, {"self", "other"},
            Compute::Operands);
  addBinary(registry, "aten.special_", polynomials, {"x", "n"},
            Compute::Result);
  for (const PointwiseOp &op : pointwiseOps) {
    SmallVector<StringRef> arguments;
    StringRef(op.arguments).split(arguments, ' ');
    registry[op.name] = [&op, arguments](const aten::Call &call,
                                         LoweringBuilder &b) {
      return Lowered(lowerBody(call, b, arguments, Compute::Result, op.body));
    };
  }
  registry["aten.gelu.default"] = lowerGelu;
  registry["aten.polygamma.default"] = lowerPolygamma;
  registry["aten.div.Tensor_mode"] = lowerDivMode;
  registry["aten.div.Scalar_mode"] = lowerDivMode;
  registry["aten.round.decimals"] = lowerRoundDecimals;
  registry["aten.nan_to_num.default"] = lowerNanToNum;
  registry["aten.elu_backward.default"] = lowerEluBackward;
  registry["aten.nextafter.default"] = lowerNextAfter;
  registry["aten._to_copy.default"] = lowerCast;
  registry["aten.copy.default"] = lowerCopy;
}

} // namespace gcompile::legalize
