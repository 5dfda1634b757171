#include "ZipReader.h"
#include "Detect.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <tuple>
#include <vector>
#include <zlib.h>

namespace gcompile::frontend {
namespace {

constexpr uint64_t kMaxEntries = 1'000'000;
constexpr size_t kMaxNameBytes = 4096;
/// Deflate cannot expand more than 1032:1.
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint64_t kMaxInflatedBytes = uint64_t{1} << 32;

// Sizes of the fixed parts of the structures of a zip file.
constexpr size_t kLocalHeaderBytes = 30;
constexpr size_t kEntryBytes = 46;
constexpr size_t kEndBytes = 22;
constexpr size_t kEnd64Bytes = 56;
constexpr size_t kLocator64Bytes = 20;

/// Fields of this value are in the 64-bit structures.
constexpr uint32_t kIn64 = UINT32_MAX;

//===----------------------------------------------------------------------===//
// Names and content
//===----------------------------------------------------------------------===//

/// What is wrong with a record's name; empty if nothing.
std::string_view complainAboutName(std::string_view name) {
  if (name.empty() || name.size() > kMaxNameBytes)
    return "is empty or too long";
  if (name.find('\0') != name.npos || name.find('\\') != name.npos)
    return "has a NUL or a backslash";
  for (size_t begin = 0; begin <= name.size();) {
    size_t end = std::min(name.find('/', begin), name.size());
    std::string_view component = name.substr(begin, end - begin);
    // A trailing slash is a folder's record.
    bool isFolderEnd = begin == name.size() && begin > 0;
    if ((component.empty() && !isFolderEnd) || component == "." ||
        component == "..")
      return "is not a plain relative path";
    begin = end + 1;
  }
  return {};
}

std::shared_ptr<Storage> inflateRecord(const ZipReader &archive,
                                       std::string_view name,
                                       const ZipReader::Entry &entry) {
  auto storage = Storage::allocate(entry.numBytes);
  z_stream stream{};
  // Negative: no zlib header, as in zip files.
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK)
    archive.fail(name, "cannot start to inflate");
  stream.next_in =
      reinterpret_cast<Bytef *>(const_cast<std::byte *>(entry.stored.data()));
  stream.avail_in = static_cast<uInt>(entry.stored.size());
  stream.next_out = reinterpret_cast<Bytef *>(storage->mutableData());
  stream.avail_out = static_cast<uInt>(entry.numBytes);
  int status = inflate(&stream, Z_FINISH);
  bool isExact =
      status == Z_STREAM_END && stream.avail_out == 0 && stream.avail_in == 0;
  inflateEnd(&stream);
  if (!isExact)
    archive.fail(name, "its compressed data is damaged");
  return storage;
}

} // namespace

//===----------------------------------------------------------------------===//
// The directory
//===----------------------------------------------------------------------===//

/// Reads the structures at offsets of the archive, all little-endian.
class ZipReader::DirectoryReader {
public:
  explicit DirectoryReader(ZipReader &zip)
      : zip(zip), bytes(zip.archive.bytes) {}

  void read() {
    Directory directory = locate();
    uint64_t offset = directory.begin;
    for (uint64_t i = 0; i < directory.count; ++i)
      offset = readEntry(offset, i, directory);
    if (offset != directory.end)
      zip.fail("its directory has data after the last record");
    checkRanges();
  }

private:
  struct Directory {
    uint64_t begin, end, count; ///< [begin, end) in bytes
  };
  /// [begin, end) of a record, its local header included.
  struct Range {
    uint64_t begin, end;
    std::string_view name;
  };

  std::string_view text(uint64_t offset, uint64_t size) const {
    if (offset > bytes.size() || size > bytes.size() - offset)
      zip.fail("damaged or cut off");
    return asText(bytes.subspan(offset, size));
  }
  template <typename T>
  T number(uint64_t offset) const {
    T value;
    std::memcpy(&value, text(offset, sizeof value).data(), sizeof value);
    return value;
  }
  bool hasSignature(uint64_t offset, std::string_view signature) const {
    return text(offset, signature.size()) == signature;
  }

  Directory locate() const;
  uint64_t readEntry(uint64_t offset, uint64_t index,
                     const Directory &directory);
  void readExtra64(std::string_view extra, const std::string &name,
                   std::initializer_list<uint64_t *> fields) const;
  void checkRanges();

  ZipReader &zip;
  std::span<const std::byte> bytes;
  std::vector<Range> ranges;
  uint64_t inflatedBytes = 0;
};

