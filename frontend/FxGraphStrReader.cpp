#include "FxGraphStrReader.h"
#include "FxValue.h"

#include <algorithm>
#include <charconv>
#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

constexpr int kMaxDepth = 64;

bool isNameCharacter(char c) {
  auto byte = static_cast<unsigned char>(c);
  return std::isalnum(byte) || c == '_' || byte >= 0x80;
}

std::string_view trimEnd(std::string_view text) {
  return text.substr(0, text.find_last_not_of(' ') + 1);
}

template <typename T>
std::optional<T> parseWhole(std::string_view text) {
  T value{};
  auto [end, error] = std::from_chars(text.begin(), text.end(), value);
  if (error != std::errc() || end != text.end())
    return std::nullopt;
  return value;
}

/// "cpu", "cuda:0": the types of device that graphs are exported for.
bool isDevice(std::string_view word) {
  constexpr std::string_view kTypes[] = {"cpu", "cuda", "mps", "xpu", "meta"};
  size_t colon = std::min(word.find(':'), word.size());
  return std::ranges::find(kTypes, word.substr(0, colon)) != std::end(kTypes) &&
         (colon == word.size() ||
          parseWhole<uint8_t>(word.substr(colon + 1)).has_value());
}

/// "1+2j", "-0.5j"
std::optional<std::complex<double>> parseComplex(std::string_view word) {
  if (!word.ends_with('j'))
    return std::nullopt;
  word.remove_suffix(1);
  double real = 0;
  auto [end, error] = std::from_chars(word.begin(), word.end(), real);
  if (error != std::errc())
    return std::nullopt;
  std::string_view rest = word.substr(end - word.begin());
  if (rest.empty())
    return std::complex<double>(0, real);
  if (rest.starts_with('+'))
    rest.remove_prefix(1);
  std::optional<double> imaginary = parseWhole<double>(rest);
  if (!imaginary)
    return std::nullopt;
  return std::complex<double>(real, *imaginary);
}

/// What a bare word stands for: a number, a constant, a device or a string.
Argument readWord(std::string_view word) {
  if (auto integer = parseWhole<int64_t>(word))
    return {*integer};
  // Also "inf" and "nan", signed or not.
  if (auto real = parseWhole<double>(word))
    return {*real};
  if (auto complex = parseComplex(word))
    return {*complex};
  if (auto constant = namedConstant(word))
    return *std::move(constant);
  if (isDevice(word))
    return {Device{std::string(word)}};
  constexpr std::string_view kOperators = "torch.ops.";
  if (word.starts_with(kOperators))
    word.remove_prefix(kOperators.size());
  return {std::string(word)};
}

class LinesReader {
public:
  LinesReader(const FxSource &source, FxRefusals &refusals)
      : source(source), builder(source, refusals) {}

  Program read(size_t firstLine, size_t endLine) {
    bool hasReturned = false;
    for (size_t line = firstLine + 1; line < endLine; ++line) {
      position = source.lineBegin(line);
      end = position + trimEnd(source.line(line)).size();
      skipSpaces();
      if (position == end || peek() == '#')
        continue;
      if (hasReturned)
        source.fail(position, "line after the graph's 'return'");
      if (accept("return")) {
        hasReturned = true;
        inReturn = true;
        size_t begin = position;
        builder.addOutputs(readArgument(), begin);
        expectEnd();
      } else {
        readNode();
      }
    }
    if (!hasReturned)
      source.fail(endLine < source.numLines() ? source.lineBegin(endLine)
                                              : source.text().size(),
                  "the graph ends without a 'return'",
                  "the text is cut off; print the graph again");
    return builder.takeProgram();
  }

private:
  char peek() const { return position < end ? source.text()[position] : '\0'; }
  void skipSpaces() {
    while (peek() == ' ' || peek() == '\t')
      ++position;
  }
  bool accept(std::string_view token) {
    skipSpaces();
    if (!source.text().substr(position, end - position).starts_with(token))
      return false;
    position += token.size();
    return true;
  }
  void expect(std::string_view token) {
    if (!accept(token))
      source.fail(position, fmt::format("expected '{}'", token));
  }
  void expectEnd() {
    skipSpaces();
    if (position != end)
      source.fail(position, "unexpected text at the end of the line");
  }
  std::string_view name() {
    size_t begin = position;
    while (isNameCharacter(peek()))
      ++position;
    if (begin == position)
      source.fail(begin, "expected a name");
    return source.text().substr(begin, position - begin);
  }
  /// Takes what is before `stop`, which must come, and `stop`.
  std::string_view through(std::string_view stop) {
    std::string_view rest = source.text().substr(position, end - position);
    size_t length = rest.find(stop);
    if (length == rest.npos)
      source.fail(position, fmt::format("expected '{}' after this", stop),
                  "the text is cut off; print the graph again");
    position += length + stop.size();
    return rest.substr(0, length);
  }

