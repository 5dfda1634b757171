//===- CpuKernels.cpp - the CPU's kernels of a plan -----------------------===//
#include "CpuKernels.h"
#include "LoopEmitter.h"

using namespace mlir;

namespace gcompile::cpu {

/// A measure of the time of one parallel iteration.
static int64_t workOf(const loops::LoopPart &part) {
  int64_t work = 0;
  for (auto [phase, cost] : llvm::enumerate(part.facts.work)) {
    int64_t loads =
        llvm::count_if(part.facts.loads, [&](const loops::Access &access) {
          return access.phase == phase;
        });
    work += (cost / 4 + loads) *
            (phase % 2 == 0 ? loops::product(part.nest.reduction()) : 1);
  }
  return std::max<int64_t>(1, work);
}

FailureOr<KernelEmitter::Emitted>
CpuKernels::emitText(const loops::LoopPart &part,
                     ArrayRef<unsigned> inputArguments,
                     ArrayRef<unsigned> outputArguments) {
  LoopFunction function;
  function.symbol = kPlaceholder.str();
  function.kernel = &part.kernel;
  function.nest = &part.nest;
  function.facts = &part.facts;
  function.inputArguments.assign(inputArguments.begin(), inputArguments.end());
  function.outputArguments.assign(outputArguments.begin(),
                                  outputArguments.end());
  FailureOr<EmittedFunction> emitted = emitLoops(function);
  if (failed(emitted))
    return failure();
  FailureOr<std::string> text = lowerToLlvmText(*emitted->module);
  if (failed(text))
    return failure();
  plan::Launch launch;
  launch.extent = emitted->extent;
  launch.elementsPerIteration = workOf(part) * emitted->iterations;
  launch.scratchBytes = emitted->scratchBytes;
  return Emitted{std::move(*text), std::move(launch)};
}

} // namespace gcompile::cpu
