#include "FxTestUtil.h"

#include <algorithm>
#include <gmock/gmock.h>

using namespace gcompile;
using namespace gcompile::frontend;
using namespace gcompile::frontend::test;
using testing::ElementsAre;
using testing::HasSubstr;

//===----------------------------------------------------------------------===//
// print_readable()
//===----------------------------------------------------------------------===//

TEST(FxText, reads_every_kind_of_statement) {
  Model model = read(R"py(
class GraphModule(torch.nn.Module):
    def forward(self, arg0_1: "f32[8, 3][3, 1]cuda:0", arg1_1: "Sym(s77)", arg2_1: "bf16[s77, 3][3, 1]cuda:0"):
         # File: toy.py:4 in forward, code: return g(x) # not a comment
        scaled: "f32[8, 3][3, 1]cuda:0" = torch.ops.aten.mul.Tensor(arg0_1, -0.5);  arg0_1 = None
        half: "Sym((s77//2))" = arg1_1 // 2
        bits: "f16[s77, 3][3, 1]cuda:0" = torch.ops.prims.convert_element_type.default(arg2_1, torch.float16);  arg2_1 = None
        fill: "f32[(s77//2)][1]cuda:0" = torch.ops.aten.full.default([half], inf, dtype = torch.float32, device = device(type='cuda', index=0), pin_memory = False);  half = None
        best = torch.ops.aten.max.dim(scaled, 1)
        best_v: "f32[8][1]cuda:0" = best[0]
        best_i: "i64[8][1]cuda:0" = best[1];  best = None
        left: "f32[8, 2][3, 1]cuda:0" = torch.ops.aten.slice.Tensor(scaled, 1, 0, 2);  scaled = None
        return (best_v, best_i, (left, None), fill, bits)
)py");
  EXPECT_EQ(model.format, Format::FxText);
  EXPECT_EQ(model.program.signatureSource, SignatureSource::Guessed);
  const Graph &graph = model.program.graph;
  EXPECT_EQ(showInputs(graph),
            "%arg0_1: f32[8, 3][3, 1]cuda:0; %arg1_1: int s77; "
            "%arg2_1: bf16[s77, 3][3, 1]cuda:0");
  EXPECT_THAT(
      showNodes(graph),
      ElementsAre(
          "scaled = aten.mul.Tensor(%arg0_1, -0.5)",
          "half = _operator.floordiv(%arg1_1, 2)",
          "bits = prims.convert_element_type.default(%arg2_1, torch.float16)",
          "fill = aten.full.default([%half], inf, dtype=torch.float32, "
          "device=device cuda:0, pin_memory=False)",
          "best = aten.max.dim(%scaled, 1)",
          "best_v = _operator.getitem(%best, 0)",
          "best_i = _operator.getitem(%best, 1)",
          "left = aten.slice.Tensor(%scaled, 1, 0, 2)"));
  EXPECT_EQ(showOutputs(graph),
            "[%best_v, %best_i, %left, None, %fill, %bits]");
  EXPECT_EQ(show(graph.values.at("half")), "int s77//2");
  EXPECT_EQ(show(graph.values.at("fill")), "f32[s77//2][1]cuda:0");
  EXPECT_FALSE(graph.values.contains("best"));
  EXPECT_EQ(show(Argument{graph.nodes[4].results}), "[%best]");
  const SourceLocation &location = graph.nodes[0].location;
  EXPECT_EQ(location.file, "toy.py");
  EXPECT_EQ(location.line, 4);
  EXPECT_EQ(location.function, "forward");
  EXPECT_EQ(location.code, "return g(x) # not a comment");
}

