//===- SpecialFunctions.cpp - gamma, error, Bessel and their relatives ----===//
// Chebyshev series of what is left of a function once its growth is divided
// out, recurrences, and asymptotic series where these are exact enough.
#include "SpecialFunctions.h"

#include <cmath>
#include <limits>

using namespace mlir;

namespace gcompile::legalize {

#include "ChebyshevTables.inc"

static const double kNan = std::numeric_limits<double>::quiet_NaN();

/// The series at `t` in [-1, 1], by Clenshaw's recurrence. Terms that float32
/// would not show are left out.
static Scalar chebyshev(Scalar t, ArrayRef<double> coefficients) {
  double largest = 0;
  for (double c : coefficients)
    largest = std::max(largest, std::abs(c));
  if (t.type.isF32())
    while (std::abs(coefficients.back()) < 1e-9 * largest)
      coefficients = coefficients.drop_back();
  LoopBody &body = *t.body;
  Scalar twice = t + t;
  Scalar next = body.number(0, t.type), afterNext = next;
  for (double c : llvm::reverse(coefficients.drop_front())) {
    Scalar sum = twice * next - afterNext + c;
    afterNext = next;
    next = sum;
  }
  return t * next - afterNext + coefficients.front();
}

/// Moves [low, high] to [-1, 1]. What lies outside, and belongs to another
/// series, is moved to the nearer end: its sum must not overflow.
static Scalar toUnit(Scalar x, double low, double high) {
  LoopBody &body = *x.body;
  Scalar t = (x - low) * (2 / (high - low)) - 1;
  return minimum(maximum(t, body.number(-1, t.type)), body.number(1, t.type));
}

//===----------------------------------------------------------------------===//
// Error functions
//===----------------------------------------------------------------------===//

/// exp(x^2) erfc(x) for x >= 0.
static Scalar scaledErfcOfPositive(Scalar x) {
  // At infinity the quotient would be NaN.
  Scalar bounded = minimum(x, x.body->number(1e15, x.type));
  Scalar t = (bounded - 3.75) / (bounded + 3.75);
  return chebyshev(t, erfcx) / (x * 2 + 1);
}

Scalar scaledErfc(Scalar x) {
  Scalar tail = scaledErfcOfPositive(abs(x));
  return select(x < 0, exp(x * x) * 2 - tail, tail);
}

Scalar erfc(Scalar x) {
  Scalar tail = exp(-(x * x)) * scaledErfcOfPositive(abs(x));
  return select(x < 0.5, 1 - erf(x), tail);
}

/// erfinv(x) / x, where `w` is -log(1 - x^2).
static Scalar erfInverseRatio(Scalar w) {
  Scalar root = sqrt(w);
  Scalar center = chebyshev(toUnit(w, 0, 5), erfinvCenter);
  Scalar tail = chebyshev(toUnit(root, 2.2, 6.4), erfinvTail);
  Scalar farTail = chebyshev(toUnit(root, 6.4, 27.5), erfinvFarTail);
  return select(w < 5, center, select(root < 6.4, tail, farTail));
}

Scalar erfInverse(Scalar x) {
  Scalar magnitude = abs(x);
  Scalar w = -(log1p(-magnitude) + log1p(magnitude));
  Scalar atEnd = copySign(x.body->number(INFINITY, x.type), x);
  Scalar result = select(magnitude == 1, atEnd, x * erfInverseRatio(w));
  return select(magnitude > 1, kNan, result);
}

Scalar normalQuantile(Scalar p) {
  // sqrt(2) erfinv(2 p - 1), where 1 - (2 p - 1)^2 = 4 p (1 - p) without loss.
  Scalar x = p * 2 - 1;
  Scalar w = -(log(p * 4) + log1p(-p));
  w = maximum(w, x.body->number(0, x.type));
  Scalar result = x * erfInverseRatio(w) * M_SQRT2;
  result = select(p == 0, -INFINITY, result);
  result = select(p == 1, INFINITY, result);
  return select((p < 0) | (p > 1), kNan, result);
}

//===----------------------------------------------------------------------===//
// Gamma functions
//===----------------------------------------------------------------------===//

/// log gamma of x > 0.
static Scalar logGammaOfPositive(Scalar x) {
  // Around its zeros at 1 and 2.
  Scalar isBelow = x < 0.75;
  Scalar shifted = select(isBelow, x + 1, x);
  Scalar near = chebyshev(toUnit(shifted, 0.75, 3.25), logGammaRest);
  near = near * (shifted - 1) * (shifted - 2);
  near = select(isBelow, near - log(x), near);
  // Stirling's series at x + 5, and the factors on the way there.
  Scalar isLarge = x > 1e3;
  Scalar product = x * (x + 1) * (x + 2) * (x + 3) * (x + 4);
  Scalar y = select(isLarge, x, x + 5);
  Scalar z = 1 / (y * y), series = x.body->number(0, x.type);
  for (double c : {-691.0 / 360360, 1.0 / 1188, -1.0 / 1680, 1.0 / 1260,
                   -1.0 / 360, 1.0 / 12})
    series = series * z + c;
  Scalar far = (y - 0.5) * log(y) - y + 0.5 * std::log(2 * M_PI) + series / y;
  far = far - select(isLarge, 0, log(product));
  far = select(x == INFINITY, INFINITY, far);
  return select(x < 3.25, near, far);
}

/// The distance to the nearest integer, which sin(pi x) depends on.
static Scalar distanceToInteger(Scalar x) { return x - roundEven(x); }

Scalar logGamma(Scalar x) {
  // Reflection: gamma(x) gamma(1 - x) = pi / sin(pi x).
  Scalar isReflected = x <= 0;
  Scalar positive = logGammaOfPositive(select(isReflected, 1 - x, x));
  Scalar sine = abs(sin(distanceToInteger(x) * M_PI));
  Scalar reflected =
      select(sine == 0, INFINITY, std::log(M_PI) - log(sine) - positive);
  reflected = select(x == -INFINITY, INFINITY, reflected);
  return select(isReflected, reflected, positive);
}

Scalar digamma(Scalar x) {
  // Reflection: digamma(1 - x) - digamma(x) = pi cot(pi x).
  Scalar isReflected = x < 0;
  Scalar y = select(isReflected, 1 - x, x);
  Scalar sum = x.body->number(0, x.type);
  for (int i = 0; i < 10; ++i) {
    Scalar isSmall = y < 10;
    sum = sum - select(isSmall, 1 / y, 0);
    y = select(isSmall, y + 1, y);
  }
  // Bernoulli numbers over 2 k.
  Scalar z = 1 / (y * y);
  Scalar series = x.body->number(0, x.type);
  for (double b : {1.0 / 12, -691.0 / 32760, 1.0 / 132, -1.0 / 240, 1.0 / 252,
                   -1.0 / 120, 1.0 / 12})
    series = series * z + b;
  Scalar positive = sum + log(y) - 0.5 / y - series * z;
  Scalar distance = distanceToInteger(x);
  Scalar reflected = positive - M_PI / tan(distance * M_PI);
  reflected = select(distance == 0, kNan, reflected);
  Scalar result = select(isReflected, reflected, positive);
  Scalar pole = -copySign(x.body->number(INFINITY, x.type), x);
  return select(x == 0, pole, result);
}

Scalar zeta(Scalar x, Scalar q) {
  LoopBody &body = *x.body;
  // Ten terms one by one, and those of negative places.
  Scalar count = toI64(select(q < 0, ceil(-q), 0)) + 10;
  SmallVector<Scalar> sums =
      body.repeat(count, {body.number(0, x.type), q},
                  [&](Scalar, ArrayRef<Scalar> s) -> SmallVector<Scalar> {
                    return {s[0] + pow(s[1], -x), s[1] + 1};
                  });
  // The rest by Euler and Maclaurin: Bernoulli numbers over factorials.
  Scalar sum = sums[0], a = sums[1];
  Scalar power = pow(a, -x);
  sum = sum + power * a / (x - 1) + power * 0.5;
  Scalar term = power * x / a;
  double k = 0;
  for (double inverse :
       {12.0, -720.0, 30240.0, -1209600.0, 47900160.0, -1307674368000.0 / 691,
        74724249600.0, -10670622842880000.0 / 3617,
        5109094217170944000.0 / 43867}) {
    sum = sum + term / inverse;
    term = term * ((x + (k + 1)) / a) * ((x + (k + 2)) / a);
    k += 2;
  }
  Scalar isPole = (q <= 0) & (q == floor(q));
  sum = select((q <= 0) & (x != floor(x)), kNan, sum);
  sum = select(isPole | (x == 1), INFINITY, sum);
  return select(x < 1, kNan, sum);
}

Scalar polygamma(int64_t n, Scalar x) {
  if (n == 0)
    return digamma(x);
  double factorial = std::tgamma(n + 1.0);
  Scalar sum = zeta(x.body->number(n + 1, x.type), x);
  return sum * (n % 2 ? factorial : -factorial);
}

/// Both incomplete gamma functions, in float64: their factors cancel.
static Scalar incompleteGamma(Scalar a, Scalar x, bool upper) {
  Type type = a.type, f64 = a.body->builder.getF64Type();
  a = cast(a, f64);
  x = cast(x, f64);
  LoopBody &body = *a.body;
  Scalar factor = exp(a * log(x) - x - logGamma(a));
  // Terms needed where both arguments are alike: some deviations.
  Scalar numTerms = toI64(sqrt(minimum(a, body.number(1e8, f64))) * 8) + 100;
  auto series = [&]() -> Scalar {
    // x^k / (a (a + 1) ... (a + k))
    Scalar first = 1 / a;
    SmallVector<Scalar> state =
        body.repeat(numTerms, {first, first, a},
                    [&](Scalar, ArrayRef<Scalar> s) -> SmallVector<Scalar> {
                      Scalar next = s[2] + 1, term = s[1] * x / next;
                      return {s[0] + term, term, next};
                    });
    Scalar lower = factor * state[0];
    return upper ? 1 - lower : lower;
  };
  auto fraction = [&]() -> Scalar {
    // Lentz's algorithm for the continued fraction of the upper one.
    Scalar b0 = x + 1 - a, d0 = 1 / b0;
    Scalar c0 = body.number(1e300, f64), zero = body.number(0, f64);
    SmallVector<Scalar> state =
        body.repeat(numTerms, {d0, b0, c0, d0, zero},
                    [&](Scalar, ArrayRef<Scalar> s) -> SmallVector<Scalar> {
                      Scalar i = s[4] + 1, an = -(i * (i - a));
                      Scalar b = s[1] + 2;
                      Scalar d = 1 / (an * s[3] + b), c = b + an / s[2];
                      return {s[0] * c * d, b, c, d, i};
                    });
    Scalar rest = factor * state[0];
    return upper ? rest : 1 - rest;
  };
  Scalar result = body.ifElse((x <= 1) | (x <= a), series, fraction);
  result = select(x == 0, upper ? 1 : 0, result);
  result = select(x == INFINITY, upper ? 0 : 1, result);
  result = select(a == INFINITY, upper ? 1 : 0, result);
  result = select(a == 0, upper ? 0 : 1, result);
  Scalar isUndefined = (x < 0) | (a < 0) | ((a == 0) & (x == 0)) |
                       ((a == INFINITY) & (x == INFINITY)) | isNan(x) |
                       isNan(a);
  return cast(select(isUndefined, kNan, result), type);
}

Scalar lowerGamma(Scalar a, Scalar x) { return incompleteGamma(a, x, false); }
Scalar upperGamma(Scalar a, Scalar x) { return incompleteGamma(a, x, true); }

//===----------------------------------------------------------------------===//
// Modified Bessel functions
//===----------------------------------------------------------------------===//

Scalar scaledBesselI0(Scalar x) {
  x = abs(x);
  Scalar small = chebyshev(toUnit(x, 0, 8), i0Small);
  Scalar large = chebyshev(toUnit(16 / x, 0, 2), i0Large) / sqrt(x);
  return select(x <= 8, small, large);
}
Scalar scaledBesselI1(Scalar x) {
  Scalar y = abs(x);
  Scalar small = chebyshev(toUnit(y, 0, 8), i1Small) * y;
  Scalar large = chebyshev(toUnit(16 / y, 0, 2), i1Large) / sqrt(y);
  return copySign(select(y <= 8, small, large), x);
}
Scalar besselI0(Scalar x) { return exp(abs(x)) * scaledBesselI0(x); }
Scalar besselI1(Scalar x) { return exp(abs(x)) * scaledBesselI1(x); }

/// The series for x <= 2 around the logarithm, that for more without its decay,
/// and the special values.
static Scalar besselK(Scalar x, Scalar small, Scalar large) {
  Scalar result = select(x <= 2, small, large);
  result = select(x == 0, INFINITY, result);
  return select(x < 0, kNan, result);
}
static Scalar smallK0(Scalar x) {
  return chebyshev(toUnit(x * x, 0, 4), k0Small) - log(x / 2) * besselI0(x);
}
static Scalar smallK1(Scalar x) {
  return chebyshev(toUnit(x * x, 0, 4), k1Small) / x + log(x / 2) * besselI1(x);
}
static Scalar largeK(Scalar x, ArrayRef<double> table) {
  return chebyshev(toUnit(4 / x, 0, 2), table) / sqrt(x);
}
Scalar besselK0(Scalar x) {
  return besselK(x, smallK0(x), exp(-x) * largeK(x, k0Large));
}
Scalar besselK1(Scalar x) {
  return besselK(x, smallK1(x), exp(-x) * largeK(x, k1Large));
}
Scalar scaledBesselK0(Scalar x) {
  return besselK(x, exp(x) * smallK0(x), largeK(x, k0Large));
}
Scalar scaledBesselK1(Scalar x) {
  return besselK(x, exp(x) * smallK1(x), largeK(x, k1Large));
}

//===----------------------------------------------------------------------===//
// Bessel and Airy functions
//===----------------------------------------------------------------------===//

namespace {
/// J and Y of one order for x > 8: a decaying oscillation.
struct Oscillation {
  Scalar cosine, sine, p, q, scale;

