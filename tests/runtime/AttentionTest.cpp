#include "RoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

struct Case {
  DType dtype = DType::Float32;
  std::vector<int64_t> batch = {2};
  int64_t heads = 3, keyHeads = 3, queries = 10, keys = 12, depth = 8,
          valueDepth = 8;
  std::optional<DType> mask;
  bool causal = false, wantsLogsumexp = true;
  Layout layout = Layout::Dense;
  int numThreads = 2;
};

void checkAttention(const Case &c) {
  SCOPED_TRACE(::testing::Message()
               << name(c.dtype) << " heads " << c.heads << "/" << c.keyHeads
               << " queries " << c.queries << " keys " << c.keys << " depth "
               << c.depth << "/" << c.valueDepth << " mask "
               << (c.mask ? name(*c.mask) : "none") << " causal " << c.causal
               << " layout " << int(c.layout));
  auto sizes = [&](std::initializer_list<int64_t> tail) {
    std::vector<int64_t> all = c.batch;
    all.insert(all.end(), tail);
    return all;
  };
  const double scale = 0.37;
  std::mt19937 random(9);
  TestTensor query(c.dtype, sizes({c.heads, c.queries, c.depth}), c.layout),
      key(c.dtype, sizes({c.keyHeads, c.keys, c.depth}), c.layout),
      value(c.dtype, sizes({c.keyHeads, c.keys, c.valueDepth}), c.layout),
      result(c.dtype, sizes({c.heads, c.queries, c.valueDepth}), c.layout),
      logsumexp(c.dtype == DType::Float64 ? DType::Float64 : DType::Float32,
                sizes({c.heads, c.queries}), c.layout),
      mask(c.mask.value_or(DType::Bool), sizes({c.heads, c.queries, c.keys}),
           c.layout);
  query.randomize(random);
  key.randomize(random);
  value.randomize(random);
  if (c.mask && *c.mask != DType::Bool)
    mask.randomize(random);
  else
    for (int64_t i = 0; i < mask.size(); ++i)
      mask.set(mask.indexOf(i), random() % 3 != 0);
  std::vector<TestTensor *> inputs = {&query, &key, &value};
  if (c.mask)
    inputs.push_back(&mask);
  std::vector<TestTensor *> outputs = {&result};
  if (c.wantsLogsumexp)
    outputs.push_back(&logsumexp);
  runCall("attention", {{"scale", scale}, {"causal", c.causal}}, inputs,
          outputs, c.numThreads);

  const std::vector<double> q = query.values(), k = key.values(),
                            v = value.values(), m = mask.values();
  std::vector<Complex> expected, expectedLog;
  const int64_t numHeads =
      query.size() / std::max<int64_t>(1, c.queries * c.depth);
  for (int64_t h = 0; h < numHeads; ++h)
    for (int64_t i = 0; i < c.queries; ++i) {
      const int64_t kh =
          h / c.heads * c.keyHeads + h % c.heads / (c.heads / c.keyHeads);
      std::vector<double> weights;
      double sum = 0;
      for (int64_t j = 0; j < c.keys; ++j) {
        double score = 0;
        for (int64_t e = 0; e < c.depth; ++e)
          score += q[(h * c.queries + i) * c.depth + e] *
                   k[(kh * c.keys + j) * c.depth + e];
        score *= scale;
        const double at = m[(h * c.queries + i) * c.keys + j];
        bool isSeen = !c.causal || j <= i;
        if (c.mask && *c.mask == DType::Bool)
          isSeen &= at != 0;
        else if (c.mask)
          score += at;
        weights.push_back(isSeen ? std::exp(score) : 0);
        sum += weights.back();
      }
      expectedLog.push_back(std::log(sum));
      for (int64_t e = 0; e < c.valueDepth; ++e) {
        double total = 0;
        for (int64_t j = 0; j < c.keys; ++j)
          total += weights[j] * v[(kh * c.keys + j) * c.valueDepth + e];
        expected.push_back(sum > 0 ? total / sum : 0);
      }
    }
  const double tolerance = c.dtype == DType::BFloat16  ? 8e-3
                           : c.dtype == DType::Float16 ? 1e-3
                           : c.dtype == DType::Float64 ? 1e-13
                                                       : 2e-6;
  expectNear(result, expected, tolerance);
  if (c.wantsLogsumexp) {
    const std::vector<double> found = logsumexp.values();
    for (size_t i = 0; i < found.size(); ++i)
      if (std::isinf(expectedLog[i].real()))
        EXPECT_EQ(found[i], expectedLog[i].real());
      else
        EXPECT_NEAR(found[i], expectedLog[i].real(), 1e-5);
  }
}

