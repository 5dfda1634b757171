//===- KernelEmitter.h - loop nests to kernels of a plan ------------------===//
#pragma once
#include "gcompile/plan/Plan.h"
#include "loops/KernelParts.h"

namespace gcompile {

/// Writes the kernels of one plan, for one kind of device.
class KernelEmitter {
public:
  virtual ~KernelEmitter() = default;

  /// Emits `part`, once for equal kernels. `inPlace[i]` is the output that
  /// takes over input i, or -1. The arguments of the launch are the other
  /// inputs, then the outputs: the caller fills them in.
  mlir::FailureOr<plan::Launch> emit(const loops::LoopPart &part,
                                     llvm::StringRef name,
                                     llvm::ArrayRef<int> inPlace);

protected:
  KernelEmitter(std::vector<plan::Kernel> &kernels, std::string language)
      : kernels(kernels), language(std::move(language)) {}

  /// The text of a function named kPlaceholder, and its launch but for the
  /// kernel's number.
  struct Emitted {
    std::string text;
    plan::Launch launch;
  };
  /// The arguments of the function: input i is number inputArguments[i].
  virtual mlir::FailureOr<Emitted>
  emitText(const loops::LoopPart &part, llvm::ArrayRef<unsigned> inputArguments,
           llvm::ArrayRef<unsigned> outputArguments) = 0;

  static constexpr llvm::StringLiteral kPlaceholder = "gcompile_kernel";

private:
  std::vector<plan::Kernel> &kernels;
  const std::string language;
  std::map<std::pair<const loops::LoopPart *, std::vector<int>>, plan::Launch>
      launches;
  std::map<std::string, int64_t> kernelsByText;
};

} // namespace gcompile
