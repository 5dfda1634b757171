#include "WeightUpload.h"

#include <algorithm>
#include <cstring>

namespace gcompile {
namespace {

/// Large enough for the bus, and for all threads to have something to do.
constexpr int64_t kBufferBytes = int64_t{32} << 20;
constexpr int64_t kBytesPerThread = int64_t{1} << 20;

} // namespace

WeightUpload::WeightUpload(const cuda::DevicePointer &device,
                           const cuda::Stream &stream, cpu::ThreadPool &pool,
                           int64_t totalBytes, Progress progress)
    : device(device), stream(stream), pool(pool), totalBytes(totalBytes),
      progress(std::move(progress)) {
  for (int i = 0; i < 2; ++i)
    buffers.push_back(
        std::make_unique<Buffer>(device, std::min(kBufferBytes, totalBytes)));
}

void WeightUpload::upload(std::byte *target, int64_t areaBytes,
                          const std::vector<UploadPiece> &pieces) {
  cuda::Device::Scope scope(*device);
  for (int64_t begin = 0; begin < areaBytes;) {
    Buffer &buffer = *buffers[next];
    next = (next + 1) % buffers.size();
    const int64_t end = std::min(areaBytes, begin + buffer.memory.numBytes());
    buffer.isCopied.synchronize();
    fill(buffer.memory.data(), begin, end, pieces);
    cuda::copyToDevice(target + begin, buffer.memory.data(), end - begin,
                       stream.get());
    buffer.isCopied.record(stream.get());
    copiedBytes += end - begin;
    if (progress)
      progress(copiedBytes, totalBytes);
    begin = end;
  }
}

/// Copies what of the pieces lies in [begin, end) of the area.
void WeightUpload::fill(std::byte *staging, int64_t begin, int64_t end,
                        const std::vector<UploadPiece> &pieces) {
  std::vector<UploadPiece> parts;
  auto piece = std::partition_point(
      pieces.begin(), pieces.end(), [&](const UploadPiece &candidate) {
        return candidate.offset + candidate.numBytes <= begin;
      });
  for (; piece != pieces.end() && piece->offset < end; ++piece) {
    const int64_t last = std::min(end, piece->offset + piece->numBytes);
    for (int64_t at = std::max(begin, piece->offset); at < last;) {
      const int64_t numBytes = std::min(kBytesPerThread, last - at);
      parts.push_back(
          {at - begin, piece->source + (at - piece->offset), numBytes});
      at += numBytes;
    }
  }
  pool.parallelFor(static_cast<int64_t>(parts.size()), 1,
                   [&](int64_t first, int64_t last, int) {
                     for (int64_t i = first; i < last; ++i) {
                       const UploadPiece &part = parts[static_cast<size_t>(i)];
                       std::memcpy(staging + part.offset, part.source,
                                   static_cast<size_t>(part.numBytes));
                     }
                   });
}

} // namespace gcompile
