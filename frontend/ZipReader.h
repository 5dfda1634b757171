//===- ZipReader.h - zip archives of untrusted files ----------------------===//
// Over bytes in memory, so that an archive inside an archive is read alike.
// Opening checks the whole directory: names, duplicates, overlaps, bounds.
// Written by hand because minizip 1.1, which distributions ship, misreads the
// 64-bit sizes and offsets of archives beyond 4 GiB.
// Throws ErrorException.
#pragma once
#include "MappedTensor.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>

namespace gcompile::frontend {

class ZipReader {
public:
  /// `name` is the file's or record's for messages.
  ZipReader(SharedBytes archive, std::string name);

  const std::string &name() const { return archiveName; }
  bool contains(std::string_view record) const {
    return entries.find(record) != entries.end();
  }
  /// Bytes of a record when read.
  uint64_t numBytes(std::string_view record) const;

  /// A record's content with its checksum verified; an error if it is absent.
  SharedBytes read(std::string_view record) const;
  /// The same without looking at the content: for weights, which may be large.
  SharedBytes map(std::string_view record) const;

  /// All records by name, in alphabetical order.
  struct Entry {
    std::span<const std::byte> stored; ///< as in the archive
    uint64_t numBytes = 0;             ///< when read
    uint32_t crc = 0;                  ///< 0: perhaps not computed
    bool isDeflated = false;
  };
  using Entries = std::map<std::string, Entry, std::less<>>;
  const Entries &records() const { return entries; }

  /// The folder that holds all records, which is how PyTorch writes archives;
  /// an error if there are several.
  std::string rootFolder() const;

  [[noreturn]] void fail(std::string what) const;
  [[noreturn]] void fail(std::string_view record, std::string what) const;

private:
  class DirectoryReader;
  const Entry &find(std::string_view record) const;

  SharedBytes archive;
  std::string archiveName;
  Entries entries;
};

} // namespace gcompile::frontend
