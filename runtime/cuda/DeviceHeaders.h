//===- DeviceHeaders.h - runtime/cuda/device, in this library -------------===//
#pragma once
#include <span>

namespace gcompile::cuda {

/// A header that kernels may include by its name.
struct EmbeddedFile {
  const char *name;
  const char *text;
};

/// In the order of their names.
std::span<const EmbeddedFile> deviceHeaders();

} // namespace gcompile::cuda
