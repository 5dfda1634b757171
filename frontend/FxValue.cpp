#include "FxValue.h"
#include "SymExprText.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>
#include <limits>

namespace gcompile::frontend {
namespace {

using Kind = FxExpr::Kind;

constexpr std::string_view kMemoryFormats[] = {
    "contiguous_format", "channels_last", "channels_last_3d",
    "preserve_format"};
constexpr std::string_view kLayouts[] = {
    "strided",    "sparse_coo", "sparse_csr", "sparse_csc",
    "sparse_bsr", "sparse_bsc", "_mkldnn",    "jagged"};

class ValueReader {
public:
  ValueReader(const FxSource &source, const FxResolve &resolve)
      : source(source), resolve(resolve) {}

  Argument read(const FxExpr &expr) const {
    switch (expr.kind) {
    case Kind::Path:
      if (std::optional<Argument> constant = namedConstant(expr.text))
        return *std::move(constant);
      return resolve(expr);
    case Kind::Integer:
      return {integer(expr, expr.text)};
    case Kind::Float:
    case Kind::Imaginary:
      return number(expr);
    case Kind::String:
      return {readString(source, expr)};
    case Kind::Ellipsis:
      return {Ellipsis{}};
    case Kind::List:
    case Kind::Tuple:
      return {list(expr)};
    case Kind::Unary:
      return negated(expr);
    case Kind::Binary:
      return complex(expr);
    case Kind::Call:
      return call(expr);
    case Kind::Dict:
      source.fail(expr.begin, "dictionaries as arguments are not supported", {},
                  ErrorCode::Unsupported);
    case Kind::Attribute:
    case Kind::Subscript:
      break;
    }
    source.fail(expr.begin, "expected a name or a literal as an argument");
  }

private:
  Argument::List list(const FxExpr &expr) const {
    Argument::List values;
    values.reserve(expr.operands.size());
    for (const FxExpr &operand : expr.operands)
      values.push_back(read(operand));
    return values;
  }

  int64_t integer(const FxExpr &expr, std::string_view digits) const {
    int64_t value = 0;
    auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    if (error != std::errc() || end != digits.end())
      source.fail(expr.begin,
                  fmt::format("integer {} does not fit in 64 bits, signed",
                              digits.substr(0, 40)));
    return value;
  }

  Argument number(const FxExpr &expr) const {
    std::string_view digits = expr.text;
    if (expr.kind == Kind::Imaginary)
      digits.remove_suffix(1);
    double value = 0;
    auto [end, error] = std::from_chars(digits.begin(), digits.end(), value);
    // Python prints no number that is too large or too small for a double.
    if (error != std::errc() || end != digits.end())
      source.fail(expr.begin, fmt::format("number {} is out of range",
                                          digits.substr(0, 40)));
    if (expr.kind == Kind::Imaginary)
      return {std::complex<double>(0, value)};
    return {value};
  }

  Argument negated(const FxExpr &expr) const {
    const FxExpr &operand = expr.operands[0];
    bool isMinus = expr.text == "-";
    // -2**63 is a number, 2**63 is none.
    if (operand.kind == Kind::Integer && isMinus)
      return {integer(expr, fmt::format("-{}", operand.text))};
    Argument value = read(operand);
    if (expr.text == "+")
      return value;
    if (auto *real = std::get_if<double>(&value.data); real && isMinus)
      return {-*real};
    if (auto *complex = std::get_if<std::complex<double>>(&value.data);
        complex && isMinus)
      return {-*complex};
    failComputed(expr);
  }

  /// "1+2j"
  Argument complex(const FxExpr &expr) const {
    if (expr.text != "+" && expr.text != "-")
      failComputed(expr);
    Argument left = read(expr.operands[0]), right = read(expr.operands[1]);
    const auto *imaginary = std::get_if<std::complex<double>>(&right.data);
    double real = 0;
    if (const auto *number = std::get_if<int64_t>(&left.data))
      real = static_cast<double>(*number);
    else if (const auto *number = std::get_if<double>(&left.data))
      real = *number;
    else
      failComputed(expr);
    if (!imaginary)
      failComputed(expr);
    return {std::complex<double>(real, expr.text == "+" ? imaginary->imag()
                                                        : -imaginary->imag())};
  }

