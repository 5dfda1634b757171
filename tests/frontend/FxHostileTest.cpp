// Broken, cut off, hostile and random text: an error with its place, no crash.
#include "FxTestUtil.h"
#include "gcompile/frontend/Readers.h"

#include <gmock/gmock.h>
#include <random>

using namespace gcompile;
using namespace gcompile::frontend;
using namespace gcompile::frontend::test;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

namespace {

std::string repeat(std::string_view text, size_t count) {
  std::string repeated;
  for (size_t i = 0; i < count; ++i)
    repeated += text;
  return repeated;
}

} // namespace

TEST(FxHostile, errors_show_the_place) {
  Result<Model> model =
      tryRead(module("y = torch.ops.aten.neg.default(z)\nreturn (y,)"));
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::InvalidArgument);
  EXPECT_EQ(model.error().message,
            "test.txt:3:40: 'z' is used but not defined");
  EXPECT_THAT(model.error().notes,
              ElementsAre("y = torch.ops.aten.neg.default(z)",
                          "                               ^"));
}

TEST(FxHostile, text_without_a_graph) {
  EXPECT_EQ(errorOf(""), "test.txt: no graph found");
  EXPECT_EQ(errorOf("\n\n"), "test.txt: no graph found");
  EXPECT_EQ(errorOf("class A(torch.nn.Module): pass"),
            "test.txt: no graph found");
  EXPECT_EQ(errorOf("class A(torch.nn.Module):"),
            "test.txt:1:1: the class has no 'forward'");
}

TEST(FxHostile, cut_off_text) {
  EXPECT_EQ(errorOf(module("y = torch.ops.aten.neg.default(x)")),
            "test.txt:3:42: the graph ends without a 'return'");
  EXPECT_EQ(errorOf(module("y = torch.ops.aten.neg.default(x, [1, 2")),
            "test.txt:3:43: the bracket is never closed");
  EXPECT_EQ(errorOf(module("y = torch.ops.aten.neg.default('abc")),
            "test.txt:3:40: the string is never closed");
  EXPECT_EQ(errorOf(module("y: \"f32[2")),
            "test.txt:3:12: the string is never closed");
  EXPECT_EQ(errorOf(module("y = ")),
            "test.txt:3:13: expected a value, found the end of the line");
  EXPECT_EQ(errorOf("graph():\n    %x : [num_users=1] = placeholder[targ"),
            "test.txt:2:26: expected '[target=' after this");
  EXPECT_EQ(errorOf("graph():\n    %x : [num_users=1] = placeholder[target=x]"),
            "test.txt:2:47: the graph ends without a 'return'");
  // Every prefix of a file is refused or, at its very end, read.
  std::string text = readData("misc_ops_2.11.txt");
  for (size_t size = 0; size + 2 < text.size(); size += 7)
    EXPECT_FALSE(tryRead(text.substr(0, size))) << size;
}

