//===- gcompile.cuh - what every generated kernel may use -----------------===//
// Compiled by NVRTC without any other header, and, for tests, by a C++ compiler
// after a header that gives CUDA's keywords and built-ins their meaning.
#pragma once

using i8 = signed char;
using u8 = unsigned char;
using i16 = short;
using u16 = unsigned short;
using i32 = int;
using u32 = unsigned int;
using i64 = long long;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

//===--- Half precision ----------------------------------------------------===//
// Storage only: arithmetic is float32.
struct alignas(2) f16 {
  u16 bits;
};
struct alignas(2) bf16 {
  u16 bits;
};

__device__ inline float to_float(bf16 value) {
  return __uint_as_float(u32(value.bits) << 16);
}
#ifdef __CUDA_ARCH__
__device__ inline float to_float(f16 value) {
  float result;
  asm("cvt.f32.f16 %0, %1;" : "=f"(result) : "h"(value.bits));
  return result;
}
__device__ inline f16 to_f16(float value) {
  f16 result;
  asm("cvt.rn.f16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
__device__ inline bf16 to_bf16(float value) {
  bf16 result;
  asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(result.bits) : "f"(value));
  return result;
}
#else
__device__ float to_float(f16 value);
__device__ f16 to_f16(float value);
__device__ bf16 to_bf16(float value);
#endif

//===--- Memory ------------------------------------------------------------===//
template <class T, int N> struct alignas(sizeof(T) * N) Vec {
  T v[N];
};
/// N neighbours, the first at an address that is a multiple of their size.
template <int N, class T> __device__ inline Vec<T, N> load_vec(const T *from) {
  return *reinterpret_cast<const Vec<T, N> *>(from);
}
template <int N, class T>
__device__ inline void store_vec(T *to, const Vec<T, N> &value) {
  *reinterpret_cast<Vec<T, N> *>(to) = value;
}

//===--- Arithmetic ---------------------------------------------------------===//
template <class T> __device__ inline T larger(T a, T b) { return a > b ? a : b; }
template <class T> __device__ inline T smaller(T a, T b) {
  return a < b ? a : b;
}
/// The larger; NaN if either is.
template <class T> __device__ inline T maximum(T a, T b) {
  return a > b || a != a ? a : b;
}
template <class T> __device__ inline T minimum(T a, T b) {
  return a < b || a != a ? a : b;
}
template <class T> __device__ inline T floor_div(T a, T b) {
  T quotient = a / b;
  return quotient - T(a % b != 0 && (a < 0) != (b < 0));
}
template <class T> __device__ inline T ceil_div(T a, T b) {
  T quotient = a / b;
  return quotient + T(a % b != 0 && (a < 0) == (b < 0));
}
__device__ inline i64 ipow(i64 base, i64 exponent) {
  i64 result = exponent < 0 ? (base == 1 || base == -1) : 1;
  if (exponent < 0 && base == -1)
    return exponent & 1 ? -1 : 1;
  for (; exponent > 0; exponent >>= 1, base = i64(u64(base) * u64(base)))
    if (exponent & 1)
      result = i64(u64(result) * u64(base));
  return result;
}
