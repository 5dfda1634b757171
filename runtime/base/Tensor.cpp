#include "gcompile/base/Tensor.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace gcompile {

std::shared_ptr<Storage> Storage::allocate(size_t numBytes) {
  constexpr size_t alignment = 64;
  size_t rounded =
      (std::max<size_t>(numBytes, 1) + alignment - 1) / alignment * alignment;
  void *memory = std::aligned_alloc(alignment, rounded);
  if (!memory)
    throwError(
        ErrorCode::InvalidArgument,
        fmt::format("cannot allocate {} bytes of host memory", numBytes));
  auto storage = std::make_shared<Storage>();
  storage->owner = std::shared_ptr<const void>(
      memory, [](const void *p) { std::free(const_cast<void *>(p)); });
  storage->writable = static_cast<std::byte *>(memory);
  storage->bytes = {storage->writable, numBytes};
  return storage;
}

std::shared_ptr<Storage> Storage::view(std::span<const std::byte> bytes,
                                       std::shared_ptr<const void> owner) {
  auto storage = std::make_shared<Storage>();
  storage->owner = std::move(owner);
  storage->bytes = bytes;
  return storage;
}

Result<std::shared_ptr<MappedFile>> MappedFile::open(const std::string &path) {
  auto fail = [&](const char *what) {
    return Error{
        ErrorCode::InvalidArgument,
        fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)),
        {},
        {}};
  };
  int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0)
    return fail("open");
  struct stat info{};
  if (::fstat(fd, &info) != 0 || !S_ISREG(info.st_mode)) {
    if (!S_ISREG(info.st_mode))
      errno = S_ISDIR(info.st_mode) ? EISDIR : EINVAL;
    Error error = fail("read");
    ::close(fd);
    return error;
  }
  auto length = static_cast<size_t>(info.st_size);
  const std::byte *address = nullptr;
  if (length > 0) {
    void *mapped = ::mmap(nullptr, length, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED) {
      Error error = fail("map");
      ::close(fd);
      return error;
    }
    address = static_cast<const std::byte *>(mapped);
  }
  ::close(fd);
  return std::shared_ptr<MappedFile>(new MappedFile(address, length));
}

MappedFile::~MappedFile() {
  if (address)
    ::munmap(const_cast<std::byte *>(address), length);
}

Tensor Tensor::empty(DType dtype, std::vector<int64_t> sizes) {
  Tensor tensor;
  tensor.dtype = dtype;
  tensor.strides = contiguousStrides(sizes);
  tensor.sizes = std::move(sizes);
  tensor.storage = Storage::allocate(static_cast<size_t>(tensor.numBytes()));
  return tensor;
}

int64_t Tensor::numElements() const {
  int64_t count = 1;
  for (int64_t size : sizes)
    count *= size;
  return count;
}

bool Tensor::isContiguous() const {
  int64_t expected = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    if (sizes[i] != 1 && strides[i] != expected)
      return numElements() == 0;
    expected *= sizes[i];
  }
  return true;
}

Tensor Tensor::contiguous() const {
  if (isContiguous())
    return *this;
  Tensor copy = Tensor::empty(dtype, sizes);
  const size_t width = static_cast<size_t>(byteWidth(dtype));
  std::vector<int64_t> index(sizes.size(), 0);
  std::byte *target = copy.mutableData();
  for (int64_t i = 0, n = numElements(); i < n; ++i, target += width) {
    int64_t position = storageOffset;
    for (size_t d = 0; d < sizes.size(); ++d)
      position += index[d] * strides[d];
    std::memcpy(target,
                storage->data() + position * static_cast<int64_t>(width),
                width);
    for (size_t d = sizes.size(); d-- > 0;) {
      if (++index[d] < sizes[d])
        break;
      index[d] = 0;
    }
  }
  return copy;
}

std::string Tensor::describe() const {
  return fmt::format("{}[{}]", shortName(dtype), fmt::join(sizes, ", "));
}

std::vector<int64_t> contiguousStrides(std::span<const int64_t> sizes) {
  std::vector<int64_t> strides(sizes.size());
  int64_t stride = 1;
  for (size_t i = sizes.size(); i-- > 0;) {
    strides[i] = stride;
    stride *= std::max<int64_t>(sizes[i], 1);
  }
  return strides;
}

Status checkBounds(DType dtype, std::span<const int64_t> sizes,
                   std::span<const int64_t> strides, int64_t storageOffset,
                   size_t storageBytes) {
  auto fail = [&](std::string what) {
    return Error{ErrorCode::InvalidArgument, std::move(what), {}, {}};
  };
  if (sizes.size() != strides.size())
    return fail(
        fmt::format("{} sizes but {} strides", sizes.size(), strides.size()));
  if (storageOffset < 0)
    return fail("negative storage offset");
  int64_t last = storageOffset;
  int64_t numBytes = byteWidth(dtype);
  bool isEmpty = false;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] < 0 || strides[i] < 0)
      return fail("negative size or stride");
    isEmpty |= sizes[i] == 0;
    // Zeros count as one, so that no order of the factors can overflow.
    if (__builtin_mul_overflow(numBytes, std::max<int64_t>(sizes[i], 1),
                               &numBytes))
      return fail("sizes and strides overflow 64 bits");
  }
  if (isEmpty)
    return {};
  for (size_t i = 0; i < sizes.size(); ++i) {
    int64_t extent = 0;
    if (__builtin_mul_overflow(sizes[i] - 1, strides[i], &extent) ||
        __builtin_add_overflow(last, extent, &last))
      return fail("sizes and strides overflow 64 bits");
  }
  int64_t needed = 0;
  if (__builtin_add_overflow(last, 1, &needed) ||
      __builtin_mul_overflow(needed, byteWidth(dtype), &needed))
    return fail("sizes and strides overflow 64 bits");
  if (static_cast<uint64_t>(needed) > storageBytes)
    return fail(fmt::format("needs {} bytes of storage but only {} are there",
                            needed, storageBytes));
  return {};
}

} // namespace gcompile
