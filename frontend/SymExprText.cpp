#include "SymExprText.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

using Kind = SymExpr::Kind;

constexpr int kMaxDepth = 64;
/// PyTorch's own limit on the dimensions of a tensor.
constexpr size_t kMaxRank = 64;

SymExprPtr makeInteger(int64_t value) {
  auto expr = std::make_shared<SymExpr>();
  expr->value = value;
  return expr;
}

SymExprPtr make(Kind kind, std::vector<SymExprPtr> operands) {
  auto expr = std::make_shared<SymExpr>();
  expr->kind = kind;
  expr->operands = std::move(operands);
  return expr;
}

/// A function of SymPy or of PyTorch's additions to it.
struct Function {
  std::string_view name;
  Kind kind;
  size_t minOperands, maxOperands;
};

constexpr size_t kAny = SIZE_MAX;
constexpr Function kFunctions[] = {
    {"Max", Kind::Max, 1, kAny},
    {"Min", Kind::Min, 1, kAny},
    {"Abs", Kind::Abs, 1, 1},
    {"Mod", Kind::Mod, 2, 2},
    {"PythonMod", Kind::Mod, 2, 2},
    {"FloorDiv", Kind::FloorDiv, 2, 2},
    {"CleanDiv", Kind::FloorDiv, 2, 2},
    {"CeilDiv", Kind::CeilDiv, 2, 2},
    {"IntTrueDiv", Kind::TrueDiv, 2, 2},
    {"FloatTrueDiv", Kind::TrueDiv, 2, 2},
    {"PowByNatural", Kind::Pow, 2, 2},
    {"FloatPow", Kind::Pow, 2, 2},
    {"floor", Kind::Floor, 1, 1},
    {"FloorToInt", Kind::Floor, 1, 1},
    {"ceiling", Kind::Ceil, 1, 1},
    {"CeilToInt", Kind::Ceil, 1, 1},
    {"trunc", Kind::Trunc, 1, 1},
    {"TruncToInt", Kind::Trunc, 1, 1},
    {"TruncToFloat", Kind::Trunc, 1, 1},
    {"ToFloat", Kind::ToFloat, 1, 1},
    {"Eq", Kind::Eq, 2, 2},
    {"Ne", Kind::Ne, 2, 2},
    {"And", Kind::And, 1, kAny},
    {"Or", Kind::Or, 1, kAny},
    {"Not", Kind::Not, 1, 1},
    {"Where", Kind::Where, 3, 3},
    // The names of operators in srepr. LessThan is <=, not <.
    {"Add", Kind::Add, 1, kAny},
    {"Mul", Kind::Mul, 1, kAny},
    {"Pow", Kind::Pow, 2, 2},
    {"Equality", Kind::Eq, 2, 2},
    {"Unequality", Kind::Ne, 2, 2},
    {"StrictLessThan", Kind::Lt, 2, 2},
    {"LessThan", Kind::Le, 2, 2},
    {"StrictGreaterThan", Kind::Gt, 2, 2},
    {"GreaterThan", Kind::Ge, 2, 2},
};

struct Operator {
  std::string_view text;
  int precedence;
  Kind kind;
};

// Longer spellings before their prefixes. SymPy writes and, or and not as &, |
// and ~, always with brackets around comparisons.
constexpr Operator kOperators[] = {
    {"==", 4, Kind::Eq},       {"!=", 4, Kind::Ne},   {"<=", 4, Kind::Le},
    {">=", 4, Kind::Ge},       {"<", 4, Kind::Lt},    {">", 4, Kind::Gt},
    {"//", 8, Kind::FloorDiv}, {"**", 10, Kind::Pow}, {"*", 8, Kind::Mul},
    {"/", 8, Kind::TrueDiv},   {"%", 8, Kind::Mod},   {"+", 7, Kind::Add},
    {"-", 7, Kind::Add},       {"&", 6, Kind::And},   {"|", 5, Kind::Or},
    {"and", 2, Kind::And},     {"or", 1, Kind::Or},
};
constexpr int kNotPrecedence = 3, kUnaryPrecedence = 9;

bool isNameStart(char c) {
  return std::isalpha(static_cast<unsigned char>(c)) || c == '_';
}
bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isNameCharacter(char c) { return isNameStart(c) || isDigit(c); }

/// Reads expressions and types from the front of a text.
class Parser {
public:
  explicit Parser(std::string_view text) : text(text) {}

