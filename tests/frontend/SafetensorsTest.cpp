#include "gcompile/frontend/Readers.h"

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

namespace fs = std::filesystem;

class Safetensors : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern = testing::TempDir() + "safetensors-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  void TearDown() override { fs::remove_all(folder); }

  std::string write(const std::string &name, const std::string &bytes) {
    std::string path = folder / name;
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }
  /// A file of this header and data.
  std::string compose(const std::string &header, size_t dataBytes) {
    uint64_t length = header.size();
    std::string bytes(reinterpret_cast<const char *>(&length), sizeof length);
    bytes += header;
    for (size_t i = 0; i < dataBytes; ++i)
      bytes += static_cast<char>(i);
    return write("t.safetensors", bytes);
  }
  std::string errorOf(const std::string &header, size_t dataBytes) {
    auto tensors = readSafetensors(compose(header, dataBytes));
    if (tensors.ok())
      return "";
    EXPECT_EQ(tensors.error().code, ErrorCode::InvalidArgument);
    return tensors.error().message;
  }

  fs::path folder;
};

TEST_F(Safetensors, round_trips_every_tensor) {
  Tensor base = Tensor::empty(DType::Float32, {3, 4});
  for (int i = 0; i < 12; ++i)
    reinterpret_cast<float *>(base.mutableData())[i] = static_cast<float>(i);
  Tensor column = base;
  column.sizes = {3};
  column.strides = {4};
  column.storageOffset = 1;
  Tensor flags = Tensor::empty(DType::Bool, {3});
  std::memset(flags.mutableData(), 1, 3);
  Tensor scalar = Tensor::empty(DType::Int64, {});
  *reinterpret_cast<int64_t *>(scalar.mutableData()) = -5;

  std::string path = folder / "out.safetensors";
  ASSERT_TRUE(
      writeSafetensors(path, {{"base", base},
                              {"a \"column\"", column},
                              {"empty", Tensor::empty(DType::BFloat16, {0, 7})},
                              {"flags", flags},
                              {"scalar", scalar}})
          .ok());
  EXPECT_EQ(std::distance(fs::directory_iterator(folder), {}), 1)
      << "the temporary file is gone";
  auto tensors = readSafetensors(path);
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  ASSERT_EQ(tensors->size(), 5u);
  EXPECT_THAT(tensors->at("base").as<float>(),
              ElementsAre(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11));
  EXPECT_THAT(tensors->at("a \"column\"").as<float>(), ElementsAre(1, 5, 9));
  EXPECT_EQ(tensors->at("empty").describe(), "bf16[0, 7]");
  EXPECT_EQ(tensors->at("flags").describe(), "b8[3]");
  EXPECT_THAT(tensors->at("scalar").as<int64_t>(), ElementsAre(-5));
  EXPECT_EQ(tensors->at("base").storage->mutableData(), nullptr) << "mapped";
}

TEST_F(Safetensors, a_failed_write_keeps_the_old_file) {
  std::string path = write("old.safetensors", "old");
  Status status =
      writeSafetensors(path, {{"c", Tensor::empty(DType::Complex128, {1})}});
  ASSERT_FALSE(status.ok());
  EXPECT_EQ(status.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(fs::file_size(path), 3u);
  EXPECT_FALSE(writeSafetensors((folder / "no" / "x").string(), {}).ok());
}

TEST_F(Safetensors, copies_unaligned_data) {
  auto tensors = readSafetensors(compose(
      R"({"b":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"f":{"dtype":"U32","shape":[1],"data_offsets":[1,5]}})",
      5));
  ASSERT_TRUE(tensors.ok()) << tensors.error().message;
  const Tensor &tensor = tensors->at("f");
  EXPECT_EQ(reinterpret_cast<uintptr_t>(tensor.data()) % 4, 0u);
  EXPECT_THAT(tensor.as<uint32_t>(), ElementsAre(0x04030201u));
}

TEST_F(Safetensors, rejects_what_the_reference_reader_rejects) {
  const std::string good =
      R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})";
  EXPECT_EQ(errorOf(good, 8), "");
  EXPECT_EQ(errorOf(good + "   ", 8), "");
  EXPECT_THAT(errorOf(good, 7), HasSubstr("a: its data ends at 8, but only 7"));
  EXPECT_THAT(errorOf(good, 9), HasSubstr("1 bytes after the last tensor"));
  EXPECT_THAT(errorOf(good + "x", 8), HasSubstr("not valid JSON"));
  EXPECT_THAT(
      errorOf(R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,8]}})", 8),
      HasSubstr("a: the shape needs 12 bytes"));
  EXPECT_THAT(
      errorOf(R"({"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,8]}})", 8),
      HasSubstr("a.shape[0]: negative size"));
  EXPECT_THAT(
      errorOf(
          R"({"a":{"dtype":"F32","shape":[0,9223372036854775807,9],"data_offsets":[0,0]}})",
          0),
      HasSubstr("overflows 64 bits"));
  EXPECT_THAT(
      errorOf(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[4],"data_offsets":[2,6]}})",
          6),
      HasSubstr("b: its data begins at 2, not at 4"));
  EXPECT_THAT(
      errorOf(
          R"({"a":{"dtype":"U8","shape":[4],"data_offsets":[0,4]},"b":{"dtype":"U8","shape":[1],"data_offsets":[5,6]}})",
          6),
      HasSubstr("b: its data begins at 5, not at 4"));
  EXPECT_THAT(errorOf(R"({"__metadata__":{"x":1}})", 0),
              HasSubstr("__metadata__.x: expected a string"));
  EXPECT_THAT(
      errorOf(
          R"({"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]},"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}})",
          1),
      HasSubstr("key 'a' occurs twice"));

  auto tooLong = readSafetensors(write("l", std::string(8, '\x7f') + "{}"));
  ASSERT_FALSE(tooLong.ok());
  EXPECT_THAT(tooLong.error().message, HasSubstr("in a file of 10"));
  EXPECT_FALSE(readSafetensors(write("e", "")).ok());
  EXPECT_THAT(readSafetensors((folder / "absent").string()).error().message,
              HasSubstr("No such file"));
}

} // namespace