TEST(FxHostile, malformed_statements) {
  auto error = [](const std::string &body) { return errorOf(module(body)); };
  EXPECT_EQ(error("y = f(x]"),
            "test.txt:3:16: ']' does not match the '(' at test.txt:3:14");
  EXPECT_EQ(error("y = x)"), "test.txt:3:14: ')' without an opening bracket");
  EXPECT_EQ(error("y = x x"),
            "test.txt:3:15: expected the end of the statement, found 'x'");
  EXPECT_EQ(error("y = x $ 2"), "test.txt:3:15: unexpected character '$'");
  EXPECT_EQ(error(std::string("y = \x01", 5)),
            "test.txt:3:13: unexpected byte 0x01");
  EXPECT_EQ(error("y = 3a"), "test.txt:3:13: malformed number");
  EXPECT_EQ(error("y = torch.ops.aten.f(a b)"),
            "test.txt:3:32: expected ',', found 'b'");
  EXPECT_EQ(error("y = z = torch.ops.aten.f(x)"),
            "test.txt:3:9: only None can be assigned to several names");
  EXPECT_EQ(error("y.z = torch.ops.aten.f(x)"),
            "test.txt:3:9: expected a name to assign to");
  EXPECT_EQ(error("torch.ops.aten.f(x)"),
            "test.txt:3:9: expected an assignment");
  EXPECT_EQ(error("return (x,)\ny = torch.ops.aten.f(x)"),
            "test.txt:4:9: statement after the graph's 'return'");
  EXPECT_EQ(error("y = torch.ops.aten.f(x + 1)"),
            "test.txt:3:30: expected a value as an argument, found a "
            "computation");
  EXPECT_EQ(error("y = torch.ops.aten.f(99999999999999999999)"),
            "test.txt:3:30: integer 99999999999999999999 does not fit in 64 "
            "bits, signed");
  EXPECT_EQ(error("y = torch.ops.aten.f(1e999)"),
            "test.txt:3:30: number 1e999 is out of range");
  EXPECT_EQ(error("y = torch.ops.aten.f('\\q')"),
            "test.txt:3:31: unknown escape sequence");
  EXPECT_EQ(error("y = torch.ops.aten.f('\xff')"),
            "test.txt:3:30: the string is not valid UTF-8");
  EXPECT_EQ(error("y\xc3 = torch.ops.aten.f(x)"),
            "test.txt:3:9: the name is not valid UTF-8");
}

TEST(FxHostile, names_are_defined_once_and_used_while_they_live) {
  auto error = [](const std::string &body) {
    Result<Model> model = tryRead(module(body));
    EXPECT_FALSE(model);
    return model ? Error{} : model.error();
  };
  Error twice = error("x = torch.ops.aten.f(x)");
  EXPECT_EQ(twice.message, "test.txt:3:9: 'x' is defined twice");
  EXPECT_EQ(twice.notes.back(), "first at test.txt:2:23");
  Error released = error("y = torch.ops.aten.f(x);  x = None\n"
                         "z = torch.ops.aten.f(x)");
  EXPECT_EQ(released.message, "test.txt:4:30: 'x' is used after its release");
  EXPECT_EQ(released.notes.back(), "released at test.txt:3:35");
  EXPECT_EQ(error("x = x = None").message,
            "test.txt:3:13: 'x' is released twice");
  EXPECT_EQ(error("y = None").message,
            "test.txt:3:9: 'y' is released but not defined");
  EXPECT_EQ(error("y = torch.ops.aten.f(y)").message,
            "test.txt:3:30: 'y' is used but not defined");
}

TEST(FxHostile, annotations_that_mean_nothing) {
  auto error = [](const std::string &annotation) {
    return errorOf(module("y: \"" + annotation + "\" = torch.ops.aten.f(x)"));
  };
  EXPECT_EQ(error("q32[2]"), "test.txt:3:13: unknown element type 'q32'");
  EXPECT_EQ(error("DTensor(f32[2])"),
            "test.txt:3:20: 'DTensor' values are not supported");
  EXPECT_EQ(error("f32[2, s0 +]"),
            "test.txt:3:24: expected a size or an expression, found ']'");
  EXPECT_EQ(error("f32[2][1, 1]"), "test.txt:3:25: 2 strides for 1 sizes");
  EXPECT_EQ(error("f32[2]cuda:x"), "test.txt:3:19: 'cuda:x' is not a device");
  EXPECT_EQ(error("f32[99999999999999999999]"),
            "test.txt:3:17: number '99999999999999999999' is malformed or too "
            "large");
  EXPECT_EQ(error("Sym(f(s0))"),
            "test.txt:3:17: unknown function 'f' in a symbolic size");
  EXPECT_EQ(error("Sym(s0"), "test.txt:3:19: expected ')', found the end of "
                             "the text");
  EXPECT_EQ(error(""),
            "test.txt:3:13: expected a type such as \"f32[2, 3]\" or "
            "\"Sym(s0)\"");
  EXPECT_EQ(tryRead(module("y: \"q8[2]\" = x")).error().code,
            ErrorCode::Unsupported);
}

