//===- WorkerProtocol.h - messages to and from gcompile-nvrtc-worker ------===//
// A message is a list of strings, over a socket. On starting, the worker sends
// kWorkerGreeting and its Nvrtc::version(), or nothing but what is missing.
// Then, for each request
//   source, name, number of options, options…, headers' names and texts…
// it answers with an NvrtcOutcome: cubin, problem, log. It ends when the
// socket is closed.
#pragma once
#include "Nvrtc.h"

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace gcompile::cuda {

inline constexpr const char *kWorkerGreeting = "gcompile NVRTC worker 1";

using Message = std::vector<std::string>;

/// False if the other side is gone.
bool sendMessage(int socket, const Message &message);
/// Nothing at the end of the stream, or where what comes is no message.
std::optional<Message> receiveMessage(int socket);

/// A compilation to be done by a worker.
struct CompileRequest {
  std::string source, name;
  std::vector<std::string> options;
  HeaderTexts headers;
};

Message encode(const CompileRequest &request);
/// Nothing if the message is no request.
std::optional<CompileRequest> decodeRequest(const Message &message);

} // namespace gcompile::cuda
