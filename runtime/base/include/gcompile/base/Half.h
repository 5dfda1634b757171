//===- Half.h - the 16-bit floating-point types ---------------------------===//
// Values in memory; arithmetic is done in float. Conversions round to nearest,
// ties to even, keep NaN and infinities, and are without branches, so that
// loops over them vectorise.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace gcompile {
namespace detail {

/// A float that rounds to a 16-bit type as `value` would: the last bit is set
/// where bits were lost, so that a tie is none after the first rounding.
inline float roundToOdd(double value) {
  float rounded = static_cast<float>(value);
  if (static_cast<double>(rounded) == value || value != value ||
      std::isinf(rounded))
    return rounded;
  uint32_t bits = std::bit_cast<uint32_t>(rounded);
  if (std::fabs(static_cast<double>(rounded)) > std::fabs(value))
    --bits;
  return std::bit_cast<float>(bits | 1);
}

} // namespace detail

struct BFloat16 {
  uint16_t bits = 0;

  BFloat16() = default;
  explicit BFloat16(float value) {
    uint32_t x = std::bit_cast<uint32_t>(value);
    uint32_t rounded = (x + 0x7fff + ((x >> 16) & 1)) >> 16;
    bool isNan = (x & 0x7fffffff) > 0x7f800000;
    bits = static_cast<uint16_t>(isNan ? (x >> 16) | 0x40 : rounded);
  }
  explicit BFloat16(double value) : BFloat16(detail::roundToOdd(value)) {}
  static BFloat16 fromBits(uint16_t bits) {
    BFloat16 value;
    value.bits = bits;
    return value;
  }
  operator float() const {
    return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
  }
};

struct Float16 {
  uint16_t bits = 0;

  Float16() = default;
  explicit Float16(float value) {
    uint32_t x = std::bit_cast<uint32_t>(value);
    uint32_t magnitude = x & 0x7fffffff;
    // Adding 0.5 leaves the bits of a subnormal result at the bottom, rounded.
    uint32_t subnormal =
        std::bit_cast<uint32_t>(std::bit_cast<float>(magnitude) + 0.5f) -
        0x3f000000;
    uint32_t normal =
        (magnitude - (112u << 23) + 0xfff + ((magnitude >> 13) & 1)) >> 13;
    uint32_t special =
        magnitude > 0x7f800000 ? 0x7e00 | ((magnitude >> 13) & 0x3ff) : 0x7c00;
    uint32_t result = magnitude >= 0x47800000  ? special
                      : magnitude < 0x38800000 ? subnormal
                                               : normal;
    bits = static_cast<uint16_t>(result | ((x >> 16) & 0x8000));
  }
  explicit Float16(double value) : Float16(detail::roundToOdd(value)) {}
  static Float16 fromBits(uint16_t bits) {
    Float16 value;
    value.bits = bits;
    return value;
  }
  operator float() const {
    uint32_t magnitude = bits & 0x7fffu;
    uint32_t shifted = (magnitude << 13) + (112u << 23);
    float subnormal = std::bit_cast<float>(shifted + (1u << 23)) -
                      std::bit_cast<float>(113u << 23);
    uint32_t result = magnitude >= 0x7c00  ? shifted + (112u << 23)
                      : magnitude < 0x0400 ? std::bit_cast<uint32_t>(subnormal)
                                           : shifted;
    return std::bit_cast<float>(result |
                                (static_cast<uint32_t>(bits & 0x8000) << 16));
  }
};

} // namespace gcompile
