// Buffers, steps and sharing of memory in plans for the CPU.
#include "PlanRunner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::test;
using plan::BufferKind;
using testing::Each;
using testing::ElementsAre;
using testing::FloatNear;
using testing::Pointwise;
using testing::SizeIs;

namespace {

constexpr const char *kMaps = "#one = affine_map<(d0) -> (d0)>\n"
                              "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
                              "#row = affine_map<(d0, d1) -> (d0)>\n"
                              "#column = affine_map<(d0, d1) -> (d1)>\n";

/// A value of four floats.
constexpr const char *kType = "tensor<4xf32>";

std::string input(const std::string &name, const std::string &type = kType) {
  return "%" + name + ": " + type +
         " {aten.kind = \"user_input\", aten.name = \"" + name + "\"}";
}
std::string weight(const std::string &name, const std::string &type = kType) {
  return "%" + name + ": " + type + " {aten.kind = \"buffer\", aten.name = \"" +
         name + "\"}";
}
std::string output(const std::string &type = kType) {
  return type + " {aten.kind = \"user_output\"}";
}
std::string mutation(const std::string &name, const std::string &type = kType) {
  return type + " {aten.kind = \"buffer_mutation\", aten.name = \"" + name +
         "\"}";
}

/// A kernel that combines two values of four floats, read at the given maps.
std::string binary(const std::string &result, const std::string &op,
                   const std::string &a, const std::string &b,
                   const std::string &mapOfA = "#one") {
  return result + " = tg.kernel \"" + result.substr(1) + "\"(" + a + ", " + b +
         R"() reason "" {
  ^bb0(%_a: tensor<4xf32>, %_b: tensor<4xf32>):
    %_e = tensor.empty() : tensor<4xf32>
    %_r = linalg.generic {indexing_maps = [)" +
         mapOfA + R"(, #one, #one], iterator_types = ["parallel"]}
        ins(%_a, %_b : tensor<4xf32>, tensor<4xf32>) outs(%_e : tensor<4xf32>) {
    ^bb0(%_x: f32, %_y: f32, %_o: f32):
      %_s = )" +
         op + R"( %_x, %_y : f32
      linalg.yield %_s : f32
    } -> tensor<4xf32>
    tg.yield %_r : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
)";
}

constexpr const char *kReversed = "affine_map<(d0) -> (3 - d0)>";

/// Writes `update` (two floats) to places 1 and 2 of `base`.
std::string scatter(const std::string &result, const std::string &base,
                    const std::string &update) {
  return result + " = tg.kernel \"" + result.substr(1) + "\"(" + base + ", " +
         update + R"() reason "" {
  ^bb0(%_b: tensor<4xf32>, %_u: tensor<2xf32>):
    %_r = tg.scatter %_u into %_b domain [2] maps [#one] set
        attributes {is_unsigned = false} {
    ^bb1(%_i: index, %_x: f32):
      %_c = arith.constant 1 : index
      %_p = arith.addi %_i, %_c : index
      %_yes = arith.constant true
      tg.yield %_p, %_x, %_yes : index, f32, i1
    } : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
    tg.yield %_r : tensor<4xf32>
  } : (tensor<4xf32>, tensor<2xf32>) -> tensor<4xf32>
)";
}

std::string forward(const std::string &arguments, const std::string &results,
                    const std::string &body, const std::string &values) {
  std::string types;
  // The types of the results, without their attributes.
  for (size_t begin = 0; begin < results.size();) {
    size_t end = results.find(" {", begin);
    types += (types.empty() ? "" : ", ") + results.substr(begin, end - begin);
    size_t next = results.find("}, ", end);
    begin = next == std::string::npos ? results.size() : next + 3;
  }
  return std::string(kMaps) + "func.func @forward(" + arguments + ") -> (" +
         results + ") {\n" + body + "  return " + values + " : " + types +
         "\n}\n";
}

int64_t countCopies(const plan::Plan &plan) {
  int64_t count = 0;
  for (const plan::Step &step : plan.forward.steps)
    count += step.library && step.library->op == "copy";
  return count;
}

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

