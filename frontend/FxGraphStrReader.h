//===- FxGraphStrReader.h - graphs as str(graph) prints them --------------===//
//   graph():
//       %x : [num_users=1] = placeholder[target=x]
//       %neg : [num_users=1] = call_function[target=torch.ops.aten.neg.default]
//           (args = (%x,), kwargs = {})                       (on the same
//           line)
//       return (neg,)
// The text is no Python and ambiguous: strings have no quotes. A bare word that
// is no number, constant or device is taken for a string.
#pragma once
#include "FxGraphBuilder.h"

namespace gcompile::frontend {

/// Reads the graph in the lines [firstLine, endLine). Throws ErrorException.
Program readFxGraphLines(const FxSource &source, size_t firstLine,
                         size_t endLine, FxRefusals &refusals);

} // namespace gcompile::frontend
