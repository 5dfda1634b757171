#include "gcompile/cuda/Routine.h"

#include "RoutineSupport.h"

#include <fmt/format.h>

namespace gcompile::cuda {

Result<std::unique_ptr<Routine>>
bindRoutine(const plan::LibraryCall &call,
            const RoutineEnvironment &environment) {
  using Bind = std::unique_ptr<Routine> (*)(const plan::LibraryCall &,
                                            const RoutineEnvironment &);
  static constexpr std::pair<std::string_view, Bind> routines[] = {
      {"attention", bindAttention},     //
      {"convolution", bindConvolution}, //
      {"copy", bindCopy},               //
      {"matmul", bindMatmul},           //
      {"random", bindRandom},           //
      {"scan", bindScan},               //
      {"sort", bindSort},               //
      {"top_k", bindTopK},              //
  };
  using ResultT = Result<std::unique_ptr<Routine>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    for (const auto &[name, bind] : routines) {
      if (name != call.op)
        continue;
      return bind(call, environment);
    }
    throwError(ErrorCode::Internal,
               fmt::format("CUDA has no library routine '{}'", call.op));
  });
}

void failDType(const plan::LibraryCall &call, DType dtype) {
  throwError(
      ErrorCode::Unsupported,
      fmt::format("'{}' of {} is not supported on CUDA", call.op, name(dtype)));
}

} // namespace gcompile::cuda
