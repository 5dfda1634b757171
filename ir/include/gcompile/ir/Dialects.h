//===- Dialects.h - the dialects that gcompile's programs use -------------===//
#pragma once
#include "mlir/IR/DialectRegistry.h"

namespace gcompile {

/// Registers aten, tg, func, linalg, arith, math, tensor, scf and affine.
void registerGcompileDialects(mlir::DialectRegistry &registry);

} // namespace gcompile