TEST(FxHostile, unsupported_arguments) {
  auto error = [](const std::string &argument) {
    Result<Model> model =
        tryRead(module("y = torch.ops.aten.f(" + argument + ")"));
    EXPECT_FALSE(model);
    EXPECT_EQ(model.error().code, ErrorCode::Unsupported);
    return model.error().message;
  };
  EXPECT_EQ(error("{'a': x}"), "test.txt:3:30: dictionaries as arguments are "
                               "not supported");
  EXPECT_EQ(error("ReduceOp.SUM"),
            "test.txt:3:30: 'ReduceOp.SUM' as an argument is not supported");
  EXPECT_EQ(error("torch.Tensor(size=[2])"),
            "test.txt:3:30: 'torch.Tensor(...)' as an argument is not "
            "supported");
  EXPECT_EQ(tryRead(module("return x", ", *args")).error().message,
            "test.txt:2:23: a graph with a variable number of inputs is not "
            "supported");
}

TEST(FxHostile, depth_and_length_are_limited) {
  auto error = [](const std::string &value) {
    return errorOf(module("y = " + value));
  };
  EXPECT_EQ(error(repeat("(", 100)),
            "test.txt:3:77: brackets nested more than 64 levels deep");
  EXPECT_EQ(error(repeat("-", 1'000'000) + "x"),
            "test.txt:3:77: expression nested more than 64 levels deep");
  EXPECT_EQ(error("x" + repeat("[0]", 1'000'000)),
            "test.txt:3:13: expression nested more than 64 levels deep");
  EXPECT_EQ(error("f" + repeat("()", 1'000'000)),
            "test.txt:3:13: expression nested more than 64 levels deep");
  EXPECT_EQ(error("1" + repeat(" + 1", 1'000'000)),
            "test.txt:3:13: expression nested more than 64 levels deep");
  EXPECT_EQ(error("1" + repeat(" ** 1", 1'000'000)),
            "test.txt:3:333: expression nested more than 64 levels deep");
  // A long dotted name is flat.
  Result<Model> dotted =
      tryRead(module("y = x" + repeat(".y", 1'000'000) + "\nreturn y"));
  ASSERT_FALSE(dotted);
  EXPECT_LT(dotted.error().render().size(), 1000u);
  EXPECT_EQ(errorOf(module("y: \"Sym(" + repeat("-", 1'000'000) + "s0)\" = x")),
            "test.txt:3:81: expression nested more than 64 levels deep");
  EXPECT_EQ(errorOf(module("y: \"Sym(s0" + repeat("//2", 1000) + ")\" = x")),
            "test.txt:3:214: more than 64 operators in a row");
  EXPECT_EQ(errorOf(module("y: \"f32[" + repeat("1, ", 1000) + "1]\" = x")),
            "test.txt:3:208: more than 64 dimensions");
  std::string classes;
  for (size_t i = 0; i < 20; ++i)
    classes += std::string(i, ' ') + "class A(torch.nn.Module):\n";
  EXPECT_EQ(errorOf(classes),
            "test.txt:17:17: graphs nested more than 16 levels deep");
  EXPECT_EQ(errorOf("graph():\n    return " + repeat("[", 100)),
            "test.txt:2:77: arguments nested more than 64 levels deep");
  std::string longLine = module("y = torch.ops.aten.f('" +
                                std::string((16 << 20) + 1, 'a') + "')");
  EXPECT_THAT(errorOf(longLine), StartsWith("test.txt:3:1: line of 16777"));
}

TEST(FxHostile, signatures_that_do_not_fit) {
  auto error = [](const std::string &signature) {
    return errorOf(module("return (x,)") + "\nGraph signature:\n" + signature);
  };
  EXPECT_EQ(error("# inputs\ny: USER_INPUT\n# outputs\nx: USER_OUTPUT\n"),
            "test.txt:7:1: 'y' is not input 0 of the graph");
  EXPECT_EQ(error("# inputs\nx: USER_INPUT\n"),
            "test.txt:5:1: the signature has 1 inputs and 0 outputs, the graph "
            "1 and 1");
  EXPECT_EQ(error("# inputs\nx: MAGIC\n"),
            "test.txt:7:1: unknown kind 'MAGIC' in the signature");
  EXPECT_EQ(error("Range constraints: {s0: VR[a, 3]}"),
            "test.txt:6:1: malformed bound 'a' of a range");
}

