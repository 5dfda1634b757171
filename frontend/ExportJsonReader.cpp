#include "ExportJsonReader.h"
#include "Pytree.h"
#include "StackTrace.h"
#include "SymExprText.h"

#include <cmath>
#include <fmt/format.h>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace gcompile::frontend {
namespace {

constexpr int kMaxGraphDepth = 16;
constexpr size_t kMaxRank = 64;
constexpr size_t kMaxReportedProblems = 20;

//===----------------------------------------------------------------------===//
// Enumerations of the schema
//===----------------------------------------------------------------------===//

DType readDType(Json json) {
  switch (int64_t value = json.asInt()) {
  case 1:
    return DType::UInt8;
  case 2:
    return DType::Int8;
  case 3:
    return DType::Int16;
  case 4:
    return DType::Int32;
  case 5:
    return DType::Int64;
  case 6:
    return DType::Float16;
  case 7:
    return DType::Float32;
  case 8:
    return DType::Float64;
  case 9:
    return DType::Complex32;
  case 10:
    return DType::Complex64;
  case 11:
    return DType::Complex128;
  case 12:
    return DType::Bool;
  case 13:
    return DType::BFloat16;
  case 28:
    return DType::UInt16;
  case 29:
    return DType::Float8E4M3FN;
  case 30:
    return DType::Float8E5M2;
  case 31:
    return DType::Float8E4M3FNUZ;
  case 32:
    return DType::Float8E5M2FNUZ;
  case 33:
    return DType::Float8E8M0FNU;
  case 34:
    return DType::UInt32;
  case 35:
    return DType::UInt64;
  default:
    json.fail(fmt::format("unknown element type {}", value));
  }
}

template <size_t N>
std::string readEnum(Json json, const char *const (&names)[N],
                     const char *what) {
  int64_t value = json.asInt();
  if (value < 0 || value >= static_cast<int64_t>(N) || !names[value])
    json.fail(fmt::format("unknown {} {}", what, value));
  return names[value];
}

std::string readLayout(Json json) {
  static constexpr const char *names[] = {
      nullptr,      "sparse_coo", "sparse_csr", "sparse_csc",
      "sparse_bsr", "sparse_bsc", "_mkldnn",    "strided"};
  return readEnum(json, names, "layout");
}

std::string readMemoryFormat(Json json) {
  static constexpr const char *names[] = {nullptr, "contiguous_format",
                                          "channels_last", "channels_last_3d",
                                          "preserve_format"};
  return readEnum(json, names, "memory format");
}

std::string readDevice(Json json) {
  std::string name(json.at("type").asString());
  if (std::optional<Json> index = json.find("index"))
    name += fmt::format(":{}", index->asInt());
  return name;
}

//===----------------------------------------------------------------------===//
// Symbolic scalars and types
//===----------------------------------------------------------------------===//

SymExprPtr floatExpr(double value) {
  auto expr = std::make_shared<SymExpr>();
  expr->kind = SymExpr::Kind::Float;
  expr->floatValue = value;
  return expr;
}

/// Reads the metas of one program; expressions of equal text are shared.
class MetaReader {
public:
  ValueMeta tensor(Json json) {
    ValueMeta meta;
    meta.kind = ValueKind::Tensor;
    meta.dtype = readDType(json.at("dtype"));
    if (std::string layout = readLayout(json.at("layout")); layout != "strided")
      throwError(ErrorCode::Unsupported,
                 fmt::format("{}: tensors of layout {} are not supported",
                             json.where(), layout));
    meta.sizes = symInts(json.at("sizes"));
    meta.strides = symInts(json.at("strides"));
    if (meta.sizes.size() != meta.strides.size())
      json.fail(fmt::format("{} sizes but {} strides", meta.sizes.size(),
                            meta.strides.size()));
    meta.storageOffset = symInt(json.at("storage_offset"));
    meta.device = readDevice(json.at("device"));
    return meta;
  }

