#include "gcompile/cuda/Device.h"

#include "Driver.h"

#include <array>
#include <fmt/format.h>
#include <utility>

namespace gcompile::cuda {
namespace {

CUdeviceptr toDriver(const void *address) {
  return reinterpret_cast<CUdeviceptr>(address);
}

int attribute(int device, int which) {
  int value = 0;
  check(driver().deviceGetAttribute(&value, which, device),
        "read what the GPU can do");
  return value;
}

DeviceInfo readInfo(int device) {
  // CU_DEVICE_ATTRIBUTE_…
  constexpr int multiprocessorCount = 16, l2CacheSize = 38, major = 75,
                minor = 76, maxSharedMemoryPerBlockOptin = 97;
  std::array<char, 256> name{};
  check(driver().deviceGetName(name.data(), static_cast<int>(name.size()),
                               device),
        "read the GPU's name");
  DeviceInfo info;
  info.name = name.data();
  info.major = attribute(device, major);
  info.minor = attribute(device, minor);
  info.numMultiprocessors = attribute(device, multiprocessorCount);
  info.sharedBytesPerBlock = attribute(device, maxSharedMemoryPerBlockOptin);
  info.l2Bytes = attribute(device, l2CacheSize);
  return info;
}

std::string describeFreeMemory() {
  size_t free = 0, total = 0;
  if (driver().memGetInfo(&free, &total) != 0)
    return {};
  return fmt::format(" ({:.1f} MB of {:.1f} MB are free)", double(free) / 1e6,
                     double(total) / 1e6);
}

} // namespace

//===----------------------------------------------------------------------===//
// Device
//===----------------------------------------------------------------------===//

Result<std::shared_ptr<const Device>> Device::open(int ordinal) {
  using ResultT = Result<std::shared_ptr<const Device>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    int count = 0;
    check(driver().deviceGetCount(&count), "count the GPUs");
    if (ordinal < 0 || ordinal >= count)
      throwError(ErrorCode::Device,
                 fmt::format("there is no GPU {}: this machine has {}", ordinal,
                             count),
                 "GPUs are numbered from 0; see nvidia-smi -L");
    int handle = 0;
    check(driver().deviceGet(&handle, ordinal), "use the GPU");
    DeviceInfo info = readInfo(handle);
    CUcontext context = nullptr;
    check(driver().devicePrimaryCtxRetain(&context, handle),
          fmt::format("use GPU {} ({})", ordinal, info.name));
    return std::shared_ptr<const Device>(
        new Device(handle, std::move(info), context));
  });
}

Device::~Device() { driver().devicePrimaryCtxRelease(handle); }

// No error here, since destructors use it: after a failure to push, what is
// called next reports it.
Device::Scope::Scope(const Device &device)
    : isPushed(driver().ctxPushCurrent(device.context) == 0) {}

