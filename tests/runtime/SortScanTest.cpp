#include "RoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
const double kNan = std::nan("");

/// Whether a comes before b; NaN is the largest.
bool isBefore(double a, double b, bool descending) {
  if (std::isnan(a) || std::isnan(b))
    return descending ? std::isnan(a) && !std::isnan(b)
                      : std::isnan(b) && !std::isnan(a);
  return descending ? a > b : a < b;
}

/// Runs sort, or top_k where k >= 0, and compares with std::stable_sort.
void checkSort(DType dtype, std::vector<int64_t> sizes, int64_t dim, int64_t k,
               bool descending, Layout layout) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << ::testing::PrintToString(sizes) << " dim "
               << dim << " k " << k << " layout " << int(layout));
  std::mt19937 random(4);
  TestTensor input(dtype, sizes, layout);
  input.randomize(random); // from 33 values: many ties
  if (isFloatingPoint(dtype))
    for (int64_t i = 0; i < input.size(); i += 5)
      input.set(input.indexOf(i), std::array{kNan, kInfinity, -kInfinity, -0.0,
                                             0.0}[random() % 5]);
  const auto at = static_cast<size_t>(dim);
  const int64_t length = sizes[at], count = k < 0 ? length : k;
  std::vector<int64_t> outSizes = sizes;
  outSizes[at] = count;
  TestTensor values(dtype, outSizes, layout),
      indices(DType::Int64, outSizes, layout);
  nlohmann::json attributes = {{"dim", dim}, {"is_unsigned", false}};
  attributes[k < 0 ? "descending" : "largest"] = descending;
  if (k >= 0)
    attributes["k"] = k;
  runCall(k < 0 ? "sort" : "top_k", attributes, {&input}, {&values, &indices});
  for (int64_t i = 0; i < values.size(); ++i) {
    std::vector<int64_t> index = values.indexOf(i);
    if (index[at] != 0)
      continue;
    std::vector<std::pair<double, int64_t>> line;
    for (index[at] = 0; index[at] < length; ++index[at])
      line.push_back({input.real(index), index[at]});
    std::stable_sort(line.begin(), line.end(), [&](auto &a, auto &b) {
      return isBefore(a.first, b.first, descending);
    });
    for (index[at] = 0; index[at] < count; ++index[at]) {
      auto [value, position] = line[static_cast<size_t>(index[at])];
      ASSERT_EQ(indices.real(index), static_cast<double>(position));
      const double found = values.real(index);
      ASSERT_TRUE(found == value || (std::isnan(found) && std::isnan(value)));
      ASSERT_EQ(std::signbit(found), std::signbit(value));
    }
  }
}

TEST(Sort, every_type_dimension_and_layout) {
  for (DType dtype : {DType::Bool, DType::UInt8, DType::Int8, DType::UInt16,
                      DType::Int16, DType::Int32, DType::Int64, DType::Float16,
                      DType::BFloat16, DType::Float32, DType::Float64})
    for (bool descending : {false, true})
      for (Layout layout : kAllLayouts) {
        checkSort(dtype, {40}, 0, -1, descending, layout);
        checkSort(dtype, {5, 9, 7}, 1, -1, descending, layout);
        checkSort(dtype, {5, 9, 7}, 1, 4, descending, layout);
        checkSort(dtype, {6, 3}, 0, 6, descending, layout);
      }
}

TEST(Sort, empty_short_and_long_lines) {
  checkSort(DType::Float32, {0, 4}, 0, -1, false, Layout::Dense);
  checkSort(DType::Float32, {3, 0}, 0, -1, false, Layout::Dense);
  checkSort(DType::Float32, {3, 1}, 1, -1, true, Layout::Dense);
  checkSort(DType::Float32, {3, 5}, 1, 0, true, Layout::Dense);
  checkSort(DType::Float32, {3, 5000}, 1, -1, true, Layout::Dense);
  checkSort(DType::Float32, {3, 5000}, 1, 17, true, Layout::Dense);
}

