//===- CompileService.h - CUDA C++ to machine code ------------------------===//
#pragma once
#include "gcompile/base/Error.h"
#include "gcompile/cuda/Kernels.h"

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcompile::cuda {

struct CompileOptions {
  /// Where machine code is kept between processes: absent for
  /// $GCOMPILE_CACHE_DIR/cubin, or $XDG_CACHE_HOME/gcompile/cubin, or
  /// ~/.cache/gcompile/cubin; empty for nowhere.
  std::optional<std::string> cacheDirectory;
  /// Programs compiled at once, one of them in this process; 0: as many as
  /// there are processors, at most 16.
  int numProcesses = 0;
  /// The gcompile-nvrtc-worker to start for the others; absent for the one
  /// beside the running program. Without one, all is compiled in this process,
  /// one program after another: correct, but slower.
  std::optional<std::string> worker;
};

/// What a CompileService has done so far. Counts kernels, save where it says
/// otherwise.
struct CompileStatistics {
  int64_t numCompiled = 0;
  int64_t numFromDisk = 0;
  int64_t numCorrupt = 0;  ///< on disk, but not whole: compiled again
  int64_t numPrograms = 0; ///< compilations that they took
  /// Programs that failed for one of their kernels; each was then compiled by
  /// itself.
  int64_t numDivided = 0;
  int64_t numInWorkers = 0;  ///< programs compiled by other processes
  double compileSeconds = 0; ///< waited for; not summed over processes
  std::string cacheProblem;  ///< why code could not be kept; empty if it was
  std::string workerProblem; ///< why there were no workers; empty if unneeded
};

/// Compiles kernels for a GPU, which need not be here. Kernels are put together
/// in programs, and programs are compiled by several processes, since that is
/// what makes NVRTC fast. The code of each is kept on disk under a hash of its
/// source, the device headers, the architecture, the options and NVRTC; any
/// number of processes may share the folder. Thread-safe.
class CompileService {
public:
  /// An error where NVRTC is not installed.
  static Result<std::shared_ptr<CompileService>>
  create(CompileOptions options = {});
  ~CompileService();

  /// Machine code for each request, in order; kernels compiled together share
  /// one. `architecture` as of DeviceInfo::architecture(). The error is of the
  /// first kernel that does not compile, with NVRTC's messages, and names the
  /// others.
  Result<std::vector<std::shared_ptr<const std::string>>>
  compile(std::span<const KernelRequests::Request> requests,
          const std::string &architecture);

  CompileStatistics statistics() const;
  /// The folder of kept code; empty if there is none.
  std::string cacheDirectory() const;

private:
  CompileService();
  struct Impl;
  std::unique_ptr<Impl> impl;
};

} // namespace gcompile::cuda
