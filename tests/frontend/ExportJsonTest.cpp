#include "ExportJsonReader.h"
#include "StackTrace.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

/// The parts of a program of one node, y = relu(x), to be replaced by wrong
/// ones.
struct Parts {
  std::string version = R"({"major": 8, "minor": 17})";
  std::string inputs = R"([{"as_tensor": {"name": "x"}}])";
  std::string outputs = R"([{"as_tensor": {"name": "y"}}])";
  std::string nodes =
      R"([{"target": "torch.ops.aten.relu.default", "inputs": [{"name": "self", "arg": {"as_tensor": {"name": "x"}}}], "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}])";
  std::string sizes = R"([{"as_int": 2}])";
  std::string meta =
      R"("dtype": 7, "requires_grad": false, "device": {"type": "cuda", "index": 1}, "strides": [{"as_int": 1}], "storage_offset": {"as_int": 0}, "layout": 7)";
  std::string moreValues;
  std::string symInts = "{}";
  std::string ranges = "{}";
  std::string inputSpecs =
      R"([{"user_input": {"arg": {"as_tensor": {"name": "x"}}}}])";
  std::string outputSpecs =
      R"([{"user_output": {"arg": {"as_tensor": {"name": "y"}}}}])";
  std::string calls = "[]";

  std::string tensorMeta() const {
    return "{" + meta + R"(, "sizes": )" + sizes + "}";
  }
  std::string text() const {
    return R"({"graph_module": {"graph": {"inputs": )" + inputs +
           R"(, "outputs": )" + outputs + R"(, "nodes": )" + nodes +
           R"(, "tensor_values": {"x": )" + tensorMeta() + R"(, "y": )" +
           tensorMeta() + moreValues + R"(}, "sym_int_values": )" + symInts +
           R"(, "sym_bool_values": {}}, "signature": {"input_specs": )" +
           inputSpecs + R"(, "output_specs": )" + outputSpecs +
           R"(}, "module_call_graph": )" + calls +
           R"(}, "range_constraints": )" + ranges + R"(, "schema_version": )" +
           version + R"(, "verifiers": ["ATEN"], "torch_version": "2.11.0"})";
  }
};

Program read(const Parts &parts) {
  JsonDocument document(parts.text(), "model.json");
  return readExportJson(document.root());
}

Error errorOf(const Parts &parts) {
  try {
    read(parts);
  } catch (const ErrorException &e) {
    return e.error;
  }
  return {};
}
std::string messageOf(const Parts &parts) { return errorOf(parts).message; }

/// The argument that `json`, an Argument, is read to.
Argument argument(const std::string &json) {
  Parts parts;
  parts.nodes =
      R"([{"target": "t", "inputs": [{"name": "a", "arg": )" + json +
      R"(}], "outputs": [{"as_tensor": {"name": "y"}}], "metadata": {}}])";
  return read(parts).graph.nodes.at(0).arguments.at(0).value;
}
template <typename T>
T literal(const std::string &json) {
  return std::get<T>(argument(json).data);
}
std::string argumentError(const std::string &json) {
  try {
    argument(json);
  } catch (const ErrorException &e) {
    return e.error.message;
  }
  return "";
}

TEST(ExportJson, reads_a_minimal_program) {
  Program program = read({});
  ASSERT_EQ(program.graph.nodes.size(), 1u);
  EXPECT_EQ(program.graph.nodes[0].name, "y");
  EXPECT_EQ(program.graph.nodes[0].target, "aten.relu.default");
  EXPECT_EQ(program.graph.values.at("x").device, "cuda:1");
  EXPECT_EQ(program.schemaMinor, 17);
  EXPECT_THAT(program.userInputNames, ElementsAre("x"));
}

