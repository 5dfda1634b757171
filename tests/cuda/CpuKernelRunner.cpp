#include "CpuKernelRunner.h"

#include <array>
#include <cstdlib>
#include <dlfcn.h>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <unistd.h>

namespace fs = std::filesystem;

namespace gcompile::testing {
namespace {

constexpr size_t kMaxArguments = 32; // as in cuda_on_cpu.h
/// Without unique symbols each library has shared memory of its own.
constexpr const char *kFlags =
    "-fno-gnu-unique -std=c++20 -O1 -w -fno-strict-aliasing -U_FORTIFY_SOURCE "
    "-shared -fPIC";

std::string readFile(const fs::path &path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// `extern __shared__ T name[];` is the one declaration that macros cannot
/// turn into C++.
std::string withDynamicShared(const std::string &source) {
  static const std::regex declaration(
      R"(extern\s+__shared__\s+((?:__align__|alignas)\s*\([^)]*\)\s*)?)"
      R"(([\w:\s]*?[\w:])\s+(\w+)\s*\[\s*\]\s*;)");
  return std::regex_replace(source, declaration,
                            "CUDA_ON_CPU_DYNAMIC_SHARED($2, $3);");
}

/// All that a library is made from.
uint64_t hashInputs(const std::string &source) {
  std::string all = source + kFlags + readFile(GCOMPILE_CUDA_ON_CPU);
  std::vector<fs::path> headers;
  for (const auto &entry : fs::directory_iterator(GCOMPILE_CUDA_DEVICE_HEADERS))
    headers.push_back(entry.path());
  std::sort(headers.begin(), headers.end());
  for (const fs::path &header : headers)
    all += readFile(header);
  return std::hash<std::string>()(all);
}

/// The path of the compiled library.
std::string compile(const std::string &original) {
  const std::string source = withDynamicShared(original);
  const fs::path folder = fs::temp_directory_path() / "gcompile-cuda-on-cpu";
  fs::create_directories(folder);
  const std::string base =
      (folder / fmt::format("{:016x}", hashInputs(source))).string();
  const std::string library = base + ".so";
  if (fs::exists(library))
    return library;
  // Other processes may be at the same source: each writes files of its own.
  const std::string own = fmt::format("{}.{}", base, ::getpid());
  std::ofstream(own + ".cpp") << source;
  const std::string command = fmt::format(
      "c++ {} -I'{}' -include '{}' '{}.cpp' -o '{}.so' 2> '{}.log'", kFlags,
      GCOMPILE_CUDA_DEVICE_HEADERS, GCOMPILE_CUDA_ON_CPU, own, own, own);
  if (std::system(command.c_str()) != 0)
    throw std::runtime_error("the kernel does not compile for the CPU:\n" +
                             readFile(own + ".log") + "\n" + source);
  fs::rename(own + ".so", library);
  fs::remove(own + ".cpp");
  fs::remove(own + ".log");
  return library;
}

} // namespace

std::shared_ptr<void> loadCudaForCpu(const std::string &source) {
  const std::string path = compile(source);
  void *handle = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (!handle)
    throw std::runtime_error(::dlerror());
  return std::shared_ptr<void>(handle, ::dlclose);
}

void *findSymbol(void *library, const std::string &symbol) {
  if (void *address = ::dlsym(library, symbol.c_str()))
    return address;
  throw std::runtime_error("the kernel's source has no extern \"C\" symbol " +
                           symbol);
}

CpuKernelRunner::CpuKernelRunner(const std::string &symbol,
                                 const std::string &source) {
  library = loadCudaForCpu(source);
  kernel = findSymbol(library.get(), symbol);
  launch = findSymbol(library.get(), "cuda_on_cpu_launch");
}

void CpuKernelRunner::run(cuda::Dim3 grid, cuda::Dim3 block,
                          int64_t sharedBytes,
                          std::span<void *const> arguments) const {
  if (arguments.size() > kMaxArguments)
    throw std::runtime_error("more arguments than the runner passes");
  std::array<void *, kMaxArguments> all{};
  std::copy(arguments.begin(), arguments.end(), all.begin());
  const unsigned gridSizes[] = {grid.x, grid.y, grid.z},
                 blockSizes[] = {block.x, block.y, block.z};
  using Launch = const char *(*)(void *, const unsigned *, const unsigned *,
                                 size_t, void *const *);
  if (const char *problem = reinterpret_cast<Launch>(launch)(
          kernel, gridSizes, blockSizes, static_cast<size_t>(sharedBytes),
          all.data()))
    throw std::runtime_error(problem);
}

} // namespace gcompile::testing
