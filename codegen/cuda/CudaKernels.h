//===- CudaKernels.h - the GPU's kernels of a plan ------------------------===//
#pragma once
#include "../KernelEmitter.h"

namespace gcompile::cuda {

class CudaKernels : public KernelEmitter {
public:
  explicit CudaKernels(std::vector<plan::Kernel> &kernels)
      : KernelEmitter(kernels, "cuda") {}

private:
  mlir::FailureOr<Emitted>
  emitText(const loops::LoopPart &part, llvm::ArrayRef<unsigned> inputArguments,
           llvm::ArrayRef<unsigned> outputArguments) override;
};

} // namespace gcompile::cuda