TEST(ExportJson, reads_every_kind_of_argument) {
  using List = Argument::List;
  EXPECT_TRUE(argument(R"({"as_none": true})").data.index() == 0);
  EXPECT_EQ(literal<int64_t>(R"({"as_int": 9223372036854775807})"), INT64_MAX);
  EXPECT_EQ(literal<double>(R"({"as_float": 2})"), 2.0);
  EXPECT_EQ(literal<double>(R"({"as_float": -Infinity})"), -INFINITY);
  EXPECT_EQ(literal<double>(R"({"as_float": "Infinity"})"), INFINITY);
  EXPECT_TRUE(std::isnan(literal<double>(R"({"as_float": "NaN"})")));
  EXPECT_TRUE(literal<bool>(R"({"as_bool": true})"));
  EXPECT_EQ(literal<std::string>(R"({"as_string": "NaN"})"), "NaN");
  EXPECT_EQ(literal<std::string>(R"({"as_operator": "aten.add"})"), "aten.add");
  EXPECT_EQ(literal<std::complex<double>>(
                R"({"as_complex": {"real": 1, "imag": -2.5}})"),
            std::complex<double>(1, -2.5));
  EXPECT_EQ(literal<DType>(R"({"as_scalar_type": 13})"), DType::BFloat16);
  EXPECT_EQ(literal<DType>(R"({"as_scalar_type": 28})"), DType::UInt16);
  EXPECT_EQ(literal<MemoryFormat>(R"({"as_memory_format": 2})").name,
            "channels_last");
  EXPECT_EQ(literal<Layout>(R"({"as_layout": 7})").name, "strided");
  EXPECT_EQ(
      literal<Device>(R"({"as_device": {"type": "cpu", "index": null}})").name,
      "cpu");
  EXPECT_EQ(literal<ValueRef>(R"({"as_sym_int": {"as_name": "x"}})").name, "x");
  EXPECT_EQ(literal<int64_t>(R"({"as_sym_int": {"as_int": 3}})"), 3);
  EXPECT_TRUE(literal<List>(R"({"as_ints": []})").empty());
  EXPECT_EQ(literal<List>(R"({"as_strings": ["a", "b"]})").size(), 2u);
  EXPECT_EQ(literal<List>(R"({"as_floats": [1.5]})").size(), 1u);
  EXPECT_EQ(literal<List>(R"({"as_bools": [true]})").size(), 1u);
  EXPECT_EQ(literal<List>(R"({"as_tensors": [{"name": "x"}]})").size(), 1u);
  List optional = literal<List>(
      R"({"as_optional_tensors": [{"as_none": true}, {"as_tensor": {"name": "x"}}]})");
  EXPECT_EQ(optional[0].data.index(), 0u);
  EXPECT_EQ(std::get<ValueRef>(optional[1].data).name, "x");
  List mixed =
      literal<List>(R"({"as_sym_ints": [{"as_int": -1}, {"as_name": "x"}]})");
  EXPECT_EQ(std::get<int64_t>(mixed[0].data), -1);
  EXPECT_EQ(std::get<ValueRef>(mixed[1].data).name, "x");
  List nested = literal<List>(R"({"as_int_lists": [[1, 2], []]})");
  EXPECT_EQ(std::get<List>(nested[0].data).size(), 2u);
  List pairs =
      literal<List>(R"({"as_string_to_argument": {"k": {"as_int": 1}}})");
  EXPECT_EQ(std::get<std::string>(std::get<List>(pairs[0].data)[0].data), "k");
}

TEST(ExportJson, rejects_malformed_arguments) {
  EXPECT_THAT(argumentError(R"({"as_int": true})"),
              HasSubstr("nodes[0].inputs[0].arg.as_int: expected an integer, "
                        "found a boolean"));
  EXPECT_THAT(argumentError(R"({"as_bool": 1})"), HasSubstr("a boolean"));
  EXPECT_THAT(argumentError(R"({"as_int": NaN})"), HasSubstr("an integer"));
  EXPECT_THAT(argumentError(R"({"as_string": NaN})"), HasSubstr("a string"));
  EXPECT_THAT(argumentError(R"({"as_int": 1, "as_none": true})"),
              HasSubstr("exactly one key, found 2"));
  EXPECT_THAT(argumentError("{}"), HasSubstr("exactly one key, found 0"));
  EXPECT_THAT(argumentError(R"({"as_new_thing": 1})"),
              HasSubstr("unknown kind of argument"));
  EXPECT_THAT(argumentError(R"({"as_scalar_type": 0})"),
              HasSubstr("unknown element type 0"));
  EXPECT_THAT(argumentError(R"({"as_memory_format": 9})"),
              HasSubstr("unknown memory format 9"));
  EXPECT_THAT(argumentError(R"({"as_layout": -1})"),
              HasSubstr("unknown layout -1"));
  EXPECT_THAT(argumentError(R"({"as_tensor": {"name": "y"}})"),
              HasSubstr("value 'y' is used before it is defined"));
}

