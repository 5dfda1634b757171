//===- Passes.h - every pass of gcompile ----------------------------------===//
#pragma once
#include "gcompile/ir/Aten.h"
#include "gcompile/ir/Tg.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/Pass/Pass.h"

namespace gcompile {

#define GEN_PASS_DECL
#include "gcompile/passes/Passes.h.inc"

#define GEN_PASS_REGISTRATION
#include "gcompile/passes/Passes.h.inc"

} // namespace gcompile
