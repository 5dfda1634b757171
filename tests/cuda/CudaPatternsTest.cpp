// Fused patterns at odd shapes: the kernels that are emitted for a GPU, run on
// the CPU from their very source, against float64.
#include "Compare.h"
#include "CpuPlanRunner.h"
#include "CudaPlanTesting.h"

#include "gcompile/cpu/CpuJit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <unistd.h>

using namespace gcompile;
using namespace gcompile::testing;

namespace {

using Sizes = std::vector<int64_t>;

/// A type as FX text writes it.
std::string annotation(const std::string &dtype, const Sizes &sizes) {
  return fmt::format("\"{}[{}][{}]cuda:0\"", dtype, fmt::join(sizes, ", "),
                     fmt::join(contiguousStrides(sizes), ", "));
}

struct Pattern {
  std::string name, dtype;
  /// Types of x, y, z, …: shapes, with the dtype in front where it is another.
  std::vector<std::pair<std::string, Sizes>> inputs;
  std::vector<std::string> statements;
  std::string results;
  /// What the kernels' comments have to say: the schedule that is tested.
  std::string schedule;
};

void PrintTo(const Pattern &pattern, std::ostream *os) {
  *os << pattern.name << " " << pattern.dtype;
}

class CudaPatterns : public ::testing::TestWithParam<Pattern> {
protected:
  static void SetUpTestSuite() { jit = cpu::CpuJit::create().valueOrThrow(); }
  static void TearDownTestSuite() { jit = nullptr; }

  static frontend::Model read(const Pattern &pattern) {
    std::string arguments;
    for (size_t i = 0; i < pattern.inputs.size(); ++i) {
      const auto &[dtype, sizes] = pattern.inputs[i];
      arguments +=
          fmt::format(", {}: {}", std::string(1, "xyzuvw"[i]),
                      annotation(dtype.empty() ? pattern.dtype : dtype, sizes));
    }
    std::string path =
        std::filesystem::path(::testing::TempDir()) /
        fmt::format("pattern-{}-{}.fx.txt", pattern.name, ::getpid());
    std::ofstream file(path);
    file << "class GraphModule(torch.nn.Module):\n    def forward(self"
         << arguments << "):\n";
    for (const std::string &statement : pattern.statements)
      file << "        " << statement << "\n";
    file << "        return (" << pattern.results << ",)\n";
    file.close();
    frontend::Model model = frontend::readModel(path).valueOrThrow();
    std::filesystem::remove(path);
    frontend::resolveSignature(model.program, model.weights, nullptr).orThrow();
    return model;
  }

  static std::vector<Tensor> evaluate(const frontend::Model &model,
                                      const std::vector<Tensor> &inputs) {
    std::vector<Tensor> wide;
    for (const Tensor &input : inputs)
      wide.push_back(isFloatingPoint(input.dtype) ? tool::toFloat64(input)
                                                  : input);
    LoadOptions options;
    options.pool = std::make_shared<cpu::ThreadPool>(1);
    options.compiler = jit;
    auto executable =
        Executable::load(planOf(model, inputs, TargetDevice::Cpu, true),
                         resolverOf(model.weights), options)
            .valueOrThrow();
    return executable->run(wide).valueOrThrow();
  }

  static std::shared_ptr<cpu::CpuJit> jit;
};
std::shared_ptr<cpu::CpuJit> CudaPatterns::jit;

TEST_P(CudaPatterns, agree_with_float64) {
  frontend::Model model = read(GetParam());
  std::vector<Tensor> inputs;
  for (const tool::UserInput &input : tool::userInputs(model.program)) {
    Sizes sizes;
    for (const frontend::SymInt &size : input.sizes)
      sizes.push_back(size.value);
    inputs.push_back(
        tool::randomTensor(input.dtype, sizes, 1, input.placeholder));
  }
  plan::Plan plan = planOf(model, inputs, TargetDevice::Cuda);
  std::string comments;
  for (const plan::Kernel &kernel : plan.kernels)
    for (size_t at = 0; kernel.source.compare(at, 3, "// ") == 0;
         at = kernel.source.find('\n', at) + 1)
      comments +=
          kernel.source.substr(at, kernel.source.find('\n', at) - at) + "\n";
  EXPECT_NE(comments.find(GetParam().schedule), std::string::npos) << comments;
  auto outputs = runCudaPlan(plan, inputs, resolverOf(model.weights));
  ASSERT_TRUE(outputs) << outputs.error().render();
  std::vector<Tensor> expected = evaluate(model, inputs);
  ASSERT_EQ(outputs->size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_EQ(tool::compareTensors((*outputs)[i], expected[i], {}).message, "")
        << "output " << i;
}

//===----------------------------------------------------------------------===//
// Patterns
//===----------------------------------------------------------------------===//

Pattern addLayerNorm(const std::string &dtype, int64_t rows, int64_t width,
                     const std::string &schedule) {
  return {
      "add_layer_norm",
      dtype,
      {{"", {rows, width}}, {"", {rows, width}}, {"", {width}}, {"", {width}}},
      {"add = torch.ops.aten.add.Tensor(x, y)",
       fmt::format("norm = torch.ops.aten.native_layer_norm.default(add, "
                   "[{}], z, u, 1e-05)",
                   width),
       "result = norm[0]"},
      "result",
      schedule};
}

Pattern softmax(const std::string &dtype, const Sizes &sizes, int64_t dim,
                const std::string &schedule) {
  return {"softmax",
          dtype,
          {{"", sizes}},
          {fmt::format("result = torch.ops.aten._softmax.default(x, {}, False)",
                       dim)},
          "result",
          schedule};
}

Pattern rmsNorm(const std::string &dtype, int64_t rows, int64_t width,
                const std::string &schedule) {
  return {"rms_norm",
          dtype,
          {{"", {rows, width}}, {"", {width}}},
          {fmt::format("result = torch.ops.aten.rms_norm.default(x, [{}], y)",
                       width)},
          "result",
          schedule};
}

Pattern biasGelu(const std::string &dtype, int64_t rows, int64_t width,
                 const std::string &schedule) {
  return {"bias_gelu",
          dtype,
          {{"", {rows, width}}, {"", {width}}},
          {"add = torch.ops.aten.add.Tensor(x, y)",
           "result = torch.ops.aten.gelu.default(add)"},
          "result",
          schedule};
}

Pattern sum(const std::string &dtype, const Sizes &sizes,
            const std::string &dims, const std::string &schedule) {
  return {"sum",
          dtype,
          {{"", sizes}},
          {"result = torch.ops.aten.sum.dim_IntList(x, " + dims + ")"},
          "result",
          schedule};
}

INSTANTIATE_TEST_SUITE_P(
    Rows, CudaPatterns,
    ::testing::Values(addLayerNorm("bf16", 3, 768, "rows, 8 elements"),
                      addLayerNorm("f32", 5, 4096, "rows, 4 elements"),
                      softmax("bf16", {3, 4096}, 1, "rows, 8 elements"),
                      rmsNorm("f32", 7, 768, "rows, 4 elements"),
                      sum("f32", {999, 64, 7}, "[0, 1, 2]", "rows")));
INSTANTIATE_TEST_SUITE_P(
    Columns, CudaPatterns,
    ::testing::Values(sum("bf16", {1025, 72}, "[0]", "columns"),
                      sum("f32", {999, 77}, "[0]", "columns"),
                      softmax("f32", {100, 33}, 0, "columns")));
INSTANTIATE_TEST_SUITE_P(Pointwise, CudaPatterns,
                         ::testing::Values(biasGelu("bf16", 64, 768,
                                                    "pointwise")));

} // namespace
