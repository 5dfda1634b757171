#include "Progress.h"

#include <algorithm>
#include <fmt/format.h>
#include <unistd.h>

namespace gcompile::tool {

Progress::Progress()
    : terminal(isatty(STDERR_FILENO) != 0), watcher([this] { watch(); }) {}

Progress::~Progress() {
  stage("");
  {
    std::lock_guard lock(mutex);
    stopping = true;
  }
  wake.notify_all();
  watcher.join();
}

void Progress::stage(std::string name) {
  std::lock_guard lock(mutex);
  auto now = Clock::now();
  if (!current.empty()) {
    double seconds = std::chrono::duration<double>(now - begin).count();
    auto same =
        std::find_if(finished.begin(), finished.end(),
                     [&](auto &entry) { return entry.first == current; });
    if (same == finished.end())
      finished.emplace_back(current, seconds);
    else
      same->second += seconds;
    if (shown && terminal)
      fmt::print(stderr, "\r\033[K");
  }
  shown = false;
  current = std::move(name);
  begin = now;
}

std::vector<std::pair<std::string, double>> Progress::times() const {
  std::lock_guard lock(mutex);
  return finished;
}

void Progress::watch() {
  std::unique_lock lock(mutex);
  while (!stopping) {
    wake.wait_for(lock, std::chrono::milliseconds(250));
    if (current.empty() || stopping)
      continue;
    double seconds =
        std::chrono::duration<double>(Clock::now() - begin).count();
    if (seconds < 1)
      continue;
    if (terminal)
      fmt::print(stderr, "\r\033[K{} … {:.0f} s", current, seconds);
    else if (!shown)
      fmt::print(stderr, "{} …\n", current);
    shown = true;
    std::fflush(stderr);
  }
}

} // namespace gcompile::tool