TEST(FxText, reads_every_kind_of_literal) {
  Model model = read(module(
      R"py(a = torch.ops.aten.f.default(1, -2, -9223372036854775808, 1e-05, -2.0, inf, -inf, 2j, (1+2j), (-0.5-1j))
b = torch.ops.aten.f.default(True, False, None, 'it\'s\n\u00e9', "q\"'", torch.bool, torch.float8_e4m3fn)
c = torch.ops.aten.f.default([], (), (x,), [1, [x, None]], torch.Size([2, 3]), slice(1, None, x), Ellipsis)
d = torch.ops.aten.f.default(layout = torch.strided, memory_format = torch.channels_last, device = device(type='cpu'), other = torch.device('cuda:1'))
e = torch.ops.aten.f.default(torch.ops.aten.mul.Tensor)
return (a,))py"));
  EXPECT_THAT(
      showNodes(model.program.graph),
      ElementsAre(
          "a = aten.f.default(1, -2, -9223372036854775808, 1e-05, "
          "-2.0, inf, -inf, (0+2j), (1+2j), (-0.5-1j))",
          "b = aten.f.default(True, False, None, 'it's\n\u00e9', 'q\"'', "
          "torch.bool, torch.float8_e4m3fn)",
          "c = aten.f.default([], [], [%x], [1, [%x, None]], [2, 3], "
          "slice(1, None, %x), ...)",
          "d = aten.f.default(layout=layout strided, "
          "memory_format=format channels_last, device=device cpu, "
          "other=device cuda:1)",
          "e = aten.f.default('aten.mul.Tensor')"));
}

TEST(FxText, reads_symbolic_arithmetic) {
  Model model = read(module(
      R"py(a: "Sym(2*s0)" = n * 2
b: "Sym(Max(1, 2*s0))" = torch.sym_max(1, a)
c: "Sym(IntTrueDiv(s0, 2))" = n / 2
d: "Sym(TruncToInt(IntTrueDiv(s0, 2)))" = math_trunc(c)
e: "Sym(s0 > 3)" = n > 3
f: "Sym(-s0)" = -n
g: "Sym(s0**2)" = n ** 2
h: "Sym(1/s0)" = n ** -1
return (a, b, c, d, e, f, g))py",
      ", n: \"Sym(s0)\""));
  EXPECT_THAT(
      showNodes(model.program.graph),
      ElementsAre("a = _operator.mul(%n, 2)", "b = torch.sym_max(1, %a)",
                  "c = _operator.truediv(%n, 2)", "d = math.trunc(%c)",
                  "e = _operator.gt(%n, 3)", "f = _operator.neg(%n)",
                  "g = _operator.pow(%n, 2)", "h = _operator.pow(%n, -1)"));
  auto value = [&](const char *name) {
    return show(model.program.graph.values.at(name));
  };
  EXPECT_EQ(value("b"), "int Max(1, 2*s0)");
  EXPECT_EQ(value("c"), "float s0/2");
  EXPECT_EQ(value("d"), "int TruncToInt(s0/2)");
  EXPECT_EQ(value("e"), "bool s0 > 3");
  EXPECT_EQ(value("f"), "int -s0");
}

TEST(FxText, reads_parameters_and_returns_over_many_lines) {
  Model model = read(R"py(
class GraphModule(torch.nn.Module):
    def forward(
        self,
        x: "f32[2, 3]",  # PlaceholderNode(x): the first (
        y : torch.Tensor = None,
    ) -> tuple[torch.Tensor, int]:
        add: "f32[2, 3]" = torch.ops.aten.add.Tensor(
            x,  # the first
            y,
        )
        return (
            add,
            3,
        )  # the end
)py");
  EXPECT_EQ(showInputs(model.program.graph), "%x: f32[2, 3]; %y");
  EXPECT_THAT(showNodes(model.program.graph),
              ElementsAre("add = aten.add.Tensor(%x, %y)"));
  EXPECT_EQ(showOutputs(model.program.graph), "[%add, 3]");
}

TEST(FxText, attributes_become_inputs) {
  Model model = read(module(R"py(w: "f32[3]" = self.fc.weight
again = self.fc.weight;  again = None
b = getattr(getattr(self.seq, "0"), "1").bias
c = self._tensor_constant0
add = torch.ops.aten.add.Tensor(x, w)
return (add, b, c))py"));
  EXPECT_EQ(showInputs(model.program.graph),
            "%x: f32[2, 3]; %w: f32[3]; %b; %c");
  EXPECT_EQ(showSpecs(model.program.inputs),
            "user x; parameter w = fc.weight; parameter b = seq.0.1.bias; "
            "constant c = _tensor_constant0");
}

TEST(FxText, unused_input_without_a_type_is_a_constant) {
  Model model = read(module("return (x,)", ", x: \"f32[2]\", use_cache"));
  EXPECT_EQ(showInputs(model.program.graph), "%x: f32[2]; None");
  EXPECT_EQ(showSpecs(model.program.inputs), "user x; user ");
  // Without any types nothing can be concluded.
  EXPECT_EQ(showInputs(read(module("return (x,)", ", x, y")).program.graph),
            "%x; %y");
}

TEST(FxText, boxed_inputs_come_from_an_iterator) {
  Model model = read(module(R"py(args_iter = iter(args_list)
a: "f32[2]" = next(args_iter)
b: "Sym(s0)" = next(args_iter)
args_list.clear()
add = torch.ops.aten.add.Tensor(a, b);  a = b = None
return (add,))py",
                            ", args_list: List[torch.Tensor]"));
  EXPECT_EQ(showInputs(model.program.graph), "%a: f32[2]; %b: int s0");
  EXPECT_EQ(showSpecs(model.program.inputs), "user a; user b");
}