TEST(ExportJson, rejects_wrong_definitions) {
  Parts parts;
  parts.outputs = R"([{"as_tensor": {"name": "z"}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("value 'z' is used before"));

  parts = {};
  parts.inputs = R"([{"as_tensor": {"name": "y"}}])";
  Error error = errorOf(parts);
  EXPECT_EQ(error.code, ErrorCode::InvalidArgument);
  EXPECT_THAT(error.render(), HasSubstr("value 'y' is defined twice"));

  parts = {};
  parts.symInts = R"({"x": {"as_int": 1}})";
  EXPECT_THAT(messageOf(parts), HasSubstr("has another type as well"));
}

TEST(ExportJson, reports_every_bad_node) {
  Parts parts;
  auto node = [](const char *name, const char *argument) {
    return std::string(
               R"({"target": "torch.ops.aten.f.default", "inputs": [)") +
           R"({"name": "self", "arg": )" + argument +
           R"(}], "outputs": [{"as_tensor": {"name": ")" + name +
           R"j("}}], "metadata": {"stack_trace": "File \"m.py\", line 7, in forward\n    z = f(x)"}})j";
  };
  parts.nodes = "[" + node("a", R"({"as_int": "1"})") + ", " +
                node("b", R"({"as_tensor": {"name": "a"}})") + ", " +
                node("y", R"({"as_what": 1})") + "]";
  Error error = errorOf(parts);
  EXPECT_THAT(error.message, HasSubstr("graph.nodes[0].inputs[0].arg.as_int"));
  EXPECT_THAT(error.notes,
              ElementsAre("in node 'a' (aten.f.default), from m.py:7 in "
                          "forward: z = f(x)",
                          HasSubstr("also: model.json: graph_module.graph."
                                    "nodes[2].inputs[0].arg.as_what"),
                          HasSubstr("in node 'y'")));
}

TEST(ExportJson, rejects_a_signature_of_another_graph) {
  Parts parts;
  parts.inputSpecs =
      R"([{"user_input": {"arg": {"as_tensor": {"name": "q"}}}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("names 'q' where the graph has 'x'"));
  parts.inputSpecs = "[]";
  EXPECT_THAT(messageOf(parts), HasSubstr("0 entries for the graph's 1"));
  parts.inputSpecs = R"([{"surprise": {"arg": {"name": "x"}}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("unknown kind of input"));
  parts.inputSpecs =
      R"([{"constant_input": {"name": "x", "value": {"as_int": 1}}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("has a literal where the graph has"));
  parts.inputSpecs =
      R"([{"buffer": {"arg": {"name": "x"}, "buffer_name": "b"}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("field 'persistent' is missing"));

  parts = {};
  parts.outputSpecs =
      R"([{"user_input_mutation": {"arg": {"name": "y"}, "user_input_name": "w"}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("'w' is not an input of the user"));
  parts.outputSpecs =
      R"([{"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "b"}}, {"buffer_mutation": {"arg": {"name": "y"}, "buffer_name": "b"}}])";
  parts.outputs =
      R"([{"as_tensor": {"name": "y"}}, {"as_tensor": {"name": "y"}}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("'b' has two outputs of this kind"));
}

