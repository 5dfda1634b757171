//===- RoutineSupport.h - what the library routines have in common --------===//
#pragma once
#include "gcompile/cpu/Routine.h"
#include "gcompile/plan/CallReading.h"

namespace gcompile::cpu {

using plan::Lines;

// One for each kind of call. They throw ErrorExceptions.
std::unique_ptr<Routine> bindAttention(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindConvolution(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindCopy(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindMatmul(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindRandom(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindScan(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindSort(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindTopK(const plan::LibraryCall &call);

/// Throws that the call cannot be done for elements of this type.
[[noreturn]] void failDType(const plan::LibraryCall &call, DType dtype);

/// Rounds the size of a thread's workspace so that threads share no cache line.
inline int64_t alignToCacheLine(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

} // namespace gcompile::cpu
