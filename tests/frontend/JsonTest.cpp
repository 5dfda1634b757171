#include "Json.h"
#include "gcompile/frontend/Program.h"

#include <cmath>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace gcompile;
using namespace gcompile::frontend;
using testing::HasSubstr;

namespace {

std::string errorOf(std::string_view text) {
  try {
    JsonDocument document(text, "t.json");
  } catch (const ErrorException &e) {
    EXPECT_EQ(e.error.code, ErrorCode::InvalidArgument);
    return e.error.message;
  }
  return "";
}

TEST(Json, reads_values_and_paths) {
  JsonDocument document(
      R"({"a": [1, {"b": "x\u00e9"}, 2.5], "max": 9223372036854775807, "none": null, "t": true})",
      "t.json");
  Json root = document.root();
  EXPECT_EQ(root.count(), 4u);
  Json a = root.at("a");
  EXPECT_EQ(a.count(), 3u);
  Json second = *++a.elements().begin();
  EXPECT_EQ(second.at("b").asString(), "x\xc3\xa9");
  EXPECT_EQ(second.at("b").path(), "a[1].b");
  EXPECT_EQ(root.at("max").asInt(), INT64_MAX);
  EXPECT_FALSE(root.find("none"));
  EXPECT_FALSE(root.find("absent"));
  EXPECT_TRUE(root.at("t").asBool());
  try {
    second.at("b").asInt();
    FAIL();
  } catch (const ErrorException &e) {
    EXPECT_EQ(e.error.message,
              "t.json: a[1].b: expected an integer, found a string");
  }
}

TEST(Json, takes_bare_non_finite_tokens_as_floats_only) {
  JsonDocument document(
      R"({"a": -Infinity, "b": [Infinity, NaN], "s": "NaN \" Infinity", "q": "NaN"})",
      "t.json");
  Json root = document.root();
  EXPECT_EQ(root.at("a").asFloat(), -INFINITY);
  EXPECT_EQ((*root.at("b").elements().begin()).asFloat(), INFINITY);
  EXPECT_TRUE(std::isnan((*++root.at("b").elements().begin()).asFloat()));
  EXPECT_EQ(root.at("s").asString(), "NaN \" Infinity");
  EXPECT_TRUE(std::isnan(root.at("q").asFloat()));
  EXPECT_THROW(root.at("a").asString(), ErrorException);
}

TEST(Json, rejects_what_parsers_disagree_on) {
  EXPECT_EQ(errorOf(R"({"a": {"k": 1, "k": 2}})"),
            "t.json: a: key 'k' occurs twice");
  EXPECT_THAT(errorOf("[9223372036854775808]"),
              HasSubstr("[0]: integer does not fit"));
  EXPECT_THAT(errorOf("[123456789012345678901234567890]"),
              HasSubstr("[0]: integer does not fit"));
  EXPECT_THAT(errorOf("{} x"), HasSubstr("not valid JSON near byte"));
  EXPECT_THAT(errorOf("{\"a\": "), HasSubstr("unexpected end of input"));
  EXPECT_THAT(errorOf("\"\xff\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf("\"\\ud800\""), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf("[1e999]"), HasSubstr("not valid JSON"));
  EXPECT_THAT(errorOf(std::string(1000, '[')), HasSubstr("levels deep"));
  EXPECT_THAT(errorOf("[Infinit]"), HasSubstr("not valid JSON"));
}

TEST(Json, finds_a_duplicate_among_many_keys) {
  std::string text = "{";
  for (int i = 0; i < 100; ++i)
    text += "\"k" + std::to_string(i) + "\": 0, ";
  EXPECT_EQ(errorOf(text + "\"last\": 0}"), "");
  EXPECT_EQ(errorOf(text + "\"k70\": 0}"), "t.json: key 'k70' occurs twice");
}

SymExprPtr make(SymExpr expr) {
  return std::make_shared<const SymExpr>(std::move(expr));
}
SymExprPtr integer(int64_t value) {
  return make({SymExpr::Kind::Integer, value});
}
SymExprPtr symbol(std::string name) {
  return make({SymExpr::Kind::Symbol, 0, 0, std::move(name)});
}
SymExprPtr apply(SymExpr::Kind kind, std::vector<SymExprPtr> operands) {
  return make({kind, 0, 0, "", std::move(operands)});
}

TEST(SymExpr, prints_brackets_only_where_needed) {
  using enum SymExpr::Kind;
  SymExprPtr s0 = symbol("s0"), u1 = symbol("u1");
  SymExprPtr twice = apply(Mul, {integer(2), s0});
  EXPECT_EQ(apply(Add, {twice, integer(-1)})->str(), "2*s0 - 1");
  EXPECT_EQ(apply(Add, {s0, apply(Mul, {integer(-1), u1})})->str(), "s0 - u1");
  EXPECT_EQ(apply(Add, {s0, apply(Mul, {integer(-3), u1})})->str(),
            "s0 - 3*u1");
  EXPECT_EQ(apply(FloorDiv, {apply(Add, {s0, integer(1)}), integer(2)})->str(),
            "(s0 + 1)//2");
  EXPECT_EQ(apply(Mul, {integer(2), apply(FloorDiv, {s0, integer(2)})})->str(),
            "2*(s0//2)");
  EXPECT_EQ(apply(FloorDiv, {twice, integer(2)})->str(), "2*s0//2");
  EXPECT_EQ(apply(Pow, {s0, integer(2)})->str(), "s0**2");
  EXPECT_EQ(apply(Pow, {integer(-2), s0})->str(), "(-2)**s0");
  EXPECT_EQ(apply(Max, {integer(1), s0})->str(), "Max(1, s0)");
  EXPECT_EQ(apply(Ge, {apply(Add, {s0, u1}), integer(2)})->str(),
            "s0 + u1 >= 2");
  EXPECT_EQ(apply(And, {apply(Or, {apply(Lt, {s0, u1}), apply(Eq, {s0, u1})}),
                        apply(Not, {apply(Ne, {s0, u1})})})
                ->str(),
            "(s0 < u1 or s0 == u1) and not s0 != u1");
  EXPECT_EQ(apply(Add, {s0, integer(INT64_MIN)})->str(),
            "s0 - 9223372036854775808");
}

} // namespace
