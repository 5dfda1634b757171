//===- narrow.cuh - to elements' types ------------------------------------===//
#pragma once
#include "gcompile.cuh"

__device__ inline void narrow(f32 x, f16 &to) { to = to_f16(x); }
__device__ inline void narrow(f32 x, bf16 &to) { to = to_bf16(x); }
__device__ inline void narrow(f32 x, f32 &to) { to = x; }
__device__ inline void narrow(f32 x, f64 &to) { to = x; }
__device__ inline void narrow(f64 x, f16 &to) { to = to_f16(f32(x)); }
__device__ inline void narrow(f64 x, bf16 &to) { to = to_bf16(f32(x)); }
__device__ inline void narrow(f64 x, f32 &to) { to = f32(x); }
__device__ inline void narrow(f64 x, f64 &to) { to = x; }
template <class T> __device__ inline void narrow(u64 x, T &to) { to = T(x); }