TEST(ExportJson, reads_symbolic_sizes) {
  auto size = [](const std::string &expression) {
    Parts parts;
    parts.sizes = R"([{"as_expr": {"expr_str": ")" + expression +
                  R"(", "hint": {"as_int": 8}}}])";
    return read(parts).graph.values.at("x").sizes.at(0);
  };
  const std::string s0 = "Symbol('s0', positive=True, integer=True)";
  EXPECT_EQ(size(s0).expr->str(), "s0");
  EXPECT_EQ(size(s0).hint, 8);
  EXPECT_EQ(size("Add(Mul(Integer(2), " + s0 + "), Integer(-1))").expr->str(),
            "2*s0 - 1");
  EXPECT_EQ(
      size("Max(Integer(1), FloorDiv(" + s0 + ", Integer(2)))").expr->str(),
      "Max(1, s0//2)");
  EXPECT_EQ(size("Pow(" + s0 + ", Integer(2))").expr->str(), "s0**2");
  EXPECT_EQ(size("GreaterThan(" + s0 + ", Integer(2))").expr->str(), "s0 >= 2");
  EXPECT_EQ(size("StrictLessThan(" + s0 + ", Integer(2))").expr->str(),
            "s0 < 2");
  EXPECT_EQ(size("Mul(Rational(1, 2), " + s0 + ")").expr->str(), "1/2*s0");
  EXPECT_EQ(
      size("Mul(Float('1.5', precision=53), ToFloat(" + s0 + "))").expr->str(),
      "1.5*ToFloat(s0)");
  EXPECT_EQ(size("Integer(7)").value, 7);
  EXPECT_EQ(size("3*s0 + 1").expr->str(), "3*s0 + 1") << "torch 2.5";

  auto error = [&](const std::string &expression) {
    try {
      size(expression);
    } catch (const ErrorException &e) {
      return e.error.message;
    }
    return std::string();
  };
  EXPECT_THAT(error("Quux(" + s0 + ")"), HasSubstr("unknown function 'Quux'"));
  EXPECT_THAT(error("Symbol('s0'"), HasSubstr("expected ')'"));
  EXPECT_THAT(error("Symbol(s0)"), HasSubstr("expected '''"));
  EXPECT_THAT(error("Integer(99999999999999999999)"), HasSubstr("too large"));
  EXPECT_THAT(error("int_oo"), HasSubstr("not a finite value"));
  EXPECT_NE(error("__import__('os')"), "");
  std::string deep = "s0";
  for (int i = 0; i < 100; ++i)
    deep = "Abs(" + deep + ")";
  EXPECT_THAT(error(deep), HasSubstr("levels deep"));
}

TEST(ExportJson, checks_types_and_ranges) {
  Parts parts;
  parts.sizes = R"([{"as_int": 2}, {"as_int": 3}])";
  EXPECT_THAT(messageOf(parts), HasSubstr("tensor_values.x: 2 sizes but 1"));
  parts = {};
  parts.meta.replace(parts.meta.find("\"layout\": 7"), 11, "\"layout\": 1");
  Error error = errorOf(parts);
  EXPECT_EQ(error.code, ErrorCode::Unsupported);
  EXPECT_THAT(error.message, HasSubstr("layout sparse_coo"));
  parts = {};
  parts.ranges = R"({"s0": {"min_val": 5, "max_val": 2}})";
  EXPECT_THAT(messageOf(parts), HasSubstr("range [5, 2] of symbol 's0'"));
  parts.ranges = R"({"s0": {"min_val": 2, "max_val": null}})";
  EXPECT_EQ(read(parts).symbolRanges.at("s0").min, 2);
  EXPECT_FALSE(read(parts).symbolRanges.at("s0").max);
  parts.ranges = R"({"s0": {"min_val": 2, "max_val": Infinity}})";
  EXPECT_FALSE(read(parts).symbolRanges.at("s0").max);
  parts.ranges = R"({"s0": {"min_val": 2, "max_val": 2.5}})";
  EXPECT_THAT(messageOf(parts), HasSubstr("expected an integer"));
}

TEST(ExportJson, refuses_other_schemas) {
  Parts parts;
  for (const char *version :
       {R"({"major": 9, "minor": 0})", R"({"major": 4, "minor": 1})"}) {
    parts.version = version;
    Error error = errorOf(parts);
    EXPECT_EQ(error.code, ErrorCode::Unsupported);
    EXPECT_THAT(error.message, HasSubstr("gcompile reads 7.x and 8.x"));
  }
  parts.version = R"({"major": 8, "minor": 99})";
  EXPECT_EQ(messageOf(parts), "");
}

