//===- KernelLoopsTest.cpp ------------------------------------------------===//
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/Parser/Parser.h"
#include "gmock/gmock.h"

using namespace mlir;
using namespace gcompile;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

namespace {

/// Analyses the body of the one function of `text`; the operands of its return
/// leave the group.
class KernelLoopsTest : public testing::Test {
protected:
  KernelLoopsTest() {
    context.loadDialect<func::FuncDialect, linalg::LinalgDialect,
                        arith::ArithDialect, math::MathDialect,
                        tensor::TensorDialect, tg::TGDialect>();
  }

  FailureOr<KernelLoops> analyze(const std::string &text) {
    std::string maps = "#id1 = affine_map<(d0) -> (d0)>\n"
                       "#id2 = affine_map<(d0, d1) -> (d0, d1)>\n"
                       "#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>\n"
                       "#row = affine_map<(d0, d1) -> (d0)>\n"
                       "#col = affine_map<(d0, d1) -> (d1)>\n"
                       "#swap = affine_map<(d0, d1) -> (d1, d0)>\n";
    module = parseSourceString<ModuleOp>(maps + text, &context);
    EXPECT_TRUE(module);
    auto function = *module->getOps<func::FuncOp>().begin();
    SmallVector<Operation *> ops;
    for (Operation &op : function.getBody().front().without_terminator())
      ops.push_back(&op);
    SmallVector<Value> outputs(
        function.getBody().front().getTerminator()->getOperands());
    return analyzeKernelLoops(ops, outputs, why);
  }

