//===- NvrtcWorker.cpp - gcompile-nvrtc-worker ----------------------------===//
// Compiles what it is sent over the socket that is its standard input. Started
// by the compile service: NVRTC uses several processors only in several
// processes.
#include "Nvrtc.h"
#include "WorkerProtocol.h"
#include "gcompile/base/Error.h"

#include <unistd.h>

using namespace gcompile;
using namespace gcompile::cuda;

int main() {
  const int socket = STDIN_FILENO;
  auto serve = [&]() -> Status {
    const Nvrtc &nvrtc = Nvrtc::get();
    sendMessage(socket, {kWorkerGreeting, nvrtc.version()});
    while (auto message = receiveMessage(socket)) {
      auto request = decodeRequest(*message);
      if (!request)
        return Error{ErrorCode::InvalidArgument, "not a request", {}, {}};
      NvrtcOutcome outcome = nvrtc.compile(request->source, request->name,
                                           request->headers, request->options);
      sendMessage(socket, {outcome.cubin, outcome.problem, outcome.log});
    }
    return {};
  };
  Status status = catchErrors<Status>(serve);
  if (status.ok())
    return 0;
  sendMessage(socket, {status.error().message});
  return static_cast<int>(status.error().code);
}
