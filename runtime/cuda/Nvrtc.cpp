#include "Nvrtc.h"

#include "SharedLibrary.h"
#include "gcompile/base/Error.h"

#include <algorithm>
#include <filesystem>
#include <fmt/format.h>
#include <memory>

namespace gcompile::cuda {
namespace {

/// NVRTC looks for its builtins on the loader's path only. Where it is opened
/// by its full path, they are opened first, and it then finds them by name.
void openBuiltins(const std::string &folder) {
  std::error_code error;
  std::vector<std::string> paths;
  for (const auto &entry : std::filesystem::directory_iterator(folder, error))
    if (entry.path().filename().string().starts_with("libnvrtc-builtins.so.1"))
      paths.push_back(entry.path().string());
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    SharedLibrary::open({path});
}

SharedLibrary openNvrtc() {
  std::vector<std::string> problems;
  for (const std::string &folder : cudaLibraryFolders()) {
    if (!folder.empty())
      openBuiltins(folder);
    SharedLibrary library = SharedLibrary::open(
        {folder + "libnvrtc.so.13", folder + "libnvrtc.so.12"});
    if (!library.absent())
      return library;
    problems.push_back(library.problems().front());
  }
  throwError(ErrorCode::Device,
             "NVRTC, NVIDIA's run-time compiler, is not installed",
             "run scripts/get_nvrtc.sh, or install CUDA Toolkit 12 or 13 and "
             "set CUDA_HOME to where it is",
             std::move(problems));
}

} // namespace

const Nvrtc &Nvrtc::get() {
  static const Result<std::shared_ptr<const Nvrtc>> loaded =
      catchErrors<Result<std::shared_ptr<const Nvrtc>>>(
          []() -> Result<std::shared_ptr<const Nvrtc>> {
            return std::shared_ptr<const Nvrtc>(new Nvrtc());
          });
  if (!loaded.ok())
    throw ErrorException(loaded.error());
  return **loaded;
}

Nvrtc::Nvrtc() {
  SharedLibrary library = openNvrtc();
  library.resolve(getErrorString, "nvrtcGetErrorString");
  library.resolve(getVersion, "nvrtcVersion");
  library.resolve(createProgram, "nvrtcCreateProgram");
  library.resolve(destroyProgram, "nvrtcDestroyProgram");
  library.resolve(compileProgram, "nvrtcCompileProgram");
  library.resolve(getCubinSize, "nvrtcGetCUBINSize");
  library.resolve(getCubin, "nvrtcGetCUBIN");
  library.resolve(getLogSize, "nvrtcGetProgramLogSize");
  library.resolve(getLog, "nvrtcGetProgramLog");
  int major = 0, minor = 0;
  getVersion(&major, &minor);
  std::error_code error;
  identity = fmt::format(
      "NVRTC {}.{}, {} bytes", major, minor,
      std::filesystem::file_size(library.pathOf("nvrtcVersion"), error));
}

NvrtcOutcome Nvrtc::compile(const std::string &source, const std::string &name,
                            const HeaderTexts &headers,
                            std::span<const std::string> options) const {
  std::vector<const char *> names, texts, flags;
  for (const auto &[header, text] : headers) {
    names.push_back(header.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string &option : options)
    flags.push_back(option.c_str());

  NvrtcOutcome outcome;
  Program program = nullptr;
  int result = createProgram(&program, source.c_str(), name.c_str(),
                             static_cast<int>(headers.size()), texts.data(),
                             names.data());
  if (result == 0)
    result =
        compileProgram(program, static_cast<int>(flags.size()), flags.data());
  size_t numBytes = 0;
  if (program && getLogSize(program, &numBytes) == 0 && numBytes > 1) {
    outcome.log.resize(numBytes);
    getLog(program, outcome.log.data());
    outcome.log.resize(numBytes - 1); // ends in a zero
  }
  if (result == 0)
    result = getCubinSize(program, &numBytes);
  if (result == 0) {
    outcome.cubin.resize(numBytes);
    result = getCubin(program, outcome.cubin.data());
  }
  if (result != 0)
    outcome.problem = getErrorString(result);
  if (program)
    destroyProgram(&program);
  return outcome;
}

} // namespace gcompile::cuda