  static std::string text(AffineMap map) {
    std::string result;
    llvm::raw_string_ostream(result) << map;
    return result;
  }

  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  std::string why;
};

// exp(x - max) / sum: three stages over one row.
constexpr const char *softmax = R"(
func.func @softmax(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %low = arith.constant 0xFF800000 : f32
  %zero = arith.constant 0.0 : f32
  %e1 = tensor.empty() : tensor<8xf32>
  %f1 = linalg.fill ins(%low : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %max = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<8x128xf32>) outs(%f1 : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %e2 = tensor.empty() : tensor<8x128xf32>
  %exp = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%x, %max : tensor<8x128xf32>, tensor<8xf32>) outs(%e2 : tensor<8x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<8x128xf32>
  %f2 = linalg.fill ins(%zero : f32) outs(%e1 : tensor<8xf32>) -> tensor<8xf32>
  %sum = linalg.generic {indexing_maps = [#id2, #row], iterator_types = ["parallel", "reduction"]}
    ins(%exp : tensor<8x128xf32>) outs(%f2 : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.addf %a, %acc : f32
    linalg.yield %m : f32
  } -> tensor<8xf32>
  %r = linalg.generic {indexing_maps = [#id2, #row, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%exp, %sum : tensor<8x128xf32>, tensor<8xf32>) outs(%e2 : tensor<8x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<8x128xf32>
  return %r : tensor<8x128xf32>
})";

TEST_F(KernelLoopsTest, softmax_has_three_stages) {
  auto loops = analyze(softmax);
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(8));
  EXPECT_THAT(loops->reduction, ElementsAre(128));
  ASSERT_EQ(loops->roots.size(), 3u); // max, sum, result: exp has no loops
  for (unsigned stage : {0u, 1u, 2u}) {
    EXPECT_EQ(loops->roots[stage].stage, stage);
    EXPECT_TRUE(loops->roots[stage].isInner);
    EXPECT_EQ(text(loops->roots[stage].loopMap), "(d0, d1) -> (d0, d1)");
  }
}

/// A generic of one operand; `maps` are the input's and the output's.
std::string generic(const std::string &result, const std::string &maps,
                    const std::string &iterators, const std::string &in,
                    const std::string &inType, const std::string &outType,
                    const std::string &init = "") {
  std::string empty = "%e_" + result.substr(1);
  return (init.empty() ? empty + " = tensor.empty() : " + outType + "\n" : "") +
         result + " = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [" + iterators + "]} ins(" + in + " : " + inType +
         ") outs(" + (init.empty() ? empty : init) + " : " + outType +
         ") {\n^bb0(%a: f32, %o: f32):\n" +
         (init.empty() ? "%v = math.exp %a : f32\n"
                       : "%v = arith.addf %a, %o : f32\n") +
         "linalg.yield %v : f32\n} -> " + outType + "\n";
}

constexpr const char *par1 = R"("parallel")";
constexpr const char *par2 = R"("parallel", "parallel")";
constexpr const char *par3 = R"("parallel", "parallel", "parallel")";
constexpr const char *redLast = R"("parallel", "reduction")";
constexpr const char *redFirst = R"("reduction", "parallel")";

TEST_F(KernelLoopsTest, pointwise_outputs_share_loops_across_a_reshape) {
  auto loops = analyze(
      "func.func @f(%x: tensor<4x8xf32>) -> (tensor<4x8xf32>, tensor<32xf32>) "
      "{\n" +
      generic("%y", "#id2, #id2", par2, "%x", "tensor<4x8xf32>",
              "tensor<4x8xf32>") +
      generic("%z", "affine_map<(d0) -> (d0 floordiv 8, d0 mod 8)>, #id1", par1,
              "%y", "tensor<4x8xf32>", "tensor<32xf32>") +
      "return %y, %z : tensor<4x8xf32>, tensor<32xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(4, 8));
  EXPECT_THAT(loops->reduction, IsEmpty());
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1) -> (d0 * 8 + d1)");
  EXPECT_FALSE(loops->roots[1].isInner);
}

TEST_F(KernelLoopsTest, transposed_reader_meets_the_element_at_hand) {
  // Not the identity, which would compute every exp twice.
  auto loops = analyze("func.func @f(%x: tensor<4x4xf32>) -> (tensor<4x4xf32>, "
                       "tensor<4x4xf32>) {\n" +
                       generic("%y", "#id2, #id2", par2, "%x",
                               "tensor<4x4xf32>", "tensor<4x4xf32>") +
                       generic("%z", "#swap, #id2", par2, "%y",
                               "tensor<4x4xf32>", "tensor<4x4xf32>") +
                       "return %y, %z : tensor<4x4xf32>, tensor<4x4xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1) -> (d1, d0)");
}

TEST_F(KernelLoopsTest, row_sums_with_an_outer_reader) {
  auto loops = analyze("func.func @f(%x: tensor<4x8xf32>) -> tensor<4xf32> {\n"
                       "%init = arith.constant dense<0.0> : tensor<4xf32>\n" +
                       generic("%s", "#id2, #row", redLast, "%x",
                               "tensor<4x8xf32>", "tensor<4xf32>", "%init") +
                       generic("%z", "#id1, #id1", par1, "%s", "tensor<4xf32>",
                               "tensor<4xf32>") +
                       "return %z : tensor<4xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  ASSERT_EQ(loops->roots.size(), 2u);
  EXPECT_FALSE(loops->roots[1].isInner);
  EXPECT_EQ(loops->roots[1].stage, 0u); // after the sums of its own stage
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1) -> (d0)");
}

TEST_F(KernelLoopsTest, column_sums_put_the_parallel_loop_outside) {
  auto loops = analyze("func.func @f(%x: tensor<4x8xf32>, %y: tensor<8x4xf32>) "
                       "-> (tensor<8xf32>, tensor<8xf32>) {\n"
                       "%init = arith.constant dense<0.0> : tensor<8xf32>\n" +
                       generic("%s", "#id2, #col", redFirst, "%x",
                               "tensor<4x8xf32>", "tensor<8xf32>", "%init") +
                       generic("%t", "#id2, #row", redLast, "%y",
                               "tensor<8x4xf32>", "tensor<8xf32>", "%init") +
                       "return %s, %t : tensor<8xf32>, tensor<8xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(8));
  EXPECT_THAT(loops->reduction, ElementsAre(4));
  EXPECT_EQ(text(loops->roots[0].loopMap), "(d0, d1) -> (d1, d0)");
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1) -> (d0, d1)");
}

TEST_F(KernelLoopsTest, group_norm_places_channels_by_groups) {
  // 6 channels in 2 groups: sums over 3 channels x 5 positions.
  auto loops = analyze(
      R"(func.func @f(%x: tensor<6x5xf32>) -> tensor<6x5xf32> {
  %init = arith.constant dense<0.0> : tensor<2xf32>
  %loops = tensor.empty() : tensor<2x15xf32>
  %s = linalg.generic {indexing_maps = [
      affine_map<(d0, d1) -> (d0 * 3 + d1 floordiv 5, d1 mod 5)>, #id2, #row],
      iterator_types = ["parallel", "reduction"]}
    ins(%x, %loops : tensor<6x5xf32>, tensor<2x15xf32>) outs(%init : tensor<2xf32>) {
  ^bb0(%a: f32, %unused: f32, %acc: f32):
    %v = arith.addf %a, %acc : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  %e = tensor.empty() : tensor<6x5xf32>
  %z = linalg.generic {indexing_maps = [
      affine_map<(d0, d1) -> (d0 floordiv 3)>, #id2], iterator_types = ["parallel", "parallel"]}
    ins(%s : tensor<2xf32>) outs(%e : tensor<6x5xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<6x5xf32>
  return %z : tensor<6x5xf32>
})");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(2));
  // The sum's loop of 15 is taken apart as its reads are.
  EXPECT_THAT(loops->reduction, ElementsAre(3, 5));
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1, d2) -> (d0 * 3 + d1, d2)");
}

TEST_F(KernelLoopsTest, joined_heads_are_written_in_loops_of_the_heads) {
  auto loops = analyze(
      "func.func @f(%x: tensor<3x5x4xf32>) -> tensor<5x12xf32> {\n" +
      generic("%y",
              "affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>, #id2",
              par2, "%x", "tensor<3x5x4xf32>", "tensor<5x12xf32>") +
      "return %y : tensor<5x12xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(5, 3, 4));
  EXPECT_EQ(text(loops->roots[0].loopMap), "(d0, d1, d2) -> (d0, d1 * 4 + d2)");
  EXPECT_EQ(text(loops->roots[0].reads[0].map), "(d0, d1, d2) -> (d1, d0, d2)");
}

TEST_F(KernelLoopsTest, reader_follows_joined_heads) {
  // z reads y at (i, h * 4 + e), y reads x at (h, i, e): one element of each.
  auto loops = analyze(
      "func.func @f(%x: tensor<3x5x4xf32>) -> (tensor<3x5x4xf32>, "
      "tensor<5x12xf32>) {\n" +
      generic("%y", "#id3, #id3", par3, "%x", "tensor<3x5x4xf32>",
              "tensor<3x5x4xf32>") +
      generic("%z",
              "affine_map<(d0, d1) -> (d1 floordiv 4, d0, d1 mod 4)>, #id2",
              par2, "%y", "tensor<3x5x4xf32>", "tensor<5x12xf32>") +
      "return %y, %z : tensor<3x5x4xf32>, tensor<5x12xf32>\n}");
  ASSERT_TRUE(succeeded(loops)) << why;
  EXPECT_THAT(loops->parallel, ElementsAre(3, 5, 4));
  EXPECT_EQ(text(loops->roots[1].loopMap), "(d0, d1, d2) -> (d1, d2 + d0 * 4)");
}

TEST_F(KernelLoopsTest, reductions_over_different_loops_are_refused) {
  auto loops = analyze("func.func @f(%x: tensor<4x8xf32>, %y: tensor<4x6xf32>) "
                       "-> (tensor<4xf32>, tensor<4xf32>) {\n"
                       "%init = arith.constant dense<0.0> : tensor<4xf32>\n" +
                       generic("%s", "#id2, #row", redLast, "%x",
                               "tensor<4x8xf32>", "tensor<4xf32>", "%init") +
                       generic("%t", "#id2, #row", redLast, "%y",
                               "tensor<4x6xf32>", "tensor<4xf32>", "%init") +
                       "return %s, %t : tensor<4xf32>, tensor<4xf32>\n}");
  ASSERT_TRUE(failed(loops));
  EXPECT_THAT(why, HasSubstr("(4x6) do not fit those of"));
}

TEST_F(KernelLoopsTest, reduction_of_a_reduction_is_refused) {
  auto loops = analyze(
      "func.func @f(%x: tensor<4x4xf32>) -> tensor<4xf32> {\n"
      "%init = arith.constant dense<0.0> : tensor<4xf32>\n" +
      generic("%s", "#id2, #row", redLast, "%x", "tensor<4x4xf32>",
              "tensor<4xf32>", "%init") +
      "%y = tg.view %s (d0, d1) -> (d1) : tensor<4xf32> -> tensor<4x4xf32>\n" +
      generic("%t", "#id2, #row", redLast, "%y", "tensor<4x4xf32>",
              "tensor<4xf32>", "%init") +
      "return %t : tensor<4xf32>\n}");
  ASSERT_TRUE(failed(loops));
  EXPECT_THAT(why, HasSubstr("at other elements than one iteration computes"));
}

TEST_F(KernelLoopsTest, reduction_read_at_computed_index_is_refused) {
  auto loops = analyze("func.func @f(%x: tensor<4x8xf32>, %i: tensor<4xi64>) "
                       "-> tensor<4xf32> {\n"
                       "%init = arith.constant dense<0.0> : tensor<4xf32>\n" +
                       generic("%s", "#id2, #row", redLast, "%x",
                               "tensor<4x8xf32>", "tensor<4xf32>", "%init") +
                       R"(%e = tensor.empty() : tensor<4xf32>
  %z = linalg.generic {indexing_maps = [#id1, #id1], iterator_types = ["parallel"]}
    ins(%i : tensor<4xi64>) outs(%e : tensor<4xf32>) {
  ^bb0(%a: i64, %o: f32):
    %p = arith.index_cast %a : i64 to index
    %v = tensor.extract %s[%p] : tensor<4xf32>
    linalg.yield %v : f32
  } -> tensor<4xf32>
  return %z : tensor<4xf32>
})");
  ASSERT_TRUE(failed(loops));
  EXPECT_THAT(why, HasSubstr("is read at a computed index"));
}

} // namespace
