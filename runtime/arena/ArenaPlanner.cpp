#include "gcompile/arena/ArenaPlanner.h"

#include <algorithm>
#include <fmt/format.h>
#include <functional>
#include <numeric>

namespace gcompile {
namespace {

/// Which of the gaps that are wide enough a buffer takes.
enum class Fit { First, Best };

/// The buffers with sizes rounded up to the alignment, so that every offset a
/// heuristic can choose is a multiple of it.
struct Problem {
  std::vector<ArenaBuffer> buffers;
  std::vector<int64_t> load; ///< largest load during each buffer's life
  int64_t lowerBound = 0;
};

Problem makeProblem(std::span<const ArenaBuffer> buffers, int64_t alignment) {
  if (alignment <= 0 || (alignment & (alignment - 1)) != 0)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("alignment {} is not a power of two", alignment));
  Problem problem;
  int64_t sum = 0;
  for (size_t i = 0; i < buffers.size(); ++i) {
    ArenaBuffer buffer = buffers[i];
    if (buffer.numBytes < 0)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("buffer {} has {} bytes", i, buffer.numBytes));
    if (buffer.begin >= buffer.end)
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("buffer {} is live in [{}, {}), which is empty", i,
                             buffer.begin, buffer.end));
    if (__builtin_add_overflow(buffer.numBytes, alignment - 1,
                               &buffer.numBytes) ||
        __builtin_add_overflow(sum, buffer.numBytes, &sum))
      throwError(ErrorCode::InvalidArgument,
                 "the buffers' sizes add up to more than 64 bits hold");
    buffer.numBytes &= ~(alignment - 1);
    problem.buffers.push_back(buffer);
  }

  // Sweep over the steps at which a life begins or ends; ends come first, since
  // ranges are half-open.
  std::vector<int64_t> steps;
  for (const ArenaBuffer &buffer : problem.buffers) {
    steps.push_back(buffer.begin);
    steps.push_back(buffer.end);
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  auto position = [&](int64_t step) {
    return std::lower_bound(steps.begin(), steps.end(), step) - steps.begin();
  };
  std::vector<int64_t> loadAt(steps.size() + 1, 0);
  for (const ArenaBuffer &buffer : problem.buffers) {
    loadAt[static_cast<size_t>(position(buffer.begin))] += buffer.numBytes;
    loadAt[static_cast<size_t>(position(buffer.end))] -= buffer.numBytes;
  }
  std::partial_sum(loadAt.begin(), loadAt.end(), loadAt.begin());
  for (const ArenaBuffer &buffer : problem.buffers) {
    int64_t load = *std::max_element(loadAt.begin() + position(buffer.begin),
                                     loadAt.begin() + position(buffer.end));
    problem.load.push_back(load);
    problem.lowerBound = std::max(problem.lowerBound, load);
  }
  return problem;
}

/// Places the buffers one after the other; returns the size of the arena.
int64_t place(const Problem &problem, std::span<const size_t> order, Fit fit,
              std::vector<int64_t> &offsets) {
  std::vector<size_t> placed; // by offset
  placed.reserve(order.size());
  int64_t arenaBytes = 0;
  for (size_t index : order) {
    const ArenaBuffer &buffer = problem.buffers[index];
    int64_t top = 0; // end of the overlapping buffers below
    int64_t bestOffset = -1, bestGap = 0;
    for (size_t other : placed) {
      const ArenaBuffer &neighbour = problem.buffers[other];
      if (neighbour.end <= buffer.begin || buffer.end <= neighbour.begin)
        continue;
      int64_t gap = offsets[other] - top;
      if (gap >= buffer.numBytes && (bestOffset < 0 || gap < bestGap)) {
        bestOffset = top;
        bestGap = gap;
        if (fit == Fit::First)
          break;
      }
      top = std::max(top, offsets[other] + neighbour.numBytes);
    }
    int64_t offset = bestOffset < 0 ? top : bestOffset;
    offsets[index] = offset;
    arenaBytes = std::max(arenaBytes, offset + buffer.numBytes);
    placed.insert(std::upper_bound(placed.begin(), placed.end(), offset,
                                   [&](int64_t value, size_t other) {
                                     return value < offsets[other];
                                   }),
                  index);
  }
  return arenaBytes;
}

} // namespace

Result<ArenaPlan> planArena(std::span<const ArenaBuffer> buffers,
                            int64_t alignment) {
  return catchErrors<Result<ArenaPlan>>([&]() -> Result<ArenaPlan> {
    Problem problem = makeProblem(buffers, alignment);
    auto size = [&](size_t i) { return problem.buffers[i].numBytes; };
    auto begin = [&](size_t i) { return problem.buffers[i].begin; };
    auto life = [&](size_t i) {
      return problem.buffers[i].end - problem.buffers[i].begin;
    };
    // A key that is larger comes first; ties keep the caller's order.
    const std::function<std::pair<double, double>(size_t)> orders[] = {
        [&](size_t i) { return std::pair<double, double>(size(i), life(i)); },
        [&](size_t i) {
          return std::pair<double, double>(double(size(i)) * life(i), size(i));
        },
        [&](size_t i) {
          return std::pair<double, double>(problem.load[i], size(i));
        },
        [&](size_t i) { return std::pair<double, double>(life(i), size(i)); },
        [&](size_t i) { return std::pair<double, double>(-begin(i), size(i)); },
    };

    ArenaPlan plan;
    plan.lowerBound = problem.lowerBound;
    plan.arenaBytes = INT64_MAX;
    std::vector<size_t> order(buffers.size());
    std::vector<int64_t> offsets(buffers.size());
    for (const auto &key : orders) {
      std::iota(order.begin(), order.end(), size_t{0});
      std::stable_sort(order.begin(), order.end(),
                       [&](size_t a, size_t b) { return key(a) > key(b); });
      for (Fit fit : {Fit::Best, Fit::First}) {
        int64_t arenaBytes = place(problem, order, fit, offsets);
        if (arenaBytes < plan.arenaBytes) {
          plan.arenaBytes = arenaBytes;
          plan.offsets = offsets;
        }
        if (plan.arenaBytes == plan.lowerBound)
          return plan;
      }
    }
    return plan;
  });
}

} // namespace gcompile
