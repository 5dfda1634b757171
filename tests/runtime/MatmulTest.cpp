#include "RoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

DType resultType(DType operand) {
  return operand == DType::Float16 || operand == DType::BFloat16
             ? DType::Float32
             : operand;
}

/// Wraps a sum as an integer type does.
double wrapped(double sum, DType dtype) {
  const double modulus =
      std::ldexp(1.0, static_cast<int>(8 * byteWidth(dtype)));
  double value = std::fmod(sum, modulus);
  const double limit = isUnsigned(dtype) ? modulus : modulus / 2;
  if (value >= limit)
    value -= modulus;
  if (value < limit - modulus)
    value += modulus;
  return value;
}

void checkMatmul(DType dtype, std::vector<int64_t> batch, int64_t m, int64_t n,
                 int64_t k, Layout lhsLayout = Layout::Dense,
                 Layout rhsLayout = Layout::Dense,
                 Layout resultLayout = Layout::Dense, int numThreads = 2) {
  SCOPED_TRACE(::testing::Message()
               << name(dtype) << " " << ::testing::PrintToString(batch) << " "
               << m << "x" << n << "x" << k << " layouts " << int(lhsLayout)
               << int(rhsLayout) << int(resultLayout) << " threads "
               << numThreads);
  auto with = [&](int64_t a, int64_t b) {
    std::vector<int64_t> sizes = batch;
    sizes.push_back(a);
    sizes.push_back(b);
    return sizes;
  };
  std::mt19937 random(static_cast<unsigned>(m * 31 + n * 7 + k));
  TestTensor lhs(dtype, with(m, k), lhsLayout),
      rhs(dtype, with(k, n), rhsLayout),
      result(resultType(dtype), with(m, n), resultLayout);
  lhs.randomize(random);
  rhs.randomize(random);
  runCall("matmul", {}, {&lhs, &rhs}, {&result}, numThreads);
  auto multiply = [&](const auto &a, const auto &b) {
    std::vector<Complex> product;
    std::vector sums(static_cast<size_t>(n), a[0] * 0.0);
    for (size_t row = 0; row < static_cast<size_t>(result.size() / n); ++row) {
      std::fill(sums.begin(), sums.end(), 0.0);
      for (size_t l = 0; l < static_cast<size_t>(k); ++l)
        for (size_t j = 0; j < sums.size(); ++j)
          sums[j] += a[row * k + l] * b[(row / m * k + l) * n + j];
      product.insert(product.end(), sums.begin(), sums.end());
    }
    return product;
  };
  std::vector<Complex> expected(static_cast<size_t>(result.size()));
  if (k > 0 && !expected.empty())
    expected = isComplex(dtype) ? multiply(lhs.elements(), rhs.elements())
                                : multiply(lhs.values(), rhs.values());
  if (isInteger(dtype))
    for (Complex &element : expected)
      element = wrapped(element.real(), dtype);
  expectNear(result, expected, 1e-6);
}

TEST(Matmul, odd_sizes_in_every_type) {
  for (DType dtype :
       {DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Int64,
        DType::Float16, DType::BFloat16, DType::Float32, DType::Float64,
        DType::Complex64, DType::Complex128}) {
    checkMatmul(dtype, {}, 7, 13, 17);
    checkMatmul(dtype, {3}, 1, 33, 5);
    checkMatmul(dtype, {2, 3}, 5, 3, 9);
  }
}

TEST(Matmul, every_layout) {
  for (Layout lhs : kAllLayouts)
    for (Layout rhs : kAllLayouts)
      for (Layout result : kAllLayouts)
        for (DType dtype : {DType::Float32, DType::BFloat16, DType::Int32}) {
          checkMatmul(dtype, {2}, 9, 11, 10, lhs, rhs, result);
          checkMatmul(dtype, {}, 2, 40, 35, lhs, rhs, result);
          checkMatmul(dtype, {}, 40, 3, 35, lhs, rhs, result);
        }
}

TEST(Matmul, more_than_one_block_in_each_direction) {
  for (DType dtype : {DType::Float32, DType::Float16})
    for (Layout layout : {Layout::Dense, Layout::Gaps}) {
      checkMatmul(dtype, {}, 260, 264, 388, layout, layout, layout);
      checkMatmul(dtype, {}, 3, 300, 400, layout, layout, layout);
      checkMatmul(dtype, {}, 600, 2, 400, layout, layout, layout);
    }
}

TEST(Matmul, any_number_of_threads) {
  for (int numThreads : {1, 3, 7}) {
    checkMatmul(DType::Float32, {}, 150, 170, 60, Layout::Dense,
                Layout::Transposed, Layout::Dense, numThreads);
    checkMatmul(DType::BFloat16, {5}, 40, 170, 60, Layout::Dense,
                Layout::Transposed, Layout::Gaps, numThreads);
    checkMatmul(DType::Float64, {}, 1, 1700, 60, Layout::Dense, Layout::Dense,
                Layout::Dense, numThreads);
  }
}

