//===- ObjectCache.h - compiled objects on disk ---------------------------===//
#pragma once
#include <optional>
#include <string>
#include <string_view>

namespace gcompile::cpu {

/// Files of one folder, named by the hash of all that determines their content.
/// Files are written beside their place and renamed into it, so that readers
/// and writers of several processes never see a part of one.
class ObjectCache {
public:
  enum class State { Absent, Corrupt, Whole };
  struct Found {
    State state = State::Absent;
    std::string object;
  };

  explicit ObjectCache(std::string directory)
      : directory(std::move(directory)) {}

  Found load(const std::string &key) const;
  /// Why the object could not be kept; empty if it was.
  std::string store(const std::string &key, std::string_view object) const;

  const std::string directory;

private:
  std::string pathOf(const std::string &key) const;
};

/// 128 bits of XXH3 as 32 hexadecimal digits.
std::string contentHash(std::string_view bytes);

} // namespace gcompile::cpu
