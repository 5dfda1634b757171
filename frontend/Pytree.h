//===- Pytree.h - the user's names of a program's inputs ------------------===//
#pragma once
#include "Json.h"

#include <string>
#include <vector>

namespace gcompile::frontend {

/// Names such as "x" and "batch['ids']" from the call signature of
/// `graphModule`, an object of torch.export's type GraphModule. Falls back to
/// `placeholders`, one a user input, where the signature does not say.
std::vector<std::string> userInputNames(Json graphModule,
                                        std::vector<std::string> placeholders);

} // namespace gcompile::frontend
