//===- order.cuh - elements in order --------------------------------------===//
// Elements become unsigned keys in the order that PyTorch sorts them in: zeros
// are equal, and NaN is above all. Ties are decided by position, so that any
// sorting algorithm is stable.
#pragma once
#include "gcompile.cuh"

/// `Key` holds the `bits` lower bits of keys.
template <class K, int keyBits> struct OrderOf {
  using Key = K;
  static constexpr int bits = keyBits;
};
template <class T> struct Order;
template <> struct Order<u8> : OrderOf<u32, 8> {};
template <> struct Order<i8> : OrderOf<u32, 8> {};
template <> struct Order<u16> : OrderOf<u32, 16> {};
template <> struct Order<i16> : OrderOf<u32, 16> {};
template <> struct Order<f16> : OrderOf<u32, 16> {};
template <> struct Order<bf16> : OrderOf<u32, 16> {};
template <> struct Order<u32> : OrderOf<u32, 32> {};
template <> struct Order<i32> : OrderOf<u32, 32> {};
template <> struct Order<f32> : OrderOf<u32, 32> {};
template <> struct Order<u64> : OrderOf<u64, 64> {};
template <> struct Order<i64> : OrderOf<u64, 64> {};
template <> struct Order<f64> : OrderOf<u64, 64> {};

/// Of the bits of a floating-point number, of which `infinity` are infinity's.
template <class Key>
__device__ inline Key float_key(Key bits, Key sign, Key infinity) {
  const Key all = sign | (sign - 1);
  if ((bits & ~sign) > infinity)
    return all;
  if ((bits & ~sign) == 0)
    return sign;
  return bits & sign ? all ^ bits : bits | sign;
}
__device__ inline u32 ordered_key(f16 x) {
  return float_key<u32>(x.bits, 0x8000, 0x7c00);
}
__device__ inline u32 ordered_key(bf16 x) {
  return float_key<u32>(x.bits, 0x8000, 0x7f80);
}
__device__ inline u32 ordered_key(f32 x) {
  return float_key<u32>(__float_as_uint(x), 0x80000000, 0x7f800000);
}
__device__ inline u64 ordered_key(f64 x) {
  return float_key<u64>(u64(__double_as_longlong(x)), u64(1) << 63,
                        u64(0x7ff) << 52);
}
__device__ inline u32 ordered_key(u8 x) { return x; }
__device__ inline u32 ordered_key(u16 x) { return x; }
__device__ inline u32 ordered_key(u32 x) { return x; }
__device__ inline u64 ordered_key(u64 x) { return x; }
__device__ inline u32 ordered_key(i8 x) { return u8(x) ^ 0x80u; }
__device__ inline u32 ordered_key(i16 x) { return u16(x) ^ 0x8000u; }
__device__ inline u32 ordered_key(i32 x) { return u32(x) ^ 0x80000000u; }
__device__ inline u64 ordered_key(i64 x) { return u64(x) ^ (u64(1) << 63); }

/// A key that is less for what comes earlier.
template <bool descending, class T>
__device__ inline typename Order<T>::Key sorting_key(T x) {
  using Key = typename Order<T>::Key;
  constexpr Key mask = Key(~Key(0)) >> (8 * sizeof(Key) - Order<T>::bits);
  return descending ? ordered_key(x) ^ mask : ordered_key(x);
}

template <class Key> struct SortItem {
  Key key;
  u32 index; ///< position in the line
};
template <class Key>
__device__ inline bool is_before(Key a, u32 i, Key b, u32 j) {
  return a != b ? a < b : i < j;
}
/// Comes after every element of a line.
constexpr u32 kNoIndex = 0xffffffff;

/// Sorts `count` (a power of two) items in shared memory; all threads call it,
/// after a barrier, and there is one at its end.
template <int count, int threads, class Key>
__device__ inline void sort_shared(Key *keys, u32 *indices) {
  for (int size = 2; size <= count; size *= 2)
    for (int stride = size / 2; stride > 0; stride /= 2) {
      for (int pair = threadIdx.x; pair < count / 2; pair += threads) {
        const int i = 2 * pair - (pair & (stride - 1)), j = i + stride;
        const Key a = keys[i], b = keys[j];
        const u32 p = indices[i], q = indices[j];
        if (is_before(b, q, a, p) == ((i & size) == 0)) {
          keys[i] = b;
          keys[j] = a;
          indices[i] = q;
          indices[j] = p;
        }
      }
      __syncthreads();
    }
}

/// How many of the sorted `items` come before the given one.
template <class Key>
__device__ inline i64 rank_in(const SortItem<Key> *items, i64 count,
                              SortItem<Key> item) {
  i64 begin = 0;
  while (begin < count) {
    const i64 middle = (begin + count) / 2;
    const SortItem<Key> other = items[middle];
    if (is_before(other.key, other.index, item.key, item.index))
      begin = middle + 1;
    else
      count = middle;
  }
  return begin;
}
