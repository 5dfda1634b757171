// Plans with hand-written kernels on the GPU; skipped where there is none.
#include "gcompile/cuda/Device.h"
#include "gcompile/executor/Executable.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

using namespace gcompile;
using namespace gcompile::plan;
using testing::Each;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

constexpr const char *kAdd = R"(#include "gcompile.cuh"
extern "C" __global__ void add(const f32 *a, const f32 *b, f32 *out) {
  out[threadIdx.x] = a[threadIdx.x] + b[threadIdx.x];
}
)";
constexpr const char *kLess = R"(#include "gcompile.cuh"
extern "C" __global__ void less(const f32 *a, const f32 *b, bool *out) {
  *out = *a < *b;
}
)";
/// Through more shared memory than a kernel has unless it asks for it.
constexpr const char *kReverse = R"(#include "gcompile.cuh"
extern "C" __global__ void reverse(const f32 *a, f32 *out) {
  extern __shared__ f32 part[];
  part[threadIdx.x * 4000] = a[threadIdx.x];
  __syncthreads();
  out[threadIdx.x] = part[(blockDim.x - 1 - threadIdx.x) * 4000];
}
)";

/// Plans over tensors of four floats.
struct PlanBuilder {
  PlanBuilder() {
    plan.target = "cuda";
    plan.kernels = {{"add", "cuda", kAdd},
                    {"less", "cuda", kLess},
                    {"reverse", "cuda", kReverse}};
  }
  int64_t buffer(BufferKind kind, const std::string &name) {
    Buffer result;
    result.name = result.weight = name;
    result.kind = kind;
    result.sizes = {2, 2};
    result.numBytes = 16;
    plan.buffers.push_back(result);
    return static_cast<int64_t>(plan.buffers.size()) - 1;
  }
  int64_t input(const std::string &name) {
    const int64_t index = buffer(BufferKind::Input, name);
    plan.buffers.back().index = static_cast<int64_t>(plan.inputs.size());
    plan.inputs.push_back({name, index, DType::Float32, {2, 2}});
    return index;
  }
  int64_t output() {
    const int64_t index = buffer(BufferKind::Output, "y");
    plan.buffers.back().index = static_cast<int64_t>(plan.outputs.size());
    bindOutput(index);
    return index;
  }
  void bindOutput(int64_t index, std::vector<int64_t> strides = {2, 1}) {
    plan.outputs.push_back({std::to_string(plan.outputs.size()),
                            index,
                            DType::Float32,
                            {2, 2},
                            std::move(strides)});
  }
  int64_t arena(Entry &entry) {
    const int64_t index = buffer(BufferKind::Arena, "t");
    plan.buffers.back().offset = entry.arenaBytes;
    entry.arenaBytes += 256;
    return index;
  }
  int64_t predicate(Entry &entry) {
    const int64_t index = arena(entry);
    plan.buffers.back().dtype = DType::Bool;
    plan.buffers.back().sizes = {};
    plan.buffers.back().numBytes = 1;
    return index;
  }
  int64_t prepared() {
    const int64_t index = buffer(BufferKind::Prepared, "p");
    plan.buffers.back().offset = plan.preparedBytes;
    plan.preparedBytes += 256;
    return index;
  }
  int64_t constant(float value) {
    const int64_t index = buffer(BufferKind::Constant, "c");
    std::vector<float> values(4, value);
    auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    plan.buffers.back().data.assign(bytes, bytes + 16);
    return index;
  }
  static Step step(int64_t kernel, std::vector<int64_t> arguments,
                   int64_t blockThreads, int64_t sharedBytes = 0) {
    Step result;
    result.name = "step";
    result.launch = Launch{kernel, std::move(arguments), blockThreads};
    result.launch->blockThreads = blockThreads;
    result.launch->sharedBytes = sharedBytes;
    return result;
  }
  static Step add(int64_t a, int64_t b, int64_t out) {
    return step(0, {a, b, out}, 4);
  }
  static Step less(int64_t a, int64_t b, int64_t out) {
    return step(1, {a, b, out}, 1);
  }

  Plan plan;
};

