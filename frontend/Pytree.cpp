#include "Pytree.h"

#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

constexpr int kMaxDepth = 64;

/// Appends the names of the leaves below `node`.
class LeafNamer {
public:
  LeafNamer(std::optional<Json> namedTuples,
            const std::vector<std::string> &placeholders)
      : namedTuples(namedTuples), placeholders(placeholders) {}

  /// `base` is the user's name for `node`; empty: not known, so its leaves keep
  /// the names of their placeholders.
  void visit(Json node, const std::string &base, int depth = 0) {
    if (depth > kMaxDepth)
      node.fail(fmt::format("nested more than {} levels deep", kMaxDepth));
    if (!node.find("type")) {
      bool isKnown = !base.empty() || names.size() >= placeholders.size();
      names.push_back(isKnown ? base : placeholders[names.size()]);
      return;
    }
    std::vector<std::string> suffixes = childSuffixes(node);
    size_t index = 0;
    for (Json child : node.at("children_spec").elements()) {
      std::string suffix = index < suffixes.size() ? suffixes[index]
                                                   : fmt::format("[{}]", index);
      visit(child, base.empty() ? base : base + suffix, depth + 1);
      ++index;
    }
  }

  std::vector<std::string> names;

private:
  /// How the children of a container are reached; missing ones by position.
  std::vector<std::string> childSuffixes(Json node) const;

  std::optional<Json> namedTuples;
  const std::vector<std::string> &placeholders;
};

std::vector<std::string> keySuffixes(Json keys) {
  std::vector<std::string> suffixes;
  for (Json key : keys.elements())
    suffixes.push_back(key.isInt() ? fmt::format("[{}]", key.asInt())
                                   : fmt::format("['{}']", key.asString()));
  return suffixes;
}

std::vector<std::string> fieldSuffixes(Json fields) {
  std::vector<std::string> suffixes;
  for (Json field : fields.elements())
    suffixes.push_back(fmt::format(".{}", field.asString()));
  return suffixes;
}

std::vector<std::string> LeafNamer::childSuffixes(Json node) const {
  std::string_view type = node.at("type").asString();
  std::optional<Json> context = node.find("context");
  if (!context)
    return {};
  // Its context is an object, those of all others are text.
  if (type == "collections.defaultdict")
    return keySuffixes(context->at("dict_context"));
  if (!context->isString())
    return {};
  if (type == "collections.namedtuple") {
    if (!namedTuples)
      return {};
    std::optional<Json> definition = namedTuples->find(context->asString());
    return definition ? fieldSuffixes(definition->at("field_names"))
                      : std::vector<std::string>();
  }
  bool isDict = type == "builtins.dict" || type == "collections.OrderedDict";
  bool isSequence = type == "builtins.tuple" || type == "builtins.list" ||
                    type == "collections.deque" || type == "torch.Size";
  if (isSequence)
    return {};
  // A registered dataclass: [[fields with a child], [fields that were None]].
  bool isDataclass = context->asString().starts_with("[[");
  if (!isDict && !isDataclass)
    return {};
  JsonDocument parsed(context->asString(), context->where());
  return isDict ? keySuffixes(parsed.root())
                : fieldSuffixes(*parsed.root().elements().begin());
}

/// The protocol's `[1, node]`.
Json specNode(const JsonDocument &spec) {
  Json root = spec.root();
  if (!root.isArray() || root.count() != 2)
    root.fail("expected [protocol, tree]");
  auto element = root.elements().begin();
  if ((*element).asInt() != 1)
    root.fail("unknown protocol of a tree");
  return *++element;
}

} // namespace

std::vector<std::string> userInputNames(Json graphModule,
                                        std::vector<std::string> placeholders) {
  std::optional<Json> signature;
  if (std::optional<Json> calls = graphModule.find("module_call_graph"))
    for (Json entry : calls->elements())
      if (entry.at("fqn").asString().empty())
        signature = entry.find("signature");
  if (!signature)
    return placeholders;

  std::vector<std::string> argumentNames;
  if (std::optional<Json> names = signature->find("forward_arg_names"))
    for (Json name : names->elements())
      argumentNames.emplace_back(name.asString());

  Json text = signature->at("in_spec");
  JsonDocument spec(text.asString(), text.where());
  Json root = specNode(spec);
  if (!root.isObject() || root.at("children_spec").count() != 2)
    root.fail("expected the positional and the keyword arguments");
  auto child = root.at("children_spec").elements().begin();
  Json positional = *child, keyword = *++child;

  LeafNamer namer(graphModule.find("treespec_namedtuple_fields"), placeholders);
  size_t index = 0;
  for (Json argument : positional.at("children_spec").elements()) {
    namer.visit(argument,
                index < argumentNames.size() ? argumentNames[index] : "");
    ++index;
  }
  JsonDocument keys(keyword.at("context").asString(), text.where());
  auto key = keys.root().elements().begin();
  for (Json argument : keyword.at("children_spec").elements()) {
    if (key == keys.root().elements().end())
      keyword.fail("more keyword arguments than names");
    namer.visit(argument, std::string((*key).asString()));
    ++key;
  }
  if (namer.names.size() != placeholders.size())
    text.fail(fmt::format("a tree of {} leaves for {} inputs of the user",
                          namer.names.size(), placeholders.size()));
  return namer.names;
}

} // namespace gcompile::frontend
