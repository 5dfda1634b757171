#include "FxTextLexer.h"

#include <algorithm>
#include <cctype>
#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

constexpr size_t kMaxLineBytes = size_t{16} << 20;
constexpr size_t kMaxBracketDepth = 64;

bool isDigit(char c) { return std::isdigit(static_cast<unsigned char>(c)); }
bool isNameStart(char c) {
  auto byte = static_cast<unsigned char>(c);
  return std::isalpha(byte) || c == '_' || byte >= 0x80;
}
bool isNameCharacter(char c) { return isNameStart(c) || isDigit(c); }

/// Takes pieces off the front of a text.
class Cursor {
public:
  explicit Cursor(std::string_view text) : text(text) {}
  bool literal(std::string_view expected) {
    if (!text.substr(position).starts_with(expected))
      return false;
    position += expected.size();
    return true;
  }
  /// One or more digits; exactly `count` if that is not 0.
  bool digits(size_t count = 0) {
    size_t begin = position;
    while (position < text.size() && isDigit(text[position]))
      ++position;
    return position > begin && (count == 0 || position - begin == count);
  }
  bool anyOf(std::string_view characters) {
    if (position == text.size() ||
        characters.find(text[position]) == characters.npos)
      return false;
    ++position;
    return true;
  }
  /// Up to and including `last`.
  bool through(std::string_view last) {
    size_t found = text.find(last, position);
    if (found == text.npos)
      return false;
    position = found + last.size();
    return true;
  }
  std::string_view text;
  size_t position = 0;
};

/// Bytes that PyTorch's logging puts before each line of a message:
/// "V1023 10:11:12.345678 4242 torch/a/b.py:123] [0/0] [__aot_graphs] ".
size_t logPrefixBytes(std::string_view line) {
  Cursor cursor(line);
  if (cursor.literal("[rank") && !(cursor.digits() && cursor.literal("]:")))
    return 0;
  if (!cursor.anyOf("VDIWEC") || !cursor.digits(4) || !cursor.literal(" ") ||
      !cursor.digits(2) || !cursor.literal(":") || !cursor.digits(2) ||
      !cursor.literal(":") || !cursor.digits(2) || !cursor.literal(".") ||
      !cursor.digits() || !cursor.literal(" ") || !cursor.digits() ||
      !cursor.literal(" ") || !cursor.through(":") || !cursor.digits() ||
      !cursor.literal("]"))
    return 0;
  while (cursor.literal(" ["))
    if (!cursor.through("]"))
      return 0;
  cursor.literal(" ");
  return cursor.position;
}

/// Drops "ESC [ ... m", with which terminals are told colours.
std::string withoutColours(std::string_view line) {
  std::string clean;
  for (size_t i = 0; i < line.size(); ++i) {
    if (line.substr(i).starts_with("\x1b[")) {
      size_t end = line.find_first_not_of("0123456789;", i + 2);
      if (end != line.npos && line[end] == 'm') {
        i = end;
        continue;
      }
    }
    clean += line[i];
  }
  return clean;
}

bool isUtf8(std::string_view text) {
  for (size_t i = 0; i < text.size();) {
    auto byte = static_cast<unsigned char>(text[i]);
    size_t length = byte < 0x80                   ? 1
                    : byte >= 0xC2 && byte < 0xE0 ? 2
                    : byte >= 0xE0 && byte < 0xF0 ? 3
                    : byte >= 0xF0 && byte < 0xF5 ? 4
                                                  : 0;
    if (length == 0 || i + length > text.size())
      return false;
    uint32_t code = length == 1 ? byte : byte & (0x7F >> length);
    for (size_t j = 1; j < length; ++j) {
      auto more = static_cast<unsigned char>(text[i + j]);
      if (more >> 6 != 2)
        return false;
      code = code << 6 | (more & 0x3F);
    }
    bool isOverlong =
        (length == 3 && code < 0x800) || (length == 4 && code < 0x10000);
    if (isOverlong || (code >= 0xD800 && code < 0xE000) || code > 0x10FFFF)
      return false;
    i += length;
  }
  return true;
}

bool isPrintable(std::string_view text) {
  return isUtf8(text) && std::ranges::none_of(text, [](char c) {
           return std::iscntrl(static_cast<unsigned char>(c));
         });
}

} // namespace

