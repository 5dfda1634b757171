//===- RoutineSupport.h - what the library routines have in common --------===//
#pragma once
#include "gcompile/cpu/Routine.h"

#include <string_view>

namespace gcompile::cpu {

// One for each kind of call. They throw ErrorExceptions.
std::unique_ptr<Routine> bindAttention(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindConvolution(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindCopy(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindMatmul(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindRandom(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindScan(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindSort(const plan::LibraryCall &call);
std::unique_ptr<Routine> bindTopK(const plan::LibraryCall &call);

/// Throws an internal error about a malformed call.
[[noreturn]] void failCall(const plan::LibraryCall &call,
                           std::string_view problem);
/// Throws that the call cannot be done for elements of this type.
[[noreturn]] void failDType(const plan::LibraryCall &call, DType dtype);

/// Throws unless the call has so many operands.
void expectOperands(const plan::LibraryCall &call, size_t minInputs,
                    size_t maxInputs, size_t minOutputs, size_t maxOutputs);

int64_t integerAttribute(const plan::LibraryCall &call, const char *name);
bool boolAttribute(const plan::LibraryCall &call, const char *name);
double numberAttribute(const plan::LibraryCall &call, const char *name);
std::string stringAttribute(const plan::LibraryCall &call, const char *name);
std::vector<int64_t> integersAttribute(const plan::LibraryCall &call,
                                       const char *name, size_t count);

/// The first element of a view.
inline std::byte *addressOf(const plan::TensorRef &ref, void *const *buffers) {
  return static_cast<std::byte *>(buffers[ref.buffer]) +
         ref.offset * byteWidth(ref.dtype);
}

/// Rounds the size of a thread's workspace so that threads share no cache line.
inline int64_t alignToCacheLine(int64_t bytes) {
  return (bytes + 63) / 64 * 64;
}

/// The lines of a view along one dimension, in row-major order of the others.
class Lines {
public:
  Lines(const plan::TensorRef &ref, size_t dim);

  int64_t count() const { return numLines; }
  /// Elements from the view's first to the first of a line.
  int64_t offset(int64_t line) const;

  int64_t length, stride;

private:
  std::vector<int64_t> sizes, strides; ///< of the other dimensions
  int64_t numLines = 1;
};

/// The dimension named by the attribute "dim".
size_t dimAttribute(const plan::LibraryCall &call);

/// The type whose order the elements have: unsigned where "is_unsigned" says
/// so, since the program's integers have no sign of their own.
DType orderedType(const plan::LibraryCall &call);

int64_t numElements(const plan::TensorRef &ref);

} // namespace gcompile::cpu
