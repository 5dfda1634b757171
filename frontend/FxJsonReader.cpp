#include "FxJsonReader.h"
#include "FxValue.h"
#include "StackTrace.h"
#include "SymExprText.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>
#include <map>
#include <unordered_map>

namespace gcompile::frontend {
namespace {

constexpr int64_t kVersion = 1;
constexpr int kMaxGraphDepth = 16;
constexpr size_t kMaxRank = 64;

using Symbols = std::map<std::string, int64_t>; ///< hints, by name

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

SymInt readSize(Json json, const Symbols &hints) {
  if (json.isInt())
    return {json.asInt(), nullptr, {}};
  try {
    SymInt size = parseSymInt(json.asString());
    if (size.expr && size.expr->kind == SymExpr::Kind::Symbol)
      if (auto hint = hints.find(size.expr->name); hint != hints.end())
        size.hint = hint->second;
    return size;
  } catch (const TextError &error) {
    json.fail(fmt::format("'{}', character {}: {}", json.asString(),
                          error.offset + 1, error.what));
  }
}

std::vector<SymInt> readSizes(Json json, const Symbols &hints) {
  std::vector<SymInt> sizes;
  for (Json size : json.elements())
    sizes.push_back(readSize(size, hints));
  if (sizes.size() > kMaxRank)
    json.fail(fmt::format("more than {} dimensions", kMaxRank));
  return sizes;
}

DType readDType(Json json) {
  if (std::optional<DType> dtype = dtypeFromName(json.asString()))
    return *dtype;
  json.fail(fmt::format("unknown element type '{}'", json.asString()));
}

ValueMeta readType(Json json, const Symbols &hints) {
  ValueMeta meta;
  if (std::optional<Json> dtype = json.find("dtype")) {
    meta.kind = ValueKind::Tensor;
    meta.dtype = readDType(*dtype);
    meta.sizes = readSizes(json.at("sizes"), hints);
    if (std::optional<Json> strides = json.find("strides")) {
      meta.strides = readSizes(*strides, hints);
      if (meta.strides.size() != meta.sizes.size())
        strides->fail(fmt::format("{} strides for {} sizes",
                                  meta.strides.size(), meta.sizes.size()));
    }
    if (std::optional<Json> offset = json.find("storage_offset"))
      meta.storageOffset = readSize(*offset, hints);
    if (std::optional<Json> device = json.find("device"))
      meta.device = device->asString();
    return meta;
  }
  Json number = json.onlyMember();
  if (number.key() == "int")
    meta.kind = ValueKind::SymInt;
  else if (number.key() == "float")
    meta.kind = ValueKind::SymFloat;
  else if (number.key() == "bool")
    meta.kind = ValueKind::SymBool;
  else
    json.fail("expected a type with 'dtype', 'int', 'float' or 'bool'");
  meta.sym = readSize(number, hints);
  return meta;
}

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

class GraphReader {
public:
  GraphReader(const Symbols &hints, int depth) : hints(hints), depth(depth) {}

  Graph read(Json json) {
    if (depth > kMaxGraphDepth)
      json.fail(fmt::format("graphs nested more than {} levels deep",
                            kMaxGraphDepth));
    if (std::optional<Json> subGraphs = json.find("graphs"))
      for (Json subGraph : subGraphs->members())
        graphs.emplace(subGraph.key(),
                       std::make_shared<const Graph>(
                           GraphReader(hints, depth + 1).read(subGraph)));
    for (Json input : json.at("inputs").elements())
      readInput(input);
    for (Json node : json.at("nodes").elements())
      readNode(node);
    for (Json output : json.at("outputs").elements())
      graph.outputs.push_back(readArgument(output));
    for (Json value : json.at("values").members()) {
      std::string name(value.key());
      if (!names.contains(name))
        value.fail(fmt::format("'{}' is not a value of the graph", name));
      graph.values.emplace(std::move(name), readType(value, hints));
    }
    return std::move(graph);
  }

private:
  void readInput(Json json) {
    // A null is a constant too, which find() does not see.
    for (Json member : json.members())
      if (member.key() == "constant") {
        graph.inputs.push_back(readArgument(member));
        if (std::holds_alternative<ValueRef>(graph.inputs.back().data))
          member.fail("a constant cannot be a value of the graph");
        return;
      }
    graph.inputs.push_back({ValueRef{define(json.at("name"))}});
  }

  void readNode(Json json) {
    Node node;
    node.target = json.at("target").asString();
    for (Json argument : json.at("args").elements())
      node.arguments.push_back({"", readArgument(argument)});
    if (std::optional<Json> keywords = json.find("kwargs"))
      for (Json argument : keywords->members())
        node.arguments.push_back(
            {std::string(argument.key()), readArgument(argument)});
    if (std::optional<Json> trace = json.find("stack_trace"))
      node.location = parseStackTrace(trace->asString());
    node.name = define(json.at("name"));
    node.results.push_back({ValueRef{node.name}});
    graph.nodes.push_back(std::move(node));
  }

  std::string define(Json json) {
    std::string name(json.asString());
    if (name.empty())
      json.fail("the name is empty");
    auto [it, isNew] = names.emplace(name, json);
    if (!isNew)
      json.fail(fmt::format("'{}' is defined twice, first at {}", name,
                            it->second.path()));
    return name;
  }

