#include "WorkerProcess.h"

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fmt/format.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace gcompile::cuda {

std::unique_ptr<WorkerProcess> WorkerProcess::start(const std::string &path,
                                                    const std::string &version,
                                                    std::string &problem) {
  int sockets[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    problem = fmt::format("no socket for '{}': {}", path, strerror(errno));
    return nullptr;
  }
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, sockets[1], STDIN_FILENO);
  char *arguments[] = {const_cast<char *>(path.c_str()), nullptr};
  pid_t process = 0;
  const int error = ::posix_spawn(&process, path.c_str(), &actions, nullptr,
                                  arguments, environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(sockets[1]);
  if (error != 0) {
    ::close(sockets[0]);
    problem = fmt::format("cannot start '{}': {}", path, strerror(error));
    return nullptr;
  }
  std::unique_ptr<WorkerProcess> worker(new WorkerProcess(process, sockets[0]));
  // Its greeting decides whether it is kept.
  std::optional<Message> greeting = receiveMessage(worker->socket);
  if (greeting == Message{kWorkerGreeting, version})
    return worker;
  problem = fmt::format("'{}' is of no use: {}", path,
                        !greeting ? "it ended"
                        : greeting->size() == 1
                            ? greeting->front()
                            : "it is of another version, or uses another "
                              "NVRTC");
  return nullptr;
}

WorkerProcess::~WorkerProcess() {
  ::close(socket); // which it takes for the end
  while (::waitpid(process, nullptr, 0) < 0 && errno == EINTR) {
  }
}

NvrtcOutcome WorkerProcess::compile(const CompileRequest &request) {
  std::optional<Message> answer;
  if (sendMessage(socket, encode(request)))
    answer = receiveMessage(socket);
  if (answer && answer->size() == 3)
    return {std::move((*answer)[0]), std::move((*answer)[1]),
            std::move((*answer)[2])};
  alive = false;
  return {{}, "the process that compiled it ended", {}};
}

std::string findWorker() {
  std::error_code error;
  std::filesystem::path program =
      std::filesystem::read_symlink("/proc/self/exe", error);
  std::filesystem::path worker =
      program.parent_path() / "gcompile-nvrtc-worker";
  if (error || ::access(worker.c_str(), X_OK) != 0)
    return {};
  return worker.string();
}

} // namespace gcompile::cuda
