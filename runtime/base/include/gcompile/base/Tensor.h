//===- Tensor.h - tensors in host memory ----------------------------------===//
// A Tensor is a strided view of a Storage. Storages are shared: two tensors
// over one storage alias, as they do in PyTorch.
#pragma once
#include "gcompile/base/DType.h"
#include "gcompile/base/Error.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcompile {

/// Bytes in host memory: an allocation (64-byte aligned) or part of a mapped
/// file, which stays mapped as long as the storage lives. A mapped storage is
/// read-only.
class Storage {
public:
  /// Uninitialised, 64-byte aligned.
  static std::shared_ptr<Storage> allocate(size_t numBytes);
  /// Borrows `bytes`; `owner` keeps them alive.
  static std::shared_ptr<Storage> view(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner);
  const std::byte *data() const { return bytes.data(); }
  /// Null for a read-only (mapped) storage.
  std::byte *mutableData() { return writable; }
  size_t numBytes() const { return bytes.size(); }

private:
  std::shared_ptr<const void> owner;
  std::span<const std::byte> bytes;
  std::byte *writable = nullptr;
};

/// A whole file mapped read-only; the size is fixed when it is opened.
class MappedFile {
public:
  static Result<std::shared_ptr<MappedFile>> open(const std::string &path);
  ~MappedFile();
  MappedFile(const MappedFile &) = delete;
  MappedFile &operator=(const MappedFile &) = delete;
  std::span<const std::byte> bytes() const { return {address, length}; }

private:
  MappedFile(const std::byte *address, size_t length)
      : address(address), length(length) {}
  const std::byte *address;
  size_t length;
};

/// Sizes, strides and offset count elements.
struct Tensor {
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides;
  int64_t storageOffset = 0;
  std::shared_ptr<Storage> storage;

  /// A new, uninitialised, row-major tensor.
  static Tensor empty(DType dtype, std::vector<int64_t> sizes);

  int64_t numElements() const;
  int64_t numBytes() const { return numElements() * byteWidth(dtype); }
  /// Row-major without gaps.
  bool isContiguous() const;
  /// The first element. Only meaningful where numElements() > 0.
  const std::byte *data() const {
    return storage->data() + storageOffset * byteWidth(dtype);
  }
  std::byte *mutableData() {
    std::byte *base = storage->mutableData();
    return base ? base + storageOffset * byteWidth(dtype) : nullptr;
  }
  template <typename T>
  std::span<const T> as() const {
    return {reinterpret_cast<const T *>(data()),
            static_cast<size_t>(numElements())};
  }
  /// Itself if row-major, else a row-major copy.
  Tensor contiguous() const;
  /// "f32[4, 6]".
  std::string describe() const;
};

/// Row-major strides of `sizes`.
std::vector<int64_t> contiguousStrides(std::span<const int64_t> sizes);

/// An error if a tensor of these sizes, strides and offset (in elements) does
/// not lie inside `storageBytes`, overflows, or has negative entries.
Status checkBounds(DType dtype, std::span<const int64_t> sizes,
                   std::span<const int64_t> strides, int64_t storageOffset,
                   size_t storageBytes);

} // namespace gcompile
