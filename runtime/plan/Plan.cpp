//===- Plan.cpp - what must hold of a plan before it runs -----------------===//
#include "gcompile/plan/Plan.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::plan {

std::string_view name(BufferKind kind) {
  switch (kind) {
  case BufferKind::Input:
    return "input";
  case BufferKind::Output:
    return "output";
  case BufferKind::Weight:
    return "weight";
  case BufferKind::State:
    return "state";
  case BufferKind::Constant:
    return "constant";
  case BufferKind::Prepared:
    return "prepared";
  case BufferKind::Arena:
    return "arena";
  }
  return "?";
}

int64_t countSteps(const std::vector<Step> &steps) {
  int64_t count = 0;
  for (const Step &step : steps) {
    ++count;
    for (const std::vector<Step> &branch : step.branches)
      count += countSteps(branch);
  }
  return count;
}

namespace {

[[noreturn]] void fail(std::string message) {
  throwError(ErrorCode::InvalidArgument, std::move(message),
             "the plan was edited or made by another version; compile again");
}

/// Bytes of a dense tensor; fails on negative sizes and overflow.
int64_t denseBytes(DType dtype, const std::vector<int64_t> &sizes,
                   const std::string &what) {
  int64_t bytes = byteWidth(dtype);
  bool isEmpty = false;
  for (int64_t size : sizes) {
    if (size < 0)
      fail(fmt::format("{} has a negative size: [{}]", what,
                       fmt::join(sizes, ", ")));
    isEmpty |= size == 0;
    if (!isEmpty && __builtin_mul_overflow(bytes, size, &bytes))
      fail(fmt::format("{} is too large: [{}]", what, fmt::join(sizes, ", ")));
  }
  return isEmpty ? 0 : bytes;
}

class Checker {
public:
  explicit Checker(const Plan &plan) : plan(plan) {}

  void check() {
    for (const Buffer &buffer : plan.buffers)
      checkBuffer(buffer);
    checkEntry(plan.prepare, "prepare");
    checkEntry(plan.forward, "forward");
    checkInputs();
    checkOutputs();
    checkMutations();
  }

private:
  void checkBuffer(const Buffer &buffer) {
    std::string what = fmt::format("buffer '{}'", buffer.name);
    int64_t bytes = denseBytes(buffer.dtype, buffer.sizes, what);
    if (bytes != buffer.numBytes)
      fail(fmt::format("{} has {} bytes, but {}[{}] needs {}", what,
                       buffer.numBytes, shortName(buffer.dtype),
                       fmt::join(buffer.sizes, ", "), bytes));
    switch (buffer.kind) {
    case BufferKind::Input:
      checkIndex(buffer.index, plan.inputs.size(), what + " input position");
      break;
    case BufferKind::Output:
      checkIndex(buffer.index, plan.outputs.size(), what + " output position");
      break;
    case BufferKind::Constant:
      if (static_cast<int64_t>(buffer.data.size()) != bytes)
        fail(fmt::format("{} has {} bytes of data instead of {}", what,
                         buffer.data.size(), bytes));
      break;
    case BufferKind::Prepared:
      checkPlace(buffer, plan.preparedBytes, "the prepared weights");
      break;
    case BufferKind::Weight:
    case BufferKind::State:
    case BufferKind::Arena: // checked against the entry that uses it
      break;
    }
  }

  static void checkPlace(const Buffer &buffer, int64_t areaBytes,
                         std::string_view area) {
    if (buffer.offset < 0 || buffer.numBytes > areaBytes ||
        buffer.offset > areaBytes - buffer.numBytes)
      fail(fmt::format("buffer '{}' at offset {} with {} bytes lies outside {} "
                       "of {} bytes",
                       buffer.name, buffer.offset, buffer.numBytes, area,
                       areaBytes));
  }

  static void checkIndex(int64_t index, size_t count, std::string_view what) {
    if (index < 0 || index >= static_cast<int64_t>(count))
      fail(fmt::format("{} is {}, but there are {}", what, index, count));
  }