//===----------------------------------------------------------------------===//
// FxSource
//===----------------------------------------------------------------------===//

FxSource::FxSource(std::string_view fileText, std::string name)
    : fileName(std::move(name)) {
  cleanText.reserve(fileText.size() + 1);
  while (!fileText.empty()) {
    size_t end = std::min(fileText.find('\n'), fileText.size());
    std::string_view line = fileText.substr(0, end);
    fileText.remove_prefix(std::min(end + 1, fileText.size()));
    if (line.size() > kMaxLineBytes)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("{}:{}:1: line of {} bytes, more than the {} "
                             "allowed",
                             fileName, lines.size() + 1, line.size(),
                             kMaxLineBytes));
    if (line.ends_with('\r'))
      line.remove_suffix(1);
    std::string uncoloured;
    if (line.find('\x1b') != line.npos)
      line = uncoloured = withoutColours(line);
    size_t prefixBytes = logPrefixBytes(line);
    lines.push_back({cleanText.size(), prefixBytes});
    cleanText += line.substr(prefixBytes);
    cleanText += '\n';
  }
}

std::string_view FxSource::line(size_t index) const {
  size_t end =
      index + 1 < lines.size() ? lines[index + 1].begin : cleanText.size();
  size_t begin = lines[index].begin;
  return std::string_view(cleanText).substr(begin, end - begin - 1);
}

size_t FxSource::lineOf(size_t offset) const {
  auto after = std::ranges::upper_bound(lines, offset, {}, &Line::begin);
  return after == lines.begin() ? 0 : after - lines.begin() - 1;
}

std::string FxSource::place(size_t offset) const {
  if (lines.empty())
    return fmt::format("{}:1:1", fileName);
  // The end of the text is the end of its last line.
  offset = std::min(offset, cleanText.size() - 1);
  size_t index = lineOf(offset);
  return fmt::format("{}:{}:{}", fileName, index + 1,
                     offset - lines[index].begin + lines[index].prefixBytes +
                         1);
}

void FxSource::fail(size_t offset, std::string what, std::string help,
                    ErrorCode code, std::vector<std::string> notes) const {
  if (!lines.empty()) {
    // The part of a long line that fits a terminal.
    constexpr size_t kBefore = 40, kShown = 76;
    size_t index = lineOf(std::min(offset, cleanText.size() - 1));
    size_t column = std::min(offset, cleanText.size() - 1) - lines[index].begin;
    size_t first = column > kBefore
                       ? column - kBefore
                       : std::min(indentation(line(index)), column);
    std::string_view shown = line(index).substr(first, kShown);
    if (isPrintable(shown))
      notes.insert(notes.begin(), {std::string(shown),
                                   std::string(column - first, ' ') + "^"});
  }
  throwError(code, fmt::format("{}: {}", place(offset), what), std::move(help),
             std::move(notes));
}

std::string_view shorten(std::string_view text, size_t maxBytes) {
  if (text.size() <= maxBytes)
    return text;
  auto isContinuation = [](char c) {
    return static_cast<unsigned char>(c) >> 6 == 2;
  };
  while (maxBytes > 0 && isContinuation(text[maxBytes]))
    --maxBytes;
  return text.substr(0, maxBytes);
}

size_t indentation(std::string_view line) {
  return std::min(line.find_first_not_of(" \t"), line.size());
}

//===----------------------------------------------------------------------===//
// FxLexer
//===----------------------------------------------------------------------===//

FxLexer::FxLexer(const FxSource &source, size_t begin, size_t end)
    : input(source), text(source.text().substr(0, end)), position(begin),
      next(scan()) {}

FxToken FxLexer::take() {
  FxToken taken = next;
  lastEnd = taken.offset + taken.text.size();
  if (taken.kind != FxToken::Kind::End)
    next = scan();
  return taken;
}

bool FxLexer::accept(std::string_view punctuation) {
  if (!atPunctuation(punctuation))
    return false;
  take();
  return true;
}

void FxLexer::expect(std::string_view punctuation) {
  if (!accept(punctuation))
    failExpected(fmt::format("'{}'", punctuation));
}

FxToken FxLexer::expectName(std::string_view what) {
  if (next.kind != FxToken::Kind::Name)
    failExpected(what);
  return take();
}

