//===- FxJsonReader.h - gcompile's own form of FX graphs ------------------===//
// docs/fx-json.md describes the format.
#pragma once
#include "Json.h"
#include "gcompile/frontend/Program.h"

namespace gcompile::frontend {

/// Whether a document says that it is FX JSON, of any version.
bool isFxJson(Json root);

/// Throws ErrorException.
Program readFxJson(Json root);

} // namespace gcompile::frontend
