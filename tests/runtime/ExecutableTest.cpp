#include "gcompile/executor/Executable.h"

#include "gcompile/cpu/CpuJit.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <cstring>
#include <map>

using namespace gcompile;
using namespace gcompile::plan;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// Stands for a JIT: kernels are functions of this file, found by their symbol.
class FunctionTable : public cpu::KernelCompiler {
public:
  Result<std::vector<cpu::KernelFunction>>
  compile(std::span<const Kernel> kernels, cpu::ThreadPool &) override {
    std::vector<cpu::KernelFunction> functions;
    for (const Kernel &kernel : kernels) {
      auto it = table().find(kernel.symbol);
      if (it == table().end())
        return Error{ErrorCode::Internal, "no kernel " + kernel.symbol};
      functions.push_back(it->second);
    }
    return functions;
  }

private:
  template <float (*F)(float, float)>
  static void binary(void *const *buffers, int64_t begin, int64_t end, void *) {
    auto *a = static_cast<const float *>(buffers[0]);
    auto *b = static_cast<const float *>(buffers[1]);
    auto *out = static_cast<float *>(buffers[2]);
    for (int64_t i = begin; i < end; ++i)
      out[i] = F(a[i], b[i]);
  }
  static float add(float a, float b) { return a + b; }
  static float multiply(float a, float b) { return a * b; }
  static void less(void *const *buffers, int64_t, int64_t, void *) {
    *static_cast<bool *>(buffers[2]) = *static_cast<const float *>(buffers[0]) <
                                       *static_cast<const float *>(buffers[1]);
  }
  /// Writes through its scratch, to see that it is there and private.
  static void throughScratch(void *const *buffers, int64_t begin, int64_t end,
                             void *scratch) {
    auto *local = static_cast<float *>(scratch);
    for (int64_t i = begin; i < end; ++i) {
      for (int j = 0; j < 256; ++j)
        local[j] = static_cast<const float *>(buffers[0])[i];
      static_cast<float *>(buffers[1])[i] = local[i % 256];
    }
  }

  static const std::map<std::string, cpu::KernelFunction> &table() {
    static const std::map<std::string, cpu::KernelFunction> functions = {
        {"add", binary<add>},
        {"multiply", binary<multiply>},
        {"less", less},
        {"through_scratch", throughScratch}};
    return functions;
  }
};

Tensor floats(std::vector<int64_t> sizes, std::vector<float> values) {
  Tensor tensor = Tensor::empty(DType::Float32, std::move(sizes));
  std::memcpy(tensor.mutableData(), values.data(), values.size() * 4);
  return tensor;
}

std::vector<float> valuesOf(const Tensor &tensor) {
  Tensor dense = tensor.contiguous();
  auto values = dense.as<float>();
  return {values.begin(), values.end()};
}

/// Builds plans of float buffers of one shape.
class PlanBuilder {
public:
  explicit PlanBuilder(std::vector<int64_t> sizes = {2, 3}) : sizes(sizes) {
    plan.target = "cpu";
    for (int64_t size : sizes)
      numBytes *= size;
    for (const char *symbol : {"add", "multiply", "less", "through_scratch"})
      plan.kernels.push_back({symbol, "test", ""});
  }

  int64_t buffer(BufferKind kind, const std::string &name) {
    Buffer result;
    result.name = result.weight = name;
    result.kind = kind;
    result.sizes = sizes;
    result.numBytes = numBytes;
    plan.buffers.push_back(result);
    return static_cast<int64_t>(plan.buffers.size()) - 1;
  }
  int64_t input(const std::string &name) {
    int64_t index = buffer(BufferKind::Input, name);
    plan.buffers.back().index = static_cast<int64_t>(plan.inputs.size());
    plan.inputs.push_back({name, index, DType::Float32, sizes});
    return index;
  }
  int64_t output() {
    int64_t index = buffer(BufferKind::Output, "y");
    plan.buffers.back().index = static_cast<int64_t>(plan.outputs.size());
    bindOutput(index);
    return index;
  }
  void bindOutput(int64_t buffer, std::vector<int64_t> strides = {}) {
    if (strides.empty())
      strides = contiguousStrides(sizes);
    plan.outputs.push_back({std::to_string(plan.outputs.size()), buffer,
                            DType::Float32, sizes, strides});
  }
  int64_t arena(Entry &entry) {
    int64_t index = buffer(BufferKind::Arena, "t");
    plan.buffers.back().offset = entry.arenaBytes;
    entry.arenaBytes += (numBytes + 63) / 64 * 64;
    return index;
  }
  int64_t prepared() {
    int64_t index = buffer(BufferKind::Prepared, "p");
    plan.buffers.back().offset = plan.preparedBytes;
    plan.preparedBytes += (numBytes + 63) / 64 * 64;
    return index;
  }
  int64_t constant(float value) {
    int64_t index = buffer(BufferKind::Constant, "c");
    std::vector<float> values(static_cast<size_t>(numBytes / 4), value);
    auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    plan.buffers.back().data.assign(bytes, bytes + numBytes);
    return index;
  }
  int64_t predicate(Entry &entry) {
    int64_t index = arena(entry);
    plan.buffers.back().dtype = DType::Bool;
    plan.buffers.back().sizes = {};
    plan.buffers.back().numBytes = 1;
    return index;
  }