  [[noreturn]] void fail(std::string what,
                         ErrorCode code = ErrorCode::InvalidArgument) const {
    throw TextError{position, std::move(what), code};
  }

  char peek() const { return position < text.size() ? text[position] : '\0'; }
  bool atEnd() {
    skipSpace();
    return position == text.size();
  }

  bool accept(std::string_view token) {
    skipSpace();
    if (!text.substr(position).starts_with(token))
      return false;
    // A word is not the front of a longer one.
    if (isNameStart(token[0]) && position + token.size() < text.size() &&
        isNameCharacter(text[position + token.size()]))
      return false;
    position += token.size();
    return true;
  }

  void expect(std::string_view token) {
    if (!accept(token))
      fail(fmt::format("expected '{}', found {}", token, describeNext()));
  }

  void expectEnd() {
    if (!atEnd())
      fail(fmt::format("unexpected {}", describeNext()));
  }

  std::string_view name() {
    skipSpace();
    size_t begin = position;
    while (isNameCharacter(peek()))
      ++position;
    return text.substr(begin, position - begin);
  }

  std::string_view rest() {
    std::string_view remaining = text.substr(position);
    position = text.size();
    return remaining;
  }

  SymExprPtr expression(int weakest = 0) {
    if (++depth > kMaxDepth)
      fail(
          fmt::format("expression nested more than {} levels deep", kMaxDepth));
    SymExprPtr left = operand();
    int leftDepth = 0;
    while (std::optional<Operator> op = acceptOperator(weakest)) {
      // Only powers group to the right.
      SymExprPtr right = expression(op->kind == Kind::Pow ? kUnaryPrecedence
                                                          : op->precedence + 1);
      if (op->text == "-")
        right = negate(right);
      SymExprPtr combined = combine(op->kind, left, right);
      if (combined != left && ++leftDepth > kMaxDepth)
        fail(fmt::format("more than {} operators in a row", kMaxDepth));
      left = combined;
    }
    --depth;
    return left;
  }

  SymInt value() {
    SymExprPtr expr = expression();
    SymInt result;
    if (expr->kind == Kind::Integer)
      result.value = expr->value;
    else
      result.expr = expr;
    return result;
  }

  /// "[a, b]"
  std::vector<SymInt> list() {
    std::vector<SymInt> values;
    expect("[");
    if (accept("]"))
      return values;
    do {
      if (values.size() == kMaxRank)
        fail(fmt::format("more than {} dimensions", kMaxRank));
      values.push_back(value());
    } while (accept(","));
    expect("]");
    return values;
  }

private:
  void skipSpace() {
    while (peek() == ' ')
      ++position;
  }

  std::string describeNext() {
    skipSpace();
    if (position == text.size())
      return "the end of the text";
    size_t begin = position;
    std::string_view word = name();
    position = begin;
    return fmt::format("'{}'", word.empty() ? text.substr(position, 1) : word);
  }

  std::optional<Operator> acceptOperator(int weakest) {
    for (const Operator &op : kOperators) {
      size_t begin = position;
      if (!accept(op.text))
        continue;
      if (op.precedence >= weakest)
        return op;
      position = begin;
      return std::nullopt;
    }
    return std::nullopt;
  }

  /// Sums, products and the like take any number of operands.
  static SymExprPtr combine(Kind kind, const SymExprPtr &left,
                            const SymExprPtr &right) {
    bool isAssociative = kind == Kind::Add || kind == Kind::Mul ||
                         kind == Kind::And || kind == Kind::Or;
    if (!isAssociative || left->kind != kind)
      return make(kind, {left, right});
    // `left` is this parser's own, not yet seen by anyone else.
    auto sum = std::const_pointer_cast<SymExpr>(left);
    sum->operands.push_back(right);
    return sum;
  }

  SymExprPtr negate(const SymExprPtr &expr) const {
    if (expr->kind == Kind::Integer && expr->value != INT64_MIN)
      return makeInteger(-expr->value);
    if (expr->kind == Kind::Float) {
      auto negated = std::make_shared<SymExpr>(*expr);
      negated->floatValue = -expr->floatValue;
      return negated;
    }
    return make(Kind::Neg, {expr});
  }

