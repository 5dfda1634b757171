#include "gcompile/arena/ArenaPlanner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>
#include <random>

using namespace gcompile;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Load over time computed the slow way, sizes as given.
int64_t peakOf(std::span<const ArenaBuffer> buffers) {
  int64_t peak = 0;
  for (const ArenaBuffer &at : buffers) {
    int64_t load = 0;
    for (const ArenaBuffer &buffer : buffers)
      if (buffer.begin <= at.begin && at.begin < buffer.end)
        load += buffer.numBytes;
    peak = std::max(peak, load);
  }
  return peak;
}

void expectValid(std::span<const ArenaBuffer> buffers, const ArenaPlan &plan,
                 int64_t alignment) {
  ASSERT_EQ(plan.offsets.size(), buffers.size());
  for (size_t i = 0; i < buffers.size(); ++i) {
    EXPECT_EQ(plan.offsets[i] % alignment, 0);
    EXPECT_GE(plan.offsets[i], 0);
    EXPECT_LE(plan.offsets[i] + buffers[i].numBytes, plan.arenaBytes);
    for (size_t j = 0; j < i; ++j) {
      bool liveTogether = buffers[i].begin < buffers[j].end &&
                          buffers[j].begin < buffers[i].end;
      bool shareBytes =
          plan.offsets[i] < plan.offsets[j] + buffers[j].numBytes &&
          plan.offsets[j] < plan.offsets[i] + buffers[i].numBytes;
      EXPECT_FALSE(liveTogether && shareBytes) << i << " and " << j;
    }
  }
  EXPECT_GE(plan.arenaBytes, plan.lowerBound);
  EXPECT_GE(plan.lowerBound, peakOf(buffers));
}

TEST(ArenaPlanner, no_buffers_need_no_bytes) {
  Result<ArenaPlan> plan = planArena({}, 64);
  ASSERT_TRUE(plan.ok());
  EXPECT_EQ(plan->arenaBytes, 0);
  EXPECT_EQ(plan->lowerBound, 0);
}

TEST(ArenaPlanner, buffers_that_meet_at_one_step_only_by_touching_share_bytes) {
  ArenaBuffer buffers[] = {{0, 2, 100}, {2, 4, 100}};
  Result<ArenaPlan> plan = planArena(buffers, 1);
  ASSERT_TRUE(plan.ok());
  EXPECT_THAT(plan->offsets, ElementsAre(0, 0));
  EXPECT_EQ(plan->arenaBytes, 100);
}

TEST(ArenaPlanner, sizes_count_rounded_up_to_the_alignment) {
  ArenaBuffer buffers[] = {{0, 2, 1}, {0, 2, 65}, {0, 1, 0}};
  Result<ArenaPlan> plan = planArena(buffers, 64);
  ASSERT_TRUE(plan.ok());
  expectValid(buffers, *plan, 64);
  EXPECT_EQ(plan->lowerBound, 64 + 128);
  EXPECT_EQ(plan->arenaBytes, 64 + 128);
}

TEST(ArenaPlanner, a_chain_reaches_the_bound) {
  // Each step reads the buffer before: two are live at a time.
  std::vector<ArenaBuffer> buffers;
  for (int64_t i = 0; i < 50; ++i)
    buffers.push_back({i, i + 2, 1000 + 640 * (i % 2)});
  Result<ArenaPlan> plan = planArena(buffers, 64);
  ASSERT_TRUE(plan.ok());
  expectValid(buffers, *plan, 64);
  EXPECT_EQ(plan->arenaBytes, plan->lowerBound);
}

TEST(ArenaPlanner, refuses_what_is_not_a_problem) {
  auto messageOf = [](ArenaBuffer buffer, int64_t alignment) {
    Result<ArenaPlan> plan = planArena(std::span(&buffer, 1), alignment);
    return plan.ok() ? "" : plan.error().message;
  };
  EXPECT_THAT(messageOf({3, 3, 8}, 64), HasSubstr("[3, 3), which is empty"));
  EXPECT_THAT(messageOf({0, 1, -8}, 64), HasSubstr("-8 bytes"));
  EXPECT_THAT(messageOf({0, 1, 8}, 48), HasSubstr("48 is not a power of two"));
  EXPECT_THAT(messageOf({0, 1, INT64_MAX}, 64), HasSubstr("64 bits"));
  ArenaBuffer two[] = {{0, 1, INT64_MAX / 2}, {1, 2, INT64_MAX / 2 + 2}};
  EXPECT_FALSE(planArena(two, 1).ok());
}

TEST(ArenaPlanner, random_problems_give_valid_deterministic_plans) {
  for (unsigned seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    std::mt19937 random(seed);
    auto upTo = [&](int64_t n) {
      return std::uniform_int_distribution<int64_t>(0, n)(random);
    };
    std::vector<ArenaBuffer> buffers(static_cast<size_t>(1 + upTo(150)));
    for (ArenaBuffer &buffer : buffers) {
      buffer.begin = upTo(60);
      buffer.end = buffer.begin + 1 + upTo(upTo(20));
      buffer.numBytes = upTo(1 << upTo(14));
    }
    int64_t alignment = int64_t{1} << upTo(8);
    Result<ArenaPlan> plan = planArena(buffers, alignment);
    ASSERT_TRUE(plan.ok());
    expectValid(buffers, *plan, alignment);
    EXPECT_LE(plan->arenaBytes, 2 * plan->lowerBound);
    Result<ArenaPlan> again = planArena(buffers, alignment);
    EXPECT_EQ(plan->offsets, again->offsets);
  }
}

} // namespace
