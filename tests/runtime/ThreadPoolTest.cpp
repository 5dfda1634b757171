#include "gcompile/cpu/ThreadPool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace gcompile::cpu;

namespace {

TEST(ThreadPool, every_iteration_runs_once) {
  for (int numThreads : {1, 2, 5}) {
    ThreadPool pool(numThreads);
    for (int64_t extent : {0, 1, 3, 100, 5000, 100003})
      for (int64_t grain : {1, 7, 1000, 1 << 20}) {
        std::vector<std::atomic<int>> seen(static_cast<size_t>(extent));
        pool.parallelFor(extent, grain, [&](int64_t begin, int64_t end, int t) {
          EXPECT_LT(begin, end);
          EXPECT_LT(t, numThreads);
          EXPECT_TRUE(end - begin >= grain || end == extent);
          for (int64_t i = begin; i < end; ++i)
            ++seen[static_cast<size_t>(i)];
        });
        for (const std::atomic<int> &count : seen)
          ASSERT_EQ(count, 1);
      }
  }
}

TEST(ThreadPool, many_short_loops_in_a_row) {
  ThreadPool pool(4);
  std::atomic<int64_t> sum = 0;
  for (int i = 0; i < 20000; ++i)
    pool.parallelFor(
        4, 1, [&](int64_t begin, int64_t end, int) { sum += end - begin; });
  EXPECT_EQ(sum, 80000);
}

TEST(ThreadPool, a_thread_index_is_used_by_one_body_at_a_time) {
  ThreadPool pool(4);
  std::vector<std::atomic<int>> users(4);
  pool.parallelFor(1000, 1, [&](int64_t, int64_t, int thread) {
    EXPECT_EQ(users[static_cast<size_t>(thread)]++, 0);
    std::this_thread::yield();
    --users[static_cast<size_t>(thread)];
  });
}

TEST(ThreadPool, loops_inside_loops_run) {
  ThreadPool pool(3);
  std::atomic<int64_t> count = 0;
  pool.parallelFor(10, 1, [&](int64_t begin, int64_t end, int) {
    for (int64_t i = begin; i < end; ++i)
      pool.parallelFor(10, 1,
                       [&](int64_t b, int64_t e, int) { count += e - b; });
  });
  EXPECT_EQ(count, 100);
}

TEST(ThreadPool, callers_on_several_threads_do_not_disturb_one_another) {
  ThreadPool pool(2);
  std::vector<std::thread> callers;
  std::atomic<int64_t> count = 0;
  for (int c = 0; c < 4; ++c)
    callers.emplace_back([&] {
      for (int i = 0; i < 500; ++i)
        pool.parallelFor(8, 1,
                         [&](int64_t b, int64_t e, int) { count += e - b; });
    });
  for (std::thread &caller : callers)
    caller.join();
  EXPECT_EQ(count, 4 * 500 * 8);
}

TEST(ThreadPool, an_exception_reaches_the_caller_and_the_pool_goes_on) {
  ThreadPool pool(2);
  auto run = [&] {
    pool.parallelFor(100, 1, [](int64_t begin, int64_t, int) {
      if (begin >= 50)
        throw std::runtime_error("late");
    });
  };
  EXPECT_THROW(run(), std::runtime_error);
  EXPECT_THROW(run(), std::runtime_error);
  std::atomic<int64_t> count = 0;
  pool.parallelFor(100, 1, [&](int64_t b, int64_t e, int) { count += e - b; });
  EXPECT_EQ(count, 100);
}

} // namespace
