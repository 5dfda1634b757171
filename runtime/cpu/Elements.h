//===- Elements.h - elements in memory and in arithmetic ------------------===//
// Routines compute in a few types and read and write many: rows of elements are
// converted where they are copied anyway.
#pragma once
#include "gcompile/base/DType.h"
#include "gcompile/base/Half.h"

#include <complex>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace gcompile::cpu {

/// Calls `visit` with a value of the C++ type of a dtype's elements: bool as
/// uint8_t. Returns false, without a call, for those that have none here.
template <typename Visit>
bool visitElementType(DType dtype, Visit &&visit) {
  switch (dtype) {
  case DType::Bool:
  case DType::UInt8:
    return visit(uint8_t{}), true;
  case DType::Int8:
    return visit(int8_t{}), true;
  case DType::UInt16:
    return visit(uint16_t{}), true;
  case DType::Int16:
    return visit(int16_t{}), true;
  case DType::UInt32:
    return visit(uint32_t{}), true;
  case DType::Int32:
    return visit(int32_t{}), true;
  case DType::UInt64:
    return visit(uint64_t{}), true;
  case DType::Int64:
    return visit(int64_t{}), true;
  case DType::Float16:
    return visit(Float16{}), true;
  case DType::BFloat16:
    return visit(BFloat16{}), true;
  case DType::Float32:
    return visit(float{}), true;
  case DType::Float64:
    return visit(double{}), true;
  case DType::Complex64:
    return visit(std::complex<float>{}), true;
  case DType::Complex128:
    return visit(std::complex<double>{}), true;
  default:
    return false;
  }
}

template <typename T>
constexpr bool isHalf =
    std::is_same_v<T, Float16> || std::is_same_v<T, BFloat16>;
template <typename T>
constexpr bool isComplexType = std::is_same_v<T, std::complex<float>> ||
                               std::is_same_v<T, std::complex<double>>;

/// What sums of products of elements are computed in: float for the halves,
/// 64-bit integers, which wrap as narrower ones do once narrowed, for integers.
template <typename S>
using SumType =
    std::conditional_t<isHalf<S>, float,
                       std::conditional_t<std::is_integral_v<S>, int64_t, S>>;

/// As std::visit over SumType: calls `visit` with one of float, double,
/// int64_t, std::complex<float>, std::complex<double>.
template <typename Visit>
bool visitSumType(DType dtype, Visit &&visit) {
  switch (dtype) {
  case DType::Float16:
  case DType::BFloat16:
  case DType::Float32:
    return visit(float{}), true;
  case DType::Float64:
    return visit(double{}), true;
  case DType::Complex64:
    return visit(std::complex<float>{}), true;
  case DType::Complex128:
    return visit(std::complex<double>{}), true;
  default:
    return isInteger(dtype) || dtype == DType::Bool ? (visit(int64_t{}), true)
                                                    : false;
  }
}

/// Reads `count` elements, `stride` elements apart, as T.
template <typename T>
using LoadRow = void (*)(const std::byte *source, int64_t stride, int64_t count,
                         T *target);
/// Writes `count` values to elements that are `stride` elements apart.
template <typename T>
using StoreRow = void (*)(const T *source, int64_t count, std::byte *target,
                          int64_t stride);

/// For a dtype whose SumType is T.
template <typename T>
LoadRow<T> loadRowOf(DType dtype);
template <typename T>
StoreRow<T> storeRowOf(DType dtype);

} // namespace gcompile::cpu