Device::Scope::~Scope() {
  CUcontext context = nullptr;
  if (isPushed)
    driver().ctxPopCurrent(&context);
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

DeviceMemory::DeviceMemory(DevicePointer owner, int64_t numBytes)
    : device(std::move(owner)), length(numBytes) {
  if (numBytes == 0)
    return;
  Device::Scope scope(*device);
  CUdeviceptr pointer = 0;
  const int result = driver().memAlloc(&pointer, static_cast<size_t>(numBytes));
  if (result != 0)
    check(result, fmt::format("allocate {:.1f} MB on the GPU{}",
                              double(numBytes) / 1e6, describeFreeMemory()));
  address = reinterpret_cast<std::byte *>(pointer);
}

void DeviceMemory::release() {
  if (address) {
    Device::Scope scope(*device);
    driver().memFree(toDriver(address));
  }
  address = nullptr;
  length = 0;
}

void DeviceMemory::swap(DeviceMemory &other) noexcept {
  std::swap(device, other.device);
  std::swap(address, other.address);
  std::swap(length, other.length);
}

PinnedMemory::PinnedMemory(DevicePointer owner, int64_t numBytes)
    : device(std::move(owner)), length(numBytes) {
  if (numBytes == 0)
    return;
  Device::Scope scope(*device);
  void *pointer = nullptr;
  check(driver().memHostAlloc(&pointer, static_cast<size_t>(numBytes), 0),
        fmt::format("allocate {:.1f} MB of page-locked memory",
                    double(numBytes) / 1e6));
  address = static_cast<std::byte *>(pointer);
}

PinnedMemory::~PinnedMemory() {
  if (!address)
    return;
  Device::Scope scope(*device);
  driver().memFreeHost(address);
}

//===----------------------------------------------------------------------===//
// Streams
//===----------------------------------------------------------------------===//

Stream::Stream(DevicePointer owner) : device(std::move(owner)) {
  constexpr unsigned nonBlocking = 1;
  Device::Scope scope(*device);
  check(driver().streamCreate(&handle, nonBlocking), "create a stream");
}

Stream::~Stream() {
  Device::Scope scope(*device);
  driver().streamDestroy(handle);
}

void Stream::synchronize(std::string_view what) const {
  Device::Scope scope(*device);
  cuda::synchronize(handle, what);
}

Event::Event(DevicePointer owner) : device(std::move(owner)) {
  Device::Scope scope(*device);
  check(driver().eventCreate(&handle, 0), "create an event");
}

Event::~Event() {
  Device::Scope scope(*device);
  driver().eventDestroy(handle);
}

void Event::record(CUstream stream) const {
  check(driver().eventRecord(handle, stream), "record an event");
}

void Event::synchronize() const {
  check(driver().eventSynchronize(handle), "wait for the GPU");
}

double Event::secondsSince(const Event &start) const {
  float milliseconds = 0;
  check(driver().eventElapsedTime(&milliseconds, start.handle, handle),
        "read the time of an event");
  return static_cast<double>(milliseconds) * 1e-3;
}

Graph::Graph(DevicePointer owner, CUstream stream,
             const std::function<void()> &enqueue)
    : device(std::move(owner)) {
  // Other threads, and libraries that load code when first used, go on as ever.
  constexpr int relaxed = 2;
  Device::Scope scope(*device);
  check(driver().streamBeginCapture(stream, relaxed), "record a CUDA graph");
  CUgraph graph = nullptr;
  try {
    enqueue();
  } catch (...) {
    if (driver().streamEndCapture(stream, &graph) == 0 && graph)
      driver().graphDestroy(graph);
    throw;
  }
  check(driver().streamEndCapture(stream, &graph), "record a CUDA graph");
  const int result = driver().graphInstantiate(&handle, graph, 0);
  driver().graphDestroy(graph);
  check(result, "instantiate a CUDA graph");
  check(driver().graphUpload(handle, stream), "upload a CUDA graph");
}

Graph::~Graph() {
  Device::Scope scope(*device);
  driver().graphExecDestroy(handle);
}

void Graph::launch(CUstream stream) const {
  check(driver().graphLaunch(handle, stream), "launch the CUDA graph");
}

//===----------------------------------------------------------------------===//
// Copies
//===----------------------------------------------------------------------===//

void copyToDevice(void *target, const void *source, int64_t numBytes,
                  CUstream stream) {
  if (numBytes > 0)
    check(driver().memcpyHtoDAsync(toDriver(target), source,
                                   static_cast<size_t>(numBytes), stream),
          "copy to the GPU");
}

void copyToHost(void *target, const void *source, int64_t numBytes,
                CUstream stream) {
  if (numBytes > 0)
    check(driver().memcpyDtoHAsync(target, toDriver(source),
                                   static_cast<size_t>(numBytes), stream),
          "copy from the GPU");
}

void copyOnDevice(void *target, const void *source, int64_t numBytes,
                  CUstream stream) {
  if (numBytes > 0)
    check(driver().memcpyDtoDAsync(toDriver(target), toDriver(source),
                                   static_cast<size_t>(numBytes), stream),
          "copy on the GPU");
}

void fillBytes(void *target, uint8_t value, int64_t numBytes, CUstream stream) {
  if (numBytes > 0)
    check(driver().memsetD8Async(toDriver(target), value,
                                 static_cast<size_t>(numBytes), stream),
          "fill memory of the GPU");
}

void synchronize(CUstream stream, std::string_view what) {
  check(driver().streamSynchronize(stream), what);
}

void writeWord(uint64_t *target, uint64_t value, CUstream stream) {
  const uint32_t halves[] = {static_cast<uint32_t>(value),
                             static_cast<uint32_t>(value >> 32)};
  for (size_t i = 0; i < 2; ++i)
    check(
        driver().memsetD32Async(toDriver(target) + 4 * i, halves[i], 1, stream),
        "write to memory of the GPU");
}

} // namespace gcompile::cuda