  Step step(int64_t kernel, std::vector<int64_t> arguments) {
    Step result;
    result.name = "step";
    result.launch = Launch{kernel, std::move(arguments), numBytes / 4};
    return result;
  }
  Step add(int64_t a, int64_t b, int64_t out) { return step(0, {a, b, out}); }
  Step multiply(int64_t a, int64_t b, int64_t out) {
    return step(1, {a, b, out});
  }
  Step less(int64_t a, int64_t b, int64_t out) {
    Step result = step(2, {a, b, out});
    result.launch->extent = 1;
    return result;
  }

  std::vector<int64_t> sizes;
  int64_t numBytes = 4;
  Plan plan;
};

LoadOptions testOptions() {
  LoadOptions options;
  options.pool = std::make_shared<cpu::ThreadPool>(2);
  options.compiler = std::make_shared<FunctionTable>();
  options.poison = true;
  return options;
}

Result<Tensor> noWeights(const std::string &name) {
  return Error{ErrorCode::InvalidArgument, "no weight '" + name + "'"};
}

std::unique_ptr<Executable> load(const PlanBuilder &builder,
                                 const WeightResolver &weights = noWeights) {
  return Executable::load(builder.plan, weights, testOptions()).valueOrThrow();
}

std::vector<float> runOnce(Executable &executable,
                           std::span<const Tensor> inputs) {
  return valuesOf(executable.run(inputs).valueOrThrow().at(0));
}

TEST(Executable, steps_run_over_arena_and_constants) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, b.constant(1), t), b.multiply(t, t, y)};
  auto executable = load(b);
  for (float offset : {0.0f, 10.0f}) {
    Tensor input = floats({2, 3}, {offset, 1, 2, 3, 4, 5});
    EXPECT_THAT(runOnce(*executable, {&input, 1}),
                ElementsAre((offset + 1) * (offset + 1), 4, 9, 16, 25, 36));
  }
}

TEST(Executable, poison_shows_what_was_never_written) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, t, y)};
  auto executable = load(b);
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  for (float value : runOnce(*executable, {&input, 1}))
    EXPECT_TRUE(std::isnan(value));
}

TEST(Executable, inputs_may_have_any_strides) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  auto executable = load(b);
  Tensor input = floats({3, 2}, {0, 3, 1, 4, 2, 5});
  input.sizes = {2, 3};
  input.strides = {1, 2};
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 2, 4, 6, 8, 10));
}

TEST(Executable, outputs_have_the_exported_strides) {
  PlanBuilder b;
  int64_t x = b.input("x"), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, x, t)};
  b.bindOutput(t, {1, 2});
  b.bindOutput(t, {8, 2}); // with gaps
  b.bindOutput(x);         // an input, as it is
  auto executable = load(b);
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(outputs[0].strides, ElementsAre(1, 2));
  EXPECT_THAT(outputs[1].strides, ElementsAre(8, 2));
  EXPECT_THAT(valuesOf(outputs[0]), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(valuesOf(outputs[1]), ElementsAre(0, 2, 4, 6, 8, 10));
  EXPECT_THAT(valuesOf(outputs[2]), ElementsAre(0, 1, 2, 3, 4, 5));
  EXPECT_NE(outputs[2].storage, input.storage);
}