TEST(CpuPlan, EqualKernelsShareCode) {
  auto plan = planOf(forward(input("x") + ", " + input("y"), output(),
                             binary("%a", "arith.addf", "%x", "%y") +
                                 binary("%b", "arith.addf", "%y", "%y") +
                                 binary("%c", "arith.mulf", "%a", "%b"),
                             "%c"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->forward.steps, SizeIs(3));
  EXPECT_THAT(plan->kernels, SizeIs(2));
  auto outputs =
      run(*plan, {floats({4}, {1, 2, 3, 4}), floats({4}, {1, 1, 1, 2})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(4, 6, 8, 24));
}

std::string matmulKernel(const std::string &resultType,
                         const std::string &epilogue) {
  return R"(
  %y = tg.kernel "linear"(%x, %w, %b) reason "" {
  ^bb0(%_a: tensor<3x8xf32>, %_v: tensor<5x8xf32>, %_c: tensor<5xf32>):
    %_t = tg.view %_v (d0, d1) -> (d1, d0) : tensor<5x8xf32> -> tensor<8x5xf32>
    %_m = tg.matmul %_a, %_t : tensor<3x8xf32>, tensor<8x5xf32> -> tensor<3x5xf32>
    %_e = tensor.empty() : )" +
         resultType + R"(
    %_r = linalg.generic {indexing_maps = [#id, #column, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%_m, %_c : tensor<3x5xf32>, tensor<5xf32>) outs(%_e : )" +
         resultType + ") {\n" + epilogue + "\n} -> " + resultType + R"(
    tg.yield %_r : )" +
         resultType + R"(
  } : (tensor<3x8xf32>, tensor<5x8xf32>, tensor<5xf32>) -> )" +
         resultType + "\n";
}

std::string linearProgram(const std::string &resultType,
                          const std::string &epilogue) {
  return forward(input("x", "tensor<3x8xf32>") + ", " +
                     weight("w", "tensor<5x8xf32>") + ", " +
                     weight("b", "tensor<5xf32>"),
                 output(resultType), matmulKernel(resultType, epilogue), "%y");
}

TEST(CpuPlan, EpilogueRunsInPlaceOnTheMatmul) {
  auto plan = planOf(linearProgram("tensor<3x5xf32>", R"(
    ^bb0(%p: f32, %q: f32, %o: f32):
      %s = arith.addf %p, %q : f32
      linalg.yield %s : f32)"));
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  const plan::Step &step = plan->forward.steps[0];
  ASSERT_TRUE(step.library && step.launch);
  EXPECT_EQ(step.library->op, "matmul");
  const plan::TensorRef &rhs = step.library->inputs.at(1);
  EXPECT_EQ(plan->buffers.at(rhs.buffer).weight, "w");
  EXPECT_THAT(rhs.sizes, ElementsAre(8, 5));
  EXPECT_THAT(rhs.strides, ElementsAre(1, 8));
  int64_t target = step.library->outputs.at(0).buffer;
  EXPECT_EQ(plan->buffers.at(target).kind, BufferKind::Output);
  ASSERT_THAT(step.launch->arguments, SizeIs(2)); // bias, result
  EXPECT_EQ(step.launch->arguments[1], target);
  EXPECT_EQ(plan->forward.arenaBytes, 0);
  EXPECT_EQ(step.floorFlops, 2 * 3 * 5 * 8 + 3 * 5);
}

TEST(CpuPlan, NarrowingEpilogueNeedsAWorkspace) {
  auto plan = planOf(linearProgram("tensor<3x5xbf16>", R"(
    ^bb0(%p: f32, %q: f32, %o: bf16):
      %s = arith.addf %p, %q : f32
      %t = arith.truncf %s : f32 to bf16
      linalg.yield %t : bf16)"));
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  const plan::LibraryCall &call = *plan->forward.steps[0].library;
  const plan::Buffer &workspace = plan->buffers.at(call.outputs.at(0).buffer);
  EXPECT_EQ(workspace.kind, BufferKind::Arena);
  EXPECT_EQ(plan->forward.arenaBytes, 64); // 15 floats, to a cache line
}

TEST(CpuPlan, ProductsAreNarrowedAsTheyAreWritten) {
  auto plan = planOf(forward(input("x", "tensor<3x8xbf16>") + ", " +
                                 input("y", "tensor<8x5xbf16>"),
                             output("tensor<3x5xbf16>"), R"(
  %r = tg.kernel "mm"(%x, %y) reason "" {
  ^bb0(%a: tensor<3x8xbf16>, %b: tensor<8x5xbf16>):
    %m = tg.matmul %a, %b : tensor<3x8xbf16>, tensor<8x5xbf16> -> tensor<3x5xf32>
    %e = tensor.empty() : tensor<3x5xbf16>
    %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
        ins(%m : tensor<3x5xf32>) outs(%e : tensor<3x5xbf16>) {
    ^bb1(%v: f32, %o: bf16):
      %n = arith.truncf %v : f32 to bf16
      linalg.yield %n : bf16
    } -> tensor<3x5xbf16>
    tg.yield %t : tensor<3x5xbf16>
  } : (tensor<3x8xbf16>, tensor<8x5xbf16>) -> tensor<3x5xbf16>
)",
                             "%r"));
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  const plan::Step &step = plan->forward.steps[0];
  EXPECT_FALSE(step.launch);
  EXPECT_EQ(step.library->outputs.at(0).dtype, DType::BFloat16);
  EXPECT_EQ(plan->forward.arenaBytes, 0);
  // 1 * 1.5 + 7 * 0.25, in bfloat16 exact.
  std::vector<uint16_t> x(24, 0x3f80), y(40, 0x3e80);
  std::fill_n(y.begin(), 5, 0x3fc0);
  auto outputs = run(*plan, {tensor(DType::BFloat16, {3, 8}, x),
                             tensor(DType::BFloat16, {8, 5}, y)});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<uint16_t>(outputs[0]), Each(0x4050)); // 3.25
}

TEST(CpuPlan, EpilogueThatOnlyMovesIsTheLibrarysLayout) {
  // The product of 2 batches, with the batch moved between rows and columns.
  std::string maps = "affine_map<(d0, d1, d2) -> (d1, d0, d2)>, "
                     "affine_map<(d0, d1, d2) -> (d0, d1, d2)>";
  auto plan = planOf(forward(
      input("x", "tensor<2x3x4xf32>") + ", " + input("y", "tensor<2x4x5xf32>"),
      output("tensor<3x2x5xf32>"),
      R"(
  %r = tg.kernel "bmm_transpose"(%x, %y) reason "" {
  ^bb0(%a: tensor<2x3x4xf32>, %b: tensor<2x4x5xf32>):
    %m = tg.matmul %a, %b : tensor<2x3x4xf32>, tensor<2x4x5xf32> -> tensor<2x3x5xf32>
    %e = tensor.empty() : tensor<3x2x5xf32>
    %t = linalg.generic {indexing_maps = [)" +
          maps +
          R"(], iterator_types = ["parallel", "parallel", "parallel"]}
        ins(%m : tensor<2x3x5xf32>) outs(%e : tensor<3x2x5xf32>) {
    ^bb1(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<3x2x5xf32>
    tg.yield %t : tensor<3x2x5xf32>
  } : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<3x2x5xf32>
)",
      "%r"));
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  const plan::Step &step = plan->forward.steps[0];
  EXPECT_FALSE(step.launch);
  EXPECT_THAT(step.library->outputs.at(0).sizes, ElementsAre(2, 3, 5));
  EXPECT_THAT(step.library->outputs.at(0).strides, ElementsAre(5, 10, 1));
  EXPECT_EQ(plan->forward.arenaBytes, 0);
  auto x = randomFloats(24), y = randomFloats(40, 2);
  auto outputs = run(*plan, {floats({2, 3, 4}, x), floats({2, 4, 5}, y)});
  ASSERT_THAT(outputs, SizeIs(1));
  std::vector<float> expected;
  for (int i = 0; i < 3; ++i)
    for (int b = 0; b < 2; ++b)
      for (int j = 0; j < 5; ++j) {
        float sum = 0;
        for (int k = 0; k < 4; ++k)
          sum += x[(b * 3 + i) * 4 + k] * y[(b * 4 + k) * 5 + j];
        expected.push_back(sum);
      }
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              Pointwise(FloatNear(1e-5f), expected));
}

TEST(CpuPlan, ScatterWithEpilogueTakesTwoSteps) {
  auto plan = planOf(forward(input("b") + ", " + input("u"), output(), R"(
  %r = tg.kernel "scatter_neg"(%b, %u) reason "" {
  ^bb0(%p: tensor<4xf32>, %q: tensor<4xf32>):
    %s = tg.scatter %q into %p domain [4] maps [#one] sum
        attributes {is_unsigned = false} {
    ^bb1(%i: index, %v: f32):
      %yes = arith.constant true
      tg.yield %i, %v, %yes : index, f32, i1
    } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %e = tensor.empty() : tensor<4xf32>
    %t = linalg.generic {indexing_maps = [#one, #one], iterator_types = ["parallel"]}
        ins(%s : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb1(%v: f32, %o: f32):
      %n = arith.negf %v : f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
    tg.yield %t : tensor<4xf32>
  } : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
)",
                             "%r"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->forward.steps, SizeIs(2));
  auto outputs =
      run(*plan, {floats({4}, {1, 2, 3, 4}), floats({4}, {1, 1, 1, 2})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(-2, -3, -4, -6));
}

TEST(CpuPlan, TranspositionIsALibraryCopy) {
  auto plan = planOf(forward(input("x", "tensor<3x4xf32>"),
                             output("tensor<4x3xf32>"), R"(
  %y = tg.kernel "transpose"(%x) reason "" {
  ^bb0(%a: tensor<3x4xf32>):
    %t = tg.view %a (d0, d1) -> (d1, d0) : tensor<3x4xf32> -> tensor<4x3xf32>
    %e = tensor.empty() : tensor<4x3xf32>
    %r = linalg.generic {indexing_maps = [#id, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%t : tensor<4x3xf32>) outs(%e : tensor<4x3xf32>) {
    ^bb1(%v: f32, %o: f32):
      linalg.yield %v : f32
    } -> tensor<4x3xf32>
    tg.yield %r : tensor<4x3xf32>
  } : (tensor<3x4xf32>) -> tensor<4x3xf32>
)",
                             "%y"));
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  EXPECT_TRUE(plan->kernels.empty());
  EXPECT_THAT(plan->forward.steps[0].library->inputs.at(0).strides,
              ElementsAre(1, 4));
  auto outputs =
      run(*plan, {floats({3, 4}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              ElementsAre(0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11));
}

//===----------------------------------------------------------------------===//
// Sharing memory
//===----------------------------------------------------------------------===//

TEST(CpuPlan, PointwiseChainsRunInTheOutput) {
  auto plan = planOf(forward(input("x") + ", " + input("y"), output(),
                             binary("%a", "arith.addf", "%x", "%y") +
                                 binary("%b", "arith.mulf", "%a", "%x"),
                             "%b"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->forward.arenaBytes, 0);
}

TEST(CpuPlan, OtherElementsAreNotReadInPlace) {
  auto plan =
      planOf(forward(input("x") + ", " + input("y"), output(),
                     binary("%a", "arith.addf", "%x", "%y") +
                         binary("%b", "arith.mulf", "%a", "%x", kReversed),
                     "%b"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->forward.arenaBytes, 64);
  auto outputs =
      run(*plan, {floats({4}, {1, 2, 3, 4}), floats({4}, {1, 1, 1, 2})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(6, 8, 9, 8));
}

TEST(CpuPlan, StateIsUpdatedInPlace) {
  auto plan = planOf(forward(weight("s") + ", " + input("x"), mutation("s"),
                             binary("%new", "arith.addf", "%s", "%x"), "%new"));
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->forward.steps, SizeIs(1));
  EXPECT_EQ(plan->forward.arenaBytes, 0);
  EXPECT_EQ(plan->mutations.at(0).source, plan->mutations.at(0).target);
  EXPECT_EQ(plan->buffers.at(plan->mutations[0].target).kind,
            BufferKind::State);
  std::map<std::string, Tensor> weights = {{"s", floats({4}, {1, 2, 3, 4})}};
  run(*plan, {floats({4}, {10, 20, 30, 40})}, &weights);
  EXPECT_THAT(valuesOf<float>(weights["s"]), ElementsAre(11, 22, 33, 44));
}

TEST(CpuPlan, StateThatIsReadLaterIsUpdatedLast) {
  auto plan = planOf(forward(weight("s") + ", " + input("x"),
                             output() + ", " + mutation("s"),
                             binary("%new", "arith.addf", "%s", "%x") +
                                 binary("%y", "arith.mulf", "%s", "%new"),
                             "%y, %new"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(countCopies(*plan), 1);
  std::map<std::string, Tensor> weights = {{"s", floats({4}, {1, 2, 3, 4})}};
  auto outputs = run(*plan, {floats({4}, {1, 1, 1, 1})}, &weights);
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(2, 6, 12, 20));
  EXPECT_THAT(valuesOf<float>(weights["s"]), ElementsAre(2, 3, 4, 5));
}

TEST(CpuPlan, ReversedReadOfStateIsNotInPlace) {
  auto plan = planOf(
      forward(weight("s") + ", " + input("x"), mutation("s"),
              binary("%new", "arith.addf", "%s", "%x", kReversed), "%new"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(countCopies(*plan), 1);
  std::map<std::string, Tensor> weights = {{"s", floats({4}, {1, 2, 3, 4})}};
  run(*plan, {floats({4}, {10, 20, 30, 40})}, &weights);
  EXPECT_THAT(valuesOf<float>(weights["s"]), ElementsAre(14, 23, 32, 41));
}

TEST(CpuPlan, ExchangedStatesAreCopiedAsIfAtOnce) {
  auto plan =
      planOf(forward(weight("s") + ", " + weight("t"),
                     mutation("s") + ", " + mutation("t"), "", "%t, %s"));
  ASSERT_TRUE(plan);
  std::map<std::string, Tensor> weights = {{"s", floats({4}, {1, 2, 3, 4})},
                                           {"t", floats({4}, {5, 6, 7, 8})}};
  run(*plan, {}, &weights);
  EXPECT_THAT(valuesOf<float>(weights["s"]), ElementsAre(5, 6, 7, 8));
  EXPECT_THAT(valuesOf<float>(weights["t"]), ElementsAre(1, 2, 3, 4));
}

TEST(CpuPlan, ScatterTouchesOnlyItsSliceOfTheState) {
  auto plan = planOf(forward(weight("s") + ", " + input("u", "tensor<2xf32>"),
                             mutation("s") + ", " + output(),
                             scatter("%new", "%s", "%u") +
                                 binary("%y", "arith.addf", "%new", "%new"),
                             "%new, %y"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(countCopies(*plan), 0);
  EXPECT_EQ(plan->forward.steps.at(0).floorBytes, 2 * 4 + 2 * 4);
  std::map<std::string, Tensor> weights = {{"s", floats({4}, {1, 2, 3, 4})}};
  auto outputs = run(*plan, {floats({2}, {20, 30})}, &weights);
  EXPECT_THAT(valuesOf<float>(weights["s"]), ElementsAre(1, 20, 30, 4));
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(2, 40, 60, 8));
}

TEST(CpuPlan, ChainedScattersIntoStateShareIt) {
  auto plan = planOf(
      forward(weight("s") + ", " + input("u", "tensor<2xf32>"), mutation("s"),
              scatter("%a", "%s", "%u") + scatter("%b", "%a", "%u"), "%b"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(countCopies(*plan), 0);
  EXPECT_EQ(plan->forward.arenaBytes, 0);
}

TEST(CpuPlan, ScatterIntoALiveValueCopiesIt) {
  auto plan = planOf(forward(input("x") + ", " + input("u", "tensor<2xf32>"),
                             output() + ", " + output(),
                             binary("%b", "arith.addf", "%x", "%x") +
                                 scatter("%r", "%b", "%u"),
                             "%b, %r"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(countCopies(*plan), 1);
  auto outputs = run(*plan, {floats({4}, {1, 2, 3, 4}), floats({2}, {20, 30})});
  ASSERT_THAT(outputs, SizeIs(2));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(valuesOf<float>(outputs[1]), ElementsAre(2, 20, 30, 8));
}

TEST(CpuPlan, ScatterIntoAScalarStartsFromIt) {
  auto plan = planOf(forward(input("u", "tensor<2xf32>"), output(), R"(
  %r = tg.kernel "into"(%u) reason "" {
  ^bb0(%a: tensor<2xf32>):
    %c = arith.constant 7.0 : f32
    %e = tensor.empty() : tensor<4xf32>
    %f = linalg.fill ins(%c : f32) outs(%e : tensor<4xf32>) -> tensor<4xf32>
    %s = tg.scatter %a into %f domain [2] maps [#one] sum
        attributes {is_unsigned = false} {
    ^bb1(%i: index, %x: f32):
      %yes = arith.constant true
      tg.yield %i, %x, %yes : index, f32, i1
    } : (tensor<2xf32>, tensor<4xf32>) -> tensor<4xf32>
    tg.yield %s : tensor<4xf32>
  } : (tensor<2xf32>) -> tensor<4xf32>
)",
                             "%r"));
  ASSERT_TRUE(plan);
  auto outputs = run(*plan, {floats({2}, {1, 2})});
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(8, 9, 7, 7));
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

TEST(CpuPlan, NamesOutputsAfterTheirKind) {
  auto plan = planOf(forward(
      input("x") + ", " + input("unused"),
      std::string(kType) + " {aten.kind = \"loss\"}, " + output() + ", " +
          kType +
          " {aten.kind = \"parameter_gradient\", aten.name = \"fc.weight\"}, " +
          output(),
      binary("%a", "arith.addf", "%x", "%x"), "%a, %a, %x, %x"));
  ASSERT_TRUE(plan);
  std::vector<std::string> names;
  for (const plan::OutputBinding &binding : plan->outputs)
    names.push_back(binding.name);
  EXPECT_THAT(names, ElementsAre("loss", "0", "grad.fc.weight", "1"));
  EXPECT_EQ(plan->inputs.at(1).buffer, -1);
  auto outputs =
      run(*plan, {floats({4}, {1, 2, 3, 4}), floats({4}, {0, 0, 0, 0})});
  ASSERT_THAT(outputs, SizeIs(4));
  EXPECT_THAT(valuesOf<float>(outputs[1]), ElementsAre(2, 4, 6, 8));
  EXPECT_THAT(valuesOf<float>(outputs[3]), ElementsAre(1, 2, 3, 4));
}

TEST(CpuPlan, UnsignedIntegersAreMarkedInTheSignature) {
  std::string argument = input("x", "tensor<4xi8>"),
              result = output("tensor<4xi8>");
  argument.insert(argument.size() - 1, ", aten.unsigned");
  result.insert(result.size() - 1, ", aten.unsigned");
  auto plan = planOf(forward(argument, result, "", "%x"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->inputs.at(0).dtype, DType::UInt8);
  EXPECT_EQ(plan->outputs.at(0).dtype, DType::UInt8);
}

TEST(CpuPlan, PreparedWeightsAreComputedOnce) {
  auto plan =
      planOf("#one = affine_map<(d0) -> (d0)>\n"
             "func.func @prepare(" +
             weight("w") + ") -> (tensor<4xf32> {aten.name = \"p0\"}) {\n" +
             binary("%p", "arith.mulf", "%w", "%w") +
             "return %p : tensor<4xf32>\n}\n"
             "func.func @forward(%p: tensor<4xf32> {aten.kind = \"prepared\", "
             "aten.name = \"p0\"}, " +
             input("x") + ") -> (" + output() + ") {\n" +
             binary("%y", "arith.addf", "%x", "%p") +
             "return %y : tensor<4xf32>\n}\n");
  ASSERT_TRUE(plan);
  EXPECT_THAT(plan->prepare.steps, SizeIs(1));
  EXPECT_EQ(plan->preparedBytes, 64);
  std::map<std::string, Tensor> weights = {{"w", floats({4}, {1, 2, 3, 4})}};
  auto outputs = run(*plan, {floats({4}, {1, 1, 1, 1})}, &weights);
  ASSERT_THAT(outputs, SizeIs(1));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(2, 5, 10, 17));
}

TEST(CpuPlan, ConstantsAreBytesOfThePlan) {
  auto plan = planOf(forward(
      input("x"), output() + ", " + output("tensor<3xi1>"),
      "%c = arith.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>\n"
      "%b = arith.constant dense<[true, false, true]> : tensor<3xi1>\n" +
          binary("%y", "arith.mulf", "%x", "%c"),
      "%y, %b"));
  ASSERT_TRUE(plan);
  auto outputs = run(*plan, {floats({4}, {1, 2, 3, 4})});
  ASSERT_THAT(outputs, SizeIs(2));
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(1, 4, 9, 16));
  EXPECT_THAT(valuesOf<uint8_t>(outputs[1]), ElementsAre(1, 0, 1));
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

TEST(CpuPlan, BranchesComputeWhereTheResultIsWanted) {
  std::string program =
      forward(input("p", "tensor<i1>") + ", " + input("x"), output(),
              "%r = tg.cond %p : (tensor<i1>) -> tensor<4xf32> then {\n" +
                  binary("%a", "arith.addf", "%x", "%x") +
                  "tg.yield %a : tensor<4xf32>\n} else {\n"
                  "tg.yield %x : tensor<4xf32>\n}\n",
              "%r");
  auto plan = planOf(program);
  ASSERT_TRUE(plan);
  ASSERT_THAT(plan->forward.steps, SizeIs(1));
  const plan::Step &cond = plan->forward.steps[0];
  EXPECT_THAT(cond.branches.at(0), SizeIs(1));
  EXPECT_THAT(cond.branches.at(1), SizeIs(1)); // a copy of x
  EXPECT_EQ(plan->forward.arenaBytes, 0);
  for (bool taken : {true, false}) {
    auto outputs = run(*plan, {tensor<uint8_t>(DType::Bool, {}, {taken}),
                               floats({4}, {1, 2, 3, 4})});
    ASSERT_THAT(outputs, SizeIs(1));
    EXPECT_EQ(valuesOf<float>(outputs[0])[3], taken ? 8 : 4);
  }
}

/// while (a[0] < 20) { a, b = b, a + b } computes Fibonacci numbers; the
/// exchange makes the carried values depend on each other's old ones.
TEST(CpuPlan, CarriedValuesMayBeExchanged) {
  std::string program =
      forward(input("x") + ", " + input("y"), output() + ", " + output(),
              R"(%r:2 = tg.while %x, %y : (tensor<4xf32>, tensor<4xf32>)
        -> (tensor<4xf32>, tensor<4xf32>) while {
  ^bb0(%a0: tensor<4xf32>, %b0: tensor<4xf32>):
    %p = tg.kernel "below"(%a0) reason "" {
    ^bb1(%v: tensor<4xf32>):
      %f = tg.view %v () -> (0) : tensor<4xf32> -> tensor<f32>
      %e = tensor.empty() : tensor<i1>
      %q = linalg.generic {indexing_maps = [affine_map<() -> ()>, affine_map<() -> ()>],
          iterator_types = []} ins(%f : tensor<f32>) outs(%e : tensor<i1>) {
      ^bb2(%u: f32, %o: i1):
        %c = arith.constant 20.0 : f32
        %s = arith.cmpf olt, %u, %c : f32
        linalg.yield %s : i1
      } -> tensor<i1>
      tg.yield %q : tensor<i1>
    } : (tensor<4xf32>) -> tensor<i1>
    tg.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<4xf32>, %b: tensor<4xf32>):
)" + binary("%sum", "arith.addf", "%a", "%b") +
                  "tg.yield %b, %sum : tensor<4xf32>, tensor<4xf32>\n}\n",
              "%r#0, %r#1");
  auto plan = planOf(program);
  ASSERT_TRUE(plan);
  auto outputs =
      run(*plan, {floats({4}, {0, 1, 2, 0}), floats({4}, {1, 1, 1, 1})});
  ASSERT_THAT(outputs, SizeIs(2));
  // 0 1 1 2 3 5 8 13 21 34
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(21, 34, 47, 21));
  EXPECT_THAT(valuesOf<float>(outputs[1]), ElementsAre(34, 55, 76, 34));
}

} // namespace
