#include "Json.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <limits>
#include <nlohmann/json.hpp>
#include <unordered_set>

namespace gcompile::frontend {
namespace {

constexpr size_t kMaxTextBytes = size_t{1} << 28;
constexpr size_t kMaxNodes = size_t{1} << 25;
/// 16 nested graphs take 8 levels each; the rest is what one graph may use.
constexpr size_t kMaxDepth = 256;

/// First character of the strings that stand for bare non-finite tokens.
constexpr std::string_view kEscapedMark = "\\u0000";

bool isWordCharacter(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_';
}

std::optional<double> nonFinite(std::string_view word) {
  if (word == "Infinity")
    return std::numeric_limits<double>::infinity();
  if (word == "-Infinity")
    return -std::numeric_limits<double>::infinity();
  if (word == "NaN")
    return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

/// Quotes the bare tokens of `text` and marks them. None if there are none.
std::optional<std::string> quoteNonFinite(std::string_view text) {
  if (text.find("Infinity") == text.npos && text.find("NaN") == text.npos)
    return std::nullopt;
  std::string quoted;
  size_t copied = 0;
  for (size_t i = 0; i < text.size();) {
    if (text[i] == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\')
          ++i;
      ++i;
      continue;
    }
    size_t end = i + 1;
    if (text[i] == '-' || isWordCharacter(text[i]))
      while (end < text.size() && isWordCharacter(text[end]))
        ++end;
    std::string_view word = text.substr(i, end - i);
    if (nonFinite(word)) {
      quoted += text.substr(copied, i - copied);
      quoted += fmt::format("\"{}{}\"", kEscapedMark, word);
      copied = end;
    }
    i = end;
  }
  if (copied == 0)
    return std::nullopt;
  quoted += text.substr(std::min(copied, text.size()));
  return quoted;
}

std::string_view kindName(Json::Kind kind) {
  switch (kind) {
  case Json::Kind::Null:
    return "null";
  case Json::Kind::Bool:
    return "a boolean";
  case Json::Kind::Int:
    return "an integer";
  case Json::Kind::Float:
    return "a float";
  case Json::Kind::String:
    return "a string";
  case Json::Kind::Array:
    return "an array";
  case Json::Kind::Object:
    return "an object";
  }
  return "";
}

} // namespace

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

/// Takes the events of nlohmann's parser, which keeps no recursion itself.
class JsonDocument::Builder : public nlohmann::json_sax<nlohmann::json> {
public:
  Builder(JsonDocument &document, bool hasMarks)
      : document(document), hasMarks(hasMarks) {}

  bool null() override {
    add(Json::Kind::Null);
    return true;
  }
  bool boolean(bool value) override {
    add(Json::Kind::Bool).boolean = value;
    return true;
  }
  bool number_integer(number_integer_t value) override {
    add(Json::Kind::Int).integer = value;
    return true;
  }
  bool number_unsigned(number_unsigned_t value) override {
    Node &node = add(Json::Kind::Int);
    if (value > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      failHere("integer does not fit in 64 bits, signed");
    node.integer = static_cast<int64_t>(value);
    return true;
  }
  bool number_float(number_float_t value, const string_t &text) override {
    add(Json::Kind::Float).real = value;
    if (text.find_first_of(".eE") == text.npos)
      failHere("integer does not fit in 64 bits, signed");
    return true;
  }
  bool string(string_t &value) override {
    if (hasMarks && !value.empty() && value.front() == '\0') {
      add(Json::Kind::Float).real =
          nonFinite(std::string_view(value).substr(1)).value_or(0);
      return true;
    }
    add(Json::Kind::String).string = document.keep(value);
    return true;
  }
  bool binary(binary_t &) override { return false; }
  bool start_object(size_t) override { return open(Json::Kind::Object); }
  bool start_array(size_t) override { return open(Json::Kind::Array); }
  bool key(string_t &name) override {
    nextKey = document.keep(name);
    return true;
  }
  bool end_array() override { return close(); }
  bool end_object() override {
    rejectDuplicateKeys(Json(&document, parents.back()));
    return close();
  }
  bool parse_error(size_t position, const std::string &,
                   const nlohmann::detail::exception &error) override {
    // "[json.exception...] parse error at ...: syntax error while parsing ..."
    std::string what = error.what();
    if (size_t begin = what.find(": "); begin != what.npos)
      what.erase(0, begin + 2);
    if (size_t begin = what.find(" - "); begin != what.npos)
      what.erase(0, begin + 3);
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: not valid JSON near byte {}: {}",
                           document.documentName, position, what),
               "the file is damaged or cut off; export the model again");
  }

private:
  Node &add(Json::Kind kind) {
    auto &nodes = document.nodes;
    if (nodes.size() >= kMaxNodes)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("{}: more than {} JSON values",
                             document.documentName, kMaxNodes));
    Node &node = nodes.emplace_back();
    node.kind = kind;
    node.key = std::exchange(nextKey, {});
    node.parent = parents.empty() ? 0 : parents.back();
    node.end = static_cast<uint32_t>(nodes.size());
    return node;
  }
  bool open(Json::Kind kind) {
    add(kind);
    parents.push_back(static_cast<uint32_t>(document.nodes.size() - 1));
    if (parents.size() > kMaxDepth)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("{}: nested more than {} levels deep",
                             document.documentName, kMaxDepth));
    return true;
  }
  bool close() {
    document.nodes[parents.back()].end =
        static_cast<uint32_t>(document.nodes.size());
    parents.pop_back();
    return true;
  }
  [[noreturn]] void failHere(std::string what) {
    Json(&document, static_cast<uint32_t>(document.nodes.size() - 1))
        .fail(std::move(what));
  }
  void rejectDuplicateKeys(Json object) {
    document.nodes[parents.back()].end =
        static_cast<uint32_t>(document.nodes.size());
    constexpr size_t kFew = 16;
    seen.clear();
    for (Json member : object.members()) {
      std::string_view key = member.key();
      bool isNew = true;
      if (seen.size() < kFew)
        isNew = std::find(seen.begin(), seen.end(), key) == seen.end();
      else {
        if (seen.size() == kFew)
          many = {seen.begin(), seen.end()};
        isNew = many.insert(key).second;
      }
      if (!isNew)
        object.fail(fmt::format("key '{}' occurs twice", key));
      seen.push_back(key);
    }
  }

  JsonDocument &document;
  const bool hasMarks;
  std::vector<uint32_t> parents;
  std::string_view nextKey;
  std::vector<std::string_view> seen;
  std::unordered_set<std::string_view> many;
};