  SymExprPtr operand() {
    if (accept("-"))
      return negate(expression(kUnaryPrecedence));
    if (accept("+"))
      return expression(kUnaryPrecedence);
    if (accept("~"))
      return make(Kind::Not, {expression(kUnaryPrecedence)});
    if (accept("not"))
      return make(Kind::Not, {expression(kNotPrecedence)});
    if (accept("(")) {
      SymExprPtr inner = expression();
      expect(")");
      return inner;
    }
    skipSpace();
    if (isDigit(peek()) || peek() == '.')
      return number();
    if (!isNameStart(peek()))
      fail(fmt::format("expected a size or an expression, found {}",
                       describeNext()));
    size_t begin = position;
    std::string_view word = name();
    if (accept("(")) {
      SymExprPtr literal = constructor(word);
      return literal ? literal : call(word, begin);
    }
    if (word == "True" || word == "False" || word == "true" || word == "false")
      return makeInteger(word == "True" || word == "true");
    if (word == "oo" || word == "int_oo" || word == "zoo" || word == "nan")
      fail(fmt::format("'{}' is not a finite value", word));
    auto symbol = std::make_shared<SymExpr>();
    symbol->kind = Kind::Symbol;
    symbol->name = word;
    return symbol;
  }

  SymExprPtr number() {
    size_t begin = position;
    while (isDigit(peek()))
      ++position;
    bool isFloat = peek() == '.' || peek() == 'e' || peek() == 'E';
    if (isFloat)
      while (isDigit(peek()) || peek() == '.' || peek() == 'e' ||
             peek() == 'E' ||
             ((peek() == '-' || peek() == '+') &&
              (text[position - 1] == 'e' || text[position - 1] == 'E')))
        ++position;
    std::string_view digits = text.substr(begin, position - begin);
    auto expr = std::make_shared<SymExpr>();
    std::from_chars_result parsed{};
    if (isFloat) {
      expr->kind = Kind::Float;
      parsed = std::from_chars(digits.begin(), digits.end(), expr->floatValue);
    } else {
      parsed = std::from_chars(digits.begin(), digits.end(), expr->value);
    }
    if (parsed.ec != std::errc() || parsed.ptr != digits.end()) {
      position = begin;
      fail(fmt::format("number '{}' is malformed or too large", digits));
    }
    return expr;
  }

  /// What follows the bracket of a literal in srepr, such as
  /// "Symbol('s0', positive=True)"; null if `name` is no such constructor.
  SymExprPtr constructor(std::string_view name) {
    SymExprPtr result;
    if (name == "Symbol") {
      auto symbol = std::make_shared<SymExpr>();
      symbol->kind = Kind::Symbol;
      expect("'");
      symbol->name = this->name();
      if (symbol->name.empty())
        fail("a symbol needs a name");
      expect("'");
      result = symbol;
    } else if (name == "Integer" || name == "Rational") {
      bool isInteger = name == "Integer";
      result = expression(kUnaryPrecedence);
      if (!isInteger) {
        expect(",");
        result = make(Kind::TrueDiv, {result, expression(kUnaryPrecedence)});
      }
      auto isLiteral = [](const SymExprPtr &expr) {
        return expr->kind == Kind::Integer;
      };
      if (isInteger ? !isLiteral(result)
                    : !std::ranges::all_of(result->operands, isLiteral))
        fail(fmt::format("{}() takes integers", name));
    } else if (name == "Float") {
      expect("'");
      bool isNegative = accept("-");
      auto real = std::make_shared<SymExpr>(*number());
      if (real->kind == Kind::Integer)
        real->floatValue = static_cast<double>(real->value);
      real->kind = Kind::Float;
      if (isNegative)
        real->floatValue = -real->floatValue;
      expect("'");
      result = real;
    } else {
      return nullptr;
    }
    // Assumptions and precisions.
    while (accept(",")) {
      this->name();
      expect("=");
      if (!accept("True") && !accept("False"))
        number();
    }
    expect(")");
    return result;
  }

  SymExprPtr call(std::string_view name, size_t nameOffset) {
    std::vector<SymExprPtr> operands;
    if (!accept(")")) {
      do
        operands.push_back(expression());
      while (accept(","));
      expect(")");
    }
    size_t end = std::exchange(position, nameOffset); // for messages
    auto checkCount = [&](size_t minimum, size_t maximum) {
      if (operands.size() < minimum || operands.size() > maximum)
        fail(fmt::format("{}() does not take {} operands", name,
                         operands.size()));
    };
    SymExprPtr result;
    if (name == "ModularIndexing") { // (a // b) % c
      checkCount(3, 3);
      result =
          make(Kind::Mod,
               {make(Kind::FloorDiv, {operands[0], operands[1]}), operands[2]});
    } else if (name == "Identity") {
      checkCount(1, 1);
      result = operands[0];
    } else {
      auto function = std::ranges::find(kFunctions, name, &Function::name);
      if (function == std::end(kFunctions))
        fail(fmt::format("unknown function '{}' in a symbolic size", name),
             ErrorCode::Unsupported);
      checkCount(function->minOperands, function->maxOperands);
      result = make(function->kind, std::move(operands));
    }
    position = end;
    return result;
  }

