//===- SymExprText.h - symbolic expressions and types as FX prints them ---===//
// FX annotates a value with "f32[s0, 2*s1][2*s1, 1]cuda:0" or "Sym(s0 - 1)".
// The expressions are SymPy's infix text, of which Python's is a subset, or its
// srepr text, which torch.export writes since 2.6:
// "Mul(Integer(2), Symbol('s0', positive=True, integer=True))".
#pragma once
#include "gcompile/frontend/Program.h"

#include <string>
#include <string_view>

namespace gcompile::frontend {

/// Thrown where a text cannot be parsed; `offset` counts bytes of that text.
struct TextError {
  size_t offset;
  std::string what;
  ErrorCode code = ErrorCode::InvalidArgument;
};

/// Parses `text`, all of which must be one expression such as
/// "Max(1, s0//2) - 1". Numbers stay numbers. Throws TextError.
SymInt parseSymInt(std::string_view text);

/// Whether an expression is boolean (s0 > 2), floating-point or an integer.
ValueKind symbolicKind(const SymInt &value);

/// Parses an annotation: a tensor's type, or "Sym(...)". Throws TextError.
ValueMeta parseAnnotation(std::string_view text);

} // namespace gcompile::frontend
