#include "WorkerProtocol.h"

#include <cerrno>
#include <charconv>
#include <cstdint>
#include <sys/socket.h>

namespace gcompile::cuda {
namespace {

/// More than any program or cubin has: a length beyond it is no length.
constexpr uint64_t kMaxBytes = uint64_t{1} << 30;
constexpr uint64_t kMaxStrings = 1 << 16;

bool sendBytes(int socket, const char *bytes, size_t count) {
  while (count > 0) {
    // No signal where the other side has died.
    ssize_t sent = ::send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR)
      continue;
    if (sent <= 0)
      return false;
    bytes += sent;
    count -= static_cast<size_t>(sent);
  }
  return true;
}

bool receiveBytes(int socket, char *bytes, size_t count) {
  while (count > 0) {
    ssize_t received = ::recv(socket, bytes, count, 0);
    if (received < 0 && errno == EINTR)
      continue;
    if (received <= 0)
      return false;
    bytes += received;
    count -= static_cast<size_t>(received);
  }
  return true;
}

bool receiveCount(int socket, uint64_t &count, uint64_t limit) {
  return receiveBytes(socket, reinterpret_cast<char *>(&count),
                      sizeof(count)) &&
         count <= limit;
}

void append(std::string &bytes, uint64_t count) {
  bytes.append(reinterpret_cast<const char *>(&count), sizeof(count));
}

} // namespace

bool sendMessage(int socket, const Message &message) {
  std::string bytes;
  append(bytes, message.size());
  for (const std::string &text : message) {
    append(bytes, text.size());
    bytes += text;
  }
  return sendBytes(socket, bytes.data(), bytes.size());
}

std::optional<Message> receiveMessage(int socket) {
  uint64_t count = 0;
  if (!receiveCount(socket, count, kMaxStrings))
    return std::nullopt;
  Message message(count);
  for (std::string &text : message) {
    if (!receiveCount(socket, count, kMaxBytes))
      return std::nullopt;
    text.resize(count);
    if (!receiveBytes(socket, text.data(), text.size()))
      return std::nullopt;
  }
  return message;
}

Message encode(const CompileRequest &request) {
  Message message = {request.source, request.name,
                     std::to_string(request.options.size())};
  message.insert(message.end(), request.options.begin(), request.options.end());
  for (const auto &[name, text] : request.headers) {
    message.push_back(name);
    message.push_back(text);
  }
  return message;
}

std::optional<CompileRequest> decodeRequest(const Message &message) {
  constexpr size_t first = 3; // of the options
  size_t numOptions = 0;
  if (message.size() < first)
    return std::nullopt;
  const std::string &count = message[2];
  auto [end, error] =
      std::from_chars(count.data(), count.data() + count.size(), numOptions);
  if (error != std::errc() || end != count.data() + count.size() ||
      numOptions > message.size() - first ||
      (message.size() - first - numOptions) % 2 != 0)
    return std::nullopt;
  CompileRequest request{message[0], message[1], {}, {}};
  size_t at = first;
  for (; at < first + numOptions; ++at)
    request.options.push_back(message[at]);
  for (; at < message.size(); at += 2)
    request.headers.emplace_back(message[at], message[at + 1]);
  return request;
}

} // namespace gcompile::cuda
