//===- CpuPlan.h - kernel programs to plans for the CPU -------------------===//
#pragma once
#include "gcompile/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace gcompile {

struct CpuTargetOptions {
  std::string modelName;
};

/// The plan of a kernel program: a module with func @forward and, where there
/// are prepared weights, @prepare, whose bodies hold tg.kernel, tg.cond,
/// tg.while and dense constants. Arguments and results are bound by their
/// `aten.kind` and `aten.name`; an argument of @forward of kind "prepared" is
/// the result of
/// @prepare with that name. Every output and mutation is written by a step:
/// each plan::Mutation has source == target. Reports errors at the operations
/// they are about.
mlir::FailureOr<plan::Plan> buildCpuPlan(mlir::ModuleOp module,
                                         const CpuTargetOptions &options);

} // namespace gcompile
