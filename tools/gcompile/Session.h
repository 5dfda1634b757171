//===- Session.h - one run of the gcompile command ------------------------===//
#pragma once
#include "Options.h"

#include "gcompile/base/Error.h"

namespace gcompile::tool {

/// Does what the command line asks for; prints to stdout, progress to stderr.
/// A Mismatch error where outputs disagree with --expect or --reference.
Status runSession(const Options &options);

} // namespace gcompile::tool
