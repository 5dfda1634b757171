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

/// The checksum of zip files.
inline uint32_t crcOf(const std::string &content) {
  return static_cast<uint32_t>(crc32_z(
      0, reinterpret_cast<const Bytef *>(content.data()), content.size()));
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

  /// With `is64` all sizes and offsets of the directory are 64-bit ones.
  explicit ZipBuilder(bool is64 = false) : is64(is64) {}

  ZipBuilder &add(Record record) {
    auto stored = static_cast<uint32_t>(record.content.size());
    if (record.numBytes == UINT32_MAX)
      record.numBytes = stored;
    if (record.crc == 0)
      record.crc = crcOf(record.content);
    if (record.offset < 0)
      record.offset = static_cast<int64_t>(bytes.size());
    const std::string &local =
        record.localName.empty() ? record.name : record.localName;
    std::string common = bytesOf<uint16_t>(20) + bytesOf(record.flags) +
                         bytesOf(record.method) + bytesOf<uint32_t>(0) +
                         bytesOf(record.crc);
    bytes += "PK\x03\x04" + common + bytesOf(stored) +
             bytesOf(record.numBytes) +
             bytesOf(static_cast<uint16_t>(local.size())) +
             bytesOf<uint16_t>(0) + local + record.content;
    std::string extra;
    if (is64)
      extra = bytesOf<uint16_t>(1) + bytesOf<uint16_t>(24) +
              bytesOf<uint64_t>(record.numBytes) + bytesOf<uint64_t>(stored) +
              bytesOf(record.offset);
    directory +=
        "PK\x01\x02" + bytesOf<uint16_t>(20) + common + bytes32(stored) +
        bytes32(record.numBytes) +
        bytesOf(static_cast<uint16_t>(record.name.size())) +
        bytesOf(static_cast<uint16_t>(extra.size())) + std::string(10, '\0') +
        bytes32(static_cast<uint32_t>(record.offset)) + record.name + extra;
    ++count;
    return *this;
  }
  ZipBuilder &add(std::string name, std::string content) {
    return add({std::move(name), std::move(content)});
  }
  ZipBuilder &addDeflated(std::string name, const std::string &content) {
    return add(deflated(std::move(name), content));
  }

  /// A record with compressed content.
  static Record deflated(std::string name, const std::string &content) {
    uLongf size = compressBound(content.size());
    std::string stream(size, '\0');
    compress(reinterpret_cast<Bytef *>(stream.data()), &size,
             reinterpret_cast<const Bytef *>(content.data()), content.size());
    // Without zlib's header of 2 and checksum of 4 bytes.
    Record record{std::move(name), stream.substr(2, size - 6), Z_DEFLATED};
    record.numBytes = static_cast<uint32_t>(content.size());
    record.crc = crcOf(content);
    return record;
  }

  std::string finish(const std::string &comment = {}) const {
    std::string end64;
    if (is64)
      end64 = "PK\x06\x06" + bytesOf<uint64_t>(44) + bytesOf<uint32_t>(0) +
              bytesOf<uint64_t>(0) + bytesOf<uint64_t>(count) +
              bytesOf<uint64_t>(count) + bytesOf<uint64_t>(directory.size()) +
              bytesOf<uint64_t>(bytes.size()) + "PK\x06\x07" +
              bytesOf<uint32_t>(0) +
              bytesOf<uint64_t>(bytes.size() + directory.size()) +
              bytesOf<uint32_t>(1);
    return bytes + directory + end64 + "PK\x05\x06" + bytesOf<uint32_t>(0) +
           bytesOf(count) + bytesOf(count) +
           bytes32(static_cast<uint32_t>(directory.size())) +
           bytes32(static_cast<uint32_t>(bytes.size())) +
           bytesOf(static_cast<uint16_t>(comment.size())) + comment;
  }

private:
  std::string bytes32(uint32_t value) const {
    return bytesOf(is64 ? UINT32_MAX : value);
  }

  bool is64;
  std::string bytes, directory;
  uint16_t count = 0;
};

} // namespace gcompile::frontend
