#include "gcompile/cuda/Kernels.h"

#include "Driver.h"
#include "gcompile/cuda/Device.h"

#include <algorithm>
#include <fmt/format.h>
#include <map>

namespace gcompile::cuda {
namespace {

/// Code in the device.
class Module {
public:
  Module(DevicePointer owner, const std::string &cubin)
      : device(std::move(owner)) {
    check(driver().moduleLoadData(&handle, cubin.data()),
          "load compiled kernels");
  }
  ~Module() {
    Device::Scope scope(*device);
    driver().moduleUnload(handle);
  }
  Module(const Module &) = delete;
  Module &operator=(const Module &) = delete;

  CUfunction function(const std::string &symbol) const {
    CUfunction result = nullptr;
    check(driver().moduleGetFunction(&result, handle, symbol.c_str()),
          fmt::format("find the kernel '{}' in its code", symbol));
    return result;
  }

private:
  const DevicePointer device;
  CUmodule handle = nullptr;
};

void allowShared(const KernelRequests::Request &request,
                 const DeviceInfo &device) {
  constexpr int maxDynamicSharedBytes = 8; // CU_FUNC_ATTRIBUTE_…
  if (request.sharedBytes > device.sharedBytesPerBlock)
    throwError(ErrorCode::Device,
               fmt::format("the kernel '{}' needs {} bytes of shared memory a "
                           "block, but {} has {}",
                           request.symbol, request.sharedBytes, device.name,
                           device.sharedBytesPerBlock),
               "compile the model for this GPU");
  if (request.sharedBytes > 0)
    check(driver().funcSetAttribute(request.entry->function,
                                    maxDynamicSharedBytes,
                                    static_cast<int>(request.sharedBytes)),
          fmt::format("give the kernel '{}' {} bytes of shared memory",
                      request.symbol, request.sharedBytes));
}

} // namespace

std::string DeviceInfo::architecture() const {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

KernelHandle KernelRequests::add(const std::string &symbol,
                                 const std::string &source,
                                 int64_t sharedBytes) {
  for (Request &request : all)
    if (request.symbol == symbol && request.source == source) {
      request.sharedBytes = std::max(request.sharedBytes, sharedBytes);
      return request.entry;
    }
  auto entry = std::make_shared<KernelEntry>();
  entry->symbol = symbol;
  all.push_back({symbol, source, std::move(entry), sharedBytes});
  return all.back().entry;
}

void loadKernels(const KernelRequests &requests,
                 std::span<const std::shared_ptr<const std::string>> cubins,
                 const DevicePointer &device) {
  Device::Scope scope(*device);
  std::map<const std::string *, std::shared_ptr<const Module>> modules;
  for (size_t i = 0; i < cubins.size(); ++i) {
    const KernelRequests::Request &request = requests.requests()[i];
    std::shared_ptr<const Module> &module = modules[cubins[i].get()];
    if (!module)
      module = std::make_shared<const Module>(device, *cubins[i]);
    request.entry->function = module->function(request.symbol);
    request.entry->module = module;
    allowShared(request, device->info());
  }
}

void launch(const KernelHandle &kernel, Dim3 grid, Dim3 block,
            int64_t sharedBytes, CUstream stream, void **arguments) {
  const int result = driver().launchKernel(
      kernel->function, grid.x, grid.y, grid.z, block.x, block.y, block.z,
      static_cast<unsigned>(sharedBytes), stream, arguments, nullptr);
  if (result != 0)
    check(result,
          fmt::format("launch the kernel '{}' with {}x{}x{} blocks of {}x{}x{} "
                      "threads and {} bytes of shared memory",
                      kernel->symbol, grid.x, grid.y, grid.z, block.x, block.y,
                      block.z, sharedBytes));
}

} // namespace gcompile::cuda
