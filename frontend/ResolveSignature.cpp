//===- ResolveSignature.cpp - tell a text program's weights and outputs ---===//
// torch.export calls the placeholder of parameter "blocks.0.wq" p_blocks_0_wq:
// lower case, everything but letters and digits replaced, and "_1" appended if
// the name is taken. Several names of weights may thus fit one placeholder.
#include "gcompile/frontend/Readers.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <set>
#include <unordered_map>

namespace gcompile::frontend {
namespace {

[[noreturn]] void fail(std::string message, std::string help = {},
                       std::vector<std::string> notes = {}) {
  throwError(ErrorCode::InvalidArgument, std::move(message), std::move(help),
             std::move(notes));
}

constexpr const char *kReferenceHelp =
    "give the .pt2 from which the text was printed as the weights: it tells "
    "which placeholder is which";

//===----------------------------------------------------------------------===//
// Types
//===----------------------------------------------------------------------===//

bool isTensor(const ValueMeta *meta) {
  return meta && meta->kind == ValueKind::Tensor;
}

/// Whether two types may be the same; what is not known fits everything.
bool mayBeSame(const ValueMeta *a, const ValueMeta *b) {
  if (!isTensor(a) || !isTensor(b))
    return true;
  return a->dtype == b->dtype &&
         std::ranges::equal(a->sizes, b->sizes, [](auto &x, auto &y) {
           return !x.isStatic() || !y.isStatic() || x.value == y.value;
         });
}

bool mayBeSame(const ValueMeta *meta, const Tensor &tensor) {
  if (!isTensor(meta))
    return true;
  return meta->dtype == tensor.dtype &&
         std::ranges::equal(meta->sizes, tensor.sizes,
                            [](const SymInt &x, int64_t y) {
                              return !x.isStatic() || x.value == y;
                            });
}

std::string describe(const ValueMeta &meta) {
  std::vector<std::string> sizes;
  for (const SymInt &size : meta.sizes)
    sizes.push_back(size.expr ? size.expr->str()
                              : fmt::format("{}", size.value));
  return fmt::format("{}[{}]", shortName(meta.dtype), fmt::join(sizes, ", "));
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

std::string mangle(std::string_view name) {
  std::string mangled;
  for (char c : name) {
    auto byte = static_cast<unsigned char>(c);
    mangled += std::isalnum(byte) ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return mangled;
}

struct Prefix {
  std::string_view text;
  InputSpec::Kind kind;
};
/// In the order in which torch.export puts them, before the user's inputs.
constexpr Prefix kPrefixes[] = {{"p_", InputSpec::Kind::Parameter},
                                {"b_", InputSpec::Kind::Buffer},
                                {"c_", InputSpec::Kind::Constant},
                                {"obj_", InputSpec::Kind::CustomObject}};

/// The names of a store, by how placeholders spell them.
class WeightNames {
public:
  explicit WeightNames(const WeightStore &weights) : weights(weights) {
    for (const auto &[name, tensor] : weights.tensors)
      names[mangle(name)].push_back(name);
    for (const auto &[name, reason] : weights.absent)
      names[mangle(name)].push_back(name);
  }

  bool empty() const { return names.empty(); }

  /// Takes the one weight that a placeholder's name (without its prefix) and
  /// type fit; none if there is none.
  std::optional<std::string> take(const std::string &placeholder,
                                  std::string_view name,
                                  const ValueMeta *meta) {
    const std::vector<std::string> *candidates = find(name);
    if (!candidates)
      return std::nullopt;
    std::vector<std::string> fitting;
    for (const std::string &candidate : *candidates)
      if (!taken.contains(candidate) && fits(candidate, meta))
        fitting.push_back(candidate);
    if (fitting.size() > 1)
      fail(fmt::format("placeholder '{}' can be any of the weights {}",
                       placeholder, fmt::join(fitting, ", ")),
           kReferenceHelp);
    if (fitting.empty()) {
      const std::string &candidate = candidates->front();
      auto tensor = weights.tensors.find(candidate);
      if (tensor == weights.tensors.end() || !isTensor(meta))
        return std::nullopt;
      fail(fmt::format("placeholder '{}' is {}, but the weight '{}' is {}",
                       placeholder, describe(*meta), candidate,
                       tensor->second.describe()),
           "the weights are of another model");
    }
    taken.insert(fitting[0]);
    return fitting[0];
  }

private:
  const std::vector<std::string> *find(std::string_view name) const {
    auto it = names.find(mangle(name));
    if (it != names.end())
      return &it->second;
    // Names that collide get "_1", "_2", ... appended.
    size_t digits = name.find_last_not_of("0123456789");
    if (digits == name.npos || digits + 1 == name.size() || name[digits] != '_')
      return nullptr;
    it = names.find(mangle(name.substr(0, digits)));
    return it == names.end() || it->second.size() < 2 ? nullptr : &it->second;
  }

  bool fits(const std::string &name, const ValueMeta *meta) const {
    auto tensor = weights.tensors.find(name);
    return tensor == weights.tensors.end() || mayBeSame(meta, tensor->second);
  }

  const WeightStore &weights;
  std::unordered_map<std::string, std::vector<std::string>> names;
  std::set<std::string> taken;
};

//===----------------------------------------------------------------------===//
// The resolver
//===----------------------------------------------------------------------===//

bool isMutation(const OutputSpec &spec) {
  return spec.kind == OutputSpec::Kind::BufferMutation ||
         spec.kind == OutputSpec::Kind::ParameterMutation ||
         spec.kind == OutputSpec::Kind::InputMutation ||
         spec.kind == OutputSpec::Kind::Token;
}

class Resolver {
public:
  explicit Resolver(Program &program) : program(program) {
    for (size_t i = 0; i < program.inputs.size(); ++i)
      inputs.emplace(program.inputs[i].name, i);
    for (const Node &node : program.graph.nodes)
      producers.emplace(node.name, &node);
  }

  void matchInputs(const Program &reference);
  void matchInputs(const WeightStore &weights);
  void matchOutputs(const Program &reference);
  void guessOutputs();

private:
  const ValueMeta *meta(const Graph &graph, const std::string &name) const {
    auto it = graph.values.find(name);
    return it == graph.values.end() ? nullptr : &it->second;
  }
  const ValueMeta *meta(const std::string &name) const {
    return meta(program.graph, name);
  }
  void matchByPosition(const Program &reference);
  std::optional<size_t> updatedInput(const Argument &output) const;
  OutputSpec mutation(size_t input) const;

  Program &program;
  std::unordered_map<std::string, size_t> inputs;
  std::unordered_map<std::string, const Node *> producers;
};

/// Copies the specs of inputs with the same names, and of attributes that are
/// parameters, buffers or constants of the reference.
void Resolver::matchInputs(const Program &reference) {
  std::unordered_map<std::string, const InputSpec *> byName, byTarget;
  for (const InputSpec &spec : reference.inputs) {
    byName.emplace(spec.name, &spec);
    byTarget.emplace(spec.target, &spec);
  }
  bool sameCount = reference.inputs.size() == program.inputs.size();
  bool anyCommon = std::ranges::any_of(program.inputs, [&](auto &spec) {
    return byName.contains(spec.name) ||
           (!spec.target.empty() && byTarget.contains(spec.target));
  });
  if (!anyCommon && sameCount)
    return matchByPosition(reference);
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    InputSpec &spec = program.inputs[i];
    if (spec.kind != InputSpec::Kind::UserInput) { // an attribute
      if (auto it = byTarget.find(spec.target); it != byTarget.end()) {
        spec.kind = it->second->kind;
        spec.persistent = it->second->persistent;
      }
      continue;
    }
    if (sameCount && reference.inputs[i].name.empty()) {
      program.graph.inputs[i] = reference.graph.inputs[i];
      spec = reference.inputs[i];
      continue;
    }
    if (spec.name.empty()) // a constant
      continue;
    auto it = byName.find(spec.name);
    if (it == byName.end())
      fail(fmt::format("placeholder '{}' of the graph is no input of the .pt2",
                       spec.name),
           "the two are of different models or exports");
    spec = *it->second;
  }
  size_t numUserInputs = std::ranges::count(
      program.inputs, InputSpec::Kind::UserInput, &InputSpec::kind);
  if (reference.userInputNames.size() == numUserInputs)
    program.userInputNames = reference.userInputNames;
}

/// Graphs of AOTAutograd call their inputs primals_1 or arg0_1, but keep the
/// order of the exported program.
void Resolver::matchByPosition(const Program &reference) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    const InputSpec &theirs = reference.inputs[i];
    InputSpec &ours = program.inputs[i];
    const ValueMeta *ourMeta = meta(ours.name);
    const ValueMeta *theirMeta = meta(reference.graph, theirs.name);
    if (!isTensor(ourMeta) || !isTensor(theirMeta) ||
        !mayBeSame(ourMeta, theirMeta))
      fail(fmt::format("placeholder '{}' of the graph is not input {} of the "
                       ".pt2",
                       ours.name, i),
           "the two are of different models or exports");
    std::string name = std::move(ours.name);
    ours = theirs;
    ours.name = std::move(name);
  }
  program.userInputNames = reference.userInputNames;
}

/// Placeholders p_*, b_* and c_* that come first are parameters, buffers and
/// constants. Without any weights they keep their mangled names.
void Resolver::matchInputs(const WeightStore &weights) {
  WeightNames names(weights);
  std::vector<std::string> missing;
  size_t numMatched = 0;
  auto prefix = std::begin(kPrefixes);
  for (InputSpec &spec : program.inputs) {
    prefix = std::find_if(prefix, std::end(kPrefixes), [&](const Prefix &p) {
      return spec.name.starts_with(p.text);
    });
    if (prefix == std::end(kPrefixes) ||
        spec.kind != InputSpec::Kind::UserInput)
      break; // the user's inputs follow
    std::string_view name = std::string_view(spec.name);
    name.remove_prefix(prefix->text.size());
    spec.kind = prefix->kind;
    spec.target = name;
    if (spec.kind == InputSpec::Kind::CustomObject || names.empty())
      continue;
    std::optional<std::string> target =
        names.take(spec.name, name, meta(spec.name));
    if (!target) {
      missing.push_back(spec.name);
      continue;
    }
    ++numMatched;
    spec.target = *std::move(target);
  }
  if (missing.empty())
    return;
  if (numMatched == 0)
    fail("the weights hold none of the graph's parameters",
         "the weights are of another model", std::move(missing));
  std::string message =
      fmt::format("the weights hold no tensor for {} placeholders of the graph",
                  missing.size());
  fail(std::move(message),
       "a state_dict lacks constants and buffers that are not persistent, a "
       "safetensors file lacks tied tensors; the .pt2 has them all",
       std::move(missing));
}

/// The program may be functional where the reference is not, and then has the
/// new values of what the reference updates in place as leading outputs.
void Resolver::matchOutputs(const Program &reference) {
  if (reference.outputs.size() == program.outputs.size()) {
    program.outputs = reference.outputs;
    return;
  }
  std::vector<OutputSpec> specs;
  std::ranges::remove_copy_if(reference.outputs, std::back_inserter(specs),
                              isMutation);
  if (program.outputs.size() < specs.size())
    fail(fmt::format("the graph has {} outputs, the .pt2 {}",
                     program.outputs.size(), specs.size()),
         "the two are of different models or exports");
  size_t numMutations = program.outputs.size() - specs.size();
  std::set<size_t> updated;
  for (size_t i = 0; i < numMutations; ++i) {
    std::optional<size_t> input = updatedInput(program.graph.outputs[i]);
    if (!input || !updated.insert(*input).second)
      fail(fmt::format("cannot tell what output {} of the graph updates", i),
           "print the graph signature with it: print(exported_program)");
    program.outputs[i] = mutation(*input);
  }
  std::ranges::copy(specs, program.outputs.begin() + numMutations);
}

/// Leading outputs that are computed from a buffer of the same type update it.
/// The last output is always the user's.
void Resolver::guessOutputs() {
  std::set<size_t> updated;
  for (size_t i = 0; i + 1 < program.outputs.size(); ++i) {
    std::optional<size_t> input = updatedInput(program.graph.outputs[i]);
    if (!input || program.inputs[*input].kind != InputSpec::Kind::Buffer ||
        !updated.insert(*input).second)
      return;
    program.outputs[i] = mutation(*input);
  }
}

/// Results of an operator that are new values of some of its arguments.
struct FunctionalUpdate {
  std::string_view target;
  size_t firstResult, firstArgument, count;
};
constexpr FunctionalUpdate kFunctionalUpdates[] = {
    {"aten._native_batch_norm_legit_functional.default", 3, 3, 2},
    {"aten._batch_norm_with_update_functional.default", 4, 3, 2},
};

/// The argument of which a result is the new value, else the first one.
size_t updatedArgument(const Node &node, int64_t result) {
  for (const FunctionalUpdate &update : kFunctionalUpdates)
    if (node.target == update.target &&
        result >= static_cast<int64_t>(update.firstResult) &&
        result < static_cast<int64_t>(update.firstResult + update.count))
      return update.firstArgument + result - update.firstResult;
  return 0;
}

/// The input of the same type that `output` is a new value of, as far as first
/// arguments (index_put, slice_scatter, copy, add, ...) lead back to one.
std::optional<size_t> Resolver::updatedInput(const Argument &output) const {
  const auto *ref = std::get_if<ValueRef>(&output.data);
  if (!ref || inputs.contains(ref->name))
    return std::nullopt;
  const ValueMeta *type = meta(ref->name);
  int64_t result = 0; // of the node that `ref` names
  while (ref) {
    if (auto input = inputs.find(ref->name); input != inputs.end())
      return mayBeSame(type, meta(ref->name)) ? std::optional(input->second)
                                              : std::nullopt;
    const Node &node = *producers.at(ref->name);
    size_t index = updatedArgument(node, result);
    if (index >= node.arguments.size())
      return std::nullopt;
    const Argument *argument = &node.arguments[index].value;
    if (const auto *list = std::get_if<Argument::List>(&argument->data);
        list && !list->empty())
      argument = &list->front();
    ref = std::get_if<ValueRef>(&argument->data);
    result = 0;
    if (node.target == "_operator.getitem" && node.arguments.size() == 2)
      if (const auto *element =
              std::get_if<int64_t>(&node.arguments[1].value.data))
        result = *element;
  }
  return std::nullopt;
}

OutputSpec Resolver::mutation(size_t input) const {
  const InputSpec &spec = program.inputs[input];
  switch (spec.kind) {
  case InputSpec::Kind::Buffer:
    return {OutputSpec::Kind::BufferMutation, spec.target};
  case InputSpec::Kind::Parameter:
    return {OutputSpec::Kind::ParameterMutation, spec.target};
  case InputSpec::Kind::UserInput:
    return {OutputSpec::Kind::InputMutation, spec.name};
  default:
    fail(fmt::format("the graph updates '{}', which is constant", spec.name),
         kReferenceHelp);
  }
}

} // namespace

Status resolveSignature(Program &program, const WeightStore &weights,
                        const Program *reference) {
  if (program.signatureSource != SignatureSource::Guessed)
    return {};
  return catchErrors<Status>([&]() -> Status {
    Program resolved = program;
    Resolver resolver(resolved);
    if (reference) {
      resolver.matchInputs(*reference);
      resolver.matchOutputs(*reference);
    } else {
      resolver.matchInputs(weights);
      resolver.guessOutputs();
    }
    if (reference || !weights.tensors.empty() || !weights.absent.empty())
      resolved.signatureSource = SignatureSource::Exported;
    program = std::move(resolved);
    return {};
  });
}

} // namespace gcompile::frontend
