#include "FxTextParser.h"

#include <algorithm>
#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

using Kind = FxExpr::Kind;
using TokenKind = FxToken::Kind;

constexpr int kMaxDepth = 64;
constexpr int kMaxClassDepth = 16;
constexpr size_t kMaxStatements = 1'000'000;

struct BinaryOperator {
  std::string_view text;
  int precedence;
};
constexpr BinaryOperator kBinaryOperators[] = {
    {"==", 1}, {"!=", 1}, {"<", 1},  {">", 1},  {"<=", 1}, {">=", 1}, {"|", 2},
    {"^", 3},  {"&", 4},  {"<<", 5}, {">>", 5}, {"+", 6},  {"-", 6},  {"*", 7},
    {"@", 7},  {"/", 7},  {"//", 7}, {"%", 7},  {"**", 9}};
constexpr int kUnaryPrecedence = 8;

bool isUpdate(std::string_view punctuation) {
  return punctuation.size() >= 2 && punctuation.ends_with('=') &&
         punctuation != "==" && punctuation != "!=" && punctuation != "<=" &&
         punctuation != ">=";
}

} // namespace

const FxFunction *FxClass::function(std::string_view name) const {
  auto found = std::ranges::find(functions, name, &FxFunction::name);
  return found == functions.end() ? nullptr : &*found;
}

//===----------------------------------------------------------------------===//
// Classes, functions, statements
//===----------------------------------------------------------------------===//

FxClass FxParser::parseClass(int nesting) {
  FxClass result;
  result.offset = lexer.peek().offset;
  if (nesting == kMaxClassDepth)
    lexer.source().fail(
        result.offset,
        fmt::format("graphs nested more than {} levels deep", kMaxClassDepth));
  size_t indent = lexer.indent();
  lexer.take(); // "class"
  // The name may be "<lambda>", which is no Python.
  while (!lexer.atPunctuation("(")) {
    if (lexer.peek().kind == TokenKind::Newline ||
        lexer.peek().kind == TokenKind::End)
      lexer.failExpected("'('");
    result.name += lexer.take().text;
  }
  parseBracketed();
  lexer.expect(":");
  while (lexer.peek().kind != TokenKind::End) {
    if (lexer.peek().kind == TokenKind::Comment ||
        lexer.peek().kind == TokenKind::Newline) {
      lexer.take();
      continue;
    }
    if (lexer.indent() <= indent)
      break;
    if (lexer.atName("def"))
      result.functions.push_back(parseFunction());
    else if (lexer.atName("class"))
      result.classes.push_back(parseClass(nesting + 1));
    else
      lexer.failExpected("'def' or 'class'");
  }
  return result;
}

FxFunction FxParser::parseFunction() {
  FxFunction result;
  size_t indent = lexer.indent();
  lexer.take(); // "def"
  result.offset = lexer.peek().offset;
  result.name = lexer.expectName("the function's name").text;
  lexer.expect("(");
  while (!lexer.accept(")")) {
    result.parameters.push_back(parseParameter());
    if (!lexer.atPunctuation(")"))
      lexer.expect(",");
  }
  if (lexer.accept("->"))
    parseExpression();
  lexer.expect(":");
  if (lexer.peek().kind == TokenKind::Comment)
    lexer.take();
  if (lexer.peek().kind == TokenKind::Newline)
    lexer.take();
  // Comments do not count as indentation: FX indents them by one space less or
  // more than the code.
  while (lexer.peek().kind != TokenKind::End &&
         (lexer.peek().kind == TokenKind::Comment || lexer.indent() > indent))
    parseLine(result.body);
  result.end = lexer.takenEnd();
  return result;
}

FxParameter FxParser::parseParameter() {
  if (lexer.atPunctuation("*") || lexer.atPunctuation("**"))
    lexer.source().fail(lexer.peek().offset,
                        "a graph with a variable number of inputs is not "
                        "supported",
                        {}, ErrorCode::Unsupported);
  FxParameter parameter;
  parameter.offset = lexer.peek().offset;
  parameter.name = lexer.expectName("a parameter").text;
  if (lexer.accept(":"))
    parameter.annotation = parseExpression();
  if (lexer.accept("="))
    parseExpression(); // the default: a graph's inputs are always given
  return parameter;
}

