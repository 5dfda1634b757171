//===- Sorting.h - what sort and top_k have in common ---------------------===//
#pragma once
#include "GeneratedRoutine.h"

namespace gcompile::cuda {

/// The first `count` elements of each line in order, with their positions.
struct SortCall {
  const plan::LibraryCall &call;
  DType dtype; ///< whose order the elements have
  std::vector<StridedDim> lines;
  int64_t numLines, length, count;
  std::vector<int64_t> strides; ///< along a line, of input, values, indices
  bool descending;

  int64_t keyBytes() const { return byteWidth(dtype) == 8 ? 8 : 4; }
  /// The longest line that is sorted in shared memory.
  int64_t maxShared() const { return keyBytes() == 8 ? 2048 : 4096; }
};

/// Checks the operands of a call whose outputs have `count` elements a line.
SortCall readSortCall(const plan::LibraryCall &call, int64_t count,
                      bool descending);

/// Types, sizes and where the lines are, as kernels begin.
std::string sortPrologue(const SortCall &sort);
/// Source that writes the results of sorted `keys` and `indices` in shared
/// memory, by a block of `threads`.
std::string storeSorted(const SortCall &sort, int64_t threads);
/// Threads that sort `items` in shared memory.
int64_t sortThreads(int64_t items);

/// Sorts whole lines, of which the first `count` elements are kept.
std::unique_ptr<Routine> sortLines(const SortCall &sort,
                                   const RoutineEnvironment &environment);

} // namespace gcompile::cuda
