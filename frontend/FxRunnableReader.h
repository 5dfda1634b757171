//===- FxRunnableReader.h - fx_graph_runnable.py and minifier repros ------===//
// Such a file is a program that builds the graph and its inputs. The graph has
// no types; they come from load_args(), and constants from __init__().
#pragma once
#include "FxTextParser.h"
#include "gcompile/frontend/Program.h"

namespace gcompile::frontend {

/// Adds to `model`, whose graph is read, what the class's __init__() and a
/// load_args() among the lines after it say. Does nothing for other text.
/// Throws ErrorException.
void readFxRunnable(const FxSource &source, const FxClass &module,
                    size_t firstLine, Model &model);

} // namespace gcompile::frontend
