#include "SymExprText.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;

namespace {

/// What a text is printed as once it is parsed.
std::string reprint(std::string_view text) {
  try {
    SymInt size = parseSymInt(text);
    return size.expr ? size.expr->str() : fmt::format("{}", size.value);
  } catch (const TextError &error) {
    return fmt::format("{}: {}", error.offset, error.what);
  }
}

} // namespace

TEST(SymExprText, prints_what_it_reads) {
  for (const char *text : {"7",
                           "-9223372036854775807",
                           "s0",
                           "zuf12",
                           "2*s0",
                           "s0 - 1",
                           "s0 - 2*s1 + 3",
                           "-s0 + 1",
                           "s0//2",
                           "(s0 + 1)//2",
                           "s0//(2*s1)",
                           "s0**2",
                           "(s0 + 1)**2",
                           "2**(s0 + 1)",
                           "s0/2",
                           "s0 - 1.0",
                           "s0 + 0.5",
                           "Max(1, s0, s1)",
                           "Min(s0, s1 - 1)",
                           "Abs(s0)",
                           "CeilDiv(s0, 4)",
                           "floor(s0/2)",
                           "ceiling(s0/2)",
                           "ToFloat(s0)",
                           "s0 % 2",
                           "(s0 + 1) % (s1*2)",
                           "s0 == 2",
                           "s0 != s1 + 1",
                           "s0 <= 4 and s1 > 2",
                           "s0 < 4 or not s1 >= 2",
                           "Where(s0 > 2, s0, 1)",
                           "2*(s0//2)",
                           "s0 - (s1 - 1)"})
    EXPECT_EQ(reprint(text), text);
}

TEST(SymExprText, reads_other_spellings) {
  EXPECT_EQ(reprint("((s77//2))"), "s77//2");
  EXPECT_EQ(reprint("Mod(s0, 2)"), "s0 % 2");
  EXPECT_EQ(reprint("FloorDiv(s0 + 1, 2)"), "(s0 + 1)//2");
  EXPECT_EQ(reprint("IntTrueDiv(3*s0, 4)"), "3*s0/4");
  EXPECT_EQ(reprint("ModularIndexing(s0, 2, 3)"), "s0//2 % 3");
  EXPECT_EQ(reprint("PowByNatural(s0, 2)"), "s0**2");
  EXPECT_EQ(reprint("Eq(s0, 2)"), "s0 == 2");
  EXPECT_EQ(reprint("(s0 > 2) & ~(s1 > 3)"), "s0 > 2 and not s1 > 3");
  EXPECT_EQ(reprint("s0+1-1*s1"), "s0 + 1 - 1*s1");
  EXPECT_EQ(reprint("2**-1"), "2**-1");
  EXPECT_EQ(reprint("-s0**2"), "-s0**2");
  EXPECT_EQ(reprint("-(-3)"), "3");
}

TEST(SymExprText, tells_the_place_of_a_mistake) {
  EXPECT_EQ(reprint(""),
            "0: expected a size or an expression, found the end of the text");
  EXPECT_EQ(reprint("s0 +"),
            "4: expected a size or an expression, found the end of the text");
  EXPECT_EQ(reprint("s0 s1"), "3: unexpected 's1'");
  EXPECT_EQ(reprint("(s0"), "3: expected ')', found the end of the text");
  EXPECT_EQ(reprint("Max()"), "0: Max() does not take 0 operands");
  EXPECT_EQ(reprint("1 + g(s0)"), "4: unknown function 'g' in a symbolic size");
  EXPECT_EQ(reprint("1e"), "0: number '1e' is malformed or too large");
}

TEST(SymExprText, tells_kinds) {
  auto kind = [](std::string_view text) {
    return symbolicKind(parseSymInt(text));
  };
  EXPECT_EQ(kind("s0"), ValueKind::SymInt);
  EXPECT_EQ(kind("zuf0 + 1"), ValueKind::SymFloat);
  EXPECT_EQ(kind("s0/2"), ValueKind::SymFloat);
  EXPECT_EQ(kind("floor(s0/2)"), ValueKind::SymInt);
  EXPECT_EQ(kind("s0 > 2"), ValueKind::SymBool);
  EXPECT_EQ(kind("Where(s0 > 2, s0, 1)"), ValueKind::SymInt);
  EXPECT_EQ(parseAnnotation("Sym(True)").kind, ValueKind::SymBool);
  EXPECT_EQ(parseAnnotation("Sym(4)").sym.value, 4);
  EXPECT_EQ(parseAnnotation("Parameter(bf16[2, s0])").dtype, DType::BFloat16);
}
