#include "VectorLoops.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

// Sanitizers instrument the function that picks a version, which runs before
// they are ready.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) &&         \
    !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define GCOMPILE_VERSIONS                                                      \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define GCOMPILE_VERSIONS
#endif
#define GCOMPILE_INLINE [[gnu::always_inline]] inline

namespace gcompile::cpu {
namespace {

template <typename T>
GCOMPILE_INLINE T dotLoop(const T *a, const T *b, int64_t count) {
  T sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i)
    sum += a[i] * b[i];
  return sum;
}

template <typename T>
GCOMPILE_INLINE void dot4Loop(const T *rows, int64_t rowStride, const T *b,
                              int64_t count, T *sums, int64_t sumStride) {
  const T *r0 = rows, *r1 = r0 + rowStride, *r2 = r1 + rowStride,
          *r3 = r2 + rowStride;
  T s0 = 0, s1 = 0, s2 = 0, s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
  for (int64_t i = 0; i < count; ++i) {
    s0 += r0[i] * b[i];
    s1 += r1[i] * b[i];
    s2 += r2[i] * b[i];
    s3 += r3[i] * b[i];
  }
  sums[0] += s0;
  sums[sumStride] += s1;
  sums[2 * sumStride] += s2;
  sums[3 * sumStride] += s3;
}

template <typename T>
GCOMPILE_INLINE void multiplyAddLoop(T factor, const T *x, int64_t stride,
                                     int64_t count, T *sums) {
  if (stride == 1) {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      sums[i] += factor * x[i];
  } else if (stride == 2) { // a constant stride is a shuffle, not a gather
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      sums[i] += factor * x[2 * i];
  } else {
#pragma omp simd
    for (int64_t i = 0; i < count; ++i)
      sums[i] += factor * x[i * stride];
  }
}

template <typename T>
GCOMPILE_INLINE void multiplyAdd4Loop(const T *factors, const T *rows,
                                      int64_t rowStride, int64_t count,
                                      T *sums) {
  const T f0 = factors[0], f1 = factors[1], f2 = factors[2], f3 = factors[3];
  const T *r0 = rows, *r1 = r0 + rowStride, *r2 = r1 + rowStride,
          *r3 = r2 + rowStride;
#pragma omp simd
  for (int64_t i = 0; i < count; ++i)
    sums[i] += f0 * r0[i] + f1 * r1[i] + f2 * r2[i] + f3 * r3[i];
}

template <typename T>
GCOMPILE_INLINE T maximumLoop(const T *x, int64_t count) {
  T result = -std::numeric_limits<T>::infinity();
#pragma omp simd reduction(max : result)
  for (int64_t i = 0; i < count; ++i)
    result = x[i] > result ? x[i] : result;
  return result;
}

/// exp(x) for x <= 0, or a little above: 2^n times a polynomial on
/// [-ln 2 / 2, ln 2 / 2] (the coefficients of Cephes). NaN stays NaN.
GCOMPILE_INLINE float exponential(float x) {
  const float clamped = x > -87.3f ? x : -87.3f;
  constexpr float roundsToInteger = 12582912.0f; // 1.5 * 2^23
  const float n = (clamped * 1.44269504f + roundsToInteger) - roundsToInteger;
  float r = clamped - n * 0.693359375f;
  r -= n * -2.12194440e-4f;
  float p = 1.9875691500e-4f;
  p = p * r + 1.3981999507e-3f;
  p = p * r + 8.3334519073e-3f;
  p = p * r + 4.1665795894e-2f;
  p = p * r + 1.6666665459e-1f;
  p = p * r + 5.0000001201e-1f;
  p = p * r * r + r + 1.0f;
  const int32_t exponent = static_cast<int32_t>(n) << 23;
  const float result =
      std::bit_cast<float>(std::bit_cast<int32_t>(p) + exponent);
  return x < -87.3f ? 0.0f : x == x ? result : x;
}

#if defined(__x86_64__)
// No compiler makes these instructions of the conversions in Half.h, which take
// a dozen others.

/// Converts as many elements as whole vectors hold; returns their number.
__attribute__((target("avx,f16c"))) int64_t
widenByInstruction(const Float16 *source, int64_t count, float *target) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm256_storeu_ps(target + i,
                     _mm256_cvtph_ps(_mm_loadu_si128(
                         reinterpret_cast<const __m128i *>(source + i))));
  return i;
}

