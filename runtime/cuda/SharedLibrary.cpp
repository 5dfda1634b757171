#include "SharedLibrary.h"

#include "gcompile/base/Error.h"

#include <cstdlib>
#include <dlfcn.h>
#include <fmt/format.h>

namespace gcompile::cuda {

SharedLibrary SharedLibrary::open(const std::vector<std::string> &paths) {
  SharedLibrary library;
  for (const std::string &path : paths) {
    library.handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library.handle) {
      library.path = path;
      library.messages.clear();
      break;
    }
    library.messages.emplace_back(::dlerror());
  }
  return library;
}

void *SharedLibrary::address(const char *symbol) const {
  return ::dlsym(handle, symbol);
}

void *SharedLibrary::requiredAddress(const char *symbol) const {
  void *found = address(symbol);
  if (!found)
    throwError(ErrorCode::Device,
               fmt::format("'{}' has no function {}", path, symbol),
               "install a newer version of it");
  return found;
}

std::string SharedLibrary::pathOf(const char *symbol) const {
  Dl_info info{};
  if (::dladdr(address(symbol), &info) == 0 || !info.dli_fname)
    return path;
  return info.dli_fname;
}

std::vector<std::string> cudaLibraryFolders() {
  std::vector<std::string> folders;
  auto add = [&](const char *variable, const char *below) {
    const char *value = std::getenv(variable);
    if (value && *value)
      folders.push_back(std::string(value) + below);
    return value && *value;
  };
  for (const char *variable : {"CUDA_HOME", "CUDA_PATH"}) {
    add(variable, "/lib64/");
    add(variable, "/lib/");
  }
  folders.emplace_back();
  if (!add("XDG_DATA_HOME", "/gcompile/cuda/lib/"))
    add("HOME", "/.local/share/gcompile/cuda/lib/");
  folders.emplace_back("/usr/local/cuda/lib64/");
  return folders;
}

std::vector<std::string>
cudaLibraryPaths(const std::vector<std::string> &names) {
  std::vector<std::string> paths;
  for (const std::string &folder : cudaLibraryFolders())
    for (const std::string &name : names)
      paths.push_back(folder + name);
  return paths;
}

} // namespace gcompile::cuda
