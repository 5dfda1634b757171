//===- Convolution.cpp - convolutions of any layout -----------------------===//
// A thread computes one element of the result. Serves every type, stride and
// number of dimensions; tensor cores are the libraries' business.
#include "GeneratedRoutine.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 128;

std::string_view sumType(DType dtype) {
  if (dtype == DType::Float64)
    return "f64";
  return isFloatingPoint(dtype) ? "f32" : "u64";
}

struct Window {
  std::vector<int64_t> stride, dilation, padding, size;
  bool transposed;
  int64_t groups, inChannels, outChannels; ///< channels of a group
};

Window windowOf(const plan::LibraryCall &call) {
  plan::expectOperands(call, 2, 2, 1, 1);
  const plan::TensorRef &input = call.inputs[0], &weight = call.inputs[1];
  const plan::TensorRef &result = call.outputs[0];
  if (input.sizes.size() < 3 || weight.sizes.size() != input.sizes.size() ||
      result.sizes.size() != input.sizes.size())
    plan::failCall(call, "ranks differ or are below 3");
  const size_t rank = input.sizes.size() - 2;
  Window window;
  window.transposed = plan::boolAttribute(call, "transposed");
  window.groups = plan::integerAttribute(call, "groups");
  window.stride = plan::integersAttribute(call, "stride", rank);
  window.dilation = plan::integersAttribute(call, "dilation", rank);
  const auto padding = plan::integersAttribute(call, "padding", 2 * rank);
  const auto outputPadding =
      plan::integersAttribute(call, "output_padding", rank);
  if (window.groups < 1 || input.sizes[1] % window.groups != 0 ||
      result.sizes[1] % window.groups != 0 || result.sizes[0] != input.sizes[0])
    plan::failCall(call, "channels or images do not agree");
  window.inChannels = input.sizes[1] / window.groups;
  window.outChannels = result.sizes[1] / window.groups;
  if (weight.sizes[0] != (window.transposed ? input : result).sizes[1] ||
      weight.sizes[1] !=
          (window.transposed ? window.outChannels : window.inChannels))
    plan::failCall(call, "channels do not agree");
  for (size_t d = 0; d < rank; ++d) {
    const int64_t in = input.sizes[d + 2], size = weight.sizes[d + 2];
    if (window.stride[d] < 1 || window.dilation[d] < 1 || size < 1)
      plan::failCall(call, "a stride, a dilation or a window below 1");
    const int64_t reach = window.dilation[d] * (size - 1) + 1;
    const int64_t padded = padding[2 * d] + padding[2 * d + 1];
    const int64_t expected =
        window.transposed
            ? (in - 1) * window.stride[d] - padded + reach + outputPadding[d]
            : (in + padded - reach) / window.stride[d] + 1;
    if (result.sizes[d + 2] != expected)
      plan::failCall(call, fmt::format("size {} instead of {}",
                                       result.sizes[d + 2], expected));
    window.padding.push_back(padding[2 * d]);
    window.size.push_back(size);
  }
  return window;
}

/// Loops over the window that leave the input's element in `x` and the
/// weight's position in `w`, around `body`.
std::string windowLoops(const Window &window, const plan::TensorRef &input,
                        const plan::TensorRef &weight,
                        const std::string &body) {
  std::string text, position = "image + channel";
  std::string weightPosition = "filter";
  for (size_t d = 0; d < window.size.size(); ++d) {
    text += fmt::format("  for (int k{0} = 0; k{0} < {1}; ++k{0}) {{\n", d,
                        window.size[d]);
    if (window.transposed)
      text += fmt::format(
          "  const i64 reach{0} = o{0} + {1} - k{0} * i64({2});\n"
          "  if (reach{0} < 0 || reach{0} % {3} != 0)\n    continue;\n"
          "  const i64 i{0} = reach{0} / {3};\n"
          "  if (i{0} >= {4})\n    continue;\n",
          d, window.padding[d], window.dilation[d], window.stride[d],
          input.sizes[d + 2]);
    else
      text +=
          fmt::format("  const i64 i{0} = o{0} * {3} - {1} + k{0} * i64({2});\n"
                      "  if (i{0} < 0 || i{0} >= {4})\n    continue;\n",
                      d, window.padding[d], window.dilation[d],
                      window.stride[d], input.sizes[d + 2]);
    position += fmt::format(" + i{} * {}ll", d, input.strides[d + 2]);
    weightPosition += fmt::format(" + k{} * {}ll", d, weight.strides[d + 2]);
  }
  text += fmt::format("  const i64 x = {}, w = {};\n{}", position,
                      weightPosition, body);
  for (size_t d = 0; d < window.size.size(); ++d)
    text += "  }\n";
  return text;
}

