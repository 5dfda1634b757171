//===- TestFiles.h - files for tests of readers ---------------------------===//
#pragma once
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>
#include <zlib.h>

namespace gcompile::frontend {

/// A folder that disappears with all its files.
class TempFolder {
public:
  TempFolder() {
    std::string pattern =
        std::filesystem::temp_directory_path() / "gcompile-test-XXXXXX";
    folder = ::mkdtemp(pattern.data());
  }
  ~TempFolder() { std::filesystem::remove_all(folder); }
  TempFolder(const TempFolder &) = delete;
  TempFolder &operator=(const TempFolder &) = delete;

  const std::filesystem::path &path() const { return folder; }
  std::string write(const std::string &name, const std::string &bytes) const {
    std::string path = folder / name;
    // Some file systems wait for the disk when a file is overwritten.
    std::filesystem::remove(path);
    std::ofstream(path, std::ios::binary) << bytes;
    return path;
  }

private:
  std::filesystem::path folder;
};

inline std::string readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

/// The little-endian bytes of a number.
template <typename T>
std::string bytesOf(T value) {
  return {reinterpret_cast<const char *>(&value), sizeof value};
}

/// Writes zip archives, wrong ones included.
class ZipBuilder {
public:
  struct Record {
    std::string name, content;
    uint16_t method = 0, flags = 0;
    std::string localName = {};     ///< empty: as `name`
    uint32_t numBytes = UINT32_MAX; ///< UINT32_MAX: those of `content`
    uint32_t crc = 0;               ///< 0: computed
    int64_t offset = -1;            ///< -1: where it is
  };

  ZipBuilder &add(Record record) {
    uint32_t stored = static_cast<uint32_t>(record.content.size());
    if (record.numBytes == UINT32_MAX)
      record.numBytes = stored;
    if (record.crc == 0)
      record.crc = static_cast<uint32_t>(crc32(
          0, reinterpret_cast<const Bytef *>(record.content.data()), stored));
    const std::string &local =
        record.localName.empty() ? record.name : record.localName;
    std::string common = bytesOf<uint16_t>(20) + bytesOf(record.flags) +
                         bytesOf(record.method) + bytesOf<uint32_t>(0) +
                         bytesOf(record.crc) + bytesOf(stored) +
                         bytesOf(record.numBytes);
    if (record.offset < 0)
      record.offset = static_cast<int64_t>(bytes.size());
    bytes += "PK\x03\x04" + common +
             bytesOf(static_cast<uint16_t>(local.size())) +
             bytesOf<uint16_t>(0) + local + record.content;
    directory += "PK\x01\x02" + bytesOf<uint16_t>(20) + common +
                 bytesOf(static_cast<uint16_t>(record.name.size())) +
                 bytesOf<uint16_t>(0) + bytesOf<uint16_t>(0) +
                 bytesOf<uint16_t>(0) + bytesOf<uint16_t>(0) +
                 bytesOf<uint32_t>(0) +
                 bytesOf(static_cast<uint32_t>(record.offset)) + record.name;
    ++count;
    return *this;
  }
  ZipBuilder &add(std::string name, std::string content) {
    return add({std::move(name), std::move(content)});
  }

  std::string finish(const std::string &comment = {}) const {
    return bytes + directory + "PK\x05\x06" + bytesOf<uint32_t>(0) +
           bytesOf(count) + bytesOf(count) +
           bytesOf(static_cast<uint32_t>(directory.size())) +
           bytesOf(static_cast<uint32_t>(bytes.size())) +
           bytesOf(static_cast<uint16_t>(comment.size())) + comment;
  }

private:
  std::string bytes, directory;
  uint16_t count = 0;
};

} // namespace gcompile::frontend
