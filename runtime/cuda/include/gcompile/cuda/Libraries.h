//===- Libraries.h - cuBLASLt and cuDNN, where they are -------------------===//
#pragma once

namespace gcompile::cuda {

/// NVIDIA's libraries as far as this machine has them, with a handle of each
/// for one device. Belongs to one executable; not thread-safe.
class Libraries {};

} // namespace gcompile::cuda