  void readNode() {
    expect("%");
    size_t nameBegin = position;
    std::string_view nodeName = name();
    expect(":");
    through("] = "); // a type, and "[num_users=1]"
    size_t opBegin = position;
    std::string_view op = through("[target=");
    std::string target(through("]"));
    if (op == "placeholder") {
      if (accept("(default=")) // its inputs are always given
        position = end;
      builder.addInput(nodeName, nameBegin, std::nullopt);
      return expectEnd();
    }
    if (op == "get_attr") {
      builder.addAttribute(nodeName, nameBegin, std::move(target),
                           std::nullopt);
      return expectEnd();
    }
    if (op == "call_method" || op == "call_module") {
      op.remove_prefix(5);
      return builder.refuse(nodeName, nameBegin,
                            fmt::format("{} {}", op, target));
    }
    if (op != "call_function")
      source.fail(opBegin, fmt::format("unknown kind of node '{}'", op));
    if (!isOperator(target))
      return builder.refuse(nodeName, nameBegin, std::move(target));
    expect("(args = ");
    std::vector<NamedArgument> arguments;
    Argument positional = readArgument();
    auto *list = std::get_if<Argument::List>(&positional.data);
    if (!list)
      source.fail(position, "expected a tuple of arguments");
    for (Argument &argument : *list)
      arguments.push_back({"", std::move(argument)});
    expect(", kwargs = {");
    while (!accept("}")) {
      skipSpaces();
      std::string keyword(name());
      expect(":");
      arguments.push_back({std::move(keyword), readArgument()});
      if (peek() != '}')
        expect(",");
    }
    expect(")");
    expectEnd();
    builder.addNode(nodeName, nameBegin, std::move(target),
                    std::move(arguments), std::nullopt);
  }

  /// Spells a target as programs do; false if it is none of theirs.
  static bool isOperator(std::string &target) {
    constexpr std::string_view kOperators = "torch.ops.";
    if (target.starts_with(kOperators))
      target.erase(0, kOperators.size());
    else if (target.starts_with("operator."))
      target = fmt::format("_{}", target);
    else
      return target.starts_with("_operator.") || target.starts_with("math.") ||
             target.starts_with("torch.sym_") ||
             target.starts_with("torch._sym_");
    return true;
  }

  Argument readArgument(int depth = 0) {
    skipSpaces();
    if (depth > kMaxDepth)
      source.fail(position, fmt::format("arguments nested more than {} levels "
                                        "deep",
                                        kMaxDepth));
    size_t begin = position;
    if (accept("%"))
      return builder.use(name(), begin + 1);
    if (peek() == '(' || peek() == '[')
      return readList(depth);
    if (peek() == '{')
      source.fail(position, "dictionaries as arguments are not supported", {},
                  ErrorCode::Unsupported);
    if (accept("slice("))
      return readSlice(depth);
    if (accept("torch.Size(")) {
      Argument sizes = readArgument(depth + 1);
      expect(")");
      return sizes;
    }
    std::string_view word = readBareText();
    if (!inReturn)
      return readWord(word);
    if (builder.isDefined(word))
      return builder.use(word, begin);
    Argument value = readWord(word);
    if (std::holds_alternative<std::string>(value.data))
      source.fail(begin, fmt::format("'{}' is not defined", word));
    return value;
  }

  Argument readList(int depth) {
    std::string_view close = peek() == '(' ? ")" : "]";
    bool isTuple = close == ")", hasComma = false;
    ++position;
    Argument::List values;
    while (!accept(close)) {
      values.push_back(readArgument(depth + 1));
      skipSpaces();
      if (position < end && source.text()[position] != close[0]) {
        expect(",");
        hasComma = true;
      } else if (position == end) {
        expect(close);
      }
    }
    if (isTuple && values.size() == 1 && !hasComma) // (1+2j)
      return std::move(values[0]);
    return {std::move(values)};
  }

  Argument readSlice(int depth) {
    Slice slice;
    std::shared_ptr<const Argument> *parts[] = {&slice.start, &slice.stop,
                                                &slice.step};
    for (auto *part : parts) {
      if (part != &slice.start)
        expect(",");
      *part = std::make_shared<const Argument>(readArgument(depth + 1));
    }
    expect(")");
    return {std::move(slice)};
  }

  /// Up to the ',' or bracket that ends an argument.
  std::string_view readBareText() {
    size_t begin = position;
    int open = 0;
    for (; position < end; ++position) {
      char c = peek();
      if (open == 0 && (c == ',' || c == ')' || c == ']' || c == '}'))
        break;
      open += (c == '(' || c == '[' || c == '{') -
              (c == ')' || c == ']' || c == '}');
    }
    return trimEnd(source.text().substr(begin, position - begin));
  }

  const FxSource &source;
  FxGraphBuilder builder;
  size_t position = 0, end = 0; ///< of the line being read
  bool inReturn = false;        ///< where names have no '%'
};

} // namespace

Program readFxGraphLines(const FxSource &source, size_t firstLine,
                         size_t endLine, FxRefusals &refusals) {
  return LinesReader(source, refusals).read(firstLine, endLine);
}

} // namespace gcompile::frontend
