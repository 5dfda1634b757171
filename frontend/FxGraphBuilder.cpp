#include "FxGraphBuilder.h"

#include <algorithm>
#include <fmt/format.h>

namespace gcompile::frontend {

void FxRefusals::throwIfAny(const FxSource &source) const {
  if (refusals.empty())
    return;
  std::vector<std::string> targets;
  std::unordered_map<std::string, size_t> indices;
  std::vector<size_t> counts;
  std::vector<size_t> firstOffsets;
  for (const Refusal &refusal : refusals) {
    auto [it, isNew] = indices.try_emplace(refusal.target, targets.size());
    if (isNew) {
      targets.push_back(refusal.target);
      counts.push_back(0);
      firstOffsets.push_back(refusal.offset);
    }
    ++counts[it->second];
  }
  std::vector<std::string> notes;
  for (size_t i = 0; i < targets.size(); ++i) {
    std::string times =
        counts[i] == 1 ? "" : fmt::format(", {} times", counts[i]);
    notes.push_back(fmt::format("{}  at {}{}", targets[i],
                                source.place(firstOffsets[i]), times));
  }
  throwError(ErrorCode::Unsupported,
             fmt::format("{}: {} calls of the graph are not ATen operators",
                         source.name(), refusals.size()),
             "this text was printed before AOTAutograd; save the model with "
             "torch.export.save, or print the graph that "
             "TORCH_LOGS=aot_graphs shows",
             std::move(notes));
}

InputSpec::Kind attributeKind(std::string_view path) {
  std::string_view leaf = path.substr(path.rfind('.') + 1);
  return leaf.starts_with("_tensor_constant") ||
                 leaf.starts_with("lifted_tensor_")
             ? InputSpec::Kind::Constant
             : InputSpec::Kind::Parameter;
}

void FxGraphBuilder::define(std::string_view name, size_t offset,
                            Argument value) {
  auto [it, isNew] =
      names.try_emplace(std::string(name), Name{std::move(value), offset, {}});
  if (!isNew)
    source.fail(offset, fmt::format("'{}' is defined twice", name), {},
                ErrorCode::InvalidArgument,
                {fmt::format("first at {}", source.place(it->second.defined))});
}

void FxGraphBuilder::record(std::string_view name,
                            std::optional<ValueMeta> meta) {
  if (meta)
    graph.values.emplace(name, std::move(*meta));
}

void FxGraphBuilder::addInput(std::string_view name, size_t offset,
                              std::optional<ValueMeta> meta) {
  Argument value{ValueRef{std::string(name)}};
  define(name, offset, value);
  record(name, std::move(meta));
  graph.inputs.push_back(std::move(value));
}

void FxGraphBuilder::addAttribute(std::string_view name, size_t offset,
                                  std::string path,
                                  std::optional<ValueMeta> meta) {
  auto [it, isNew] = attributeNames.try_emplace(path, name);
  define(name, offset, {ValueRef{it->second}});
  if (!isNew)
    return;
  attributes.push_back({std::string(name), std::move(path), offset});
  record(name, std::move(meta));
}

void FxGraphBuilder::addNode(std::string_view name, size_t offset,
                             std::string target,
                             std::vector<NamedArgument> arguments,
                             std::optional<ValueMeta> meta) {
  if (target.starts_with("higher_order."))
    checkSubGraphs(offset, target, arguments);
  Argument result{ValueRef{std::string(name)}};
  define(name, offset, result);
  record(name, std::move(meta));
  graph.nodes.push_back({std::string(name),
                         std::move(target),
                         std::move(arguments),
                         {std::move(result)},
                         location});
}

void FxGraphBuilder::checkSubGraphs(
    size_t offset, std::string_view target,
    const std::vector<NamedArgument> &arguments) const {
  const std::string *missing = nullptr;
  for (const NamedArgument &argument : arguments) {
    if (std::holds_alternative<GraphRef>(argument.value.data))
      return;
    const auto *ref = std::get_if<ValueRef>(&argument.value.data);
    for (const Attribute &attribute : attributes)
      if (ref && ref->name == attribute.name && !missing)
        missing = &attribute.path;
  }
  if (missing)
    source.fail(offset,
                fmt::format("the text lacks the sub-graph '{}' of {}", *missing,
                            target),
                "print_readable() prints sub-graphs too");
}

void FxGraphBuilder::alias(std::string_view name, size_t offset,
                           Argument value) {
  define(name, offset, std::move(value));
}

void FxGraphBuilder::refuse(std::string_view name, size_t offset,
                            std::string target) {
  define(name, offset, {});
  refusals.refusals.push_back({std::string(shorten(target)), offset});
}

Argument FxGraphBuilder::use(std::string_view name, size_t offset) {
  auto it = names.find(std::string(name));
  if (it == names.end())
    source.fail(offset, fmt::format("'{}' is used but not defined", name));
  if (it->second.released)
    source.fail(
        offset, fmt::format("'{}' is used after its release", name), {},
        ErrorCode::InvalidArgument,
        {fmt::format("released at {}", source.place(*it->second.released))});
  it->second.isUsed = true;
  return it->second.value;
}

bool FxGraphBuilder::isDefined(std::string_view name) const {
  return names.contains(std::string(name));
}

const ValueMeta *FxGraphBuilder::meta(const Argument &value) const {
  const auto *ref = std::get_if<ValueRef>(&value.data);
  if (!ref)
    return nullptr;
  auto it = graph.values.find(ref->name);
  return it == graph.values.end() ? nullptr : &it->second;
}

void FxGraphBuilder::release(std::string_view name, size_t offset) {
  auto it = names.find(std::string(name));
  if (it == names.end())
    source.fail(offset, fmt::format("'{}' is released but not defined", name));
  if (!std::exchange(it->second.released, offset))
    return;
  source.fail(offset, fmt::format("'{}' is released twice", name));
}

void FxGraphBuilder::addOutputs(Argument value, size_t offset) {
  if (auto *list = std::get_if<Argument::List>(&value.data)) {
    for (Argument &element : *list)
      addOutputs(std::move(element), offset);
    return;
  }
  if (std::holds_alternative<GraphRef>(value.data))
    source.fail(offset, "the graph returns a sub-graph");
  graph.outputs.push_back(std::move(value));
}

Graph FxGraphBuilder::takeGraph() {
  if (!attributes.empty())
    source.fail(attributes[0].offset,
                fmt::format("a sub-graph reads 'self.{}'; only the outermost "
                            "graph may read attributes",
                            attributes[0].path),
                {}, ErrorCode::Unsupported);
  return std::move(graph);
}

Program FxGraphBuilder::takeProgram() {
  Program program;
  bool isTyped = std::ranges::any_of(
      graph.inputs, [&](const Argument &input) { return meta(input); });
  for (Argument &input : graph.inputs) {
    InputSpec spec;
    spec.name = std::get<ValueRef>(input.data).name;
    // FX types tensors and symbols. An input that is neither, and that nothing
    // uses, is a constant for which the graph was specialised.
    if (isTyped && !meta(input) && !names.at(spec.name).isUsed) {
      input = {};
      spec.name.clear();
    }
    program.inputs.push_back(std::move(spec));
  }
  for (Attribute &attribute : attributes) {
    graph.inputs.push_back({ValueRef{attribute.name}});
    program.inputs.push_back(
        {attributeKind(attribute.path), attribute.name, attribute.path, true});
  }
  program.outputs.resize(graph.outputs.size());
  program.graph = std::move(graph);
  program.signatureSource = SignatureSource::Guessed;
  return program;
}

} // namespace gcompile::frontend
