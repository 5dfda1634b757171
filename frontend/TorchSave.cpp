#include "TorchSave.h"
#include "Detect.h"

#include <fmt/format.h>

namespace gcompile::frontend {

using Kind = PickleValue::Kind;

bool isTorchSave(const ZipReader &archive) {
  return archive.contains(archive.rootFolder() + "/data.pkl");
}

void checkByteOrder(const ZipReader &archive, const std::string &root) {
  std::string record = root + "/byteorder";
  if (!archive.contains(record))
    return;
  SharedBytes order = archive.read(record);
  if (asText(order.bytes) == "big")
    throwError(
        ErrorCode::Unsupported,
        fmt::format("{}: written on a big-endian machine", archive.name()),
        "save it again on a little-endian machine");
  if (asText(order.bytes) != "little")
    archive.fail(record, "neither 'little' nor 'big'");
}

TorchSave::TorchSave(const ZipReader &archive)
    : name(archive.name()), rootFolder(archive.rootFolder()) {
  if (archive.contains(rootFolder + "/constants.pkl"))
    throwError(ErrorCode::Unsupported,
               fmt::format("{}: a TorchScript program", name),
               "export the model with torch.export.export and save it with "
               "torch.export.save");
  checkByteOrder(archive, rootFolder);
  std::string record = rootFolder + "/data.pkl";
  SharedBytes bytes = archive.read(record);
  pickle.emplace(bytes.bytes, fmt::format("{}: {}", name, record),
                 [&](const std::string &key, std::optional<DType> dtype,
                     int64_t numElements) {
                   return readStorage(archive, key, dtype, numElements);
                 });
}

std::shared_ptr<Storage> TorchSave::readStorage(const ZipReader &archive,
                                                const std::string &key,
                                                std::optional<DType> dtype,
                                                int64_t numElements) {
  if (key.empty() || key.find_first_not_of("0123456789") != key.npos)
    archive.fail(fmt::format("storage key '{}' is not a number", key));
  std::string record = fmt::format("{}/data/{}", rootFolder, key);
  auto [it, isNew] = storages.try_emplace(key);
  SavedStorage &saved = it->second;
  auto width = static_cast<uint64_t>(dtype ? byteWidth(*dtype) : 1);
  if (isNew) {
    // Untyped bytes hold elements of at most 8 bytes.
    saved = {mapStorage(archive.map(record), dtype ? width : 8), dtype};
  } else if (saved.dtype != dtype) {
    archive.fail(record, "used with two element types");
  }
  // Storages that are not a whole number of elements are counted rounded down.
  if (saved.storage->numBytes() / width != static_cast<uint64_t>(numElements))
    archive.fail(record,
                 fmt::format("has {} bytes where {} elements of {} are claimed",
                             saved.storage->numBytes(), numElements, width));
  return saved.storage;
}

WeightStore TorchSave::stateDict() const {
  auto fail = [&](std::string what) {
    throwError(ErrorCode::InvalidArgument, fmt::format("{}: {}", name, what),
               "save the model's state_dict() with torch.save");
  };
  if (root().is(Kind::Unsupported))
    fail(fmt::format("holds {}, not a dict of tensors", root().text));
  if (!root().is(Kind::Dict))
    fail("does not hold a dict of tensors");
  WeightStore store;
  const auto &items = root().items;
  for (size_t i = 0; i < items.size(); i += 2) {
    const PickleValue &value = *items[i + 1];
    if (!items[i]->is(Kind::String))
      fail("a key of its dict is not a string");
    const std::string &key = items[i]->text;
    if (store.tensors.contains(key) || store.absent.contains(key))
      fail(fmt::format("key '{}' occurs twice", key));
    if (value.is(Kind::Tensor))
      store.tensors.emplace(key, *value.tensor);
    else
      store.absent.emplace(key, value.is(Kind::Unsupported) ? value.text
                                                            : "not a tensor");
  }
  return store;
}

std::vector<std::optional<Tensor>> TorchSave::leaves(size_t maxLeaves) const {
  constexpr int kMaxDepth = 64;
  std::vector<std::optional<Tensor>> found;
  // Shared containers make a small file a large tree, so count every visit.
  size_t visitsLeft = 16 * (maxLeaves + 64);
  auto walk = [&](auto &walk, const PickleValue &value, int depth) -> bool {
    if (depth > kMaxDepth || visitsLeft-- == 0)
      return false;
    bool isDict = value.is(Kind::Dict);
    if (!isDict && !value.is(Kind::Tuple) && !value.is(Kind::List)) {
      found.push_back(value.is(Kind::Tensor) ? std::optional(*value.tensor)
                                             : std::nullopt);
      return found.size() <= maxLeaves;
    }
    for (size_t i = isDict ? 1 : 0; i < value.items.size(); i += isDict ? 2 : 1)
      if (!walk(walk, *value.items[i], depth + 1))
        return false;
    return true;
  };
  if (!walk(walk, root(), 0))
    found.clear();
  return found;
}

} // namespace gcompile::frontend
