#include "ZipReader.h"
#include "Detect.h"

#include <algorithm>
#include <cstring>
#include <fmt/format.h>
#include <unzip.h>
#include <vector>
#include <zlib.h>

namespace gcompile::frontend {
namespace {

constexpr uint64_t kMaxEntries = 1'000'000;
constexpr size_t kMaxNameBytes = 4096;
/// Deflate cannot expand more than 1032:1.
constexpr uint64_t kMaxExpansion = 1032;
constexpr uint64_t kMaxInflatedBytes = uint64_t{1} << 32;
constexpr size_t kLocalHeaderBytes = 30;
constexpr size_t kEndRecordBytes = 22;

//===----------------------------------------------------------------------===//
// minizip over memory
//===----------------------------------------------------------------------===//

struct MemoryStream {
  std::span<const std::byte> bytes;
  uint64_t position = 0;
};

MemoryStream &asStream(voidpf stream) {
  return *static_cast<MemoryStream *>(stream);
}

uLong readMemory(voidpf, voidpf stream, void *buffer, uLong size) {
  MemoryStream &memory = asStream(stream);
  uint64_t left = memory.bytes.size() - memory.position;
  uLong count = std::min<uint64_t>(size, left);
  if (count > 0)
    std::memcpy(buffer, memory.bytes.data() + memory.position, count);
  memory.position += count;
  return count;
}

long seekMemory(voidpf, voidpf stream, ZPOS64_T offset, int origin) {
  MemoryStream &memory = asStream(stream);
  uint64_t base = origin == ZLIB_FILEFUNC_SEEK_CUR   ? memory.position
                  : origin == ZLIB_FILEFUNC_SEEK_END ? memory.bytes.size()
                                                     : 0;
  // Wraps around for negative offsets, and out of bounds for all others.
  uint64_t target = base + offset;
  if (target > memory.bytes.size())
    return -1;
  memory.position = target;
  return 0;
}

struct CloseUnzip {
  void operator()(void *file) const { unzClose(file); }
};
using UnzipHandle = std::unique_ptr<void, CloseUnzip>;

UnzipHandle openUnzip(MemoryStream &stream) {
  zlib_filefunc64_def functions{};
  functions.opaque = &stream;
  functions.zopen64_file = [](voidpf opaque, const void *, int) {
    return opaque;
  };
  functions.zread_file = readMemory;
  functions.ztell64_file = [](voidpf, voidpf stream) -> ZPOS64_T {
    return asStream(stream).position;
  };
  functions.zseek64_file = seekMemory;
  functions.zclose_file = [](voidpf, voidpf) { return 0; };
  functions.zerror_file = [](voidpf, voidpf) { return 0; };
  return UnzipHandle(unzOpen2_64("", &functions));
}

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
// ZipReader
//===----------------------------------------------------------------------===//

ZipReader::ZipReader(SharedBytes source, std::string name)
    : archive(std::move(source)), archiveName(std::move(name)) {
  std::span<const std::byte> bytes = archive.bytes;
  MemoryStream stream{bytes};
  UnzipHandle file = openUnzip(stream);
  unz_global_info64 info{};
  if (!file || unzGetGlobalInfo64(file.get(), &info) != UNZ_OK)
    fail("not a zip archive, or cut off before its directory");
  if (info.number_entry > kMaxEntries)
    fail(fmt::format("{} records, more than the {} allowed", info.number_entry,
                     kMaxEntries));
  // Nothing may follow the archive: programs disagree on what such files are.
  if (bytes.size() < kEndRecordBytes + info.size_comment ||
      !asText(bytes.subspan(bytes.size() - kEndRecordBytes - info.size_comment))
           .starts_with("PK\x05\x06"))
    fail("data after the end of the archive");

  /// [begin, end) of a record, its local header included.
  struct Range {
    uint64_t begin, end;
    std::string_view name;
  };
  std::vector<Range> ranges;
  uint64_t inflatedBytes = 0;
  uint64_t directoryBegin = 0;
  for (uint64_t i = 0; i < info.number_entry; ++i) {
    unz_file_info64 record{};
    int status =
        i == 0 ? unzGoToFirstFile(file.get()) : unzGoToNextFile(file.get());
    if (status != UNZ_OK ||
        unzGetCurrentFileInfo64(file.get(), &record, nullptr, 0, nullptr, 0,
                                nullptr, 0) != UNZ_OK)
      fail(fmt::format("record {} of its directory is damaged", i));
    if (i == 0)
      directoryBegin = unzGetOffset64(file.get());
    std::string recordName(record.size_filename, '\0');
    if (unzGetCurrentFileInfo64(file.get(), &record, recordName.data(),
                                recordName.size(), nullptr, 0, nullptr,
                                0) != UNZ_OK)
      fail(fmt::format("record {} of its directory is damaged", i));
    if (std::string_view complaint = complainAboutName(recordName);
        !complaint.empty())
      fail(fmt::format("the name of record {} {}", i, complaint));
    bool isStored = record.compression_method == 0;
    if (record.flag & 1)
      fail(recordName, "encrypted");
    if (!isStored && record.compression_method != Z_DEFLATED)
      fail(recordName, fmt::format("compression method {} is not supported",
                                   record.compression_method));
    if (isStored && record.compressed_size != record.uncompressed_size)
      fail(recordName, "stored with two different sizes");
    // Checks the local header: its signature, method and lengths.
    int method = 0, level = 0;
    if (unzOpenCurrentFile2(file.get(), &method, &level, /*raw=*/1) != UNZ_OK)
      fail(recordName, "its local header is damaged");
    uint64_t dataBegin = unzGetCurrentFileZStreamPos64(file.get());
    int extraBytes = unzGetLocalExtrafield(file.get(), nullptr, 0);
    unzCloseCurrentFile(file.get());
    uint64_t headerBytes = kLocalHeaderBytes + recordName.size() +
                           static_cast<uint64_t>(std::max(extraBytes, 0));
    uint64_t dataEnd = 0;
    if (dataBegin < headerBytes ||
        __builtin_add_overflow(dataBegin, record.compressed_size, &dataEnd) ||
        dataEnd > directoryBegin)
      fail(recordName, "its data is not inside the archive");
    uint64_t begin = dataBegin - headerBytes;
    if (asText(bytes.subspan(begin + kLocalHeaderBytes, recordName.size())) !=
        recordName)
      fail(recordName, "its local header has another name");

    Entry entry;
    entry.stored = bytes.subspan(dataBegin, record.compressed_size);
    entry.numBytes = record.uncompressed_size;
    entry.crc = static_cast<uint32_t>(record.crc);
    entry.isDeflated = !isStored;
    if (entry.isDeflated) {
      if (entry.numBytes / kMaxExpansion > record.compressed_size ||
          entry.numBytes >= kMaxInflatedBytes ||
          entry.stored.size() >= kMaxInflatedBytes ||
          (inflatedBytes += entry.numBytes) >= kMaxInflatedBytes)
        fail(recordName, "compressed data that expands too much");
    }
    auto [it, isNew] = entries.emplace(std::move(recordName), entry);
    if (!isNew)
      fail(it->first, "two records of this name");
    ranges.push_back({begin, dataEnd, it->first});
  }
  std::sort(ranges.begin(), ranges.end(), [](const Range &a, const Range &b) {
    return std::tie(a.begin, a.end) < std::tie(b.begin, b.end);
  });
  if (!ranges.empty() && ranges[0].begin != 0)
    fail("data before the beginning of the archive");
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].begin < ranges[i - 1].end)
      fail(ranges[i].name,
           fmt::format("overlaps record '{}'", ranges[i - 1].name));
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
