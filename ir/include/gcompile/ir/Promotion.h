//===- Promotion.h - PyTorch's element type promotion ---------------------===//
#pragma once
#include "gcompile/ir/OperatorTable.h"

namespace gcompile::aten {

/// torch.promote_types; null where PyTorch refuses.
mlir::Type promoteTypes(mlir::Type a, mlir::Type b);

/// torch.result_type of operands: tensors with dimensions come before
/// 0-dimensional ones, those before Python scalars (i64, f64 or i1 without a
/// tensor around it), within one category of bool, integer, float and complex.
/// Null where PyTorch refuses.
mlir::Type resultElementType(llvm::ArrayRef<mlir::Type> operands);

/// The element type in which a pointwise call works: the promoted one of its
/// tensors (a condition or mask apart) and of the scalars that stand for an
/// operand. Null where PyTorch refuses.
mlir::Type promotedElementType(const Call &call);

bool isBool(mlir::Type type);
/// True for integers, bool excluded.
bool isInteger(mlir::Type type);
/// The type itself, or the default float (f32) for an integer or a bool.
mlir::Type toFloat(mlir::Type type);
/// The type in which PyTorch sums: f32 for half precision.
mlir::Type accumulatorType(mlir::Type type);
/// "float32", "bool": PyTorch's name, for messages.
std::string dtypeName(mlir::Type type);

} // namespace gcompile::aten
