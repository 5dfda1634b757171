//===- TorchSave.h - files of torch.save ----------------------------------===//
// A zip archive of one pickle and the storages it names, which stay mapped.
// Throws ErrorException.
#pragma once
#include "Pickle.h"
#include "ZipReader.h"
#include "gcompile/frontend/Program.h"

#include <map>
#include <string>

namespace gcompile::frontend {

class TorchSave {
public:
  explicit TorchSave(const ZipReader &archive);

  const PickleValue &root() const { return pickle->root(); }
  /// The saved object as a dict of tensors by name. Values that are not tensors
  /// are `absent`.
  WeightStore stateDict() const;
  /// The leaves of nested tuples, lists and dicts, in order; none for a leaf
  /// that is not a tensor. Empty if there are more than `maxLeaves`.
  std::vector<std::optional<Tensor>> leaves(size_t maxLeaves) const;

private:
  std::shared_ptr<Storage> readStorage(const ZipReader &archive,
                                       const std::string &key,
                                       std::optional<DType> dtype,
                                       int64_t numElements);
  struct SavedStorage {
    std::shared_ptr<Storage> storage;
    std::optional<DType> dtype;
  };

  std::string name, rootFolder;
  std::map<std::string, SavedStorage> storages;
  std::optional<Pickle> pickle;
};

/// True if the archive's records are those of torch.save.
bool isTorchSave(const ZipReader &archive);

/// Refuses an archive whose raw data has the other byte order.
void checkByteOrder(const ZipReader &archive, const std::string &root);

} // namespace gcompile::frontend
