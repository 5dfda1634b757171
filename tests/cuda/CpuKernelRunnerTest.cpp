#include "CpuKernelRunner.h"

#include "gcompile/base/Half.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

using gcompile::testing::CpuKernelRunner;
using ::testing::Each;
using ::testing::HasSubstr;

namespace {

/// A kernel `k` with one parameter, `int *y`.
CpuKernelRunner kernel(const std::string &body) {
  return {"k", "#include \"gcompile.cuh\"\nextern \"C\" __global__ void "
               "k(int *y) {\n" +
                   body + "\n}\n"};
}

std::string problemOf(const std::string &body, unsigned numThreads) {
  std::vector<int> y(1024);
  try {
    kernel(body).run({}, {numThreads}, 0, {y.data()});
  } catch (const std::runtime_error &error) {
    return error.what();
  }
  return "none";
}

TEST(CpuKernelRunner, each_thread_of_a_grid_runs_once) {
  std::vector<int> y(2 * 3 * 4 * 5, 0);
  kernel("int block = blockIdx.y * gridDim.x + blockIdx.x;"
         "int thread = threadIdx.y * blockDim.x + threadIdx.x;"
         "y[block * blockDim.x * blockDim.y + thread] += 1;")
      .run({2, 3}, {4, 5}, 0, {y.data()});
  EXPECT_THAT(y, Each(1));
}

TEST(CpuKernelRunner, barriers_order_static_and_dynamic_shared_memory) {
  std::vector<int> y(300);
  kernel(R"(
  __shared__ int a[300];
  extern __shared__ __align__(16) int b[];
  int t = threadIdx.x;
  a[t] = t;
  __syncthreads();
  b[t] = a[299 - t];
  __syncthreads();
  y[t] = b[(t + 1) % 300];)")
      .run({}, {300}, 300 * sizeof(int), {y.data()});
  for (int t = 0; t < 300; ++t)
    EXPECT_EQ(y[static_cast<size_t>(t)], 299 - (t + 1) % 300);
}

TEST(CpuKernelRunner, shuffles_and_votes_are_of_the_warp) {
  std::vector<int> y(64 * 6);
  kernel(R"(
  int t = threadIdx.x, *r = y + t * 6;
  r[0] = __shfl_xor_sync(~0u, t, 5);
  r[1] = (int)__shfl_down_sync(~0u, (long long)t, 3);
  r[2] = (int)__shfl_up_sync(~0u, (double)t, 1, 16);
  r[3] = __shfl_sync(~0u, t, 7);
  r[4] = __ballot_sync(~0u, t % 2);
  r[5] = t % 32 < 4 ? __shfl_xor_sync(15u, t, 1) : 0;)")
      .run({}, {64}, 0, {y.data()});
  for (int t = 0; t < 64; ++t) {
    const int *r = &y[static_cast<size_t>(t) * 6];
    EXPECT_EQ(r[0], t ^ 5);
    EXPECT_EQ(r[1], t % 32 < 29 ? t + 3 : t);
    EXPECT_EQ(r[2], t % 16 ? t - 1 : t);
    EXPECT_EQ(r[3], t / 32 * 32 + 7);
    EXPECT_EQ(static_cast<unsigned>(r[4]), 0xaaaaaaaa);
    EXPECT_EQ(r[5], t % 32 < 4 ? t ^ 1 : 0);
  }
}

TEST(CpuKernelRunner, atomics) {
  std::vector<int> y = {0, -1, 100, 7, 0};
  kernel(R"(
  int t = threadIdx.x;
  atomicAdd(y, t);
  atomicMax(y + 1, t);
  atomicMin(y + 2, t);
  atomicCAS(y + 3, 7, t + 50);
  atomicAdd((float *)(y + 4), 0.5f);)")
      .run({2}, {40}, 0, {y.data()});
  EXPECT_EQ(y[0], 2 * 39 * 40 / 2);
  EXPECT_EQ(y[1], 39);
  EXPECT_EQ(y[2], 0);
  EXPECT_EQ(y[3], 50);
  EXPECT_EQ(std::bit_cast<float>(y[4]), 40);
}

TEST(CpuKernelRunner, threads_that_miss_a_barrier_are_reported) {
  EXPECT_THAT(problemOf("if (threadIdx.x < 3) __syncthreads();", 32),
              AllOf(HasSubstr("deadlock"),
                    HasSubstr("waits at __syncthreads (3 do)"),
                    HasSubstr("has ended (29 do)")));
}

TEST(CpuKernelRunner, lanes_that_miss_a_shuffle_are_reported) {
  EXPECT_THAT(
      problemOf("if (threadIdx.x < 8) *y = __shfl_xor_sync(~0u, 1, 1);", 32),
      HasSubstr("waits at a shuffle with mask 0xffffffff (8 do)"));
  EXPECT_THAT(problemOf("*y = __shfl_xor_sync(~0u, 1, 1);", 16),
              HasSubstr("deadlock"));
  EXPECT_THAT(problemOf("*y = __shfl_xor_sync(1u << threadIdx.x, 1, 1);", 2),
              HasSubstr("which takes no part in the shuffle"));
  EXPECT_THAT(problemOf("__syncwarp(2);", 1),
              HasSubstr("does not name the calling lane"));
}

TEST(CpuKernelRunner, half_precision_rounds_to_nearest_even) {
  std::vector<float> x;
  for (uint32_t i = 0; i < 0x10000; ++i)
    for (uint32_t low : {0u, 0x1000u, 0x8000u, 0x8001u})
      x.push_back(std::bit_cast<float>(i << 16 | low));
  std::vector<uint16_t> half(x.size()), brain(x.size());
  std::vector<float> back(x.size());
  CpuKernelRunner("k", R"(#include "gcompile.cuh"
extern "C" __global__ void k(const f32 *x, f16 *half, bf16 *brain, f32 *back) {
  const i64 i = i64(blockIdx.x) * blockDim.x + threadIdx.x;
  half[i] = to_f16(x[i]);
  brain[i] = to_bf16(x[i]);
  back[i] = to_float(half[i]);
})")
      .run({static_cast<unsigned>(x.size() / 256)}, {256}, 0,
           {x.data(), half.data(), brain.data(), back.data()});
  for (size_t i = 0; i < x.size(); ++i) {
    if (x[i] != x[i]) {
      ASSERT_TRUE(back[i] != back[i]);
      continue;
    }
    ASSERT_EQ(half[i], gcompile::Float16(x[i]).bits) << x[i];
    ASSERT_EQ(brain[i], gcompile::BFloat16(x[i]).bits) << x[i];
    ASSERT_EQ(back[i], static_cast<float>(gcompile::Float16(x[i])));
  }
}

TEST(CpuKernelRunner, sources_that_do_not_compile_say_why) {
  EXPECT_THAT(
      [] { kernel("*y = nonsense;"); },
      ::testing::ThrowsMessage<std::runtime_error>(HasSubstr("nonsense")));
}

} // namespace