  void checkEntry(const Entry &entry, std::string_view name) {
    if (entry.arenaBytes < 0)
      fail(
          fmt::format("'{}' has an arena of {} bytes", name, entry.arenaBytes));
    checkSteps(entry, entry.steps);
  }

  void checkUse(const Entry &entry, int64_t index, const Step &step) {
    checkIndex(index, plan.buffers.size(),
               fmt::format("step '{}': buffer", step.name));
    const Buffer &buffer = plan.buffers[static_cast<size_t>(index)];
    if (buffer.kind == BufferKind::Arena)
      checkPlace(buffer, entry.arenaBytes, "the arena");
  }

  void checkRef(const Entry &entry, const TensorRef &ref, const Step &step) {
    checkUse(entry, ref.buffer, step);
    const Buffer &buffer = plan.buffers[static_cast<size_t>(ref.buffer)];
    std::string what =
        fmt::format("step '{}': view of '{}'", step.name, buffer.name);
    if (ref.sizes.size() != ref.strides.size())
      fail(fmt::format("{} has {} sizes but {} strides", what, ref.sizes.size(),
                       ref.strides.size()));
    if (denseBytes(ref.dtype, ref.sizes, what) == 0)
      return;
    int64_t first = ref.offset, last = ref.offset;
    bool overflow = false;
    for (size_t d = 0; d < ref.sizes.size(); ++d) {
      int64_t extent = 0;
      overflow |=
          __builtin_mul_overflow(ref.sizes[d] - 1, ref.strides[d], &extent);
      int64_t &bound = extent < 0 ? first : last;
      overflow |= __builtin_add_overflow(bound, extent, &bound);
    }
    if (overflow || first < 0 || last >= buffer.numBytes / byteWidth(ref.dtype))
      fail(fmt::format("{} with sizes [{}], strides [{}] and offset {} leaves "
                       "its {} bytes",
                       what, fmt::join(ref.sizes, ", "),
                       fmt::join(ref.strides, ", "), ref.offset,
                       buffer.numBytes));
  }

  void checkSteps(const Entry &entry, const std::vector<Step> &steps) {
    for (const Step &step : steps) {
      if (step.library) {
        for (const TensorRef &ref : step.library->inputs)
          checkRef(entry, ref, step);
        for (const TensorRef &ref : step.library->outputs)
          checkRef(entry, ref, step);
      }
      if (step.launch)
        checkLaunch(entry, *step.launch, step);
      checkControl(entry, step);
    }
  }

  void checkLaunch(const Entry &entry, const Launch &launch, const Step &step) {
    std::string what = fmt::format("step '{}': ", step.name);
    checkIndex(launch.kernel, plan.kernels.size(), what + "kernel");
    for (int64_t argument : launch.arguments)
      checkUse(entry, argument, step);
    if (launch.extent < 0 || launch.elementsPerIteration < 0 ||
        launch.scratchBytes < 0)
      fail(what + "negative extent, work or scratch");
    if (plan.target == "cuda")
      checkCudaLaunch(launch, what);
  }

  /// The limits are those of every GPU; how much shared memory there is, is
  /// known when the plan is loaded.
  static void checkCudaLaunch(const Launch &launch, const std::string &what) {
    constexpr std::array<int64_t, 3> maxGrid = {INT32_MAX, 65535, 65535};
    for (size_t d = 0; d < maxGrid.size(); ++d)
      if (launch.grid[d] < 0 || launch.grid[d] > maxGrid[d])
        fail(fmt::format("{}a grid of [{}] blocks", what,
                         fmt::join(launch.grid, ", ")));
    if (launch.blockThreads < 1 || launch.blockThreads > 1024)
      fail(fmt::format("{}blocks of {} threads", what, launch.blockThreads));
    if (launch.sharedBytes < 0)
      fail(
          fmt::format("{}{} bytes of shared memory", what, launch.sharedBytes));
  }

