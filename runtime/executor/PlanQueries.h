//===- PlanQueries.h - what every device asks of a plan -------------------===//
#pragma once
#include "gcompile/executor/Executable.h"

#include <span>
#include <vector>

namespace gcompile {

/// Throws unless these are the plan's inputs, and those that it mutates can be
/// written.
void checkInputs(const plan::Plan &plan, std::span<const Tensor> inputs);

/// The weight of a buffer; throws if it is of another type or size.
Tensor resolveWeight(const plan::Buffer &buffer, const WeightResolver &resolve);

/// By buffer: whether a run reads or writes it. Weights that are not used are
/// read by `prepare` alone.
std::vector<bool> usedInForward(const plan::Plan &plan);

/// By mutation: whether an earlier mutation overwrites its source, so that a
/// copy has to be taken before any is done.
std::vector<bool> overwrittenSources(const plan::Plan &plan);

/// Elements from the first to the last of a tensor with these strides, 0 if
/// empty.
int64_t spanOf(const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &strides);

/// A row-major, aligned copy in memory of its own.
Tensor privateCopy(const Tensor &tensor, cpu::ThreadPool &pool);
/// Copies a row-major buffer into a tensor of the same sizes.
void copyInto(Tensor &target, const void *source, cpu::ThreadPool &pool);

// A device's bound steps have `step`, `branches`, `seconds` and `numRuns`.
template <typename BoundStep>
void clearTimes(std::vector<BoundStep> &steps) {
  for (BoundStep &step : steps) {
    step.seconds = 0;
    step.numRuns = 0;
    for (std::vector<BoundStep> &branch : step.branches)
      clearTimes(branch);
  }
}

template <typename BoundStep>
void collectTimes(const std::vector<BoundStep> &steps,
                  std::vector<StepTime> &times) {
  for (const BoundStep &step : steps) {
    if (step.numRuns > 0)
      times.push_back({step.step, step.seconds, step.numRuns});
    for (const std::vector<BoundStep> &branch : step.branches)
      collectTimes(branch, times);
  }
}

/// The error of binding a step, with the step's name.
[[noreturn]] void failStep(const plan::Step &step, Error error);

} // namespace gcompile
