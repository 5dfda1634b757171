#include "GeneratedRoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;

namespace {

void checkMatmul(DType dtype, DType resultType, Layout layout,
                 std::vector<int64_t> batch, int64_t rows, int64_t columns,
                 int64_t depth, double tolerance) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " " << rows << "x" << columns << "x" << depth);
  auto shape = [&](int64_t a, int64_t b) {
    std::vector<int64_t> sizes = batch;
    sizes.insert(sizes.end(), {a, b});
    return sizes;
  };
  TestTensor lhs(dtype, shape(rows, depth), layout),
      rhs(dtype, shape(depth, columns), layout),
      result(resultType, shape(rows, columns), layout);
  std::mt19937 random(3);
  lhs.randomize(random);
  rhs.randomize(random);
  expectSameAsCpu("matmul", nlohmann::json::object(), {&lhs, &rhs}, {&result},
                  tolerance);
}

TEST(CudaMatmul, every_type_and_layout) {
  for (Layout layout : {Layout::Dense, Layout::Gaps, Layout::Reversed}) {
    checkMatmul(DType::Float32, DType::Float32, layout, {2}, 5, 7, 33, 1e-5);
    checkMatmul(DType::Float64, DType::Float64, layout, {}, 3, 4, 9, 1e-12);
    checkMatmul(DType::Float16, DType::Float32, layout, {2, 3}, 4, 5, 6, 1e-5);
    checkMatmul(DType::BFloat16, DType::BFloat16, layout, {}, 4, 5, 40, 1e-2);
    checkMatmul(DType::Int64, DType::Int64, layout, {}, 3, 5, 8, 0);
    checkMatmul(DType::Int8, DType::Int8, layout, {}, 3, 5, 8, 0);
  }
}

TEST(CudaMatmul, more_than_one_tile) {
  checkMatmul(DType::Float32, DType::Float32, Layout::Dense, {}, 70, 130, 20,
              1e-5);
}

TEST(CudaMatmul, sum_of_nothing_is_zero) {
  checkMatmul(DType::Float32, DType::Float32, Layout::Dense, {}, 3, 4, 0, 0);
}

} // namespace
