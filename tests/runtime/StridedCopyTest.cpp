#include "RoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

void checkCopy(DType dtype, std::vector<int64_t> sizes, Layout from,
               Layout to) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << ::testing::PrintToString(sizes) << " "
               << int(from) << int(to));
  std::mt19937 random(1);
  TestTensor source(dtype, sizes, from), target(dtype, sizes, to);
  source.randomize(random);
  runCall("copy", {}, {&source}, {&target});
  expectElements(target, 0, [&](const std::vector<int64_t> &index) {
    return source.get(index);
  });
}

TEST(StridedCopy, every_layout_and_width) {
  for (Layout from : kAllLayouts)
    for (Layout to : kAllLayouts)
      for (DType dtype : {DType::UInt8, DType::Float16, DType::Float32,
                          DType::Float64, DType::Complex128}) {
        checkCopy(dtype, {}, from, to);
        checkCopy(dtype, {1}, from, to);
        checkCopy(dtype, {3, 0, 2}, from, to);
        checkCopy(dtype, {5, 1, 7, 3}, from, to);
        checkCopy(dtype, {70, 45}, from, to);
      }
}

TEST(StridedCopy, large_enough_for_several_threads) {
  checkCopy(DType::Float32, {300, 501}, Layout::Dense, Layout::Transposed);
  checkCopy(DType::Float32, {300, 501}, Layout::Dense, Layout::Dense);
  checkCopy(DType::Int8, {40, 33, 70}, Layout::Gaps, Layout::Transposed);
}

TEST(StridedCopy, gaps_of_the_target_are_left_alone) {
  TestTensor source(DType::Float32, {4, 5}),
      target(DType::Float32, {4, 5}, Layout::Gaps);
  std::mt19937 random(1);
  source.randomize(random);
  runCall("copy", {}, {&source}, {&target});
  size_t untouched = 0;
  for (size_t i = 0; i < target.storage->numBytes() / 4; ++i) {
    uint32_t bits;
    std::memcpy(&bits, target.storage->data() + 4 * i, 4);
    untouched += bits == 0xabababab;
  }
  EXPECT_EQ(untouched, target.storage->numBytes() / 4 - 20);
}

TEST(StridedCopy, an_expanded_source_is_repeated) {
  TestTensor source(DType::Int32, {1, 5}), target(DType::Int32, {3, 5});
  source.assign({1, 2, 3, 4, 5});
  source.ref.sizes = {3, 5};
  source.ref.strides = {0, 1};
  runCall("copy", {}, {&source}, {&target});
  EXPECT_THAT(target.values(), ::testing::ElementsAre(1, 2, 3, 4, 5, 1, 2, 3, 4,
                                                      5, 1, 2, 3, 4, 5));
}

TEST(StridedCopy, malformed_calls_are_errors) {
  TestTensor source(DType::Int32, {1, 5}), target(DType::Int64, {1, 5});
  auto routine = bindCall("copy", {}, {&source}, {&target});
  ASSERT_FALSE(routine.ok());
  EXPECT_THAT(routine.error().message,
              HasSubstr("from int32[1, 5] to int64[1, 5]"));
  EXPECT_FALSE(bindCall("copy", {}, {&source}, {}).ok());
}

} // namespace
