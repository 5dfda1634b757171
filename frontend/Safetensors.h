//===- Safetensors.h - safetensors files and their sharded index ----------===//
// Throws ErrorException.
#pragma once
#include "Json.h"
#include "gcompile/frontend/Program.h"

#include <string>

namespace gcompile::frontend {

/// The tensors of one file, mapped. Names whose element type we do not know are
/// in `absent`.
WeightStore readSafetensorsStore(const std::string &path,
                                 const std::shared_ptr<MappedFile> &file);

/// The tensors that a model.safetensors.index.json names, from the files in the
/// folder of `path`.
WeightStore readShardedSafetensors(const std::string &path, Json index);

} // namespace gcompile::frontend