TEST(Executable, outputs_of_two_runs_are_different_memory) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  auto executable = load(b);
  Tensor one = floats({2, 3}, {1, 1, 1, 1, 1, 1});
  Tensor two = floats({2, 3}, {2, 2, 2, 2, 2, 2});
  auto first = executable->run({&one, 1}).valueOrThrow();
  auto second = executable->run({&two, 1}).valueOrThrow();
  EXPECT_EQ(valuesOf(first[0])[0], 2);
  EXPECT_EQ(valuesOf(second[0])[0], 4);
}

TEST(Executable, weights_are_used_in_place_where_they_can_be) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  int64_t w = b.buffer(BufferKind::Weight, "w");
  int64_t v = b.buffer(BufferKind::Weight, "v");
  int64_t t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, w, t), b.add(t, v, y)};
  Tensor dense = floats({2, 3}, {1, 1, 1, 1, 1, 1});
  Tensor strided = floats({3, 2}, {0, 300, 100, 400, 200, 500});
  strided.sizes = {2, 3};
  strided.strides = {1, 2};
  auto executable = load(b, [&](const std::string &name) -> Result<Tensor> {
    return name == "w" ? dense : strided;
  });
  EXPECT_EQ(executable->weightsInfo().totalBytes, 48);
  EXPECT_EQ(executable->weightsInfo().copiedBytes, 24);
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(1, 102, 203, 304, 405, 506));
}

TEST(Executable, weights_of_another_model_are_refused) {
  PlanBuilder b;
  int64_t w = b.buffer(BufferKind::Weight, "w"), y = b.output();
  b.plan.forward.steps = {b.add(w, w, y)};
  auto loaded = Executable::load(
      b.plan,
      [](const std::string &) -> Result<Tensor> {
        return Tensor::empty(DType::Float32, {4, 6});
      },
      testOptions());
  ASSERT_FALSE(loaded.ok());
  EXPECT_EQ(loaded.error().code, ErrorCode::InvalidArgument);
  EXPECT_THAT(loaded.error().render(), HasSubstr("expected f32[2, 3]"));
  EXPECT_THAT(loaded.error().render(), HasSubstr("found f32[4, 6]"));
  auto missing = Executable::load(b.plan, noWeights, testOptions());
  ASSERT_FALSE(missing.ok());
  EXPECT_EQ(missing.error().message, "no weight 'w'");
}

TEST(Executable, prepare_runs_once_and_its_weights_are_released) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output(), p = b.prepared();
  int64_t w = b.buffer(BufferKind::Weight, "w");
  int64_t t = b.arena(b.plan.prepare);
  b.plan.prepare.steps = {b.add(w, w, t), b.multiply(t, t, p)};
  b.plan.forward.steps = {b.add(x, p, y)};
  Tensor weight = floats({2, 3}, {1, 1, 1, 2, 2, 2});
  std::weak_ptr<Storage> storage = weight.storage;
  auto executable = load(b, [&](const std::string &) -> Result<Tensor> {
    return std::move(weight);
  });
  EXPECT_TRUE(storage.expired());
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  for (int i = 0; i < 2; ++i)
    EXPECT_THAT(runOnce(*executable, {&input, 1}),
                ElementsAre(4, 5, 6, 19, 20, 21));
}

TEST(Executable, state_is_a_private_copy_that_is_kept) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  int64_t s = b.buffer(BufferKind::State, "sum");
  int64_t t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, s, t), b.add(s, s, y)};
  b.plan.mutations = {{t, s}};
  Tensor start = floats({2, 3}, {0, 0, 0, 0, 0, 100});
  auto executable =
      load(b, [&](const std::string &) -> Result<Tensor> { return start; });
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 0, 0, 0, 0, 200));
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 2, 4, 6, 8, 210));
  EXPECT_THAT(valuesOf(executable->state("sum").valueOrThrow()),
              ElementsAre(0, 2, 4, 6, 8, 110));
  EXPECT_EQ(valuesOf(start)[5], 100);
  EXPECT_FALSE(executable->state("product").ok());
}

TEST(Executable, state_may_be_updated_in_place) {
  PlanBuilder b;
  int64_t x = b.input("x"), s = b.buffer(BufferKind::State, "sum");
  b.plan.forward.steps = {b.add(x, s, s)};
  b.plan.mutations = {{s, s}};
  b.bindOutput(s);
  auto executable = load(b, [&](const std::string &) -> Result<Tensor> {
    return floats({2, 3}, {0, 0, 0, 0, 0, 100});
  });
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 1, 2, 3, 4, 105));
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 2, 4, 6, 8, 110));
}

