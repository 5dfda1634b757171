//===- MappedTensor.h - tensors over the bytes of a file ------------------===//
#pragma once
#include "gcompile/base/Tensor.h"

#include <memory>
#include <span>
#include <string>

namespace gcompile::frontend {

/// Bytes, and what keeps them alive.
struct SharedBytes {
  std::span<const std::byte> bytes;
  std::shared_ptr<const void> owner;
};

/// A storage over `source`; a copy where it would leave elements of `alignment`
/// bytes unaligned.
std::shared_ptr<Storage> mapStorage(const SharedBytes &source,
                                    size_t alignment);

/// What is wrong with a tensor that a file describes, "needs 8 bytes of storage
/// but only 4 are there"; empty if nothing.
std::string complainAboutTensor(const Tensor &tensor);

} // namespace gcompile::frontend
