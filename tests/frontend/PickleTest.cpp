#include "Pickle.h"
#include "TestFiles.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::ElementsAre;
using testing::HasSubstr;
using Kind = PickleValue::Kind;

namespace {

// Opcodes by what they do; see the pickle module of Python.
std::string text(const std::string &value) {
  return "X" + bytesOf(static_cast<uint32_t>(value.size())) + value;
}
std::string integer(uint8_t value) { return "K" + bytesOf(value); }
std::string global(const std::string &module, const std::string &name) {
  return "c" + module + "\n" + name + "\n";
}
std::string tuple(const std::string &items) { return "(" + items + "t"; }

/// Storage "0" of 6 floats.
const std::string kStorage =
    tuple(text("storage") + global("torch", "FloatStorage") + text("0") +
          text("cpu") + integer(6)) +
    "Q";
std::string tensor(const std::string &offset, const std::string &size,
                   const std::string &stride, const std::string &more = "") {
  return global("torch._utils", "_rebuild_tensor_v2") +
         tuple(kStorage + offset + tuple(size) + tuple(stride) + "\x89" +
               global("collections", "OrderedDict") + ")R" + more) +
         "R";
}

std::unique_ptr<Pickle> load(const std::string &body) {
  std::string bytes = "\x80\x02" + body;
  return std::make_unique<Pickle>(
      std::as_bytes(std::span(bytes)), "t.pkl",
      [](const std::string &key, std::optional<DType> dtype, int64_t count) {
        EXPECT_EQ(key, "0");
        return Storage::allocate(
            static_cast<size_t>(count * byteWidth(dtype.value())));
      });
}

std::string errorOf(const std::string &body) {
  try {
    load(body);
  } catch (const ErrorException &e) {
    EXPECT_EQ(e.error.code, ErrorCode::InvalidArgument);
    EXPECT_FALSE(e.error.help.empty());
    return e.error.message;
  }
  return "";
}

TEST(Pickle, reads_plain_values) {
  auto pickle = load("}(" + text("i") + "J" + bytesOf<int32_t>(-2) +
                     text("big") + std::string("\x8a\x05") +
                     std::string("\0\0\0\0\xff", 5) + text("f") + "G" +
                     std::string("\x3f\xf8\0\0\0\0\0\0", 8) + text("l") +
                     "](N\x88\x89"
                     "e" +
                     text("t") + integer(1) + integer(2) + "\x86" +
                     text("huge") + "\x8a\x09" + std::string(9, '\x11') + "u.");
  const PickleValue &root = pickle->root();
  ASSERT_TRUE(root.is(Kind::Dict));
  ASSERT_EQ(root.items.size(), 12u);
  EXPECT_EQ(root.items[0]->text, "i");
  EXPECT_EQ(root.items[1]->integer, -2);
  EXPECT_EQ(root.items[3]->integer, -(int64_t{1} << 32));
  EXPECT_EQ(root.items[5]->real, 1.5);
  ASSERT_EQ(root.items[7]->items.size(), 3u);
  EXPECT_TRUE(root.items[7]->items[0]->is(Kind::None));
  EXPECT_EQ(root.items[7]->items[1]->integer, 1);
  EXPECT_TRUE(root.items[9]->is(Kind::Tuple));
  EXPECT_TRUE(root.items[11]->is(Kind::Unsupported));
}

TEST(Pickle, builds_tensors) {
  auto pickle = load(
      tensor(integer(1), integer(2) + integer(2), integer(3) + integer(1)) +
      ".");
  const PickleValue &root = pickle->root();
  ASSERT_TRUE(root.is(Kind::Tensor));
  EXPECT_THAT(root.tensor->sizes, ElementsAre(2, 2));
  EXPECT_THAT(root.tensor->strides, ElementsAre(3, 1));
  EXPECT_EQ(root.tensor->storageOffset, 1);
}

TEST(Pickle, rejects_tensors_outside_their_storage) {
  EXPECT_THAT(errorOf(tensor(integer(1), integer(6), integer(1)) + "."),
              HasSubstr("a tensor needs 28 bytes of storage but only 24"));
  EXPECT_THAT(errorOf(tensor(integer(0), integer(2), "") + "."),
              HasSubstr("1 sizes but 0 strides"));
  EXPECT_THAT(
      errorOf(tensor("J" + bytesOf<int32_t>(-1), integer(2), integer(1)) + "."),
      HasSubstr("negative"));
  std::string huge = "\x8a\x08" + bytesOf<int64_t>(INT64_MAX);
  EXPECT_THAT(errorOf(tensor(integer(0), huge, integer(0)) + "."),
              HasSubstr("overflow"));
  EXPECT_THAT(errorOf(tensor(integer(0), huge, huge) + "."),
              HasSubstr("overflow"));
  EXPECT_THAT(
      errorOf(tensor(integer(0), "J" + bytesOf<int32_t>(1 << 30), integer(0)) +
              "."),
      HasSubstr("is expanded from 24 to 4294967296 bytes"));
}

TEST(Pickle, executes_nothing) {
  for (const char *name : {"system", "popen"}) {
    auto pickle = load(global("os", name) + tuple(text("echo")) + "R.");
    ASSERT_TRUE(pickle->root().is(Kind::Unsupported));
    EXPECT_EQ(pickle->root().text,
              "a Python object of 'os." + std::string(name) + "'");
  }
  // Not even with attributes or items set on it.
  auto pickle = load(global("m", "C") + ")\x81}" + text("x") + "Nsb(" +
                     text("k") + "Nu.");
  EXPECT_TRUE(pickle->root().is(Kind::Unsupported));
  EXPECT_THAT(errorOf("i"), HasSubstr("opcode 0x69 is not allowed"));
  EXPECT_THAT(errorOf("\x82\x01."), HasSubstr("opcode 0x82"));
}

TEST(Pickle, rejects_malformed_streams) {
  EXPECT_THAT(errorOf("N"), HasSubstr("cut off"));
  EXPECT_THAT(errorOf("N.N"), HasSubstr("data after its end"));
  EXPECT_THAT(errorOf("NN."), HasSubstr("more or less than one value"));
  EXPECT_THAT(errorOf("."), HasSubstr("more or less than one value"));
  EXPECT_THAT(errorOf("(N."), HasSubstr("more or less than one value"));
  EXPECT_THAT(errorOf("t."), HasSubstr("there is no mark"));
  EXPECT_THAT(errorOf("N(\x85."), HasSubstr("empty stack"));
  EXPECT_THAT(errorOf("h\x05."), HasSubstr("reads memo 5, which is not set"));
  EXPECT_THAT(errorOf("X" + bytesOf<uint32_t>(UINT32_MAX) + "a"),
              HasSubstr("cut off"));
  EXPECT_THAT(errorOf("NNa."), HasSubstr("not a list"));
  EXPECT_THAT(errorOf("}(Nu."), HasSubstr("a key without a value"));
  EXPECT_THAT(errorOf("]N}b."), HasSubstr("sets attributes"));
  EXPECT_THAT(errorOf("N)R."), HasSubstr("calls what cannot be called"));
  EXPECT_THAT(errorOf("NQ."), HasSubstr("names no storage"));
  EXPECT_THAT(errorOf(global("torch._utils", "_rebuild_tensor_v2") + ")R."),
              HasSubstr("a tensor without a storage"));
  EXPECT_THAT(errorOf("\x80\x09N."), HasSubstr("unknown protocol"));
}

TEST(Pickle, survives_depth_and_cycles) {
  std::string deep(100000, ']');
  auto nested = load(deep + std::string(deep.size() - 1, 'a') + ".");
  EXPECT_EQ(nested->root().items.size(), 1u);
  auto cycle = load("]q\x01h\x01"
                    "a.");
  EXPECT_EQ(cycle->root().items[0], &cycle->root());
}

//===----------------------------------------------------------------------===//
// Whole files
//===----------------------------------------------------------------------===//

const std::string kUnusual = GCOMPILE_TEST_DATA "/frontend/unusual.torch2.8.pt";

TEST(TorchSave, reads_every_kind_of_tensor) {
  auto weights = readWeights(kUnusual);
  ASSERT_TRUE(weights.ok()) << weights.error().render();
  const auto &tensors = weights->tensors;
  EXPECT_EQ(tensors.at("fp8").describe(), "f8e4m3fn[3]");
  EXPECT_THAT(tensors.at("u16").as<uint16_t>(), ElementsAre(1, 65535));
  EXPECT_EQ(tensors.at("bf16").describe(), "bf16[2]");
  EXPECT_THAT(tensors.at("bf16").as<uint16_t>(), ElementsAre(0x3f80, 0xbf00));
  EXPECT_EQ(tensors.at("c64").describe(), "c64[1]");
  EXPECT_THAT(tensors.at("flags").as<uint8_t>(), ElementsAre(1, 0));
  EXPECT_THAT(tensors.at("column").contiguous().as<float>(),
              ElementsAre(1, 5, 9));
  EXPECT_THAT(tensors.at("expanded").strides, ElementsAre(0, 0));
  EXPECT_EQ(tensors.at("empty").describe(), "f32[0, 3]");
  EXPECT_EQ(tensors.at("parameter").storage, tensors.at("column").storage);
  EXPECT_EQ(weights->absent.at("sparse"), "a sparse tensor");
  EXPECT_EQ(weights->absent.at("conj"),
            "a lazily conjugated or negated tensor");
  EXPECT_EQ(weights->absent.at("meta"), "not a tensor");
}

class TorchSaveFiles : public testing::Test {
protected:
  std::string save(const std::string &pickle, const std::string &storage,
                   const std::string &byteOrder = "little") {
    return folder.write("t.pt", ZipBuilder()
                                    .add("t/data.pkl", "\x80\x02" + pickle)
                                    .add("t/byteorder", byteOrder)
                                    .add("t/data/0", storage)
                                    .finish());
  }
  std::string errorOf(const std::string &path) {
    auto weights = readWeights(path);
    return weights.ok() ? "" : weights.error().message;
  }
  const std::string dict =
      "}" + text("w") + tensor(integer(0), integer(6), integer(1)) + "s.";