  Argument readArgument(Json json) const {
    switch (json.kind()) {
    case Json::Kind::Null:
      return {};
    case Json::Kind::Bool:
      return {json.asBool()};
    case Json::Kind::Int:
      return {json.asInt()};
    case Json::Kind::Float:
      return {json.asFloat()};
    case Json::Kind::String:
      return {std::string(json.asString())};
    case Json::Kind::Array: {
      Argument::List list;
      for (Json element : json.elements())
        list.push_back(readArgument(element));
      return {std::move(list)};
    }
    case Json::Kind::Object:
      break;
    }
    return readTagged(json.onlyMember());
  }

  /// The payload of an object with one key, which says what it is.
  Argument readTagged(Json json) const {
    std::string_view tag = json.key();
    if (tag == "complex") {
      if (!json.isArray() || json.count() != 2)
        json.fail("expected a real and an imaginary part");
      Json::Iterator part = json.elements().begin();
      double real = (*part).asFloat();
      return {std::complex<double>(real, (*++part).asFloat())};
    }
    std::string text(json.asString());
    if (tag == "value") {
      if (!names.contains(text))
        json.fail(fmt::format("'{}' is used but not defined", text));
      return {ValueRef{std::move(text)}};
    }
    if (tag == "graph") {
      auto found = graphs.find(text);
      if (found == graphs.end())
        json.fail(fmt::format("'{}' is not in 'graphs'", text));
      return {GraphRef{std::move(text), found->second}};
    }
    if (tag == "float")
      return {readNonFinite(json)};
    if (tag == "dtype")
      return {readDType(json)};
    if (tag == "device")
      return {Device{std::move(text)}};
    if (tag == "layout" || tag == "memory_format") {
      std::optional<Argument> constant = namedConstant("torch." + text);
      bool fits = constant &&
                  (tag == "layout" ? constant->data.index() ==
                                         Argument{Layout{}}.data.index()
                                   : constant->data.index() ==
                                         Argument{MemoryFormat{}}.data.index());
      if (!fits)
        json.fail(fmt::format("unknown {} '{}'", tag, text));
      return *std::move(constant);
    }
    json.fail(fmt::format("unknown kind of argument '{}'", tag));
  }

  static double readNonFinite(Json json) {
    constexpr double kInfinity = std::numeric_limits<double>::infinity();
    std::string_view text = json.asString();
    if (text == "inf")
      return kInfinity;
    if (text == "-inf")
      return -kInfinity;
    if (text == "nan")
      return std::numeric_limits<double>::quiet_NaN();
    json.fail("expected 'inf', '-inf' or 'nan'");
  }

  const Symbols &hints;
  int depth;
  Graph graph;
  std::unordered_map<std::string, Json> names; ///< where they are defined
  std::unordered_map<std::string, std::shared_ptr<const Graph>> graphs;
};

//===----------------------------------------------------------------------===//
// The document
//===----------------------------------------------------------------------===//

InputSpec readInputSpec(Json json) {
  InputSpec spec;
  std::optional<Json> name = json.find("name");
  if (!name)
    return spec; // a constant
  spec.name = name->asString();
  std::optional<Json> kind = json.find("kind");
  if (!kind || kind->asString() == "user")
    return spec;
  if (kind->asString() == "parameter")
    spec.kind = InputSpec::Kind::Parameter;
  else if (kind->asString() == "buffer")
    spec.kind = InputSpec::Kind::Buffer;
  else if (kind->asString() == "constant")
    spec.kind = InputSpec::Kind::Constant;
  else
    kind->fail(fmt::format("unknown kind of input '{}'", kind->asString()));
  spec.target = json.at("target").asString();
  return spec;
}

std::optional<int64_t> findInt(Json json, std::string_view key) {
  std::optional<Json> member = json.find(key);
  return member ? std::optional(member->asInt()) : std::nullopt;
}

} // namespace

bool isFxJson(Json root) {
  if (!root.isObject())
    return false;
  std::optional<Json> format = root.find("format");
  return format && format->isString() && format->asString() == "gcompile-fx";
}

Program readFxJson(Json root) {
  Json version = root.at("version");
  if (version.asInt() != kVersion)
    throwError(ErrorCode::Unsupported,
               fmt::format("{}: FX JSON of version {}, not {}", version.where(),
                           version.asInt(), kVersion),
               "write it with the export_fx_json.py of this release");
  Program program;
  Symbols hints;
  if (std::optional<Json> symbols = root.find("symbols"))
    for (Json symbol : symbols->members()) {
      program.symbolRanges.emplace(
          symbol.key(),
          SymbolRange{findInt(symbol, "min"), findInt(symbol, "max")});
      if (std::optional<int64_t> hint = findInt(symbol, "hint"))
        hints.emplace(symbol.key(), *hint);
    }
  program.graph = GraphReader(hints, 0).read(root);
  for (Json input : root.at("inputs").elements())
    program.inputs.push_back(readInputSpec(input));
  program.outputs.resize(program.graph.outputs.size());
  return program;
}

} // namespace gcompile::frontend
