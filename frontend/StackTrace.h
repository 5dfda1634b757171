//===- StackTrace.h - the user's source line of a node --------------------===//
#pragma once
#include "gcompile/frontend/Program.h"

#include <string>
#include <string_view>

namespace gcompile::frontend {

/// The innermost frame of a Python stack trace that is the user's, not
/// PyTorch's; if all are PyTorch's, the innermost.
SourceLocation parseStackTrace(std::string_view trace);

/// "blocks.1.attn" of an nn_module_stack; empty for the model itself.
std::string innermostModule(std::string_view moduleStack);

} // namespace gcompile::frontend