  [[noreturn]] void failComputed(const FxExpr &expr) const {
    source.fail(expr.begin, "expected a value as an argument, found a "
                            "computation");
  }

  Argument call(const FxExpr &expr) const {
    const FxExpr &callee = expr.operands[0];
    if (callee.isPath("device") || callee.isPath("torch.device"))
      return device(expr);
    if (callee.isPath("torch.Size") && expr.operands.size() == 2)
      return read(expr.operands[1]);
    if (callee.isPath("slice") && expr.operands.size() == 4) {
      auto part = [&](size_t index) {
        return std::make_shared<const Argument>(read(expr.operands[index]));
      };
      return {Slice{part(1), part(2), part(3)}};
    }
    source.fail(expr.begin,
                fmt::format("'{}(...)' as an argument is not supported",
                            shorten(source.text().substr(
                                callee.begin, callee.end - callee.begin))),
                {}, ErrorCode::Unsupported);
  }

  /// device(type='cuda', index=0), device('cuda:0')
  Argument device(const FxExpr &expr) const {
    std::string name;
    for (size_t i = 1; i < expr.operands.size(); ++i) {
      Argument value = read(expr.operands[i]);
      std::string_view keyword = expr.keywords[i - 1];
      if (const auto *type = std::get_if<std::string>(&value.data);
          type && name.empty())
        name = *type;
      else if (const auto *index = std::get_if<int64_t>(&value.data);
               index && !name.empty() && keyword != "type")
        name += fmt::format(":{}", *index);
      else
        source.fail(expr.operands[i].begin, "malformed device");
    }
    return {Device{std::move(name)}};
  }

  const FxSource &source;
  const FxResolve &resolve;
};

} // namespace

std::optional<Argument> namedConstant(std::string_view path) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();
  if (path == "None")
    return Argument{};
  if (path == "True" || path == "False")
    return Argument{path == "True"};
  if (path == "inf")
    return Argument{kInfinity};
  if (path == "nan")
    return Argument{kNaN};
  if (path == "infj")
    return Argument{std::complex<double>(0, kInfinity)};
  if (path == "nanj")
    return Argument{std::complex<double>(0, kNaN)};
  if (path == "Ellipsis")
    return Argument{Ellipsis{}};
  if (!path.starts_with("torch."))
    return std::nullopt;
  path.remove_prefix(6);
  if (std::optional<DType> dtype = dtypeFromName(path))
    return Argument{*dtype};
  if (std::ranges::find(kMemoryFormats, path) != std::end(kMemoryFormats))
    return Argument{MemoryFormat{std::string(path)}};
  if (std::ranges::find(kLayouts, path) != std::end(kLayouts))
    return Argument{Layout{std::string(path)}};
  return std::nullopt;
}

Argument readValue(const FxSource &source, const FxExpr &expr,
                   const FxResolve &resolve) {
  return ValueReader(source, resolve).read(expr);
}

std::optional<std::string> attributePath(const FxSource &source,
                                         const FxExpr &expr) {
  if (expr.kind == Kind::Path)
    return std::string(expr.text);
  std::optional<std::string> object;
  if (expr.kind == Kind::Attribute) {
    if ((object = attributePath(source, expr.operands[0])))
      return fmt::format("{}.{}", *object, expr.text);
  } else if (expr.kind == Kind::Call && expr.operands[0].isPath("getattr") &&
             expr.operands.size() == 3 &&
             expr.operands[2].kind == Kind::String) {
    if ((object = attributePath(source, expr.operands[1])))
      return fmt::format("{}.{}", *object,
                         readString(source, expr.operands[2]));
  }
  return std::nullopt;
}

std::string readString(const FxSource &source, const FxExpr &string) {
  return decodeString(source,
                      {FxToken::Kind::String, string.text, string.begin});
}

std::optional<ValueMeta>
readAnnotation(const FxSource &source,
               const std::optional<FxExpr> &annotation) {
  if (!annotation || annotation->kind != Kind::String)
    return std::nullopt;
  std::string_view text = annotation->text;
  text = text.substr(1, text.size() - 2);
  try {
    return parseAnnotation(text);
  } catch (const TextError &error) {
    source.fail(annotation->begin + 1 + error.offset, error.what, {},
                error.code);
  }
}

} // namespace gcompile::frontend