TEST(Attention, every_type_and_mask) {
  for (DType dtype :
       {DType::Float16, DType::BFloat16, DType::Float32, DType::Float64})
    for (std::optional<DType> mask :
         {std::optional<DType>(), std::optional(DType::Bool),
          std::optional(DType::Float32), std::optional(dtype)})
      for (bool causal : {false, true}) {
        Case c;
        c.dtype = dtype;
        c.mask = mask;
        c.causal = causal;
        checkAttention(c);
      }
}

TEST(Attention, every_layout) {
  for (Layout layout : kAllLayouts)
    for (DType dtype : {DType::Float32, DType::BFloat16}) {
      Case c;
      c.dtype = dtype;
      c.layout = layout;
      c.mask = DType::Float32;
      checkAttention(c);
    }
}

TEST(Attention, query_heads_share_key_heads) {
  for (int64_t keyHeads : {1, 2, 4}) {
    Case c;
    c.heads = 8;
    c.keyHeads = keyHeads;
    c.causal = true;
    checkAttention(c);
  }
}

TEST(Attention, long_sequences_take_several_blocks) {
  for (DType dtype : {DType::Float32, DType::Float16}) {
    Case c;
    c.dtype = dtype;
    c.batch = {};
    c.heads = c.keyHeads = 1;
    c.queries = 150;
    c.keys = 410;
    c.depth = 16;
    c.valueDepth = 20;
    checkAttention(c);
    c.causal = true;
    c.numThreads = 3;
    checkAttention(c);
  }
}

TEST(Attention, one_query_and_more_queries_than_keys) {
  for (DType dtype : {DType::Float32, DType::BFloat16})
    for (bool causal : {false, true}) {
      Case c;
      c.dtype = dtype;
      c.causal = causal;
      c.queries = 1;
      c.keys = 300;
      checkAttention(c);
      c.queries = 30;
      c.keys = 5;
      checkAttention(c);
    }
}

TEST(Attention, empty_sizes) {
  Case c;
  c.wantsLogsumexp = false;
  c.keys = 0; // nothing to see: zeros
  checkAttention(c);
  c.keys = 4;
  c.queries = 0;
  checkAttention(c);
  c.queries = 4;
  c.batch = {0};
  checkAttention(c);
}

TEST(Attention, a_query_that_sees_no_key_gives_zeros) {
  TestTensor query(DType::Float32, {1, 2, 4}), key(DType::Float32, {1, 3, 4}),
      value(DType::Float32, {1, 3, 4}), mask(DType::Float32, {1, 2, 3}),
      result(DType::Float32, {1, 2, 4}), logsumexp(DType::Float32, {1, 2});
  std::mt19937 random(2);
  for (TestTensor *tensor : {&query, &key, &value})
    tensor->randomize(random);
  const double infinity = std::numeric_limits<double>::infinity();
  mask.assign({-infinity, -infinity, -infinity, 0, -infinity, -infinity});
  runCall("attention", {{"scale", 1.0}, {"causal", false}},
          {&query, &key, &value, &mask}, {&result, &logsumexp});
  for (int64_t e = 0; e < 4; ++e) {
    EXPECT_EQ(result.get({0, 0, e}), Complex(0));
    EXPECT_EQ(result.get({0, 1, e}), value.get({0, 0, e}));
  }
  EXPECT_EQ(logsumexp.get({0, 0}).real(), -infinity);
}

TEST(Attention, large_scores_do_not_overflow_and_nan_is_kept) {
  TestTensor query(DType::Float32, {1, 2, 1}), key(DType::Float32, {1, 2, 1}),
      value(DType::Float32, {1, 2, 1}), result(DType::Float32, {1, 2, 1});
  query.assign({1000, std::nan("")});
  key.assign({1000, 999});
  value.assign({3, 4});
  runCall("attention", {{"scale", 1.0}, {"causal", false}},
          {&query, &key, &value}, {&result});
  EXPECT_EQ(result.get({0, 0, 0}).real(), 3);
  EXPECT_TRUE(std::isnan(result.get({0, 1, 0}).real()));
}

TEST(Attention, malformed_calls_are_errors) {
  auto messageOf = [](std::vector<int64_t> keySizes, DType keyType) {
    TestTensor query(DType::Float32, {1, 4, 3, 8}), key(keyType, keySizes),
        value(DType::Float32, {1, 4, 5, 8}),
        result(DType::Float32, {1, 4, 3, 8});
    auto routine = bindCall("attention", {{"scale", 1}, {"causal", false}},
                            {&query, &key, &value}, {&result});
    return routine.ok() ? "ok" : routine.error().message;
  };
  EXPECT_EQ(messageOf({1, 4, 5, 8}, DType::Float32), "ok");
  EXPECT_THAT(messageOf({1, 4, 5, 7}, DType::Float32),
              HasSubstr("shapes do not agree"));
  EXPECT_THAT(messageOf({1, 4, 5, 8}, DType::Float64),
              HasSubstr("types do not agree"));
}

} // namespace
