#include "GeneratedRoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

nlohmann::json attributesOf(int64_t dim, int64_t k, bool descending) {
  nlohmann::json attributes = {{"dim", dim}, {"is_unsigned", false}};
  attributes[k < 0 ? "descending" : "largest"] = descending;
  if (k >= 0)
    attributes["k"] = k;
  return attributes;
}

/// Sort, or top_k where k >= 0.
void checkSort(DType dtype, std::vector<int64_t> sizes, int64_t dim, int64_t k,
               bool descending, Layout layout) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << ::testing::PrintToString(sizes) << " dim "
               << dim << " k " << k << " layout " << int(layout));
  std::mt19937 random(4);
  TestTensor input(dtype, sizes, layout);
  input.randomize(random); // from 33 values: many ties
  const double infinity = std::numeric_limits<double>::infinity();
  if (isFloatingPoint(dtype))
    for (int64_t i = 0; i < input.size(); i += 5)
      input.set(input.indexOf(i), std::array{std::nan(""), infinity, -infinity,
                                             -0.0, 0.0}[random() % 5]);
  if (k >= 0)
    sizes[static_cast<size_t>(dim)] = k;
  TestTensor values(dtype, sizes, layout), indices(DType::Int64, sizes, layout);
  expectSameAsCpu(k < 0 ? "sort" : "top_k", attributesOf(dim, k, descending),
                  {&input}, {&values, &indices});
}

constexpr DType kTypes[] = {DType::Bool,     DType::Int8,    DType::UInt16,
                            DType::Int32,    DType::Int64,   DType::Float16,
                            DType::BFloat16, DType::Float32, DType::Float64};

TEST(CudaSort, every_type) {
  for (DType dtype : kTypes) {
    checkSort(dtype, {5, 9, 7}, 1, -1, false, Layout::Reversed);
    checkSort(dtype, {5, 9, 7}, 1, 4, true, Layout::Gaps);
  }
}

TEST(CudaSort, empty_short_and_long_lines) {
  checkSort(DType::Float32, {0, 4}, 0, -1, false, Layout::Dense);
  checkSort(DType::Float32, {3, 0}, 0, -1, false, Layout::Dense);
  checkSort(DType::Float32, {3, 1}, 1, -1, true, Layout::Dense);
  checkSort(DType::Float32, {3, 5}, 1, 0, true, Layout::Dense);
  checkSort(DType::Float32, {2, 9001}, 1, -1, true, Layout::Dense);
  checkSort(DType::Int64, {2, 5000}, 1, -1, false, Layout::Transposed);
  checkSort(DType::Float32, {1, 9001}, 1, 5000, false, Layout::Dense);
}

TEST(CudaTopK, selects_from_long_lines) {
  for (DType dtype : kTypes)
    checkSort(dtype, {2, 2100}, 1, 17, true, Layout::Dense);
  checkSort(DType::Float32, {2, 2100}, 1, 1, false, Layout::Transposed);
  checkSort(DType::Float32, {2, 2100}, 1, 2000, false, Layout::Gaps);
}

TEST(CudaSort, compiles_for_gpus) {
  for (DType dtype : {DType::BFloat16, DType::Float64, DType::Int8})
    for (int64_t k : {-1, 50}) {
      TestTensor input(dtype, {3, 9000}), values(dtype, {3, k < 0 ? 9000 : k}),
          indices(DType::Int64, {3, k < 0 ? 9000 : k});
      expectCompiles(k < 0 ? "sort" : "top_k", attributesOf(1, k, true),
                     {&input}, {&values, &indices});
    }
}

TEST(CudaSort, complex_numbers_have_no_order) {
  TestTensor input(DType::Complex64, {4}), indices(DType::Int64, {4});
  EXPECT_THAT(bindCudaCall("sort", attributesOf(0, -1, true), {&input},
                           {&input, &indices})
                  .problem,
              HasSubstr("'sort' of complex64 is not supported on CUDA"));
}

} // namespace
