//===- Summary.h - the table printed after a run --------------------------===//
#pragma once
#include "Compiler.h"

#include "gcompile/plan/Plan.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace gcompile::tool {

/// What the table shows; everything a user would otherwise ask for.
struct Summary {
  std::string model, format, torchVersion;
  std::string device;
  std::string mode;
  std::string libraryProblems; ///< see Executable::libraryProblems()
  int threads = 0;
  int64_t numNodes = 0;      ///< of the exported graph
  int64_t numOperations = 0; ///< of the tensor program, before fusion
  KernelCounts kernels;
  const plan::Plan *plan = nullptr; ///< null: compiled up to the kernels
  int64_t weightBytes = 0;
  std::vector<std::pair<std::string, double>> stages; ///< seconds
  double compileSeconds = 0;
  int64_t kernelsCompiled = 0, kernelsCached = 0;
  bool hasRun = false;
  std::string inputsFrom;
  double firstRunSeconds = 0, medianRunSeconds = 0;
  int numRuns = 0;
  double floorSeconds = 0;
};

std::string renderSummary(const Summary &summary);
/// The same as JSON; sizes in bytes, times in seconds.
nlohmann::json summaryToJson(const Summary &summary);
/// One line a step: name, kind, what it computes.
std::string renderSteps(const plan::Plan &plan);

} // namespace gcompile::tool
