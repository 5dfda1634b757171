#include "Pickle.h"
#include "Detect.h"
#include "MappedTensor.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <fmt/format.h>
#include <unordered_map>

namespace gcompile::frontend {
namespace {

using Kind = PickleValue::Kind;

constexpr size_t kMaxBytes = size_t{1} << 26;
constexpr size_t kMaxValues = size_t{1} << 22;
constexpr int kMaxProtocol = 5;

enum Opcode : uint8_t {
  kMark = '(',
  kStop = '.',
  kEmptyTuple = ')',
  kEmptyList = ']',
  kEmptyDict = '}',
  kAppend = 'a',
  kAppends = 'e',
  kBuild = 'b',
  kGlobal = 'c',
  kBinGet = 'h',
  kLongBinGet = 'j',
  kBinPut = 'q',
  kLongBinPut = 'r',
  kSetItem = 's',
  kSetItems = 'u',
  kTuple = 't',
  kBinFloat = 'G',
  kBinInt = 'J',
  kBinInt1 = 'K',
  kBinInt2 = 'M',
  kNone = 'N',
  kBinPersId = 'Q',
  kReduce = 'R',
  kShortBinString = 'U',
  kBinUnicode = 'X',
  kProto = 0x80,
  kNewObj = 0x81,
  kTuple1 = 0x85,
  kTuple2 = 0x86,
  kTuple3 = 0x87,
  kNewTrue = 0x88,
  kNewFalse = 0x89,
  kLong1 = 0x8a,
  // Protocol 4, which a user can ask torch.save for.
  kShortBinUnicode = 0x8c,
  kStackGlobal = 0x93,
  kMemoize = 0x94,
  kFrame = 0x95,
};

enum class Callable : uint8_t {
  RebuildTensorV2,
  RebuildTensorV3,
  RebuildParameter,
  OrderedDict,
  Size,
  Device,
  Layout,
};

struct NamedCallable {
  std::string_view name;
  Callable callable;
};
constexpr NamedCallable kCallables[] = {
    {"torch._utils._rebuild_tensor_v2", Callable::RebuildTensorV2},
    {"torch._utils._rebuild_tensor_v3", Callable::RebuildTensorV3},
    {"torch._utils._rebuild_parameter", Callable::RebuildParameter},
    {"torch._utils._rebuild_parameter_with_state", Callable::RebuildParameter},
    {"collections.OrderedDict", Callable::OrderedDict},
    {"torch.Size", Callable::Size},
    {"torch.device", Callable::Device},
    {"torch.serialization._get_layout", Callable::Layout},
};

struct StorageType {
  std::string_view name;
  std::optional<DType> dtype; ///< none: bytes
};
constexpr StorageType kStorageTypes[] = {
    {"torch.DoubleStorage", DType::Float64},
    {"torch.FloatStorage", DType::Float32},
    {"torch.HalfStorage", DType::Float16},
    {"torch.BFloat16Storage", DType::BFloat16},
    {"torch.LongStorage", DType::Int64},
    {"torch.IntStorage", DType::Int32},
    {"torch.ShortStorage", DType::Int16},
    {"torch.CharStorage", DType::Int8},
    {"torch.ByteStorage", DType::UInt8},
    {"torch.BoolStorage", DType::Bool},
    {"torch.ComplexDoubleStorage", DType::Complex128},
    {"torch.ComplexFloatStorage", DType::Complex64},
    {"torch.storage.UntypedStorage", std::nullopt},
};

struct Description {
  std::string_view global, text;
};
/// Objects without tensor data that users meet, in their words.
constexpr Description kDescriptions[] = {
    {"torch._utils._rebuild_sparse_tensor", "a sparse tensor"},
    {"torch._utils._rebuild_qtensor", "a quantised tensor"},
    {"torch._utils._rebuild_nested_tensor", "a nested tensor"},
    {"torch._utils._rebuild_meta_tensor_no_storage",
     "a meta tensor, which has no data"},
    {"torch._utils._rebuild_wrapper_subclass", "a tensor subclass"},
    {"torch._tensor._rebuild_from_type_v2", "a tensor subclass"},
    {"torch._export.serde.serialize._reconstruct_fake_tensor",
     "a fake tensor, which has no data"},
};

const StorageType *findStorageType(std::string_view name) {
  for (const StorageType &type : kStorageTypes)
    if (type.name == name)
      return &type;
  return nullptr;
}

} // namespace

//===----------------------------------------------------------------------===//
// The pickle machine
//===----------------------------------------------------------------------===//

class Pickle::Machine {
public:
  Machine(Pickle &pickle, std::span<const std::byte> bytes, std::string name,
          const StorageReader &readStorage)
      : pickle(pickle), text(asText(bytes)), name(std::move(name)),
        readStorage(readStorage) {}