  ValueMeta scalar(Json json, ValueKind kind) {
    ValueMeta meta;
    meta.kind = kind;
    Json choice = json.onlyMember();
    if (choice.key() == "as_expr")
      meta.sym = expression(choice);
    else if (kind == ValueKind::SymInt && choice.key() == "as_int")
      meta.sym.value = choice.asInt();
    else if (kind == ValueKind::SymBool && choice.key() == "as_bool")
      meta.sym.value = choice.asBool();
    else if (kind == ValueKind::SymFloat && choice.key() == "as_float")
      meta.sym.expr = floatExpr(choice.asFloat());
    else
      choice.fail("unknown kind of symbolic scalar");
    return meta;
  }

private:
  SymInt symInt(Json json) { return scalar(json, ValueKind::SymInt).sym; }

  std::vector<SymInt> symInts(Json json) {
    std::vector<SymInt> values;
    for (Json element : json.elements()) {
      if (values.size() == kMaxRank)
        json.fail(fmt::format("more than {} dimensions", kMaxRank));
      values.push_back(symInt(element));
    }
    return values;
  }

  SymInt expression(Json json) {
    Json textJson = json.at("expr_str");
    std::string_view text = textJson.asString();
    auto [it, isNew] = parsed.try_emplace(text);
    if (isNew) {
      try {
        it->second = parseSymInt(text);
      } catch (const TextError &error) {
        parsed.erase(it);
        throwError(error.code,
                   fmt::format("{}: '{}': column {}: {}", textJson.where(),
                               text, error.offset + 1, error.what));
      }
    }
    SymInt value = it->second;
    if (std::optional<Json> hint = json.find("hint")) {
      Json choice = hint->onlyMember();
      if (choice.key() == "as_int")
        value.hint = choice.asInt();
      else if (choice.key() == "as_bool")
        value.hint = choice.asBool();
      else if (choice.key() != "as_float")
        choice.fail("unknown kind of hint");
    }
    return value;
  }

  std::unordered_map<std::string_view, SymInt> parsed;
};

//===----------------------------------------------------------------------===//
// Graphs
//===----------------------------------------------------------------------===//

/// The errors of a program, so that all bad nodes are reported at once.
class Problems {
public:
  /// Runs `body`; if it throws, keeps the error with `note` and returns false.
  template <typename Body, typename Note>
  bool attempt(Body &&body, Note &&note) {
    try {
      body();
      return true;
    } catch (const ErrorException &e) {
      ++count;
      if (errors.size() < kMaxReportedProblems) {
        errors.push_back(e.error);
        errors.back().notes.push_back(note());
      }
      return false;
    }
  }

  void throwIfAny() const {
    if (errors.empty())
      return;
    Error error = errors[0];
    for (size_t i = 1; i < errors.size(); ++i) {
      error.notes.push_back("also: " + errors[i].message);
      error.notes.insert(error.notes.end(), errors[i].notes.begin(),
                         errors[i].notes.end());
      if (errors[i].code == ErrorCode::InvalidArgument)
        error.code = ErrorCode::InvalidArgument;
    }
    if (count > errors.size())
      error.notes.push_back(
          fmt::format("and {} more nodes", count - errors.size()));
    throw ErrorException(error);
  }

private:
  std::vector<Error> errors;
  size_t count = 0;
};

/// Whether names in an argument are read by it or defined by it.
enum class NameUse { Read, Define };

class GraphReader {
public:
  GraphReader(MetaReader &metas, Problems &problems, int depth)
      : metas(metas), problems(problems), depth(depth) {}

  Graph read(Json json);

private:
  void readValues(Json json);
  void readNode(Json json, size_t index);

  Argument argument(Json json, NameUse use);
  /// A list in place of the payload of `read`, `levels` deep.
  template <typename Read>
  Argument list(Json json, int levels, const Read &read) {
    if (levels == 0)
      return read(json);
    Argument::List items;
    for (Json element : json.elements())
      items.push_back(list(element, levels - 1, read));
    return {std::move(items)};
  }
  Argument value(Json nameJson, NameUse use);
  Argument symbolic(Json json, NameUse use);
  Argument graphRef(Json json);

