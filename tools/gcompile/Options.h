//===- Options.h - the command line of gcompile ---------------------------===//
#pragma once
#include <optional>
#include <string>
#include <vector>

namespace gcompile::tool {

struct Options {
  std::string model;
  std::string archiveModel; ///< --model-name
  std::string mode = "default";
  std::string device = "auto";
  std::vector<std::string> targets;
  std::string weights;
  bool randomWeights = false;
  uint64_t seed = 0;
  std::string inputs;
  std::string outputs;
  std::string expect;
  std::optional<double> rtol, atol;
  bool reference = false;
  std::string dumpIr;
  std::string json;
  bool printSupported = false;
  bool triage = false;
  int threads = 0; ///< 0: one a core
  bool poison = false;
  bool noLibraries = false;
  bool verbose = false;
};

/// Parses the command line. On --help, --version or an error it has printed the
/// text, and the exit code is in `exitCode`.
std::optional<Options> parseCommandLine(int argc, char **argv, int &exitCode);

} // namespace gcompile::tool
