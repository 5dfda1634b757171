//===- SymExpr.cpp - print symbolic expressions as Python does ------------===//
#include "gcompile/frontend/Program.h"

#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

/// Python's precedences, weakest first.
enum Precedence : int {
  kOr,
  kAnd,
  kNot,
  kComparison,
  kSum,
  kProduct,
  kUnary,
  kPower,
  kAtom,
};

/// Spelling of a kind: an operator between operands, or a function.
struct Spelling {
  const char *text;
  Precedence precedence;
};

Spelling spelling(SymExpr::Kind kind) {
  using Kind = SymExpr::Kind;
  switch (kind) {
  case Kind::Integer:
  case Kind::Float:
  case Kind::Symbol:
    return {"", kAtom};
  case Kind::Add:
    return {" + ", kSum};
  case Kind::Mul:
    return {"*", kProduct};
  case Kind::FloorDiv:
    return {"//", kProduct};
  case Kind::TrueDiv:
    return {"/", kProduct};
  case Kind::Mod:
    return {" % ", kProduct};
  case Kind::Neg:
    return {"-", kUnary};
  case Kind::Pow:
    return {"**", kPower};
  case Kind::Eq:
    return {" == ", kComparison};
  case Kind::Ne:
    return {" != ", kComparison};
  case Kind::Lt:
    return {" < ", kComparison};
  case Kind::Le:
    return {" <= ", kComparison};
  case Kind::Gt:
    return {" > ", kComparison};
  case Kind::Ge:
    return {" >= ", kComparison};
  case Kind::And:
    return {" and ", kAnd};
  case Kind::Or:
    return {" or ", kOr};
  case Kind::Not:
    return {"not ", kNot};
  case Kind::Max:
    return {"Max", kAtom};
  case Kind::Min:
    return {"Min", kAtom};
  case Kind::Abs:
    return {"Abs", kAtom};
  case Kind::CeilDiv:
    return {"CeilDiv", kAtom};
  case Kind::Floor:
    return {"floor", kAtom};
  case Kind::Ceil:
    return {"ceiling", kAtom};
  case Kind::Trunc:
    return {"TruncToInt", kAtom};
  case Kind::ToFloat:
    return {"ToFloat", kAtom};
  case Kind::Where:
    return {"Where", kAtom};
  }
  return {"", kAtom};
}

std::string print(const SymExpr &expr, Precedence weakest);

/// Decimal digits of |value|, which may be 2^63.
std::string magnitude(int64_t value) {
  auto bits = static_cast<uint64_t>(value);
  return fmt::format("{}", value < 0 ? 0 - bits : bits);
}

/// As Python does, so never as an integer.
std::string printFloat(double value) {
  std::string text = fmt::format("{}", value);
  return text.find_first_of(".en") == text.npos ? text + ".0" : text;
}

/// `term` without its sign, where it has a negative one.
std::optional<std::string> printNegated(const SymExpr &term) {
  using Kind = SymExpr::Kind;
  if (term.kind == Kind::Integer && term.value < 0)
    return magnitude(term.value);
  if (term.kind == Kind::Float && term.floatValue < 0)
    return printFloat(-term.floatValue);
  if (term.kind == Kind::Neg)
    return print(*term.operands[0], kProduct);
  if (term.kind == Kind::Mul && term.operands.size() > 1 &&
      term.operands[0]->kind == Kind::Integer && term.operands[0]->value < 0) {
    int64_t factor = term.operands[0]->value;
    std::string text = factor == -1 ? "" : magnitude(factor);
    for (size_t i = 1; i < term.operands.size(); ++i)
      text += (text.empty() ? "" : "*") + print(*term.operands[i], kUnary);
    return text;
  }
  return std::nullopt;
}

std::string printUnbracketed(const SymExpr &expr) {
  using Kind = SymExpr::Kind;
  auto [text, precedence] = spelling(expr.kind);
  auto stronger = static_cast<Precedence>(precedence + 1);
  const auto &operands = expr.operands;
  switch (expr.kind) {
  case Kind::Integer:
    return fmt::format("{}", expr.value);
  case Kind::Float:
    return printFloat(expr.floatValue);
  case Kind::Symbol:
    return expr.name;
  case Kind::Neg:
  case Kind::Not:
    return text + print(*operands[0], precedence);
  case Kind::Pow:
    return fmt::format("{}**{}", print(*operands[0], kAtom),
                       print(*operands[1], kUnary));
  default:
    break;
  }
  std::string joined;
  if (precedence == kAtom) {
    for (const SymExprPtr &operand : operands)
      joined += (joined.empty() ? "" : ", ") + print(*operand, kOr);
    return fmt::format("{}({})", text, joined);
  }
  // Left-associative, so only the first operand may be of equal precedence;
  // Python's comparisons chain, so there not even that.
  for (const SymExprPtr &operand : operands) {
    if (joined.empty()) {
      joined =
          print(*operand, precedence == kComparison ? stronger : precedence);
      continue;
    }
    if (std::optional<std::string> positive =
            expr.kind == Kind::Add ? printNegated(*operand) : std::nullopt)
      joined += " - " + *positive;
    else
      joined += text + print(*operand, stronger);
  }
  return joined;
}

/// In brackets if `expr` binds less strongly than `weakest`.
std::string print(const SymExpr &expr, Precedence weakest) {
  Precedence precedence = spelling(expr.kind).precedence;
  bool isNegative = (expr.kind == SymExpr::Kind::Integer && expr.value < 0) ||
                    (expr.kind == SymExpr::Kind::Float && expr.floatValue < 0);
  if (isNegative)
    precedence = kUnary;
  std::string text = printUnbracketed(expr);
  return precedence < weakest ? fmt::format("({})", text) : text;
}

} // namespace

std::string SymExpr::str() const { return print(*this, kOr); }

} // namespace gcompile::frontend