__attribute__((target("avx,f16c"))) int64_t
narrowByInstruction(const float *source, int64_t count, Float16 *target) {
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    _mm_storeu_si128(reinterpret_cast<__m128i *>(target + i),
                     _mm256_cvtps_ph(_mm256_loadu_ps(source + i),
                                     _MM_FROUND_TO_NEAREST_INT));
  return i;
}

bool hasFloat16Instructions() {
  static const bool has =
      __builtin_cpu_supports("avx") && __builtin_cpu_supports("f16c");
  return has;
}
#else
int64_t widenByInstruction(const Float16 *, int64_t, float *) { return 0; }
int64_t narrowByInstruction(const float *, int64_t, Float16 *) { return 0; }
bool hasFloat16Instructions() { return false; }
#endif

} // namespace

void widen(const Float16 *source, int64_t count, float *target) {
  const int64_t done =
      hasFloat16Instructions() ? widenByInstruction(source, count, target) : 0;
  for (int64_t i = done; i < count; ++i)
    target[i] = static_cast<float>(source[i]);
}

void narrow(const float *source, int64_t count, Float16 *target) {
  const int64_t done =
      hasFloat16Instructions() ? narrowByInstruction(source, count, target) : 0;
  for (int64_t i = done; i < count; ++i)
    target[i] = Float16(source[i]);
}

GCOMPILE_VERSIONS void widen(const BFloat16 *source, int64_t count,
                             float *target) {
  for (int64_t i = 0; i < count; ++i)
    target[i] = static_cast<float>(source[i]);
}

GCOMPILE_VERSIONS void narrow(const float *source, int64_t count,
                              BFloat16 *target) {
  for (int64_t i = 0; i < count; ++i)
    target[i] = BFloat16(source[i]);
}

// NOLINTBEGIN(bugprone-macro-parentheses): the arguments are types.
#define GCOMPILE_FOR_TYPE(T)                                                   \
  GCOMPILE_VERSIONS T dot(const T *a, const T *b, int64_t count) {             \
    return dotLoop(a, b, count);                                               \
  }                                                                            \
  GCOMPILE_VERSIONS void dot4(const T *rows, int64_t rowStride, const T *b,    \
                              int64_t count, T *sums, int64_t sumStride) {     \
    dot4Loop(rows, rowStride, b, count, sums, sumStride);                      \
  }                                                                            \
  GCOMPILE_VERSIONS void multiplyAdd(T factor, const T *x, int64_t stride,     \
                                     int64_t count, T *sums) {                 \
    multiplyAddLoop(factor, x, stride, count, sums);                           \
  }                                                                            \
  GCOMPILE_VERSIONS void multiplyAdd4(const T *factors, const T *rows,         \
                                      int64_t rowStride, int64_t count,        \
                                      T *sums) {                               \
    multiplyAdd4Loop(factors, rows, rowStride, count, sums);                   \
  }                                                                            \
  GCOMPILE_VERSIONS T maximum(const T *x, int64_t count) {                     \
    return maximumLoop(x, count);                                              \
  }                                                                            \
  GCOMPILE_VERSIONS void scale(T *x, int64_t count, T factor) {                \
    for (int64_t i = 0; i < count; ++i)                                        \
      x[i] *= factor;                                                          \
  }
GCOMPILE_FOR_TYPE(float)
GCOMPILE_FOR_TYPE(double)
#undef GCOMPILE_FOR_TYPE
// NOLINTEND(bugprone-macro-parentheses)

GCOMPILE_VERSIONS float exponentials(float *x, int64_t count, float shift) {
  float sum = 0;
#pragma omp simd reduction(+ : sum)
  for (int64_t i = 0; i < count; ++i) {
    x[i] = exponential(x[i] - shift);
    sum += x[i];
  }
  return sum;
}

double exponentials(double *x, int64_t count, double shift) {
  double sum = 0;
  for (int64_t i = 0; i < count; ++i) {
    x[i] = std::exp(x[i] - shift);
    sum += x[i];
  }
  return sum;
}

} // namespace gcompile::cpu
