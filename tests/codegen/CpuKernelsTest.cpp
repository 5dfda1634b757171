// Generated kernels against loops written by hand.
#include "PlanRunner.h"

#include <fmt/format.h>
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

using Typed = std::pair<std::string, std::string>; ///< value and its type

/// `NAME = linalg.generic`; `iterators` has a 'p' or an 'r' for each loop,
/// `body` the arguments and operations, ending in a yield.
std::string generic(const std::string &name, const std::string &maps,
                    const std::string &iterators, const std::vector<Typed> &ins,
                    const std::vector<Typed> &outs, const std::string &body) {
  auto operands = [](const std::vector<Typed> &list) {
    std::string names, types;
    for (const auto &[value, type] : list) {
      names += (names.empty() ? "" : ", ") + value;
      types += (types.empty() ? "" : ", ") + type;
    }
    return std::pair(names, types);
  };
  std::string kinds;
  for (char c : iterators)
    kinds += std::string(kinds.empty() ? "" : ", ") +
             (c == 'p' ? "\"parallel\"" : "\"reduction\"");
  auto [inNames, inTypes] = operands(ins);
  auto [outNames, outTypes] = operands(outs);
  std::string count = outs.size() > 1 ? ":" + std::to_string(outs.size()) : "";
  return name + count + " = linalg.generic {indexing_maps = [" + maps +
         "], iterator_types = [" + kinds + "]}" +
         (ins.empty() ? "" : " ins(" + inNames + " : " + inTypes + ")") +
         " outs(" + outNames + " : " + outTypes + ") {\n" + body + "\n} -> " +
         (outs.size() > 1 ? "(" + outTypes + ")" : outTypes) + "\n";
}

std::string empty(const std::string &name, const std::string &type) {
  return name + " = tensor.empty() : " + type + "\n";
}

