//===- KernelParts.h - what a tg.kernel consists of
//---------------------------===//
#pragma once
#include "LoopNest.h"

#include <map>

namespace gcompile::loops {

/// A tensor in memory, from inside a tg.kernel: operand `number`, or result
/// `number` of the anchor.
struct KernelTensor {
  bool isAnchorResult = false;
  unsigned number = 0;
};

/// One loop nest of a tg.kernel.
struct LoopPart {
  LoopKernel kernel;
  LoopNest nest;
  LoopFacts facts;
  llvm::SmallVector<KernelTensor> inputs; ///< of kernel.inputs
  llvm::SmallVector<unsigned> outputs; ///< positions among the yielded values

  bool isEmpty() const; ///< has no parallel iterations
  /// Number of input elements that are read, at most.
  int64_t elementsRead(unsigned input) const;
  int64_t operations() const;
  /// True where `output` can take over the memory of `input`, if both have
  /// elements of one width: each element is read before it is written, in the
  /// iteration that writes it.
  bool canRunInPlace(unsigned input, unsigned output) const;
  /// Where all it does is to copy its only input to its only output: how both
  /// are walked by the parallel loops.
  std::optional<std::pair<StridedForm, StridedForm>> asCopy() const;
  /// Where it only moves every element of its input once, and may narrow it to
  /// half precision: the strides that the input's dimensions have in the
  /// output.
  std::optional<StridedForm> asLayout() const;

private:
  std::optional<std::pair<StridedForm, StridedForm>> asMove() const;
};

/// What a tg.kernel consists of. Shared by kernels with equal regions.
struct KernelParts {
  mlir::Operation *anchor = nullptr; ///< of the first such kernel
  /// A scatter; in place of its result, the base.
  std::unique_ptr<LoopPart> scatter;
  /// The generics: all, or those that follow the anchor.
  std::unique_ptr<LoopPart> loops;
};

class KernelAnalysis {
public:
  explicit KernelAnalysis(const KeepPolicy &policy) : policy(policy) {}
  mlir::FailureOr<const KernelParts *> analyze(tg::KernelOp kernel);

private:
  KeepPolicy policy;
  std::map<std::string, KernelParts> partsByText;
};

} // namespace gcompile::loops
