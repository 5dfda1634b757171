//===- FxGraphBuilder.h - graphs from the names in FX text ----------------===//
// FX text is a program over names that are defined once, used, and released.
// The builder keeps those rules and makes a Graph; both text forms use it.
#pragma once
#include "FxTextLexer.h"
#include "gcompile/frontend/Program.h"

#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace gcompile::frontend {

/// Calls that are not ATen operators, found anywhere in a program. They are
/// collected, so that one error can name them all.
struct FxRefusals {
  struct Refusal {
    std::string target;
    size_t offset;
  };
  std::vector<Refusal> refusals;
  /// Throws an Unsupported if there are any.
  void throwIfAny(const FxSource &source) const;
};

class FxGraphBuilder {
public:
  FxGraphBuilder(const FxSource &source, FxRefusals &refusals)
      : source(source), refusals(refusals) {}

  /// Where the user's program made the nodes that follow.
  void setLocation(SourceLocation where) { location = std::move(where); }

  void addInput(std::string_view name, size_t offset,
                std::optional<ValueMeta> meta);
  /// Reads "self.PATH": an input, the same for every read of one path.
  void addAttribute(std::string_view name, size_t offset, std::string path,
                    std::optional<ValueMeta> meta);
  void addNode(std::string_view name, size_t offset, std::string target,
               std::vector<NamedArgument> arguments,
               std::optional<ValueMeta> meta);
  /// Gives a value, a literal or a sub-graph another name.
  void alias(std::string_view name, size_t offset, Argument value);
  /// Notes a call that is not an ATen operator; its result can be used.
  void refuse(std::string_view name, size_t offset, std::string target);

  Argument use(std::string_view name, size_t offset);
  bool isDefined(std::string_view name) const;
  /// What an annotation said of a value; null if nothing did.
  const ValueMeta *meta(const Argument &value) const;
  /// "name = None": later uses are errors.
  void release(std::string_view name, size_t offset);
  /// Appends the leaves of a returned value.
  void addOutputs(Argument value, size_t offset);

  /// The graph, for use as a sub-graph: without attributes of its own.
  Graph takeGraph();
  /// The graph with its attributes as inputs after the others.
  Program takeProgram();

private:
  struct Name {
    Argument value;
    size_t defined;
    std::optional<size_t> released;
    bool isUsed = false;
  };
  void define(std::string_view name, size_t offset, Argument value);
  void record(std::string_view name, std::optional<ValueMeta> meta);

  /// A higher-order operator calls a sub-graph; str(graph) does not print it.
  void checkSubGraphs(size_t offset, std::string_view target,
                      const std::vector<NamedArgument> &arguments) const;

  struct Attribute {
    std::string name, path;
    size_t offset;
  };
  const FxSource &source;
  FxRefusals &refusals;
  Graph graph;
  std::unordered_map<std::string, Name> names;
  std::vector<Attribute> attributes;
  std::unordered_map<std::string, std::string> attributeNames; ///< by path
  SourceLocation location;
};

/// The kind of value that an attribute read by a graph is. Text does not say;
/// FX names the tensors that it found in the traced code "_tensor_constant0".
InputSpec::Kind attributeKind(std::string_view path);

} // namespace gcompile::frontend
