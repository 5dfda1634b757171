#include "Safetensors.h"
#include "Detect.h"
#include "MappedTensor.h"
#include "gcompile/frontend/Readers.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fmt/format.h>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace gcompile::frontend {
namespace {

constexpr size_t kLengthBytes = 8;
/// The reference reader's limit.
constexpr uint64_t kMaxHeaderBytes = 100'000'000;

struct Name {
  DType dtype;
  std::string_view name;
};
constexpr std::array<Name, 19> kNames{{
    {DType::Bool, "BOOL"},
    {DType::UInt8, "U8"},
    {DType::Int8, "I8"},
    {DType::UInt16, "U16"},
    {DType::Int16, "I16"},
    {DType::UInt32, "U32"},
    {DType::Int32, "I32"},
    {DType::UInt64, "U64"},
    {DType::Int64, "I64"},
    {DType::Float8E4M3FN, "F8_E4M3"},
    {DType::Float8E5M2, "F8_E5M2"},
    {DType::Float8E4M3FNUZ, "F8_E4M3FNUZ"},
    {DType::Float8E5M2FNUZ, "F8_E5M2FNUZ"},
    {DType::Float8E8M0FNU, "F8_E8M0"},
    {DType::Float16, "F16"},
    {DType::BFloat16, "BF16"},
    {DType::Float32, "F32"},
    {DType::Float64, "F64"},
    {DType::Complex64, "C64"},
}};

std::optional<DType> dtypeOf(std::string_view name) {
  for (const Name &entry : kNames)
    if (entry.name == name)
      return entry.dtype;
  return std::nullopt;
}

/// One entry of the header.
struct Entry {
  Json json; ///< for messages
  std::optional<DType> dtype;
  std::vector<int64_t> sizes;
  int64_t begin, end; ///< [begin, end) in the data
};

Entry readEntry(Json json) {
  Entry entry{json, dtypeOf(json.at("dtype").asString()), {}, 0, 0};
  for (Json size : json.at("shape").elements()) {
    entry.sizes.push_back(size.asInt());
    if (entry.sizes.back() < 0)
      size.fail("negative size");
  }
  Json offsets = json.at("data_offsets");
  if (offsets.count() != 2)
    offsets.fail("expected [begin, end]");
  auto offset = offsets.elements().begin();
  entry.begin = (*offset).asInt();
  entry.end = (*++offset).asInt();
  if (!entry.dtype)
    return entry;
  int64_t needed = byteWidth(*entry.dtype);
  bool isEmpty = false;
  for (int64_t size : entry.sizes) {
    isEmpty |= size == 0;
    if (__builtin_mul_overflow(needed, std::max<int64_t>(size, 1), &needed))
      json.fail("the shape's size overflows 64 bits");
  }
  if (isEmpty)
    needed = 0;
  if (entry.begin < 0 || entry.begin > entry.end ||
      entry.end - entry.begin != needed)
    json.fail(fmt::format("the shape needs {} bytes, but data_offsets are "
                          "[{}, {})",
                          needed, entry.begin, entry.end));
  return entry;
}

} // namespace

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

WeightStore readSafetensorsStore(const std::string &path,
                                 const std::shared_ptr<MappedFile> &file) {
  constexpr const char *kHelp =
      "the file is damaged or cut off; copy or download it again";
  auto fail = [&](std::string what) {
    throwError(ErrorCode::InvalidArgument, fmt::format("{}: {}", path, what),
               kHelp);
  };
  std::span<const std::byte> bytes = file->bytes();
  uint64_t headerBytes = 0;
  if (bytes.size() < kLengthBytes)
    fail("shorter than the 8 bytes that begin a safetensors file");
  std::memcpy(&headerBytes, bytes.data(), kLengthBytes);
  if (headerBytes > kMaxHeaderBytes ||
      headerBytes > bytes.size() - kLengthBytes)
    fail(fmt::format("header of {} bytes in a file of {}", headerBytes,
                     bytes.size()));
  JsonDocument header(asText(bytes.subspan(kLengthBytes, headerBytes)), path);
  std::span<const std::byte> data = bytes.subspan(kLengthBytes + headerBytes);

  std::vector<Entry> entries;
  for (Json member : header.root().members()) {
    if (member.key() != "__metadata__") {
      entries.push_back(readEntry(member));
      continue;
    }
    for (Json value : member.members())
      value.asString();
  }
  std::sort(entries.begin(), entries.end(), [](const Entry &a, const Entry &b) {
    return std::pair(a.begin, a.end) < std::pair(b.begin, b.end);
  });
  int64_t expected = 0;
  WeightStore store;
  for (Entry &entry : entries) {
    if (entry.begin != expected || entry.end < entry.begin)
      entry.json.fail(fmt::format("its data begins at {}, not at {} where the "
                                  "tensor before it ends",
                                  entry.begin, expected),
                      kHelp);
    expected = entry.end;
    if (static_cast<uint64_t>(entry.end) > data.size())
      entry.json.fail(fmt::format("its data ends at {}, but only {} bytes "
                                  "follow the header",
                                  entry.end, data.size()),
                      kHelp);
    std::string name(entry.json.key());
    if (!entry.dtype) {
      store.absent[name] = fmt::format("element type '{}' is not supported",
                                       entry.json.at("dtype").asString());
      continue;
    }
    Tensor tensor;
    tensor.dtype = *entry.dtype;
    tensor.strides = contiguousStrides(entry.sizes);
    tensor.sizes = std::move(entry.sizes);
    tensor.storage =
        mapStorage({data.subspan(static_cast<size_t>(entry.begin),
                                 static_cast<size_t>(entry.end - entry.begin)),
                    file},
                   static_cast<size_t>(byteWidth(tensor.dtype)));
    store.tensors.emplace(std::move(name), std::move(tensor));
  }
  if (static_cast<uint64_t>(expected) != data.size())
    fail(fmt::format("{} bytes after the last tensor",
                     data.size() - static_cast<uint64_t>(expected)));
  return store;
}

