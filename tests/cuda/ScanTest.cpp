#include "GeneratedRoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

double toleranceOf(DType dtype) {
  return dtype == DType::BFloat16  ? 1e-2
         : dtype == DType::Float16 ? 2e-3
                                   : 1e-6;
}

void checkScan(DType dtype, const std::string &kind, Layout layout,
               std::vector<int64_t> sizes, int64_t dim, double tolerance) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " " << kind << " of "
               << ::testing::PrintToString(sizes) << " layout " << int(layout));
  const bool hasIndices = kind == "max" || kind == "min";
  TestTensor input(dtype, sizes, layout), values(dtype, sizes, layout),
      indices(DType::Int64, sizes, layout);
  std::mt19937 random(8);
  input.randomize(random);
  if (hasIndices && isFloatingPoint(dtype) && input.size() > 5)
    input.set(input.indexOf(input.size() / 2), std::nan(""));
  std::vector<TestTensor *> outputs = {&values};
  if (hasIndices)
    outputs.push_back(&indices);
  expectSameAsCpu("scan",
                  {{"dim", dim}, {"kind", kind}, {"is_unsigned", false}},
                  {&input}, outputs, tolerance);
}

TEST(CudaScan, sums_of_every_type) {
  for (DType dtype : {DType::Int8, DType::Int32, DType::Int64, DType::Float16,
                      DType::BFloat16, DType::Float32, DType::Float64,
                      DType::Complex64, DType::Complex128}) {
    // A thread, a block, and several blocks for a line.
    checkScan(dtype, "sum", Layout::Gaps, {3, 7, 5}, 1, 0);
    checkScan(dtype, "sum", Layout::Dense, {300, 131}, 1, 0);
    checkScan(dtype, "sum", Layout::Dense, {2, 4500}, 1,
              isInteger(dtype) ? 0 : toleranceOf(dtype));
  }
}

TEST(CudaScan, extremes_of_every_type) {
  for (DType dtype : {DType::Bool, DType::UInt8, DType::Int16, DType::Int64,
                      DType::Float16, DType::Float32, DType::Float64})
    for (const char *kind : {"max", "min"}) {
      checkScan(dtype, kind, Layout::Reversed, {3, 7, 5}, 1, 0);
      checkScan(dtype, kind, Layout::Dense, {2, 333}, 1, 0);
    }
  checkScan(DType::BFloat16, "max", Layout::Dense, {2, 4500}, 1, 0);
}

TEST(CudaScan, products_and_log_sums) {
  checkScan(DType::Int64, "prod", Layout::Dense, {3, 200}, 1, 0);
  checkScan(DType::Float64, "prod", Layout::Dense, {3, 50}, 0, 0);
  checkScan(DType::Complex64, "prod", Layout::Dense, {3, 40}, 1, 1e-5);
  for (DType dtype : {DType::BFloat16, DType::Float32, DType::Float64}) {
    checkScan(dtype, "logsumexp", Layout::Dense, {40, 6}, 0,
              toleranceOf(dtype));
    checkScan(dtype, "logsumexp", Layout::Dense, {1, 4500}, 1,
              toleranceOf(dtype));
  }
}

TEST(CudaScan, empty_and_short_lines) {
  checkScan(DType::Float32, "sum", Layout::Dense, {0, 4}, 0, 0);
  checkScan(DType::Float32, "sum", Layout::Dense, {3, 0}, 0, 0);
  checkScan(DType::Float32, "max", Layout::Dense, {3, 1}, 1, 0);
}

TEST(CudaScan, compiles_for_gpus) {
  for (auto [dtype, kind] : {std::pair{DType::Complex64, "sum"},
                             {DType::Complex128, "prod"},
                             {DType::BFloat16, "sum"},
                             {DType::Float16, "max"},
                             {DType::Int8, "min"},
                             {DType::Float32, "logsumexp"}}) {
    const std::string what = kind;
    TestTensor input(dtype, {2, 5000}), values(dtype, {2, 5000}),
        indices(DType::Int64, {2, 5000});
    std::vector<TestTensor *> outputs = {&values};
    if (what == "max" || what == "min")
      outputs.push_back(&indices);
    for (int64_t dim : {0, 1})
      expectCompiles("scan",
                     {{"dim", dim}, {"kind", what}, {"is_unsigned", true}},
                     {&input}, outputs);
  }
}

TEST(CudaScan, bools_have_no_sums) {
  TestTensor input(DType::Bool, {4}), values(DType::Bool, {4});
  EXPECT_THAT(bindCudaCall(
                  "scan", {{"dim", 0}, {"kind", "sum"}, {"is_unsigned", false}},
                  {&input}, {&values})
                  .problem,
              HasSubstr("a running 'sum' of bool is not supported on CUDA"));
}

} // namespace
