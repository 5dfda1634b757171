//===- Cudnn.h - cuDNN, opened when it is first used ----------------------===//
#pragma once
#include "gcompile/cuda/Device.h"

#include <memory>

namespace gcompile::cuda {

/// cuDNN with a handle for one device. Not thread-safe.
class Cudnn {
public:
  /// An error that says what is missing and how to get it.
  static Result<std::unique_ptr<Cudnn>> open(DevicePointer device);
  ~Cudnn();

  /// "9.19.0".
  std::string version() const;

private:
  struct Impl;
  explicit Cudnn(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile::cuda
