#!/usr/bin/env python3
"""Writes ChebyshevTables.inc: special functions, or what is left of them once their
growth is divided out, as Chebyshev series. Needs mpmath. Run it in this folder:

    python3 chebyshev_tables.py > ChebyshevTables.inc

Each entry is a function on [-1, 1]; SpecialFunctions.cpp says which argument belongs
to which point. Series are cut where terms fall below 1e-17 of the largest.
"""
from mpmath import *

mp.dps = 60


def series(f, nodes=64):
    points = [cos(pi * (k + mpf(1) / 2) / nodes) for k in range(nodes)]
    values = [f(t) for t in points]
    coefficients = [
        2 / mpf(nodes)
        * fsum(v * cos(j * pi * (k + mpf(1) / 2) / nodes) for k, v in enumerate(values))
        for j in range(nodes)
    ]
    coefficients[0] /= 2
    largest = max(abs(c) for c in coefficients)
    while abs(coefficients[-1]) < largest * mpf(10) ** -17:
        coefficients.pop()
    assert len(coefficients) < nodes, "the series does not end"
    return coefficients


def interval(low, high):
    """Takes [-1, 1] to [low, high]."""
    return lambda t: low + (high - low) * (t + 1) / 2


def erfinv_ratio(w):
    """erfinv(x) / x, where w = -log(1 - x^2)."""
    x = sqrt(-expm1(-w))
    tail = exp(-w) / (1 + x)  # 1 - x, without cancellation
    y = erfinv(x) if w < 20 else findroot(lambda y: log(erfc(y)) - log(tail), sqrt(w))
    return y / x


def phase(order):
    """The slowly varying factors of J and Y at x = 8 / sqrt((t + 1) / 2)."""
    def at(t):
        x = 8 / sqrt((t + 1) / 2)
        angle = x - (2 * order + 1) * pi / 4
        scale = sqrt(pi * x / 2)
        j, y = besselj(order, x), bessely(order, x)
        return scale * (j * cos(angle) + y * sin(angle)), x * scale * (y * cos(angle) - j * sin(angle))
    return (lambda t: at(t)[0]), (lambda t: at(t)[1])


def airy_phase():
    """The same for Ai and Bi, where zeta = zeta(2) / sqrt((t + 1) / 2)."""
    def at(t):
        zeta = mpf(4) / 3 * sqrt(2) / sqrt((t + 1) / 2)
        z = (zeta * 3 / 2) ** (mpf(2) / 3)
        angle, scale = zeta + pi / 4, sqrt(pi) * z ** (mpf(1) / 4)
        a, b = airyai(-z), airybi(-z)
        return scale * (a * sin(angle) + b * cos(angle)), zeta * scale * (b * sin(angle) - a * cos(angle))
    return (lambda t: at(t)[0]), (lambda t: at(t)[1])


def airy_decay(t):
    zeta = mpf(4) / 3 * sqrt(2) * 2 / (t + 1)
    z = (zeta * 3 / 2) ** (mpf(2) / 3)
    return 2 * sqrt(pi) * z ** (mpf(1) / 4) * exp(zeta) * airyai(z)


to8 = interval(0, 8)
square64 = lambda t: sqrt(interval(0, 64)(t))
square4 = lambda t: sqrt(interval(0, 4)(t))
p0, q0 = phase(0)
p1, q1 = phase(1)
airy_p, airy_q = airy_phase()
erfcx_at = lambda x: exp(x * x) * erfc(x)

tables = {
    # t = (x - 3.75) / (x + 3.75)
    "erfcx": lambda t: (lambda x: (1 + 2 * x) * erfcx_at(x))(3.75 * (1 + t) / (1 - t)),
    "erfinvCenter": lambda t: erfinv_ratio(interval(0, 5)(t)),
    "erfinvTail": lambda t: erfinv_ratio(interval(mpf("2.2"), mpf("6.4"))(t) ** 2),
    "erfinvFarTail": lambda t: erfinv_ratio(interval(mpf("6.4"), mpf("27.5"))(t) ** 2),
    "logGammaRest": lambda t: (lambda x: loggamma(x) / ((x - 1) * (x - 2)))(interval(mpf("0.75"), mpf("3.25"))(t)),
    "i0Small": lambda t: exp(-to8(t)) * besseli(0, to8(t)),
    "i0Large": lambda t: (lambda x: sqrt(x) * exp(-x) * besseli(0, x))(16 / (t + 1)),
    "i1Small": lambda t: exp(-to8(t)) * besseli(1, to8(t)) / to8(t),
    "i1Large": lambda t: (lambda x: sqrt(x) * exp(-x) * besseli(1, x))(16 / (t + 1)),
    "k0Small": lambda t: (lambda x: besselk(0, x) + log(x / 2) * besseli(0, x))(square4(t)),
    "k0Large": lambda t: (lambda x: sqrt(x) * exp(x) * besselk(0, x))(4 / (t + 1)),
    "k1Small": lambda t: (lambda x: x * (besselk(1, x) - log(x / 2) * besseli(1, x)))(square4(t)),
    "k1Large": lambda t: (lambda x: sqrt(x) * exp(x) * besselk(1, x))(4 / (t + 1)),
    "j0Small": lambda t: besselj(0, square64(t)),
    "j1Small": lambda t: besselj(1, square64(t)) / square64(t),
    "y0Small": lambda t: (lambda x: bessely(0, x) - 2 / pi * log(x) * besselj(0, x))(square64(t)),
    "y1Small": lambda t: (lambda x: (bessely(1, x) - 2 / pi * (log(x) * besselj(1, x) - 1 / x)) / x)(square64(t)),
    "p0": p0, "q0": q0, "p1": p1, "q1": q1,
    "airySmall": lambda t: airyai(2 * t),
    "airyDecay": airy_decay,
    "airyP": airy_p, "airyQ": airy_q,
}

print("// Made by chebyshev_tables.py; T0 first.")
for name, function in tables.items():
    print(f"static constexpr double {name}[] = {{")
    for coefficient in series(function):
        print(f"    {nstr(coefficient, 18)},")
    print("};")
