//===- WorkerProcess.h - a gcompile-nvrtc-worker of ours ------------------===//
#pragma once
#include "WorkerProtocol.h"

#include <memory>
#include <string>
#include <sys/types.h>

namespace gcompile::cuda {

/// A running worker; ends with this object. Not thread-safe.
class WorkerProcess {
public:
  /// Starts the program `path`, which must use the NVRTC of `version`. Null,
  /// and why in `problem`, if it does not start so.
  static std::unique_ptr<WorkerProcess> start(const std::string &path,
                                              const std::string &version,
                                              std::string &problem);
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess &) = delete;
  WorkerProcess &operator=(const WorkerProcess &) = delete;

  /// An outcome with a problem where the worker dies over it; it is then of no
  /// more use.
  NvrtcOutcome compile(const CompileRequest &request);
  bool isAlive() const { return alive; }

private:
  WorkerProcess(pid_t process, int socket) : process(process), socket(socket) {}

  const pid_t process;
  const int socket;
  bool alive = true;
};

/// The worker beside the running program; empty if there is none.
std::string findWorker();

} // namespace gcompile::cuda
