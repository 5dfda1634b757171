#include "gcompile/plan/Plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::plan;
using nlohmann::json;
using testing::HasSubstr;

namespace {

Step launchStep(std::string name, std::vector<int64_t> arguments) {
  Step step;
  step.name = std::move(name);
  step.launch = Launch{0, std::move(arguments), 6, 2, 128};
  return step;
}

/// Every kind of buffer and step once.
Plan examplePlan() {
  Plan plan;
  plan.target = "cpu";
  plan.modelName = "example";
  auto add = [&](Buffer buffer) { plan.buffers.push_back(std::move(buffer)); };
  add({"x", BufferKind::Input, DType::Float32, {2, 3}, 24, 0});
  add({"y", BufferKind::Output, DType::Float32, {2, 3}, 24, 0});
  add({"w", BufferKind::Weight, DType::Float32, {3, 3}, 36, -1, "fc.weight"});
  add({"s", BufferKind::State, DType::Float32, {2, 3}, 24, -1, "running"});
  add({"c",
       BufferKind::Constant,
       DType::UInt8,
       {5},
       5,
       -1,
       "",
       -1,
       {0, 1, 254, 255, 7}});
  add({"p", BufferKind::Prepared, DType::Float32, {3, 3}, 36, -1, "", 64});
  add({"t",
       BufferKind::Arena,
       DType::Float32,
       {2, 3},
       24,
       -1,
       "",
       0,
       {},
       0,
       2});
  add({"b", BufferKind::Arena, DType::Bool, {}, 1, -1, "", 64, {}, 0, 2});
  plan.kernels.push_back({"k", "llvm", "define void @k() {\n ret void\n}\n"});

  plan.prepare = {{launchStep("transpose", {2, 5})}, 0, 0};
  plan.preparedBytes = 128;

  Step matmul = launchStep("linear", {6, 6});
  matmul.nodes = {"linear", "relu"};
  matmul.reason = "relu reads linear";
  matmul.library = LibraryCall{"matmul",
                               {{"scale", 0.1}},
                               {{0, DType::Float32, {2, 3}, {3, 1}, 0},
                                {5, DType::Float32, {3, 3}, {1, 3}, 0}},
                               {{6, DType::Float32, {2, 3}, {-3, 1}, 3}}};
  matmul.floorBytes = 84;
  matmul.floorFlops = 36;
  Step cond;
  cond.name = "cond";
  cond.control = "cond";
  cond.predicate = 7;
  cond.branches = {{launchStep("then", {6, 1})}, {}};
  plan.forward = {{matmul, cond}, 128, 65};
  plan.inputs = {{"x", 0, DType::Float32, {2, 3}},
                 {"unused", -1, DType::Int64, {}}};
  plan.outputs = {{"0", 1, DType::Float32, {2, 3}, {1, 2}}};
  plan.mutations = {{6, 3}};
  return plan;
}

std::string checkMessage(const Plan &plan) {
  Status status = checkPlan(plan);
  return status.ok() ? "ok" : status.error().message;
}

TEST(Plan, json_round_trip_keeps_everything) {
  json document = toJson(examplePlan());
  Result<Plan> plan = fromJson(json::parse(document.dump()));
  ASSERT_TRUE(plan.ok()) << plan.error().render();
  EXPECT_EQ(toJson(*plan).dump(), document.dump());
  EXPECT_EQ(plan->buffers[4].data, (std::vector<uint8_t>{0, 1, 254, 255, 7}));
  EXPECT_EQ(plan->buffers[6].liveEnd, 2);
  EXPECT_EQ(plan->forward.steps[0].launch->elementsPerIteration, 2);
  EXPECT_EQ(plan->forward.steps[0].library->outputs[0].strides[0], -3);
  EXPECT_EQ(plan->forward.steps[1].branches[0][0].name, "then");
}

/// The example for a GPU: every launch says how many threads it has.
Plan exampleCudaPlan() {
  Plan plan = examplePlan();
  plan.target = "cuda";
  plan.prepare.steps[0].launch->blockThreads = 32;
  plan.forward.steps[1].branches[0][0].launch->blockThreads = 1024;
  Step &step = plan.forward.steps[0];
  step.launch = Launch{0, {6, 6}};
  step.launch->grid = {2147483647, 65535, 3};
  step.launch->blockThreads = 256;
  step.launch->sharedBytes = 4096;
  return plan;
}

TEST(Plan, json_keeps_what_a_cuda_launch_needs) {
  json document = toJson(exampleCudaPlan());
  Result<Plan> plan = fromJson(json::parse(document.dump()));
  ASSERT_TRUE(plan.ok()) << plan.error().render();
  EXPECT_EQ(toJson(*plan).dump(), document.dump());
  const Launch &launch = *plan->forward.steps[0].launch;
  EXPECT_EQ(launch.grid, (std::array<int64_t, 3>{2147483647, 65535, 3}));
  EXPECT_EQ(launch.blockThreads, 256);
  EXPECT_EQ(launch.sharedBytes, 4096);
  EXPECT_EQ(plan->prepare.steps[0].launch->grid,
            (std::array<int64_t, 3>{1, 1, 1}));

  document["forward"]["steps"][0]["launch"]["grid"] = {1, 2};
  EXPECT_EQ(fromJson(document).error().message,
            "plan: forward.steps[0].launch.grid is not three integers");
}

TEST(Plan, check_refuses_launches_that_no_gpu_takes) {
  auto messageAfter = [](auto &&change) {
    Plan plan = exampleCudaPlan();
    change(*plan.forward.steps[0].launch);
    return checkMessage(plan);
  };
  EXPECT_EQ(messageAfter([](Launch &) {}), "ok");
  EXPECT_EQ(messageAfter([](Launch &l) { l.grid = {0, 1, 1}; }), "ok");
  EXPECT_THAT(messageAfter([](Launch &l) { l.grid[1] = 65536; }),
              HasSubstr("a grid of [2147483647, 65536, 3] blocks"));
  EXPECT_THAT(messageAfter([](Launch &l) { l.grid[0] = -1; }),
              HasSubstr("a grid of [-1, 65535, 3] blocks"));
  EXPECT_THAT(messageAfter([](Launch &l) { l.blockThreads = 0; }),
              HasSubstr("blocks of 0 threads"));
  EXPECT_THAT(messageAfter([](Launch &l) { l.blockThreads = 1025; }),
              HasSubstr("blocks of 1025 threads"));
  EXPECT_THAT(messageAfter([](Launch &l) { l.sharedBytes = -4; }),
              HasSubstr("-4 bytes of shared memory"));
}

TEST(Plan, base64_keeps_every_length) {
  for (size_t n = 0; n < 9; ++n) {
    Plan plan;
    Buffer buffer{
        "c", BufferKind::Constant, DType::UInt8, {int64_t(n)}, int64_t(n)};
    for (size_t i = 0; i < n; ++i)
      buffer.data.push_back(static_cast<uint8_t>(37 * i + 200));
    plan.buffers.push_back(buffer);
    Result<Plan> read = fromJson(toJson(plan));
    ASSERT_TRUE(read.ok()) << read.error().render();
    EXPECT_EQ(read->buffers[0].data, buffer.data);
  }
}

TEST(Plan, steps_of_branches_count) {
  EXPECT_EQ(countSteps(examplePlan().forward.steps), 3);
}

TEST(Plan, reading_names_the_field_that_is_wrong) {
  const json good = toJson(examplePlan());
  auto messageAfter = [&](const std::string &pointer, const json &value) {
    json document = good;
    document[json::json_pointer(pointer)] = value;
    Result<Plan> plan = fromJson(document);
    return plan.ok() ? "ok" : plan.error().message;
  };
  EXPECT_EQ(messageAfter("/version", 99),
            "plan: version 99, but this gcompile reads 1");
  EXPECT_EQ(messageAfter("/buffers/0/dtype", "float33"),
            "plan: buffers[0].dtype is not an element type");
  EXPECT_EQ(messageAfter("/buffers/0/kind", "heap"),
            "plan: buffers[0].kind is not a kind of buffer");
  EXPECT_EQ(messageAfter("/buffers/4/data", "a?=="),
            "plan: buffers[4].data is not base64");
  EXPECT_EQ(messageAfter("/forward/steps/0/launch/extent", 1.5),
            "plan: forward.steps[0].launch.extent is not an integer");
  EXPECT_EQ(messageAfter("/forward/steps/0/launch/extent",
                         std::numeric_limits<uint64_t>::max()),
            "plan: forward.steps[0].launch.extent is not a 64-bit integer");
  EXPECT_EQ(messageAfter("/inputs", 3), "plan: inputs is not a list");
  json missing = good;
  missing["forward"].erase("steps");
  EXPECT_EQ(fromJson(missing).error().message,
            "plan: forward.steps is missing");
  EXPECT_EQ(fromJson(json(3)).error().message,
            "plan: the document is not an object");
}

TEST(Plan, check_accepts_the_example) {
  EXPECT_EQ(checkMessage(examplePlan()), "ok");
}

TEST(Plan, check_refuses_what_lies_outside) {
  auto messageAfter = [](auto &&change) {
    Plan plan = examplePlan();
    change(plan);
    return checkMessage(plan);
  };
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[0].sizes[0] = 3; }),
              HasSubstr("has 24 bytes, but f32[3, 3] needs 36"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[0].sizes[0] = -1; }),
              HasSubstr("negative size"));
  EXPECT_THAT(
      messageAfter([](Plan &p) { p.buffers[0].sizes = {INT64_MAX / 2, 16}; }),
      HasSubstr("too large"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[4].data.pop_back(); }),
              HasSubstr("4 bytes of data instead of 5"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[5].offset = 96; }),
              HasSubstr("outside the prepared weights"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[6].offset = 105; }),
              HasSubstr("outside the arena"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[6].offset = -1; }),
              HasSubstr("outside the arena"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[0].index = 2; }),
              HasSubstr("input position is 2, but there are 2"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.buffers[1].index = -1; }),
              HasSubstr("output position"));
  auto library = [](Plan &p) -> LibraryCall & {
    return *p.forward.steps[0].library;
  };
  EXPECT_THAT(messageAfter([&](Plan &p) { library(p).inputs[0].buffer = 8; }),
              HasSubstr("buffer is 8, but there are 8"));
  EXPECT_THAT(messageAfter([&](Plan &p) { library(p).inputs[0].offset = 1; }),
              HasSubstr("leaves its 24 bytes"));
  EXPECT_THAT(messageAfter([&](Plan &p) { library(p).outputs[0].offset = 2; }),
              HasSubstr("leaves its 24 bytes"));
  EXPECT_THAT(messageAfter([&](Plan &p) {
                library(p).inputs[0].strides[0] = INT64_MAX;
                library(p).inputs[0].sizes[0] = 4;
              }),
              HasSubstr("leaves its 24 bytes"));
  EXPECT_THAT(
      messageAfter([&](Plan &p) { library(p).inputs[0].strides.pop_back(); }),
      HasSubstr("2 sizes but 1 strides"));
  EXPECT_THAT(
      messageAfter([](Plan &p) { p.forward.steps[0].launch->kernel = 1; }),
      HasSubstr("kernel is 1"));
  EXPECT_THAT(
      messageAfter([](Plan &p) { p.forward.steps[1].branches.pop_back(); }),
      HasSubstr("needs 2 branches, not 1"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.forward.steps[1].predicate = 6; }),
              HasSubstr("predicate is not one bool"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.outputs[0].strides = {-1, 1}; }),
              HasSubstr("impossible strides"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.outputs[0].sizes = {3, 3}; }),
              HasSubstr("output '0' is f32[3, 3]"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.mutations[0].target = 2; }),
              HasSubstr("neither state nor input"));
  EXPECT_THAT(messageAfter([](Plan &p) { p.mutations[0].source = 2; }),
              HasSubstr("24 bytes by 'w' with 36"));
}

} // namespace
