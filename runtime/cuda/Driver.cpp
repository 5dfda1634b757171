#include "Driver.h"

#include "SharedLibrary.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int kNoDevice = 100;
constexpr int kOutOfMemory = 2;
constexpr const char *kHelp =
    "use --device cpu, or a machine with an NVIDIA GPU and its driver";

void resolveAll(Driver &d, const SharedLibrary &library) {
  auto resolve = [&](auto &function, const char *symbol) {
    library.resolve(function, symbol);
  };
  resolve(d.init, "cuInit");
  resolve(d.getErrorName, "cuGetErrorName");
  resolve(d.getErrorString, "cuGetErrorString");
  resolve(d.driverGetVersion, "cuDriverGetVersion");
  resolve(d.deviceGetCount, "cuDeviceGetCount");
  resolve(d.deviceGet, "cuDeviceGet");
  resolve(d.deviceGetName, "cuDeviceGetName");
  resolve(d.deviceGetAttribute, "cuDeviceGetAttribute");
  resolve(d.devicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain");
  resolve(d.devicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2");
  resolve(d.ctxPushCurrent, "cuCtxPushCurrent_v2");
  resolve(d.ctxPopCurrent, "cuCtxPopCurrent_v2");
  resolve(d.moduleLoadData, "cuModuleLoadData");
  resolve(d.moduleUnload, "cuModuleUnload");
  resolve(d.moduleGetFunction, "cuModuleGetFunction");
  resolve(d.funcSetAttribute, "cuFuncSetAttribute");
  resolve(d.launchKernel, "cuLaunchKernel");
  resolve(d.memAlloc, "cuMemAlloc_v2");
  resolve(d.memFree, "cuMemFree_v2");
  resolve(d.memGetInfo, "cuMemGetInfo_v2");
  resolve(d.memHostAlloc, "cuMemHostAlloc");
  resolve(d.memFreeHost, "cuMemFreeHost");
  resolve(d.memcpyHtoDAsync, "cuMemcpyHtoDAsync_v2");
  resolve(d.memcpyDtoHAsync, "cuMemcpyDtoHAsync_v2");
  resolve(d.memcpyDtoDAsync, "cuMemcpyDtoDAsync_v2");
  resolve(d.memsetD8Async, "cuMemsetD8Async");
  resolve(d.memsetD32Async, "cuMemsetD32Async");
  resolve(d.streamCreate, "cuStreamCreate");
  resolve(d.streamDestroy, "cuStreamDestroy_v2");
  resolve(d.streamSynchronize, "cuStreamSynchronize");
  resolve(d.streamBeginCapture, "cuStreamBeginCapture_v2");
  resolve(d.streamEndCapture, "cuStreamEndCapture");
  resolve(d.graphInstantiate, "cuGraphInstantiateWithFlags");
  resolve(d.graphUpload, "cuGraphUpload");
  resolve(d.graphLaunch, "cuGraphLaunch");
  resolve(d.graphDestroy, "cuGraphDestroy");
  resolve(d.graphExecDestroy, "cuGraphExecDestroy");
  resolve(d.eventCreate, "cuEventCreate");
  resolve(d.eventDestroy, "cuEventDestroy_v2");
  resolve(d.eventSynchronize, "cuEventSynchronize");
  resolve(d.eventRecord, "cuEventRecord");
  resolve(d.eventElapsedTime, "cuEventElapsedTime");
}

std::string describe(const Driver &driver, int result) {
  const char *name = nullptr, *text = nullptr;
  driver.getErrorName(result, &name);
  driver.getErrorString(result, &text);
  return fmt::format("{} ({})", text ? text : "unknown error",
                     name ? name : fmt::format("error {}", result));
}

Driver load() {
  SharedLibrary library =
      SharedLibrary::open({"libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"});
  if (library.absent())
    throwError(ErrorCode::Device,
               "there is no NVIDIA driver: libcuda.so.1 is not installed",
               kHelp, {library.problems().front()});
  Driver loaded{};
  resolveAll(loaded, library);
  const int result = loaded.init(0);
  if (result == kNoDevice)
    throwError(ErrorCode::Device, "the NVIDIA driver finds no GPU", kHelp,
               {"is it hidden by CUDA_VISIBLE_DEVICES, or not passed to the "
                "container?"});
  if (result != 0)
    throwError(ErrorCode::Device,
               fmt::format("the NVIDIA driver does not start: {}",
                           describe(loaded, result)),
               kHelp);
  return loaded;
}

} // namespace

const Driver &driver() {
  static const Result<Driver> loaded =
      catchErrors<Result<Driver>>([]() -> Result<Driver> { return load(); });
  if (!loaded.ok())
    throw ErrorException(loaded.error());
  return *loaded;
}

void check(int result, std::string_view what) {
  if (result == 0)
    return;
  throwError(ErrorCode::Device,
             fmt::format("cannot {}: {}", what, describe(driver(), result)),
             result == kOutOfMemory
                 ? "free memory of the GPU (nvidia-smi shows who has it), or "
                   "use a smaller batch"
                 : "");
}

} // namespace gcompile::cuda
