// The same three models, recorded by every supported line of PyTorch releases.
#include "gcompile/frontend/Readers.h"

#include <cmath>
#include <cstring>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

const std::string kData = GCOMPILE_TEST_DATA "/frontend/";

void expectEqual(const Tensor &actual, const Tensor &expected,
                 const std::string &name) {
  EXPECT_EQ(actual.describe(), expected.describe()) << name;
  Tensor a = actual.contiguous(), b = expected.contiguous();
  ASSERT_EQ(a.numBytes(), b.numBytes()) << name;
  EXPECT_EQ(std::memcmp(a.data(), b.data(), static_cast<size_t>(a.numBytes())),
            0)
      << name;
}

const Node &nodeOf(const Graph &graph, std::string_view target) {
  for (const Node &node : graph.nodes)
    if (node.target == target)
      return node;
  ADD_FAILURE() << "no node of " << target;
  return graph.nodes.at(0);
}

const Argument &argumentOf(const Node &node, std::string_view name) {
  for (const NamedArgument &argument : node.arguments)
    if (argument.name == name)
      return argument.value;
  ADD_FAILURE() << "no argument " << name;
  return node.arguments.at(0).value;
}

class Archive : public testing::TestWithParam<const char *> {
protected:
  Model read(const std::string &name) {
    auto model = readModel(kData + name + ".torch" + GetParam() + ".pt2");
    if (!model.ok()) {
      ADD_FAILURE() << model.error().render();
      return {};
    }
    EXPECT_EQ(model->format, Format::Pt2Archive);
    EXPECT_THAT(model->program.torchVersion, StartsWith(GetParam()));
    return std::move(*model);
  }
  std::map<std::string, Tensor> recorded(const std::string &file) {
    auto tensors = readSafetensors(kData + file);
    EXPECT_TRUE(tensors.ok());
    return tensors.ok() ? *tensors : std::map<std::string, Tensor>();
  }
};

TEST_P(Archive, has_the_weights_as_they_were_in_python) {
  Model model = read("net");
  std::map<std::string, Tensor> expected = recorded("net.weights.safetensors");
  EXPECT_TRUE(model.weights.absent.empty());
  for (const auto &[name, tensor] : expected)
    if (model.weights.tensors.contains(name))
      expectEqual(model.weights.tensors.at(name), tensor, name);
    else
      ADD_FAILURE() << name << " is missing";
  // The only tensor that no module of the model holds.
  EXPECT_EQ(model.weights.tensors.size(), expected.size() + 1);
  EXPECT_THAT(model.weights.tensors.at("lifted_tensor_0").as<float>(),
              ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));

  const Tensor &mix = model.weights.tensors.at("mix");
  EXPECT_THAT(mix.sizes, ElementsAre(4, 8));
  EXPECT_THAT(mix.strides, ElementsAre(1, 4)) << "not made contiguous";
  const Tensor &head = model.weights.tensors.at("head");
  const Tensor &tail = model.weights.tensors.at("tail");
  EXPECT_EQ(head.storage, tail.storage);
  EXPECT_EQ(tail.storageOffset, 8);
  EXPECT_EQ(model.weights.tensors.at("fc1.weight").storage,
            model.weights.tensors.at("fc2.weight").storage)
      << "tied";
}

TEST_P(Archive, has_the_signature) {
  Model model = read("net");
  const Program &program = model.program;
  ASSERT_EQ(program.inputs.size(), program.graph.inputs.size());
  ASSERT_EQ(program.outputs.size(), program.graph.outputs.size());
  std::map<std::string, InputSpec> byName;
  for (const InputSpec &input : program.inputs)
    byName[input.name] = input;
  EXPECT_EQ(byName.at("p_conv_weight").kind, InputSpec::Kind::Parameter);
  EXPECT_EQ(byName.at("p_conv_weight").target, "conv.weight");
  EXPECT_EQ(byName.at("b_head").kind, InputSpec::Kind::Buffer);
  EXPECT_TRUE(byName.at("b_head").persistent);
  EXPECT_FALSE(byName.at("b_scale").persistent);
  EXPECT_EQ(byName.at("c_lifted_tensor_0").kind, InputSpec::Kind::Constant);
  EXPECT_EQ(byName.at("x").kind, InputSpec::Kind::UserInput);
  EXPECT_THAT(program.userInputNames, ElementsAre("x"));

  // Releases before 2.6 save functional programs.
  if (program.dialect == "TRAINING") {
    EXPECT_EQ(program.outputs.size(), 2u);
    EXPECT_EQ(nodeOf(program.graph, "aten.add_.Tensor").name, "add_");
  } else {
    ASSERT_EQ(program.outputs.size(), 3u);
    EXPECT_EQ(program.dialect, "ATEN");
    EXPECT_EQ(program.outputs[0].kind, OutputSpec::Kind::BufferMutation);
    EXPECT_EQ(program.outputs[0].target, "calls");
  }
  EXPECT_EQ(program.outputs.back().kind, OutputSpec::Kind::UserOutput);
}

