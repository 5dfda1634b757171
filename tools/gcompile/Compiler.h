//===- Compiler.h - from a program to a plan ------------------------------===//
#pragma once
#include "Progress.h"

#include "gcompile/base/Error.h"
#include "gcompile/codegen/BuildPlan.h"
#include "gcompile/frontend/Program.h"
#include "gcompile/plan/Plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace gcompile::tool {

struct CompileRequest {
  const frontend::Model *model = nullptr;
  /// Sizes of the tensor inputs of a run, in order; symbolic sizes follow.
  std::vector<std::vector<int64_t>> inputSizes;
  /// Evaluate in float64, each operation a step of its own.
  bool reference = false;
  /// Folder for the text of every form; empty: none.
  std::string dumpDir;
  /// What the plan's kernels are for.
  TargetDevice device = TargetDevice::Cpu;
};

/// Launches of a kernel program, those of branches included.
struct KernelCounts {
  int64_t steps = 0;    ///< kernels of @forward
  int64_t anchored = 0; ///< those with a structured op: matmul, convolution, …
  int64_t prepare = 0;  ///< kernels of @prepare, run once a set of weights
};

struct CompiledProgram {
  plan::Plan plan;
  KernelCounts kernels;
  /// Operations of the tensor program that do work, before fusion.
  int64_t numOperations = 0;
};

/// Imports, specialises, lowers, fuses and plans a program for the CPU. Times
/// its stages in `progress`. Errors name the nodes they are about, several in
/// one message where several are wrong.
Result<CompiledProgram> compileProgram(const CompileRequest &request,
                                       Progress &progress);

/// Operators the program uses and gcompile does not know: one line each, with
/// the nodes and source lines. Empty: all are known.
std::vector<std::string> unsupportedOperators(const frontend::Model &model);

/// Names of all operators gcompile knows, sorted.
std::vector<std::string> knownOperators();

} // namespace gcompile::tool
