#include "Elements.h"

#include "gcompile/base/Half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <vector>

using namespace gcompile;
using namespace gcompile::cpu;

namespace {

/// What the bits of a 16-bit type with `mantissaBits` mean, the slow way.
double meaning(uint16_t bits, int mantissaBits) {
  const int exponentBits = 15 - mantissaBits;
  const int bias = (1 << (exponentBits - 1)) - 1;
  const int mantissa = bits & ((1 << mantissaBits) - 1);
  const int exponent = bits >> mantissaBits & ((1 << exponentBits) - 1);
  double value;
  if (exponent == (1 << exponentBits) - 1)
    value = mantissa ? std::nan("") : INFINITY;
  else if (exponent == 0)
    value = std::ldexp(mantissa, 1 - bias - mantissaBits);
  else
    value = std::ldexp(mantissa | 1 << mantissaBits,
                       exponent - bias - mantissaBits);
  return bits & 0x8000 ? -value : value;
}

template <typename Half>
void checkEveryValue(int mantissaBits) {
  for (uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = Half::fromBits(static_cast<uint16_t>(bits));
    const double expected = meaning(half.bits, mantissaBits);
    const auto found = static_cast<float>(half);
    if (std::isnan(expected)) {
      ASSERT_TRUE(std::isnan(found)) << bits;
      ASSERT_TRUE(std::isnan(static_cast<float>(Half(found)))) << bits;
    } else {
      ASSERT_EQ(found, expected) << bits;
      ASSERT_EQ(Half(found).bits, bits);
      ASSERT_EQ(Half(expected).bits, bits);
    }
  }
}

TEST(Half, every_value_means_what_its_bits_say) {
  checkEveryValue<Float16>(10);
  checkEveryValue<BFloat16>(7);
}

/// Checks neighbours a and b: what lies between them goes to the nearer one,
/// and the middle to the even one.
template <typename Half>
void checkRounding(uint16_t last) {
  for (uint32_t bits = 0; bits < last; ++bits) {
    const auto low = static_cast<double>(
        static_cast<float>(Half::fromBits(static_cast<uint16_t>(bits))));
    const auto high = static_cast<double>(
        static_cast<float>(Half::fromBits(static_cast<uint16_t>(bits + 1))));
    const double middle = (low + high) / 2, nudge = (high - low) * 1e-9;
    for (double sign : {1.0, -1.0}) {
      const uint32_t signBit = sign < 0 ? 0x8000 : 0;
      ASSERT_EQ(Half(sign * middle).bits, signBit | (bits + (bits & 1)));
      ASSERT_EQ(Half(sign * (middle - nudge)).bits, signBit | bits);
      ASSERT_EQ(Half(sign * (middle + nudge)).bits, signBit | (bits + 1));
      ASSERT_EQ(Half(static_cast<float>(sign * middle)).bits,
                signBit | (bits + (bits & 1)));
    }
  }
}

TEST(Half, ties_go_to_even_from_float_and_from_double) {
  checkRounding<Float16>(0x7bff);
  checkRounding<BFloat16>(0x7f7f);
  EXPECT_EQ(Float16(65519.0f).bits, 0x7bff);
  EXPECT_EQ(Float16(65520.0f).bits, 0x7c00);
  EXPECT_EQ(Float16(INFINITY).bits, 0x7c00);
  EXPECT_EQ(Float16(1e300).bits, 0x7c00);
  EXPECT_EQ(BFloat16(-INFINITY).bits, 0xff80);
}

TEST(Half, rows_are_converted_as_single_values_are) {
  // Rows of any length, so that vectors and what remains are both met.
  std::mt19937 random(1);
  for (int64_t count : {0, 1, 7, 8, 9, 31, 1000}) {
    const auto n = static_cast<size_t>(count);
    std::vector<float> values(n), widened(n);
    for (float &value : values)
      value = std::bit_cast<float>(static_cast<uint32_t>(random()));
    auto check = [&]<typename Half>(Half, DType dtype) {
      std::vector<Half> halves(n);
      storeRowOf<float>(dtype)(values.data(), count,
                               reinterpret_cast<std::byte *>(halves.data()), 1);
      loadRowOf<float>(dtype)(reinterpret_cast<std::byte *>(halves.data()), 1,
                              count, widened.data());
      for (size_t i = 0; i < n; ++i) {
        ASSERT_EQ(halves[i].bits, Half(values[i]).bits) << values[i];
        ASSERT_EQ(std::bit_cast<uint32_t>(widened[i]),
                  std::bit_cast<uint32_t>(static_cast<float>(halves[i])));
      }
    };
    check(Float16{}, DType::Float16);
    check(BFloat16{}, DType::BFloat16);
  }
}

} // namespace
