#include "CubinCache.h"

#include "ContentHash.h"

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <map>
#include <unistd.h>

namespace gcompile::cuda {
namespace {

namespace fs = std::filesystem;

/// Begins every file; the hash of the cubin follows, then the cubin.
constexpr std::string_view kMagic = "gcompile cubin 1\n";
constexpr size_t kHashDigits = 32;

std::string temporaryName(const std::string &path) {
  static std::atomic<int> counter = 0;
  return fmt::format("{}.{}.{}.tmp", path, ::getpid(), counter++);
}

/// Puts a link to, or a copy of, the file `source` in the place of `path`.
std::error_code place(const std::string &source, const std::string &path) {
  const std::string temporary = temporaryName(path);
  std::error_code error;
  fs::create_hard_link(source, temporary, error);
  if (error)
    fs::copy_file(source, temporary, error);
  if (!error)
    fs::rename(temporary, path, error);
  std::error_code ignored; // where both were links to one file, it is left
  fs::remove(temporary, ignored);
  return error;
}

} // namespace

std::string CubinCache::pathOf(const std::string &key) const {
  return directory + "/" + key + ".cubin";
}

std::vector<CubinCache::Found>
CubinCache::load(std::span<const std::string> keys) const {
  std::vector<Found> found;
  std::map<std::string, Cubin> known; // by the hash
  for (const std::string &key : keys) {
    Found &result = found.emplace_back();
    std::ifstream file(pathOf(key), std::ios::binary);
    if (!file)
      continue;
    result.state = State::Corrupt;
    std::string header(kMagic.size() + kHashDigits, '\0');
    if (!file.read(header.data(), static_cast<long>(header.size())) ||
        !header.starts_with(kMagic))
      continue;
    std::string hash = header.substr(kMagic.size());
    Cubin &cubin = known[hash];
    if (!cubin) {
      std::string bytes((std::istreambuf_iterator<char>(file)), {});
      if (hash != contentHash(bytes))
        continue;
      cubin = std::make_shared<const std::string>(std::move(bytes));
    }
    result = {State::Whole, cubin};
  }
  return found;
}

std::string CubinCache::store(std::span<const std::string> keys,
                              const std::string &cubin) const {
  std::error_code error;
  fs::create_directories(directory, error);
  if (error)
    return fmt::format("cannot create '{}': {}", directory, error.message());
  const std::string temporary = temporaryName(pathOf(keys.front()));
  std::ofstream file(temporary, std::ios::binary);
  file << kMagic << contentHash(cubin) << cubin;
  file.close();
  std::string problem;
  if (!file)
    problem = fmt::format("cannot write '{}'", temporary);
  for (const std::string &key : keys)
    if (problem.empty())
      if ((error = place(temporary, pathOf(key))))
        problem =
            fmt::format("cannot keep '{}': {}", pathOf(key), error.message());
  fs::remove(temporary, error);
  return problem;
}

} // namespace gcompile::cuda
