#include "Backend.h"

namespace gcompile {
namespace {

[[noreturn]] void failWithoutDevice() {
  throwError(ErrorCode::InvalidArgument,
             "this plan runs on the CPU: it has no device memory or streams",
             "use run(), or compile for the GPU");
}

} // namespace

void ExecutableBackend::bindDevice(std::span<void *const>,
                                   std::span<void *const>) {
  failWithoutDevice();
}
void *ExecutableBackend::deviceInput(size_t) const { return nullptr; }
void *ExecutableBackend::deviceOutput(size_t) const { return nullptr; }
void ExecutableBackend::enqueue(CUstream, const RunOptions &) {
  failWithoutDevice();
}
std::vector<double> ExecutableBackend::benchmark(int64_t, const RunOptions &) {
  failWithoutDevice();
}

} // namespace gcompile
