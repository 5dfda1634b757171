//===- Readers.h - from files to plain structs ----------------------------===//
// All functions are thread-safe, read only the file they are given, execute
// nothing of it, and report a malformed file as InvalidArgument with the place
// (record, JSON path, line) where it goes wrong.
#pragma once
#include "gcompile/frontend/Program.h"

#include <string>

namespace gcompile::frontend {

struct ReadOptions {
  /// Which model of a .pt2 archive that holds several; empty: the only one. Of
  /// a log that holds several graphs: part of the title of the wanted one;
  /// empty: the last that is complete and no backward graph.
  std::string model;
};

/// Reads a model in any supported format, told apart by content.
Result<Model> readModel(const std::string &path,
                        const ReadOptions &options = {});

/// Reads weights by name: a safetensors file (or its sharded index), a
/// torch.save file holding a state dict, or a .pt2 archive.
Result<WeightStore> readWeights(const std::string &path);

/// Reads the tensors of a safetensors file, mapped.
Result<std::map<std::string, Tensor>> readSafetensors(const std::string &path);

/// Writes row-major copies of `tensors`; replaces `path` only when complete.
Status writeSafetensors(const std::string &path,
                        const std::map<std::string, Tensor> &tensors);

/// Gives a text program (SignatureSource::Guessed) its signature: placeholders
/// p_*, b_* and c_* become parameters, buffers and constants by matching their
/// mangled names with `weights`, leading outputs become buffer mutations where
/// they update a buffer. `reference`, the program of a .pt2 that has the same
/// placeholders, settles names and outputs exactly. No-op on other programs.
Status resolveSignature(Program &program, const WeightStore &weights,
                        const Program *reference);

} // namespace gcompile::frontend
