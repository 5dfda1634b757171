//===- FusionStrategy.h - which groups become one kernel ------------------===//
// `tg-fuse` finds candidates and proves that each can be one kernel; a strategy
// says whether it should. A plug-in registers its own under a name and selects
// it by `-tg-fuse=strategy=NAME`.
#pragma once
#include "mlir/IR/Operation.h"

#include <functional>
#include <memory>
#include <string>

namespace gcompile {

/// What one kernel does, before a target is known.
struct KernelCost {
  int64_t bytesRead = 0;    ///< distinct bytes of its operands that it touches
  int64_t bytesWritten = 0; ///< of its results
  double cheapWork = 0;     ///< adds, compares, casts, …
  double costlyWork = 0; ///< divisions (4 each) and transcendentals (16 each)
  /// Iterations that are independent of one another.
  int64_t parallel = 1;
  /// Passes over the reduction loops, each waiting for the one before.
  unsigned stages = 1;
};

enum class FusionKind {
  Vertical, ///< the second group reads results of the first
  Epilogue, ///< the same, and the first group has a structured op
  Sibling,  ///< both read the same tensor
};

/// Groups of operations (each in program order) before and after, with costs.
struct FusionCandidate {
  FusionKind kind;
  llvm::ArrayRef<mlir::Operation *> first, second;
  llvm::ArrayRef<KernelCost> before, after; ///< one a kernel
};

struct FusionDecision {
  bool fuse = false;
  double savedMicroseconds = 0; ///< by the strategy's own estimate
  std::string reason;           ///< "saves 3145728 bytes and a launch"
};

class FusionStrategy {
public:
  virtual ~FusionStrategy() = default;
  virtual FusionDecision decide(const FusionCandidate &candidate) = 0;
};

using FusionStrategyFactory = std::function<std::unique_ptr<FusionStrategy>()>;

/// Makes `name` known; a later registration of the same name wins.
void registerFusionStrategy(llvm::StringRef name,
                            FusionStrategyFactory factory);

/// Null if nobody registered `name`. "default" and "none" are always there.
std::unique_ptr<FusionStrategy> createFusionStrategy(llvm::StringRef name);

/// "default, none": for messages.
std::string fusionStrategyNames();

} // namespace gcompile
