// Samples of PyTorch's operator database, exported as Core ATen programs: each
// gives what PyTorch gave, or is refused for the reason listed here.
#include "Compare.h"
#include "Compiler.h"

#include "gcompile/cpu/CpuJit.h"
#include "gcompile/executor/Executable.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>

using namespace gcompile;
using nlohmann::json;

namespace {

/// Operators with samples that are refused, and a word of the reason.
const std::map<std::string, std::string> kRefused = {
    {"argwhere", "depends on data"},
    {"bincount", "depends on data"},
    {"combinations", "depends on data"},
    {"masked_select", "depends on data"},
    {"matrix_exp", "linalg_matrix_exp"},
    {"nonzero", "depends on data"},
    {"norm.nuc", "_linalg_svd"},
    {"tensor_split", "depends on data"},
    {"unique", "depends on data"},
    {"unique_consecutive", "depends on data"},
};

/// Operators whose outputs, or all after the first ones, are random or
/// undefined memory; how many are defined.
const std::map<std::string, size_t> kDefinedOutputs = {
    {"new_empty", 0},
    {"new_empty_strided", 0},
    {"nn.functional.alpha_dropout", 0},
    {"torch.ops.aten._efficient_attention_forward", 2},
};

class Operators : public ::testing::TestWithParam<int> {
protected:
  static void SetUpTestSuite() {
    cpu::CpuJitOptions options;
    options.cacheDirectory = "";
    load.compiler = cpu::CpuJit::create(options).value();
    load.pool = std::make_shared<cpu::ThreadPool>(2);
    load.poison = true;
  }
  static void TearDownTestSuite() { load = {}; }

  static Tensor writableCopy(const Tensor &tensor) {
    Tensor contiguous = tensor.contiguous();
    Tensor copy = Tensor::empty(tensor.dtype, tensor.sizes);
    if (copy.numBytes() > 0)
      std::memcpy(copy.mutableData(), contiguous.data(), copy.numBytes());
    return copy;
  }

  /// Outputs of a program, or why there are none.
  static Result<std::vector<Tensor>> run(const json &program,
                                         std::vector<Tensor> inputs) {
    std::string path = std::filesystem::path(::testing::TempDir()) /
                       ("operator" + std::to_string(GetParam()) + ".json");
    std::ofstream(path) << program.dump();
    auto model = frontend::readModel(path);
    std::filesystem::remove(path);
    if (!model)
      return model.error();
    tool::Progress progress;
    tool::CompileRequest request;
    request.model = &*model;
    auto compiled = tool::compileProgram(request, progress);
    if (!compiled)
      return compiled.error();
    auto noWeights = [](const std::string &name) -> Result<Tensor> {
      return Error{ErrorCode::Internal, "weight " + name};
    };
    auto executable =
        Executable::load(std::move(compiled->plan), noWeights, load);
    if (!executable)
      return executable.error();
    return (*executable)->run(inputs);
  }

  static LoadOptions load;
};
LoadOptions Operators::load;

constexpr int kParts = 4;

TEST_P(Operators, AgreeWithPyTorch) {
  std::vector<std::filesystem::path> files;
  for (const auto &entry : std::filesystem::directory_iterator(GCOMPILE_OPS))
    if (entry.path().extension() == ".json")
      files.push_back(entry.path());
  ASSERT_FALSE(files.empty());
  std::sort(files.begin(), files.end());

  int numAgreed = 0;
  for (size_t i = GetParam(); i < files.size(); i += kParts) {
    std::string name = files[i].stem();
    json cases = json::parse(std::ifstream(files[i]))["cases"];
    auto tensors =
        frontend::readSafetensors(files[i].replace_extension(".safetensors"));
    ASSERT_TRUE(tensors) << name;
    for (size_t sample = 0; sample < cases.size(); ++sample) {
      SCOPED_TRACE(name + ", sample " + std::to_string(sample));
      std::string prefix = std::to_string(sample);
      std::vector<Tensor> inputs;
      for (int j = 0; j < cases[sample]["n_in"]; ++j)
        inputs.push_back(
            writableCopy(tensors->at(prefix + ".in." + std::to_string(j))));
      auto outputs = run(cases[sample]["program"], inputs);
      if (!outputs) {
        auto refused = kRefused.find(name);
        ASSERT_NE(refused, kRefused.end()) << outputs.error().render();
        EXPECT_EQ(outputs.error().code, ErrorCode::Unsupported);
        EXPECT_THAT(outputs.error().render(),
                    ::testing::HasSubstr(refused->second));
        continue;
      }
      auto defined = kDefinedOutputs.find(name);
      size_t numDefined =
          defined == kDefinedOutputs.end() ? outputs->size() : defined->second;
      for (size_t j = 0; j < numDefined; ++j) {
        auto expected = tensors->find(prefix + ".out." + std::to_string(j));
        if (expected == tensors->end()) // not a tensor
          continue;
        EXPECT_EQ(
            tool::compareTensors((*outputs)[j], expected->second, {}).message,
            "")
            << "output " << j;
      }
      ++numAgreed;
    }
  }
  RecordProperty("samples", numAgreed);
}

INSTANTIATE_TEST_SUITE_P(Parts, Operators, ::testing::Range(0, kParts));

} // namespace
