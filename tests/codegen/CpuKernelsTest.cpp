// Generated kernels against loops written by hand.
#include "PlanRunner.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdint>

using namespace gcompile;
using namespace gcompile::test;
using testing::ElementsAre;
using testing::FloatNear;
using testing::HasSubstr;
using testing::Pointwise;

namespace {

/// A forward function of user inputs and outputs, with one kernel whose region
/// is `region`. `arguments` are the types of the inputs, `results` those of the
/// outputs.
std::string kernelProgram(const std::vector<std::string> &arguments,
                          const std::vector<std::string> &results,
                          const std::string &region,
                          const std::string &maps = "") {
  auto list = [](const std::vector<std::string> &items, auto format) {
    std::string text;
    for (size_t i = 0; i < items.size(); ++i)
      text += (i ? ", " : "") + format(i, items[i]);
    return text;
  };
  std::string inputs = list(arguments, [](size_t i, const std::string &type) {
    std::string name = std::to_string(i);
    return "%in" + name + ": " + type +
           " {aten.kind = \"user_input\", aten.name = \"x" + name + "\"}";
  });
  std::string outputs = list(results, [](size_t i, const std::string &type) {
    return type + " {aten.kind = \"user_output\", aten.name = \"y" +
           std::to_string(i) + "\"}";
  });
  auto types = [](size_t, const std::string &type) { return type; };
  std::string operands = list(arguments, [](size_t i, const std::string &) {
    return "%in" + std::to_string(i);
  });
  std::string blockArguments =
      list(arguments, [](size_t i, const std::string &type) {
        return "%x" + std::to_string(i) + ": " + type;
      });
  std::string values = list(results, [](size_t i, const std::string &) {
    return "%k#" + std::to_string(i);
  });
  return maps + "\nfunc.func @forward(" + inputs + ") -> (" + outputs +
         ") {\n  %k:" + std::to_string(results.size()) +
         " = tg.kernel \"kernel\"(" + operands + ") reason \"\" {\n  ^bb0(" +
         blockArguments + "):\n" + region + "\n  } : (" +
         list(arguments, types) + ") -> (" + list(results, types) +
         ")\n  return " + values + " : " + list(results, types) + "\n}\n";
}

std::vector<Tensor> runKernel(const std::vector<std::string> &arguments,
                              const std::vector<std::string> &results,
                              const std::string &region,
                              const std::vector<Tensor> &inputs,
                              const std::string &maps = "") {
  auto plan = planOf(kernelProgram(arguments, results, region, maps));
  return plan ? run(*plan, inputs) : std::vector<Tensor>();
}

TEST(CpuKernels, PointwiseBroadcastsARow) {
  auto x = randomFloats(7 * 33), b = randomFloats(33, 2);
  auto outputs = runKernel({"tensor<7x33xf32>", "tensor<33xf32>"},
                           {"tensor<7x33xf32>"}, R"(
    %e = tensor.empty() : tensor<7x33xf32>
    %r = linalg.generic {indexing_maps = [#id, #row, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%x0, %x1 : tensor<7x33xf32>, tensor<33xf32>)
        outs(%e : tensor<7x33xf32>) {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %s = arith.addf %a, %c : f32
      linalg.yield %s : f32
    } -> tensor<7x33xf32>
    tg.yield %r : tensor<7x33xf32>)",
                           {floats({7, 33}, x), floats({33}, b)},
                           "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
                           "#row = affine_map<(d0, d1) -> (d1)>");
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> expected;
  for (int i = 0; i < 7; ++i)
    for (int j = 0; j < 33; ++j)
      expected.push_back(x[i * 33 + j] + b[j]);
  EXPECT_EQ(valuesOf<float>(outputs[0]), expected);
}

TEST(CpuKernels, ViewsAreReadInPlace) {
  // y = transpose(x)[1:4:2] with columns in reverse order.
  auto x = randomFloats(6 * 5);
  auto outputs =
      runKernel({"tensor<6x5xf32>"}, {"tensor<2x6xf32>"}, R"(
    %t = tg.view %x0 (d0, d1) -> (d1, d0) : tensor<6x5xf32> -> tensor<5x6xf32>
    %v = tg.view %t (d0, d1) -> (d0 * 2 + 1, 5 - d1) : tensor<5x6xf32> -> tensor<2x6xf32>
    %e = tensor.empty() : tensor<2x6xf32>
    %r = linalg.generic {indexing_maps = [#id, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%v : tensor<2x6xf32>) outs(%e : tensor<2x6xf32>) {
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32
    } -> tensor<2x6xf32>
    tg.yield %r : tensor<2x6xf32>)",
                {floats({6, 5}, x)}, "#id = affine_map<(d0, d1) -> (d0, d1)>");
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> expected;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 6; ++j)
      expected.push_back(-x[(5 - j) * 5 + (2 * i + 1)]);
  EXPECT_EQ(valuesOf<float>(outputs[0]), expected);
}

constexpr const char *kRowMaps = "#id = affine_map<(d0, d1) -> (d0, d1)>\n"
                                 "#row = affine_map<(d0, d1) -> (d0)>\n"
                                 "#column = affine_map<(d0, d1) -> (d1)>\n"
                                 "#one = affine_map<(d0) -> (d0)>";

/// Softmax over dimension 1 of 2, of any sizes.
std::string softmaxRegion(int64_t rows, int64_t columns) {
  std::string m = "tensor<" + std::to_string(rows) + "x" +
                  std::to_string(columns) + "xf32>";
  std::string v = "tensor<" + std::to_string(rows) + "xf32>";
  return R"(
    %inf = arith.constant 0xFF800000 : f32
    %zero = arith.constant 0.0 : f32
    %ev = tensor.empty() : )" +
         v + R"(
    %em = tensor.empty() : )" +
         m + R"(
    %i0 = linalg.fill ins(%inf : f32) outs(%ev : )" +
         v + ") -> " + v + R"(
    %max = linalg.generic {indexing_maps = [#id, #row],
        iterator_types = ["parallel", "reduction"]}
        ins(%x0 : )" +
         m + ") outs(%i0 : " + v + R"() {
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %a, %o : f32
      linalg.yield %s : f32
    } -> )" +
         v + R"(
    %exp = linalg.generic {indexing_maps = [#id, #row, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%x0, %max : )" +
         m + ", " + v + ") outs(%em : " + m + R"() {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %d = arith.subf %a, %c : f32
      %s = math.exp %d : f32
      linalg.yield %s : f32
    } -> )" +
         m + R"(
    %i1 = linalg.fill ins(%zero : f32) outs(%ev : )" +
         v + ") -> " + v + R"(
    %sum = linalg.generic {indexing_maps = [#id, #row],
        iterator_types = ["parallel", "reduction"]}
        ins(%exp : )" +
         m + ") outs(%i1 : " + v + R"() {
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32
    } -> )" +
         v + R"(
    %r = linalg.generic {indexing_maps = [#id, #row, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%exp, %sum : )" +
         m + ", " + v + ") outs(%em : " + m + R"() {
    ^bb0(%a: f32, %c: f32, %o: f32):
      %s = arith.divf %a, %c : f32
      linalg.yield %s : f32
    } -> )" +
         m + R"(
    tg.yield %r : )" +
         m;
}

