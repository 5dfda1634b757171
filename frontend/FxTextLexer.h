//===- FxTextLexer.h - tokens of the Python text that FX prints -----------===//
// Text is read by bracket depth, not by line: newer releases break parameter
// lists and returns over lines. Everything here throws ErrorException.
#pragma once
#include "gcompile/base/Error.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gcompile::frontend {

/// A text file without the colours and log prefixes of its lines. Offsets count
/// bytes of that clean text; messages give the file's own lines and columns
/// (colours, which take no room on a screen, are not counted).
class FxSource {
public:
  FxSource(std::string_view fileText, std::string name);
  FxSource(const FxSource &) = delete;
  FxSource &operator=(const FxSource &) = delete;

  std::string_view text() const { return cleanText; }
  const std::string &name() const { return fileName; }

  size_t numLines() const { return lines.size(); }
  /// A line without its end.
  std::string_view line(size_t index) const;
  size_t lineBegin(size_t index) const { return lines[index].begin; }
  /// Index of the line that holds a byte.
  size_t lineOf(size_t offset) const;

  /// "dump.txt:12:9", lines and columns from 1.
  std::string place(size_t offset) const;
  /// Throws "PLACE: what" with the line shown below it.
  [[noreturn]] void fail(size_t offset, std::string what, std::string help = {},
                         ErrorCode code = ErrorCode::InvalidArgument,
                         std::vector<std::string> notes = {}) const;

private:
  struct Line {
    size_t begin;       ///< in cleanText
    size_t prefixBytes; ///< of the log prefix taken off
  };
  std::string cleanText;
  std::string fileName;
  std::vector<Line> lines;
};

/// The front of a text, for a message; cuts no character of UTF-8 in two.
std::string_view shorten(std::string_view text, size_t maxBytes = 60);

/// Spaces and tabs at the front of a line.
size_t indentation(std::string_view line);

struct FxToken {
  enum class Kind : uint8_t {
    Name,
    Integer,
    Float,
    Imaginary,
    String, ///< with its quotes; see decodeString()
    Punctuation,
    Comment, ///< without its '#'; those inside brackets are dropped
    Newline, ///< ends a statement, so never inside brackets
    End,
  };
  Kind kind;
  std::string_view text;
  size_t offset;
};

/// Splits part of a source into tokens, one at a time.
class FxLexer {
public:
  /// The bytes [begin, end) of `source`.
  FxLexer(const FxSource &source, size_t begin, size_t end);

  const FxSource &source() const { return input; }
  const FxToken &peek() const { return next; }
  FxToken take();
  /// Where the last token taken ends.
  size_t takenEnd() const { return lastEnd; }
  bool atPunctuation(std::string_view text) const {
    return next.kind == FxToken::Kind::Punctuation && next.text == text;
  }
  bool atName(std::string_view text) const {
    return next.kind == FxToken::Kind::Name && next.text == text;
  }
  /// Takes the next token if it is this punctuation.
  bool accept(std::string_view punctuation);
  void expect(std::string_view punctuation);
  FxToken expectName(std::string_view what);
  /// Fails at the next token: "expected WHAT, found 'x'".
  [[noreturn]] void failExpected(std::string_view what) const;
  /// Indentation of the line in which the next token begins.
  size_t indent() const;

private:
  FxToken scan();
  FxToken scanNumber();
  FxToken scanString();
  FxToken scanPunctuation();
  FxToken token(FxToken::Kind kind, size_t begin) const;

  const FxSource &input;
  std::string_view text;
  size_t position;
  bool lineHasTokens = false;
  std::vector<size_t> openBrackets; ///< offsets
  FxToken next;
  size_t lastEnd = 0;
};

/// The characters that a Python string literal stands for.
std::string decodeString(const FxSource &source, const FxToken &token);

} // namespace gcompile::frontend