ZipReader::DirectoryReader::Directory
ZipReader::DirectoryReader::locate() const {
  // Without a comment the end record is the last thing in the file. Comments
  // are refused: programs disagree on where a file with two end records ends.
  if (bytes.size() < kEndBytes)
    zip.fail("too short for a zip archive");
  uint64_t end = bytes.size() - kEndBytes;
  if (!hasSignature(end, "PK\x05\x06") || number<uint16_t>(end + 20) != 0)
    zip.fail("cut off, or with data after the end of the archive");
  Directory directory{};
  directory.count = number<uint16_t>(end + 10);
  uint64_t size = number<uint32_t>(end + 12);
  directory.begin = number<uint32_t>(end + 16);
  bool isOneDisk = number<uint32_t>(end + 4) == 0 &&
                   number<uint16_t>(end + 8) == directory.count;

  bool has64 = end >= kLocator64Bytes + kEnd64Bytes &&
               hasSignature(end - kLocator64Bytes, "PK\x06\x07");
  if (has64) {
    end -= kLocator64Bytes + kEnd64Bytes;
    auto count64 = number<uint64_t>(end + 32);
    auto size64 = number<uint64_t>(end + 40);
    auto begin64 = number<uint64_t>(end + 48);
    bool agrees =
        (directory.count == count64 || directory.count == UINT16_MAX) &&
        (size == size64 || size == kIn64) &&
        (directory.begin == begin64 || directory.begin == kIn64);
    if (!hasSignature(end, "PK\x06\x06") ||
        number<uint64_t>(end + kEnd64Bytes + 8) != end || !agrees)
      zip.fail("its two end records disagree");
    isOneDisk = isOneDisk && number<uint64_t>(end + 16) == 0 &&
                number<uint64_t>(end + 24) == count64;
    directory.count = count64;
    directory.begin = begin64;
    size = size64;
  }
  if (!isOneDisk)
    zip.fail("part of an archive in several files");
  directory.end = end;
  if (directory.begin > end || size != end - directory.begin)
    zip.fail("its directory is not where the end record says");
  if (directory.count > std::min(kMaxEntries, size / kEntryBytes))
    zip.fail(fmt::format("a directory of {} bytes cannot have {} records", size,
                         directory.count));
  return directory;
}

/// Fills the fields that are kIn64 from a record's extra data, in order.
void ZipReader::DirectoryReader::readExtra64(
    std::string_view extra, const std::string &name,
    std::initializer_list<uint64_t *> fields) const {
  constexpr uint16_t kExtra64 = 1;
  constexpr size_t kHeaderBytes = 4;
  std::string_view numbers;
  while (extra.size() >= kHeaderBytes) {
    uint16_t header[2];
    std::memcpy(header, extra.data(), sizeof header);
    if (header[1] > extra.size() - kHeaderBytes)
      zip.fail(name, "its extra data is damaged");
    if (header[0] == kExtra64)
      numbers = extra.substr(kHeaderBytes, header[1]);
    extra.remove_prefix(kHeaderBytes + header[1]);
  }
  for (uint64_t *field : fields) {
    if (*field != kIn64)
      continue;
    if (numbers.size() < sizeof *field)
      zip.fail(name, "a 64-bit size is missing");
    std::memcpy(field, numbers.data(), sizeof *field);
    numbers.remove_prefix(sizeof *field);
  }
}