std::vector<float> softmax(const std::vector<float> &x, size_t rows,
                           size_t columns) {
  std::vector<float> result(x.size());
  for (size_t i = 0; i < rows; ++i) {
    double max = -INFINITY, sum = 0;
    for (size_t j = 0; j < columns; ++j)
      max = std::max<double>(max, x[i * columns + j]);
    for (size_t j = 0; j < columns; ++j)
      sum += std::exp(x[i * columns + j] - max);
    for (size_t j = 0; j < columns; ++j)
      result[i * columns + j] =
          static_cast<float>(std::exp(x[i * columns + j] - max) / sum);
  }
  return result;
}

TEST(CpuKernels, SoftmaxKeepsTheExponentials) {
  auto x = randomFloats(9 * 101);
  std::string type = "tensor<9x101xf32>";
  auto plan =
      planOf(kernelProgram({type}, {type}, softmaxRegion(9, 101), kRowMaps));
  ASSERT_TRUE(plan);
  ASSERT_EQ(plan->kernels.size(), 1u);
  const plan::Launch &launch = *plan->forward.steps.at(0).launch;
  EXPECT_EQ(launch.extent, 9);
  // 101 floats of exp(x - max), rounded up to cache lines of 64 bytes.
  EXPECT_EQ(launch.scratchBytes, 448);
  auto outputs = run(*plan, {floats({9, 101}, x)});
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              Pointwise(FloatNear(1e-6), softmax(x, 9, 101)));
}

TEST(CpuKernels, SoftmaxOverOneElement) {
  std::string type = "tensor<3x1xf32>";
  auto outputs = runKernel({type}, {type}, softmaxRegion(3, 1),
                           {floats({3, 1}, {1, -5, 100})}, kRowMaps);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(1, 1, 1));
}

} // namespace