TEST(Sort, unsigned_order_is_the_attributes) {
  TestTensor input(DType::Int8, {4}), values(DType::Int8, {4}),
      indices(DType::Int64, {4});
  input.assign({1, -1, 127, -128}); // 1, 255, 127, 128
  runCall("sort", {{"dim", 0}, {"descending", false}, {"is_unsigned", true}},
          {&input}, {&values, &indices});
  EXPECT_THAT(values.values(), ElementsAre(1, 127, -128, -1));
  EXPECT_THAT(indices.values(), ElementsAre(0, 2, 3, 1));
}

TEST(Sort, malformed_calls_are_errors) {
  TestTensor input(DType::Float32, {4}), values(DType::Float32, {4}),
      indices(DType::Int64, {4}), complex(DType::Complex64, {4});
  nlohmann::json attributes = {
      {"dim", 1}, {"descending", false}, {"is_unsigned", false}};
  auto messageOf = [&](const char *op, TestTensor &in, TestTensor &out) {
    auto routine = bindCall(op, attributes, {&in}, {&out, &indices});
    return routine.ok() ? "ok" : routine.error().message;
  };
  EXPECT_THAT(messageOf("sort", input, values),
              HasSubstr("dimension 1 of a tensor of rank 1"));
  attributes["dim"] = 0;
  EXPECT_EQ(messageOf("sort", input, values), "ok");
  EXPECT_THAT(messageOf("sort", complex, complex),
              HasSubstr("'sort' of complex64 is not supported"));
  attributes["k"] = 5;
  attributes["largest"] = true;
  EXPECT_THAT(messageOf("top_k", input, values),
              HasSubstr("k is not in the dimension"));
}

/// Runs a scan over the last dimension but one and compares with `combine`,
/// which takes the running value and an element.
template <typename Combine>
void checkScan(DType dtype, const std::string &kind, Layout layout,
               double tolerance, Combine &&combine) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " " << kind << " layout " << int(layout));
  std::mt19937 random(6);
  TestTensor input(dtype, {3, 7, 5}, layout), values(dtype, {3, 7, 5}, layout);
  input.randomize(random);
  runCall("scan", {{"dim", 1}, {"kind", kind}, {"is_unsigned", false}},
          {&input}, {&values});
  std::vector<Complex> expected = input.elements();
  for (size_t i = 0; i < 3; ++i)
    for (size_t j = 1; j < 7; ++j)
      for (size_t k = 0; k < 5; ++k) {
        size_t at = (i * 7 + j) * 5 + k;
        expected[at] = combine(expected[at - 5], expected[at]);
      }
  expectNear(values, expected, tolerance);
}

double toleranceOf(DType dtype) {
  return dtype == DType::BFloat16  ? 1e-2
         : dtype == DType::Float16 ? 2e-3
                                   : 1e-6;
}

TEST(Scan, sums_and_products_of_every_type) {
  for (DType dtype :
       {DType::Int32, DType::Int64, DType::Float16, DType::BFloat16,
        DType::Float32, DType::Float64, DType::Complex64, DType::Complex128})
    for (Layout layout : kAllLayouts) {
      checkScan(dtype, "sum", layout, toleranceOf(dtype),
                [](Complex a, Complex b) { return a + b; });
      if (!isInteger(dtype) || byteWidth(dtype) == 8)
        checkScan(dtype, "prod", layout, toleranceOf(dtype),
                  [](Complex a, Complex b) { return a * b; });
    }
}

TEST(Scan, extremes_of_every_type) {
  for (DType dtype : {DType::Bool, DType::UInt8, DType::Int8, DType::Int16,
                      DType::Int32, DType::Int64, DType::Float16,
                      DType::BFloat16, DType::Float32, DType::Float64})
    for (Layout layout : kAllLayouts) {
      checkScan(dtype, "max", layout, 0, [](Complex a, Complex b) {
        return std::max(a.real(), b.real());
      });
      checkScan(dtype, "min", layout, 0, [](Complex a, Complex b) {
        return std::min(a.real(), b.real());
      });
    }
}

