//===- Device.h - a GPU, its memory and its streams -----------------------===//
// Each object is of one device and keeps it open. All throw ErrorExceptions of
// code Device with the driver's text, and make the device current where that
// matters: callers need not.
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/cuda/Kernels.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string_view>

using CUcontext = struct CUctx_st *;
using CUevent = struct CUevent_st *;
using CUgraphExec = struct CUgraphExec_st *;

namespace gcompile::cuda {

/// A GPU with its primary context, which it shares with other users of CUDA in
/// this process. Thread-safe.
class Device {
public:
  /// An error that says what is missing if there is no driver or no such GPU.
  static Result<std::shared_ptr<const Device>> open(int ordinal = 0);
  ~Device();
  Device(const Device &) = delete;
  Device &operator=(const Device &) = delete;

  const DeviceInfo &info() const { return facts; }
  int ordinal() const { return handle; }

  /// Makes the device the calling thread's current one while it lives.
  class Scope {
  public:
    explicit Scope(const Device &device);
    ~Scope();
    Scope(const Scope &) = delete;
    Scope &operator=(const Scope &) = delete;

  private:
    const bool isPushed;
  };

private:
  Device(int handle, DeviceInfo facts, CUcontext context)
      : handle(handle), facts(std::move(facts)), context(context) {}
  int handle;
  DeviceInfo facts;
  CUcontext context;
};

using DevicePointer = std::shared_ptr<const Device>;

/// Device memory, at least 256-byte aligned, uninitialised.
class DeviceMemory {
public:
  DeviceMemory() = default;
  DeviceMemory(DevicePointer device, int64_t numBytes);
  ~DeviceMemory() { release(); }
  DeviceMemory(DeviceMemory &&other) noexcept { swap(other); }
  DeviceMemory &operator=(DeviceMemory &&other) noexcept {
    DeviceMemory(std::move(other)).swap(*this);
    return *this;
  }

  /// Null where there are no bytes.
  std::byte *data() const { return address; }
  int64_t numBytes() const { return length; }
  /// Frees it; the device's work with it must have ended.
  void release();

private:
  void swap(DeviceMemory &other) noexcept;
  DevicePointer device;
  std::byte *address = nullptr;
  int64_t length = 0;
};

/// Page-locked host memory: what the device copies at full speed.
class PinnedMemory {
public:
  PinnedMemory(DevicePointer device, int64_t numBytes);
  ~PinnedMemory();
  PinnedMemory(const PinnedMemory &) = delete;
  PinnedMemory &operator=(const PinnedMemory &) = delete;

  std::byte *data() const { return address; }
  int64_t numBytes() const { return length; }

private:
  DevicePointer device;
  std::byte *address = nullptr;
  int64_t length = 0;
};

/// Work that the device does in order. Does not wait for the default stream.
class Stream {
public:
  explicit Stream(DevicePointer device);
  ~Stream();
  Stream(const Stream &) = delete;
  Stream &operator=(const Stream &) = delete;

  CUstream get() const { return handle; }
  /// Waits for all work queued so far. `what` it was, for the error.
  void synchronize(std::string_view what) const;

private:
  DevicePointer device;
  CUstream handle = nullptr;
};

/// A point of a stream, with its time.
class Event {
public:
  explicit Event(DevicePointer device);
  ~Event();
  Event(const Event &) = delete;
  Event &operator=(const Event &) = delete;

  void record(CUstream stream) const;
  void synchronize() const;
  /// Seconds from `start` to this; both must have passed.
  double secondsSince(const Event &start) const;

private:
  DevicePointer device;
  CUevent handle = nullptr;
};

/// Work recorded once, to be launched as one.
class Graph {
public:
  /// Records what `enqueue` puts into `stream`; nothing of it runs.
  Graph(DevicePointer device, CUstream stream,
        const std::function<void()> &enqueue);
  ~Graph();
  Graph(const Graph &) = delete;
  Graph &operator=(const Graph &) = delete;

  void launch(CUstream stream) const;

private:
  DevicePointer device;
  CUgraphExec handle = nullptr;
};

// Asynchronous; host memory must be pinned to be so for the host, too. The
// device that owns `stream` must be current (see Device::Scope).
void copyToDevice(void *target, const void *source, int64_t numBytes,
                  CUstream stream);
void copyToHost(void *target, const void *source, int64_t numBytes,
                CUstream stream);
void copyOnDevice(void *target, const void *source, int64_t numBytes,
                  CUstream stream);
void fillBytes(void *target, uint8_t value, int64_t numBytes, CUstream stream);
/// Waits for all work queued in `stream`. `what` it was, for the error.
void synchronize(CUstream stream, std::string_view what);
/// Writes `value` to 8-byte aligned device memory. The value is part of the
/// call: no host memory need stay.
void writeWord(uint64_t *target, uint64_t value, CUstream stream);

} // namespace gcompile::cuda
