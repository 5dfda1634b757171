//===- Tg.h - the tg dialect ----------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gcompile/ir/TgDialect.h.inc"
#include "gcompile/ir/TgEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gcompile/ir/TgAttrs.h.inc"
#define GET_OP_CLASSES
#include "gcompile/ir/TgOps.h.inc"

namespace gcompile::tg {
/// True for the ops that a kernel may hold at most one of.
bool isStructuredOp(mlir::Operation *op);
} // namespace gcompile::tg
