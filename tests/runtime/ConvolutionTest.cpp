#include "RoutineTesting.h"

using namespace gcompile;
using namespace gcompile::testing;
using ::testing::HasSubstr;

namespace {

struct Case {
  DType dtype = DType::Float32;
  int64_t images = 2, channels = 6, outChannels = 8, groups = 1;
  std::vector<int64_t> in, window;
  std::vector<int64_t> stride, padding, dilation,
      outputPadding; ///< or defaults
  bool transposed = false;
  Layout input = Layout::Dense, weight = Layout::Dense, result = Layout::Dense;
  int numThreads = 2;
  bool narrow = false; ///< half-precision results of half-precision operands

  std::string describe() const {
    auto list = [](const auto &v) { return ::testing::PrintToString(v); };
    return std::string(name(dtype)) + " images " + std::to_string(images) +
           " channels " + std::to_string(channels) + "->" +
           std::to_string(outChannels) + " groups " + std::to_string(groups) +
           " in " + list(in) + " window " + list(window) + " stride " +
           list(stride) + " padding " + list(padding) + " dilation " +
           list(dilation) + " output padding " + list(outputPadding) +
           (transposed ? " transposed" : "") + (narrow ? " narrow" : "") +
           " layouts " +
           list(std::vector<int>{int(input), int(weight), int(result)});
  }
};

void checkConvolution(Case c) {
  const size_t rank = c.in.size();
  c.stride.resize(rank, 1);
  c.dilation.resize(rank, 1);
  c.padding.resize(2 * rank, 0);
  c.outputPadding.resize(rank, 0);
  SCOPED_TRACE(c.describe());
  std::vector<int64_t> inSizes = {c.images, c.channels},
                       outSizes = {c.images, c.outChannels}, weightSizes;
  if (c.transposed)
    weightSizes = {c.channels, c.outChannels / c.groups};
  else
    weightSizes = {c.outChannels, c.channels / c.groups};
  for (size_t d = 0; d < rank; ++d) {
    const int64_t reach = c.dilation[d] * (c.window[d] - 1) + 1;
    const int64_t padded = c.padding[2 * d] + c.padding[2 * d + 1];
    inSizes.push_back(c.in[d]);
    weightSizes.push_back(c.window[d]);
    outSizes.push_back(c.transposed
                           ? (c.in[d] - 1) * c.stride[d] - padded + reach +
                                 c.outputPadding[d]
                           : (c.in[d] + padded - reach) / c.stride[d] + 1);
  }
  std::mt19937 random(5);
  const bool isHalfType = byteWidth(c.dtype) == 2 && isFloatingPoint(c.dtype);
  TestTensor input(c.dtype, inSizes, c.input),
      weight(c.dtype, weightSizes, c.weight),
      result(isHalfType && !c.narrow ? DType::Float32 : c.dtype, outSizes,
             c.result);
  input.randomize(random);
  weight.randomize(random);
  runCall("convolution",
          {{"stride", c.stride},
           {"padding", c.padding},
           {"dilation", c.dilation},
           {"output_padding", c.outputPadding},
           {"groups", c.groups},
           {"transposed", c.transposed}},
          {&input, &weight}, {&result}, c.numThreads);

  // Each place of the window leads from a position of the side that steps (the
  // result, or transposed the input) to one of the other side.
  std::vector<Complex> expected(static_cast<size_t>(result.size()));
  const std::vector<Complex> weights = weight.elements(),
                             inputs = input.elements();
  const std::vector<int64_t> &stepSizes = c.transposed ? inSizes : outSizes;
  const std::vector<int64_t> &otherSizes = c.transposed ? outSizes : inSizes;
  auto positionsOf = [](const std::vector<int64_t> &sizes) {
    return std::accumulate(sizes.begin() + 2, sizes.end(), int64_t{1},
                           std::multiplies<>());
  };
  const int64_t windowSize = positionsOf(weightSizes),
                stepPositions = positionsOf(stepSizes),
                otherPositions = positionsOf(otherSizes);
  const int64_t stepGroup = stepSizes[1] / c.groups,
                otherGroup = otherSizes[1] / c.groups;
  for (int64_t w = 0; w < windowSize; ++w)
    for (int64_t p = 0; p < stepPositions; ++p) {
      int64_t other = 0, size = 1, restPlace = w, restPosition = p;
      bool isInside = true;
      for (size_t d = rank; d-- > 0;) {
        const int64_t to = restPosition % stepSizes[d + 2] * c.stride[d] +
                           restPlace % c.window[d] * c.dilation[d] -
                           c.padding[2 * d];
        isInside &= to >= 0 && to < otherSizes[d + 2];
        other += to * size;
        size *= otherSizes[d + 2];
        restPosition /= stepSizes[d + 2];
        restPlace /= c.window[d];
      }
      if (!isInside)
        continue;
      for (int64_t i = 0; i < c.images * stepSizes[1]; ++i)
        for (int64_t j = 0; j < otherGroup; ++j) {
          const int64_t channel = i % stepSizes[1];
          const int64_t otherChannel = i / stepSizes[1] * otherSizes[1] +
                                       channel / stepGroup * otherGroup + j;
          const auto stepAt = static_cast<size_t>(i * stepPositions + p);
          const auto otherAt =
              static_cast<size_t>(otherChannel * otherPositions + other);
          const Complex factor = weights[static_cast<size_t>(
              (channel * otherGroup + j) * windowSize + w)];
          if (c.transposed)
            expected[otherAt] += factor * inputs[stepAt];
          else
            expected[stepAt] += factor * inputs[otherAt];
        }
    }
  if (isInteger(c.dtype) && byteWidth(c.dtype) < 4)
    return; // wrapping is the product's business, and tested there
  expectNear(result, expected, c.narrow ? 0x1p-8 : 1e-5);
}

TEST(Convolution, one_to_three_dimensions) {
  for (bool transposed : {false, true})
    for (int64_t groups : {1, 2}) {
      Case c;
      c.transposed = transposed;
      c.groups = groups;
      c.outChannels = 12;
      c.in = {11};
      c.window = {3};
      checkConvolution(c);
      c.in = {7, 9};
      c.window = {3, 2};
      checkConvolution(c);
      c.stride = {2, 1};
      c.padding = {1, 1, 0, 2};
      checkConvolution(c);
      c.in = {4, 5, 6};
      c.window = {2, 3, 1};
      c.stride = {1, 2, 2};
      c.padding = {1, 0, 1, 1, 0, 0};
      checkConvolution(c);
    }
}

TEST(Convolution, stride_padding_and_dilation) {
  for (bool transposed : {false, true})
    for (int64_t outChannels : {3, 10})
      for (int64_t stride : {1, 2, 3})
        for (int64_t dilation : {1, 2})
          for (int64_t padding : {0, 1, 3}) {
            Case c;
            c.transposed = transposed;
            c.outChannels = outChannels;
            c.channels = 4;
            c.in = {8, 9};
            c.window = {3, 2};
            c.stride = {stride, stride};
            c.dilation = {dilation, dilation};
            c.padding = {padding, padding, padding, 0};
            if (transposed && stride > 1)
              c.outputPadding = {1, 0};
            checkConvolution(c);
          }
}

TEST(Convolution, every_type) {
  for (DType dtype :
       {DType::UInt8, DType::Int8, DType::Int16, DType::Int32, DType::Int64,
        DType::Float16, DType::BFloat16, DType::Float32, DType::Float64,
        DType::Complex64, DType::Complex128})
    for (bool transposed : {false, true})
      for (int64_t outChannels : {2, 6}) {
        Case c;
        c.dtype = dtype;
        c.transposed = transposed;
        c.outChannels = outChannels;
        c.channels = 2;
        c.in = {6, 7};
        c.window = {3, 3};
        c.padding = {1, 1, 1, 1};
        checkConvolution(c);
      }
}

TEST(Convolution, every_layout) {
  for (Layout input : kAllLayouts)
    for (Layout weight : kAllLayouts)
      for (Layout result : kAllLayouts)
        for (DType dtype : {DType::Float32, DType::BFloat16})
          for (int kind = 0; kind < 4; ++kind) {
            Case c;
            c.dtype = dtype;
            c.input = input;
            c.weight = weight;
            c.result = result;
            c.outChannels = kind == 0 ? 3 : 6;
            c.channels = 3;
            c.in = {5, 6};
            c.window = kind == 1 ? std::vector<int64_t>{1, 1}
                                 : std::vector<int64_t>{3, 2};
            c.transposed = kind == 3;
            checkConvolution(c);
            c.narrow = true;
            checkConvolution(c);
          }
}

TEST(Convolution, depthwise) {
  for (bool transposed : {false, true})
    for (int64_t multiplier : {1, 2})
      for (int64_t stride : {1, 2}) {
        Case c;
        c.transposed = transposed;
        c.channels = c.groups = 20;
        c.outChannels = 20 * multiplier;
        c.in = {14, 13};
        c.window = {3, 5};
        c.stride = {stride, stride};
        c.padding = {1, 1, 2, 2};
        checkConvolution(c);
        c.dtype = DType::Float16;
        checkConvolution(c);
        c.narrow = true;
        checkConvolution(c);
      }
}

TEST(Convolution, more_than_one_block_in_each_direction) {
  Case c;
  c.images = 1;
  c.channels = 44; // depth 396: two blocks
  c.outChannels = 40;
  c.in = {17, 18}; // 306 positions: two blocks
  c.window = {3, 3};
  c.padding = {1, 1, 1, 1};
  for (int numThreads : {1, 2, 5}) {
    c.numThreads = numThreads;
    checkConvolution(c);
  }
  c.transposed = true;
  checkConvolution(c);
  c.dtype = DType::BFloat16;
  checkConvolution(c);
  c.narrow = true;
  checkConvolution(c);
}

TEST(Convolution, images_with_few_positions_are_joined) {
  Case c;
  c.images = 30;
  c.in = {5, 5};
  c.window = {3, 3};
  checkConvolution(c);
  c.window = {1, 1};
  checkConvolution(c);
  c.groups = 2;
  c.result = Layout::Gaps;
  checkConvolution(c);
}

TEST(Convolution,
     the_gradient_of_a_weight_is_a_convolution_of_transposed_views) {
  // Channels as images, images as channels, positions of the gradient as
  // window.
  Case c;
  c.images = 3;
  c.channels = 8;
  c.outChannels = 16;
  c.in = {9, 9};
  c.window = {4, 4};
  c.dilation = {2, 2};
  c.padding = {0, 1, 0, 1};
  c.input = c.weight = Layout::Transposed;
  checkConvolution(c);
}

TEST(Convolution, random_shapes) {
  std::mt19937 random(11);
  auto between = [&](int64_t low, int64_t high) {
    return std::uniform_int_distribution<int64_t>(low, high)(random);
  };
  for (int i = 0; i < 150; ++i) {
    Case c;
    c.dtype = std::array{DType::Float32, DType::Float64,
                         DType::Float16}[between(0, 2)];
    c.transposed = between(0, 1);
    c.groups = between(1, 3);
    c.images = between(0, 3);
    c.channels = c.groups * between(1, 5);
    c.outChannels = c.groups * between(1, 7);
    for (int64_t d = between(1, 3); d > 0; --d) {
      c.window.push_back(between(1, 3));
      c.dilation.push_back(between(1, 2));
      c.stride.push_back(between(1, 3));
      c.in.push_back(between(5, 8));
      c.padding.push_back(between(0, 2));
      c.padding.push_back(between(0, 2));
      c.outputPadding.push_back(c.transposed ? between(0, c.stride.back() - 1)
                                             : 0);
    }
    c.input = kAllLayouts[between(0, 3)];
    c.weight = kAllLayouts[between(0, 3)];
    c.result = kAllLayouts[between(0, 3)];
    c.numThreads = static_cast<int>(between(1, 4));
    checkConvolution(c);
  }
}

TEST(Convolution, malformed_calls_are_errors) {
  nlohmann::json attributes = {{"stride", {1, 1}},   {"padding", {0, 0, 0, 0}},
                               {"dilation", {1, 1}}, {"output_padding", {0, 0}},
                               {"groups", 1},        {"transposed", false}};
  auto messageOf = [&](std::vector<int64_t> weightSizes,
                       std::vector<int64_t> resultSizes) {
    TestTensor input(DType::Float32, {1, 4, 8, 8}),
        weight(DType::Float32, weightSizes),
        result(DType::Float32, resultSizes);
    auto routine =
        bindCall("convolution", attributes, {&input, &weight}, {&result});
    return routine.ok() ? "ok" : routine.error().message;
  };
  EXPECT_EQ(messageOf({6, 4, 3, 3}, {1, 6, 6, 6}), "ok");
  EXPECT_THAT(messageOf({6, 3, 3, 3}, {1, 6, 6, 6}),
              HasSubstr("channels do not agree"));
  EXPECT_THAT(messageOf({6, 4, 3, 3}, {1, 6, 6, 7}),
              HasSubstr("size 7 in spatial dimension 1 instead of 6"));
  attributes["stride"] = {1};
  EXPECT_THAT(messageOf({6, 4, 3, 3}, {1, 6, 6, 6}),
              HasSubstr("attribute 'stride' has 1 entries instead of 2"));
  attributes.erase("stride");
  EXPECT_THAT(messageOf({6, 4, 3, 3}, {1, 6, 6, 6}),
              HasSubstr("attribute 'stride' is missing"));
}

} // namespace
