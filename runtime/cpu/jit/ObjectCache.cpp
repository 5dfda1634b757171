#include "ObjectCache.h"

#include <llvm/ADT/ArrayRef.h>
#include <llvm/Support/xxhash.h>

#include <atomic>
#include <filesystem>
#include <fmt/format.h>
#include <fstream>
#include <unistd.h>

namespace gcompile::cpu {
namespace {

/// Begins every file; the hash of the object follows, then the object.
constexpr std::string_view kMagic = "gcompile object 1\n";
constexpr size_t kHashDigits = 32;

} // namespace

std::string contentHash(std::string_view bytes) {
  llvm::XXH128_hash_t hash = llvm::xxh3_128bits(llvm::ArrayRef<uint8_t>(
      reinterpret_cast<const uint8_t *>(bytes.data()), bytes.size()));
  return fmt::format("{:016x}{:016x}", hash.high64, hash.low64);
}

std::string ObjectCache::pathOf(const std::string &key) const {
  return directory + "/" + key + ".o";
}

ObjectCache::Found ObjectCache::load(const std::string &key) const {
  std::ifstream file(pathOf(key), std::ios::binary);
  if (!file)
    return {};
  std::string bytes((std::istreambuf_iterator<char>(file)), {});
  constexpr size_t headerBytes = kMagic.size() + kHashDigits;
  if (bytes.size() < headerBytes || !bytes.starts_with(kMagic))
    return {State::Corrupt, {}};
  std::string hash = bytes.substr(kMagic.size(), kHashDigits);
  bytes.erase(0, headerBytes);
  if (hash != contentHash(bytes))
    return {State::Corrupt, {}};
  return {State::Whole, std::move(bytes)};
}

std::string ObjectCache::store(const std::string &key,
                               std::string_view object) const {
  static std::atomic<int> counter = 0;
  std::error_code error;
  std::filesystem::create_directories(directory, error);
  if (error)
    return fmt::format("cannot create '{}': {}", directory, error.message());
  std::string temporary =
      fmt::format("{}.{}.{}.tmp", pathOf(key), ::getpid(), counter++);
  std::ofstream file(temporary, std::ios::binary);
  file << kMagic << contentHash(object) << object;
  file.close();
  if (!file) {
    std::filesystem::remove(temporary, error);
    return fmt::format("cannot write '{}'", temporary);
  }
  std::filesystem::rename(temporary, pathOf(key), error);
  if (error)
    return fmt::format("cannot rename '{}': {}", temporary, error.message());
  return {};
}

} // namespace gcompile::cpu
