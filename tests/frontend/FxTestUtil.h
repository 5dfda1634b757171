//===- FxTestUtil.h - graphs as short text, to compare with ---------------===//
#pragma once
#include "FxTextReader.h"
#include "gcompile/frontend/Program.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

namespace gcompile::frontend::test {

inline std::string readData(const std::string &name) {
  std::ifstream file(GCOMPILE_TEST_DATA "/fx/" + name, std::ios::binary);
  EXPECT_TRUE(file) << name;
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

inline Result<Model> tryRead(const std::string &text, std::string graph = {}) {
  return catchErrors<Result<Model>>([&] {
    return readFxText(text, "test.txt", {.model = std::move(graph)});
  });
}

inline Model read(const std::string &text, std::string graph = {}) {
  Result<Model> model = tryRead(text, std::move(graph));
  if (model)
    return *std::move(model);
  ADD_FAILURE() << model.error().render();
  return {};
}

/// The error of a text that must not be read; its help and notes are dropped.
inline std::string errorOf(const std::string &text) {
  Result<Model> model = tryRead(text);
  return model ? "no error" : model.error().message;
}

/// A graph whose forward() takes x, with `body`, one statement a line.
inline std::string
module(const std::string &body,
       const std::string &parameters = ", x: \"f32[2, 3]\"") {
  std::string text = "class GraphModule(torch.nn.Module):\n"
                     "    def forward(self" +
                     parameters + "):\n";
  std::istringstream lines(body);
  for (std::string line; std::getline(lines, line);)
    text += "        " + line + "\n";
  return text;
}

inline std::string show(const SymInt &size) {
  return size.expr ? size.expr->str() : fmt::format("{}", size.value);
}

inline std::string show(const std::vector<SymInt> &sizes) {
  std::vector<std::string> parts;
  for (const SymInt &size : sizes)
    parts.push_back(show(size));
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

inline std::string show(const ValueMeta &meta) {
  switch (meta.kind) {
  case ValueKind::Tensor:
    return fmt::format("{}{}{}{}", shortName(meta.dtype), show(meta.sizes),
                       meta.strides.size() == meta.sizes.size() &&
                               !meta.device.empty()
                           ? show(meta.strides)
                           : "",
                       meta.device);
  case ValueKind::SymInt:
    return fmt::format("int {}", show(meta.sym));
  case ValueKind::SymFloat:
    return fmt::format("float {}", show(meta.sym));
  case ValueKind::SymBool:
    return fmt::format("bool {}", show(meta.sym));
  default:
    return "?";
  }
}

/// As FX prints it; names have a '%', sub-graphs show only their name.
inline std::string show(const Argument &argument) {
  struct Printer {
    std::string operator()(std::monostate) { return "None"; }
    std::string operator()(bool value) { return value ? "True" : "False"; }
    std::string operator()(int64_t value) { return fmt::format("{}", value); }
    std::string operator()(double value) {
      std::string text = fmt::format("{}", value);
      return text.find_first_of(".en") == text.npos ? text + ".0" : text;
    }
    std::string operator()(std::complex<double> value) {
      return fmt::format("({}{:+}j)", value.real(), value.imag());
    }
    std::string operator()(const std::string &value) {
      return fmt::format("'{}'", value);
    }
    std::string operator()(DType value) {
      return fmt::format("torch.{}", name(value));
    }
    std::string operator()(const MemoryFormat &value) {
      return fmt::format("format {}", value.name);
    }
    std::string operator()(const Layout &value) {
      return fmt::format("layout {}", value.name);
    }
    std::string operator()(const Device &value) {
      return fmt::format("device {}", value.name);
    }
    std::string operator()(const ValueRef &value) {
      return fmt::format("%{}", value.name);
    }
    std::string operator()(const Argument::List &values) {
      std::vector<std::string> parts;
      for (const Argument &value : values)
        parts.push_back(show(value));
      return fmt::format("[{}]", fmt::join(parts, ", "));
    }
    std::string operator()(const GraphRef &value) {
      return fmt::format("graph {}", value.name);
    }
    std::string operator()(const Slice &value) {
      return fmt::format("slice({}, {}, {})", show(*value.start),
                         show(*value.stop), show(*value.step));
    }
    std::string operator()(const Ellipsis &) { return "..."; }
  };
  return std::visit(Printer{}, argument.data);
}

/// "add = aten.add.Tensor(%x, 1, alpha=2)"
inline std::string show(const Node &node) {
  std::vector<std::string> arguments;
  for (const NamedArgument &argument : node.arguments)
    arguments.push_back(
        argument.name.empty()
            ? show(argument.value)
            : fmt::format("{}={}", argument.name, show(argument.value)));
  return fmt::format("{} = {}({})", node.name, node.target,
                     fmt::join(arguments, ", "));
}

inline std::vector<std::string> showNodes(const Graph &graph) {
  std::vector<std::string> lines;
  for (const Node &node : graph.nodes)
    lines.push_back(show(node));
  return lines;
}

inline std::string showOutputs(const Graph &graph) {
  return show(Argument{graph.outputs});
}

inline std::string showInputs(const Graph &graph) {
  std::vector<std::string> parts;
  for (const Argument &input : graph.inputs) {
    const auto *ref = std::get_if<ValueRef>(&input.data);
    auto value = ref ? graph.values.find(ref->name) : graph.values.end();
    parts.push_back(
        value == graph.values.end()
            ? show(input)
            : fmt::format("{}: {}", show(input), show(value->second)));
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

/// "parameter p_w = w; buffer b_n = n (not persistent); user x"
inline std::string showSpecs(const std::vector<InputSpec> &specs) {
  constexpr const char *kKinds[] = {"user",     "parameter", "buffer",
                                    "constant", "object",    "token"};
  std::vector<std::string> parts;
  for (const InputSpec &spec : specs)
    parts.push_back(fmt::format("{} {}{}{}{}",
                                kKinds[static_cast<int>(spec.kind)], spec.name,
                                spec.target.empty() ? "" : " = ", spec.target,
                                spec.persistent ? "" : " (not persistent)"));
  return fmt::format("{}", fmt::join(parts, "; "));
}

inline std::string showSpecs(const std::vector<OutputSpec> &specs) {
  constexpr const char *kKinds[] = {"user",           "loss",  "buffer",
                                    "parameter",      "input", "gradient",
                                    "input gradient", "token"};
  std::vector<std::string> parts;
  for (const OutputSpec &spec : specs)
    parts.push_back(fmt::format("{}{}{}", kKinds[static_cast<int>(spec.kind)],
                                spec.target.empty() ? "" : " ", spec.target));
  return fmt::format("{}", fmt::join(parts, "; "));
}

} // namespace gcompile::frontend::test
