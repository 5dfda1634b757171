//===- FusionStrategy.cpp - the default strategy, and the registry --------===//
// Time by a roofline: a launch, then the longer of moving the bytes and doing
// the work. The constants are those of a large GPU; on a CPU bytes and work
// cost more in much the same proportion, so the answers are the same.
#include "gcompile/passes/FusionStrategy.h"

#include <algorithm>
#include <map>
#include <mutex>

using namespace llvm;

namespace gcompile {
namespace {

constexpr double kLaunchMicroseconds = 1;
constexpr double kBytesPerMicrosecond = 4e6;
constexpr double kWorkPerMicrosecond = 3e7;
/// Repeating costly work is only right where it is little: the estimate above
/// is for work that overlaps with moving bytes, this one for work that does
/// not.
constexpr double kRepeatedWorkPerMicrosecond = 2e6;
/// Independent iterations that keep the machine busy.
constexpr double kFullParallelism = 128;

double microseconds(const KernelCost &cost) {
  double bytes = cost.bytesRead + cost.bytesWritten;
  double work = cost.cheapWork + cost.costlyWork;
  // A single pass can be split over the machine whatever its loops are; later
  // stages wait for the one before within an iteration of the parallel loops.
  double busy =
      cost.stages > 1 ? std::min(1.0, cost.parallel / kFullParallelism) : 1.0;
  return kLaunchMicroseconds +
         std::max(bytes / kBytesPerMicrosecond, work / kWorkPerMicrosecond) /
             busy;
}

class DefaultStrategy : public FusionStrategy {
  FusionDecision decide(const FusionCandidate &candidate) override {
    double saved = 0, repeated = 0;
    int64_t bytes = 0;
    for (const KernelCost &cost : candidate.before) {
      saved += microseconds(cost);
      repeated -= cost.costlyWork;
      bytes += cost.bytesRead + cost.bytesWritten;
    }
    for (const KernelCost &cost : candidate.after) {
      saved -= microseconds(cost);
      repeated += cost.costlyWork;
      bytes -= cost.bytesRead + cost.bytesWritten;
    }
    repeated = std::max(repeated, 0.0);
    saved -= repeated / kRepeatedWorkPerMicrosecond;
    FusionDecision decision;
    decision.savedMicroseconds = saved;
    decision.fuse = saved > 0;
    size_t launches = candidate.before.size() - candidate.after.size();
    decision.reason =
        "saves " + std::to_string(bytes) + " bytes and " +
        (launches == 1 ? "a launch" : std::to_string(launches) + " launches");
    if (repeated > 0)
      decision.reason += ", repeats " +
                         std::to_string(static_cast<int64_t>(repeated)) +
                         " units of costly work";
    if (!decision.fuse)
      decision.reason +=
          repeated > 0 ? "" : ", but leaves too few independent iterations";
    return decision;
  }
};

/// Every operation its own kernel, to compare with.
class NoFusion : public FusionStrategy {
  FusionDecision decide(const FusionCandidate &) override {
    return {false, 0, "fusion is off"};
  }
};

struct Registry {
  std::mutex mutex;
  std::map<std::string, FusionStrategyFactory> factories = {
      {"default", [] { return std::make_unique<DefaultStrategy>(); }},
      {"none", [] { return std::make_unique<NoFusion>(); }},
  };
};

Registry &registry() {
  static Registry instance;
  return instance;
}

} // namespace

void registerFusionStrategy(StringRef name, FusionStrategyFactory factory) {
  std::lock_guard lock(registry().mutex);
  registry().factories[name.str()] = std::move(factory);
}

std::unique_ptr<FusionStrategy> createFusionStrategy(StringRef name) {
  std::lock_guard lock(registry().mutex);
  auto it = registry().factories.find(name.str());
  return it == registry().factories.end() ? nullptr : it->second();
}

std::string fusionStrategyNames() {
  std::lock_guard lock(registry().mutex);
  std::string names;
  for (const auto &[name, factory] : registry().factories)
    names += (names.empty() ? "" : ", ") + name;
  return names;
}

} // namespace gcompile
