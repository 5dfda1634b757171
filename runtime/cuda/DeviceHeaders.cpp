#include "DeviceHeaders.h"

namespace gcompile::cuda {
namespace {

#include "DeviceHeaders.inc"

} // namespace

std::span<const EmbeddedFile> deviceHeaders() { return kEmbeddedFiles; }

} // namespace gcompile::cuda
