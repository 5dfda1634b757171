//===- SpecialFunctions.h - gamma, error, Bessel and their relatives ------===//
// In the compute type of their arguments, float32 or float64.
#pragma once
#include "Scalar.h"

namespace gcompile::legalize {

Scalar erfc(Scalar x);
Scalar scaledErfc(Scalar x); ///< exp(x^2) erfc(x)
Scalar erfInverse(Scalar x);
Scalar normalQuantile(Scalar p);

/// log |gamma(x)|
Scalar logGamma(Scalar x);
Scalar digamma(Scalar x);
/// The n-th derivative of digamma.
Scalar polygamma(int64_t n, Scalar x);
/// Hurwitz's: the sum of (q + k)^-x.
Scalar zeta(Scalar x, Scalar q);
/// Regularised incomplete gamma function, lower and upper.
Scalar lowerGamma(Scalar a, Scalar x);
Scalar upperGamma(Scalar a, Scalar x);

Scalar besselI0(Scalar x);
Scalar besselI1(Scalar x);
Scalar scaledBesselI0(Scalar x); ///< exp(-|x|) I0(x)
Scalar scaledBesselI1(Scalar x);
Scalar besselK0(Scalar x);
Scalar besselK1(Scalar x);
Scalar scaledBesselK0(Scalar x); ///< exp(x) K0(x)
Scalar scaledBesselK1(Scalar x);
Scalar besselJ0(Scalar x);
Scalar besselJ1(Scalar x);
Scalar besselY0(Scalar x);
Scalar besselY1(Scalar x);
Scalar sphericalBesselJ0(Scalar x);
Scalar airyAi(Scalar x);

// Orthogonal polynomials of degree n, which is a float; 0 where it is negative.
Scalar chebyshevT(Scalar x, Scalar n);
Scalar chebyshevU(Scalar x, Scalar n);
Scalar chebyshevV(Scalar x, Scalar n);
Scalar chebyshevW(Scalar x, Scalar n);
Scalar hermiteH(Scalar x, Scalar n);
Scalar hermiteHe(Scalar x, Scalar n);
Scalar laguerreL(Scalar x, Scalar n);
Scalar legendreP(Scalar x, Scalar n);

} // namespace gcompile::legalize