/// Returns where the next entry begins.
uint64_t ZipReader::DirectoryReader::readEntry(uint64_t offset, uint64_t index,
                                               const Directory &directory) {
  if (!hasSignature(offset, "PK\x01\x02"))
    zip.fail(fmt::format("record {} of its directory is damaged", index));
  auto flags = number<uint16_t>(offset + 8);
  auto method = number<uint16_t>(offset + 10);
  auto crc = number<uint32_t>(offset + 16);
  uint64_t storedBytes = number<uint32_t>(offset + 20);
  uint64_t numBytes = number<uint32_t>(offset + 24);
  auto nameBytes = number<uint16_t>(offset + 28);
  auto extraBytes = number<uint16_t>(offset + 30);
  auto commentBytes = number<uint16_t>(offset + 32);
  uint64_t begin = number<uint32_t>(offset + 42);
  std::string name(text(offset + kEntryBytes, nameBytes));
  if (std::string_view complaint = complainAboutName(name); !complaint.empty())
    zip.fail(fmt::format("the name of record {} {}", index, complaint));
  readExtra64(text(offset + kEntryBytes + nameBytes, extraBytes), name,
              {&numBytes, &storedBytes, &begin});

  bool isStored = method == 0;
  if (flags & 1)
    zip.fail(name, "encrypted");
  if (!isStored && method != Z_DEFLATED)
    zip.fail(name,
             fmt::format("compression method {} is not supported", method));
  if (isStored && storedBytes != numBytes)
    zip.fail(name, "stored with two different sizes");

  // Sizes and checksums of the local header may come after the data instead.
  if (begin > directory.begin ||
      directory.begin - begin < kLocalHeaderBytes + nameBytes ||
      !hasSignature(begin, "PK\x03\x04"))
    zip.fail(name, "its local header is damaged");
  if (number<uint16_t>(begin + 8) != method ||
      number<uint16_t>(begin + 26) != nameBytes ||
      text(begin + kLocalHeaderBytes, nameBytes) != name)
    zip.fail(name, "its local header has another name or method");
  uint64_t dataBegin =
      begin + kLocalHeaderBytes + nameBytes + number<uint16_t>(begin + 28);
  if (dataBegin > directory.begin || storedBytes > directory.begin - dataBegin)
    zip.fail(name, "its data is not inside the archive");

  Entry entry;
  entry.stored = bytes.subspan(dataBegin, storedBytes);
  entry.numBytes = numBytes;
  entry.crc = crc;
  entry.isDeflated = !isStored;
  if (entry.isDeflated &&
      (numBytes / kMaxExpansion > storedBytes ||
       numBytes >= kMaxInflatedBytes || storedBytes >= kMaxInflatedBytes ||
       (inflatedBytes += numBytes) >= kMaxInflatedBytes))
    zip.fail(name, "compressed data that expands too much");
  auto [it, isNew] = zip.entries.emplace(std::move(name), entry);
  if (!isNew)
    zip.fail(it->first, "two records of this name");
  ranges.push_back({begin, dataBegin + storedBytes, it->first});
  return offset + kEntryBytes + nameBytes + extraBytes + commentBytes;
}

void ZipReader::DirectoryReader::checkRanges() {
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  if (!ranges.empty() && ranges[0].begin != 0)
    zip.fail("data before the beginning of the archive");
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      zip.fail(ranges[i].name,
               fmt::format("overlaps record '{}'", ranges[i - 1].name));
}

//===----------------------------------------------------------------------===//
// ZipReader
//===----------------------------------------------------------------------===//

ZipReader::ZipReader(SharedBytes source, std::string name)
    : archive(std::move(source)), archiveName(std::move(name)) {
  DirectoryReader(*this).read();
}

const ZipReader::Entry &ZipReader::find(std::string_view record) const {
  auto it = entries.find(record);
  if (it == entries.end())
    fail(fmt::format("record '{}' is missing", record));
  return it->second;
}

uint64_t ZipReader::numBytes(std::string_view record) const {
  return find(record).numBytes;
}

SharedBytes ZipReader::map(std::string_view record) const {
  const Entry &entry = find(record);
  if (!entry.isDeflated)
    return {entry.stored, archive.owner};
  std::shared_ptr<Storage> storage = inflateRecord(*this, record, entry);
  return {{storage->data(), storage->numBytes()}, storage};
}

SharedBytes ZipReader::read(std::string_view record) const {
  SharedBytes content = map(record);
  uint32_t crc = find(record).crc;
  auto actual = static_cast<uint32_t>(
      crc32_z(0, reinterpret_cast<const Bytef *>(content.bytes.data()),
              content.bytes.size()));
  // PyTorch can be told not to compute checksums; it then writes zero.
  if (crc != 0 && crc != actual)
    fail(record, "its checksum is wrong");
  return content;
}

std::string ZipReader::rootFolder() const {
  if (entries.empty())
    fail("the archive is empty");
  std::string_view first = entries.begin()->first;
  std::string root(first.substr(0, first.find('/')));
  for (const auto &[name, entry] : entries)
    if (!name.starts_with(root) || name[root.size()] != '/')
      fail(name,
           fmt::format("not in the folder '{}' of the other records", root));
  return root;
}

void ZipReader::fail(std::string what) const {
  throwError(ErrorCode::InvalidArgument,
             fmt::format("{}: {}", archiveName, what),
             "the file is damaged or cut off; export or copy it again");
}

void ZipReader::fail(std::string_view record, std::string what) const {
  fail(fmt::format("{}: {}", record, what));
}

} // namespace gcompile::frontend
