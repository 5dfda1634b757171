//===- WeightUpload.h - host memory to the GPU at the speed of the bus ----===//
#pragma once
#include "gcompile/cpu/ThreadPool.h"
#include "gcompile/cuda/Device.h"

#include <functional>
#include <memory>
#include <vector>

namespace gcompile {

/// Bytes of the host's memory, and where they go in an area of the device's.
struct UploadPiece {
  int64_t offset;
  const std::byte *source;
  int64_t numBytes;
};

/// Copies through two page-locked buffers: threads fill one, which is where
/// mapped files are read, while the device copies the other. Not thread-safe.
class WeightUpload {
public:
  using Progress = std::function<void(int64_t copiedBytes, int64_t totalBytes)>;

  /// For `totalBytes` bytes in all. `stream` and `pool` must outlive it.
  WeightUpload(const cuda::DevicePointer &device, const cuda::Stream &stream,
               cpu::ThreadPool &pool, int64_t totalBytes, Progress progress);

  /// Queues the copies into `target` of `areaBytes` bytes. The pieces are
  /// ascending, and do not overlap; what is between them becomes undefined.
  /// Their sources are not read after it returns.
  void upload(std::byte *target, int64_t areaBytes,
              const std::vector<UploadPiece> &pieces);

private:
  struct Buffer {
    Buffer(const cuda::DevicePointer &device, int64_t numBytes)
        : memory(device, numBytes), isCopied(device) {}
    cuda::PinnedMemory memory;
    cuda::Event isCopied;
  };
  void fill(std::byte *staging, int64_t begin, int64_t end,
            const std::vector<UploadPiece> &pieces);

  const cuda::DevicePointer device;
  const cuda::Stream &stream;
  cpu::ThreadPool &pool;
  const int64_t totalBytes;
  const Progress progress;
  int64_t copiedBytes = 0;
  std::vector<std::unique_ptr<Buffer>> buffers;
  size_t next = 0; ///< buffer to fill
};

} // namespace gcompile
