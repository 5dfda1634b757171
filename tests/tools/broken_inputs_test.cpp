// Broken input gives one sentence that says what, where and what to do, and the
// specified exit code; never a crash, never a partial output file.
#include "Options.h"
#include "Session.h"

#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>

using namespace gcompile;
using nlohmann::json;
using ::testing::HasSubstr;

namespace {

std::string modelFile(const std::string &name) {
  return std::string(GCOMPILE_MODELS) + "/" + name;
}

std::string readText(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

class BrokenInputs : public ::testing::Test {
protected:
  void SetUp() override {
    folder = std::filesystem::path(::testing::TempDir()) /
             ::testing::UnitTest::GetInstance()->current_test_info()->name();
    std::filesystem::create_directories(folder);
    options.device = "cpu";
  }
  void TearDown() override { std::filesystem::remove_all(folder); }

  std::string write(const std::string &name, const std::string &text) {
    std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }

  /// mlp's core.json, edited.
  void editMlp(const std::function<void(json &)> &edit) {
    json program = json::parse(readText(modelFile("mlp/core.json")));
    edit(program);
    options.model = write("core.json", program.dump());
    options.weights = modelFile("mlp/model.pt2");
  }
  static json &nodes(json &program) {
    return program["graph_module"]["graph"]["nodes"];
  }

  void useMlp() {
    options.model = modelFile("mlp/model.pt2");
    options.inputs = modelFile("mlp/inputs.safetensors");
  }

  /// The run fails with this code, its message and help hold these words, and
  /// it leaves no output file.
  void expectError(ErrorCode code, const std::vector<std::string> &words) {
    options.outputs = folder / "outputs.safetensors";
    ::testing::internal::CaptureStdout();
    auto status =
        catchErrors<Status>([&] { return tool::runSession(options); });
    ::testing::internal::GetCapturedStdout();
    ASSERT_FALSE(status.ok());
    std::string text = status.error().render();
    EXPECT_EQ(static_cast<int>(status.error().code), static_cast<int>(code))
        << text;
    for (const std::string &word : words)
      EXPECT_THAT(text, HasSubstr(word));
    if (code != ErrorCode::Mismatch) {
      EXPECT_FALSE(std::filesystem::exists(options.outputs));
    }
  }

  tool::Options options;
  std::filesystem::path folder;
};

constexpr auto Invalid = ErrorCode::InvalidArgument;

TEST_F(BrokenInputs, MissingFile) {
  options.model = folder / "nowhere.pt2";
  expectError(Invalid, {"nowhere.pt2", "No such file"});
}

TEST_F(BrokenInputs, EmptyFile) {
  options.model = write("empty.pt2", "");
  expectError(Invalid, {"empty.pt2"});
}

TEST_F(BrokenInputs, FileOfNoKnownFormat) {
  options.model = write("noise.bin", "this is no model\n");
  expectError(Invalid, {"noise.bin"});
}

TEST_F(BrokenInputs, TruncatedArchive) {
  std::string text = readText(modelFile("mlp/model.pt2"));
  options.model = write("half.pt2", text.substr(0, text.size() / 2));
  expectError(Invalid, {"half.pt2"});
}

TEST_F(BrokenInputs, TruncatedJson) {
  std::string text = readText(modelFile("mlp/core.json"));
  options.model = write("half.json", text.substr(0, text.size() / 2));
  expectError(Invalid, {"half.json"});
}

TEST_F(BrokenInputs, WeightsMissing) {
  options.model = modelFile("mlp/core.json");
  expectError(Invalid, {"no data for 6 weights", "net.0.weight", "--weights"});
}

TEST_F(BrokenInputs, WeightsOfAnotherModel) {
  options.model = modelFile("mlp/core.json");
  options.weights = modelFile("simplenet/model.pt2");
  expectError(Invalid, {"no data for", "net.0.weight"});
}

TEST_F(BrokenInputs, WeightsOfAnotherDtype) {
  auto store = frontend::readWeights(modelFile("mlp/model.pt2"));
  ASSERT_TRUE(store.ok());
  auto tensors = store->tensors;
  tensors["net.0.bias"] = Tensor::empty(DType::Float64, {256});
  std::string path = folder / "weights.safetensors";
  ASSERT_TRUE(frontend::writeSafetensors(path, tensors).ok());
  options.model = modelFile("mlp/core.json");
  options.weights = path;
  expectError(Invalid, {"net.0.bias", "f64[256]", "f32[256]"});
}

TEST_F(BrokenInputs, UnknownOperator) {
  editMlp([](json &p) {
    nodes(p)[2]["target"] = "torch.ops.aten.frobnicate.default";
  });
  expectError(ErrorCode::Unsupported,
              {"aten.frobnicate.default", "node '", "--triage"});
}

TEST_F(BrokenInputs, TriageListsAllUnknownOperators) {
  editMlp([](json &p) {
    nodes(p)[0]["target"] = "torch.ops.aten.first.default";
    nodes(p)[2]["target"] = "torch.ops.aten.second.default";
  });
  options.triage = true;
  expectError(ErrorCode::Unsupported,
              {"2 operators are not supported", "aten.first.default",
               "aten.second.default", "export_fixtures.py:65"});
}

TEST_F(BrokenInputs, UnknownSchemaVersion) {
  editMlp([](json &p) { p["schema_version"]["major"] = 99; });
  expectError(ErrorCode::Unsupported, {"schema 99", "export the model"});
}

TEST_F(BrokenInputs, UseBeforeDefinition) {
  editMlp([](json &p) { std::swap(nodes(p)[0], nodes(p)[1]); });
  expectError(Invalid, {"permute"});
}

TEST_F(BrokenInputs, NodeThatReadsItself) {
  editMlp([](json &p) {
    for (json &node : nodes(p))
      if (node["name"] == "gelu")
        node["inputs"][0]["arg"]["as_tensor"]["name"] = "gelu";
  });
  expectError(Invalid, {"gelu"});
}

TEST_F(BrokenInputs, NameDefinedTwice) {
  editMlp([](json &p) { nodes(p)[2]["outputs"] = nodes(p)[0]["outputs"]; });
  expectError(Invalid, {"permute"});
}

TEST_F(BrokenInputs, ArgumentMissing) {
  editMlp([](json &p) {
    for (json &node : nodes(p))
      if (node["name"] == "addmm")
        node["inputs"].erase(2);
  });
  expectError(Invalid, {"'addmm'", "mat2"});
}

TEST_F(BrokenInputs, ArgumentUnknown) {
  editMlp([](json &p) {
    for (json &node : nodes(p))
      if (node["name"] == "addmm")
        node["inputs"][2]["name"] = "matrix";
  });
  expectError(Invalid, {"'addmm'", "'matrix'"});
}

TEST_F(BrokenInputs, ArgumentOfTheWrongKind) {
  editMlp([](json &p) {
    for (json &node : nodes(p))
      if (node["name"] == "permute")
        node["inputs"][1]["arg"] = {{"as_string", "rows"}};
  });
  expectError(Invalid, {"'permute'", "dims", "integers"});
}

TEST_F(BrokenInputs, RecordedShapeDisagrees) {
  editMlp([](json &p) {
    p["graph_module"]["graph"]["tensor_values"]["addmm"]["sizes"][1]["as_int"] =
        255;
  });
  expectError(Invalid, {"'addmm'", "255", "256", "export the model again"});
}

TEST_F(BrokenInputs, InputOfTheWrongShape) {
  useMlp();
  std::string path = folder / "inputs.safetensors";
  std::map<std::string, Tensor> tensors;
  tensors["0"] = Tensor::empty(DType::Float32, {8, 63});
  ASSERT_TRUE(frontend::writeSafetensors(path, tensors).ok());
  options.inputs = path;
  expectError(Invalid, {"'x'", "f32[8, 64]", "f32[8, 63]"});
}

TEST_F(BrokenInputs, InputOfTheWrongDtype) {
  useMlp();
  std::string path = folder / "inputs.safetensors";
  std::map<std::string, Tensor> tensors;
  tensors["x"] = Tensor::empty(DType::Int64, {8, 64});
  ASSERT_TRUE(frontend::writeSafetensors(path, tensors).ok());
  options.inputs = path;
  expectError(Invalid, {"'x'", "wrong dtype", "i64[8, 64]"});
}

TEST_F(BrokenInputs, InputMissing) {
  useMlp();
  std::string path = folder / "inputs.safetensors";
  ASSERT_TRUE(frontend::writeSafetensors(path, {}).ok());
  options.inputs = path;
  expectError(Invalid, {"no tensor for input 0 ('x')"});
}

TEST_F(BrokenInputs, SizeOutsideTheExportedRange) {
  std::string path = folder / "inputs.safetensors";
  std::map<std::string, Tensor> tensors;
  tensors["0"] = Tensor::empty(DType::Float32, {2000, 64});
  ASSERT_TRUE(frontend::writeSafetensors(path, tensors).ok());
  options.model = modelFile("mlp_dynamic/model.pt2");
  options.inputs = path;
  expectError(Invalid, {"2000", "s77", "1024"});
}

TEST_F(BrokenInputs, SafetensorsWithABadHeader) {
  useMlp();
  std::string text = readText(modelFile("mlp/inputs.safetensors"));
  text[9] = '!';
  options.inputs = write("inputs.safetensors", text);
  expectError(Invalid, {"inputs.safetensors"});
}

TEST_F(BrokenInputs, SafetensorsCutShort) {
  useMlp();
  std::string text = readText(modelFile("mlp/inputs.safetensors"));
  options.inputs = write("inputs.safetensors", text.substr(0, text.size() - 7));
  expectError(Invalid, {"inputs.safetensors"});
}

TEST_F(BrokenInputs, OutputsThatDisagree) {
  useMlp();
  std::string path = folder / "expected.safetensors";
  auto expected =
      frontend::readSafetensors(modelFile("mlp/outputs.safetensors"));
  ASSERT_TRUE(expected.ok());
  Tensor wrong = Tensor::empty(DType::Float32, (*expected)["0"].sizes);
  std::memcpy(wrong.mutableData(), (*expected)["0"].data(),
              static_cast<size_t>(wrong.numBytes()));
  reinterpret_cast<float *>(wrong.mutableData())[3 * 32 + 5] += 0.5F;
  ASSERT_TRUE(frontend::writeSafetensors(path, {{"0", wrong}}).ok());
  options.expect = path;
  expectError(ErrorCode::Mismatch, {"1 of 256 elements differ", "[3, 5]"});
}

TEST_F(BrokenInputs, ExpectedOutputThatDoesNotExist) {
  useMlp();
  std::string path = folder / "expected.safetensors";
  std::map<std::string, Tensor> tensors;
  tensors["7"] = Tensor::empty(DType::Float32, {1});
  ASSERT_TRUE(frontend::writeSafetensors(path, tensors).ok());
  options.expect = path;
  expectError(ErrorCode::Mismatch, {"output '7' does not exist"});
}

TEST(CommandLine, UnknownOptionIsExitCodeTwo) {
  const char *argv[] = {"gcompile", "model.pt2", "--frobnicate"};
  int exitCode = 0;
  EXPECT_FALSE(tool::parseCommandLine(3, const_cast<char **>(argv), exitCode));
  EXPECT_EQ(exitCode, 2);
}

TEST(CommandLine, UnknownModeIsExitCodeTwo) {
  const char *argv[] = {"gcompile", "model.pt2", "--mode", "fastest"};
  int exitCode = 0;
  EXPECT_FALSE(tool::parseCommandLine(4, const_cast<char **>(argv), exitCode));
  EXPECT_EQ(exitCode, 2);
}

} // namespace
