#include "FxJsonReader.h"
#include "FxTestUtil.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>

using namespace gcompile;
using namespace gcompile::frontend;
using namespace gcompile::frontend::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

Result<Program> tryReadJson(const std::string &text) {
  return catchErrors<Result<Program>>([&] {
    JsonDocument document(text, "test.json");
    EXPECT_TRUE(isFxJson(document.root()));
    return readFxJson(document.root());
  });
}

/// A document whose graph has an input "x" and these fields besides.
std::string document(const std::string &nodes, const std::string &outputs = "",
                     const std::string &others = "") {
  return fmt::format(R"js({{"format": "gcompile-fx", "version": 1,
    "inputs": [{{"name": "x"}}], "nodes": [{}], "outputs": [{}],
    "values": {{"x": {{"dtype": "float32", "sizes": ["s0", 3]}}}}{}}})js",
                     nodes, outputs, others);
}

std::string jsonErrorOf(const std::string &text) {
  Result<Program> program = tryReadJson(text);
  return program ? "no error" : program.error().message;
}

} // namespace

TEST(FxJson, reads_what_the_exporter_writes) {
  Result<Model> model = readModel(GCOMPILE_TEST_DATA "/fx/gate.fx.json");
  ASSERT_TRUE(model) << model.error().render();
  EXPECT_EQ(model->format, Format::FxJson);
  const Program &program = model->program;
  EXPECT_EQ(program.signatureSource, SignatureSource::Exported);
  EXPECT_EQ(showInputs(program.graph),
            "%fc_weight: f32[3, 4][4, 1]cpu; %fc_bias: f32[3][1]cpu; "
            "%scale: f32[3][1]cpu; %x: f32[5, 4][4, 1]cpu");
  EXPECT_EQ(showSpecs(program.inputs),
            "parameter fc_weight = fc.weight; parameter fc_bias = fc.bias; "
            "buffer scale = scale; user x");
  EXPECT_THAT(
      showNodes(program.graph),
      ElementsAre(
          "linear = aten.linear.default(%x, %fc_weight, %fc_bias)",
          "gelu = aten.gelu.default(%linear)",
          "mul = aten.mul.Tensor(%gelu, %scale)",
          "topk = aten.topk.default(%mul, 2, 1)",
          "getitem = _operator.getitem(%topk, 0)",
          "getitem_1 = _operator.getitem(%topk, 1)",
          "lt = aten.lt.Scalar(%getitem, 0)",
          "masked_fill = aten.masked_fill.Scalar(%getitem, %lt, -inf)"));
  EXPECT_EQ(showOutputs(program.graph), "[%masked_fill, %getitem_1]");
  // The weights written beside it have the same names.
  Result<WeightStore> weights =
      readWeights(GCOMPILE_TEST_DATA "/fx/gate.weights.pt");
  ASSERT_TRUE(weights) << weights.error().render();
  EXPECT_EQ(weights->tensors.at("fc.weight").describe(), "f32[3, 4]");
  EXPECT_THAT(weights->tensors.at("scale").as<float>(), ElementsAre(1, 2, 4));
}

TEST(FxJson, reads_sub_graphs_symbols_and_constants) {
  Result<Model> model = readModel(GCOMPILE_TEST_DATA "/fx/cond.fx.json");
  ASSERT_TRUE(model) << model.error().render();
  const Graph &graph = model->program.graph;
  EXPECT_EQ(showInputs(graph),
            "%w: f32[4][1]cpu; %x: f32[s77, 4][4, 1]cpu; False");
  EXPECT_EQ(show(graph.nodes[3]),
            "cond = higher_order.cond(%gt, graph true_graph_0, graph "
            "false_graph_0, [%x])");
  const Graph &branch =
      *std::get<GraphRef>(graph.nodes[3].arguments[1].value.data).graph;
  EXPECT_THAT(showNodes(branch), ElementsAre("sin = aten.sin.default(%x)"));
  EXPECT_EQ(show(graph.values.at("mul_1")), "int 2*s77");
  EXPECT_EQ(graph.nodes[1].location.file, "model.py");
}

