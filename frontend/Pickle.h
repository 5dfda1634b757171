//===- Pickle.h - a pickle reader that can build tensors and nothing else -===//
// Opcodes and globals come from closed tables; nothing is looked up by name or
// called. A Python object that is not in the tables becomes Kind::Unsupported,
// an error only for who needs it. Throws ErrorException.
#pragma once
#include "gcompile/base/Tensor.h"

#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gcompile::frontend {

/// A Python value. Owned by its Pickle; containers may share values, and a
/// hostile file may nest them deeply or in cycles.
struct PickleValue {
  enum class Kind : uint8_t {
    None,
    Bool,        ///< integer
    Int,         ///< integer
    Float,       ///< real
    String,      ///< text; also devices and layouts, by name
    Tuple,       ///< items
    List,        ///< items
    Dict,        ///< items: key, value, key, value, ... in order of insertion
    Tensor,      ///< tensor
    DType,       ///< dtype
    Storage,     ///< tensor's storage; dtype of a typed one is text's
    Global,      ///< integer: index in the table of callables
    Unsupported, ///< text: what it is
  };
  Kind kind = Kind::None;
  DType dtype = DType::UInt8;
  int64_t integer = 0;
  double real = 0;
  std::string text;
  std::vector<const PickleValue *> items;
  std::unique_ptr<Tensor> tensor;

  bool is(Kind other) const { return kind == other; }
};

class Pickle {
public:
  /// The bytes of a storage that a persistent id names: `key`, its dtype (none:
  /// untyped) and number of elements.
  using StorageReader = std::function<std::shared_ptr<Storage>(
      const std::string &key, std::optional<DType> dtype, int64_t numElements)>;

  /// Reads all of `bytes`; `name` is the record's for messages.
  Pickle(std::span<const std::byte> bytes, std::string name,
         const StorageReader &readStorage);

  const PickleValue &root() const { return *top; }

private:
  class Machine;
  /// Flat, so that deep structures are freed without recursion.
  std::deque<PickleValue> values;
  const PickleValue *top = nullptr;
};

} // namespace gcompile::frontend