TEST(FxHostile, runnable_files_that_do_not_fit) {
  auto error = [](const std::string &loadArgs, const std::string &init = "") {
    return errorOf("class Repro(torch.nn.Module):\n"
                   "    def __init__(self) -> None:\n"
                   "        super().__init__()\n" +
                   init +
                   "    def forward(self, x):\n"
                   "        c = self.c\n"
                   "        return (x, c)\n" +
                   "def load_args(reader):\n" + loadArgs);
  };
  EXPECT_EQ(error("    reader.symint(1)\n    reader.symint(2)\n"),
            "test.txt:7:5: load_args gives 2 inputs, the graph has 1");
  EXPECT_EQ(error("    reader.tensor(buf0, (2,))\n"),
            "test.txt:8:19: 'buf0' is not a storage");
  EXPECT_EQ(error("    buf0 = reader.storage(None, 8)\n"
                  "    reader.tensor(buf0, (4611686018427387904, 4))\n"),
            "test.txt:9:25: the sizes are negative or too large");
  EXPECT_EQ(error("    os.system('x')\n"),
            "test.txt:8:5: expected a call of the reader");
  EXPECT_EQ(error("", "        self.register_buffer('c', tensor([[1], [2, "
                      "3]]))\n"),
            "test.txt:4:42: the lists of the tensor differ in length");
  EXPECT_EQ(error("", "        self.register_buffer('c', tensor([], size=(3, "
                      "4)))\n"),
            "test.txt:4:51: expected the sizes of an empty tensor");
  EXPECT_EQ(error("", "        self.register_buffer('c', open('f'))\n"),
            "test.txt:4:35: expected a tensor");
}

TEST(FxHostile, mutated_files_do_not_crash) {
  constexpr const char *kFiles[] = {
      "misc_ops_2.11.txt",     "cond_2.11.txt",
      "mlp_runnable_2.11.txt", "exported_program_2.8.txt",
      "graph_str_2.8.txt",     "unlifted_module_2.8.txt",
      "coloured_2.8.txt",      "runnable_constants_2.8.txt",
      "control_flow_2.8.txt"};
  constexpr std::string_view kBytes =
      "()[]{},:;.='\"#%*-+ \n\t0123s_\\\x1b\xff";
  std::mt19937 random(1); // the same text every time
  auto below = [&](size_t bound) { return random() % bound; };
  size_t numRead = 0, numRuns = 0;
  for (const char *file : kFiles) {
    const std::string original = readData(file);
    for (int run = 0; run < 300; ++run) {
      std::string text = original;
      for (size_t edits = 1 + below(4); edits > 0 && !text.empty(); --edits) {
        size_t at = below(text.size());
        size_t length = std::min(below(40), text.size() - at);
        switch (below(4)) {
        case 0:
          text[at] = kBytes[below(kBytes.size())];
          break;
        case 1:
          text.erase(at, length);
          break;
        case 2:
          text.insert(below(text.size()), text.substr(at, length));
          break;
        case 3:
          text.insert(at, 1, kBytes[below(kBytes.size())]);
          break;
        }
      }
      Result<Model> model = tryRead(text);
      ++numRuns;
      if (!model) {
        EXPECT_NE(model.error().code, ErrorCode::Internal)
            << model.error().render();
        continue;
      }
      ++numRead;
      Program program = model->program;
      Status status = resolveSignature(program, {}, nullptr);
      EXPECT_TRUE(status || status.error().code != ErrorCode::Internal)
          << status.error().render();
    }
  }
  // Both happen, or the test would test nothing.
  EXPECT_GT(numRead, numRuns / 20);
  EXPECT_LT(numRead, numRuns);
}