TEST(Matmul, random_shapes) {
  std::mt19937 random(7);
  auto upTo = [&](int64_t n) {
    return std::uniform_int_distribution<int64_t>(0, n)(random);
  };
  for (int i = 0; i < 150; ++i) {
    DType dtype =
        std::array{DType::Float32, DType::Float64, DType::BFloat16}[upTo(2)];
    std::vector<int64_t> batch(static_cast<size_t>(upTo(2)));
    for (int64_t &size : batch)
      size = upTo(4);
    checkMatmul(dtype, batch, upTo(40), upTo(40), upTo(40),
                kAllLayouts[upTo(3)], kAllLayouts[upTo(3)],
                kAllLayouts[upTo(3)], 1 + int(upTo(3)));
  }
}

TEST(Matmul, an_empty_sum_is_zero) {
  checkMatmul(DType::Float32, {2}, 20, 30, 0);
  checkMatmul(DType::Float32, {}, 1, 30, 0);
  checkMatmul(DType::Int32, {}, 20, 30, 0, Layout::Dense, Layout::Dense,
              Layout::Gaps);
}

TEST(Matmul, operands_may_be_expanded) {
  // One row, and one matrix, read again and again.
  std::mt19937 random(3);
  TestTensor lhs(DType::Float32, {4, 10, 6}), rhs(DType::Float32, {4, 6, 20}),
      result(DType::Float32, {4, 10, 20});
  lhs.randomize(random);
  rhs.randomize(random);
  lhs.ref.strides = {60, 0, 1};
  rhs.ref.strides = {0, 20, 1};
  runCall("matmul", {}, {&lhs, &rhs}, {&result});
  expectElements(result, 1e-6, [&](std::vector<int64_t> index) {
    Complex sum = 0;
    for (int64_t k = 0; k < 6; ++k)
      sum += lhs.get({index[0], 0, k}) * rhs.get({0, k, index[2]});
    return sum;
  });
}

TEST(Matmul, half_precision_sums_in_float32) {
  // 1 + 4096 * 2^-12 is 2 in float32; in half precision nothing would be added.
  for (DType dtype : {DType::Float16, DType::BFloat16})
    for (int64_t rows : {1, 16}) {
      TestTensor lhs(dtype, {rows, 4097}), rhs(dtype, {4097, 8}),
          result(DType::Float32, {rows, 8});
      for (int64_t i = 0; i < lhs.size(); ++i)
        lhs.set(lhs.indexOf(i), i % 4097 == 0 ? 1 : std::ldexp(1, -12));
      for (int64_t i = 0; i < rhs.size(); ++i)
        rhs.set(rhs.indexOf(i), 1);
      runCall("matmul", {}, {&lhs, &rhs}, {&result});
      EXPECT_EQ(result.get({0, 0}).real(), 2);
    }
}

TEST(Matmul, half_precision_results_are_rounded_once) {
  // One step of 2^-10 is lost in bfloat16, whose next number after 1 is
  // 1 + 2^-7; sixteen of them are not.
  for (int64_t rows : {1, 16}) {
    TestTensor lhs(DType::BFloat16, {rows, 17}), rhs(DType::BFloat16, {17, 8}),
        result(DType::BFloat16, {rows, 8});
    for (int64_t i = 0; i < lhs.size(); ++i)
      lhs.set(lhs.indexOf(i), i % 17 == 0 ? 1 : std::ldexp(1, -10));
    for (int64_t i = 0; i < rhs.size(); ++i)
      rhs.set(rhs.indexOf(i), 1);
    runCall("matmul", {}, {&lhs, &rhs}, {&result});
    EXPECT_EQ(result.get({0, 0}).real(), 1 + std::ldexp(1, -6));
  }
}

TEST(Matmul, malformed_calls_are_errors) {
  auto messageOf = [](TestTensor lhs, TestTensor rhs, TestTensor result) {
    auto routine = bindCall("matmul", {}, {&lhs, &rhs}, {&result});
    return routine.ok() ? "" : routine.error().message;
  };
  const DType f32 = DType::Float32;
  EXPECT_THAT(messageOf({f32, {2, 3}}, {f32, {4, 5}}, {f32, {2, 5}}),
              HasSubstr("shapes do not agree"));
  EXPECT_THAT(messageOf({f32, {3}}, {f32, {3}}, {f32, {1}}),
              HasSubstr("ranks differ or are below 2"));
  EXPECT_THAT(messageOf({f32, {2, 3}}, {DType::Float64, {3, 5}}, {f32, {2, 5}}),
              HasSubstr("different types"));
  EXPECT_THAT(messageOf({DType::BFloat16, {2, 3}}, {DType::BFloat16, {3, 5}},
                        {DType::Float16, {2, 5}}),
              HasSubstr("a result of float16 from bfloat16"));
}

} // namespace
