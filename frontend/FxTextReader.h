//===- FxTextReader.h - FX graphs as PyTorch prints them ------------------===//
// Reads print_readable(), print(exported_program), print(graph), the files that
// TORCH_COMPILE_DEBUG=1 leaves, and logs that hold any of these. The text is
// parsed, never run.
#pragma once
#include "gcompile/frontend/Readers.h"

#include <string>
#include <string_view>

namespace gcompile::frontend {

/// Of several graphs takes the last complete one that is not a backward graph,
/// or the last whose title ("Forward graph 0") has options.model in it. `name`
/// is the file's, for messages. Throws ErrorException.
Model readFxText(std::string_view text, const std::string &name,
                 const ReadOptions &options = {});

} // namespace gcompile::frontend
