//===- philox.cuh - Philox-4x32-10 ----------------------------------------===//
// The same numbers as of the CPU: see runtime/cpu/Random.cpp.
#pragma once
#include "narrow.cuh"

struct RandomBits {
  u64 word[2];
};

/// The bits of elements 2 * index and 2 * index + 1.
__device__ inline RandomBits philox(u64 seed, u64 stream, u64 index) {
  u32 c0 = u32(index), c1 = u32(index >> 32);
  u32 c2 = u32(stream), c3 = u32(stream >> 32);
  u32 k0 = u32(seed), k1 = u32(seed >> 32);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const u64 p0 = u64(0xD2511F53u) * c0, p1 = u64(0xCD9E8D57u) * c2;
    c0 = u32(p1 >> 32) ^ c1 ^ k0;
    c1 = u32(p1);
    c2 = u32(p0 >> 32) ^ c3 ^ k1;
    c3 = u32(p0);
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{u64(c0) << 32 | c1, u64(c2) << 32 | c3}};
}

/// A number in [0, 1) of so many significant bits, at most 24.
template <int digits> __device__ inline float uniform_float(u64 word) {
  return float(u32(word >> (64 - digits))) * (1.0f / (1 << digits));
}
__device__ inline double uniform_double(u64 word) {
  return double(word >> 11) * (1.0 / (u64(1) << 53));
}

/// Box and Muller: two normal numbers of two uniform ones.
__device__ inline Vec<double, 2> normal_pair(const RandomBits &bits) {
  const double radius = sqrt(-2 * log1p(-uniform_double(bits.word[0])));
  const double angle = 2 * 3.141592653589793 * uniform_double(bits.word[1]);
  return {{radius * cos(angle), radius * sin(angle)}};
}
