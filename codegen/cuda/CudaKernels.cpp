//===- CudaKernels.cpp - the GPU's kernels of a plan ----------------------===//
#include "CudaKernels.h"
#include "CudaEmitter.h"

using namespace mlir;

namespace gcompile::cuda {

FailureOr<KernelEmitter::Emitted>
CudaKernels::emitText(const loops::LoopPart &part,
                      ArrayRef<unsigned> inputArguments,
                      ArrayRef<unsigned> outputArguments) {
  CudaFunction function{kPlaceholder.str(), &part, chooseSchedule(part),
                        inputArguments, outputArguments};
  FailureOr<CudaSource> source = emitCuda(function);
  if (failed(source))
    return failure();
  plan::Launch launch;
  launch.grid = {source->gridBlocks, 1, 1};
  launch.blockThreads = source->blockThreads;
  launch.scratchBytes = source->scratchBytes;
  return Emitted{std::move(source->text), std::move(launch)};
}

} // namespace gcompile::cuda
