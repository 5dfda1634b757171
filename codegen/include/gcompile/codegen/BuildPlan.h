//===- BuildPlan.h - kernel programs to plans
//------------------------------===//
#pragma once
#include "gcompile/plan/Plan.h"

#include "mlir/IR/BuiltinOps.h"

#include <string>

namespace gcompile {

enum class TargetDevice { Cpu, Cuda };

struct TargetOptions {
  TargetDevice device = TargetDevice::Cpu;
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
mlir::FailureOr<plan::Plan> buildPlan(mlir::ModuleOp module,
                                      const TargetOptions &options);

} // namespace gcompile