TEST(Scan, log_sums_of_exponentials) {
  for (DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64})
    checkScan(dtype, "logsumexp", Layout::Dense, toleranceOf(dtype),
              [](Complex a, Complex b) {
                return std::log(std::exp(a.real()) + std::exp(b.real()));
              });
  TestTensor input(DType::Float32, {6}), values(DType::Float32, {6});
  input.assign({-kInfinity, -kInfinity, 1000, kInfinity, kInfinity, kNan});
  runCall("scan", {{"dim", 0}, {"kind", "logsumexp"}, {"is_unsigned", false}},
          {&input}, {&values});
  EXPECT_EQ(values.real({0}), -kInfinity);
  EXPECT_EQ(values.real({1}), -kInfinity);
  EXPECT_EQ(values.real({2}), 1000);
  EXPECT_EQ(values.real({3}), kInfinity);
  EXPECT_EQ(values.real({4}), kInfinity);
  EXPECT_TRUE(std::isnan(values.real({5})));
}

TEST(Scan, indices_are_of_the_last_equal_element_and_nan_wins) {
  TestTensor input(DType::Float32, {8}), values(DType::Float32, {8}),
      indices(DType::Int64, {8});
  input.assign({1, 3, 2, 3, kNan, 9, kNan, 1});
  runCall("scan", {{"dim", 0}, {"kind", "max"}, {"is_unsigned", false}},
          {&input}, {&values, &indices});
  EXPECT_THAT(indices.values(), ElementsAre(0, 1, 1, 3, 4, 4, 6, 6));
  EXPECT_EQ(values.real({3}), 3);
  EXPECT_TRUE(std::isnan(values.real({7})));
  runCall("scan", {{"dim", 0}, {"kind", "min"}, {"is_unsigned", false}},
          {&input}, {&values, &indices});
  EXPECT_THAT(indices.values(), ElementsAre(0, 0, 0, 0, 4, 4, 6, 6));
}

TEST(Scan, integers_wrap_and_unsigned_order_is_the_attributes) {
  TestTensor input(DType::Int8, {4}), values(DType::Int8, {4});
  input.assign({100, 100, -128, 1});
  runCall("scan", {{"dim", 0}, {"kind", "sum"}, {"is_unsigned", false}},
          {&input}, {&values});
  EXPECT_THAT(values.values(), ElementsAre(100, -56, 72, 73));
  runCall("scan", {{"dim", 0}, {"kind", "max"}, {"is_unsigned", true}},
          {&input}, {&values});
  EXPECT_THAT(values.values(), ElementsAre(100, 100, -128, -128));
}

TEST(Scan, half_precision_sums_in_float32) {
  TestTensor input(DType::BFloat16, {1000}), values(DType::BFloat16, {1000});
  input.assign(std::vector<double>(1000, 1));
  runCall("scan", {{"dim", 0}, {"kind", "sum"}, {"is_unsigned", false}},
          {&input}, {&values});
  EXPECT_EQ(values.real({999}), 1000); // in bfloat16 it would stop at 256
}

TEST(Scan, malformed_calls_are_errors) {
  TestTensor input(DType::Float32, {4}), values(DType::Float32, {4}),
      indices(DType::Int64, {4}), bools(DType::Bool, {4});
  auto messageOf = [&](const char *kind, TestTensor &in, bool hasIndices) {
    std::vector<TestTensor *> outputs = {&in};
    if (hasIndices)
      outputs.push_back(&indices);
    auto routine =
        bindCall("scan", {{"dim", 0}, {"kind", kind}, {"is_unsigned", false}},
                 {&in}, outputs);
    return routine.ok() ? "ok" : routine.error().message;
  };
  EXPECT_EQ(messageOf("max", bools, true), "ok");
  EXPECT_THAT(messageOf("sum", input, true), HasSubstr("'sum' has no indices"));
  EXPECT_THAT(messageOf("sum", bools, false),
              HasSubstr("a running 'sum' of bool is not supported"));
  EXPECT_THAT(messageOf("set", input, false), HasSubstr("not supported"));
  EXPECT_THAT(messageOf("logsumexp", indices, false),
              HasSubstr("not supported"));
}

} // namespace
