#include "FxTestUtil.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>

using namespace gcompile;
using namespace gcompile::frontend;
using namespace gcompile::frontend::test;
using testing::ElementsAre;
using testing::HasSubstr;

namespace {

WeightStore store(std::map<std::string, std::vector<int64_t>> sizes,
                  DType dtype = DType::Float32) {
  WeightStore weights;
  for (const auto &[name, dims] : sizes)
    weights.tensors.emplace(name, Tensor::empty(dtype, dims));
  return weights;
}

Program resolved(const std::string &text, const WeightStore &weights,
                 const Program *reference = nullptr) {
  Program program = read(text).program;
  Status status = resolveSignature(program, weights, reference);
  EXPECT_TRUE(status) << status.error().render();
  return program;
}

Error failed(const std::string &text, const WeightStore &weights,
             const Program *reference = nullptr) {
  Program program = read(text).program;
  Status status = resolveSignature(program, weights, reference);
  EXPECT_FALSE(status);
  // A failure leaves the program alone.
  EXPECT_EQ(showSpecs(program.inputs), showSpecs(read(text).program.inputs));
  return status ? Error{} : status.error();
}

/// A state machine: adds x to buffer n, and counts.
constexpr const char *kCounter = R"py(
class GraphModule(torch.nn.Module):
    def forward(self, p_w: "f32[3]", b_n: "f32[3]", b_count: "i64[]", x: "f32[3]"):
        add: "f32[3]" = torch.ops.aten.add.Tensor(b_n, x)
        add_1: "i64[]" = torch.ops.aten.add.Tensor(b_count, 1)
        mul: "f32[3]" = torch.ops.aten.mul.Tensor(add, p_w)
        return (add, add_1, mul)
)py";

WeightStore counterWeights() {
  WeightStore weights = store({{"w", {3}}, {"n", {3}}});
  weights.tensors.emplace("count", Tensor::empty(DType::Int64, {}));
  return weights;
}

} // namespace

TEST(ResolveSignature, mangled_names_find_weights) {
  Program program = resolved(
      module("return (x,)",
             ", p_blocks_0_wq_weight: \"f32[2]\", p_upper: \"f32[3]\", "
             "b_bn_running_mean: \"f32[4]\", c_lifted_tensor_0: \"f32[5]\", "
             "x: \"f32[1]\", p_not_a_weight: \"f32[1]\""),
      store({{"blocks.0.wq.weight", {2}},
             {"Upper", {3}},
             {"bn.running_mean", {4}},
             {"lifted_tensor_0", {5}},
             {"unused", {1}}}));
  EXPECT_EQ(showSpecs(program.inputs),
            "parameter p_blocks_0_wq_weight = blocks.0.wq.weight; parameter "
            "p_upper = Upper; buffer b_bn_running_mean = bn.running_mean; "
            "constant c_lifted_tensor_0 = lifted_tensor_0; user x; user "
            "p_not_a_weight");
}

TEST(ResolveSignature, colliding_names_are_told_apart_by_type) {
  std::string text = module("return (x,)", ", p_a_b_c: \"f32[2]\", p_a_b_c_1: "
                                           "\"f32[3]\", x: \"f32[1]\"");
  EXPECT_EQ(
      showSpecs(resolved(text, store({{"a.b_c", {3}}, {"a_b.c", {2}}})).inputs),
      "parameter p_a_b_c = a_b.c; parameter p_a_b_c_1 = a.b_c; user x");
  // A name that ends in a number of its own.
  EXPECT_EQ(
      showSpecs(
          resolved(text, store({{"a.b.c", {2}}, {"a.b.c_1", {3}}})).inputs),
      "parameter p_a_b_c = a.b.c; parameter p_a_b_c_1 = a.b.c_1; user x");
  Error error = failed(module("return (x,)", ", p_a_b: \"f32[2]\", x"),
                       store({{"a.b", {2}}, {"a_b", {2}}}));
  EXPECT_EQ(error.message,
            "placeholder 'p_a_b' can be any of the weights a.b, a_b");
}

