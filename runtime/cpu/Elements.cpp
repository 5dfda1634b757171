#include "Elements.h"

#include "VectorLoops.h"

#include <cassert>
#include <cstring>

namespace gcompile::cpu {
namespace {

template <typename S, typename T>
void loadRow(const std::byte *source, int64_t stride, int64_t count,
             T *target) {
  auto *from = reinterpret_cast<const S *>(source);
  if (stride == 1) {
    if constexpr (std::is_same_v<S, T>)
      std::memcpy(target, from, static_cast<size_t>(count) * sizeof(T));
    else if constexpr (isHalf<S>)
      widen(from, count, target);
    else
      for (int64_t i = 0; i < count; ++i)
        // NOLINTNEXTLINE(bugprone-signed-char-misuse): int8_t is a number.
        target[i] = static_cast<T>(from[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    // NOLINTNEXTLINE(bugprone-signed-char-misuse)
    target[i] = static_cast<T>(from[i * stride]);
}

template <typename S, typename T>
void storeRow(const T *source, int64_t count, std::byte *target,
              int64_t stride) {
  auto *to = reinterpret_cast<S *>(target);
  if (stride == 1) {
    if constexpr (std::is_same_v<S, T>)
      std::memcpy(to, source, static_cast<size_t>(count) * sizeof(T));
    else if constexpr (isHalf<S>)
      narrow(source, count, to);
    else
      for (int64_t i = 0; i < count; ++i)
        to[i] = static_cast<S>(source[i]);
    return;
  }
  for (int64_t i = 0; i < count; ++i)
    to[i * stride] = static_cast<S>(source[i]);
}

} // namespace

template <typename T>
LoadRow<T> loadRowOf(DType dtype) {
  LoadRow<T> result = nullptr;
  visitElementType(dtype, [&]<typename S>(S) {
    if constexpr (std::is_same_v<SumType<S>, T>)
      result = loadRow<S, T>;
  });
  assert(result && "the dtype is summed in another type");
  return result;
}

template <typename T>
StoreRow<T> storeRowOf(DType dtype) {
  StoreRow<T> result = nullptr;
  visitElementType(dtype, [&]<typename S>(S) {
    if constexpr (std::is_same_v<SumType<S>, T>)
      result = storeRow<S, T>;
  });
  assert(result && "the dtype is summed in another type");
  return result;
}

template LoadRow<float> loadRowOf(DType);
template LoadRow<double> loadRowOf(DType);
template LoadRow<int64_t> loadRowOf(DType);
template LoadRow<std::complex<float>> loadRowOf(DType);
template LoadRow<std::complex<double>> loadRowOf(DType);
template StoreRow<float> storeRowOf(DType);
template StoreRow<double> storeRowOf(DType);
template StoreRow<int64_t> storeRowOf(DType);
template StoreRow<std::complex<float>> storeRowOf(DType);
template StoreRow<std::complex<double>> storeRowOf(DType);

} // namespace gcompile::cpu
