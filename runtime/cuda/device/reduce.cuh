//===- reduce.cuh - partial results of threads and blocks -----------------===//
// A State is a struct of plain members with merge(const State &).
#pragma once
#include "gcompile.cuh"

template <class State>
__device__ inline State shuffle_xor(const State &state, int mask) {
  constexpr int kWords = (sizeof(State) + 3) / 4;
  u32 words[kWords] = {};
  State result;
  memcpy(words, &state, sizeof(State));
#pragma unroll
  for (int i = 0; i < kWords; ++i)
    words[i] = __shfl_xor_sync(0xffffffffu, words[i], mask);
  memcpy(&result, words, sizeof(State));
  return result;
}

/// The states of each `Threads` neighbours of a warp, merged; all threads of
/// the warp take part, all get the result.
template <int Threads, class State>
__device__ inline State reduce_warp(State state) {
#pragma unroll
  for (int mask = Threads / 2; mask > 0; mask /= 2)
    state.merge(shuffle_xor(state, mask));
  return state;
}

/// The same of a block of `Threads` threads, a multiple of 32. Once a State and
/// block: its shared memory is used once.
template <int Threads, class State>
__device__ inline State reduce_block(State state) {
  constexpr int kWarps = Threads / 32;
  __shared__ State partial[kWarps];
  state = reduce_warp<32>(state);
  if (threadIdx.x % 32 == 0)
    partial[threadIdx.x / 32] = state;
  __syncthreads();
  return reduce_warp<kWarps>(partial[threadIdx.x % kWarps]);
}

/// The states of the `Rows` threads that have one column, merged: thread
/// threadIdx.x is in row threadIdx.x / Columns.
template <int Columns, int Rows, class State>
__device__ inline State reduce_columns(State state) {
  __shared__ State partial[Rows][Columns];
  const int column = threadIdx.x % Columns, row = threadIdx.x / Columns;
  partial[row][column] = state;
  for (int half = Rows / 2; half > 0; half /= 2) {
    __syncthreads();
    if (row < half)
      partial[row][column].merge(partial[row + half][column]);
  }
  __syncthreads();
  return partial[0][column];
}

/// Blocks `split` of `Splits` have each reduced a part of `iterations`
/// reductions, numbered by `iteration`; `thread` 0 of each holds the result.
/// True in the last block of the group to arrive, whose states then are those
/// of the whole. `scratch` has a state's words for each iteration of each
/// split of each group; `arrivals` is 0 before and after.
template <int Splits, class State>
__device__ inline bool finish_splits(State &state, u32 *scratch, u32 *arrivals,
                                     u32 group, u32 split, u32 iterations,
                                     u32 iteration, u32 thread) {
  constexpr int kWords = (sizeof(State) + 3) / 4;
  __shared__ bool is_last;
  u32 words[kWords] = {};
  u32 *slots = scratch + u64(group) * Splits * iterations * kWords;
  if (thread == 0) {
    memcpy(words, &state, sizeof(State));
#pragma unroll
    for (int i = 0; i < kWords; ++i)
      slots[(split * kWords + i) * iterations + iteration] = words[i];
  }
  __threadfence();
  __syncthreads();
  if (threadIdx.x == 0)
    is_last = atomicAdd(&arrivals[group], 1u) == Splits - 1;
  __syncthreads();
  if (!is_last)
    return false;
  __threadfence();
  if (thread == 0) {
    // In the order of the splits, whichever came last.
    for (int other = 0; other < Splits; ++other) {
      State part;
#pragma unroll
      for (int i = 0; i < kWords; ++i)
        words[i] = *(volatile u32 *)&slots[(other * kWords + i) * iterations +
                                           iteration];
      memcpy(&part, words, sizeof(State));
      if (other == 0)
        state = part;
      else
        state.merge(part);
    }
  }
  if (threadIdx.x == 0)
    arrivals[group] = 0;
  return true;
}
