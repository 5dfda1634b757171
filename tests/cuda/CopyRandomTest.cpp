#include "GeneratedRoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

void checkCopy(TestTensor &source, TestTensor &target) {
  SCOPED_TRACE(::testing::PrintToString(source.ref.sizes) + " of " +
               std::string(name(source.ref.dtype)) + " strides " +
               ::testing::PrintToString(source.ref.strides));
  std::mt19937 random(3);
  for (size_t i = 0; i < source.storage->numBytes(); ++i)
    source.storage->mutableData()[i] = std::byte(random());
  expectSameAsCpu("copy", nlohmann::json::object(), {&source}, {&target});
}

TEST(CudaCopy, every_pair_of_layouts) {
  for (Layout from : kAllLayouts)
    for (Layout to : kAllLayouts) {
      TestTensor source(DType::Float32, {3, 37, 41}, from),
          target(DType::Float32, {3, 37, 41}, to);
      checkCopy(source, target);
    }
}

TEST(CudaCopy, every_width) {
  for (DType dtype :
       {DType::Int8, DType::Float16, DType::Float64, DType::Complex128}) {
    TestTensor source(dtype, {9, 10}, Layout::Transposed),
        target(dtype, {9, 10});
    checkCopy(source, target);
    TestTensor run(dtype, {9, 10});
    checkCopy(run, target);
  }
}

TEST(CudaCopy, runs_of_odd_length_and_offset) {
  for (int64_t length : {0, 1, 2, 7, 1023, 4099}) {
    TestTensor source(DType::Float16, {length}),
        target(DType::Float16, {length});
    checkCopy(source, target);
    if (length > 2) {
      source.ref.sizes = target.ref.sizes = {length - 1};
      source.ref.offset = 1;
      checkCopy(source, target);
    }
  }
}

TEST(CudaCopy, expanded_sources_and_scalars) {
  TestTensor source(DType::Float32, {40, 70}), target(DType::Float32, {40, 70});
  source.ref.strides = {0, 1};
  checkCopy(source, target);
  source.ref.strides = {1, 0};
  checkCopy(source, target);
  TestTensor one(DType::Float64, {}), other(DType::Float64, {});
  checkCopy(one, other);
}

void checkRandom(const char *distribution, DType dtype, Layout layout,
                 std::vector<int64_t> sizes, double tolerance) {
  SCOPED_TRACE(::testing::Message() << distribution << " " << name(dtype));
  TestTensor result(dtype, std::move(sizes), layout);
  expectSameAsCpu("random", {{"distribution", distribution}, {"stream", 11}},
                  {}, {&result}, tolerance, 0x123456789abcdef);
}

TEST(CudaRandom, draws_the_numbers_of_the_cpu) {
  for (Layout layout : {Layout::Dense, Layout::Transposed}) {
    for (DType dtype :
         {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
      checkRandom("uniform", dtype, layout, {33, 31}, 0);
      checkRandom("normal", dtype, layout, {33, 31},
                  dtype == DType::Float64   ? 1e-14
                  : dtype == DType::Float32 ? 1e-6
                                            : 1e-2);
    }
    checkRandom("bits", DType::Int64, layout, {33, 31}, 0);
  }
  checkRandom("uniform", DType::Float32, Layout::Dense, {0}, 0);
  checkRandom("uniform", DType::Float32, Layout::Dense, {1}, 0);
}

TEST(CudaCopy, compiles_for_gpus) {
  TestTensor source(DType::Float16, {64, 65}), wide(DType::Float16, {64, 65}),
      turned(DType::Float16, {64, 65}, Layout::Transposed),
      gaps(DType::Complex128, {64, 65}, Layout::Gaps),
      complex(DType::Complex128, {64, 65});
  expectCompiles("copy", nlohmann::json::object(), {&source}, {&wide});
  expectCompiles("copy", nlohmann::json::object(), {&source}, {&turned});
  expectCompiles("copy", nlohmann::json::object(), {&gaps}, {&complex});
}

TEST(CudaRandom, compiles_for_gpus) {
  for (const char *distribution : {"uniform", "normal"})
    for (DType dtype :
         {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64}) {
      TestTensor result(dtype, {99});
      expectCompiles("random", {{"distribution", distribution}, {"stream", -1}},
                     {}, {&result});
    }
  TestTensor bits(DType::Int64, {99}, Layout::Gaps);
  expectCompiles("random", {{"distribution", "bits"}, {"stream", 1}}, {},
                 {&bits});
}

TEST(CudaRandom, unknown_distributions_are_errors) {
  TestTensor result(DType::Int32, {4});
  EXPECT_THAT(bindCudaCall("random",
                           {{"distribution", "normal"}, {"stream", 0}}, {},
                           {&result})
                  .problem,
              HasSubstr("random 'normal' of int32 is not supported on CUDA"));
}

} // namespace
