//===- SharedLibrary.h - libraries opened at run time ---------------------===//
#pragma once
#include <string>
#include <vector>

namespace gcompile::cuda {

/// An open shared library. It stays open: NVIDIA's libraries start threads and
/// register handlers that outlive their users.
class SharedLibrary {
public:
  /// Opens the first of `paths` that can be; absent() else. Thread-safe.
  static SharedLibrary open(const std::vector<std::string> &paths);

  bool absent() const { return !handle; }
  /// What the loader said about each path, where none could be opened.
  const std::vector<std::string> &problems() const { return messages; }

  /// Sets `function` to the symbol, or to null where the library lacks it.
  template <typename F>
  void find(F *&function, const char *symbol) const {
    function = reinterpret_cast<F *>(address(symbol));
  }
  /// As find, but throws an ErrorException where it is missing.
  template <typename F>
  void resolve(F *&function, const char *symbol) const {
    function = reinterpret_cast<F *>(requiredAddress(symbol));
  }

  /// The file that a symbol of this library came from.
  std::string pathOf(const char *symbol) const;

private:
  void *address(const char *symbol) const;
  void *requiredAddress(const char *symbol) const;

  void *handle = nullptr;
  std::string path;
  std::vector<std::string> messages;
};

/// Where libraries of the CUDA Toolkit may lie, in the order to try, each with
/// a "/" at its end: $CUDA_HOME and $CUDA_PATH, the loader's own places (""),
/// where scripts/get_nvrtc.sh puts them, and /usr/local/cuda.
std::vector<std::string> cudaLibraryFolders();

/// Every name in every folder of cudaLibraryFolders().
std::vector<std::string>
cudaLibraryPaths(const std::vector<std::string> &names);

} // namespace gcompile::cuda
