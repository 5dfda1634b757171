//===- Aten.h - the aten dialect ------------------------------------------===//
#pragma once
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "gcompile/ir/AtenDialect.h.inc"
#define GET_ATTRDEF_CLASSES
#include "gcompile/ir/AtenAttrs.h.inc"
#define GET_OP_CLASSES
#include "gcompile/ir/AtenOps.h.inc"