TEST(FxJson, reads_every_kind_of_argument) {
  Result<Program> program = tryReadJson(document(
      R"js({"name": "f", "target": "aten.f.default", "args": [null, true, -2, 0.5, 2.0, "st", [], [{"value": "x"}, null], {"float": "-inf"}, {"complex": [1, -2.5]}], "kwargs": {"dtype": {"dtype": "bfloat16"}, "device": {"device": "cuda:0"}, "layout": {"layout": "strided"}, "format": {"memory_format": "channels_last"}}})js",
      R"js({"value": "f"}, null)js",
      R"js(, "symbols": {"s0": {"min": 2, "max": 8, "hint": 5}, "u0": {"min": 0}})js"));
  ASSERT_TRUE(program) << program.error().render();
  EXPECT_THAT(
      showNodes(program->graph),
      ElementsAre("f = aten.f.default(None, True, -2, 0.5, 2.0, 'st', [], [%x, "
                  "None], -inf, (1-2.5j), dtype=torch.bfloat16, device=device "
                  "cuda:0, layout=layout strided, format=format "
                  "channels_last)"));
  EXPECT_EQ(showOutputs(program->graph), "[%f, None]");
  EXPECT_EQ(program->graph.values.at("x").sizes[0].hint, 5);
  EXPECT_EQ(program->symbolRanges.at("s0").max, 8);
  EXPECT_EQ(program->symbolRanges.at("u0").max, std::nullopt);
}

TEST(FxJson, names_the_place_of_every_mistake) {
  EXPECT_EQ(
      jsonErrorOf(document(
          R"js({"name": "f", "target": "aten.f", "args": [{"value": "y"}]})js")),
      "test.json: nodes[0].args[0].value: 'y' is used but not defined");
  EXPECT_EQ(
      jsonErrorOf(document(
          R"js({"name": "f", "target": "aten.f", "args": [{"value": "f"}]})js")),
      "test.json: nodes[0].args[0].value: 'f' is used but not defined");
  EXPECT_EQ(jsonErrorOf(document(
                R"js({"name": "x", "target": "aten.f", "args": []})js")),
            "test.json: nodes[0].name: 'x' is defined twice, first at "
            "inputs[0].name");
  EXPECT_EQ(jsonErrorOf(document("", R"js({"valu": "x"})js")),
            "test.json: outputs[0].valu: unknown kind of argument 'valu'");
  EXPECT_EQ(jsonErrorOf(document("", R"js({"value": "x", "y": 1})js")),
            "test.json: outputs[0]: expected an object with exactly one key, "
            "found 2 keys");
  EXPECT_EQ(jsonErrorOf(document("", R"js({"dtype": "float33"})js")),
            "test.json: outputs[0].dtype: unknown element type 'float33'");
  EXPECT_EQ(jsonErrorOf(document("", R"js({"layout": "channels_last"})js")),
            "test.json: outputs[0].layout: unknown layout 'channels_last'");
  EXPECT_EQ(jsonErrorOf(document("", R"js({"graph": "g"})js")),
            "test.json: outputs[0].graph: 'g' is not in 'graphs'");
  EXPECT_EQ(
      jsonErrorOf(
          R"js({"format": "gcompile-fx", "version": 1, "inputs": [{"name": "x"}], "nodes": [], "outputs": [], "values": {"x": {"dtype": "int8", "sizes": ["s0 +"]}}})js"),
      "test.json: values.x.sizes[0]: 's0 +', character 5: expected a size or "
      "an expression, found the end of the text");
  Result<Program> newer =
      tryReadJson(R"js({"format": "gcompile-fx", "version": 2})js");
  ASSERT_FALSE(newer);
  EXPECT_EQ(newer.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(newer.error().message,
            "test.json: version: FX JSON of version 2, not 1");
}