std::string sourceOf(const Window &window, const plan::LibraryCall &call,
                     int64_t total) {
  const plan::TensorRef &input = call.inputs[0], &weight = call.inputs[1];
  const plan::TensorRef &result = call.outputs[0];
  // Neighbouring threads write neighbours: channels run fastest where they do
  // in memory.
  const bool channelsLast = result.strides[1] == 1;
  std::string place, target = "n * " + std::to_string(result.strides[0]) +
                              "ll + c * " + std::to_string(result.strides[1]) +
                              "ll";
  auto split = [&](const std::string &name, int64_t size) {
    place += fmt::format("  const i64 {} = rest % {};\n  rest /= {};\n", name,
                         size, size);
  };
  if (channelsLast)
    split("c", result.sizes[1]);
  for (size_t d = window.size.size(); d-- > 0;) {
    split(fmt::format("o{}", d), result.sizes[d + 2]);
    target += fmt::format(" + o{} * {}ll", d, result.strides[d + 2]);
  }
  if (!channelsLast)
    split("c", result.sizes[1]);
  // The filter of a pair of channels.
  const std::string filter =
      window.transposed ? fmt::format("(group * {} + i) * {}ll + c % {} * {}ll",
                                      window.inChannels, weight.strides[0],
                                      window.outChannels, weight.strides[1])
                        : fmt::format("c * {}ll + i * {}ll", weight.strides[0],
                                      weight.strides[1]);
  const std::string sum(sumType(input.dtype));
  const std::string loops =
      windowLoops(window, input, weight,
                  fmt::format("  sum += to_sum<{0}>(input[x]) * "
                              "to_sum<{0}>(weight[w]);\n",
                              sum));
  return fmt::format(
      R"(#include "matmul.cuh"
extern "C" __global__ void __launch_bounds__({threads})
KERNEL(const {in} *input, const {in} *weight, {out} *result) {{
  i64 rest = i64(blockIdx.x) * {threads} + threadIdx.x;
  if (rest >= {total})
    return;
{place}  const i64 n = rest, group = c / {outChannels};
  const i64 image = n * {imageStride}ll;
  {sum} sum = 0;
  for (i64 i = 0; i < {inChannels}; ++i) {{
  const i64 channel = (group * {inChannels} + i) * {channelStride}ll;
  const i64 filter = {filter};
{loops}  }}
  result[{target}] = from_sum<{out}>(sum);
}}
)",
      fmt::arg("threads", kThreads), fmt::arg("in", elementType(input.dtype)),
      fmt::arg("out", elementType(result.dtype)), fmt::arg("total", total),
      fmt::arg("place", place), fmt::arg("outChannels", window.outChannels),
      fmt::arg("imageStride", input.strides[0]), fmt::arg("sum", sum),
      fmt::arg("inChannels", window.inChannels),
      fmt::arg("channelStride", input.strides[1]), fmt::arg("filter", filter),
      fmt::arg("loops", loops), fmt::arg("target", target));
}

} // namespace

std::unique_ptr<Routine>
bindConvolution(const plan::LibraryCall &call,
                const RoutineEnvironment &environment) {
  const Window window = windowOf(call);
  const plan::TensorRef &input = call.inputs[0], &weight = call.inputs[1];
  const plan::TensorRef &result = call.outputs[0];
  if (elementType(input.dtype).empty() || input.dtype == DType::Bool ||
      weight.dtype != input.dtype ||
      (result.dtype != input.dtype && result.dtype != DType::Float32))
    failDType(call, input.dtype);
  int64_t total = 1;
  for (int64_t size : result.sizes)
    total *= size;
  if (total == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});
  KernelLaunch launch{
      addKernel(environment, "convolution", sourceOf(window, call, total)),
      gridFor(total, kThreads),
      {static_cast<unsigned>(kThreads), 1, 1}};
  launch.arguments = {KernelArgument::view(input), KernelArgument::view(weight),
                      KernelArgument::view(result)};
  std::vector<KernelLaunch> launches;
  launches.push_back(std::move(launch));
  return std::make_unique<GeneratedRoutine>(std::move(launches));
}

} // namespace gcompile::cuda
