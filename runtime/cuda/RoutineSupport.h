//===- RoutineSupport.h - what the library routines have in common --------===//
#pragma once
#include "gcompile/cuda/Libraries.h"
#include "gcompile/cuda/Routine.h"
#include "gcompile/plan/CallReading.h"

namespace gcompile::cuda {

// One for each kind of call. They throw ErrorExceptions.
std::unique_ptr<Routine> bindAttention(const plan::LibraryCall &call,
                                       const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindConvolution(const plan::LibraryCall &call,
                                         const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindCopy(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindMatmul(const plan::LibraryCall &call,
                                    const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindRandom(const plan::LibraryCall &call,
                                    const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindScan(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindSort(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment);
std::unique_ptr<Routine> bindTopK(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment);

/// Throws that the call cannot be done for elements of this type.
[[noreturn]] void failDType(const plan::LibraryCall &call, DType dtype);

} // namespace gcompile::cuda
