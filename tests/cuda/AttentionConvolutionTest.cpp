#include "GeneratedRoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;

namespace {

void checkAttention(DType dtype, Layout layout, int64_t heads, int64_t keyHeads,
                    int64_t queries, int64_t keys, bool causal, DType maskType,
                    double tolerance) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " " << heads << "/" << keyHeads << " heads "
               << queries << "x" << keys << " mask " << name(maskType));
  const DType sums = dtype == DType::Float64 ? dtype : DType::Float32;
  TestTensor query(dtype, {2, heads, queries, 5}, layout),
      key(dtype, {2, keyHeads, keys, 5}, layout),
      value(dtype, {2, keyHeads, keys, 6}, layout),
      mask(maskType, {2, heads, queries, keys}, layout),
      result(dtype, {2, heads, queries, 6}, layout),
      logsumexp(sums, {2, heads, queries}, layout);
  std::mt19937 random(5);
  for (TestTensor *tensor : {&query, &key, &value, &mask})
    tensor->randomize(random);
  std::vector<TestTensor *> inputs = {&query, &key, &value};
  if (!causal)
    inputs.push_back(&mask);
  expectSameAsCpu("attention", {{"scale", 0.4}, {"causal", causal}}, inputs,
                  {&result, &logsumexp}, tolerance);
}

TEST(CudaAttention, masks_heads_and_types) {
  checkAttention(DType::Float32, Layout::Dense, 2, 2, 3, 7, true, DType::Bool,
                 1e-5);
  checkAttention(DType::Float32, Layout::Gaps, 4, 2, 3, 140, false, DType::Bool,
                 1e-5);
  checkAttention(DType::Float64, Layout::Reversed, 2, 1, 2, 9, false,
                 DType::Float64, 1e-12);
  checkAttention(DType::Float16, Layout::Dense, 2, 2, 2, 9, false,
                 DType::Float16, 2e-3);
  checkAttention(DType::BFloat16, Layout::Dense, 1, 1, 5, 3, true, DType::Bool,
                 1e-2);
}

void checkConvolution(DType dtype, Layout layout, std::vector<int64_t> input,
                      std::vector<int64_t> weight, std::vector<int64_t> result,
                      int64_t groups, int64_t stride, int64_t dilation,
                      int64_t padding, bool transposed, double tolerance) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " of " << ::testing::PrintToString(input));
  const size_t rank = input.size() - 2;
  TestTensor x(dtype, input, layout), w(dtype, weight, layout),
      y(dtype, result, layout);
  std::mt19937 random(6);
  x.randomize(random);
  w.randomize(random);
  const std::vector<int64_t> zeros(rank, 0);
  expectSameAsCpu("convolution",
                  {{"stride", std::vector<int64_t>(rank, stride)},
                   {"dilation", std::vector<int64_t>(rank, dilation)},
                   {"padding", std::vector<int64_t>(2 * rank, padding)},
                   {"output_padding", zeros},
                   {"groups", groups},
                   {"transposed", transposed}},
                  {&x, &w}, {&y}, tolerance);
}

TEST(CudaConvolution, dimensions_groups_and_types) {
  checkConvolution(DType::Float32, Layout::Dense, {2, 4, 7, 6}, {6, 4, 3, 3},
                   {2, 6, 4, 3}, 1, 2, 1, 1, false, 1e-5);
  checkConvolution(DType::Float16, Layout::Gaps, {1, 4, 9}, {4, 1, 3},
                   {1, 4, 5}, 4, 1, 2, 0, false, 2e-3);
  checkConvolution(DType::Float64, Layout::Reversed, {1, 2, 3, 4, 5},
                   {2, 2, 2, 2, 2}, {1, 2, 2, 3, 4}, 1, 1, 1, 0, false, 1e-12);
}

TEST(CudaConvolution, transposed) {
  checkConvolution(DType::Float32, Layout::Dense, {2, 4, 5}, {4, 3, 3},
                   {2, 6, 9}, 2, 2, 1, 1, true, 1e-5);
}

} // namespace