TEST(ResolveSignature, wrong_weights_are_reported_at_once) {
  std::string text = module(
      "return (x,)", ", p_a: \"f32[2]\", p_b: \"f32[2]\", b_c: \"f32[2]\", x");
  Error missing = failed(text, store({{"a", {2}}}));
  EXPECT_EQ(missing.message,
            "the weights hold no tensor for 2 placeholders of the graph");
  EXPECT_THAT(missing.notes, ElementsAre("p_b", "b_c"));
  EXPECT_EQ(failed(text, store({{"q", {2}}})).message,
            "the weights hold none of the graph's parameters");
  EXPECT_EQ(
      failed(text, store({{"a", {2, 1}}, {"b", {2}}, {"c", {2}}})).message,
      "placeholder 'p_a' is f32[2], but the weight 'a' is f32[2, 1]");
}

TEST(ResolveSignature, without_weights_the_prefixes_tell_kinds) {
  Program program = resolved(kCounter, {});
  EXPECT_EQ(
      showSpecs(program.inputs),
      "parameter p_w = w; buffer b_n = n; buffer b_count = count; user x");
  EXPECT_EQ(showSpecs(program.outputs), "buffer n; buffer count; user");
  // Other graphs have only user inputs.
  EXPECT_EQ(
      showSpecs(resolved(module("return (x,)", ", primals_1, x"), {}).inputs),
      "user primals_1; user x");
}

TEST(ResolveSignature, leading_outputs_that_update_buffers_are_mutations) {
  EXPECT_EQ(showSpecs(resolved(kCounter, counterWeights()).outputs),
            "buffer n; buffer count; user");
  auto outputs = [](const std::string &body) {
    return showSpecs(
        resolved(module(body, ", b_k: \"f32[4, 2]\", b_v: \"f32[4, 2]\", x: "
                              "\"f32[1, 2]\", i: \"i64[1]\""),
                 store({{"k", {4, 2}}, {"v", {4, 2}}}))
            .outputs);
  };
  // Through views, lists and tuples, in any order of buffers.
  EXPECT_EQ(
      outputs(
          R"py(v: "f32[4, 2]" = torch.ops.aten.index_put.default(b_v, [i], x)
t = torch.ops.aten.split.Tensor(b_k, 2)
g: "f32[2, 2]" = t[0]
k: "f32[4, 2]" = torch.ops.aten.cat.default([g, x, x])
return (v, k, x))py"),
      "buffer v; buffer k; user");
  // Not: another type, the buffer itself, the same buffer twice, the last one.
  EXPECT_EQ(outputs(R"py(v: "f32[2]" = torch.ops.aten.sum.dim_IntList(b_v, [0])
return (v, x))py"),
            "user; user");
  EXPECT_EQ(outputs("return (b_k, x)"), "user; user");
  EXPECT_EQ(outputs(R"py(v: "f32[4, 2]" = torch.ops.aten.neg.default(b_v)
w: "f32[4, 2]" = torch.ops.aten.exp.default(b_v)
return (v, w, x))py"),
            "buffer v; user; user");
  EXPECT_EQ(outputs(R"py(v: "f32[4, 2]" = torch.ops.aten.neg.default(b_v)
return (v,))py"),
            "user");
}

TEST(ResolveSignature, batch_norm_updates_its_statistics) {
  Program program = resolved(
      module(
          R"py(bn = torch.ops.aten._native_batch_norm_legit_functional.default(x, p_w, p_b, b_mean, b_var, True, 0.1, 1e-05)
y: "f32[2, 3]" = bn[0]
mean: "f32[3]" = bn[3]
var: "f32[3]" = bn[4]
return (mean, var, y))py",
          ", p_w: \"f32[3]\", p_b: \"f32[3]\", b_mean: \"f32[3]\", b_var: "
          "\"f32[3]\", x: \"f32[2, 3]\""),
      {});
  EXPECT_EQ(showSpecs(program.outputs), "buffer mean; buffer var; user");
}

