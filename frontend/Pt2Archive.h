//===- Pt2Archive.h - archives of torch.export.save -----------------------===//
// Layout A, of torch 2.5 to 2.7, holds the program and torch.save files of the
// weights; layout B, of 2.8 and newer, the same below data/ and, since 2.9,
// each weight as a record of raw bytes. Throws ErrorException.
#pragma once
#include "ZipReader.h"
#include "gcompile/frontend/Readers.h"

namespace gcompile::frontend {

bool isPt2Archive(const ZipReader &archive);

Model readPt2Archive(const ZipReader &archive, const ReadOptions &options);

/// The weights alone, of the archive's only model.
WeightStore readPt2Weights(const ZipReader &archive);

} // namespace gcompile::frontend
