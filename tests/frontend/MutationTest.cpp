// Damages recorded files in thousands of repeatable ways. Whatever is in a
// file, its reader gives a result or an error, and never a crash.
#include "Detect.h"
#include "TestFiles.h"
#include "ZipReader.h"
#include "gcompile/frontend/Readers.h"

#include <algorithm>
#include <cctype>
#include <gtest/gtest.h>
#include <random>

using namespace gcompile;
using namespace gcompile::frontend;

namespace {

constexpr int kMutations = 1500;

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

class Mutator {
public:
  explicit Mutator(unsigned seed) : random(seed) {}

  std::string mutate(std::string bytes) {
    for (size_t i = 0, count = 1 + below(3); i < count && !bytes.empty(); ++i)
      mutateOnce(bytes);
    return bytes;
  }

  /// Replaces tokens of a JSON text by others, so that it stays well-formed
  /// more often.
  std::string mutateJson(std::string text) {
    for (size_t i = 0, count = 1 + below(3); i < count; ++i) {
      auto [begin, end] = token(text);
      static const char *const values[] = {
          "null",     "true",  "0",  "-1", "9223372036854775807",
          "1e308",    "NaN",   "{}", "[]", "\"\"",
          "99999999", "\"x\"", "28", "64", "{\"as_int\": 3}"};
      std::string other = values[below(std::size(values))];
      if (below(2)) {
        auto [otherBegin, otherEnd] = token(text);
        other = text.substr(otherBegin, otherEnd - otherBegin);
      }
      text.replace(begin, end - begin, other);
    }
    return text;
  }

  size_t below(size_t limit) {
    return std::uniform_int_distribution<size_t>(0, limit - 1)(random);
  }

private:
  void mutateOnce(std::string &bytes) {
    static const unsigned char interesting[] = {0,   1,   0x7f, 0x80, 0xff,
                                                '(', '.', 'R',  '"',  '{',
                                                '[', '0', '9',  0x20, 0x81};
    size_t at = below(bytes.size());
    size_t length = 1 + below(std::min<size_t>(bytes.size() - at, 16));
    switch (below(7)) {
    case 0:
      bytes[at] = static_cast<char>(bytes[at] ^ (1 << below(8)));
      break;
    case 1:
      bytes[at] = static_cast<char>(interesting[below(std::size(interesting))]);
      break;
    case 2:
      bytes.erase(at, length);
      break;
    case 3:
      bytes.insert(at, bytes.substr(below(bytes.size()), length));
      break;
    case 4:
      bytes.resize(at);
      break;
    case 5: // a little-endian number
      for (size_t i = 0; i < std::min<size_t>(length, 8); ++i)
        bytes[at + i] = static_cast<char>(i + 1 == length ? below(256) : 0xff);
      break;
    default:
      bytes.replace(at, length, bytes, below(bytes.size()), length);
      break;
    }
  }

  /// [begin, end) of a word, number or string without blanks.
  std::pair<size_t, size_t> token(const std::string &text) {
    constexpr const char *separators = "{}[]:, ";
    size_t begin = text.find_first_not_of(separators, below(text.size()));
    if (begin == text.npos)
      begin = 0;
    size_t end = text.find_first_of(separators, begin);
    return {begin, end == text.npos ? text.size() : end};
  }