TEST(ExportJson, limits_the_depth_of_graphs) {
  std::string graph =
      R"({"inputs": [], "outputs": [], "nodes": [], "tensor_values": {}})";
  for (int i = 0; i < 20; ++i)
    graph =
        R"({"inputs": [], "outputs": [], "tensor_values": {}, "nodes": [{"target": "f", "outputs": [], "inputs": [{"name": "", "arg": {"as_graph": {"name": "g", "graph": )" +
        graph + "}}}]}]}";
  EXPECT_THAT(
      argumentError(R"({"as_graph": {"name": "g", "graph": )" + graph + "}}"),
      HasSubstr("graphs nested more than 16 deep"));
}

TEST(ExportJson, names_user_inputs_as_the_user_does) {
  const std::string leaf =
      R"({\"type\": null, \"context\": null, \"children_spec\": []})";
  auto names = [&](const std::string &argumentSpec) {
    Parts parts;
    parts.calls =
        R"([{"fqn": "", "signature": {"inputs": [], "outputs": [], "out_spec": "", "forward_arg_names": ["batch"], "in_spec": "[1, {\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [{\"type\": \"builtins.tuple\", \"context\": \"null\", \"children_spec\": [)" +
        argumentSpec +
        R"(]}, {\"type\": \"builtins.dict\", \"context\": \"[]\", \"children_spec\": []}]}]"}}])";
    return read(parts).userInputNames;
  };
  auto container = [&](const std::string &type, const std::string &context) {
    return R"({\"type\": \")" + type + R"(\", \"context\": )" + context +
           R"(, \"children_spec\": [)" + leaf + "]}";
  };
  EXPECT_THAT(names(leaf), ElementsAre("batch"));
  EXPECT_THAT(names(container("builtins.list", R"(\"null\")")),
              ElementsAre("batch[0]"));
  EXPECT_THAT(names(container("builtins.dict", R"(\"[\\\"a\\\"]\")")),
              ElementsAre("batch['a']"));
  EXPECT_THAT(names(container("builtins.dict", R"(\"[7]\")")),
              ElementsAre("batch[7]"));
  EXPECT_THAT(names(container("collections.defaultdict",
                              R"({\"dict_context\": [\"a\"]})")),
              ElementsAre("batch['a']"));
  EXPECT_THAT(
      names(container("my.Dataclass", R"(\"[[\\\"a\\\"], [\\\"b\\\"]]\")")),
      ElementsAre("batch.a"));
  EXPECT_THAT(names(container("my.Opaque", R"(\"anything\")")),
              ElementsAre("batch[0]"));
  EXPECT_THROW(names(leaf + ", " + leaf), ErrorException);
}

TEST(StackTrace, finds_the_users_innermost_frame) {
  SourceLocation location = parseStackTrace(
      "File \"a/model.py\", line 9, in forward\n    return self.net(x)\n"
      "  File \"b/block.py\", line 23, in forward\n    x = self.fc(x)\n"
      "  File \"/v/site-packages/torch/nn/linear.py\", line 5, in forward\n"
      "    return F.linear(x)\n"
      "  File \"<eval_with_key>.1\", line 2, in forward\n    y = f(x)\n");
  EXPECT_EQ(location.file, "b/block.py");
  EXPECT_EQ(location.line, 23);
  EXPECT_EQ(location.function, "forward");
  EXPECT_EQ(location.code, "x = self.fc(x)");

  location = parseStackTrace("File \"torch/a.py\", line 1, in f\n  File "
                             "\"torch/b.py\", line 2, in g\n    code");
  EXPECT_EQ(location.file, "torch/b.py") << "none is the user's";
  EXPECT_EQ(location.code, "code");
  EXPECT_EQ(parseStackTrace("no frames").file, "");
  EXPECT_EQ(parseStackTrace("File \"a.py\", line x, in f").file, "");
}

TEST(StackTrace, finds_the_innermost_module) {
  EXPECT_EQ(innermostModule("k,,m.Net;k__a,blocks.0.attn,m.Attn[int,str]"),
            "blocks.0.attn");
  EXPECT_EQ(innermostModule("k,,m.Net"), "");
  EXPECT_EQ(innermostModule("_empty_nn_module_stack_from_metadata_hook,_empty_"
                            "nn_module_stack_from_metadata_hook,x"),
            "");
  EXPECT_EQ(innermostModule(""), "");
}

} // namespace
