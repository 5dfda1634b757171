#include "RoutineTesting.h"

#include <set>

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

std::vector<double> draw(const char *distribution, DType dtype,
                         std::vector<int64_t> sizes, uint64_t seed,
                         int64_t stream, Layout layout = Layout::Dense,
                         int numThreads = 2) {
  TestTensor result(dtype, std::move(sizes), layout);
  runCall("random", {{"distribution", distribution}, {"stream", stream}}, {},
          {&result}, numThreads, seed);
  return result.values();
}

TEST(Random, philox_is_the_published_one) {
  // The known answer of Random123 for a counter and key of zeros:
  // 6627e8d5 e169c58d bc57ac4c 9b00dbd8.
  TestTensor result(DType::Int64, {2});
  runCall("random", {{"distribution", "bits"}, {"stream", 0}}, {}, {&result});
  int64_t bits[2];
  std::memcpy(bits, result.addressOf({0}), 16);
  EXPECT_EQ(bits[0], int64_t{0x6627e8d5e169c58d} >> 1);
  EXPECT_EQ(static_cast<uint64_t>(bits[1]), 0xbc57ac4c9b00dbd8 >> 1);
}

TEST(Random, numbers_depend_on_seed_stream_and_position_only) {
  const auto numbers = draw("uniform", DType::Float32, {1001}, 5, 1);
  EXPECT_EQ(draw("uniform", DType::Float32, {1001}, 5, 1, Layout::Gaps, 1),
            numbers);
  EXPECT_EQ(
      draw("uniform", DType::Float32, {77, 13}, 5, 1, Layout::Transposed, 3),
      numbers);
  EXPECT_NE(draw("uniform", DType::Float32, {1001}, 6, 1), numbers);
  EXPECT_NE(draw("uniform", DType::Float32, {1001}, 5, 2), numbers);
  EXPECT_NE(draw("uniform", DType::Float32, {1001}, 5 + (1ull << 40), 1),
            numbers);
}

TEST(Random, other_precisions_draw_the_same_numbers_rounded_down) {
  const auto exact = draw("uniform", DType::Float64, {4001}, 3, 0);
  for (auto [dtype, digits] : {std::pair{DType::Float32, 24},
                               {DType::Float16, 11},
                               {DType::BFloat16, 8}}) {
    const auto rounded = draw("uniform", dtype, {4001}, 3, 0);
    for (size_t i = 0; i < exact.size(); ++i)
      ASSERT_EQ(rounded[i],
                std::ldexp(std::floor(std::ldexp(exact[i], digits)), -digits));
  }
}

TEST(Random, uniform_numbers_fill_the_interval) {
  for (DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const auto numbers = draw("uniform", dtype, {100000}, 1, 7);
    double sum = 0;
    for (double x : numbers) {
      ASSERT_GE(x, 0);
      ASSERT_LT(x, 1);
      sum += x;
    }
    EXPECT_NEAR(sum / 100000, 0.5, 0.004);
  }
}

TEST(Random, normal_numbers_have_mean_zero_and_deviation_one) {
  for (DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
    const auto numbers = draw("normal", dtype, {100000}, 1, 7);
    double sum = 0, squares = 0, fourth = 0;
    for (double x : numbers) {
      ASSERT_TRUE(std::isfinite(x));
      sum += x;
      squares += x * x;
      fourth += x * x * x * x;
    }
    EXPECT_NEAR(sum / 100000, 0, 0.015);
    EXPECT_NEAR(squares / 100000, 1, 0.02);
    EXPECT_NEAR(fourth / 100000, 3, 0.15);
  }
}

TEST(Random, bits_are_not_negative_and_do_not_repeat) {
  const auto numbers = draw("bits", DType::Int64, {1000}, 1, 7);
  EXPECT_EQ(std::set<double>(numbers.begin(), numbers.end()).size(), 1000u);
  for (double x : numbers)
    EXPECT_GE(x, 0);
}

TEST(Random, unknown_distributions_are_errors) {
  TestTensor result(DType::Float32, {4});
  for (const char *distribution : {"gamma", "bits"}) {
    auto routine =
        bindCall("random", {{"distribution", distribution}, {"stream", 0}}, {},
                 {&result});
    ASSERT_FALSE(routine.ok());
    EXPECT_THAT(routine.error().message, HasSubstr(distribution));
    EXPECT_EQ(routine.error().code, ErrorCode::Unsupported);
  }
}

} // namespace
