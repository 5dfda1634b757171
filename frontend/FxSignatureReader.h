//===- FxSignatureReader.h - what print(exported_program) ends with -------===//
#pragma once
#include "FxTextLexer.h"
#include "gcompile/frontend/Program.h"

namespace gcompile::frontend {

/// Reads "Graph signature: ..." and "Range constraints: ..." from the lines
/// after a graph, up to the next one, into `program`. Without a signature the
/// program's stays as it is. Throws ErrorException.
void readFxSignature(const FxSource &source, size_t firstLine,
                     Program &program);

} // namespace gcompile::frontend