/// A tensor of `type` (with elements of type `element`) full of `value`.
std::string filled(const std::string &name, const std::string &value,
                   const std::string &element, const std::string &type) {
  return name + "_v = arith.constant " + value + " : " + element + "\n" +
         empty(name + "_e", type) + name + " = linalg.fill ins(" + name +
         "_v : " + element + ") outs(" + name + "_e : " + type + ") -> " +
         type + "\n";
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

TEST(CpuKernels, TransposedOperandsAreTurnedTileByTile) {
  // 70 x 45: tiles of 32 with rests on both sides.
  const int rows = 70, columns = 45;
  auto x = randomFloats(rows * columns), y = randomFloats(rows * columns, 2);
  auto plan = planOf(kernelProgram({"tensor<70x45xf32>", "tensor<45x70xf32>"},
                                   {"tensor<70x45xf32>"}, R"(
    %t = tg.view %x1 (d0, d1) -> (d1, d0) : tensor<45x70xf32> -> tensor<70x45xf32>
    %e = tensor.empty() : tensor<70x45xf32>
    %r = linalg.generic {indexing_maps = [#id, #id, #id],
        iterator_types = ["parallel", "parallel"]}
        ins(%x0, %t : tensor<70x45xf32>, tensor<70x45xf32>)
        outs(%e : tensor<70x45xf32>) {
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.subf %a, %b : f32
      linalg.yield %s : f32
    } -> tensor<70x45xf32>
    tg.yield %r : tensor<70x45xf32>)",
                                   "#id = affine_map<(d0, d1) -> (d0, d1)>"));
  ASSERT_TRUE(plan);
  const plan::Launch &launch = *plan->forward.steps.at(0).launch;
  EXPECT_EQ(launch.extent, 3 * 2); // tiles
  EXPECT_EQ(launch.scratchBytes, 32 * 32 * 4);
  auto outputs =
      run(*plan, {floats({rows, columns}, x), floats({columns, rows}, y)});
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> expected;
  for (int i = 0; i < rows; ++i)
    for (int j = 0; j < columns; ++j)
      expected.push_back(x[i * columns + j] - y[j * rows + i]);
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

int64_t countOf(const std::string &text, const std::string &part) {
  int64_t count = 0;
  for (size_t at = text.find(part); at != std::string::npos;
       at = text.find(part, at + 1))
    ++count;
  return count;
}

TEST(CpuKernels, SoftmaxComputesExponentialsOnce) {
  std::string type = "tensor<9x101xf32>";
  auto plan =
      planOf(kernelProgram({type}, {type}, softmaxRegion(9, 101), kRowMaps));
  ASSERT_TRUE(plan);
  const std::string &source = plan->kernels.at(0).source;
  // x for the maximum and for the sum, the kept exponential for the quotient.
  EXPECT_EQ(countOf(source, "load float"), 3) << source;
  EXPECT_EQ(countOf(source, "store float"), 2); // kept, and the result
  EXPECT_EQ(countOf(source, "call float @expf"), 1);
  // Rows, and one loop a stage.
  EXPECT_EQ(countOf(source, "icmp slt"), 4);
}

TEST(CpuKernels, NeighbouringLoopsAreOne) {
  std::string type = "tensor<3x5x7xf32>";
  auto plan = planOf(kernelProgram(
      {type}, {type},
      empty("%e", type) +
          generic("%r", "#id3, #id3", "ppp", {{"%x0", type}}, {{"%e", type}},
                  R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32)") +
          "tg.yield %r : " + type,
      "#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>"));
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->forward.steps.at(0).launch->extent, 3 * 5 * 7);
  const std::string &source = plan->kernels.at(0).source;
  EXPECT_EQ(countOf(source, "icmp slt"), 1) << source;
  EXPECT_EQ(countOf(source, "mul"), 0)
      << source; // the position is the loop index
}

TEST(CpuKernels, SoftmaxOverOneElement) {
  std::string type = "tensor<3x1xf32>";
  auto outputs = runKernel({type}, {type}, softmaxRegion(3, 1),
                           {floats({3, 1}, {1, -5, 100})}, kRowMaps);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(1, 1, 1));
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Layer norm of rows: mean, variance about it, then the normalised row.
std::string layerNormRegion(const std::string &m, const std::string &v,
                            int columns) {
  std::string scale = fmt::format("{:.9e}", 1.0 / columns);
  return empty("%em", m) + filled("%zero", "0.0", "f32", v) + empty("%ev", v) +
         generic("%sum", "#id, #row", "pr", {{"%x0", m}}, {{"%zero", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
         generic("%mean", "#one, #one", "p", {{"%sum", v}}, {{"%ev", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %c = arith.constant )" + scale + R"( : f32
      %s = arith.mulf %a, %c : f32
      linalg.yield %s : f32)") +
         generic("%square", "#id, #row, #id", "pp", {{"%x0", m}, {"%mean", v}},
                 {{"%em", m}}, R"(
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      %s = arith.mulf %d, %d : f32
      linalg.yield %s : f32)") +
         generic("%var", "#id, #row", "pr", {{"%square", m}}, {{"%zero", v}},
                 R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
         generic("%rstd", "#one, #one", "p", {{"%var", v}}, {{"%ev", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %c = arith.constant )" + scale + R"( : f32
      %eps = arith.constant 1.0e-5 : f32
      %m = arith.mulf %a, %c : f32
      %n = arith.addf %m, %eps : f32
      %s = math.rsqrt %n : f32
      linalg.yield %s : f32)") +
         generic("%r", "#id, #row, #row, #column, #id", "pp",
                 {{"%x0", m},
                  {"%mean", v},
                  {"%rstd", v},
                  {"%x1", "tensor<" + std::to_string(columns) + "xf32>"}},
                 {{"%em", m}}, R"(
    ^bb0(%a: f32, %b: f32, %c: f32, %g: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      %e = arith.mulf %d, %c : f32
      %s = arith.mulf %e, %g : f32
      linalg.yield %s : f32)");
}

TEST(CpuKernels, LayerNormGivesItsStatisticsToo) {
  const int rows = 5, columns = 70;
  std::string m = "tensor<5x70xf32>", v = "tensor<5xf32>";
  auto x = randomFloats(rows * columns), g = randomFloats(columns, 2);
  auto outputs =
      runKernel({m, "tensor<70xf32>"}, {m, v, v},
                layerNormRegion(m, v, columns) +
                    "tg.yield %r, %mean, %rstd : " + m + ", " + v + ", " + v,
                {floats({rows, columns}, x), floats({columns}, g)}, kRowMaps);
  ASSERT_EQ(outputs.size(), 3u);
  std::vector<float> expected, means, rstds;
  for (int i = 0; i < rows; ++i) {
    double sum = 0, square = 0;
    for (int j = 0; j < columns; ++j)
      sum += x[i * columns + j];
    double mean = sum / columns;
    for (int j = 0; j < columns; ++j)
      square += std::pow(x[i * columns + j] - mean, 2);
    double rstd = 1 / std::sqrt(square / columns + 1e-5);
    means.push_back(static_cast<float>(mean));
    rstds.push_back(static_cast<float>(rstd));
    for (int j = 0; j < columns; ++j)
      expected.push_back(
          static_cast<float>((x[i * columns + j] - mean) * rstd * g[j]));
  }
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              Pointwise(FloatNear(1e-5), expected));
  EXPECT_THAT(valuesOf<float>(outputs[1]), Pointwise(FloatNear(1e-6), means));
  EXPECT_THAT(valuesOf<float>(outputs[2]), Pointwise(FloatNear(1e-5), rstds));
}

TEST(CpuKernels, ColumnSumReadsRows) {
  const int rows = 40, columns = 600;
  auto x = randomFloats(rows * columns);
  std::string m = "tensor<40x600xf32>", v = "tensor<600xf32>";
  auto plan = planOf(kernelProgram(
      {m}, {v},
      filled("%zero", "0.0", "f32", v) +
          generic("%r", "#id, #column", "rp", {{"%x0", m}}, {{"%zero", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
          "tg.yield %r : " + v,
      kRowMaps));
  ASSERT_TRUE(plan);
  // One accumulator for each of a tile of 512 columns.
  EXPECT_EQ(plan->forward.steps.at(0).launch->scratchBytes, 512 * 4);
  auto outputs = run(*plan, {floats({rows, columns}, x)});
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> expected(columns);
  for (int j = 0; j < columns; ++j) {
    double sum = 0;
    for (int i = 0; i < rows; ++i)
      sum += x[i * columns + j];
    expected[j] = static_cast<float>(sum);
  }
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              Pointwise(FloatNear(1e-5), expected));
}

TEST(CpuKernels, SoftmaxOverAnOuterDimension) {
  // Dimension 1 of 3: neighbours in memory belong to different softmaxes.
  const int batch = 2, classes = 21, pixels = 37;
  auto x = randomFloats(batch * classes * pixels);
  std::string m = "tensor<2x21x37xf32>", v = "tensor<2x37xf32>";
  std::string region =
      empty("%em", m) + filled("%inf", "0xFF800000", "f32", v) +
      filled("%zero", "0.0", "f32", v) +
      generic("%max", "#id3, #outer", "prp", {{"%x0", m}}, {{"%inf", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.maximumf %a, %o : f32
      linalg.yield %s : f32)") +
      generic("%exp", "#id3, #outer, #id3", "ppp", {{"%x0", m}, {"%max", v}},
              {{"%em", m}}, R"(
    ^bb0(%a: f32, %b: f32, %o: f32):
      %d = arith.subf %a, %b : f32
      %s = math.exp %d : f32
      linalg.yield %s : f32)") +
      generic("%sum", "#id3, #outer", "prp", {{"%exp", m}}, {{"%zero", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
      generic("%r", "#id3, #outer, #id3", "ppp", {{"%exp", m}, {"%sum", v}},
              {{"%em", m}}, R"(
    ^bb0(%a: f32, %b: f32, %o: f32):
      %s = arith.divf %a, %b : f32
      linalg.yield %s : f32)") +
      "tg.yield %r : " + m;
  auto outputs =
      runKernel({m}, {m}, region, {floats({batch, classes, pixels}, x)},
                "#id3 = affine_map<(d0, d1, d2) -> (d0, d1, d2)>\n"
                "#outer = affine_map<(d0, d1, d2) -> (d0, d2)>");
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> rows(x.size()), expected(x.size());
  auto transposed = [&](int i) { // position of element i with classes last
    int b = i / (classes * pixels), c = i / pixels % classes, p = i % pixels;
    return (b * pixels + p) * classes + c;
  };
  for (int i = 0; i < static_cast<int>(x.size()); ++i)
    rows[transposed(i)] = x[i];
  rows = softmax(rows, batch * pixels, classes);
  for (int i = 0; i < static_cast<int>(x.size()); ++i)
    expected[i] = rows[transposed(i)];
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              Pointwise(FloatNear(1e-6), expected));
}

TEST(CpuKernels, ArgmaxTakesTheFirstAndNaN) {
  std::string m = "tensor<3x4xf32>", v = "tensor<3xf32>", i = "tensor<3xi64>";
  std::string region = filled("%inf", "0xFF800000", "f32", v) +
                       filled("%none", "0", "i64", i) +
                       generic("%r", "#id, #row, #row", "pr", {{"%x0", m}},
                               {{"%inf", v}, {"%none", i}}, R"(
    ^bb0(%a: f32, %best: f32, %at: i64):
      %k = linalg.index 1 : index
      %n = arith.index_cast %k : index to i64
      %gt = arith.cmpf ogt, %a, %best : f32
      %nan = arith.cmpf uno, %a, %a : f32
      %wasnan = arith.cmpf ord, %best, %best : f32
      %fresh = arith.andi %nan, %wasnan : i1
      %take = arith.ori %gt, %fresh : i1
      %v = arith.select %take, %a, %best : f32
      %w = arith.select %take, %n, %at : i64
      linalg.yield %v, %w : f32, i64)") +
                       "tg.yield %r#1, %r#0 : " + i + ", " + v;
  auto outputs = runKernel(
      {m}, {i, v}, region,
      {floats({3, 4}, {1, 7, 7, 2, -3, -1, -9, -1, 5, NAN, 8, NAN})}, kRowMaps);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(valuesOf<int64_t>(outputs[0]), ElementsAre(1, 1, 1));
  EXPECT_THAT(valuesOf<float>(outputs[1]),
              ElementsAre(7, -1, testing::IsNan()));
}

TEST(CpuKernels, WindowsOverlap) {
  // Sums of 3 neighbours, stride 2; the window's size comes with an operand.
  std::string x = "tensor<9xf32>", y = "tensor<4xf32>";
  auto outputs = runKernel(
      {x}, {y},
      filled("%zero", "0.0", "f32", y) + empty("%w", "tensor<3xf32>") +
          generic("%r", "#window, #inner, #row", "pr",
                  {{"%x0", x}, {"%w", "tensor<3xf32>"}}, {{"%zero", y}}, R"(
    ^bb0(%a: f32, %u: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
          "tg.yield %r : " + y,
      {floats({9}, {1, 2, 3, 4, 5, 6, 7, 8, 9})},
      "#window = affine_map<(d0, d1) -> (d0 * 2 + d1)>\n"
      "#inner = affine_map<(d0, d1) -> (d1)>\n"
      "#row = affine_map<(d0, d1) -> (d0)>");
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(6, 12, 18, 24));
}

TEST(CpuKernels, FullReductionToZeroDimensions) {
  std::string m = "tensor<11x13xf32>", s = "tensor<f32>";
  auto x = randomFloats(11 * 13);
  auto outputs = runKernel(
      {m}, {s},
      filled("%zero", "0.0", "f32", s) +
          generic("%r", "#id, #none", "rr", {{"%x0", m}}, {{"%zero", s}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.addf %a, %o fastmath<reassoc> : f32
      linalg.yield %s : f32)") +
          empty("%e", s) +
          generic("%h", "#scalar, #scalar", "", {{"%r", s}}, {{"%e", s}}, R"(
    ^bb0(%a: f32, %o: f32):
      %c = arith.constant 0.5 : f32
      %s = arith.mulf %a, %c : f32
      linalg.yield %s : f32)") +
          "tg.yield %h : " + s,
      {floats({11, 13}, x)},
      std::string(kRowMaps) + "\n#none = affine_map<(d0, d1) -> ()>\n#scalar = "
                              "affine_map<() -> ()>");
  ASSERT_EQ(outputs.size(), 1u);
  double sum = 0;
  for (float value : x)
    sum += value;
  EXPECT_NEAR(valuesOf<float>(outputs[0])[0], sum / 2, 1e-4);
}

TEST(CpuKernels, ReductionOverNothing) {
  std::string m = "tensor<3x0xf32>", v = "tensor<3xf32>";
  auto outputs = runKernel(
      {m}, {v},
      filled("%one", "1.0", "f32", v) +
          generic("%r", "#id, #row", "pr", {{"%x0", m}}, {{"%one", v}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.mulf %a, %o : f32
      linalg.yield %s : f32)") +
          "tg.yield %r : " + v,
      {floats({3, 0}, {})}, kRowMaps);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]), ElementsAre(1, 1, 1));
}

TEST(CpuKernels, EmptyResultTakesNoStep) {
  std::string m = "tensor<0x4xf32>";
  auto plan = planOf(kernelProgram(
      {m}, {m},
      empty("%e", m) +
          generic("%r", "#id, #id", "pp", {{"%x0", m}}, {{"%e", m}}, R"(
    ^bb0(%a: f32, %o: f32):
      %s = arith.negf %a : f32
      linalg.yield %s : f32)") +
          "tg.yield %r : " + m,
      kRowMaps));
  ASSERT_TRUE(plan);
  EXPECT_TRUE(plan->forward.steps.empty());
  EXPECT_EQ(run(*plan, {floats({0, 4}, {})}).size(), 1u);
}

//===----------------------------------------------------------------------===//
// Gathers and branches
//===----------------------------------------------------------------------===//

TEST(CpuKernels, GatherReadsRowsByIndex) {
  std::string table = "tensor<5x3xf32>", ids = "tensor<4xi64>",
              y = "tensor<4x3xf32>";
  auto w = randomFloats(15);
  auto outputs = runKernel(
      {table, ids}, {y},
      empty("%e", y) +
          generic("%r", "#row, #id", "pp", {{"%x1", ids}}, {{"%e", y}}, R"(
    ^bb0(%n: i64, %o: f32):
      %k = arith.index_cast %n : i64 to index
      %j = linalg.index 1 : index
      %s = tensor.extract %x0[%k, %j] : tensor<5x3xf32>
      linalg.yield %s : f32)") +
          "tg.yield %r : " + y,
      {floats({5, 3}, w), integers({4}, {4, 0, 0, 2})}, kRowMaps);
  ASSERT_EQ(outputs.size(), 1u);
  std::vector<float> expected;
  for (int row : {4, 0, 0, 2})
    expected.insert(expected.end(), w.begin() + row * 3,
                    w.begin() + row * 3 + 3);
  EXPECT_EQ(valuesOf<float>(outputs[0]), expected);
}

TEST(CpuKernels, ConcatenationReadsOneSource) {
  std::string a = "tensor<2x3xf32>", b = "tensor<2x4xf32>",
              y = "tensor<2x7xf32>";
  auto outputs =
      runKernel({a, b}, {y},
                empty("%e", y) + generic("%r", "#id", "pp", {}, {{"%e", y}}, R"(
    ^bb0(%o: f32):
      %i = linalg.index 0 : index
      %j = linalg.index 1 : index
      %three = arith.constant 3 : index
      %first = arith.cmpi slt, %j, %three : index
      %s = scf.if %first -> f32 {
        %v = tensor.extract %x0[%i, %j] : tensor<2x3xf32>
        scf.yield %v : f32
      } else {
        %k = arith.subi %j, %three : index
        %v = tensor.extract %x1[%i, %k] : tensor<2x4xf32>
        scf.yield %v : f32
      }
      linalg.yield %s : f32)") +
                    "tg.yield %r : " + y,
                {floats({2, 3}, {1, 2, 3, 4, 5, 6}),
                 floats({2, 4}, {10, 20, 30, 40, 50, 60, 70, 80})},
                kRowMaps);
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<float>(outputs[0]),
              ElementsAre(1, 2, 3, 10, 20, 30, 40, 4, 5, 6, 50, 60, 70, 80));
}

// Powers of two by a loop: 2^x, reading 2 at each round.
TEST(CpuKernels, LoopsInsideABodyCarryValues) {
  std::string x = "tensor<4xi64>", two = "tensor<64xi64>";
  auto outputs =
      runKernel({x, two}, {x},
                empty("%e", x) +
                    generic("%r", "#v, #v", "p", {{"%x0", x}}, {{"%e", x}}, R"(
    ^bb0(%n: i64, %o: i64):
      %zero = arith.constant 0 : index
      %one = arith.constant 1 : index
      %rounds = arith.constant 64 : index
      %start = arith.constant 1 : i64
      %p = scf.for %k = %zero to %rounds step %one iter_args(%q = %start) -> (i64) {
        %i = arith.index_cast %k : index to i64
        %run = arith.cmpi slt, %i, %n : i64
        %v = tensor.extract %x1[%k] : tensor<64xi64>
        %d = arith.muli %q, %v : i64
        %next = arith.select %run, %d, %q : i64
        scf.yield %next : i64
      }
      linalg.yield %p : i64)") +
                    "tg.yield %r : " + x,
                {integers({4}, {0, 1, 5, 62}),
                 integers({64}, std::vector<int64_t>(64, 2))},
                "#v = affine_map<(d0) -> (d0)>\n");
  ASSERT_EQ(outputs.size(), 1u);
  EXPECT_THAT(valuesOf<int64_t>(outputs[0]),
              ElementsAre(1, 2, 32, int64_t(1) << 62));
}

//===----------------------------------------------------------------------===//
// Element types
//===----------------------------------------------------------------------===//

TEST(CpuKernels, BFloat16RoundsToNearestEvenAndKeepsNaN) {
  std::string x = "tensor<6xf32>", y = "tensor<6xbf16>";
  auto outputs = runKernel(
      {x}, {y, x},
      empty("%e", y) + empty("%f", x) +
          generic("%r", "#one, #one", "p", {{"%x0", x}}, {{"%e", y}}, R"(
    ^bb0(%a: f32, %o: bf16):
      %s = arith.truncf %a : f32 to bf16
      linalg.yield %s : bf16)") +
          generic("%w", "#one, #one", "p", {{"%r", y}}, {{"%f", x}}, R"(
    ^bb0(%a: bf16, %o: f32):
      %s = arith.extf %a : bf16 to f32
      linalg.yield %s : f32)") +
          "tg.yield %r, %w : " + y + ", " + x,
      // 1 + 2^-8 is half way between 1 and 1 + 2^-7: to the even one, 1.
      {floats({6}, {1.0f + 0x1p-8f, 1.0f + 0x1p-8f + 0x1p-20f,
                    1.0f + 3 * 0x1p-8f, -0.0f, INFINITY, NAN})},
      kRowMaps);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(
      valuesOf<uint16_t>(outputs[0]),
      ElementsAre(0x3f80, 0x3f81, 0x3f82, 0x8000, 0x7f80, testing::Gt(0x7f80)));
  EXPECT_THAT(valuesOf<float>(outputs[1]),
              ElementsAre(1.0f, 1 + 0x1p-7f, 1 + 0x1p-6f, -0.0f, INFINITY,
                          testing::IsNan()));
}

TEST(CpuKernels, HalfGoesThroughFloat32) {
  std::string x = "tensor<4xf16>", n = "tensor<4xi64>", d = "tensor<4xf64>";
  auto outputs = runKernel(
      {x, d}, {n, x},
      empty("%e", n) + empty("%f", x) +
          generic("%r", "#one, #one", "p", {{"%x0", x}}, {{"%e", n}}, R"(
    ^bb0(%a: f16, %o: i64):
      %s = arith.fptosi %a : f16 to i64
      linalg.yield %s : i64)") +
          generic("%h", "#one, #one", "p", {{"%x1", d}}, {{"%f", x}}, R"(
    ^bb0(%a: f64, %o: f16):
      %s = arith.truncf %a : f64 to f16
      linalg.yield %s : f16)") +
          "tg.yield %r, %h : " + n + ", " + x,
      {tensor<uint16_t>(DType::Float16, {4}, {0x3c00, 0xc100, 0x7bff, 0x0001}),
       tensor<double>(DType::Float64, {4}, {1.0, -2.5, 1e9, 1.0009765624})},
      kRowMaps);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(valuesOf<int64_t>(outputs[0]), ElementsAre(1, -2, 65504, 0));
  // The last is just below half way between two halves, but half way as
  // float32.
  EXPECT_THAT(valuesOf<uint16_t>(outputs[1]),
              ElementsAre(0x3c00, 0xc100, 0x7c00, 0x3c01));
}

TEST(CpuKernels, BoolIsAByteOfZeroOrOne) {
  std::string x = "tensor<5xf32>", b = "tensor<5xi1>";
  auto outputs =
      runKernel({x, b}, {b, x},
                empty("%e", b) + empty("%f", x) +
                    generic("%r", "#one, #one, #one", "p",
                            {{"%x0", x}, {"%x1", b}}, {{"%e", b}}, R"(
    ^bb0(%a: f32, %c: i1, %o: i1):
      %zero = arith.constant 0.0 : f32
      %p = arith.cmpf ogt, %a, %zero : f32
      %s = arith.xori %p, %c : i1
      linalg.yield %s : i1)") +
                    generic("%w", "#one, #one, #one", "p",
                            {{"%r", b}, {"%x0", x}}, {{"%f", x}}, R"(
    ^bb0(%c: i1, %a: f32, %o: f32):
      %zero = arith.constant 0.0 : f32
      %s = arith.select %c, %a, %zero : f32
      linalg.yield %s : f32)") +
                    "tg.yield %r, %w : " + b + ", " + x,
                {floats({5}, {1, -1, 2, -2, 3}),
                 tensor<uint8_t>(DType::Bool, {5}, {0, 1, 1, 0, 0})},
                kRowMaps);
  ASSERT_EQ(outputs.size(), 2u);
  EXPECT_THAT(valuesOf<uint8_t>(outputs[0]), ElementsAre(1, 1, 0, 0, 1));
  EXPECT_THAT(valuesOf<float>(outputs[1]), ElementsAre(1, -1, 0, 0, 3));
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

std::string scatterRegion(const std::string &kind) {
  return "%r = tg.scatter %x1, %x2 into %x0 domain [3, 4] maps [#id, #row] " +
         kind + R"( attributes {is_unsigned = false} {
    ^bb0(%i: index, %j: index, %v: f32, %n: i64):
      %p = arith.index_cast %n : i64 to index
      %yes = arith.constant true
      tg.yield %p, %j, %v, %yes : index, index, f32, i1
    } : (tensor<3x4xf32>, tensor<3xi64>, tensor<5x4xf32>) -> tensor<5x4xf32>
    tg.yield %r : tensor<5x4xf32>)";
}

TEST(CpuKernels, ScatterAddsRepeatedPlacesInACopy) {
  auto base = randomFloats(20), update = randomFloats(12, 2);
  // Row 9 does not exist: skipped.
  std::vector<int64_t> rows = {3, 9, 3};
  std::vector<Tensor> inputs = {floats({5, 4}, base), floats({3, 4}, update),
                                integers({3}, rows)};
  for (std::string kind : {"sum", "set"}) {
    auto outputs =
        runKernel({"tensor<5x4xf32>", "tensor<3x4xf32>", "tensor<3xi64>"},
                  {"tensor<5x4xf32>"}, scatterRegion(kind), inputs, kRowMaps);
    ASSERT_EQ(outputs.size(), 1u);
    std::vector<float> expected = base;
    for (int j = 0; j < 4; ++j)
      for (int i : {0, 2})
        expected[3 * 4 + j] = kind == "set"
                                  ? update[i * 4 + j]
                                  : expected[3 * 4 + j] + update[i * 4 + j];
    EXPECT_EQ(valuesOf<float>(outputs[0]), expected) << kind;
    EXPECT_EQ(valuesOf<float>(inputs[0]), base);
  }
}

TEST(CpuKernels, UnsupportedBodyIsReported) {
  std::string error;
  EXPECT_FALSE(planOf(kernelProgram({"tensor<4xf32>"}, {"tensor<4xf32>"},
                                    empty("%e", "tensor<4xf32>") +
                                        generic("%r", "#one, #one", "p",
                                                {{"%x0", "tensor<4xf32>"}},
                                                {{"%e", "tensor<4xf32>"}}, R"(
    ^bb0(%a: f32, %o: f32):
      %never = arith.constant false
      %s = scf.while (%c = %a) : (f32) -> f32 {
        scf.condition(%never) %c : f32
      } do {
      ^bb0(%c: f32):
        scf.yield %c : f32
      }
      linalg.yield %s : f32)") + "tg.yield %r : tensor<4xf32>",
                                    kRowMaps),
                      &error));
  EXPECT_THAT(error, HasSubstr("is not supported in the body of a loop"));
}

} // namespace
