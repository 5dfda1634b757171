//===- attention.cuh - attention of any layout ----------------------------===//
// A block of 128 threads computes one query: scores of 128 keys at a time, one
// a thread, then the weighted values, one column a thread, with the softmax
// corrected as larger scores appear (Milakov and Gimelshein, "Online normalizer
// calculation for softmax", 2018). Serves every type and stride; tensor cores
// are the libraries' business.
#pragma once
#include "matmul.cuh"

/// Sum is float or double. `add_mask(key, score)` is the score with its mask.
template <class Sum, i64 Depth, i64 ValueDepth, class T, class AddMask>
__device__ inline void attend(const T *query, i64 query_stride, const T *key,
                              i64 key_row, i64 key_stride, const T *value,
                              i64 value_row, i64 value_stride, T *result,
                              i64 result_stride, i64 keys, Sum scale,
                              AddMask add_mask, Sum *logsumexp) {
  constexpr int kThreads = 128;
  constexpr int kColumns = (ValueDepth + kThreads - 1) / kThreads;
  __shared__ Sum weights[kThreads], reduced[kThreads], row[Depth ? Depth : 1];
  const int thread = threadIdx.x;
  const Sum infinity = Sum(__uint_as_float(0x7f800000u));
  for (i64 d = thread; d < Depth; d += kThreads)
    row[d] = to_sum<Sum>(query[d * query_stride]);
  Sum largest = -infinity, total = 0, columns[kColumns ? kColumns : 1] = {};
  for (i64 first = 0; first < keys; first += kThreads) {
    __syncthreads();
    Sum score = -infinity;
    if (first + thread < keys) {
      const T *k = key + (first + thread) * key_row;
      Sum product = 0;
      for (i64 d = 0; d < Depth; ++d)
        product += row[d] * to_sum<Sum>(k[d * key_stride]);
      score = add_mask(first + thread, product * scale);
    }
    reduced[thread] = score;
    for (int half = kThreads / 2; half > 0; half /= 2) {
      __syncthreads();
      if (thread < half && reduced[thread + half] > reduced[thread])
        reduced[thread] = reduced[thread + half];
    }
    __syncthreads();
    const Sum next = reduced[0] > largest ? reduced[0] : largest;
    // Where no key is seen yet, only NaN counts.
    const Sum weight = next == -infinity
                           ? (score != score ? score : Sum(0))
                           : Sum(exp(score - next));
    const Sum correction =
        largest == -infinity ? Sum(1) : Sum(exp(largest - next));
    weights[thread] = weight;
    __syncthreads();
    const int count =
        keys - first < kThreads ? int(keys - first) : kThreads;
    Sum sum = 0;
    for (int i = 0; i < count; ++i)
      sum += weights[i];
    total = total * correction + sum;
    largest = next;
#pragma unroll
    for (int c = 0; c < kColumns; ++c) {
      const i64 column = c * kThreads + thread;
      if (column >= ValueDepth)
        continue;
      Sum added = 0;
      for (int i = 0; i < count; ++i)
        added += weights[i] * to_sum<Sum>(
                                  value[(first + i) * value_row +
                                        column * value_stride]);
      columns[c] = columns[c] * correction + added;
    }
  }
#pragma unroll
  for (int c = 0; c < kColumns; ++c) {
    const i64 column = c * kThreads + thread;
    if (column < ValueDepth)
      result[column * result_stride] =
          from_sum<T>(total == 0 ? Sum(0) : columns[c] / total);
  }
  if (logsumexp && thread == 0)
    *logsumexp = total == 0 ? -infinity : largest + Sum(log(total));
}