TEST(ResolveSignature, a_reference_settles_inputs_and_outputs) {
  Program reference = read(readData("exported_program_2.8.txt")).program;
  ASSERT_EQ(reference.signatureSource, SignatureSource::Exported);
  reference.userInputNames = {"x", "k['q']"};
  Program program = resolved(readData("coloured_2.8.txt"), {}, &reference);
  EXPECT_EQ(program.signatureSource, SignatureSource::Exported);
  EXPECT_EQ(showSpecs(program.inputs), showSpecs(reference.inputs));
  EXPECT_EQ(showSpecs(program.outputs), "buffer n; user; user; user");
  EXPECT_THAT(program.userInputNames, ElementsAre("x", "k['q']"));
  // Attributes are found by what they read.
  Program unlifted =
      resolved(readData("unlifted_module_2.8.txt"), {}, &reference);
  EXPECT_EQ(showSpecs(unlifted.inputs),
            "user x; user k_q; parameter fc_weight = fc.weight; parameter "
            "fc_bias = fc.bias; parameter seq_0_weight = seq.0.weight; "
            "parameter seq_0_bias = seq.0.bias; buffer n = n; buffer np = np "
            "(not persistent); constant c = c; constant lifted_tensor_0 = "
            "lifted_tensor_0");
  EXPECT_EQ(showSpecs(unlifted.outputs), "user; user; user");
}

TEST(ResolveSignature, a_reference_in_training_form_has_no_mutations) {
  Program reference = read(R"py(ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[3]", b_n: "f32[3]", b_count: "i64[]", x: "f32[3]", flag):
            add_: "f32[3]" = torch.ops.aten.add_.Tensor(b_n, x)
            add__1: "i64[]" = torch.ops.aten.add_.Tensor(b_count, 1)
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(add_, p_w)
            return (mul,)
Graph signature:
    # inputs
    p_w: PARAMETER target='layer.w'
    b_n: BUFFER target='layer.n' persistent=False
    b_count: BUFFER target='layer.count' persistent=True
    x: USER_INPUT
    flag: USER_INPUT
    # outputs
    mul: LOSS_OUTPUT
Range constraints: {}
)py")
                          .program;
  reference.graph.inputs[4] = {true};
  std::string text = kCounter;
  text.replace(text.find("x: \"f32[3]\"):"), 12, "x: \"f32[3]\", flag)");
  Program program = resolved(text, {}, &reference);
  EXPECT_EQ(showSpecs(program.inputs),
            "parameter p_w = layer.w; buffer b_n = layer.n (not persistent); "
            "buffer b_count = layer.count; user x; user ");
  EXPECT_EQ(show(program.graph.inputs[4]), "True");
  EXPECT_EQ(showSpecs(program.outputs),
            "buffer layer.n; buffer layer.count; loss");
}

TEST(ResolveSignature, placeholders_without_names_match_by_position) {
  std::string position = module(
      "add: \"f32[3]\" = torch.ops.aten.add.Tensor(a, 1)\nreturn (add, b)",
      ", a: \"f32[3]\", b: \"f32[2]\"");
  Program exported = read(R"py(ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, b_n: "f32[3]", x: "f32[2]"):
            add: "f32[3]" = torch.ops.aten.add.Tensor(b_n, 1)
            return (add, x)
Graph signature:
    # inputs
    b_n: BUFFER target='n' persistent=True
    x: USER_INPUT
    # outputs
    add: BUFFER_MUTATION target='n'
    x: USER_OUTPUT
)py")
                         .program;
  Program matched = resolved(position, {}, &exported);
  EXPECT_EQ(showSpecs(matched.inputs), "buffer a = n; user b");
  EXPECT_EQ(showSpecs(matched.outputs), "buffer n; user");
  // Unless the types differ.
  EXPECT_EQ(failed(module("return (a, b)", ", a: \"f32[2]\", b: \"f32[2]\""),
                   {}, &exported)
                .message,
            "placeholder 'a' of the graph is not input 0 of the .pt2");
}

TEST(ResolveSignature, a_reference_of_another_model_is_an_error) {
  Program reference = read(readData("exported_program_2.8.txt")).program;
  EXPECT_EQ(failed(module("return (x,)", ", x, y"), {}, &reference).message,
            "placeholder 'y' of the graph is no input of the .pt2");
  EXPECT_EQ(failed(module("return (x,)"), {}, &reference).message,
            "the graph has 1 outputs, the .pt2 3");
  EXPECT_EQ(failed(module("return (x, x, x, x, x)"), {}, &reference).message,
            "cannot tell what output 0 of the graph updates");
}

TEST(ResolveSignature, other_programs_stay_as_they_are) {
  Program program = read(readData("exported_program_2.8.txt")).program;
  std::string before = showSpecs(program.inputs);
  EXPECT_TRUE(resolveSignature(program, store({{"q", {1}}}), nullptr));
  EXPECT_EQ(showSpecs(program.inputs), before);
}