void FxLexer::failExpected(std::string_view what) const {
  std::string found = fmt::format("'{}'", shorten(next.text));
  if (next.kind == FxToken::Kind::End)
    found = "the end of the text";
  else if (next.kind == FxToken::Kind::Newline)
    found = "the end of the line";
  input.fail(next.offset, fmt::format("expected {}, found {}", what, found));
}

size_t FxLexer::indent() const {
  size_t offset = std::min(next.offset, input.text().size());
  return input.numLines() == 0 ? 0
                               : indentation(input.line(input.lineOf(offset)));
}

FxToken FxLexer::token(FxToken::Kind kind, size_t begin) const {
  return {kind, text.substr(begin, position - begin), begin};
}

FxToken FxLexer::scan() {
  using Kind = FxToken::Kind;
  while (position < text.size()) {
    size_t begin = position;
    char c = text[position];
    if (c == ' ' || c == '\t') {
      ++position;
      continue;
    }
    if (c == '\n') {
      ++position;
      if (!openBrackets.empty() || !std::exchange(lineHasTokens, false))
        continue;
      return token(Kind::Newline, begin);
    }
    if (c == '#') {
      position = std::min(text.find('\n', position), text.size());
      if (!openBrackets.empty())
        continue;
      FxToken comment = token(Kind::Comment, begin);
      comment.text.remove_prefix(1);
      if (!isUtf8(comment.text))
        input.fail(begin, "the comment is not valid UTF-8");
      return comment;
    }
    lineHasTokens = true;
    if (isNameStart(c)) {
      while (position < text.size() && isNameCharacter(text[position]))
        ++position;
      FxToken name = token(Kind::Name, begin);
      if (!isUtf8(name.text))
        input.fail(begin, "the name is not valid UTF-8");
      return name;
    }
    if (isDigit(c))
      return scanNumber();
    if (c == '"' || c == '\'')
      return scanString();
    return scanPunctuation();
  }
  if (!openBrackets.empty())
    input.fail(openBrackets.back(), "the bracket is never closed",
               "the text is cut off; print the graph again");
  return {Kind::End, {}, position};
}

FxToken FxLexer::scanNumber() {
  size_t begin = position;
  auto skipDigits = [&] {
    while (position < text.size() && isDigit(text[position]))
      ++position;
  };
  auto at = [&](size_t offset) {
    return offset < text.size() ? text[offset] : '\0';
  };
  FxToken::Kind kind = FxToken::Kind::Integer;
  skipDigits();
  if (at(position) == '.') {
    kind = FxToken::Kind::Float;
    ++position;
    skipDigits();
  }
  if (at(position) == 'e' || at(position) == 'E') {
    char sign = at(position + 1);
    size_t exponent = position + (sign == '+' || sign == '-' ? 2 : 1);
    if (isDigit(at(exponent))) {
      kind = FxToken::Kind::Float;
      position = exponent;
      skipDigits();
    }
  }
  if (at(position) == 'j') {
    kind = FxToken::Kind::Imaginary;
    ++position;
  }
  if (isNameCharacter(at(position)))
    input.fail(begin, "malformed number");
  return token(kind, begin);
}

FxToken FxLexer::scanString() {
  size_t begin = position;
  std::string_view quote = text.substr(position, 1);
  std::string_view rest = text.substr(position);
  if (rest.starts_with("\"\"\"") || rest.starts_with("'''"))
    quote = rest.substr(0, 3);
  position += quote.size();
  while (position < text.size() && !text.substr(position).starts_with(quote)) {
    if (text[position] == '\n' && quote.size() == 1)
      break;
    position += text[position] == '\\' ? 2 : 1;
  }
  if (position >= text.size() || text[position] == '\n')
    input.fail(begin, "the string is never closed",
               "the text is cut off; print the graph again");
  position += quote.size();
  return token(FxToken::Kind::String, begin);
}

