// Archives that PyTorch does not write, or only in special cases, made from
// recorded ones by changing records.
#include "Detect.h"
#include "TestFiles.h"
#include "ZipReader.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <map>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

const std::string kData = GCOMPILE_TEST_DATA "/frontend/";

class Pt2Archive : public testing::Test {
protected:
  /// Loads a recorded archive for changes.
  void load(const std::string &name) {
    std::string bytes = readFile(kData + name);
    auto owner = std::make_shared<std::string>(std::move(bytes));
    ZipReader zip({std::as_bytes(std::span(*owner)), owner}, name);
    records.clear();
    for (const auto &[record, entry] : zip.records())
      records[record] = asText(entry.stored);
    root =
        name.ends_with("2.11.pt2") ? name.substr(0, name.size() - 4) + "/" : "";
  }
  void replace(const std::string &record, const std::string &from,
               const std::string &to) {
    std::string &content = records.at(root + record);
    size_t at = content.find(from);
    ASSERT_NE(at, content.npos) << record << " has no " << from;
    content.replace(at, from.size(), to);
  }
  std::string save() {
    ZipBuilder zip;
    for (const auto &[record, content] : records)
      zip.add(record, content);
    return folder.write("t.pt2", zip.finish());
  }
  Model read(const ReadOptions &options = {}) {
    auto model = readModel(save(), options);
    if (!model.ok()) {
      ADD_FAILURE() << model.error().render();
      return {};
    }
    return std::move(*model);
  }
  Error errorOf(const ReadOptions &options = {}) {
    auto model = readModel(save(), options);
    if (model.ok()) {
      ADD_FAILURE() << "was read";
      return {};
    }
    return model.error();
  }

  TempFolder folder;
  std::map<std::string, std::string> records;
  std::string root;
  const std::string weightsTable = "data/weights/model_weights_config.json";
};

TEST_F(Pt2Archive, wants_the_chosen_model) {
  load("cond.torch2.11.pt2");
  EXPECT_EQ(read({.model = "model"}).program.graph.nodes.size(), 1u);
  EXPECT_THAT(errorOf({.model = "other"}).message,
              HasSubstr("no model 'other', but model"));
  records[root + "models/other.json"] = records.at(root + "models/model.json");
  EXPECT_THAT(errorOf().message,
              HasSubstr("the archive has 2 models: model, other"));
  EXPECT_EQ(read({.model = "other"}).program.graph.nodes.size(), 1u);
  records.erase(root + "models/model.json");
  records.erase(root + "models/other.json");
  EXPECT_THAT(errorOf().message, HasSubstr("the archive has no model"));
}

TEST_F(Pt2Archive, refuses_what_it_does_not_know) {
  load("cond.torch2.11.pt2");
  records[root + "archive_version"] = "1";
  Error error = errorOf();
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, HasSubstr("unknown archive version '1'"));

  load("cond.torch2.11.pt2");
  records[root + "byteorder"] = "big";
  EXPECT_THAT(errorOf().message, HasSubstr("big-endian"));

  load("cond.torch2.11.pt2");
  records[root + "archive_format"] = "pt3";
  EXPECT_THAT(errorOf().message, HasSubstr("a zip archive, but not a .pt2"));
}

TEST_F(Pt2Archive, reads_records_that_were_compressed_again) {
  load("mlp.torch2.11.pt2");
  ZipBuilder zip;
  for (const auto &[name, content] : records)
    zip.addDeflated(name, content);
  auto model = readModel(folder.write("t.pt2", zip.finish()));
  ASSERT_TRUE(model.ok()) << model.error().render();
  EXPECT_EQ(model->weights.tensors.size(), 4u);
}

