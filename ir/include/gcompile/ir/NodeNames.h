//===- NodeNames.h - the user's names for operations ----------------------===//
#pragma once
#include "mlir/IR/Operation.h"

#include <string>

namespace gcompile {

/// Names of the exported graph's nodes that `loc` stands for, in the order in
/// which fused locations list them, without repeats.
llvm::SmallVector<llvm::StringRef> nodeNames(mlir::Location loc);

/// The last of these names, since an op that took in others is best known by
/// its result; the name of the operation where it has none.
std::string nodeName(mlir::Operation *op);

} // namespace gcompile
