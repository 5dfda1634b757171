//===- Json.h - JSON of untrusted files, read-only ------------------------===//
// A compact tree over one array, whose values know their path in the text, so
// that every complaint says where. Stricter than JSON: duplicate keys, integers
// outside int64, invalid UTF-8 and deep nesting are errors. Laxer in one point:
// the bare tokens Infinity, -Infinity and NaN that Python writes are floats.
//
// Everything here throws ErrorException.
#pragma once
#include "gcompile/base/Error.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcompile::frontend {

class JsonDocument;

/// One value of a JsonDocument; copies are cheap and live as long as it.
class Json {
public:
  enum class Kind : uint8_t { Null, Bool, Int, Float, String, Array, Object };

  Kind kind() const;
  bool isNull() const { return kind() == Kind::Null; }
  bool isInt() const { return kind() == Kind::Int; }
  bool isString() const { return kind() == Kind::String; }
  bool isArray() const { return kind() == Kind::Array; }
  bool isObject() const { return kind() == Kind::Object; }

  bool asBool() const;
  int64_t asInt() const;
  /// Also takes integers and the strings "Infinity", "-Infinity" and "NaN".
  double asFloat() const;
  std::string_view asString() const;

  /// Key under which this value lies in its object; else empty.
  std::string_view key() const;
  /// Member of an object; none if absent or null.
  std::optional<Json> find(std::string_view key) const;
  /// Member of an object; an error if absent or null.
  Json at(std::string_view key) const;
  /// The only member of an object, as unions are written.
  Json onlyMember() const;

  /// Elements of an array, members of an object, in order.
  class Iterator {
  public:
    Json operator*() const { return {document, index}; }
    Iterator &operator++();
    bool operator==(const Iterator &other) const = default;

  private:
    friend class Json;
    Iterator(const JsonDocument *document, uint32_t index)
        : document(document), index(index) {}
    const JsonDocument *document;
    uint32_t index;
  };
  struct Range {
    Iterator first, last;
    Iterator begin() const { return first; }
    Iterator end() const { return last; }
  };
  Range elements() const;
  Range members() const;
  /// Number of elements or members.
  size_t count() const;

  /// "graph.nodes[3].inputs[0]"; empty for the root.
  std::string path() const;
  /// "NAME: PATH", for messages.
  std::string where() const;
  /// Throws an InvalidArgument: "NAME: PATH: what".
  [[noreturn]] void fail(std::string what, std::string help = {}) const;

private:
  friend class JsonDocument;
  Json(const JsonDocument *document, uint32_t index)
      : document(document), index(index) {}
  const JsonDocument *document;
  uint32_t index;
};

class JsonDocument {
public:
  /// Parses the whole `text`; `name` is the file's or record's for messages.
  JsonDocument(std::string_view text, std::string name);
  JsonDocument(const JsonDocument &) = delete;
  JsonDocument &operator=(const JsonDocument &) = delete;

  Json root() const { return {this, 0}; }
  const std::string &name() const { return documentName; }

private:
  friend class Json;
  class Builder;

  /// A value. Its children follow it, so the next sibling is at `end`.
  struct Node {
    std::string_view key, string;
    union {
      bool boolean;
      int64_t integer = 0;
      double real;
    };
    uint32_t end = 0, parent = 0;
    Json::Kind kind = Json::Kind::Null;
  };
  std::string_view keep(std::string_view text);

  std::string documentName;
  std::vector<Node> nodes;
  std::vector<std::unique_ptr<char[]>> chunks;
  char *chunkNext = nullptr;
  size_t chunkLeft = 0;
};

} // namespace gcompile::frontend
