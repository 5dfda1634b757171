//===- Schedule.h - how a loop nest is spread over a GPU ------------------===//
#pragma once
#include "../loops/KernelParts.h"

namespace gcompile::cuda {

/// The choices that do not change what a kernel computes.
struct Schedule {
  enum class Shape {
    Pointwise, ///< a thread computes neighbours along the last parallel loop
    Rows,      ///< threads share a reduction that runs along memory
    Columns,   ///< parallel iterations run along memory, one a thread
  };
  Shape shape = Shape::Pointwise;
  /// Neighbours that a thread handles at once: along the last parallel loop in
  /// Pointwise, along the last reduction loop in Rows, else 1.
  int64_t vector = 1;
  /// Threads that share a parallel iteration's reduction: a power of two.
  int64_t threads = 1;
  /// Parallel iterations of a block (Pointwise: groups of neighbours).
  int64_t iterations = 256;
  /// Blocks that share a reduction; the last to arrive finishes it.
  int64_t splits = 1;
  /// Elements that later stages need too stay in registers.
  bool keeps = false;

  int64_t blockThreads() const { return threads * iterations; }
};

/// In words, for the source's comment.
std::string toString(const Schedule &schedule);

/// Bytes that an element of `tensor` takes in memory.
int64_t widthOf(mlir::Value tensor);

/// A schedule by an analytic model for GPUs of sm_80 to sm_100: enough bytes in
/// flight first, then few idle threads, then few registers.
Schedule chooseSchedule(const loops::LoopPart &part);

/// True where the `vector` elements that begin at a multiple of `vector` along
/// loop `lane` are neighbours in memory, the first at a multiple of `vector`.
bool isVectorAccess(mlir::AffineExpr position, unsigned lane, int64_t vector,
                    llvm::ArrayRef<int64_t> loopSizes);

} // namespace gcompile::cuda
