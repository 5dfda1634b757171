//===- Optimizer.h - LLVM IR text to object code --------------------------===//
#pragma once
#include "gcompile/base/Error.h"

#include <memory>
#include <string>

namespace gcompile::cpu {

/// Compiles for the processor of this machine. Thread-safe: each call has a
/// context and a target machine of its own.
class Optimizer {
public:
  /// `vectorBits` as in CpuJitOptions.
  static Result<std::unique_ptr<Optimizer>> create(int vectorBits);
  ~Optimizer();

  /// The ELF object of an LLVM IR module. `name` is for messages.
  Result<std::string> compile(const std::string &source,
                              const std::string &name) const;

  /// All beside the source that determines the object, as text to be hashed.
  std::string configuration() const;

private:
  Optimizer();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile::cpu
