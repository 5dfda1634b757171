//===- scan.cuh - running values along lines ------------------------------===//
// A running value has the members
//   static State first(Element, i64 position)   of one element
//   static State join(State a, State b)         of b's elements after a's
//   static State none()                         of no elements
//   static void store(State, Element &)
#pragma once
#include "narrow.cuh"

__device__ inline f32 widen(f16 x) { return to_float(x); }
__device__ inline f32 widen(bf16 x) { return to_float(x); }
__device__ inline f64 widen(f32 x) { return x; }
__device__ inline f64 widen(f64 x) { return x; }
template <class T> __device__ inline u64 widen(T x) { return u64(i64(x)); }

//===--- Complex numbers ---------------------------------------------------===//
template <class T> struct alignas(2 * sizeof(T)) Complex {
  T re, im;
};
using WideComplex = Complex<f64>;
template <class T> __device__ inline WideComplex widen(Complex<T> x) {
  return {x.re, x.im};
}
template <class T>
__device__ inline void narrow(WideComplex x, Complex<T> &to) {
  to = {T(x.re), T(x.im)};
}
__device__ inline WideComplex operator+(WideComplex a, WideComplex b) {
  return {a.re + b.re, a.im + b.im};
}
__device__ inline WideComplex operator*(WideComplex a, WideComplex b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}
template <class T> struct Constant {
  static __device__ T of(int x) { return T(x); }
};
template <> struct Constant<WideComplex> {
  static __device__ WideComplex of(int x) { return {f64(x), 0}; }
};

//===--- Kinds of running values -------------------------------------------===//
template <class Element> struct RunningSum {
  using State = decltype(widen(Element()));
  static __device__ State none() { return Constant<State>::of(0); }
  static __device__ State first(Element x, i64) { return widen(x); }
  static __device__ State join(State a, State b) { return a + b; }
  static __device__ void store(State state, Element &to) { narrow(state, to); }
};

template <class Element> struct RunningProduct {
  using State = decltype(widen(Element()));
  static __device__ State none() { return Constant<State>::of(1); }
  static __device__ State first(Element x, i64) { return widen(x); }
  static __device__ State join(State a, State b) { return a * b; }
  static __device__ void store(State state, Element &to) { narrow(state, to); }
};

__device__ inline f32 comparable(f16 x) { return to_float(x); }
__device__ inline f32 comparable(bf16 x) { return to_float(x); }
template <class T> __device__ inline T comparable(T x) { return x; }

/// Later elements that equal the running value count as it; NaN stays.
template <class Element, bool isMax> struct RunningExtreme {
  struct State {
    Element value;
    i64 position; ///< -1: of no elements
  };
  static __device__ State none() { return {Element(), -1}; }
  static __device__ State first(Element x, i64 position) {
    return {x, position};
  }
  static __device__ State join(State a, State b) {
    if (a.position < 0)
      return b;
    if (b.position < 0)
      return a;
    const auto x = comparable(a.value), y = comparable(b.value);
    const bool isLater = y != y || (x == x && (isMax ? y >= x : y <= x));
    return isLater ? b : a;
  }
  static __device__ void store(State state, Element &to) { to = state.value; }
};

template <class Element> struct RunningLogSumExp {
  using State = f64;
  static __device__ State none() { return -1.0 / 0.0; }
  static __device__ State first(Element x, i64) {
    return f64(comparable(x));
  }
  static __device__ State join(State a, State b) {
    if (a != a || b != b)
      return a + b;
    const f64 larger = a < b ? b : a, smaller = a < b ? a : b;
    if (larger - larger != 0) // equal infinities have no difference
      return larger;
    return larger + log1p(exp(smaller - larger));
  }
  static __device__ void store(State state, Element &to) { narrow(state, to); }
};

//===--- Scans of a block --------------------------------------------------===//
/// The value of the lane `delta` below; only of meaning where there is one.
template <class State>
__device__ inline State shuffle_up(const State &state, int delta) {
  constexpr int numWords = sizeof(State) / 4;
  union Words {
    State state;
    u32 words[numWords];
    __device__ Words() {}
  } from, to;
  static_assert(sizeof(State) % 4 == 0, "shuffles move words");
  from.state = state;
#pragma unroll
  for (int i = 0; i < numWords; ++i)
    to.words[i] = __shfl_up_sync(0xffffffff, from.words[i], delta);
  return to.state;
}

/// What lies before this thread's `state` in the block, after `carry`; joins
/// the whole block to `carry`. All threads call it; `shared` is theirs.
template <class Running, int threads>
__device__ inline typename Running::State
scan_block(typename Running::State state, typename Running::State &carry,
           typename Running::State *shared) {
  using State = typename Running::State;
  const int lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
  for (int delta = 1; delta < 32; delta *= 2) {
    const State before = shuffle_up(state, delta);
    if (lane >= delta)
      state = Running::join(before, state);
  }
  if (lane == 31)
    shared[warp] = state;
  State previous = shuffle_up(state, 1);
  if (lane == 0)
    previous = Running::none();
  __syncthreads();
  State before = carry;
#pragma unroll
  for (int i = 0; i < threads / 32; ++i) {
    if (i == warp)
      previous = Running::join(before, previous);
    before = Running::join(before, shared[i]);
  }
  carry = before;
  __syncthreads();
  return previous;
}