  const PickleValue *run();

private:
  using Value = PickleValue *;

  [[noreturn]] void fail(std::string what) const {
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: pickle byte {}: {}", name, opcodeOffset, what),
               "the file is damaged or was not written by torch.save");
  }

  // Input.
  std::string_view take(uint64_t count) {
    if (count > text.size() - offset)
      fail("cut off");
    std::string_view taken = text.substr(offset, count);
    offset += count;
    return taken;
  }
  template <typename T>
  T takeNumber() {
    T value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }
  std::string_view takeLine() {
    size_t end = text.find('\n', offset);
    if (end == text.npos)
      fail("cut off");
    std::string_view line = text.substr(offset, end - offset);
    offset = end + 1;
    return line;
  }

  // Stack.
  Value make(Kind kind) {
    if (pickle.values.size() >= kMaxValues)
      fail(fmt::format("more than {} values", kMaxValues));
    Value value = &pickle.values.emplace_back();
    value->kind = kind;
    return value;
  }
  Value push(Value value) {
    stack.push_back(value);
    return value;
  }
  Value push(Kind kind) { return push(make(kind)); }
  void pushInt(int64_t value) { push(Kind::Int)->integer = value; }
  void pushText(Kind kind, std::string_view value) { push(kind)->text = value; }
  size_t floor() const { return marks.empty() ? 0 : marks.back(); }
  Value pop() {
    if (stack.size() <= floor())
      fail("takes a value from an empty stack");
    Value value = stack.back();
    stack.pop_back();
    return value;
  }
  Value top() {
    Value value = pop();
    return push(value);
  }
  std::vector<Value> popToMark() {
    if (marks.empty())
      fail("there is no mark");
    auto begin = stack.begin() + static_cast<ptrdiff_t>(marks.back());
    std::vector<Value> values(begin, stack.end());
    stack.erase(begin, stack.end());
    marks.pop_back();
    return values;
  }
  void pushTuple(size_t count) {
    Value tuple = make(Kind::Tuple);
    tuple->items.resize(count);
    for (size_t i = count; i-- > 0;)
      tuple->items[i] = pop();
    push(tuple);
  }

  // Containers. What a file puts into an unsupported object is dropped.
  void append(Value list, const std::vector<Value> &values) {
    if (list->is(Kind::Unsupported))
      return;
    if (!list->is(Kind::List))
      fail("appends to what is not a list");
    list->items.insert(list->items.end(), values.begin(), values.end());
  }
  void setItems(Value dict, const std::vector<Value> &values) {
    if (values.size() % 2 != 0)
      fail("a key without a value");
    if (dict->is(Kind::Unsupported))
      return;
    if (!dict->is(Kind::Dict))
      fail("sets an item of what is not a dict");
    dict->items.insert(dict->items.end(), values.begin(), values.end());
  }

  // Memo.
  void put(uint64_t index) { memo[index] = top(); }
  void get(uint64_t index) {
    auto it = memo.find(index);
    if (it == memo.end())
      fail(fmt::format("reads memo {}, which is not set", index));
    push(it->second);
  }

