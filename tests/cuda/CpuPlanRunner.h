//===- CpuPlanRunner.h - runs a GPU's plan on the CPU ---------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/executor/Executable.h"
#include "gcompile/plan/Plan.h"

#include <span>
#include <vector>

namespace gcompile::testing {

/// Runs a plan that was made for "cuda" once, without a GPU: the very sources
/// of its kernels, by cuda_on_cpu.h, and the CPU's routines for its library
/// calls. The arena is poisoned. Returns the outputs; an error where threads of
/// a kernel wait for ones that never come, or where the plan calls what the
/// CPU has no routine for. Throws std::runtime_error where a kernel does not
/// compile.
///
/// What this cannot find: races, and faults of the GPU's own routines.
Result<std::vector<Tensor>> runCudaPlan(const plan::Plan &plan,
                                        std::span<const Tensor> inputs,
                                        const WeightResolver &weights);

} // namespace gcompile::testing