void FxParser::parseLine(std::vector<FxStatement> &body) {
  if (lexer.peek().kind == TokenKind::Comment) {
    FxStatement comment;
    comment.kind = FxStatement::Kind::Comment;
    comment.offset = lexer.peek().offset;
    comment.text = lexer.take().text;
    body.push_back(std::move(comment));
    return;
  }
  while (true) {
    if (++numStatements > kMaxStatements)
      lexer.source().fail(
          lexer.peek().offset,
          fmt::format("more than {} statements", kMaxStatements));
    body.push_back(parseStatement());
    bool hasMore = lexer.accept(";");
    if (lexer.peek().kind == TokenKind::Comment)
      lexer.take();
    if (lexer.peek().kind == TokenKind::Newline) {
      lexer.take();
      return;
    }
    if (lexer.peek().kind == TokenKind::End)
      return;
    if (!hasMore)
      lexer.failExpected("the end of the statement");
  }
}

FxStatement FxParser::parseStatement() {
  FxStatement statement;
  statement.offset = lexer.peek().offset;
  if (lexer.atName("return")) {
    lexer.take();
    statement.kind = FxStatement::Kind::Return;
    statement.hasValue = lexer.peek().kind != TokenKind::Newline &&
                         lexer.peek().kind != TokenKind::End &&
                         lexer.peek().kind != TokenKind::Comment;
    if (statement.hasValue)
      statement.value = parseExpressionList();
    return statement;
  }
  statement.value = parseExpressionList();
  statement.hasValue = true;
  if (lexer.accept(":")) {
    statement.annotation = parseExpression();
    statement.kind = FxStatement::Kind::Declare;
    if (!lexer.atPunctuation("=")) {
      statement.targets.push_back(std::move(statement.value));
      statement.hasValue = false;
      return statement;
    }
  }
  if (lexer.peek().kind == TokenKind::Punctuation &&
      isUpdate(lexer.peek().text)) {
    statement.kind = FxStatement::Kind::Update;
    statement.text = lexer.take().text;
    statement.targets.push_back(std::move(statement.value));
    statement.value = parseExpression();
    return statement;
  }
  while (lexer.accept("=")) {
    statement.kind = FxStatement::Kind::Assign;
    statement.targets.push_back(std::move(statement.value));
    statement.value = parseExpressionList();
  }
  return statement;
}

//===----------------------------------------------------------------------===//
// Expressions
//===----------------------------------------------------------------------===//

FxExpr FxParser::leaf(Kind kind, const FxToken &token) const {
  FxExpr expr;
  expr.kind = kind;
  expr.begin = token.offset;
  expr.end = token.offset + token.text.size();
  expr.text = token.text;
  return expr;
}

FxExpr FxParser::finish(FxExpr expr) const {
  expr.end = lexer.takenEnd();
  for (const FxExpr &operand : expr.operands)
    expr.depth = std::max<uint8_t>(expr.depth, operand.depth + 1);
  if (expr.depth > kMaxDepth)
    lexer.source().fail(expr.begin,
                        fmt::format("expression nested more than {} levels "
                                    "deep",
                                    kMaxDepth));
  return expr;
}

FxExpr FxParser::parseExpressionList() {
  FxExpr first = parseExpression();
  if (!lexer.atPunctuation(","))
    return first;
  FxExpr tuple;
  tuple.kind = Kind::Tuple;
  tuple.begin = first.begin;
  tuple.operands.push_back(std::move(first));
  while (lexer.accept(",")) {
    const FxToken &next = lexer.peek();
    bool isEnd = next.kind == TokenKind::Newline ||
                 next.kind == TokenKind::End || lexer.atPunctuation("=") ||
                 lexer.atPunctuation(";") || lexer.atPunctuation(")") ||
                 lexer.atPunctuation("]");
    if (isEnd)
      break;
    tuple.operands.push_back(parseExpression());
  }
  return finish(std::move(tuple));
}

FxExpr FxParser::parseExpression(int weakest) {
  if (++depth > kMaxDepth)
    lexer.source().fail(lexer.peek().offset,
                        fmt::format("expression nested more than {} levels "
                                    "deep",
                                    kMaxDepth));
  FxExpr left = parseUnary();
  while (lexer.peek().kind == TokenKind::Punctuation) {
    auto op = std::ranges::find(kBinaryOperators, lexer.peek().text,
                                &BinaryOperator::text);
    if (op == std::end(kBinaryOperators) || op->precedence < weakest)
      break;
    FxExpr binary;
    binary.kind = Kind::Binary;
    binary.text = lexer.take().text;
    binary.begin = left.begin;
    binary.operands.push_back(std::move(left));
    // Only powers group to the right.
    binary.operands.push_back(parseExpression(
        op->text == "**" ? kUnaryPrecedence : op->precedence + 1));
    left = finish(std::move(binary));
  }
  --depth;
  return left;
}

