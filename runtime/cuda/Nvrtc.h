//===- Nvrtc.h - NVIDIA's run-time compiler, opened when first used -------===//
#pragma once
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace gcompile::cuda {

/// A compilation: `problem` is empty, or NVRTC's word for what went wrong.
struct NvrtcOutcome {
  std::string cubin;
  std::string problem;
  std::string log; ///< errors with their lines
};

/// Names and texts of the headers that a program may include.
using HeaderTexts = std::vector<std::pair<std::string, std::string>>;

/// Needs no GPU. Thread-safe, but compilations of one process hardly overlap.
class Nvrtc {
public:
  /// Throws an ErrorException that says how to get NVRTC where it is missing.
  static const Nvrtc &get();

  /// The release, and the size of the file to tell patches of one apart.
  const std::string &version() const { return identity; }

  /// `name` stands for the program in messages: "NAME(LINE): error: …".
  NvrtcOutcome compile(const std::string &source, const std::string &name,
                       const HeaderTexts &headers,
                       std::span<const std::string> options) const;

private:
  Nvrtc();

  using Program = struct _nvrtcProgram *;
  template <typename... Arguments>
  using Function = int(Arguments...);
  const char *(*getErrorString)(int);
  Function<int *, int *> *getVersion;
  Function<Program *, const char *, const char *, int, const char *const *,
           const char *const *> *createProgram;
  Function<Program *> *destroyProgram;
  Function<Program, int, const char *const *> *compileProgram;
  Function<Program, size_t *> *getCubinSize, *getLogSize;
  Function<Program, char *> *getCubin, *getLog;
  std::string identity;
};

} // namespace gcompile::cuda
