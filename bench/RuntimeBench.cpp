//===- RuntimeBench.cpp - speed of library routines -----------------------===//
// Run with --benchmark_filter=REGEX; "FLOP" counts multiplications and
// additions a second, "bytes_per_second" what has to be read and written.
#include "gcompile/base/Tensor.h"
#include "gcompile/cpu/Routine.h"

#include <benchmark/benchmark.h>

#include <cstring>

using namespace gcompile;

namespace {

plan::TensorRef dense(DType dtype, std::vector<int64_t> sizes) {
  std::vector<int64_t> strides = contiguousStrides(sizes);
  return {-1, dtype, std::move(sizes), std::move(strides), 0};
}

/// Products of half-precision operands are summed in, and given as, float32.
DType sumType(DType dtype) {
  return byteWidth(dtype) == 2 ? DType::Float32 : dtype;
}

/// Runs a call on tensors of its own until the time is up.
void measure(benchmark::State &state, plan::LibraryCall call, int numThreads,
             double flops) {
  std::vector<Tensor> tensors;
  std::vector<void *> buffers;
  int64_t numBytes = 0;
  for (auto *list : {&call.inputs, &call.outputs})
    for (plan::TensorRef &ref : *list) {
      ref.buffer = static_cast<int64_t>(tensors.size());
      Tensor &tensor =
          tensors.emplace_back(Tensor::empty(ref.dtype, ref.sizes));
      // 1.0 in every floating-point type, more or less.
      std::memset(tensor.mutableData(), 0x3c, tensor.numBytes());
      buffers.push_back(tensor.mutableData());
      numBytes += tensor.numBytes();
    }
  cpu::ThreadPool pool(numThreads);
  auto routine = cpu::bindRoutine(call).valueOrThrow();
  auto workspace = Storage::allocate(
      static_cast<size_t>(routine->workspaceBytes(numThreads)));
  for (auto _ : state)
    routine->run({buffers.data(), pool, workspace->mutableData(), 0});
  state.SetBytesProcessed(state.iterations() * numBytes);
  if (flops > 0)
    state.counters["FLOP"] =
        benchmark::Counter(flops * static_cast<double>(state.iterations()),
                           benchmark::Counter::kIsRate);
}

void matmul(benchmark::State &state, DType dtype, int64_t batch, int64_t m,
            int64_t n, int64_t k, bool transposed) {
  plan::TensorRef rhs = dense(dtype, {batch, k, n});
  if (transposed)
    rhs.strides = {k * n, 1, k};
  measure(state,
          {"matmul",
           {},
           {dense(dtype, {batch, m, k}), rhs},
           {dense(sumType(dtype), {batch, m, n})}},
          static_cast<int>(state.range(0)),
          2.0 * static_cast<double>(batch * m * n) * static_cast<double>(k));
}

#define MATMUL(name, ...)                                                      \
  BENCHMARK_CAPTURE(matmul, name, __VA_ARGS__)                                 \
      ->ArgName("threads")                                                     \
      ->Arg(1)                                                                 \
      ->Arg(2)                                                                 \
      ->UseRealTime()                                                          \
      ->Unit(benchmark::kMicrosecond)
MATMUL(f32_128x3072x768, DType::Float32, 1, 128, 3072, 768, true);
MATMUL(f32_128x768x3072, DType::Float32, 1, 128, 768, 3072, true);
MATMUL(f32_12x128x128x64, DType::Float32, 12, 128, 128, 64, true);
MATMUL(bf16_128x3072x768, DType::BFloat16, 1, 128, 3072, 768, true);
MATMUL(f32_1x4096x4096, DType::Float32, 1, 1, 4096, 4096, true);
MATMUL(f32_1x4096x4096_rows, DType::Float32, 1, 1, 4096, 4096, false);
MATMUL(f32_4x4096x4096, DType::Float32, 1, 4, 4096, 4096, true);
MATMUL(f32_4x4096x4096_rows, DType::Float32, 1, 4, 4096, 4096, false);
MATMUL(f32_8x4096x4096, DType::Float32, 1, 8, 4096, 4096, true);
MATMUL(f32_8x4096x4096_rows, DType::Float32, 1, 8, 4096, 4096, false);
MATMUL(bf16_1x4096x4096, DType::BFloat16, 1, 1, 4096, 4096, true);
MATMUL(bf16_1x4096x4096_rows, DType::BFloat16, 1, 1, 4096, 4096, false);
MATMUL(f64_128x3072x768, DType::Float64, 1, 128, 3072, 768, true);

void convolution(benchmark::State &state, DType dtype, int64_t channels,
                 int64_t outChannels, int64_t size, int64_t window,
                 int64_t stride, int64_t groups) {
  const int64_t padding = window / 2;
  const int64_t out = (size + 2 * padding - window) / stride + 1;
  measure(state,
          {"convolution",
           {{"stride", {stride, stride}},
            {"padding", {padding, padding, padding, padding}},
            {"dilation", {1, 1}},
            {"output_padding", {0, 0}},
            {"groups", groups},
            {"transposed", false}},
           {dense(dtype, {1, channels, size, size}),
            dense(dtype, {outChannels, channels / groups, window, window})},
           {dense(sumType(dtype), {1, outChannels, out, out})}},
          static_cast<int>(state.range(0)),
          2.0 * static_cast<double>(outChannels * out * out) *
              static_cast<double>(channels / groups * window * window));
}

#define CONVOLUTION(name, ...)                                                 \
  BENCHMARK_CAPTURE(convolution, name, __VA_ARGS__)                            \
      ->ArgName("threads")                                                     \
      ->Arg(1)                                                                 \
      ->Arg(2)                                                                 \
      ->UseRealTime()                                                          \
      ->Unit(benchmark::kMicrosecond)
// Layers of ResNet-50 and MobileNet.
CONVOLUTION(f32_3to64_224_7x7s2, DType::Float32, 3, 64, 224, 7, 2, 1);
CONVOLUTION(f32_64to64_56_3x3, DType::Float32, 64, 64, 56, 3, 1, 1);
CONVOLUTION(f32_64to256_56_1x1, DType::Float32, 64, 256, 56, 1, 1, 1);
CONVOLUTION(f32_256to512_56_1x1s2, DType::Float32, 256, 512, 56, 1, 2, 1);
CONVOLUTION(f32_256to256_14_3x3, DType::Float32, 256, 256, 14, 3, 1, 1);
CONVOLUTION(f32_512to512_7_3x3, DType::Float32, 512, 512, 7, 3, 1, 1);
CONVOLUTION(f16_64to64_56_3x3, DType::Float16, 64, 64, 56, 3, 1, 1);
CONVOLUTION(f16_512to512_7_3x3, DType::Float16, 512, 512, 7, 3, 1, 1);
CONVOLUTION(f32_96_112_depthwise3x3s2, DType::Float32, 96, 96, 112, 3, 2, 96);
CONVOLUTION(f32_144_56_depthwise3x3, DType::Float32, 144, 144, 56, 3, 1, 144);
CONVOLUTION(f64_64to64_56_3x3, DType::Float64, 64, 64, 56, 3, 1, 1);

} // namespace