  // Objects.
  void pushGlobal(std::string_view module, std::string_view member);
  void pushPersistent(const PickleValue &id);
  void reduce();
  Value call(Callable callable, const PickleValue &arguments);
  Value rebuildTensor(const PickleValue &arguments, bool hasDType);
  std::vector<int64_t> integers(const PickleValue &value) const;
  Value unsupported(std::string_view what) {
    Value value = make(Kind::Unsupported);
    value->text = what;
    return value;
  }
  const PickleValue &argument(const PickleValue &arguments, size_t index,
                              Kind kind) const {
    if (index >= arguments.items.size() || !arguments.items[index]->is(kind))
      fail(fmt::format("argument {} of a call is missing or of another type",
                       index));
    return *arguments.items[index];
  }

  bool step();

  Pickle &pickle;
  std::string_view text;
  std::string name;
  const StorageReader &readStorage;
  size_t offset = 0, opcodeOffset = 0;
  std::vector<Value> stack;
  std::vector<size_t> marks; ///< sizes of the stack
  std::unordered_map<uint64_t, Value> memo;
};

const PickleValue *Pickle::Machine::run() {
  if (text.size() > kMaxBytes)
    fail(fmt::format("{} bytes, more than the {} allowed", text.size(),
                     kMaxBytes));
  while (step()) {
  }
  if (offset != text.size())
    fail("data after its end");
  if (stack.size() != 1 || !marks.empty())
    fail("ends with more or less than one value");
  return stack[0];
}

/// Runs one opcode; false after the last.
bool Pickle::Machine::step() {
  opcodeOffset = offset;
  switch (auto opcode = takeNumber<uint8_t>()) {
  case kProto:
    if (takeNumber<uint8_t>() > kMaxProtocol)
      fail("unknown protocol");
    return true;
  case kFrame:
    takeNumber<uint64_t>();
    return true;
  case kStop:
    return false;
  case kMark:
    marks.push_back(stack.size());
    return true;

  case kNone:
    push(Kind::None);
    return true;
  case kNewTrue:
  case kNewFalse:
    push(Kind::Bool)->integer = opcode == kNewTrue;
    return true;
  case kBinInt:
    pushInt(takeNumber<int32_t>());
    return true;
  case kBinInt1:
    pushInt(takeNumber<uint8_t>());
    return true;
  case kBinInt2:
    pushInt(takeNumber<uint16_t>());
    return true;
  case kLong1: {
    std::string_view digits = take(takeNumber<uint8_t>());
    if (digits.size() > sizeof(int64_t)) {
      push(unsupported("an integer of more than 64 bits"));
      return true;
    }
    bool isNegative = !digits.empty() && (digits.back() & 0x80) != 0;
    int64_t value = isNegative ? -1 : 0;
    std::memcpy(&value, digits.data(), digits.size());
    pushInt(value);
    return true;
  }
  case kBinFloat: {
    auto bits = __builtin_bswap64(takeNumber<uint64_t>());
    push(Kind::Float)->real = std::bit_cast<double>(bits);
    return true;
  }
  case kBinUnicode:
    pushText(Kind::String, take(takeNumber<uint32_t>()));
    return true;
  case kShortBinUnicode:
  case kShortBinString:
    pushText(Kind::String, take(takeNumber<uint8_t>()));
    return true;

  case kEmptyTuple:
    push(Kind::Tuple);
    return true;
  case kTuple1:
  case kTuple2:
  case kTuple3:
    pushTuple(opcode - kTuple1 + 1u);
    return true;
  case kTuple: {
    std::vector<Value> items = popToMark();
    push(Kind::Tuple)->items.assign(items.begin(), items.end());
    return true;
  }
  case kEmptyList:
    push(Kind::List);
    return true;
  case kEmptyDict:
    push(Kind::Dict);
    return true;
  case kAppend: {
    Value item = pop();
    append(top(), {item});
    return true;
  }
  case kAppends: {
    std::vector<Value> items = popToMark();
    append(top(), items);
    return true;
  }
  case kSetItem: {
    Value value = pop();
    Value key = pop();
    setItems(top(), {key, value});
    return true;
  }
  case kSetItems: {
    std::vector<Value> items = popToMark();
    setItems(top(), items);
    return true;
  }

  case kBinPut:
    put(takeNumber<uint8_t>());
    return true;
  case kLongBinPut:
    put(takeNumber<uint32_t>());
    return true;
  case kMemoize:
    put(memo.size());
    return true;
  case kBinGet:
    get(takeNumber<uint8_t>());
    return true;
  case kLongBinGet:
    get(takeNumber<uint32_t>());
    return true;

  case kGlobal: {
    std::string_view module = takeLine();
    pushGlobal(module, takeLine());
    return true;
  }
  case kStackGlobal: {
    Value member = pop();
    Value module = pop();
    if (!member->is(Kind::String) || !module->is(Kind::String))
      fail("a global's name is not a string");
    pushGlobal(module->text, member->text);
    return true;
  }
  case kBinPersId:
    pushPersistent(*pop());
    return true;
  case kReduce:
  case kNewObj:
    reduce();
    return true;
  case kBuild: {
    // Attributes of an OrderedDict (`_metadata`) or a Parameter: not needed.
    pop();
    Value object = top();
    if (!object->is(Kind::Dict) && !object->is(Kind::Tensor) &&
        !object->is(Kind::Unsupported))
      fail("sets attributes of what has none");
    return true;
  }
  default:
    fail(fmt::format("opcode 0x{:02x} is not allowed", opcode));
  }
}