WeightStore readShardedSafetensors(const std::string &path, Json index) {
  std::map<std::string, WeightStore> shards;
  WeightStore store;
  std::filesystem::path folder = std::filesystem::path(path).parent_path();
  for (Json member : index.at("weight_map").members()) {
    std::string name(member.key());
    std::string shard(member.asString());
    if (shard.empty() || shard.find_first_of("/\\") != shard.npos ||
        shard == "." || shard == "..")
      member.fail("expected the name of a file in the same folder");
    auto [it, isNew] = shards.try_emplace(shard);
    if (isNew) {
      std::string shardPath = (folder / shard).string();
      it->second = readSafetensorsStore(
          shardPath, MappedFile::open(shardPath).valueOrThrow());
    }
    if (auto found = it->second.tensors.find(name);
        found != it->second.tensors.end())
      store.tensors.insert(*found);
    else if (auto reason = it->second.absent.find(name);
             reason != it->second.absent.end())
      store.absent.insert(*reason);
    else
      member.fail(fmt::format("'{}' has no such tensor", shard));
  }
  return store;
}

Result<std::map<std::string, Tensor>> readSafetensors(const std::string &path) {
  using ResultT = Result<std::map<std::string, Tensor>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    WeightStore store =
        readSafetensorsStore(path, MappedFile::open(path).valueOrThrow());
    for (const auto &[name, reason] : store.absent)
      throwError(ErrorCode::Unsupported,
                 fmt::format("{}: tensor '{}': {}", path, name, reason));
    return std::move(store.tensors);
  });
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

namespace {

/// A file beside `path` that replaces it when committed, else disappears.
class AtomicFile {
public:
  explicit AtomicFile(const std::string &path) : path(path) {
    static std::atomic<unsigned> counter = 0;
    temporary = fmt::format("{}.{}-{}.tmp", path, ::getpid(), counter++);
    fd = ::open(temporary.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC,
                0666);
    if (fd < 0)
      fail("create");
  }
  ~AtomicFile() {
    if (fd < 0)
      return;
    ::close(fd);
    ::unlink(temporary.c_str());
  }
  void write(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      ssize_t written = ::write(fd, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR)
        continue;
      if (written < 0)
        fail("write");
      bytes = bytes.subspan(static_cast<size_t>(written));
    }
  }
  void commit() {
    if (::rename(temporary.c_str(), path.c_str()) != 0)
      fail("write");
    if (::close(std::exchange(fd, -1)) != 0)
      fail("write");
  }

private:
  [[noreturn]] void fail(const char *what) {
    throwError(
        ErrorCode::InvalidArgument,
        fmt::format("cannot {} '{}': {}", what, path, std::strerror(errno)));
  }
  std::string path, temporary;
  int fd = -1;
};

} // namespace

Status writeSafetensors(const std::string &path,
                        const std::map<std::string, Tensor> &tensors) {
  return catchErrors<Status>([&]() -> Status {
    // Wide elements first keep every tensor aligned, as the reference does.
    std::vector<const std::pair<const std::string, Tensor> *> order;
    for (const auto &entry : tensors)
      order.push_back(&entry);
    std::stable_sort(order.begin(), order.end(), [](auto *a, auto *b) {
      return byteWidth(a->second.dtype) > byteWidth(b->second.dtype);
    });
    nlohmann::ordered_json::object_t header;
    int64_t offset = 0;
    for (const auto *entry : order) {
      const auto &[name, tensor] = *entry;
      auto known = std::find_if(kNames.begin(), kNames.end(),
                                [&](const Name &candidate) {
                                  return candidate.dtype == tensor.dtype;
                                });
      if (known == kNames.end())
        throwError(ErrorCode::Unsupported,
                   fmt::format("cannot write tensor '{}' to '{}': safetensors "
                               "has no element type {}",
                               name, path, gcompile::name(tensor.dtype)));
      int64_t end = offset + tensor.numBytes();
      header.emplace_back(
          name, nlohmann::ordered_json{{"dtype", known->name},
                                       {"shape", tensor.sizes},
                                       {"data_offsets", {offset, end}}});
      offset = end;
    }
    std::string text = nlohmann::ordered_json(std::move(header)).dump();
    text.resize((text.size() + 7) / 8 * 8, ' ');
    uint64_t headerBytes = text.size();

    AtomicFile file(path);
    file.write(std::as_bytes(std::span(&headerBytes, 1)));
    file.write(std::as_bytes(std::span(text)));
    for (const auto *entry : order) {
      Tensor dense = entry->second.contiguous();
      if (dense.numElements() > 0)
        file.write({dense.data(), static_cast<size_t>(dense.numBytes())});
    }
    file.commit();
    return {};
  });
}

} // namespace gcompile::frontend