TEST_F(Pt2Archive, names_weights_without_data) {
  load("mlp.torch2.11.pt2");
  records[root + "data/weights/weight_0"] = "";
  Model model = read();
  EXPECT_EQ(model.weights.absent.at("layers.0.weight"),
            "exported from fake tensors, without data");

  load("mlp.torch2.11.pt2");
  replace(weightsTable, "\"layers.0.bias\"", "\"elsewhere\"");
  model = read();
  EXPECT_EQ(model.weights.absent.at("layers.0.bias"), "not in the archive");

  load("mlp.torch2.11.pt2");
  replace(
      "data/constants/model_constants_config.json", "{}",
      R"({"obj": {"path_name": "custom_obj_0", "is_param": false, "use_pickle": true, "tensor_meta": null}})");
  model = read();
  EXPECT_THAT(model.weights.absent.at("obj"), HasSubstr("a script object"));
}

TEST_F(Pt2Archive, reads_weights_that_are_files_of_their_own) {
  load("mlp.torch2.11.pt2");
  // A torch.save of one tensor, as for tensor subclasses.
  using namespace std::string_literals;
  std::string pickle = "\x80\x02"s + "ctorch._utils\n_rebuild_tensor_v2\n(("s +
                       "U\x07storagectorch\nFloatStorage\nU\x01"s + "0U\x03"s +
                       "cpuK\x05tQK\0K\x05\x85K\x01\x85\x89"s +
                       "ccollections\nOrderedDict\n)RtR."s;
  records[root + "data/weights/weight_1"] =
      ZipBuilder()
          .add("archive/data.pkl", pickle)
          .add("archive/data/0", records.at(root + "data/weights/weight_1"))
          .finish();
  replace(weightsTable,
          R"("path_name": "weight_1", "is_param": true, "use_pickle": false)",
          R"("path_name": "weight_1", "is_param": true, "use_pickle": true)");
  Model model = read();
  auto expected = readSafetensors(kData + "mlp.weights.safetensors");
  ASSERT_TRUE(expected.ok());
  const Tensor &bias = model.weights.tensors.at("layers.0.bias");
  EXPECT_THAT(bias.as<float>(), testing::ElementsAreArray(
                                    expected->at("layers.0.bias").as<float>()));
}

TEST_F(Pt2Archive, rejects_weights_that_do_not_fit) {
  load("mlp.torch2.11.pt2");
  records[root + "data/weights/weight_0"].resize(119);
  EXPECT_THAT(errorOf().message,
              HasSubstr("config.layers.0.weight: needs 120 bytes of storage "
                        "but only 119"));

  load("mlp.torch2.11.pt2");
  replace(weightsTable, R"("sizes": [{"as_int": 5}, {"as_int": 6}])",
          R"("sizes": [{"as_int": 6}, {"as_int": 5}])");
  replace(weightsTable, R"("strides": [{"as_int": 6}, {"as_int": 1}])",
          R"("strides": [{"as_int": 5}, {"as_int": 1}])");
  EXPECT_THAT(
      errorOf().message,
      HasSubstr("weight 'layers.0.weight' is f32[6, 5], but the program "
                "expects f32[5, 6]"));

  load("mlp.torch2.11.pt2");
  records.erase(root + "data/weights/weight_0");
  EXPECT_THAT(errorOf().message,
              HasSubstr("data/weights/weight_0' is missing"));

  load("mlp.torch2.11.pt2");
  replace(weightsTable, "\"weight_0\"", "\"../weight_0\"");
  EXPECT_THAT(errorOf().message, HasSubstr("the name of one record"));

  load("mlp.torch2.11.pt2");
  replace(weightsTable, R"({"as_int": 6})",
          R"j({"as_expr": {"expr_str": "Symbol('s0')"}})j");
  EXPECT_THAT(errorOf().message, HasSubstr("a weight of symbolic size"));
}