  std::mt19937 random;
};

//===----------------------------------------------------------------------===//
// Use of what was read
//===----------------------------------------------------------------------===//

/// Reads every element, for the sanitizers.
void touch(const Tensor &tensor) {
  if (tensor.numBytes() > (1 << 20))
    return;
  Tensor dense = tensor.contiguous();
  unsigned sum = 0;
  for (int64_t i = 0; i < dense.numBytes(); ++i)
    sum += std::to_integer<unsigned>(dense.data()[i]);
  volatile unsigned sink = sum;
  static_cast<void>(sink);
}

void touch(const WeightStore &weights) {
  for (const auto &[name, tensor] : weights.tensors)
    touch(tensor);
}

void touch(const Model &model) {
  touch(model.weights);
  for (const std::optional<Tensor> &input : model.exampleInputs)
    if (input)
      touch(*input);
  for (const auto &[name, value] : model.program.graph.values)
    for (const SymInt &size : value.sizes)
      EXPECT_TRUE(!size.expr || !size.expr->str().empty());
}

template <typename T>
void expectResultOrError(const Result<T> &result, const std::string &name,
                         int &numRead) {
  if (result.ok()) {
    ++numRead;
    return touch(*result);
  }
  const Error &error = result.error();
  EXPECT_TRUE(error.code == ErrorCode::InvalidArgument ||
              error.code == ErrorCode::Unsupported)
      << name << ": " << error.message;
  EXPECT_FALSE(error.message.empty()) << name;
  EXPECT_FALSE(error.message.ends_with('.')) << error.message;
}

//===----------------------------------------------------------------------===//
// Tests
//===----------------------------------------------------------------------===//

class Mutation : public testing::TestWithParam<const char *> {
protected:
  const std::string original =
      readFile(GCOMPILE_TEST_DATA "/frontend/" + std::string(GetParam()));
  TempFolder folder;
  Mutator mutator{20240229};
};

void readBoth(const std::string &path, int &numRead) {
  expectResultOrError(readModel(path), path, numRead);
  expectResultOrError(readWeights(path), path, numRead);
}

TEST_P(Mutation, of_the_file) {
  ASSERT_FALSE(original.empty());
  int numRead = 0;
  for (int i = 0; i < kMutations; ++i)
    readBoth(folder.write("m", mutator.mutate(original)), numRead);
  RecordProperty("read", numRead);
}

/// Damages one record of an archive and gives it a right checksum again.
TEST_P(Mutation, of_a_record) {
  if (detectContent(std::as_bytes(std::span(original))) != Content::Zip)
    GTEST_SKIP() << "not an archive";
  auto owner = std::make_shared<std::string>(original);
  ZipReader archive({std::as_bytes(std::span(*owner)), owner}, "original");
  std::vector<std::string> names;
  for (const auto &[name, entry] : archive.records())
    names.push_back(name);
  int numRead = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string &victim = names[mutator.below(names.size())];
    ZipBuilder zip;
    for (const std::string &name : names) {
      std::string content(asText(archive.read(name).bytes));
      if (name == victim && !content.empty())
        content = content[0] == '{' ? mutator.mutateJson(content)
                                    : mutator.mutate(content);
      if (mutator.below(8) == 0)
        zip.addDeflated(name, content);
      else
        zip.add(name, content);
    }
    readBoth(folder.write("m", zip.finish()), numRead);
  }
  RecordProperty("read", numRead);
}

/// The same one archive deeper, in the torch.save files of old layouts.
TEST_P(Mutation, of_a_nested_record) {
  if (detectContent(std::as_bytes(std::span(original))) != Content::Zip)
    GTEST_SKIP() << "not an archive";
  auto owner = std::make_shared<std::string>(original);
  ZipReader archive({std::as_bytes(std::span(*owner)), owner}, "original");
  std::vector<std::string> nested;
  for (const auto &[name, entry] : archive.records())
    if (asText(entry.stored).starts_with("PK"))
      nested.push_back(name);
  if (nested.empty())
    GTEST_SKIP() << "no archive inside";
  int numRead = 0;
  for (int i = 0; i < kMutations; ++i) {
    const std::string &victim = nested[mutator.below(nested.size())];
    ZipBuilder zip;
    for (const auto &[name, entry] : archive.records()) {
      if (name != victim) {
        zip.add(name, std::string(asText(entry.stored)));
        continue;
      }
      ZipReader inner(archive.read(name), name);
      ZipBuilder innerZip;
      for (const auto &[innerName, innerEntry] : inner.records()) {
        std::string content(asText(innerEntry.stored));
        bool isPickle = innerName.ends_with("/data.pkl");
        innerZip.add(innerName, isPickle ? mutator.mutate(content) : content);
      }
      zip.add(name, innerZip.finish());
    }
    readBoth(folder.write("m", zip.finish()), numRead);
  }
  RecordProperty("read", numRead);
}

INSTANTIATE_TEST_SUITE_P(
    , Mutation,
    testing::Values("mlp.torch2.5.pt2", "net.torch2.6.pt2", "mlp.torch2.8.pt2",
                    "net.torch2.11.pt2", "cond.torch2.11.pt2",
                    "net.torch2.6.state_dict.pt", "unusual.torch2.8.pt",
                    "net.weights.safetensors"),
    [](const auto &info) {
      std::string name = info.param;
      std::ranges::replace_if(
          name, [](char c) { return !std::isalnum(c); }, '_');
      return name;
    });

} // namespace