  std::string_view text;
  size_t position = 0;
  int depth = 0;
};

ValueKind exprKind(const SymExpr &expr) {
  switch (expr.kind) {
  case Kind::Eq:
  case Kind::Ne:
  case Kind::Lt:
  case Kind::Le:
  case Kind::Gt:
  case Kind::Ge:
  case Kind::And:
  case Kind::Or:
  case Kind::Not:
    return ValueKind::SymBool;
  case Kind::Float:
  case Kind::TrueDiv:
  case Kind::ToFloat:
    return ValueKind::SymFloat;
  case Kind::Floor:
  case Kind::Ceil:
  case Kind::Trunc:
  case Kind::Integer:
    return ValueKind::SymInt;
  case Kind::Symbol: // zf0: backed, zuf0: unbacked float
    return expr.name.starts_with("zf") || expr.name.starts_with("zuf")
               ? ValueKind::SymFloat
               : ValueKind::SymInt;
  default:
    break;
  }
  // The condition of Where says nothing of its result.
  auto first = expr.operands.begin() + (expr.kind == Kind::Where ? 1 : 0);
  bool anyFloat = std::any_of(first, expr.operands.end(), [](auto &operand) {
    return exprKind(*operand) == ValueKind::SymFloat;
  });
  return anyFloat ? ValueKind::SymFloat : ValueKind::SymInt;
}

bool isDevice(std::string_view text) {
  size_t colon = text.find(':');
  std::string_view type = text.substr(0, colon);
  auto isLower = [](char c) { return c >= 'a' && c <= 'z'; };
  if (type.empty() || !std::ranges::all_of(type, isLower))
    return false;
  if (colon == text.npos)
    return true;
  std::string_view index = text.substr(colon + 1);
  return !index.empty() && std::ranges::all_of(index, isDigit);
}

} // namespace

SymInt parseSymInt(std::string_view text) {
  Parser parser(text);
  SymInt value = parser.value();
  parser.expectEnd();
  return value;
}

ValueKind symbolicKind(const SymInt &value) {
  return value.expr ? exprKind(*value.expr) : ValueKind::SymInt;
}

ValueMeta parseAnnotation(std::string_view text) {
  Parser parser(text);
  ValueMeta meta;
  if (parser.accept("Sym")) {
    parser.expect("(");
    bool isConstantBool = parser.peek() == 'T' || parser.peek() == 'F';
    meta.sym = parser.value();
    meta.kind = meta.sym.isStatic() && isConstantBool ? ValueKind::SymBool
                                                      : symbolicKind(meta.sym);
    parser.expect(")");
    parser.expectEnd();
    return meta;
  }
  meta.kind = ValueKind::Tensor;
  bool isParameter = parser.accept("Parameter");
  if (isParameter)
    parser.expect("(");
  std::string_view type = parser.name();
  if (type.empty())
    parser.fail("expected a type such as \"f32[2, 3]\" or \"Sym(s0)\"");
  if (parser.peek() != '[')
    parser.fail(fmt::format("'{}' values are not supported", type),
                ErrorCode::Unsupported);
  std::optional<DType> dtype = dtypeFromShortName(type);
  if (!dtype)
    throw TextError{static_cast<size_t>(type.data() - text.data()),
                    fmt::format("unknown element type '{}'", type),
                    ErrorCode::Unsupported};
  meta.dtype = *dtype;
  meta.sizes = parser.list();
  if (parser.peek() == '[') {
    meta.strides = parser.list();
    if (meta.strides.size() != meta.sizes.size())
      parser.fail(fmt::format("{} strides for {} sizes", meta.strides.size(),
                              meta.sizes.size()));
  }
  if (isParameter) {
    parser.expect(")");
    parser.expectEnd();
  } else if (!parser.atEnd()) {
    meta.device = parser.rest();
    if (!isDevice(meta.device))
      throw TextError{text.size() - meta.device.size(),
                      fmt::format("'{}' is not a device", meta.device)};
  }
  return meta;
}

} // namespace gcompile::frontend
