//===- CubinCache.h - compiled kernels on disk ----------------------------===//
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace gcompile::cuda {

/// The machine code of one or more kernels.
using Cubin = std::shared_ptr<const std::string>;

/// Files of one folder, one for each kernel, named by the hash of all that
/// determines it. Kernels that were compiled together are hard links to one
/// file (copies, where the file system has no links): each entry is whole by
/// itself, wherever its siblings are reused or removed, and is kept once.
///
/// Files are written beside their place and renamed into it, so that readers
/// and writers of several processes never see a part of one.
class CubinCache {
public:
  enum class State { Absent, Corrupt, Whole };
  struct Found {
    State state = State::Absent;
    Cubin cubin;
  };

  explicit CubinCache(std::string directory)
      : directory(std::move(directory)) {}

  /// One answer a key. Keys of one file share one Cubin.
  std::vector<Found> load(std::span<const std::string> keys) const;
  /// Keeps `cubin` under every key. Why it could not; empty if it could.
  std::string store(std::span<const std::string> keys,
                    const std::string &cubin) const;

  const std::string directory;

private:
  std::string pathOf(const std::string &key) const;
};

} // namespace gcompile::cuda
