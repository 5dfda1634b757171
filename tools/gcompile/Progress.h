//===- Progress.h - what stage a compilation is in ------------------------===//
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace gcompile::tool {

/// Times the stages of a compilation, and shows on stderr the stage that has
/// taken longer than a second. On a terminal the line is rewritten in place.
class Progress {
public:
  Progress();
  ~Progress();
  /// Ends the current stage and begins the next; "" ends only.
  void stage(std::string name);
  /// (stage, seconds) in order; a stage entered twice is counted together.
  std::vector<std::pair<std::string, double>> times() const;

private:
  void watch();

  using Clock = std::chrono::steady_clock;
  mutable std::mutex mutex;
  std::condition_variable wake;
  std::string current;
  Clock::time_point begin;
  std::vector<std::pair<std::string, double>> finished;
  bool stopping = false;
  bool shown = false;
  bool terminal;
  std::thread watcher;
};

} // namespace gcompile::tool