TEST_F(Pt2Archive, explains_weights_that_lost_their_gaps) {
  load("mlp.torch2.11.pt2");
  // Columns of a wider weight on a GPU: the strides are those of the original.
  replace(weightsTable, R"("strides": [{"as_int": 6}, {"as_int": 1}])",
          R"("strides": [{"as_int": 12}, {"as_int": 1}])");
  Error error = errorOf();
  EXPECT_THAT(error.message, HasSubstr("needs 216 bytes of storage"));
  EXPECT_THAT(error.help, HasSubstr("export the model on the CPU"));
}

TEST_F(Pt2Archive, ignores_example_inputs_that_it_cannot_read) {
  load("mlp.torch2.11.pt2");
  records[root + "data/sample_inputs/model.pt"] = "not an archive";
  EXPECT_TRUE(read().exampleInputs.empty());
  records[root + "data/sample_inputs/model.pt"] = "";
  EXPECT_TRUE(read().exampleInputs.empty());
}

TEST_F(Pt2Archive, reads_a_program_without_weights_of_layout_a) {
  load("cond.torch2.6.pt2");
  records["serialized_state_dict.pt"] = "";
  records["serialized_constants.pt"] = "";
  records["serialized_example_inputs.pt"] = "";
  EXPECT_TRUE(read().weights.tensors.empty());
  records.erase("serialized_state_dict.pt");
  EXPECT_TRUE(read().weights.tensors.empty());
}

TEST_F(Pt2Archive, rejects_weights_in_two_places) {
  load("net.torch2.6.pt2");
  records["serialized_constants.pt"] = records.at("serialized_state_dict.pt");
  EXPECT_THAT(errorOf().message, HasSubstr("is both a weight and a constant"));
}

TEST(ReadModel, says_what_else_a_file_is) {
  TempFolder folder;
  auto errorOf = [&](const std::string &path) {
    auto model = readModel(path);
    return model.ok() ? "" : model.error().message;
  };
  EXPECT_THAT(errorOf(kData + "net.torch2.6.state_dict.pt"),
              HasSubstr("a torch.save file, which holds weights"));
  EXPECT_THAT(errorOf(kData + "net.weights.safetensors"),
              HasSubstr("a safetensors file, which holds weights"));
  EXPECT_THAT(errorOf(folder.write("p", "\x80\x02N.")), HasSubstr("a pickle"));
  EXPECT_THAT(errorOf(folder.write("b", std::string(100, '\0'))),
              HasSubstr("not a model in a format that gcompile knows"));
  EXPECT_THAT(errorOf(folder.write("j", "{\"a\": 1}")),
              HasSubstr("JSON, but not of a program"));
  EXPECT_THAT(errorOf(folder.path().string()), HasSubstr("Is a directory"));
}

TEST(ReadWeights, follows_a_sharded_index) {
  TempFolder folder;
  auto shard = [&](const std::string &name, float value) {
    Tensor tensor = Tensor::empty(DType::Float32, {});
    *reinterpret_cast<float *>(tensor.mutableData()) = value;
    ASSERT_TRUE(writeSafetensors((folder.path() / (name + ".safetensors")),
                                 {{name, tensor}})
                    .ok());
  };
  shard("a", 1);
  shard("b", 2);
  auto read = [&](const std::string &map) {
    return readWeights(
        folder.write("model.safetensors.index.json",
                     "{\"metadata\": {}, \"weight_map\": " + map + "}"));
  };
  auto weights = read(R"({"a": "a.safetensors", "b": "b.safetensors"})");
  ASSERT_TRUE(weights.ok()) << weights.error().render();
  EXPECT_THAT(weights->tensors.at("b").as<float>(), ElementsAre(2));
  EXPECT_THAT(read(R"({"c": "a.safetensors"})").error().message,
              HasSubstr("'a.safetensors' has no such tensor"));
  EXPECT_THAT(read(R"({"a": "../a.safetensors"})").error().message,
              HasSubstr("a file in the same folder"));
  EXPECT_THAT(read(R"({"a": "x.safetensors"})").error().message,
              HasSubstr("No such file"));
}

} // namespace