  void checkControl(const Entry &entry, const Step &step) {
    if (step.control.empty()) {
      if (!step.branches.empty())
        fail(fmt::format("step '{}' has branches but no control", step.name));
      return;
    }
    if (step.control != "cond" && step.control != "while")
      fail(fmt::format("step '{}': unknown control '{}'", step.name,
                       step.control));
    if (step.branches.size() != 2)
      fail(fmt::format("step '{}': {} needs 2 branches, not {}", step.name,
                       step.control, step.branches.size()));
    checkUse(entry, step.predicate, step);
    const Buffer &predicate = plan.buffers[static_cast<size_t>(step.predicate)];
    if (predicate.numBytes != 1)
      fail(fmt::format("step '{}': the predicate is not one bool", step.name));
    for (const std::vector<Step> &branch : step.branches)
      checkSteps(entry, branch);
  }

  /// A buffer that a binding names, and that must have its type and size.
  const Buffer &bound(int64_t index, DType dtype,
                      const std::vector<int64_t> &sizes,
                      const std::string &what) {
    checkIndex(index, plan.buffers.size(), what + " buffer");
    const Buffer &buffer = plan.buffers[static_cast<size_t>(index)];
    if (byteWidth(buffer.dtype) != byteWidth(dtype) ||
        buffer.numBytes != denseBytes(dtype, sizes, what))
      fail(fmt::format("{} is {}[{}], but its buffer has {}[{}]", what,
                       shortName(dtype), fmt::join(sizes, ", "),
                       shortName(buffer.dtype), fmt::join(buffer.sizes, ", ")));
    if (buffer.kind == BufferKind::Arena)
      checkPlace(buffer, plan.forward.arenaBytes, "the arena");
    return buffer;
  }

  void checkInputs() {
    for (size_t i = 0; i < plan.inputs.size(); ++i) {
      const InputBinding &input = plan.inputs[i];
      std::string what = fmt::format("input '{}'", input.name);
      if (input.buffer < 0) {
        denseBytes(input.dtype, input.sizes, what);
        continue;
      }
      const Buffer &buffer =
          bound(input.buffer, input.dtype, input.sizes, what);
      if (buffer.kind != BufferKind::Input ||
          buffer.index != static_cast<int64_t>(i))
        fail(what + " is bound to a buffer that is not its own");
    }
  }

  void checkOutputs() {
    for (const OutputBinding &output : plan.outputs) {
      std::string what = fmt::format("output '{}'", output.name);
      bound(output.buffer, output.dtype, output.sizes, what);
      if (output.strides.size() != output.sizes.size())
        fail(fmt::format("{} has {} sizes but {} strides", what,
                         output.sizes.size(), output.strides.size()));
      int64_t last = 0;
      for (size_t d = 0; d < output.sizes.size(); ++d) {
        int64_t extent = 0;
        if (output.strides[d] < 0 ||
            __builtin_mul_overflow(output.sizes[d], output.strides[d],
                                   &extent) ||
            __builtin_add_overflow(last, extent, &last) ||
            last > INT64_MAX / 64)
          fail(fmt::format("{} has impossible strides [{}]", what,
                           fmt::join(output.strides, ", ")));
      }
    }
  }

  void checkMutations() {
    for (const Mutation &mutation : plan.mutations) {
      checkIndex(mutation.source, plan.buffers.size(), "mutation source");
      checkIndex(mutation.target, plan.buffers.size(), "mutation target");
      const Buffer &source = plan.buffers[static_cast<size_t>(mutation.source)];
      const Buffer &target = plan.buffers[static_cast<size_t>(mutation.target)];
      if (target.kind != BufferKind::State && target.kind != BufferKind::Input)
        fail(fmt::format("mutation of '{}', which is neither state nor input",
                         target.name));
      if (source.kind == BufferKind::Arena)
        checkPlace(source, plan.forward.arenaBytes, "the arena");
      if (source.numBytes != target.numBytes)
        fail(fmt::format("mutation of '{}' with {} bytes by '{}' with {}",
                         target.name, target.numBytes, source.name,
                         source.numBytes));
    }
  }

  const Plan &plan;
};

} // namespace

Status checkPlan(const Plan &plan) {
  return catchErrors<Status>([&]() -> Status {
    Checker(plan).check();
    return {};
  });
}

} // namespace gcompile::plan