void Pickle::Machine::pushGlobal(std::string_view module,
                                 std::string_view member) {
  std::string global = fmt::format("{}.{}", module, member);
  for (const NamedCallable &entry : kCallables)
    if (entry.name == global) {
      push(Kind::Global)->integer = static_cast<int64_t>(entry.callable);
      return;
    }
  if (findStorageType(global))
    return pushText(Kind::Storage, global);
  if (module == "torch")
    if (std::optional<DType> dtype = dtypeFromName(member)) {
      push(Kind::DType)->dtype = *dtype;
      return;
    }
  for (const Description &entry : kDescriptions)
    if (entry.global == global) {
      push(unsupported(entry.text));
      return;
    }
  push(unsupported(fmt::format("a Python object of '{}'", global)));
}

void Pickle::Machine::pushPersistent(const PickleValue &id) {
  // ('storage', type, key, location, number of elements)
  if (!id.is(Kind::Tuple) || id.items.size() != 5 ||
      !id.items[0]->is(Kind::String) || id.items[0]->text != "storage")
    fail("a persistent id that names no storage");
  const PickleValue &type = *id.items[1];
  if (type.is(Kind::Unsupported)) {
    push(unsupported(type.text));
    return;
  }
  if (!type.is(Kind::Storage) || type.tensor)
    fail("a storage without a storage type");
  const std::string &key = argument(id, 2, Kind::String).text;
  int64_t numElements = argument(id, 4, Kind::Int).integer;
  if (numElements < 0)
    fail("a storage of negative size");
  auto tensor = std::make_unique<Tensor>();
  tensor->storage =
      readStorage(key, findStorageType(type.text)->dtype, numElements);
  Value storage = push(Kind::Storage);
  storage->text = type.text;
  storage->tensor = std::move(tensor);
}

void Pickle::Machine::reduce() {
  Value arguments = pop();
  Value callable = pop();
  if (!arguments->is(Kind::Tuple))
    fail("calls with arguments that are not a tuple");
  if (callable->is(Kind::Unsupported))
    push(unsupported(callable->text));
  else if (callable->is(Kind::Global))
    push(call(static_cast<Callable>(callable->integer), *arguments));
  else
    fail("calls what cannot be called");
}

