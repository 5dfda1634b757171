//===- Libraries.h - cuBLASLt and cuDNN, where they are -------------------===//
#pragma once
#include "gcompile/cuda/Device.h"

#include <memory>
#include <string>

namespace gcompile::cuda {

class Cudnn;

/// NVIDIA's libraries as far as this machine has them, with a handle of each
/// for one device. Each is opened when it is first asked for. Belongs to one
/// executable; not thread-safe.
class Libraries {
public:
  explicit Libraries(DevicePointer device);
  ~Libraries();

  /// Null where it is missing or does not work with this device: problems()
  /// says why.
  Cudnn *cudnn();

  /// One line for each library that was asked for and is missing, with what to
  /// do; empty if none is.
  std::string problems() const;

private:
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile::cuda