TEST(Executable, two_pieces_of_state_may_change_places) {
  PlanBuilder b;
  int64_t s = b.buffer(BufferKind::State, "s");
  int64_t t = b.buffer(BufferKind::State, "t");
  b.plan.mutations = {{s, t}, {t, s}};
  auto executable = load(b, [&](const std::string &name) -> Result<Tensor> {
    float value = name == "s" ? 1 : 2;
    return floats({2, 3}, std::vector<float>(6, value));
  });
  ASSERT_TRUE(executable->run({}).ok());
  EXPECT_EQ(valuesOf(executable->state("s").valueOrThrow())[0], 2);
  EXPECT_EQ(valuesOf(executable->state("t").valueOrThrow())[0], 1);
}

TEST(Executable, mutated_inputs_are_written_back_in_their_own_layout) {
  PlanBuilder b;
  int64_t x = b.input("x"), t = b.arena(b.plan.forward);
  b.plan.forward.steps = {b.add(x, x, t)};
  b.plan.mutations = {{t, x}};
  auto executable = load(b);
  Tensor input = floats({3, 2}, {0, 3, 1, 4, 2, 5});
  input.sizes = {2, 3};
  input.strides = {1, 2};
  ASSERT_TRUE(executable->run({&input, 1}).ok());
  EXPECT_THAT(valuesOf(input), ElementsAre(0, 2, 4, 6, 8, 10));

  static const float constants[6] = {};
  Tensor readOnly{DType::Float32,
                  {2, 3},
                  {3, 1},
                  0,
                  Storage::view(std::as_bytes(std::span(constants)), nullptr)};
  auto result = executable->run({&readOnly, 1});
  ASSERT_FALSE(result.ok());
  EXPECT_THAT(result.error().message, HasSubstr("its memory is read-only"));
}

TEST(Executable, inputs_are_checked) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  auto executable = load(b);
  auto errorOf = [&](std::vector<Tensor> inputs) {
    auto result = executable->run(inputs);
    return result.ok() ? "ok" : result.error().render();
  };
  EXPECT_THAT(errorOf({}), HasSubstr("takes 1 inputs, but 0 were given\n  it "
                                     "takes x: f32[2, 3]"));
  EXPECT_THAT(errorOf({Tensor::empty(DType::Float32, {3, 2})}),
              HasSubstr("input 'x' has shape [3, 2] instead of [2, 3]"));
  EXPECT_THAT(errorOf({Tensor::empty(DType::Int64, {2, 3})}),
              HasSubstr("input 'x' has type int64 instead of float32"));
}

TEST(Executable, cond_runs_the_branch_that_holds) {
  PlanBuilder b;
  int64_t x = b.input("x"), limit = b.input("limit"), y = b.output();
  int64_t p = b.predicate(b.plan.forward);
  Step cond;
  cond.name = "cond";
  cond.control = "cond";
  cond.predicate = p;
  cond.branches = {{b.add(x, x, y)}, {b.multiply(x, x, y)}};
  b.plan.forward.steps = {b.less(x, limit, p), cond};
  auto executable = load(b);
  for (float first : {3.0f, 5.0f}) {
    Tensor inputs[] = {floats({2, 3}, {first, 3, 3, 3, 3, 3}),
                       floats({2, 3}, {4, 4, 4, 4, 4, 4})};
    EXPECT_EQ(runOnce(*executable, inputs)[1], first < 4 ? 6 : 9);
  }
}

TEST(Executable, while_repeats_its_body) {
  PlanBuilder b;
  int64_t x = b.input("x"), limit = b.input("limit");
  int64_t p = b.predicate(b.plan.forward), t = b.arena(b.plan.forward);
  Step loop;
  loop.name = "while";
  loop.control = "while";
  loop.predicate = p;
  loop.branches = {{b.less(t, limit, p)}, {b.add(t, t, t)}};
  b.plan.forward.steps = {b.add(x, b.constant(0), t), loop};
  b.bindOutput(t);
  auto executable = load(b);
  Tensor inputs[] = {floats({2, 3}, {1, 3, 3, 3, 3, 3}),
                     floats({2, 3}, {100, 0, 0, 0, 0, 0})};
  EXPECT_THAT(runOnce(*executable, inputs),
              ElementsAre(128, 384, 384, 384, 384, 384));
  RunOptions options;
  options.profile = true;
  ASSERT_TRUE(executable->run(inputs, options).ok());
  std::vector<StepTime> times = executable->profile();
  ASSERT_EQ(times.size(), 4u); // the first, the loop, its condition, its body
  EXPECT_EQ(times[1].step->name, "while");
  EXPECT_EQ(times[2].numRuns, 8);
  EXPECT_EQ(times[3].numRuns, 7);
  EXPECT_GT(times[1].seconds, 0);
}