FxToken FxLexer::scanPunctuation() {
  constexpr std::string_view kSingle = "()[]{},:;.=+-*/%@&|^~<>";
  constexpr std::string_view kSecond = "=*/<>."; // and third
  constexpr std::string_view kLonger[] = {
      "**=", "//=", ">>=", "<<=", "...", "->", "**", "//",
      "<<",  ">>",  "==",  "!=",  "<=",  ">=", "+=", "-=",
      "*=",  "/=",  "%=",  "&=",  "|=",  "^=", "@="};
  size_t begin = position;
  std::string_view rest = text.substr(position);
  char c = rest[0];
  size_t length = kSingle.find(c) != kSingle.npos;
  if (rest.size() > 1 && kSecond.find(rest[1]) != kSecond.npos) {
    auto longer = std::ranges::find_if(kLonger, [&](std::string_view spelling) {
      return rest.starts_with(spelling);
    });
    if (longer != std::end(kLonger))
      length = longer->size();
  }
  if (length == 0) {
    auto byte = static_cast<unsigned char>(c);
    input.fail(begin, std::isprint(byte)
                          ? fmt::format("unexpected character '{}'", c)
                          : fmt::format("unexpected byte 0x{:02x}", byte));
  }
  position += length;
  if (c == '(' || c == '[' || c == '{') {
    if (openBrackets.size() == kMaxBracketDepth)
      input.fail(begin, fmt::format("brackets nested more than {} levels deep",
                                    kMaxBracketDepth));
    openBrackets.push_back(begin);
  } else if (c == ')' || c == ']' || c == '}') {
    char opening = c == ')' ? '(' : c == ']' ? '[' : '{';
    if (openBrackets.empty())
      input.fail(begin, fmt::format("'{}' without an opening bracket", c));
    if (text[openBrackets.back()] != opening)
      input.fail(begin, fmt::format("'{}' does not match the '{}' at {}", c,
                                    text[openBrackets.back()],
                                    input.place(openBrackets.back())));
    openBrackets.pop_back();
  }
  return token(FxToken::Kind::Punctuation, begin);
}

//===----------------------------------------------------------------------===//
// Strings
//===----------------------------------------------------------------------===//

namespace {

void appendUtf8(std::string &out, uint32_t code) {
  auto continuation = [&](int shift) {
    out += static_cast<char>(0x80 | (code >> shift & 0x3F));
  };
  if (code < 0x80) {
    out += static_cast<char>(code);
  } else if (code < 0x800) {
    out += static_cast<char>(0xC0 | code >> 6);
    continuation(0);
  } else if (code < 0x10000) {
    out += static_cast<char>(0xE0 | code >> 12);
    continuation(6);
    continuation(0);
  } else {
    out += static_cast<char>(0xF0 | code >> 18);
    continuation(12);
    continuation(6);
    continuation(0);
  }
}

} // namespace

std::string decodeString(const FxSource &source, const FxToken &token) {
  std::string_view text = token.text;
  size_t quoteBytes =
      text.starts_with("\"\"\"") || text.starts_with("'''") ? 3 : 1;
  text.remove_prefix(quoteBytes);
  text.remove_suffix(quoteBytes);
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      decoded += text[i];
      continue;
    }
    char c = text[++i]; // the lexer took the backslash with its successor
    constexpr std::string_view kEscapes = "abfnrtv\\'\"0";
    constexpr std::string_view kMeanings("\a\b\f\n\r\t\v\\'\"\0", 11);
    if (size_t index = kEscapes.find(c); index != kEscapes.npos) {
      decoded += kMeanings[index];
      continue;
    }
    size_t numDigits = c == 'x' ? 2 : c == 'u' ? 4 : c == 'U' ? 8 : 0;
    uint32_t code = 0;
    bool isValid = numDigits != 0 && i + numDigits < text.size();
    for (size_t digit = 0; isValid && digit < numDigits; ++digit) {
      char hex = text[i + 1 + digit];
      isValid = std::isxdigit(static_cast<unsigned char>(hex));
      code = code << 4 |
             static_cast<uint32_t>(isDigit(hex) ? hex - '0'
                                                : (hex | 0x20) - 'a' + 10);
    }
    if (!isValid || code > 0x10FFFF || (code >= 0xD800 && code < 0xE000))
      source.fail(token.offset + quoteBytes + i - 1, "unknown escape sequence");
    appendUtf8(decoded, code);
    i += numDigits;
  }
  if (!isUtf8(decoded))
    source.fail(token.offset, "the string is not valid UTF-8");
  return decoded;
}

} // namespace gcompile::frontend