Tensor floats(std::vector<float> values) {
  Tensor tensor = Tensor::empty(DType::Float32, {2, 2});
  std::memcpy(tensor.mutableData(), values.data(), 16);
  return tensor;
}

std::vector<float> valuesOf(const Tensor &tensor) {
  auto values = tensor.as<float>();
  return {values.begin(), values.end()};
}

Result<Tensor> noWeights(const std::string &name) {
  return Error{ErrorCode::InvalidArgument, "no weight '" + name + "'"};
}

/// Each test runs with single launches, and as a CUDA graph.
class CudaExecutableTest : public testing::TestWithParam<bool> {
protected:
  void SetUp() override {
    auto opened = cuda::Device::open();
    if (!opened.ok())
      GTEST_SKIP() << opened.error().render();
    device = *opened;
  }

  static std::unique_ptr<Executable>
  load(const Plan &plan, const WeightResolver &weights = noWeights) {
    LoadOptions options;
    options.pool = std::make_shared<cpu::ThreadPool>(2);
    options.cudaGraph = GetParam();
    options.poison = true;
    return Executable::load(plan, weights, options).valueOrThrow();
  }

  cuda::DevicePointer device;
};

INSTANTIATE_TEST_SUITE_P(Modes, CudaExecutableTest, testing::Bool(),
                         [](const auto &info) {
                           return info.param ? "graph" : "launches";
                         });

TEST_P(CudaExecutableTest, steps_run_over_arena_and_constants) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, b.constant(1), t), b.add(t, t, y)};
  auto executable = load(b.plan);
  for (float first : {0.0f, 10.0f, 20.0f}) {
    Tensor input = floats({first, 1, 2, 3});
    auto outputs = executable->run({&input, 1}).valueOrThrow();
    EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(2 * first + 2, 4, 6, 8));
  }
  EXPECT_EQ(executable->graphProblem(), "");
}

TEST_P(CudaExecutableTest, poison_shows_what_was_never_written) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, t, y)};
  b.output(); // which no step writes
  auto executable = load(b.plan);
  Tensor input = floats({0, 1, 2, 3});
  for (const Tensor &output : executable->run({&input, 1}).valueOrThrow())
    for (float value : valuesOf(output))
      EXPECT_TRUE(std::isnan(value));
}

TEST_P(CudaExecutableTest, outputs_have_the_exported_strides) {
  PlanBuilder b;
  int64_t x = b.input("x"), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, x, t)};
  b.bindOutput(t, {1, 2});
  b.bindOutput(t, {8, 2}); // with gaps
  b.bindOutput(x);         // an input, as it is
  auto executable = load(b.plan);
  Tensor input = floats({0, 1, 2, 3});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(outputs[0].strides, ElementsAre(1, 2));
  EXPECT_THAT(outputs[1].strides, ElementsAre(8, 2));
  EXPECT_THAT(valuesOf(outputs[0].contiguous()), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(valuesOf(outputs[1].contiguous()), ElementsAre(0, 2, 4, 6));
  EXPECT_THAT(valuesOf(outputs[2]), ElementsAre(0, 1, 2, 3));
}

TEST_P(CudaExecutableTest, kernels_may_have_much_shared_memory) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.step(2, {x, y}, 4, 64000)};
  auto executable = load(b.plan);
  Tensor input = floats({0, 1, 2, 3});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(3, 2, 1, 0));
}

TEST_P(CudaExecutableTest, launches_without_blocks_do_nothing) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  Step nothing = b.step(0, {x, x, x}, 4);
  nothing.launch->grid = {0, 1, 1};
  b.plan.forward.steps = {nothing, b.add(x, x, y)};
  auto executable = load(b.plan);
  Tensor input = floats({0, 1, 2, 3});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(0, 2, 4, 6));
}