TEST(Executable, scratch_is_private_to_a_thread) {
  PlanBuilder b({100, 1000});
  int64_t x = b.input("x"), y = b.output();
  Step step = b.step(3, {x, y});
  step.launch->scratchBytes = 1024;
  step.launch->elementsPerIteration = 256;
  b.plan.forward.steps = {step};
  auto executable = load(b);
  EXPECT_EQ(executable->workspaceBytes(), 2048);
  std::vector<float> values(100000);
  for (size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i);
  Tensor input = floats({100, 1000}, values);
  EXPECT_EQ(runOnce(*executable, {&input, 1}), values);
}

TEST(Executable, empty_tensors_pass_through) {
  PlanBuilder b({0, 3});
  int64_t x = b.input("x"), y = b.output();
  b.plan.forward.steps = {b.add(x, x, y)};
  b.bindOutput(x);
  auto executable = load(b);
  Tensor input = Tensor::empty(DType::Float32, {0, 3});
  auto outputs = executable->run({&input, 1}).valueOrThrow();
  EXPECT_THAT(outputs[0].sizes, ElementsAre(0, 3));
  EXPECT_THAT(outputs[1].sizes, ElementsAre(0, 3));
}

TEST(Executable, plans_for_others_and_broken_plans_are_refused) {
  PlanBuilder b;
  b.plan.target = "sm_90a";
  auto other = Executable::load(b.plan, noWeights, testOptions());
  ASSERT_FALSE(other.ok());
  EXPECT_THAT(other.error().message, HasSubstr("for 'sm_90a'"));
  b.plan.target = "cpu";
  b.plan.forward.steps = {b.add(7, 7, 7)};
  auto broken = Executable::load(b.plan, noWeights, testOptions());
  ASSERT_FALSE(broken.ok());
  EXPECT_THAT(broken.error().message, HasSubstr("buffer is 7"));
}

TEST(Executable, unknown_library_calls_name_the_step) {
  PlanBuilder b;
  Step step;
  step.name = "fft_rfft";
  step.nodes = {"fft_rfft_3"};
  step.library = LibraryCall{"fft", {}, {}, {}};
  b.plan.forward.steps = {step};
  auto loaded = Executable::load(b.plan, noWeights, testOptions());
  ASSERT_FALSE(loaded.ok());
  EXPECT_THAT(loaded.error().render(), HasSubstr("routine 'fft'"));
  EXPECT_THAT(loaded.error().render(), HasSubstr("step 'fft_rfft' of nodes "
                                                 "fft_rfft_3"));
}

TEST(Executable, generated_code_runs) {
  PlanBuilder b;
  int64_t x = b.input("x"), y = b.output();
  b.plan.kernels = {{"square", "llvm", R"(
define void @square(ptr %buffers, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %in = load ptr, ptr %buffers
  %slot = getelementptr ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %slot
  br label %head
head:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %exit
body:
  %from = getelementptr float, ptr %in, i64 %i
  %v = load float, ptr %from
  %w = fmul float %v, %v
  %to = getelementptr float, ptr %out, i64 %i
  store float %w, ptr %to
  %next = add i64 %i, 1
  br label %head
exit:
  ret void
}
)"}};
  b.plan.forward.steps = {b.step(0, {x, y})};
  LoadOptions options = testOptions();
  cpu::CpuJitOptions jitOptions;
  jitOptions.cacheDirectory = "";
  options.compiler = cpu::CpuJit::create(jitOptions).valueOrThrow();
  auto executable = Executable::load(b.plan, noWeights, options).valueOrThrow();
  Tensor input = floats({2, 3}, {0, 1, 2, 3, 4, 5});
  EXPECT_THAT(runOnce(*executable, {&input, 1}),
              ElementsAre(0, 1, 4, 9, 16, 25));
}

} // namespace
