//===- FixedValues.h - what depends on weights alone ----------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/SmallPtrSet.h"

namespace gcompile {

/// Values of `forward`'s body that are the same in every run with the same
/// weights: parameters, buffers and constants of its signature that no result
/// mutates, and what is computed from these without random numbers or control
/// flow.
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