TEST(FxText, skips_what_is_not_of_the_graph) {
  Model model = read(module(R"py("""
some description
"""
_rf_a = torch._C._profiler._RecordFunctionFast('## 1 ##'); _rf_a.__enter__()
_args = args
_guards_fn = self._guards_fn(x);  _guards_fn = None
# recompute: something
a = torch.ops.aten.neg.default(_args);  a = None
_rf_a.__exit__(None, None, None)
return x)py",
                            ", x: \"f32[2]\", args: \"f32[2]\""));
  EXPECT_THAT(showNodes(model.program.graph),
              ElementsAre("a = aten.neg.default(%args)"));
  EXPECT_EQ(showOutputs(model.program.graph), "[%x]");
}

TEST(FxText, locations_hold_until_the_next_comment) {
  Model model = read(module(R"py(
 # File: <eval_with_key>.3 from a.py:5 in wrapped:6 in <lambda>, code: y = x, code: z
a = torch.ops.aten.neg.default(x)
# Annotation: {'stage': 0} File: b c.py:70 in g, code:  y
b = torch.ops.aten.neg.default(a)
# ac_graph_id: 4 - must recompute
c = torch.ops.aten.neg.default(b)
# No stacktrace found for following nodes
d = torch.ops.aten.neg.default(c)
return (d,))py"));
  const std::vector<Node> &nodes = model.program.graph.nodes;
  EXPECT_EQ(nodes[0].location.file, "<eval_with_key>.3 from a.py:5 in wrapped");
  EXPECT_EQ(nodes[0].location.line, 6);
  EXPECT_EQ(nodes[0].location.function, "<lambda>");
  EXPECT_EQ(nodes[0].location.code, "y = x, code: z");
  EXPECT_EQ(nodes[1].location.file, "b c.py");
  EXPECT_EQ(nodes[1].location.line, 70);
  EXPECT_EQ(nodes[2].location.line, 70);
  EXPECT_EQ(nodes[3].location.file, "");
}

//===----------------------------------------------------------------------===//
// Real files
//===----------------------------------------------------------------------===//

TEST(FxText, reads_sub_graphs_of_cond) {
  Model model = read(readData("cond_2.11.txt"));
  const Graph &graph = model.program.graph;
  EXPECT_THAT(showNodes(graph),
              ElementsAre("sum_1 = aten.sum.dim_IntList(%x, [])",
                          "gt = aten.gt.Scalar(%sum_1, 0)",
                          "cond = higher_order.cond(%gt, graph true_graph_0, "
                          "graph false_graph_0, [%x])",
                          "getitem = _operator.getitem(%cond, 0)"));
  const Graph &branch =
      *std::get<GraphRef>(graph.nodes[2].arguments[1].value.data).graph;
  EXPECT_EQ(showInputs(branch), "%x: f32[4, 5][5, 1]cuda:0");
  EXPECT_THAT(showNodes(branch), ElementsAre("sin = aten.sin.default(%x)",
                                             "mul = aten.mul.Tensor(%sin, 2)"));
  EXPECT_EQ(showOutputs(branch), "[%mul]");
  EXPECT_EQ(branch.nodes[1].location.code, "mul = sin * 2;  sin = None");
}

TEST(FxText, reads_symbolic_sizes) {
  Model model = read(readData("mlp_dynamic_2.11.txt"));
  const Graph &graph = model.program.graph;
  EXPECT_EQ(show(graph.inputs.back()), "%x");
  EXPECT_EQ(show(graph.values.at("x")), "f32[s77, 64][64, 1]cuda:0");
  EXPECT_EQ(show(graph.values.at("permute")), "f32[64, 256][1, 64]cuda:0");
  EXPECT_EQ(showOutputs(graph), "[%_softmax]");
}

TEST(FxText, reads_what_inductor_transformed) {
  Model model = read(readData("mlp_transformed_2.11.txt"));
  const std::vector<Node> &nodes = model.program.graph.nodes;
  ASSERT_EQ(nodes.size(), 25u);
  EXPECT_EQ(nodes[18].name, "addmm_1");
  EXPECT_EQ(nodes[18].location.line, 7);
  EXPECT_EQ(show(nodes[19]),
            "prepare_softmax_online_default = "
            "prims.prepare_softmax_online.default(%addmm_1, -1)");
  EXPECT_EQ(nodes[19].location.file, "");
  EXPECT_EQ(nodes[24].location.line, 7);
}

TEST(FxText, reads_nested_control_flow) {
  Model model = read(readData("control_flow_2.8.txt"));
  const Graph &graph = model.program.graph;
  EXPECT_EQ(show(graph.nodes[2]),
            "cond = higher_order.cond(%gt, graph true_graph_0, graph "
            "false_graph_0, [%x, %p_w])");
  const Graph &outer =
      *std::get<GraphRef>(graph.nodes[2].arguments[1].value.data).graph;
  const Graph &inner =
      *std::get<GraphRef>(outer.nodes[2].arguments[1].value.data).graph;
  EXPECT_EQ(showInputs(inner), "%p_w: f32[4]; %x: f32[3, 4]");
  EXPECT_THAT(showNodes(inner), ElementsAre("add = aten.add.Tensor(%x, %p_w)"));
  EXPECT_EQ(show(graph.nodes[5]),
            "while_loop = higher_order.while_loop(graph "
            "while_loop_cond_graph_0, graph while_loop_body_graph_0, [%clone, "
            "%getitem], [%n])");
  EXPECT_EQ(show(graph.nodes.back()), "add = aten.add.Tensor(%full_1, (1+2j))");
  EXPECT_EQ(showSpecs(model.program.inputs),
            "parameter p_w = w; constant c_lifted_tensor_0 = lifted_tensor_0; "
            "user x; user n");
}

TEST(FxText, reads_a_printed_exported_program_with_its_signature) {
  Model model = read(readData("exported_program_2.8.txt"));
  const Program &program = model.program;
  EXPECT_EQ(program.signatureSource, SignatureSource::Exported);
  EXPECT_EQ(showSpecs(program.inputs),
            "parameter p_fc_weight = fc.weight; parameter p_fc_bias = fc.bias; "
            "parameter p_seq_0_weight = seq.0.weight; parameter p_seq_0_bias = "
            "seq.0.bias; buffer b_n = n; buffer b_np = np (not persistent); "
            "constant c_c = c; constant c_lifted_tensor_0 = lifted_tensor_0; "
            "user x; user k_q");
  EXPECT_EQ(showSpecs(program.outputs), "buffer n; user; user; user");
  ASSERT_TRUE(program.symbolRanges.contains("s77"));
  EXPECT_EQ(program.symbolRanges.at("s77").min, 2);
  EXPECT_EQ(program.symbolRanges.at("s77").max, 64);
  // sym_size_int_1 comes from a trace that FX could not summarise.
  EXPECT_EQ(program.graph.nodes[0].location.file, "");
  EXPECT_EQ(show(program.graph.values.at("sub_10")), "int 2*s77 - 1");
}

TEST(FxText, reads_the_signature_that_older_releases_print) {
  Model model = read(R"py(ExportedProgram:
    class GraphModule(torch.nn.Module):
        def forward(self, p_w: "f32[3]", b_n: "f32[3]", x: "f32[3]"):
            add: "f32[3]" = torch.ops.aten.add.Tensor(b_n, 1)
            mul: "f32[3]" = torch.ops.aten.mul.Tensor(x, p_w)
            return (add, mul)

Graph signature: ExportGraphSignature(input_specs=[InputSpec(kind=<InputKind.PARAMETER: 2>, arg=TensorArgument(name='p_w'), target='w', persistent=None), InputSpec(kind=<InputKind.BUFFER: 3>, arg=TensorArgument(name='b_n'), target='n', persistent=False), InputSpec(kind=<InputKind.USER_INPUT: 1>, arg=TensorArgument(name='x'), target=None, persistent=None)], output_specs=[OutputSpec(kind=<OutputKind.BUFFER_MUTATION: 3>, arg=TensorArgument(name='add'), target='n'), OutputSpec(kind=<OutputKind.USER_OUTPUT: 1>, arg=TensorArgument(name='mul'), target=None)])
Range constraints: {u0: VR[0, int_oo], s1: VR[-int_oo, 5]}
)py");
  EXPECT_EQ(showSpecs(model.program.inputs),
            "parameter p_w = w; buffer b_n = n (not persistent); user x");
  EXPECT_EQ(showSpecs(model.program.outputs), "buffer n; user");
  EXPECT_EQ(model.program.symbolRanges.at("u0").min, 0);
  EXPECT_EQ(model.program.symbolRanges.at("u0").max, std::nullopt);
  EXPECT_EQ(model.program.symbolRanges.at("s1").max, 5);
}

TEST(FxText, strips_colours) {
  std::string coloured = readData("coloured_2.8.txt");
  ASSERT_NE(coloured.find('\x1b'), coloured.npos);
  Graph graph = read(coloured).program.graph;
  Graph plain = read(readData("exported_program_2.8.txt")).program.graph;
  EXPECT_EQ(showNodes(graph), showNodes(plain));
  EXPECT_EQ(show(graph.values.at("addmm")), "f32[s77, 3][3, 1]cpu");
}

TEST(FxText, flattened_arguments_are_the_inputs) {
  Model model = read(readData("unlifted_module_2.8.txt"));
  EXPECT_EQ(showInputs(model.program.graph),
            "%x: f32[s77, 4]; %k_q: f32[1]; %fc_weight: f32[3, 4]; "
            "%fc_bias: f32[3]; %seq_0_weight: f32[3, 3]; %seq_0_bias: f32[3]; "
            "%n: f32[3]; %np: f32[3]; %c: f32[3]; %lifted_tensor_0: f32[3]");
  EXPECT_EQ(model.program.inputs[4].target, "seq.0.weight");
  EXPECT_EQ(showOutputs(model.program.graph), "[%getitem, %mul_1, %sub]");
}

TEST(FxText, takes_the_forward_graph_of_a_log) {
  std::string log = readData("aot_log_2.8.txt");
  Model model = read(log);
  EXPECT_EQ(showInputs(model.program.graph),
            "%primals_1: f32[8, 8][8, 1]cpu; %primals_2: f32[8][1]cpu; "
            "%primals_3: int s77; %primals_4: f32[s77, 8][8, 1]cpu; "
            "%_tensor_constant0: f32[8][1]cpu");
  EXPECT_EQ(model.program.graph.nodes.size(), 11u);
  // Others by their titles.
  Model backward = read(log, "Backward");
  EXPECT_EQ(showOutputs(backward.program.graph), "[%t_3, %view, None, None]");
  Model joint = read(log, "Joint graph 0");
  EXPECT_EQ(joint.program.inputs.size(), 7u);
  EXPECT_EQ(joint.program.outputs.size(), 6u);
}

TEST(FxText, falls_back_to_the_last_complete_graph_of_a_log) {
  std::string first = module("a = torch.ops.aten.neg.default(x)\nreturn (a,)");
  std::string log = "TRACED GRAPH\n ===== Forward graph 0 =====\n" + first +
                    "\nnoise\n ===== Forward graph 1 =====\n" +
                    module("b = torch.ops.aten.neg.default(x)");
  EXPECT_THAT(showNodes(read(log).program.graph),
              ElementsAre("a = aten.neg.default(%x)"));
  EXPECT_EQ(tryRead(log, "graph 2").error().message,
            "test.txt: no graph's title has 'graph 2' in it");
}

TEST(FxText, a_graph_that_takes_gradients_is_no_forward_graph) {
  std::string log =
      " ===== AFTER POST GRAD =====\n" + module("return (x,)") +
      "\n ===== AFTER POST GRAD =====\n" +
      module("return (y,)", ", y: \"f32[2]\", tangents_1: \"f32[2]\"");
  EXPECT_EQ(showOutputs(read(log).program.graph), "[%x]");
}

TEST(FxText, names_all_calls_of_a_dynamo_graph) {
  Result<Model> model = tryRead(readData("aot_log_2.8.txt"), "__compiled_fn_1");
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
  EXPECT_EQ(model.error().message,
            "test.txt: 6 calls of the graph are not ATen operators");
  EXPECT_THAT(model.error().notes,
              ElementsAre("torch._C._nn.linear  at test.txt:10:94",
                          "method .relu  at test.txt:11:94",
                          "torch.tensor  at test.txt:14:94",
                          "operator * of tensors  at test.txt:15:94, 2 times",
                          "method .sum  at test.txt:16:94"));
}

TEST(FxText, names_indexing_in_place_operators_and_modules) {
  Result<Model> model =
      tryRead(module(R"py(a = x[(slice(None, None, None), None)]
b = self.fc(x);  c = x.shape
x += 1;  d = x
return (a, b, c))py"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
  EXPECT_THAT(model.error().notes,
              ElementsAre("indexing of a tensor  at test.txt:3:9",
                          "module self.fc  at test.txt:4:9",
                          "attribute x.shape  at test.txt:4:26",
                          "+= (in place)  at test.txt:5:9"));
}

//===----------------------------------------------------------------------===//
// fx_graph_runnable.py
//===----------------------------------------------------------------------===//

TEST(FxRunnable, types_come_from_load_args) {
  Model model = read(readData("mlp_runnable_2.11.txt"));
  EXPECT_EQ(showInputs(model.program.graph),
            "%arg0_1: f32[256, 64][64, 1]cuda:0; %arg1_1: f32[256][1]cuda:0; "
            "%arg2_1: f32[8, 64][64, 1]cuda:0; %arg3_1: f32[256][1]cuda:0; "
            "%arg4_1: f32[256][1]cuda:0; %arg5_1: f32[32, 256][256, 1]cuda:0; "
            "%arg6_1: f32[32][1]cuda:0");
  EXPECT_EQ(model.program.graph.nodes.size(), 23u);
}

TEST(FxRunnable, constants_come_from_the_constructor) {
  Model model = read(readData("runnable_constants_2.8.txt"));
  EXPECT_EQ(showInputs(model.program.graph),
            "%arg0_1: int s27; %arg1_1: f32[8, s27]cpu; "
            "%arg2_1: f32[8, 8][8, 1]cpu; %arg3_1: f32[8][1]cpu; "
            "%arg4_1: int s58; %arg5_1: i64[s58]cpu; "
            "%_tensor_constant0: f32[8]cpu; %_tensor_constant1: i64[2, 2]cpu; "
            "%_tensor_constant2: b8[2]cpu");
  EXPECT_EQ(model.program.graph.values.at("arg0_1").sym.hint, 5);
  EXPECT_EQ(model.program.inputs[7].kind, InputSpec::Kind::Constant);
  const Tensor &numbers = model.weights.tensors.at("_tensor_constant1");
  EXPECT_EQ(numbers.describe(), "i64[2, 2]");
  EXPECT_THAT(numbers.as<int64_t>(), ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(model.weights.tensors.at("_tensor_constant2").as<bool>(),
              ElementsAre(true, false));
  EXPECT_EQ(model.weights.absent.at("_tensor_constant0"),
            "the file has random numbers for it");
}

TEST(FxRunnable, reads_layouts_and_inputs_without_types) {
  Model model = read(R"py(import os
class Repro(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.fc = Linear(in_features=4, out_features=3, bias=True).cuda()
        self.register_buffer('h', tensor([0.5, -65504., 1e-08, inf], dtype=torch.float16).cuda())
        self.register_buffer('e', tensor([], size=(0, 3)))
        self.w = torch.nn.Parameter(torch.randn([3, 2], dtype=torch.bfloat16, device="cuda"))

    def forward(self, a, b, c, d):
        h = self.h
        e = self.e
        w = self.w
        add = torch.ops.aten.add.Tensor(a, h)
        return (add, e, w, b, c, d)

def load_args(reader):
    buf0 = reader.storage('5f9a', 48*s0, device=device(type='cuda', index=1), dtype_hint=torch.float64)
    reader.tensor(buf0, (2, s0), (1, 2), dtype=torch.float64, storage_offset=4, requires_grad=True)  # a
    # b was unsupported type for dumping: <class 'list'>
    """
    reader.symint(7)  # b[0]
    """
    reader.const('c')  # c, filtered out during compilation
    reader.tensor(buf0, (), is_leaf=True)  # d
load_args._version = 0
)py");
  EXPECT_EQ(showInputs(model.program.graph),
            "%a: f64[2, s0][1, 2]cuda:1; %b; %c; %d: f32[][]cuda:1; "
            "%h: f16[4]cuda:0; %e: f32[0, 3]cpu; %w: bf16[3, 2]cuda");
  EXPECT_EQ(model.program.graph.values.at("a").storageOffset.value, 4);
  EXPECT_EQ(showSpecs(model.program.inputs),
            "user a; user b; user c; user d; buffer h = h; buffer e = e; "
            "parameter w = w");
  EXPECT_THAT(model.weights.tensors.at("h").as<uint16_t>(),
              ElementsAre(0x3800, 0xFBFF, 0, 0x7C00));
}

//===----------------------------------------------------------------------===//
// str(graph)
//===----------------------------------------------------------------------===//

TEST(FxGraphStr, reads_the_same_graph_as_print_readable) {
  Graph lines = read(readData("graph_str_2.8.txt")).program.graph;
  EXPECT_EQ(showInputs(lines),
            "%p_fc_weight; %p_fc_bias; %p_seq_0_weight; %p_seq_0_bias; %b_n; "
            "%b_np; %c_c; %c_lifted_tensor_0; %x; %k_q");
  EXPECT_EQ(lines.nodes.size(), 17u);
  EXPECT_EQ(show(lines.nodes[11]), "topk = aten.topk.default(%add_2, 2, 1)");
  EXPECT_EQ(show(lines.nodes[12]), "getitem = _operator.getitem(%topk, 0)");
  EXPECT_EQ(show(lines.nodes[16]), "sub = _operator.sub(%mul_2, 1)");
  EXPECT_EQ(showOutputs(lines), "[%getitem, %mul_1, %sub]");
}

TEST(FxGraphStr, words_without_quotes_are_strings) {
  Model model = read(R"py(graph():
    %x : torch.Tensor [num_users=1] = placeholder[target=x](default=None)
    %w : [num_users=1] = get_attr[target=fc.weight]
    %f : [num_users=1] = call_function[target=torch.ops.aten.f.default](args = (%x, st, [q, 2], (%w,), slice(1, None, None), (1+2j), -inf, 0.5), kwargs = {dtype: torch.float32, device: cuda:0, msg: a (b, c) d, none: None})
    %g : [num_users=0] = call_function[target=math.trunc](args = (%f,), kwargs = {})
    return [f, (None, 3)])py");
  EXPECT_THAT(
      showNodes(model.program.graph),
      ElementsAre("f = aten.f.default(%x, 'st', ['q', 2], [%w], slice(1, None, "
                  "None), (1+2j), -inf, 0.5, dtype=torch.float32, "
                  "device=device cuda:0, msg='a (b, c) d', none=None)",
                  "g = math.trunc(%f)"));
  EXPECT_EQ(showSpecs(model.program.inputs), "user x; parameter w = fc.weight");
  EXPECT_EQ(showOutputs(model.program.graph), "[%f, None, 3]");
}

TEST(FxGraphStr, refuses_modules_and_missing_sub_graphs) {
  Result<Model> modules = tryRead(R"py(graph():
    %x : [num_users=1] = placeholder[target=x]
    %a : [num_users=1] = call_module[target=fc](args = (%x,), kwargs = {})
    %b : [num_users=1] = call_method[target=view](args = (%a, 2), kwargs = {})
    %c : [num_users=1] = call_function[target=torch.add](args = (%b, {k: 1}), kwargs = {})
    return c)py");
  ASSERT_FALSE(modules);
  EXPECT_THAT(modules.error().notes, ElementsAre("module fc  at test.txt:3:6",
                                                 "method view  at test.txt:4:6",
                                                 "torch.add  at test.txt:5:6"));
  EXPECT_EQ(errorOf(R"py(graph():
    %x : [num_users=1] = placeholder[target=x]
    %t : [num_users=1] = get_attr[target=true_graph_0]
    %c : [num_users=1] = call_function[target=torch.ops.higher_order.cond](args = (%x, %t, %t, (%x,)), kwargs = {})
    return c)py"),
            "test.txt:4:6: the text lacks the sub-graph 'true_graph_0' of "
            "higher_order.cond");
}
