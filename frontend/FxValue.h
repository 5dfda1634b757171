//===- FxValue.h - from FX expressions to arguments -----------------------===//
#pragma once
#include "FxTextParser.h"
#include "gcompile/frontend/Program.h"

#include <functional>
#include <optional>

namespace gcompile::frontend {

/// The constant of this name: "None", "inf", "torch.float32", "torch.strided",
/// "torch.channels_last", ... None if there is no such.
std::optional<Argument> namedConstant(std::string_view path);

/// What a path that is no constant means; throws if nothing.
using FxResolve = std::function<Argument(const FxExpr &path)>;

/// The value that an expression stands for. Nothing is evaluated but the signs
/// and sums that numbers are printed with. Throws ErrorException.
Argument readValue(const FxSource &source, const FxExpr &expr,
                   const FxResolve &resolve);

/// The "a.b.c" that an expression reads: a path, attributes of one, or
/// getattr(path, "c"). None for anything else.
std::optional<std::string> attributePath(const FxSource &source,
                                         const FxExpr &expr);

/// A literal string's characters.
std::string readString(const FxSource &source, const FxExpr &string);

/// What an annotation says; none where it is a Python type.
std::optional<ValueMeta>
readAnnotation(const FxSource &source, const std::optional<FxExpr> &annotation);

} // namespace gcompile::frontend
