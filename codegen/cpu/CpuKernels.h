//===- CpuKernels.h - the CPU's kernels of a plan -------------------------===//
#pragma once
#include "../KernelEmitter.h"

namespace gcompile::cpu {

class CpuKernels : public KernelEmitter {
public:
  explicit CpuKernels(std::vector<plan::Kernel> &kernels)
      : KernelEmitter(kernels, "llvm") {}

private:
  mlir::FailureOr<Emitted>
  emitText(const loops::LoopPart &part, llvm::ArrayRef<unsigned> inputArguments,
           llvm::ArrayRef<unsigned> outputArguments) override;
};

} // namespace gcompile::cpu
