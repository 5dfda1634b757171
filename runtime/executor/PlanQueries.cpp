#include "PlanQueries.h"

#include "gcompile/cpu/StridedCopy.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile {
namespace {

using plan::Buffer;
using plan::BufferKind;

std::string describe(DType dtype, const std::vector<int64_t> &sizes) {
  return fmt::format("{}[{}]", shortName(dtype), fmt::join(sizes, ", "));
}

void checkCount(const plan::Plan &plan, size_t count) {
  if (count == plan.inputs.size())
    return;
  std::vector<std::string> names;
  names.reserve(plan.inputs.size());
  for (const plan::InputBinding &input : plan.inputs)
    names.push_back(
        fmt::format("{}: {}", input.name, describe(input.dtype, input.sizes)));
  throwError(
      ErrorCode::InvalidArgument,
      fmt::format("the model takes {} inputs, but {} were given",
                  plan.inputs.size(), count),
      {},
      {fmt::format("it takes {}",
                   names.empty() ? "none"
                                 : fmt::format("{}", fmt::join(names, ", ")))});
}

void checkInput(const plan::InputBinding &binding, const Tensor &input) {
  std::vector<std::string> notes = {"expected " +
                                        describe(binding.dtype, binding.sizes),
                                    "found " + input.describe()};
  if (input.dtype != binding.dtype)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("input '{}' has type {} instead of {}", binding.name,
                           name(input.dtype), name(binding.dtype)),
               fmt::format("convert it to {}", name(binding.dtype)), notes);
  if (input.sizes != binding.sizes)
    throwError(
        ErrorCode::InvalidArgument,
        fmt::format("input '{}' has shape [{}] instead of [{}]", binding.name,
                    fmt::join(input.sizes, ", "),
                    fmt::join(binding.sizes, ", ")),
        "this program was compiled for the expected shape; pass an input of "
        "that shape, or compile for the other",
        notes);
}

/// Calls `use` with the index of every buffer that the steps name.
template <typename Use>
void forEachUse(const std::vector<plan::Step> &steps, const Use &use) {
  for (const plan::Step &step : steps) {
    if (step.library) {
      for (const plan::TensorRef &ref : step.library->inputs)
        use(ref.buffer);
      for (const plan::TensorRef &ref : step.library->outputs)
        use(ref.buffer);
    }
    if (step.launch)
      for (int64_t argument : step.launch->arguments)
        use(argument);
    use(step.predicate);
    for (const std::vector<plan::Step> &branch : step.branches)
      forEachUse(branch, use);
  }
}

} // namespace

void checkInputs(const plan::Plan &plan, std::span<const Tensor> inputs) {
  checkCount(plan, inputs.size());
  for (size_t i = 0; i < inputs.size(); ++i)
    checkInput(plan.inputs[i], inputs[i]);
  for (const plan::Mutation &mutation : plan.mutations) {
    const Buffer &target = plan.buffers[static_cast<size_t>(mutation.target)];
    if (target.kind != BufferKind::Input)
      continue;
    const auto index = static_cast<size_t>(target.index);
    if (inputs[index].numElements() > 0 &&
        !inputs[index].storage->mutableData())
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("input '{}' is updated by the model, but its "
                             "memory is read-only",
                             plan.inputs[index].name),
                 "pass a copy of it");
  }
}

Tensor resolveWeight(const Buffer &buffer, const WeightResolver &resolve) {
  Tensor tensor = resolve(buffer.weight).valueOrThrow();
  if (tensor.dtype != buffer.dtype || tensor.sizes != buffer.sizes)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("weight '{}' is not the one that the model was "
                           "compiled for",
                           buffer.weight),
               "pass the weights that belong to this model, or compile again",
               {"expected " + describe(buffer.dtype, buffer.sizes),
                "found " + tensor.describe()});
  return tensor;
}

std::vector<bool> usedInForward(const plan::Plan &plan) {
  std::vector<bool> used(plan.buffers.size(), false);
  auto use = [&](int64_t index) {
    if (index >= 0)
      used[static_cast<size_t>(index)] = true;
  };
  forEachUse(plan.forward.steps, use);
  for (const plan::OutputBinding &output : plan.outputs)
    use(output.buffer);
  for (const plan::Mutation &mutation : plan.mutations)
    use(mutation.source);
  return used;
}

std::vector<bool> overwrittenSources(const plan::Plan &plan) {
  std::vector<bool> overwritten;
  for (auto it = plan.mutations.begin(); it != plan.mutations.end(); ++it)
    overwritten.push_back(std::any_of(plan.mutations.begin(), it,
                                      [&](const plan::Mutation &earlier) {
                                        return earlier.target == it->source &&
                                               earlier.source != earlier.target;
                                      }));
  return overwritten;
}

int64_t spanOf(const std::vector<int64_t> &sizes,
               const std::vector<int64_t> &strides) {
  int64_t last = 0;
  for (size_t d = 0; d < sizes.size(); ++d) {
    if (sizes[d] == 0)
      return 0;
    last += (sizes[d] - 1) * strides[d];
  }
  return last + 1;
}

Tensor privateCopy(const Tensor &tensor, cpu::ThreadPool &pool) {
  Tensor copy = Tensor::empty(tensor.dtype, tensor.sizes);
  if (tensor.numElements() > 0)
    cpu::StridedCopy(byteWidth(tensor.dtype), tensor.sizes, tensor.strides,
                     copy.strides)
        .run(tensor.data(), copy.mutableData(), pool);
  return copy;
}

void copyInto(Tensor &target, const void *source, cpu::ThreadPool &pool) {
  cpu::StridedCopy(byteWidth(target.dtype), target.sizes,
                   contiguousStrides(target.sizes), target.strides)
      .run(source, target.mutableData(), pool);
}

void failStep(const plan::Step &step, Error error) {
  error.notes.push_back(fmt::format("in step '{}' of nodes {}", step.name,
                                    fmt::join(step.nodes, ", ")));
  throw ErrorException(std::move(error));
}

} // namespace gcompile
