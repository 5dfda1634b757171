//===- FxTextParser.h - the Python subset that FX prints, as a tree -------===//
// Syntax only: what names mean is FxTextReader's business. Depth and length are
// limited here, so that whoever walks a tree may recurse.
#pragma once
#include "FxTextLexer.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcompile::frontend {

struct FxExpr {
  enum class Kind : uint8_t {
    Path,      ///< text: "x", "torch.ops.aten.add.Tensor", "None", "inf"
    Integer,   ///< text
    Float,     ///< text
    Imaginary, ///< text, with its "j"
    String,    ///< text, with its quotes
    Ellipsis,
    List,      ///< operands
    Tuple,     ///< operands
    Dict,      ///< operands: key, value, key, value, ...
    Call,      ///< operands: callee, arguments; keywords
    Attribute, ///< operands: object; text: "cuda", as in f(x).cuda
    Subscript, ///< operands: object, index
    Unary,     ///< text: operator; operands
    Binary,    ///< text: operator; operands
  };
  Kind kind = Kind::Path;
  uint8_t depth = 1;         ///< levels of this tree
  size_t begin = 0, end = 0; ///< bytes of the source
  std::string_view text;
  std::vector<FxExpr> operands;
  /// Of a Call, one for each argument; empty: positional.
  std::vector<std::string_view> keywords;

  bool isPath(std::string_view path) const {
    return kind == Kind::Path && text == path;
  }
  /// A path without a dot.
  bool isName() const {
    return kind == Kind::Path && text.find('.') == text.npos;
  }
};

struct FxStatement {
  enum class Kind : uint8_t {
    Assign,     ///< targets (a = b = value has two), annotation, value
    Declare,    ///< targets[0], annotation
    Update,     ///< targets[0], text: "+=", value
    Expression, ///< value
    Return,     ///< value, unless hasValue is false
    Comment,    ///< text
  };
  Kind kind = Kind::Expression;
  size_t offset = 0;
  std::vector<FxExpr> targets;
  std::optional<FxExpr> annotation;
  bool hasValue = false;
  FxExpr value;
  std::string_view text;
};

struct FxParameter {
  std::string_view name;
  size_t offset = 0;
  std::optional<FxExpr> annotation;
};

struct FxFunction {
  std::string_view name;
  size_t offset = 0;
  std::vector<FxParameter> parameters;
  std::vector<FxStatement> body;
  size_t end = 0; ///< where its text ends
};

struct FxClass {
  std::string name;
  size_t offset = 0;
  std::vector<FxFunction> functions;
  std::vector<FxClass> classes;

  const FxFunction *function(std::string_view name) const;
};

class FxParser {
public:
  /// Parses the bytes [begin, end) of `source`.
  FxParser(const FxSource &source, size_t begin, size_t end)
      : lexer(source, begin, end) {}

  /// "class NAME(...):" and what is indented below it.
  FxClass parseClass(int nesting = 0);
  /// "def NAME(...):" and what is indented below it.
  FxFunction parseFunction();
  /// "a", or "a, b" as a tuple.
  FxExpr parseExpressionList();

private:
  FxParameter parseParameter();
  void parseLine(std::vector<FxStatement> &body);
  FxStatement parseStatement();
  FxExpr parseExpression(int weakest = 0);
  FxExpr parseUnary();
  FxExpr parsePostfix();
  FxExpr parseAtom();
  FxExpr parseBracketed();
  void parseArguments(FxExpr &call);
  FxExpr leaf(FxExpr::Kind kind, const FxToken &token) const;
  /// Sets the end and the depth of a tree with operands.
  FxExpr finish(FxExpr expr) const;

  FxLexer lexer;
  int depth = 0;
  size_t numStatements = 0;
};

} // namespace gcompile::frontend