FxExpr FxParser::parseUnary() {
  if (!lexer.atPunctuation("-") && !lexer.atPunctuation("+") &&
      !lexer.atPunctuation("~"))
    return parsePostfix();
  FxExpr unary;
  unary.kind = Kind::Unary;
  unary.begin = lexer.peek().offset;
  unary.text = lexer.take().text;
  // FX prints values, not source: in "-1 ** x" the base is the number -1.
  bool isNumber = lexer.peek().kind == TokenKind::Integer ||
                  lexer.peek().kind == TokenKind::Float ||
                  lexer.peek().kind == TokenKind::Imaginary;
  unary.operands.push_back(isNumber ? parseAtom()
                                    : parseExpression(kUnaryPrecedence));
  return finish(std::move(unary));
}

FxExpr FxParser::parsePostfix() {
  FxExpr expr = parseAtom();
  while (true) {
    FxExpr outer;
    outer.begin = expr.begin;
    if (lexer.atPunctuation("(")) {
      outer.kind = Kind::Call;
      outer.operands.push_back(std::move(expr));
      parseArguments(outer);
    } else if (lexer.accept("[")) {
      outer.kind = Kind::Subscript;
      outer.operands.push_back(std::move(expr));
      outer.operands.push_back(parseExpressionList());
      lexer.expect("]");
    } else if (lexer.accept(".")) {
      outer.kind = Kind::Attribute;
      outer.operands.push_back(std::move(expr));
      outer.text = lexer.expectName("an attribute").text;
    } else {
      return expr;
    }
    expr = finish(std::move(outer));
  }
}

void FxParser::parseArguments(FxExpr &call) {
  lexer.expect("(");
  while (!lexer.accept(")")) {
    FxExpr argument = parseExpression();
    std::string_view keyword;
    if (argument.isName() && lexer.accept("=")) {
      keyword = argument.text;
      argument = parseExpression();
    }
    call.operands.push_back(std::move(argument));
    call.keywords.push_back(keyword);
    if (!lexer.atPunctuation(")"))
      lexer.expect(",");
  }
}

FxExpr FxParser::parseAtom() {
  const FxToken &next = lexer.peek();
  switch (next.kind) {
  case TokenKind::Integer:
    return leaf(Kind::Integer, lexer.take());
  case TokenKind::Float:
    return leaf(Kind::Float, lexer.take());
  case TokenKind::Imaginary:
    return leaf(Kind::Imaginary, lexer.take());
  case TokenKind::String:
    return leaf(Kind::String, lexer.take());
  case TokenKind::Name:
    break;
  default:
    if (lexer.atPunctuation("..."))
      return leaf(Kind::Ellipsis, lexer.take());
    if (lexer.atPunctuation("(") || lexer.atPunctuation("[") ||
        lexer.atPunctuation("{"))
      return parseBracketed();
    lexer.failExpected("a value");
  }
  FxExpr path = leaf(Kind::Path, lexer.take());
  while (lexer.atPunctuation(".") && lexer.peek().offset == path.end) {
    lexer.take();
    FxToken member = lexer.expectName("an attribute");
    if (member.offset != path.end + 1)
      lexer.source().fail(member.offset, "unexpected space in a dotted name");
    path.end = lexer.takenEnd();
    path.text = lexer.source().text().substr(path.begin, path.end - path.begin);
  }
  return path;
}

/// A list, a tuple, a dictionary, or an expression in brackets.
FxExpr FxParser::parseBracketed() {
  FxExpr result;
  FxToken open = lexer.take();
  result.begin = open.offset;
  result.kind = open.text == "["   ? Kind::List
                : open.text == "{" ? Kind::Dict
                                   : Kind::Tuple;
  std::string_view close = open.text == "["   ? "]"
                           : open.text == "{" ? "}"
                                              : ")";
  bool hasComma = false;
  while (!lexer.accept(close)) {
    result.operands.push_back(parseExpression());
    if (result.kind == Kind::Dict) {
      lexer.expect(":");
      result.operands.push_back(parseExpression());
    }
    if (!lexer.atPunctuation(close)) {
      lexer.expect(",");
      hasComma = true;
    }
  }
  if (result.kind == Kind::Tuple && result.operands.size() == 1 && !hasComma) {
    FxExpr inner = std::move(result.operands[0]);
    return inner;
  }
  return finish(std::move(result));
}

} // namespace gcompile::frontend