TEST_P(CudaExecutableTest, weights_are_prepared_and_tied_ones_copied_once) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), p = b.prepared();
  int64_t v = b.buffer(BufferKind::Weight, "v");
  int64_t w = b.buffer(BufferKind::Weight, "w");
  int64_t tied = b.buffer(BufferKind::Weight, "tied");
  int64_t t = b.arena(b.plan.forward), u = b.arena(b.plan.forward);
  b.plan.prepare.steps = {b.add(v, v, p)};
  b.plan.forward.steps = {b.add(x, p, t), b.add(t, w, u), b.add(u, tied, y)};
  Tensor ones = floats({1, 1, 1, 1}), tens = floats({0, 10, 20, 30});
  tens.strides = {1, 2}; // not row-major
  auto executable =
      load(b.plan, [&](const std::string &name) -> Result<Tensor> {
        return name == "v" ? tens : ones;
      });
  EXPECT_EQ(executable->weightsInfo().totalBytes, 48);
  EXPECT_EQ(executable->weightsInfo().copiedBytes, 512);
  EXPECT_EQ(executable->weightsInfo().preparedBytes, 256);
  Tensor input = floats({0, 1, 2, 3});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(2, 43, 24, 65));
}

TEST_P(CudaExecutableTest, large_weights_arrive_whole) {
  // More than both staging buffers hold, so that each is used again.
  constexpr int64_t numElements = 20 << 20;
  PlanBuilder b;
  Buffer buffer;
  buffer.name = buffer.weight = "w";
  buffer.kind = BufferKind::State;
  buffer.sizes = {numElements};
  buffer.numBytes = 4 * numElements;
  b.plan.buffers.push_back(buffer);
  Tensor weight = Tensor::empty(DType::Float32, {numElements});
  auto *values = reinterpret_cast<float *>(weight.mutableData());
  for (int64_t i = 0; i < numElements; ++i)
    values[i] = static_cast<float>(i % 16777213);
  LoadOptions options;
  options.pool = std::make_shared<cpu::ThreadPool>(2);
  std::vector<int64_t> progress;
  options.progress = [&](int64_t copied, int64_t total) {
    EXPECT_EQ(total, buffer.numBytes);
    progress.push_back(copied);
  };
  auto executable =
      Executable::load(
          b.plan, [&](const std::string &) -> Result<Tensor> { return weight; },
          options)
          .valueOrThrow();
  EXPECT_THAT(progress, ElementsAre(32 << 20, 64 << 20, 80 << 20));
  Tensor state = executable->state("w").valueOrThrow();
  EXPECT_EQ(std::memcmp(state.data(), weight.data(), weight.numBytes()), 0);
}

TEST_P(CudaExecutableTest, state_stays_on_the_device) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  int64_t s = b.buffer(BufferKind::State, "sum");
  int64_t t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, s, t), b.add(s, s, y)};
  b.plan.mutations = {{t, s}};
  auto executable = load(b.plan, [](const std::string &) -> Result<Tensor> {
    return floats({0, 0, 0, 100});
  });
  Tensor input = floats({0, 1, 2, 3});
  ASSERT_TRUE(executable->run({&input, 1}).ok());
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(0, 2, 4, 206));
  EXPECT_THAT(valuesOf(executable->state("sum").valueOrThrow()),
              ElementsAre(0, 2, 4, 106));
}

TEST_P(CudaExecutableTest, two_pieces_of_state_may_change_places) {
  PlanBuilder b;
  int64_t s = b.buffer(BufferKind::State, "s");
  int64_t t = b.buffer(BufferKind::State, "t");
  b.plan.mutations = {{s, t}, {t, s}};
  auto executable = load(b.plan, [](const std::string &n) -> Result<Tensor> {
    return floats(std::vector<float>(4, n == "s" ? 1.0f : 2.0f));
  });
  ASSERT_TRUE(executable->run({}).ok());
  EXPECT_THAT(valuesOf(executable->state("s").valueOrThrow()), Each(2));
  EXPECT_THAT(valuesOf(executable->state("t").valueOrThrow()), Each(1));
}

TEST_P(CudaExecutableTest, mutated_inputs_are_written_back) {
  PlanBuilder b;
  int64_t x = b.input("x"), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, x, t)};
  b.plan.mutations = {{t, x}};
  b.bindOutput(t);
  auto executable = load(b.plan);
  Tensor input = floats({0, 1, 2, 3});
  input.strides = {1, 2};
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(0, 4, 2, 6));
  EXPECT_THAT(valuesOf(input), ElementsAre(0, 2, 4, 6));
}

