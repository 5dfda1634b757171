//===- VectorLoops.h - inner loops for several instruction sets -----------===//
// The library is built for every processor of the architecture; these loops are
// compiled several times and the fastest is taken when the program starts.
#pragma once
#include "gcompile/base/Half.h"

#include <cstdint>

namespace gcompile::cpu {

void widen(const Float16 *source, int64_t count, float *target);
void widen(const BFloat16 *source, int64_t count, float *target);
void narrow(const float *source, int64_t count, Float16 *target);
void narrow(const float *source, int64_t count, BFloat16 *target);

/// Sum of a[i] * b[i].
float dot(const float *a, const float *b, int64_t count);
double dot(const double *a, const double *b, int64_t count);

/// sums[r * sumStride] += sum of rows[r * rowStride + i] * b[i], for r in [0,
/// 4).
void dot4(const float *rows, int64_t rowStride, const float *b, int64_t count,
          float *sums, int64_t sumStride);
void dot4(const double *rows, int64_t rowStride, const double *b, int64_t count,
          double *sums, int64_t sumStride);

/// sums[i] += factor * x[i * stride].
void multiplyAdd(float factor, const float *x, int64_t stride, int64_t count,
                 float *sums);
void multiplyAdd(double factor, const double *x, int64_t stride, int64_t count,
                 double *sums);

/// sums[i] += sum over r in [0, 4) of factors[r] * rows[r * rowStride + i].
void multiplyAdd4(const float *factors, const float *rows, int64_t rowStride,
                  int64_t count, float *sums);
void multiplyAdd4(const double *factors, const double *rows, int64_t rowStride,
                  int64_t count, double *sums);

float maximum(const float *x, int64_t count);
double maximum(const double *x, int64_t count);

/// x[i] = exp(x[i] - shift); returns their sum. Within 2 units in the last
/// place in float.
float exponentials(float *x, int64_t count, float shift);
double exponentials(double *x, int64_t count, double shift);

/// x[i] *= factor.
void scale(float *x, int64_t count, float factor);
void scale(double *x, int64_t count, double factor);

} // namespace gcompile::cpu
