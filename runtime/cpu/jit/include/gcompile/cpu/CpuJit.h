//===- CpuJit.h - LLVM IR to functions of this process --------------------===//
#pragma once
#include "gcompile/cpu/KernelCompiler.h"

#include <memory>
#include <string>

namespace gcompile::cpu {

struct CpuJitOptions {
  /// Where compiled objects are kept between processes: absent for
  /// $GCOMPILE_CACHE_DIR/cpu, or $XDG_CACHE_HOME/gcompile/cpu, or
  /// ~/.cache/gcompile/cpu; empty for nowhere.
  std::optional<std::string> cacheDirectory;
  /// Bits of the vectors that loops are given, where the processor has them. On
  /// a Zen 4, which has 512, exp and erf run 1.4 to 1.8 times as fast at 256,
  /// plain arithmetic alike, tanh and sums within the cache 0.6 to 0.7 times;
  /// older processors with AVX-512 also lower their clock for 512.
  int vectorBits = 256;
};

/// What a CpuJit has done so far.
struct CpuJitStatistics {
  int64_t numCompiled = 0;   ///< from LLVM IR
  int64_t numFromDisk = 0;   ///< objects that a process had left behind
  int64_t numShared = 0;     ///< kernels this one had already
  int64_t numCorrupt = 0;    ///< objects on disk that were not whole
  double compileSeconds = 0; ///< summed over threads
  std::string
      cacheProblem; ///< why objects could not be kept; empty if they were
};

/// Compiles LLVM IR text for the processor it runs on, with vectorisation of
/// loops and straight-line code, and vector versions of the mathematical
/// functions where the C library has them (they are within 4 units in the last
/// place). Objects are kept on disk under a hash of all that determines them;
/// any number of processes may share the folder.
class CpuJit : public KernelCompiler {
public:
  static Result<std::shared_ptr<CpuJit>> create(CpuJitOptions options = {});
  ~CpuJit() override;

  Result<std::vector<KernelFunction>>
  compile(std::span<const plan::Kernel> kernels, ThreadPool &pool) override;

  CpuJitStatistics statistics() const;
  /// The folder of kept objects; empty if there is none.
  const std::string &cacheDirectory() const;

private:
  CpuJit();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile::cpu
