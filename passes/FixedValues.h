//===- FixedValues.h - what depends on weights alone ----------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace gcompile {

/// The parameters, buffers, constants and prepared values among the arguments
/// of `forward`, but for those that a result mutates.
llvm::SmallVector<mlir::BlockArgument>
weightArguments(mlir::func::FuncOp forward);

/// Values of `forward`'s body that are the same in every run with the same
/// weights: these and what is computed from them without random numbers or
/// control flow.
class FixedValues {
public:
  explicit FixedValues(mlir::func::FuncOp forward);
  bool contains(mlir::Value value) const { return values.contains(value); }
  /// For an operation made since: true if it reads fixed values only.
  bool add(mlir::Operation *op);

private:
  llvm::SmallPtrSet<mlir::Value, 32> values;
};

/// Values from outside that the regions of `op` read.
llvm::SmallVector<mlir::Value> capturedValues(mlir::Operation *op);

} // namespace gcompile