JsonDocument::JsonDocument(std::string_view text, std::string name)
    : documentName(std::move(name)) {
  if (text.size() > kMaxTextBytes)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: {} bytes of JSON, more than the {} allowed",
                           documentName, text.size(), kMaxTextBytes));
  nodes.reserve(text.size() / 16);
  std::optional<std::string> quoted = quoteNonFinite(text);
  if (quoted)
    text = *quoted;
  Builder builder(*this, quoted.has_value());
  nlohmann::json::sax_parse(text.begin(), text.end(), &builder);
}

std::string_view JsonDocument::keep(std::string_view text) {
  constexpr size_t kChunkBytes = size_t{1} << 16;
  if (text.empty())
    return {};
  if (text.size() > chunkLeft) {
    chunkLeft = std::max(text.size(), kChunkBytes);
    chunkNext = chunks.emplace_back(new char[chunkLeft]).get();
  }
  std::memcpy(chunkNext, text.data(), text.size());
  std::string_view kept(chunkNext, text.size());
  chunkNext += text.size();
  chunkLeft -= text.size();
  return kept;
}

//===----------------------------------------------------------------------===//
// Access
//===----------------------------------------------------------------------===//

Json::Kind Json::kind() const { return document->nodes[index].kind; }
std::string_view Json::key() const { return document->nodes[index].key; }

Json::Iterator &Json::Iterator::operator++() {
  index = document->nodes[index].end;
  return *this;
}

bool Json::asBool() const {
  if (kind() != Kind::Bool)
    fail(fmt::format("expected a boolean, found {}", kindName(kind())));
  return document->nodes[index].boolean;
}

int64_t Json::asInt() const {
  if (kind() != Kind::Int)
    fail(fmt::format("expected an integer, found {}", kindName(kind())));
  return document->nodes[index].integer;
}

double Json::asFloat() const {
  if (kind() == Kind::Float)
    return document->nodes[index].real;
  if (kind() == Kind::Int)
    return static_cast<double>(asInt());
  if (kind() == Kind::String)
    if (std::optional<double> value = nonFinite(asString()))
      return *value;
  fail(fmt::format("expected a float, found {}", kindName(kind())));
}

std::string_view Json::asString() const {
  if (kind() != Kind::String)
    fail(fmt::format("expected a string, found {}", kindName(kind())));
  return document->nodes[index].string;
}

Json::Range Json::elements() const {
  if (kind() != Kind::Array)
    fail(fmt::format("expected an array, found {}", kindName(kind())));
  return {Iterator(document, index + 1),
          Iterator(document, document->nodes[index].end)};
}

Json::Range Json::members() const {
  if (kind() != Kind::Object)
    fail(fmt::format("expected an object, found {}", kindName(kind())));
  return {Iterator(document, index + 1),
          Iterator(document, document->nodes[index].end)};
}

size_t Json::count() const {
  Range range = isArray() ? elements() : members();
  size_t count = 0;
  for ([[maybe_unused]] Json child : range)
    ++count;
  return count;
}

std::optional<Json> Json::find(std::string_view key) const {
  for (Json member : members())
    if (member.key() == key)
      return member.isNull() ? std::nullopt : std::optional(member);
  return std::nullopt;
}

Json Json::at(std::string_view key) const {
  if (std::optional<Json> member = find(key))
    return *member;
  fail(fmt::format("field '{}' is missing", key));
}

Json Json::onlyMember() const {
  Range range = members();
  if (range.begin() == range.end() || ++range.begin() != range.end())
    fail(fmt::format("expected an object with exactly one key, found {} keys",
                     count()));
  return *members().begin();
}

std::string Json::path() const {
  if (index == 0)
    return {};
  const auto &nodes = document->nodes;
  Json parent(document, nodes[index].parent);
  std::string prefix = parent.path();
  if (parent.isObject())
    return prefix.empty() ? std::string(key())
                          : fmt::format("{}.{}", prefix, key());
  size_t position = 0;
  for (uint32_t i = parent.index + 1; i != index; i = nodes[i].end)
    ++position;
  return fmt::format("{}[{}]", prefix, position);
}

std::string Json::where() const {
  std::string inside = path();
  return inside.empty() ? document->documentName
                        : fmt::format("{}: {}", document->documentName, inside);
}

void Json::fail(std::string what, std::string help) const {
  throwError(ErrorCode::InvalidArgument, fmt::format("{}: {}", where(), what),
             std::move(help));
}

} // namespace gcompile::frontend
