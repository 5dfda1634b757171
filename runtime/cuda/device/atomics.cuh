//===- atomics.cuh - points of a scatter that meet ------------------------===//
#pragma once
#include "gcompile.cuh"

/// Replaces the element by combine(element) as one step, through the 32- or
/// 64-bit word that holds it.
template <class T, class Combine>
__device__ inline void atomic_update(T *element, Combine combine) {
  if constexpr (sizeof(T) == 8) {
    auto *word = reinterpret_cast<unsigned long long *>(element);
    unsigned long long seen = *(volatile unsigned long long *)word, expected;
    do {
      expected = seen;
      T value;
      memcpy(&value, &expected, 8);
      value = combine(value);
      unsigned long long next;
      memcpy(&next, &value, 8);
      seen = atomicCAS(word, expected, next);
    } while (seen != expected);
  } else {
    const u64 address = reinterpret_cast<u64>(element);
    auto *word = reinterpret_cast<u32 *>(address & ~u64(3));
    const int shift = int(address & 3) * 8;
    constexpr u32 kMask = sizeof(T) == 4 ? 0xffffffffu
                                         : (1u << (8 * (sizeof(T) % 4))) - 1;
    u32 seen = *(volatile u32 *)word, expected;
    do {
      expected = seen;
      const u32 bits = (expected >> shift) & kMask;
      T value;
      memcpy(&value, &bits, sizeof(T));
      value = combine(value);
      u32 next = 0;
      memcpy(&next, &value, sizeof(T));
      seen = atomicCAS(word, expected,
                       (expected & ~(kMask << shift)) | (next << shift));
    } while (seen != expected);
  }
}

// Half precision is combined in float32 and rounded, as PyTorch does.
template <class T> __device__ inline T widen(T value) { return value; }
__device__ inline float widen(f16 value) { return to_float(value); }
__device__ inline float widen(bf16 value) { return to_float(value); }
template <class T, class U> __device__ inline T narrow(U value) {
  return T(value);
}
template <> __device__ inline f16 narrow<f16, float>(float value) {
  return to_f16(value);
}
template <> __device__ inline bf16 narrow<bf16, float>(float value) {
  return to_bf16(value);
}

template <class T, class I>
__device__ inline void atomic_sum(T *base, I at, T update) {
  atomic_update(base + at, [=](T old) {
    return narrow<T>(widen(old) + widen(update));
  });
}
template <class I>
__device__ inline void atomic_sum(f32 *base, I at, f32 update) {
  atomicAdd(base + at, update);
}
template <class I>
__device__ inline void atomic_sum(f64 *base, I at, f64 update) {
  atomicAdd(base + at, update);
}
template <class I>
__device__ inline void atomic_sum(i32 *base, I at, i32 update) {
  atomicAdd(base + at, update);
}
template <class I>
__device__ inline void atomic_sum(i64 *base, I at, i64 update) {
  atomicAdd(reinterpret_cast<unsigned long long *>(base + at),
            (unsigned long long)update);
}
template <class T, class I>
__device__ inline void atomic_prod(T *base, I at, T update) {
  atomic_update(base + at, [=](T old) {
    return narrow<T>(widen(old) * widen(update));
  });
}
template <class T, class I>
__device__ inline void atomic_max(T *base, I at, T update) {
  atomic_update(base + at, [=](T old) {
    return narrow<T>(maximum(widen(old), widen(update)));
  });
}
template <class T, class I>
__device__ inline void atomic_min(T *base, I at, T update) {
  atomic_update(base + at, [=](T old) {
    return narrow<T>(minimum(widen(old), widen(update)));
  });
}
