//===- Kernels.h - CUDA C++ sources to functions --------------------------===//
#pragma once
#include "gcompile/base/Error.h"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

// The driver's handles, as cuda.h declares them: building needs no CUDA header.
using CUstream = struct CUstream_st *;
using CUfunction = struct CUfunc_st *;

namespace gcompile::cuda {

/// Facts about a GPU, or about the one that is compiled for.
struct DeviceInfo {
  std::string name;
  int major = 9, minor = 0; ///< compute capability
  int numMultiprocessors = 132;
  int64_t sharedBytesPerBlock = 227 * 1024; ///< opt-in limit
  int64_t l2Bytes = 50 << 20;

  /// "sm_90a": the architecture to compile for. Those from 9.0 on have
  /// instructions of their own ("a").
  std::string architecture() const;
};

struct Dim3 {
  unsigned x = 1, y = 1, z = 1;
};

/// A function of a compiled kernel; empty until its requests are compiled.
struct KernelEntry {
  CUfunction function = nullptr;
  std::string symbol;
  std::shared_ptr<const void> module; ///< keeps the function loaded
};
using KernelHandle = std::shared_ptr<const KernelEntry>;

/// Sources that a routine or a plan wants compiled: CUDA C++ in the subset that
/// NVRTC takes without headers, save for `#include "gcompile.cuh"` and its
/// siblings in runtime/cuda/device. The function is `extern "C" __global__`.
///
/// Kernels compile fastest together in one program, each source in a namespace
/// of its own. A source that has other directives than #include and #pragma
/// gets a program of its own: prefer constexpr to #define.
class KernelRequests {
public:
  struct Request {
    std::string symbol, source;
    std::shared_ptr<KernelEntry> entry;
    int64_t sharedBytes; ///< the most dynamic shared memory it is launched with
  };
  /// Equal sources with equal symbols are one request.
  KernelHandle add(const std::string &symbol, const std::string &source,
                   int64_t sharedBytes = 0);
  const std::vector<Request> &requests() const { return all; }

private:
  std::vector<Request> all;
};

class Device;

/// Loads the code of compiled requests (one cubin for each, in order) into the
/// device and fills in their entries. Throws an ErrorException if the driver
/// refuses, or a kernel wants more shared memory than the device has.
void loadKernels(const KernelRequests &requests,
                 std::span<const std::shared_ptr<const std::string>> cubins,
                 const std::shared_ptr<const Device> &device);

/// Launches a compiled kernel. `arguments` are the addresses of the parameters.
/// Throws an ErrorException if the driver refuses.
void launch(const KernelHandle &kernel, Dim3 grid, Dim3 block,
            int64_t sharedBytes, CUstream stream, void **arguments);

} // namespace gcompile::cuda