TEST_P(Archive, has_nodes_with_arguments_and_source_lines) {
  Model model = read("net");
  const Graph &graph = model.program.graph;
  const Node &convolution = nodeOf(graph, "aten.conv2d.default");
  EXPECT_EQ(convolution.name, "conv2d");
  EXPECT_EQ(std::get<ValueRef>(argumentOf(convolution, "weight").data).name,
            "p_conv_weight");
  const auto &padding =
      std::get<Argument::List>(argumentOf(convolution, "padding").data);
  ASSERT_EQ(padding.size(), 2u);
  EXPECT_EQ(std::get<int64_t>(padding[0].data), 1);
  EXPECT_THAT(convolution.location.file, HasSubstr("make_fixtures.py"));
  EXPECT_EQ(convolution.location.function, "forward");
  EXPECT_EQ(convolution.location.code,
            "y = torch.relu(self.bn(self.conv(x))).mean((2, 3)) @ self.mix");
  EXPECT_EQ(convolution.location.module, "conv");

  const Node &fill = nodeOf(graph, "aten.masked_fill.Scalar");
  EXPECT_EQ(std::get<double>(argumentOf(fill, "value").data), -INFINITY);

  const ValueMeta &meta = graph.values.at("conv2d");
  EXPECT_EQ(meta.kind, ValueKind::Tensor);
  EXPECT_EQ(meta.dtype, DType::Float32);
  EXPECT_EQ(meta.device, "cpu");
  ASSERT_EQ(meta.sizes.size(), 4u);
  EXPECT_EQ(meta.sizes[1].value, 4);
}

TEST_P(Archive, has_example_inputs) {
  Model model = read("net");
  ASSERT_EQ(model.exampleInputs.size(), 1u);
  ASSERT_TRUE(model.exampleInputs[0]);
  expectEqual(*model.exampleInputs[0], recorded("net.inputs.safetensors")["0"],
              "x");

  model = read("mlp");
  std::map<std::string, Tensor> expected = recorded("mlp.inputs.safetensors");
  ASSERT_EQ(model.exampleInputs.size(), 3u);
  expectEqual(*model.exampleInputs[0], expected["0"], "a");
  expectEqual(*model.exampleInputs[1], expected["1"], "b");
  EXPECT_FALSE(model.exampleInputs[2]) << "a float";
}

TEST_P(Archive, has_symbolic_sizes) {
  Model model = read("mlp");
  const Program &program = model.program;
  const SymInt &batch = program.graph.values.at("batch_a").sizes.at(0);
  ASSERT_TRUE(batch.expr);
  EXPECT_EQ(batch.expr->kind, SymExpr::Kind::Symbol);
  EXPECT_EQ(batch.hint, 4);
  const SymbolRange &range = program.symbolRanges.at(batch.expr->name);
  EXPECT_EQ(range.min, 2);
  EXPECT_EQ(range.max, 64);

  const Node &product = nodeOf(program.graph, "_operator.mul");
  const ValueMeta &scalar = program.graph.values.at(product.name);
  EXPECT_EQ(scalar.kind, ValueKind::SymInt);
  EXPECT_EQ(scalar.sym.expr->str(), "3*" + batch.expr->name);
  EXPECT_EQ(scalar.sym.hint, 12);

  // The keyword argument was specialised.
  ASSERT_EQ(program.inputs.size(), 7u);
  EXPECT_EQ(program.inputs[6].kind, InputSpec::Kind::UserInput);
  EXPECT_EQ(program.inputs[6].name, "");
  EXPECT_EQ(std::get<double>(program.graph.inputs[6].data), 0.5);
  // The names of positional arguments are recorded since 2.6.
  if (program.schemaMajor > 7)
    EXPECT_THAT(program.userInputNames,
                ElementsAre("batch['a']", "batch['b']", "scale"));
  else
    EXPECT_THAT(program.userInputNames,
                ElementsAre("batch_a", "batch_b", "scale"));
}

TEST_P(Archive, has_sub_graphs) {
  Model model = read("cond");
  ASSERT_EQ(model.program.graph.nodes.size(), 1u);
  const Node &cond = model.program.graph.nodes[0];
  EXPECT_EQ(cond.target, "higher_order.cond");
  ASSERT_EQ(cond.arguments.size(), 4u);
  ASSERT_EQ(cond.results.size(), 1u);
  EXPECT_EQ(std::get<ValueRef>(cond.results[0].data).name, "getitem");
  const auto &branch = std::get<GraphRef>(cond.arguments[1].value.data);
  EXPECT_EQ(branch.name, "true_graph_0");
  ASSERT_EQ(branch.graph->nodes.size(), 2u);
  EXPECT_EQ(branch.graph->nodes[0].target, "aten.sin.default");
  EXPECT_EQ(branch.graph->outputs.size(), 1u);
  EXPECT_EQ(branch.graph->values.at("sin").sizes.size(), 2u);
}

TEST_P(Archive, gives_its_weights_alone) {
  auto weights = readWeights(kData + "net.torch" + GetParam() + ".pt2");
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  EXPECT_EQ(weights->tensors.size(), 15u);
}

TEST_P(Archive, has_the_weights_of_the_state_dict) {
  auto weights =
      readWeights(kData + "net.torch" + GetParam() + ".state_dict.pt");
  ASSERT_TRUE(weights.ok()) << weights.error().message;
  std::map<std::string, Tensor> expected = recorded("net.weights.safetensors");
  expected.erase("scale"); // not persistent
  EXPECT_EQ(weights->tensors.size(), expected.size());
  for (const auto &[name, tensor] : weights->tensors)
    expectEqual(tensor, expected[name], name);
  EXPECT_THAT(weights->tensors.at("mix").strides, ElementsAre(1, 4));
  EXPECT_EQ(weights->tensors.at("head").storage,
            weights->tensors.at("tail").storage);
}

INSTANTIATE_TEST_SUITE_P(, Archive,
                         testing::Values("2.5", "2.6", "2.7", "2.8", "2.11"),
                         [](const auto &info) {
                           std::string name = info.param;
                           return "torch" + name.replace(1, 1, "_");
                         });

} // namespace
