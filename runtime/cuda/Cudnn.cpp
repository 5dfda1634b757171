#include "Cudnn.h"

#include "SharedLibrary.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

using Handle = struct cudnnContext *;

/// The functions of libcudnn that we call by ourselves.
struct Functions {
  size_t (*getVersion)();
  int (*create)(Handle *);
  int (*destroy)(Handle);
  const char *(*getErrorString)(int);
};

Functions load() {
  const SharedLibrary library =
      SharedLibrary::open(cudaLibraryPaths({"libcudnn.so.9"}));
  if (library.absent())
    throwError(ErrorCode::Device,
               "cuDNN is missing: libcudnn.so.9 is not found",
               "install cuDNN 9 (its wheel is nvidia-cudnn-cu13), or name its "
               "folder in LD_LIBRARY_PATH",
               {library.problems().front()});
  Functions functions{};
  library.resolve(functions.getVersion, "cudnnGetVersion");
  library.resolve(functions.create, "cudnnCreate");
  library.resolve(functions.destroy, "cudnnDestroy");
  library.resolve(functions.getErrorString, "cudnnGetErrorString");
  return functions;
}

} // namespace

struct Cudnn::Impl {
  DevicePointer device;
  Functions functions;
  Handle handle = nullptr;

  ~Impl() {
    Device::Scope scope(*device);
    if (handle)
      functions.destroy(handle);
  }
};

Cudnn::Cudnn(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Cudnn::~Cudnn() = default;

Result<std::unique_ptr<Cudnn>> Cudnn::open(DevicePointer device) {
  using ResultT = Result<std::unique_ptr<Cudnn>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    auto impl = std::make_unique<Impl>(device, load());
    Device::Scope scope(*device);
    if (const int status = impl->functions.create(&impl->handle); status != 0)
      throwError(ErrorCode::Device,
                 fmt::format("cuDNN does not work with {}: {}",
                             device->info().name,
                             impl->functions.getErrorString(status)));
    return std::unique_ptr<Cudnn>(new Cudnn(std::move(impl)));
  });
}

std::string Cudnn::version() const {
  const size_t number = impl->functions.getVersion();
  return fmt::format("{}.{}.{}", number / 10000, number / 100 % 100,
                     number % 100);
}

} // namespace gcompile::cuda