  Oscillation(Scalar x, int order)
      : cosine(x), sine(x), p(x), q(x), scale(sqrt(M_2_PI / x)) {
    Scalar angle = x - (2 * order + 1) * M_PI_4;
    Scalar t = toUnit(64 / (x * x), 0, 1);
    cosine = cos(angle);
    sine = sin(angle);
    p = chebyshev(t, order == 0 ? ArrayRef<double>(p0) : p1);
    q = chebyshev(t, order == 0 ? ArrayRef<double>(q0) : q1) / x;
  }
  Scalar j() const { return scale * (p * cosine - q * sine); }
  Scalar y() const { return scale * (p * sine + q * cosine); }
};
} // namespace

static Scalar smallSeries(Scalar x, ArrayRef<double> table) {
  return chebyshev(toUnit(x * x, 0, 64), table);
}
/// Nothing oscillates at infinity.
static Scalar zeroAtInfinity(Scalar x, Scalar value) {
  return select(isInf(x), 0, value);
}

Scalar besselJ0(Scalar x) {
  x = abs(x);
  return select(x <= 8, smallSeries(x, j0Small),
                zeroAtInfinity(x, Oscillation(x, 0).j()));
}
Scalar besselJ1(Scalar x) {
  Scalar y = abs(x);
  Scalar value = select(y <= 8, y * smallSeries(y, j1Small),
                        zeroAtInfinity(y, Oscillation(y, 1).j()));
  return select(x < 0, -value, value);
}
static Scalar besselY(Scalar x, Scalar small, Scalar large) {
  Scalar result = select(x <= 8, small, zeroAtInfinity(x, large));
  result = select(x == 0, -INFINITY, result);
  return select(x < 0, kNan, result);
}
Scalar besselY0(Scalar x) {
  Scalar small = smallSeries(x, y0Small) + log(x) * besselJ0(x) * M_2_PI;
  return besselY(x, small, Oscillation(x, 0).y());
}
Scalar besselY1(Scalar x) {
  Scalar small =
      x * smallSeries(x, y1Small) + (log(x) * besselJ1(x) - 1 / x) * M_2_PI;
  return besselY(x, small, Oscillation(x, 1).y());
}

Scalar sphericalBesselJ0(Scalar x) {
  return select(x == 0, 1, zeroAtInfinity(x, sin(x) / x));
}

Scalar airyAi(Scalar x) {
  Scalar z = abs(x), root = sqrt(z);
  Scalar phase = z * root * (2.0 / 3);
  double phaseAt2 = 4.0 / 3 * M_SQRT2;
  Scalar quarter = sqrt(root);
  Scalar center = chebyshev(toUnit(x, -2, 2), airySmall);
  Scalar decaying = exp(-phase) / (quarter * (2 * std::sqrt(M_PI))) *
                    chebyshev(toUnit(phaseAt2 / phase, 0, 1), airyDecay);
  Scalar ratio = phaseAt2 / phase;
  Scalar t = toUnit(ratio * ratio, 0, 1);
  Scalar p = chebyshev(t, airyP), q = chebyshev(t, airyQ) / phase;
  Scalar angle = phase + M_PI_4;
  Scalar oscillating =
      (sin(angle) * p - cos(angle) * q) / (quarter * std::sqrt(M_PI));
  Scalar result = select(x < 0, oscillating, decaying);
  result = select(z <= 2, center, result);
  return select(isInf(x), 0, result);
}

//===----------------------------------------------------------------------===//
// Orthogonal polynomials
//===----------------------------------------------------------------------===//

/// P(n) where P(0) = 1, P(1) = `first` and P(k + 1) = step(k, P(k), P(k - 1)).
static Scalar polynomial(Scalar first, Scalar n,
                         function_ref<Scalar(Scalar, Scalar, Scalar)> step) {
  LoopBody &body = *first.body;
  Scalar degree = toI64(n), zero = body.integer(0, degree.type);
  Scalar one = body.number(1, first.type);
  Scalar value =
      body.repeat(maximum(degree, zero), {one, first},
                  [&](Scalar round, ArrayRef<Scalar> s) -> SmallVector<Scalar> {
                    Scalar k = cast(round, first.type) + 1;
                    return {s[1], step(k, s[1], s[0])};
                  })[0];
  return select(degree < zero, 0, value);
}

/// Chebyshev's four kinds differ in their first polynomial only.
static Scalar chebyshevKind(Scalar x, Scalar first, Scalar n) {
  return polynomial(first, n, [&](Scalar, Scalar p, Scalar before) {
    return (x + x) * p - before;
  });
}
Scalar chebyshevT(Scalar x, Scalar n) { return chebyshevKind(x, x, n); }
Scalar chebyshevU(Scalar x, Scalar n) { return chebyshevKind(x, x + x, n); }
Scalar chebyshevV(Scalar x, Scalar n) { return chebyshevKind(x, x + x - 1, n); }
Scalar chebyshevW(Scalar x, Scalar n) { return chebyshevKind(x, x + x + 1, n); }
Scalar hermiteH(Scalar x, Scalar n) {
  return polynomial(x + x, n, [&](Scalar k, Scalar p, Scalar before) {
    return (x + x) * p - (k + k) * before;
  });
}
Scalar hermiteHe(Scalar x, Scalar n) {
  return polynomial(x, n, [&](Scalar k, Scalar p, Scalar before) {
    return x * p - k * before;
  });
}
Scalar laguerreL(Scalar x, Scalar n) {
  return polynomial(1 - x, n, [&](Scalar k, Scalar p, Scalar before) {
    return ((k + k + 1 - x) * p - k * before) / (k + 1);
  });
}
Scalar legendreP(Scalar x, Scalar n) {
  return polynomial(x, n, [&](Scalar k, Scalar p, Scalar before) {
    return ((k + k + 1) * x * p - k * before) / (k + 1);
  });
}

} // namespace gcompile::legalize
