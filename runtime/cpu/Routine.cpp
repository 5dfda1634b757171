#include "gcompile/cpu/Routine.h"

#include "RoutineSupport.h"
#include "gcompile/cpu/StridedCopy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::cpu {

Result<std::unique_ptr<Routine>> bindRoutine(const plan::LibraryCall &call) {
  using Bind = std::unique_ptr<Routine> (*)(const plan::LibraryCall &);
  static constexpr std::pair<std::string_view, Bind> routines[] = {
      {"attention", bindAttention}, {"convolution", bindConvolution},
      {"copy", bindCopy},           {"matmul", bindMatmul},
      {"random", bindRandom},       {"scan", bindScan},
      {"sort", bindSort},           {"top_k", bindTopK},
  };
  using ResultT = Result<std::unique_ptr<Routine>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    for (const auto &[name, bind] : routines)
      if (name == call.op)
        return bind(call);
    throwError(ErrorCode::Internal,
               fmt::format("the CPU has no library routine '{}'", call.op));
  });
}

void failDType(const plan::LibraryCall &call, DType dtype) {
  throwError(ErrorCode::Unsupported,
             fmt::format("'{}' of {} is not supported on the CPU", call.op,
                         name(dtype)));
}

//===----------------------------------------------------------------------===//
// Copy
//===----------------------------------------------------------------------===//

namespace {

class CopyRoutine : public Routine {
public:
  explicit CopyRoutine(const plan::LibraryCall &call)
      : source(call.inputs[0]), target(call.outputs[0]),
        copy(byteWidth(source.dtype), source.sizes, source.strides,
             target.strides) {}

  void run(const RoutineContext &context) const override {
    copy.run(addressOf(source, context.buffers),
             addressOf(target, context.buffers), context.pool);
  }

private:
  const plan::TensorRef source, target;
  const StridedCopy copy;
};

} // namespace

std::unique_ptr<Routine> bindCopy(const plan::LibraryCall &call) {
  expectOperands(call, 1, 1, 1, 1);
  const plan::TensorRef &source = call.inputs[0], &target = call.outputs[0];
  if (byteWidth(source.dtype) != byteWidth(target.dtype) ||
      source.sizes != target.sizes)
    failCall(call,
             fmt::format("from {}[{}] to {}[{}]", name(source.dtype),
                         fmt::join(source.sizes, ", "), name(target.dtype),
                         fmt::join(target.sizes, ", ")));
  return std::make_unique<CopyRoutine>(call);
}

} // namespace gcompile::cpu