  MetaReader &metas;
  Problems &problems;
  const int depth;
  Graph graph;
  std::unordered_set<std::string_view> defined;
  /// After a failed definition its uses are not reported.
  bool isIncomplete = false;
};

Argument GraphReader::value(Json nameJson, NameUse use) {
  std::string_view name = nameJson.asString();
  if (use == NameUse::Define) {
    if (name.empty())
      nameJson.fail("a value needs a name");
    if (!defined.insert(name).second)
      nameJson.fail(fmt::format("value '{}' is defined twice", name));
  } else if (!defined.contains(name) && !isIncomplete) {
    nameJson.fail(fmt::format("value '{}' is used before it is defined", name));
  }
  return {ValueRef{std::string(name)}};
}

/// SymIntArgument and its siblings: a name or a literal.
Argument GraphReader::symbolic(Json json, NameUse use) {
  Json choice = json.onlyMember();
  if (choice.key() == "as_name")
    return value(choice, use);
  if (choice.key() == "as_int")
    return {choice.asInt()};
  if (choice.key() == "as_float")
    return {choice.asFloat()};
  if (choice.key() == "as_bool")
    return {choice.asBool()};
  choice.fail("unknown kind of symbolic argument");
}

Argument GraphReader::graphRef(Json json) {
  if (depth == kMaxGraphDepth)
    json.fail(fmt::format("graphs nested more than {} deep", kMaxGraphDepth));
  GraphReader reader(metas, problems, depth + 1);
  return {
      GraphRef{std::string(json.at("name").asString()),
               std::make_shared<const Graph>(reader.read(json.at("graph")))}};
}

/// The union Argument.
Argument GraphReader::argument(Json json, NameUse use) {
  auto tensor = [&](Json json) { return value(json.at("name"), use); };
  auto optionalTensor = [&](Json json) -> Argument {
    Json choice = json.onlyMember();
    if (choice.key() == "as_none")
      return {};
    if (choice.key() == "as_tensor")
      return tensor(choice);
    choice.fail("unknown kind of optional tensor");
  };
  auto symbol = [&](Json json) { return symbolic(json, use); };
  auto integer = [](Json json) -> Argument { return {json.asInt()}; };
  auto real = [](Json json) -> Argument { return {json.asFloat()}; };
  auto boolean = [](Json json) -> Argument { return {json.asBool()}; };
  auto text = [](Json json) -> Argument {
    return {std::string(json.asString())};
  };

  Json payload = json.onlyMember();
  std::string_view key = payload.key();
  // The most frequent first.
  if (key == "as_tensor" || key == "as_custom_obj")
    return tensor(payload);
  if (key == "as_int")
    return integer(payload);
  if (key == "as_ints")
    return list(payload, 1, integer);
  if (key == "as_float")
    return real(payload);
  if (key == "as_bool")
    return boolean(payload);
  if (key == "as_none")
    return {};
  if (key == "as_tensors")
    return list(payload, 1, tensor);
  if (key == "as_sym_int" || key == "as_sym_float" || key == "as_sym_bool")
    return symbol(payload);
  if (key == "as_sym_ints" || key == "as_sym_floats" || key == "as_sym_bools")
    return list(payload, 1, symbol);
  if (key == "as_scalar_type")
    return {readDType(payload)};
  if (key == "as_memory_format")
    return {MemoryFormat{readMemoryFormat(payload)}};
  if (key == "as_layout")
    return {Layout{readLayout(payload)}};
  if (key == "as_device")
    return {Device{readDevice(payload)}};
  if (key == "as_string" || key == "as_operator")
    return text(payload);
  if (key == "as_strings")
    return list(payload, 1, text);
  if (key == "as_floats")
    return list(payload, 1, real);
  if (key == "as_bools")
    return list(payload, 1, boolean);
  if (key == "as_optional_tensor")
    return optionalTensor(payload);
  if (key == "as_optional_tensors")
    return list(payload, 1, optionalTensor);
  if (key == "as_graph")
    return graphRef(payload);
  if (key == "as_complex")
    return {std::complex<double>(payload.at("real").asFloat(),
                                 payload.at("imag").asFloat())};
  if (key == "as_nested_tensors")
    return list(payload, 2, tensor);
  if (key == "as_int_lists")
    return list(payload, 2, integer);
  if (key == "as_float_lists")
    return list(payload, 2, real);
  if (key == "as_string_to_argument") {
    // A dict, as a list of pairs.
    Argument::List items;
    for (Json member : payload.members())
      items.push_back(
          {Argument::List{{std::string(member.key())}, argument(member, use)}});
    return {std::move(items)};
  }
  payload.fail("unknown kind of argument",
               "the file was written by a newer PyTorch or edited by hand");
}

bool isLiteral(const Argument &argument) {
  return !std::holds_alternative<ValueRef>(argument.data) &&
         !std::holds_alternative<Argument::List>(argument.data);
}

void GraphReader::readValues(Json json) {
  auto add = [&](Json entry, ValueMeta meta) {
    if (!graph.values.emplace(entry.key(), std::move(meta)).second)
      entry.fail("a value of this name has another type as well");
  };
  for (Json entry : json.at("tensor_values").members())
    add(entry, metas.tensor(entry));
  auto addScalars = [&](const char *table, ValueKind kind) {
    if (std::optional<Json> entries = json.find(table))
      for (Json entry : entries->members())
        add(entry, metas.scalar(entry, kind));
  };
  addScalars("sym_int_values", ValueKind::SymInt);
  addScalars("sym_float_values", ValueKind::SymFloat);
  addScalars("sym_bool_values", ValueKind::SymBool);
  if (std::optional<Json> entries = json.find("custom_obj_values"))
    for (Json entry : entries->members()) {
      ValueMeta meta;
      meta.kind = ValueKind::CustomObject;
      add(entry, std::move(meta));
    }
}

std::string_view unqualifiedTarget(std::string_view target) {
  constexpr std::string_view prefix = "torch.ops.";
  return target.starts_with(prefix) ? target.substr(prefix.size()) : target;
}

/// The recorded name (schema 8.15 and newer), else that of the first result.
std::string nodeName(Json json, size_t index) {
  if (std::optional<Json> name = json.find("name"))
    return std::string(name->asString());
  for (Json output : json.at("outputs").elements()) {
    Json payload = output.onlyMember();
    if (payload.isArray() && payload.count() > 0)
      payload = *payload.elements().begin();
    if (payload.isObject())
      for (const char *field : {"name", "as_name"})
        if (std::optional<Json> name = payload.find(field))
          return std::string(name->asString());
  }
  return fmt::format("node_{}", index);
}

void GraphReader::readNode(Json json, size_t index) {
  Node node;
  auto describe = [&] {
    std::string text = fmt::format("in node '{}' ({})", node.name, node.target);
    if (!node.location.file.empty())
      text += fmt::format(", from {}:{} in {}: {}", node.location.file,
                          node.location.line, node.location.function,
                          node.location.code);
    return text;
  };
  problems.attempt(
      [&] {
        Json target = json.at("target");
        node.target = unqualifiedTarget(target.asString());
        node.name = nodeName(json, index);
        if (node.target.starts_with('#'))
          throwError(ErrorCode::Unsupported,
                     fmt::format("{}: operator '{}' of a third-party extension",
                                 target.where(), node.target));
        if (std::optional<Json> metadata = json.find("metadata")) {
          if (std::optional<Json> trace = metadata->find("stack_trace"))
            node.location = parseStackTrace(trace->asString());
          if (std::optional<Json> stack = metadata->find("nn_module_stack"))
            node.location.module = innermostModule(stack->asString());
        }
        for (Json input : json.at("inputs").elements())
          node.arguments.push_back({std::string(input.at("name").asString()),
                                    argument(input.at("arg"), NameUse::Read)});
      },
      describe);

  bool isHigherOrder = node.target.starts_with("higher_order.");
  isIncomplete |= !problems.attempt(
      [&] {
        for (Json output : json.at("outputs").elements()) {
          Argument result = argument(output, NameUse::Define);
          if (isLiteral(result) &&
              !std::holds_alternative<std::monostate>(result.data))
            output.fail("the result of a node has no name");
          // torch 2.6 writes a one-tuple of these operators as a list.
          if (auto *list = std::get_if<Argument::List>(&result.data);
              list && isHigherOrder)
            node.results.insert(node.results.end(), list->begin(), list->end());
          else
            node.results.push_back(std::move(result));
        }
      },
      describe);
  graph.nodes.push_back(std::move(node));
}

Graph GraphReader::read(Json json) {
  auto here = [&] { return fmt::format("in graph {}", json.path()); };
  isIncomplete |= !problems.attempt(
      [&] {
        readValues(json);
        for (Json input : json.at("inputs").elements())
          graph.inputs.push_back(argument(input, NameUse::Define));
      },
      here);
  Json nodes = json.at("nodes");
  graph.nodes.reserve(nodes.count());
  size_t index = 0;
  for (Json node : nodes.elements())
    readNode(node, index++);
  problems.attempt(
      [&] {
        for (Json output : json.at("outputs").elements())
          graph.outputs.push_back(argument(output, NameUse::Read));
      },
      here);
  return std::move(graph);
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

/// The name that a signature's `arg` gives, which is a TensorArgument or the
/// like; none for a literal.
std::string_view specName(Json argument) {
  return argument.at("name").asString();
}
std::string_view userSpecName(Json argument) {
  Json choice = argument.onlyMember();
  if (choice.key() == "as_tensor" || choice.key() == "as_custom_obj")
    return specName(choice);
  if (choice.key().starts_with("as_sym_"))
    if (std::optional<Json> name = choice.find("as_name"))
      return name->asString();
  return {};
}

/// Checks that a spec speaks of the value in its place.
void checkSpecName(Json spec, std::string_view name, const Argument &actual) {
  const auto *ref = std::get_if<ValueRef>(&actual.data);
  std::string_view actualName = ref ? std::string_view(ref->name) : "";
  if (name != actualName)
    spec.fail(fmt::format("the signature names '{}' where the graph has '{}'",
                          name, actualName));
}

InputSpec readInputSpec(Json json, const Argument &actual,
                        std::string &fallbackName) {
  Json choice = json.onlyMember();
  std::string_view kind = choice.key();
  InputSpec spec;
  if (kind == "constant_input") {
    fallbackName = specName(choice);
    if (!isLiteral(actual))
      choice.fail("the signature has a literal where the graph has a value");
    return spec;
  }
  Json argument = choice.at("arg");
  auto lifted = [&](InputSpec::Kind kind, const char *target) {
    spec.kind = kind;
    spec.name = specName(argument);
    spec.target = choice.at(target).asString();
  };
  if (kind == "user_input") {
    spec.name = userSpecName(argument);
    fallbackName = spec.name;
  } else if (kind == "parameter") {
    lifted(InputSpec::Kind::Parameter, "parameter_name");
  } else if (kind == "buffer") {
    lifted(InputSpec::Kind::Buffer, "buffer_name");
    spec.persistent = choice.at("persistent").asBool();
  } else if (kind == "tensor_constant") {
    lifted(InputSpec::Kind::Constant, "tensor_constant_name");
  } else if (kind == "custom_obj") {
    lifted(InputSpec::Kind::CustomObject, "custom_obj_name");
  } else if (kind == "token") {
    spec.kind = InputSpec::Kind::Token;
    spec.name = specName(argument);
  } else {
    choice.fail("unknown kind of input");
  }
  checkSpecName(choice, spec.name, actual);
  return spec;
}

OutputSpec readOutputSpec(Json json, const Argument &actual) {
  Json choice = json.onlyMember();
  Json argument = choice.at("arg");
  struct NamedKind {
    std::string_view name;
    OutputSpec::Kind kind;
    const char *target; ///< field; null: none
  };
  using Kind = OutputSpec::Kind;
  static constexpr NamedKind kinds[] = {
      {"user_output", Kind::UserOutput, nullptr},
      {"loss_output", Kind::Loss, nullptr},
      {"buffer_mutation", Kind::BufferMutation, "buffer_name"},
      {"parameter_mutation", Kind::ParameterMutation, "parameter_name"},
      {"user_input_mutation", Kind::InputMutation, "user_input_name"},
      {"gradient_to_parameter", Kind::ParameterGradient, "parameter_name"},
      {"gradient_to_user_input", Kind::InputGradient, "user_input_name"},
      {"token", Kind::Token, nullptr},
  };
  for (const NamedKind &entry : kinds) {
    if (entry.name != choice.key())
      continue;
    checkSpecName(choice,
                  entry.kind == Kind::UserOutput ? userSpecName(argument)
                                                 : specName(argument),
                  actual);
    OutputSpec spec{entry.kind, {}};
    if (entry.target)
      spec.target = choice.at(entry.target).asString();
    return spec;
  }
  choice.fail("unknown kind of output");
}

void checkCount(Json specs, size_t expected) {
  if (specs.count() != expected)
    specs.fail(
        fmt::format("{} entries for the graph's {}", specs.count(), expected));
}

/// A bound of a symbol's range; torch 2.5 writes the lack of one as infinity.
std::optional<int64_t> readBound(Json range, const char *name) {
  std::optional<Json> bound = range.find(name);
  if (!bound || (!bound->isInt() && std::isinf(bound->asFloat())))
    return std::nullopt;
  return bound->asInt();
}

/// Returns the placeholders' names of the user inputs.
std::vector<std::string> readSignature(Json signature, Program &program) {
  std::vector<std::string> userNames;
  Json inputs = signature.at("input_specs");
  checkCount(inputs, program.graph.inputs.size());
  std::unordered_set<std::string_view> userInputs;
  for (Json json : inputs.elements()) {
    std::string userName;
    InputSpec spec = readInputSpec(
        json, program.graph.inputs[program.inputs.size()], userName);
    if (spec.kind == InputSpec::Kind::UserInput)
      userNames.push_back(std::move(userName));
    program.inputs.push_back(std::move(spec));
  }
  for (const InputSpec &spec : program.inputs)
    if (spec.kind == InputSpec::Kind::UserInput && !spec.name.empty())
      userInputs.insert(spec.name);

  Json outputs = signature.at("output_specs");
  checkCount(outputs, program.graph.outputs.size());
  std::set<std::pair<OutputSpec::Kind, std::string>> mutated;
  for (Json json : outputs.elements()) {
    OutputSpec spec =
        readOutputSpec(json, program.graph.outputs[program.outputs.size()]);
    using Kind = OutputSpec::Kind;
    if ((spec.kind == Kind::InputMutation ||
         spec.kind == Kind::InputGradient) &&
        !userInputs.contains(spec.target))
      json.fail(fmt::format("'{}' is not an input of the user", spec.target));
    if (!spec.target.empty() && !mutated.emplace(spec.kind, spec.target).second)
      json.fail(fmt::format("'{}' has two outputs of this kind", spec.target));
    program.outputs.push_back(std::move(spec));
  }
  return userNames;
}

} // namespace

//===----------------------------------------------------------------------===//
// Programs
//===----------------------------------------------------------------------===//

ValueMeta readTensorMeta(Json meta) { return MetaReader().tensor(meta); }

Program readExportJson(Json json) {
  Program program;
  Json version = json.at("schema_version");
  program.schemaMajor = static_cast<int>(version.at("major").asInt());
  program.schemaMinor = static_cast<int>(version.at("minor").asInt());
  if (program.schemaMajor != 7 && program.schemaMajor != 8)
    throwError(ErrorCode::Unsupported,
               fmt::format("{}: schema {}.{}; gcompile reads 7.x and 8.x, of "
                           "PyTorch 2.5 and newer",
                           version.where(), program.schemaMajor,
                           program.schemaMinor),
               "export the model with another release of PyTorch");
  if (std::optional<Json> verifiers = json.find("verifiers"))
    for (Json verifier : verifiers->elements())
      if (program.dialect.empty())
        program.dialect = verifier.asString();
  if (std::optional<Json> torch = json.find("torch_version"))
    program.torchVersion = torch->asString();
  if (std::optional<Json> guards = json.find("guards_code"))
    for (Json guard : guards->elements())
      program.guards.emplace_back(guard.asString());
  for (Json json : json.at("range_constraints").members()) {
    SymbolRange range{readBound(json, "min_val"), readBound(json, "max_val")};
    if (range.min && range.max && *range.min > *range.max)
      json.fail(fmt::format("range [{}, {}] of symbol '{}' is empty",
                            *range.min, *range.max, json.key()));
    program.symbolRanges.emplace(json.key(), range);
  }

  Json module = json.at("graph_module");
  MetaReader metas;
  Problems problems;
  program.graph = GraphReader(metas, problems, 0).read(module.at("graph"));
  problems.throwIfAny();
  std::vector<std::string> placeholders =
      readSignature(module.at("signature"), program);
  program.userInputNames = userInputNames(module, std::move(placeholders));
  return program;
}

} // namespace gcompile::frontend
