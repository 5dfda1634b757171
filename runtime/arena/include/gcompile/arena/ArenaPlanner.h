//===- ArenaPlanner.h - offsets in one allocation for all buffers ---------===//
// A pure algorithm over live ranges: it knows no device, plan or IR.
#pragma once
#include "gcompile/base/Error.h"

#include <cstdint>
#include <span>
#include <vector>

namespace gcompile {

/// A buffer that is live in [begin, end): from the step that first writes it to
/// one past the step that last reads it.
struct ArenaBuffer {
  int64_t begin = 0, end = 0;
  int64_t numBytes = 0;
};

struct ArenaPlan {
  std::vector<int64_t> offsets; ///< bytes, one for each buffer
  int64_t arenaBytes = 0;
  /// No plan is smaller: the largest sum of live bytes at one step. Sizes count
  /// rounded up to the alignment, as they do in arenaBytes.
  int64_t lowerBound = 0;
};

/// Places the buffers so that no two that are live at the same step overlap,
/// each at a multiple of `alignment` bytes (a power of two), in as few bytes as
/// a portfolio of greedy heuristics finds. Deterministic. Each heuristic takes
/// time quadratic in the number of buffers (a tenth of a second for 20,000); it
/// stops at the first that meets the lower bound. An error where a live range
/// is empty, a size negative, or the sizes add up to more than 64 bits hold.
Result<ArenaPlan> planArena(std::span<const ArenaBuffer> buffers,
                            int64_t alignment);

} // namespace gcompile