TEST_P(CudaExecutableTest, while_repeats_and_says_why_it_is_no_graph) {
  PlanBuilder b;
  int64_t x = b.input("x"), limit = b.input("limit");
  int64_t p = b.predicate(b.plan.forward), t = b.arena(b.plan.forward);
  Step loop;
  loop.name = "loop";
  loop.control = "while";
  loop.predicate = p;
  loop.branches = {{b.less(t, limit, p)}, {b.add(t, t, t)}};
  b.plan.forward.steps = {b.add(x, b.constant(0), t), loop};
  b.bindOutput(t);
  auto executable = load(b.plan);
  EXPECT_THAT(executable->graphProblem(),
              HasSubstr(GetParam() ? "step 'loop' (while)" : ""));
  Tensor inputs[] = {floats({1, 3, 3, 3}), floats({100, 0, 0, 0})};
  auto outputs = executable->run(inputs).valueOrThrow();
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(128, 384, 384, 384));

  RunOptions options;
  options.profile = true;
  ASSERT_TRUE(executable->run(inputs, options).ok());
  std::vector<StepTime> times = executable->profile();
  ASSERT_EQ(times.size(), 4u); // the first, the loop, its condition, its body
  EXPECT_EQ(times[2].numRuns, 8);
  EXPECT_EQ(times[3].numRuns, 7);
  EXPECT_GT(times[1].seconds, 0);
}

TEST_P(CudaExecutableTest, inputs_and_outputs_may_stay_on_the_device) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  b.bindOutput(y); // copied on the device
  auto executable = load(b.plan);
  cuda::Stream stream(device);
  cuda::DeviceMemory memory(device, 768);
  cuda::Device::Scope scope(*device);
  void *input = memory.data();
  void *outputs[] = {memory.data() + 256, memory.data() + 512};
  ASSERT_TRUE(executable->bindDevice({&input, 1}, outputs).ok());
  EXPECT_EQ(executable->deviceInput(0), input);
  EXPECT_EQ(executable->deviceOutput(1), outputs[1]);
  std::vector<float> values = {0, 1, 2, 3};
  cuda::copyToDevice(input, values.data(), 16, stream.get());
  for (int run = 0; run < 2; ++run)
    ASSERT_TRUE(executable->enqueue(stream.get()).ok());
  for (void *output : outputs) {
    cuda::copyToHost(values.data(), output, 16, stream.get());
    stream.synchronize("run the test");
    EXPECT_THAT(values, ElementsAre(0, 2, 4, 6));
  }
  // Back to the executable's own memory.
  void *none[] = {nullptr, nullptr};
  ASSERT_TRUE(executable->bindDevice({none, 1}, none).ok());
  EXPECT_NE(executable->deviceInput(0), input);
  Tensor ones = floats({1, 1, 1, 1});
  EXPECT_THAT(valuesOf(executable->run({&ones, 1}).valueOrThrow()[1]), Each(2));

  void *crooked = memory.data() + 4;
  Status status = executable->bindDevice({&crooked, 1}, outputs);
  ASSERT_FALSE(status.ok());
  EXPECT_THAT(status.error().message, HasSubstr("memory of 'x' at"));
  EXPECT_FALSE(executable->bindDevice({}, outputs).ok());
}

TEST_P(CudaExecutableTest, a_benchmark_has_a_time_for_each_repetition) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  auto executable = load(b.plan);
  auto seconds = executable->benchmark(5).valueOrThrow();
  ASSERT_EQ(seconds.size(), 5u);
  for (double time : seconds) {
    EXPECT_GT(time, 0);
    EXPECT_LT(time, 0.1);
  }
}

TEST(CudaDevice, what_is_missing_is_said) {
  auto device = cuda::Device::open(1000);
  ASSERT_FALSE(device.ok());
  EXPECT_EQ(device.error().code, ErrorCode::Device);
  EXPECT_NE(device.error().help, "");
  PlanBuilder b;
  LoadOptions options;
  options.pool = std::make_shared<cpu::ThreadPool>(1);
  options.deviceOrdinal = 1000;
  auto loaded = Executable::load(b.plan, noWeights, options);
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().message, device.error().message);
}

} // namespace