  TempFolder folder;
};

TEST_F(TorchSaveFiles, reads_a_minimal_file) {
  EXPECT_EQ(errorOf(save(dict, std::string(24, 'x'))), "");
}

TEST_F(TorchSaveFiles, rejects_wrong_storages) {
  EXPECT_THAT(errorOf(save(dict, std::string(23, 'x'))),
              HasSubstr("t/data/0: has 23 bytes where 6 elements of 4"));
  EXPECT_THAT(errorOf(save(dict, std::string(28, 'x'))), HasSubstr("28 bytes"));
  EXPECT_THAT(errorOf(save(dict, std::string(24, 'x'), "big")),
              HasSubstr("big-endian"));
  EXPECT_THAT(errorOf(save(dict, std::string(24, 'x'), "middle")),
              HasSubstr("neither"));
  std::string path = folder.write(
      "u.pt", ZipBuilder().add("t/data.pkl", "\x80\x02" + dict).finish());
  EXPECT_THAT(errorOf(path), HasSubstr("record 't/data/0' is missing"));
}

TEST_F(TorchSaveFiles, says_what_is_not_a_state_dict) {
  EXPECT_THAT(errorOf(save("].", "")), HasSubstr("not hold a dict of tensors"));
  EXPECT_THAT(errorOf(save("}" + text("model") + "}s.", "")),
              HasSubstr("perhaps a whole checkpoint"));
  EXPECT_THAT(errorOf(save(global("m", "Net") + ")R.", "")),
              HasSubstr("holds a Python object of 'm.Net'"));
  EXPECT_THAT(errorOf(save("}" + integer(1) + "Ns.", "")),
              HasSubstr("a key of its dict is not a string"));
  EXPECT_THAT(errorOf(save("}(" + text("a") + "N" + text("a") + "Nu.", "")),
              HasSubstr("key 'a' occurs twice"));
  std::string script = folder.write("s.pt", ZipBuilder()
                                                .add("s/data.pkl", "\x80\x02N.")
                                                .add("s/constants.pkl", "")
                                                .finish());
  EXPECT_THAT(errorOf(script), HasSubstr("a TorchScript program"));
  EXPECT_THAT(errorOf(folder.write("legacy.pt", "\x80\x02N.")),
              HasSubstr("before torch 1.6"));
}

} // namespace
