//===- CallReading.h - operands and attributes of library calls -----------===//
// For the routines of every device. What they report is a malformed call: an
// internal error.
#pragma once
#include "gcompile/plan/Plan.h"

#include <cstddef>
#include <string_view>

namespace gcompile::plan {

/// Throws an internal error about a malformed call.
[[noreturn]] void failCall(const LibraryCall &call, std::string_view problem);
/// Throws unless the call has so many operands.
void expectOperands(const LibraryCall &call, size_t minInputs, size_t maxInputs,
                    size_t minOutputs, size_t maxOutputs);

int64_t integerAttribute(const LibraryCall &call, const char *name);
bool boolAttribute(const LibraryCall &call, const char *name);
double numberAttribute(const LibraryCall &call, const char *name);
std::string stringAttribute(const LibraryCall &call, const char *name);
std::vector<int64_t> integersAttribute(const LibraryCall &call,
                                       const char *name, size_t count);

/// The first element of a view.
inline std::byte *addressOf(const TensorRef &ref, void *const *buffers) {
  return static_cast<std::byte *>(buffers[ref.buffer]) +
         ref.offset * byteWidth(ref.dtype);
}

/// The lines of a view along one dimension, in row-major order of the others.
class Lines {
public:
  Lines(const TensorRef &ref, size_t dim);

  int64_t count() const { return numLines; }
  /// Elements from the view's first to the first of a line.
  int64_t offset(int64_t line) const;

  int64_t length, stride;

private:
  std::vector<int64_t> sizes, strides; ///< of the other dimensions
  int64_t numLines = 1;
};

/// The dimension named by the attribute "dim".
size_t dimAttribute(const LibraryCall &call);

/// The type whose order the elements have: unsigned where "is_unsigned" says
/// so, since the program's integers have no sign of their own.
DType orderedType(const LibraryCall &call);

int64_t numElements(const TensorRef &ref);

} // namespace gcompile::plan
