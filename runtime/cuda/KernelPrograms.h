//===- KernelPrograms.h - several kernels, one compilation ----------------===//
// Most of the time of compiling a kernel goes into starting: sixteen in one
// program take a quarter of the time of sixteen programs.
#pragma once
#include "gcompile/cuda/Kernels.h"

#include <span>
#include <string>
#include <vector>

namespace gcompile::cuda {

/// Kernels that are compiled together, by their position among the requests,
/// ascending.
struct KernelProgram {
  std::vector<size_t> kernels;
};

/// Divides kernels into at least `numPrograms` programs (or one a kernel) of
/// about the same work. Not put together with others are sources with
/// directives other than #include and #pragma, since those would change the
/// sources after them; nor are two that give one symbol or one dynamic shared
/// array (C linkage, hence one for a program) different meanings.
std::vector<KernelProgram>
divideKernels(std::span<const KernelRequests::Request> requests,
              std::span<const size_t> kernels, size_t numPrograms);

/// The text of a program. Each source is in a namespace of its own, and its
/// lines count from 1 in messages about the file "SYMBOL.cu".
std::string programText(std::span<const KernelRequests::Request> requests,
                        const KernelProgram &program);

} // namespace gcompile::cuda
