//===- ExportJsonReader.h - torch.export's JSON to a Program --------------===//
// Schema 7.x and 8.x, of torch 2.5 and newer. Throws ErrorException; an error
// in one node does not hide those in others.
#pragma once
#include "Json.h"
#include "gcompile/frontend/Program.h"

namespace gcompile::frontend {

/// Reads an object of the schema's type ExportedProgram.
Program readExportJson(Json program);

/// Reads an object of the schema's type TensorMeta.
ValueMeta readTensorMeta(Json meta);

} // namespace gcompile::frontend
