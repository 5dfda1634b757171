#include "Summary.h"

#include <cmath>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::tool {
namespace {

std::string bytes(int64_t count) {
  const char *units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(count);
  int unit = 0;
  while (value >= 1024 && unit < 4) {
    value /= 1024;
    ++unit;
  }
  return unit == 0 ? fmt::format("{} B", count)
                   : fmt::format("{:.1f} {}", value, units[unit]);
}

std::string seconds(double value) {
  if (value < 1e-3)
    return fmt::format("{:.0f} µs", value * 1e6);
  if (value < 1)
    return fmt::format("{:.3g} ms", value * 1e3);
  return fmt::format("{:.2f} s", value);
}

std::string plural(int64_t count, const char *noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

void line(std::string &text, const char *label, const std::string &value) {
  text += fmt::format("  {:<9}{}\n", label, value);
}

/// Floors of a plan's steps, summed.
struct Floor {
  int64_t bytes = 0, flops = 0;
};

Floor sumFloors(const std::vector<plan::Step> &steps) {
  Floor floor;
  for (const plan::Step &step : steps) {
    floor.bytes += step.floorBytes;
    floor.flops += step.floorFlops;
    for (const auto &branch : step.branches) {
      Floor inner = sumFloors(branch);
      floor.bytes += inner.bytes;
      floor.flops += inner.flops;
    }
  }
  return floor;
}

} // namespace

std::string renderSummary(const Summary &s) {
  std::string text =
      fmt::format("{}  ({}{}{})\n", s.model, s.format,
                  s.torchVersion.empty() ? "" : ", torch ", s.torchVersion);
  std::string device = s.device;
  if (s.threads > 0)
    device += ", " + plural(s.threads, "thread");
  line(text, "device", fmt::format("{}, mode {}", device, s.mode));
  if (!s.libraryProblems.empty())
    line(text, "missing", s.libraryProblems);
  line(text, "kernels",
       fmt::format("{} in the graph, {} after legalisation, {} after fusion "
                   "({} with a library call)",
                   plural(s.numNodes, "node"),
                   plural(s.numOperations, "operation"),
                   plural(s.kernels.steps, "step"), s.kernels.anchored));
  if (s.plan) {
    const plan::Entry &forward = s.plan->forward;
    std::string arena = bytes(forward.arenaBytes);
    if (forward.arenaLowerBound > 0)
      arena += fmt::format(", {:.3f} of the lower bound {}",
                           static_cast<double>(forward.arenaBytes) /
                               static_cast<double>(forward.arenaLowerBound),
                           bytes(forward.arenaLowerBound));
    line(text, "arena", arena);
  }
  if (s.hasRun) {
    std::string weights = bytes(s.weightBytes);
    if (s.kernels.prepare > 0)
      weights +=
          fmt::format(", {} prepared in {}", bytes(s.plan->preparedBytes),
                      plural(s.kernels.prepare, "step"));
    line(text, "weights", weights);
  }
  std::vector<std::string> stages;
  for (const auto &[name, time] : s.stages)
    stages.push_back(fmt::format("{} {}", name, seconds(time)));
  line(text, "compile",
       fmt::format("{}: {}", seconds(s.compileSeconds),
                   fmt::join(stages, ", ")));
  if (s.kernelsCompiled + s.kernelsCached > 0)
    line(text, "",
         fmt::format("{} compiled, {} from the cache",
                     plural(s.kernelsCompiled, "kernel"), s.kernelsCached));
  if (s.hasRun) {
    Floor floor = sumFloors(s.plan->forward.steps);
    line(text, "inputs", s.inputsFrom);
    line(text, "run",
         fmt::format("{} (median of {}, first {}); floor {}: {} moved, "
                     "{:.3g} GFLOP",
                     seconds(s.medianRunSeconds), s.numRuns,
                     seconds(s.firstRunSeconds), seconds(s.floorSeconds),
                     bytes(floor.bytes),
                     static_cast<double>(floor.flops) * 1e-9));
  } else {
    line(text, "run", "not run: compiled up to its kernels for another target");
  }
  return text;
}

nlohmann::json summaryToJson(const Summary &s) {
  nlohmann::json json{{"model", s.model},
                      {"format", s.format},
                      {"device", s.device},
                      {"missing", s.libraryProblems},
                      {"mode", s.mode},
                      {"nodes", s.numNodes},
                      {"operations", s.numOperations},
                      {"steps", s.kernels.steps},
                      {"library_calls", s.kernels.anchored},
                      {"prepare_steps", s.kernels.prepare},
                      {"compile_seconds", s.compileSeconds}};
  for (const auto &[name, time] : s.stages)
    json["stage_seconds"][name] = time;
  if (s.plan) {
    json["arena_bytes"] = s.plan->forward.arenaBytes;
    json["arena_lower_bound"] = s.plan->forward.arenaLowerBound;
    json["prepared_bytes"] = s.plan->preparedBytes;
  }
  if (s.hasRun) {
    Floor floor = sumFloors(s.plan->forward.steps);
    json["threads"] = s.threads;
    json["weight_bytes"] = s.weightBytes;
    json["kernels_compiled"] = s.kernelsCompiled;
    json["kernels_cached"] = s.kernelsCached;
    json["first_run_seconds"] = s.firstRunSeconds;
    json["median_run_seconds"] = s.medianRunSeconds;
    json["runs"] = s.numRuns;
    json["floor_seconds"] = s.floorSeconds;
    json["floor_bytes"] = floor.bytes;
    json["floor_flops"] = floor.flops;
  }
  return json;
}

static void renderInto(std::string &text, const std::vector<plan::Step> &steps,
                       int depth) {
  for (size_t i = 0; i < steps.size(); ++i) {
    const plan::Step &step = steps[i];
    std::string kind = !step.control.empty() ? step.control
                       : step.library        ? step.library->op
                                             : "loops";
    if (step.library && step.launch)
      kind += " + loops";
    text += fmt::format("{:>{}}{:4} {:<24} {:<40} {}\n", "", depth * 2, i, kind,
                        step.name, step.reason);
    for (const auto &branch : step.branches)
      renderInto(text, branch, depth + 1);
  }
}

std::string renderSteps(const plan::Plan &plan) {
  std::string text;
  if (!plan.prepare.steps.empty()) {
    text += "prepare, once a set of weights:\n";
    renderInto(text, plan.prepare.steps, 1);
  }
  text += "forward:\n";
  renderInto(text, plan.forward.steps, 1);
  return text;
}

} // namespace gcompile::tool
