//===- SoftFloat.h - half-precision conversions that LLVM may call --------===//
#pragma once
#include <span>

namespace gcompile::cpu {

struct SoftFloatFunction {
  const char *name;
  void *address;
};

/// Where a processor lacks an instruction, LLVM calls these by name. The C
/// library of the compiler has some of them, depending on its version; ours are
/// there everywhere.
std::span<const SoftFloatFunction> softFloatFunctions();

} // namespace gcompile::cpu
