#include "MappedTensor.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

/// PyTorch's own limit.
constexpr size_t kMaxRank = 64;
/// An expanded tensor (stride 0) may be this much larger than its storage.
constexpr int64_t kMaxExpandedBytes = int64_t{1} << 30;

} // namespace

std::shared_ptr<Storage> mapStorage(const SharedBytes &source,
                                    size_t alignment) {
  std::span<const std::byte> bytes = source.bytes;
  if (reinterpret_cast<uintptr_t>(bytes.data()) % alignment == 0)
    return Storage::view(bytes, source.owner);
  auto storage = Storage::allocate(bytes.size());
  std::memcpy(storage->mutableData(), bytes.data(), bytes.size());
  return storage;
}

std::string complainAboutTensor(const Tensor &tensor) {
  if (tensor.sizes.size() > kMaxRank)
    return fmt::format("has {} dimensions, more than the {} allowed",
                       tensor.sizes.size(), kMaxRank);
  size_t storageBytes = tensor.storage->numBytes();
  Status inBounds = checkBounds(tensor.dtype, tensor.sizes, tensor.strides,
                                tensor.storageOffset, storageBytes);
  if (!inBounds.ok())
    return inBounds.error().message;
  if (tensor.numBytes() >
      std::max(kMaxExpandedBytes, static_cast<int64_t>(storageBytes)))
    return fmt::format("is expanded from {} to {} bytes", storageBytes,
                       tensor.numBytes());
  return {};
}

} // namespace gcompile::frontend