PickleValue *Pickle::Machine::call(Callable callable,
                                   const PickleValue &arguments) {
  switch (callable) {
  case Callable::RebuildTensorV2:
    return rebuildTensor(arguments, /*hasDType=*/false);
  case Callable::RebuildTensorV3:
    return rebuildTensor(arguments, /*hasDType=*/true);
  case Callable::RebuildParameter: {
    if (arguments.items.empty())
      fail("a parameter without a tensor");
    const PickleValue &data = *arguments.items[0];
    if (data.is(Kind::Unsupported))
      return unsupported(data.text);
    Value parameter = make(Kind::Tensor);
    parameter->tensor =
        std::make_unique<Tensor>(*argument(arguments, 0, Kind::Tensor).tensor);
    return parameter;
  }
  case Callable::OrderedDict: {
    if (!arguments.items.empty())
      return unsupported("an OrderedDict built from items");
    return make(Kind::Dict);
  }
  case Callable::Size: {
    Value size = make(Kind::Tuple);
    size->items = argument(arguments, 0, Kind::Tuple).items;
    return size;
  }
  case Callable::Device: {
    Value device = make(Kind::String);
    device->text = argument(arguments, 0, Kind::String).text;
    if (arguments.items.size() > 1)
      device->text +=
          fmt::format(":{}", argument(arguments, 1, Kind::Int).integer);
    return device;
  }
  case Callable::Layout: {
    Value layout = make(Kind::String);
    layout->text = argument(arguments, 0, Kind::String).text;
    return layout;
  }
  }
  fail("unknown callable");
}

std::vector<int64_t> Pickle::Machine::integers(const PickleValue &value) const {
  std::vector<int64_t> numbers;
  for (size_t i = 0; i < value.items.size(); ++i)
    numbers.push_back(argument(value, i, Kind::Int).integer);
  return numbers;
}

PickleValue *Pickle::Machine::rebuildTensor(const PickleValue &arguments,
                                            bool hasDType) {
  // (storage, offset, size, stride, requires_grad, hooks[, dtype][, metadata])
  constexpr size_t kDTypeIndex = 6;
  if (arguments.items.empty())
    fail("a tensor without a storage");
  const PickleValue &source = *arguments.items[0];
  if (source.is(Kind::Unsupported))
    return unsupported(source.text);
  const PickleValue &storage = argument(arguments, 0, Kind::Storage);
  if (!storage.tensor)
    fail("a tensor over a type in place of a storage");
  std::optional<DType> dtype = findStorageType(storage.text)->dtype;
  if (hasDType) {
    if (arguments.items.size() > kDTypeIndex &&
        arguments.items[kDTypeIndex]->is(Kind::Unsupported))
      return unsupported(arguments.items[kDTypeIndex]->text);
    dtype = argument(arguments, kDTypeIndex, Kind::DType).dtype;
  }
  if (!dtype)
    fail("a tensor without an element type");

  size_t metadataIndex = hasDType ? kDTypeIndex + 1 : kDTypeIndex;
  if (metadataIndex < arguments.items.size()) {
    const PickleValue &metadata =
        argument(arguments, metadataIndex, Kind::Dict);
    for (size_t i = 0; i + 1 < metadata.items.size(); i += 2)
      if (metadata.items[i + 1]->is(Kind::Bool) &&
          metadata.items[i + 1]->integer)
        return unsupported("a lazily conjugated or negated tensor");
  }

  auto tensor = std::make_unique<Tensor>();
  tensor->dtype = *dtype;
  tensor->storageOffset = argument(arguments, 1, Kind::Int).integer;
  tensor->sizes = integers(argument(arguments, 2, Kind::Tuple));
  tensor->strides = integers(argument(arguments, 3, Kind::Tuple));
  tensor->storage = storage.tensor->storage;
  if (std::string complaint = complainAboutTensor(*tensor); !complaint.empty())
    fail(fmt::format("a tensor {}", complaint));
  Value value = make(Kind::Tensor);
  value->tensor = std::move(tensor);
  return value;
}

Pickle::Pickle(std::span<const std::byte> bytes, std::string name,
               const StorageReader &readStorage) {
  top = Machine(*this, bytes, std::move(name), readStorage).run();
}

} // namespace gcompile::frontend
