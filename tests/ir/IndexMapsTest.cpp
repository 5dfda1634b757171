#include "gcompile/ir/IndexMaps.h"

#include "mlir/IR/AffineExpr.h"
#include "mlir/IR/MLIRContext.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;
using namespace gcompile;

namespace {

class IndexMapsTest : public ::testing::Test {
protected:
  AffineExpr d(unsigned i) { return getAffineDimExpr(i, &context); }
  MLIRContext context;
};

/// Value of `expr` at a point.
int64_t valueAt(AffineExpr expr, ArrayRef<int64_t> point) {
  MLIRContext *context = expr.getContext();
  SmallVector<AffineExpr> constants;
  for (int64_t value : point)
    constants.push_back(getAffineConstantExpr(value, context));
  return cast<AffineConstantExpr>(expr.replaceDims(constants)).getValue();
}

TEST_F(IndexMapsTest, DropsAModThatNeverWraps) {
  EXPECT_EQ(simplifyInRange(d(0) % 8, {8}), d(0));
  EXPECT_EQ(simplifyInRange(d(0) % 8, {9}), d(0) % 8);
}

TEST_F(IndexMapsTest, TakesApartSumsOfMultiples) {
  AffineExpr position = d(0) * 64 + d(1);
  EXPECT_EQ(simplifyInRange(position.floorDiv(64), {4, 64}), d(0));
  EXPECT_EQ(simplifyInRange(position % 64, {4, 64}), d(1));
}

TEST_F(IndexMapsTest, DropsWhatCannotCarry) {
  // d1 * 16 + d2 < 1024, and 1024 divides both 1024 and 2048.
  AffineExpr position = d(0) * 1024 + d(1) * 16 + d(2);
  EXPECT_EQ(simplifyInRange(position.floorDiv(2048), {4, 64, 16}),
            d(0).floorDiv(2));
}

TEST_F(IndexMapsTest, PutsQuotientAndRemainderTogether) {
  AffineExpr whole = d(0).floorDiv(4) * 4 + d(0) % 4;
  EXPECT_EQ(simplifyInRange(whole, {100}), d(0));
  // Three digits, the middle one written either way.
  AffineExpr outer = d(0).floorDiv(35) * 35, inner = d(0) % 7;
  EXPECT_EQ(simplifyInRange(outer + d(0).floorDiv(7) % 5 * 7 + inner, {105}),
            d(0));
  EXPECT_EQ(simplifyInRange(outer + (d(0) % 35).floorDiv(7) * 7 + inner, {105}),
            d(0));
}

TEST_F(IndexMapsTest, SimplifyingTwiceChangesNothing) {
  AffineExpr position = d(0) * 24 + d(1) * 5 + d(2);
  SmallVector<int64_t> sizes{3, 7, 5};
  AffineExpr once =
      simplifyInRange(position.floorDiv(7) * 3 + position % 9, sizes);
  EXPECT_EQ(simplifyInRange(once, sizes), once);
}

TEST_F(IndexMapsTest, ReshapeMapsKeepRowMajorPositions) {
  AffineMap map = reshapeMap({2, 3, 4}, {6, 4}, &context);
  EXPECT_EQ(map.getResult(0), d(0).floorDiv(3));
  EXPECT_EQ(map.getResult(1), d(0) % 3);
  EXPECT_EQ(map.getResult(2), d(1));
}

TEST_F(IndexMapsTest, StridedFormsAreOverTheDimensionsAskedFor) {
  auto form = getStridedForm(d(0) * 8 + d(1) + 3, 2);
  ASSERT_TRUE(form);
  EXPECT_EQ(form->offset, 3);
  EXPECT_EQ(form->strides, (SmallVector<int64_t>{8, 1}));
  EXPECT_FALSE(getStridedForm(d(0).floorDiv(2), 1));
  EXPECT_FALSE(getStridedForm(d(0) + d(1), 1));
}

/// Random expressions keep their value at every point, and their range holds
/// it.
TEST_F(IndexMapsTest, RandomExpressionsKeepTheirValues) {
  std::mt19937 random(7);
  auto pick = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int round = 0; round < 500; ++round) {
    SmallVector<int64_t> sizes{pick(1, 6), pick(1, 6), pick(1, 6)};
    AffineExpr expr =
        d(0) * pick(0, 40) + d(1) * pick(0, 12) + d(2) + pick(0, 5);
    for (int64_t i = pick(1, 3); i > 0; --i) {
      AffineExpr other = d(pick(0, 2)) * pick(-3, 9);
      switch (pick(0, 3)) {
      case 0:
        expr = expr.floorDiv(pick(1, 24));
        break;
      case 1:
        expr = expr % pick(1, 24);
        break;
      case 2:
        expr = expr * pick(1, 6) + other;
        break;
      default:
        expr = expr.floorDiv(pick(1, 9)) * pick(1, 9) + expr % pick(1, 9);
      }
    }
    AffineExpr simple = simplifyInRange(expr, sizes);
    auto range = rangeOf(expr, sizes);
    ASSERT_TRUE(range);
    for (int64_t x = 0; x < sizes[0]; ++x)
      for (int64_t y = 0; y < sizes[1]; ++y)
        for (int64_t z = 0; z < sizes[2]; ++z) {
          int64_t value = valueAt(expr, {x, y, z});
          ASSERT_EQ(valueAt(simple, {x, y, z}), value) << "round " << round;
          ASSERT_LE(range->first, value);
          ASSERT_GE(range->second, value);
        }
  }
}

} // namespace
