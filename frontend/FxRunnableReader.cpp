#include "FxRunnableReader.h"
#include "FxValue.h"
#include "SymExprText.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <map>

namespace gcompile::frontend {
namespace {

using ExprKind = FxExpr::Kind;
using StatementKind = FxStatement::Kind;

Argument literal(const FxSource &source, const FxExpr &expr) {
  return readValue(source, expr, [&](const FxExpr &path) -> Argument {
    source.fail(path.begin,
                fmt::format("expected a literal, found '{}'", path.text));
  });
}

/// The argument of a call with this keyword or, if positional, this index.
const FxExpr *callArgument(const FxExpr &call, std::string_view keyword,
                           std::optional<size_t> index = {}) {
  for (size_t i = 0; i < call.keywords.size(); ++i)
    if (call.keywords[i] == keyword || (index == i && call.keywords[i].empty()))
      return &call.operands[i + 1];
  return nullptr;
}

std::optional<DType> dtypeArgument(const FxSource &source, const FxExpr &call) {
  const FxExpr *expr = callArgument(call, "dtype");
  if (!expr)
    return std::nullopt;
  Argument value = literal(source, *expr);
  if (const auto *dtype = std::get_if<DType>(&value.data))
    return *dtype;
  source.fail(expr->begin, "expected a dtype");
}

std::string deviceArgument(const FxSource &source, const FxExpr &call) {
  const FxExpr *expr = callArgument(call, "device");
  if (!expr)
    return "cpu";
  Argument value = literal(source, *expr);
  if (const auto *device = std::get_if<Device>(&value.data))
    return device->name;
  if (const auto *name = std::get_if<std::string>(&value.data))
    return *name;
  source.fail(expr->begin, "expected a device");
}

/// A number or an expression such as 2*s0.
SymInt size(const FxSource &source, const FxExpr &expr) {
  try {
    return parseSymInt(source.text().substr(expr.begin, expr.end - expr.begin));
  } catch (const TextError &error) {
    source.fail(expr.begin + error.offset, error.what, {}, error.code);
  }
}

/// A tuple or list of sizes.
std::vector<SymInt> sizeList(const FxSource &source, const FxExpr &expr) {
  if (expr.kind != ExprKind::Tuple && expr.kind != ExprKind::List)
    source.fail(expr.begin, "expected a list of sizes");
  std::vector<SymInt> sizes;
  for (const FxExpr &operand : expr.operands)
    sizes.push_back(size(source, operand));
  return sizes;
}

/// Sizes that must be numbers, and whose product must fit in 64 bits.
std::vector<int64_t> staticSizes(const FxSource &source, const FxExpr &where,
                                 const std::vector<SymInt> &sizes) {
  std::vector<int64_t> numbers;
  int64_t product = 1;
  for (const SymInt &size : sizes) {
    if (!size.isStatic() || size.value < 0 ||
        __builtin_mul_overflow(product, std::max<int64_t>(size.value, 1),
                               &product))
      source.fail(where.begin, "the sizes are negative or too large");
    numbers.push_back(size.value);
  }
  return numbers;
}

//===----------------------------------------------------------------------===//
// load_args
//===----------------------------------------------------------------------===//

/// Reads the inputs of a graph, in order. One that could not be dumped has no
/// type.
class LoadArgsReader {
public:
  explicit LoadArgsReader(const FxSource &source) : source(source) {}

  std::vector<std::optional<ValueMeta>> read(const FxFunction &function) {
    for (const FxStatement &statement : function.body) {
      if (statement.kind == StatementKind::Comment) {
        if (statement.text.find(" was unsupported type for dumping") !=
            std::string_view::npos)
          inputs.emplace_back();
        continue;
      }
      const FxExpr &call = statement.value;
      std::string_view callee;
      if (call.kind == ExprKind::Call &&
          call.operands[0].kind == ExprKind::Path)
        callee = call.operands[0].text;
      if (callee == "reader.storage" && statement.kind == StatementKind::Assign)
        devices[statement.targets[0].text] = deviceArgument(source, call);
      else if (callee == "reader.tensor")
        inputs.push_back(tensor(call));
      else if (callee == "reader.symint")
        inputs.push_back(symInt(call));
      else if (callee == "reader.const")
        inputs.emplace_back();
      else if (call.kind != ExprKind::String) // what was not dumped, in quotes
        source.fail(statement.offset, "expected a call of the reader");
    }
    return std::move(inputs);
  }

private:
  ValueMeta tensor(const FxExpr &call) const {
    const FxExpr *storage = callArgument(call, "storage", 0);
    const FxExpr *shape = callArgument(call, "shape", 1);
    if (!storage || !shape)
      source.fail(call.begin, "expected a storage and a shape");
    auto device = devices.find(storage->text);
    if (device == devices.end())
      source.fail(storage->begin,
                  fmt::format("'{}' is not a storage", storage->text));
    ValueMeta meta;
    meta.kind = ValueKind::Tensor;
    meta.dtype = dtypeArgument(source, call).value_or(DType::Float32);
    meta.device = device->second;
    meta.sizes = sizeList(source, *shape);
    if (const FxExpr *strides = callArgument(call, "stride", 2)) {
      meta.strides = sizeList(source, *strides);
      if (meta.strides.size() != meta.sizes.size())
        source.fail(strides->begin,
                    fmt::format("{} strides for {} sizes", meta.strides.size(),
                                meta.sizes.size()));
    } else if (std::ranges::all_of(meta.sizes, &SymInt::isStatic)) {
      for (int64_t stride :
           contiguousStrides(staticSizes(source, *shape, meta.sizes)))
        meta.strides.push_back({stride, nullptr, {}});
    }
    if (const FxExpr *offset = callArgument(call, "storage_offset"))
      meta.storageOffset = size(source, *offset);
    return meta;
  }

  ValueMeta symInt(const FxExpr &call) const {
    if (call.operands.size() != 2)
      source.fail(call.begin, "expected a number");
    ValueMeta meta;
    meta.kind = ValueKind::SymInt;
    Argument value = literal(source, call.operands[1]);
    const auto *number = std::get_if<int64_t>(&value.data);
    if (!number)
      source.fail(call.operands[1].begin, "expected an integer");
    meta.sym.value = *number;
    return meta;
  }

  const FxSource &source;
  std::map<std::string_view, std::string> devices; ///< by storage
  std::vector<std::optional<ValueMeta>> inputs;
};

/// The symbols in the sizes of `metas`, in order of appearance.
std::vector<std::string>
sizeSymbols(const std::vector<std::optional<ValueMeta>> &metas) {
  std::vector<std::string> symbols;
  auto collect = [&](auto &self, const SymExpr &expr) -> void {
    if (expr.kind == SymExpr::Kind::Symbol &&
        std::ranges::find(symbols, expr.name) == symbols.end())
      symbols.push_back(expr.name);
    for (const SymExprPtr &operand : expr.operands)
      self(self, *operand);
  };
  for (const std::optional<ValueMeta> &meta : metas)
    for (const SymInt &size : meta ? meta->sizes : std::vector<SymInt>())
      if (size.expr)
        collect(collect, *size.expr);
  return symbols;
}

/// load_args gives numbers for the symbolic inputs, without saying of which
/// symbols. Each stands before the first tensor that has its symbol, so the two
/// are in the same order.
void nameSymbolicInputs(std::vector<std::optional<ValueMeta>> &metas,
                        const std::vector<InputSpec> &inputs) {
  std::vector<std::string> symbols = sizeSymbols(metas);
  size_t numSymbolic = std::ranges::count_if(metas, [](auto &meta) {
    return meta && meta->kind == ValueKind::SymInt;
  });
  size_t next = 0;
  for (size_t i = 0; i < metas.size(); ++i) {
    if (!metas[i] || metas[i]->kind != ValueKind::SymInt)
      continue;
    auto symbol = std::make_shared<SymExpr>();
    symbol->kind = SymExpr::Kind::Symbol;
    symbol->name =
        numSymbolic == symbols.size() ? symbols[next++] : inputs[i].name;
    metas[i]->sym.hint = std::exchange(metas[i]->sym.value, 0);
    metas[i]->sym.expr = std::move(symbol);
  }
}

void readLoadArgs(const FxSource &source, const FxFunction &function,
                  Program &program) {
  std::vector<std::optional<ValueMeta>> metas =
      LoadArgsReader(source).read(function);
  size_t numUserInputs = std::ranges::count(
      program.inputs, InputSpec::Kind::UserInput, &InputSpec::kind);
  if (metas.size() != numUserInputs)
    source.fail(function.offset,
                fmt::format("load_args gives {} inputs, the graph has {}",
                            metas.size(), numUserInputs));
  // Placeholders come first among the inputs.
  nameSymbolicInputs(metas, program.inputs);
  for (size_t i = 0; i < metas.size(); ++i)
    if (metas[i])
      program.graph.values.try_emplace(program.inputs[i].name,
                                       *std::move(metas[i]));
}

//===----------------------------------------------------------------------===//
// __init__
//===----------------------------------------------------------------------===//

/// A parameter or buffer that __init__ makes.
struct Constant {
  InputSpec::Kind kind;
  ValueMeta meta;
  std::optional<Tensor> data; ///< none where random numbers stand for it
};

class ConstructorReader {
public:
  explicit ConstructorReader(const FxSource &source) : source(source) {}

  std::map<std::string, Constant> read(const FxFunction &function) {
    std::map<std::string, Constant> constants;
    for (const FxStatement &statement : function.body) {
      const FxExpr &call = statement.value;
      if (call.kind != ExprKind::Call)
        continue;
      const FxExpr &callee = call.operands[0];
      if (callee.isPath("self.register_buffer") && call.operands.size() >= 3 &&
          call.operands[1].kind == ExprKind::String) {
        std::string name = readString(source, call.operands[1]);
        InputSpec::Kind kind = name.starts_with("_tensor_constant")
                                   ? InputSpec::Kind::Constant
                                   : InputSpec::Kind::Buffer;
        constants.insert_or_assign(std::move(name),
                                   constant(kind, call.operands[2]));
      } else if (callee.isPath("torch.nn.Parameter") &&
                 statement.kind == StatementKind::Assign &&
                 call.operands.size() >= 2 &&
                 statement.targets[0].text.starts_with("self.")) {
        constants.insert_or_assign(
            std::string(statement.targets[0].text.substr(5)),
            constant(InputSpec::Kind::Parameter, call.operands[1]));
      }
      // Else super().__init__(), or a module, which only matters if called.
    }
    return constants;
  }

private:
  Constant constant(InputSpec::Kind kind, const FxExpr &expr) const {
    Constant result;
    result.kind = kind;
    result.meta.kind = ValueKind::Tensor;
    const FxExpr *call = &expr;
    if (call->kind == ExprKind::Call &&
        call->operands[0].kind == ExprKind::Attribute &&
        call->operands[0].text == "cuda") {
      result.meta.device = "cuda:0";
      call = &call->operands[0].operands[0];
    }
    if (call->kind != ExprKind::Call || call->operands.size() < 2)
      source.fail(expr.begin, "expected a tensor");
    if (result.meta.device.empty())
      result.meta.device = deviceArgument(source, *call);
    const FxExpr &callee = call->operands[0];
    if (callee.isPath("tensor") || callee.isPath("torch.tensor")) {
      result.data = tensor(*call);
      result.meta.dtype = result.data->dtype;
      for (int64_t size : result.data->sizes)
        result.meta.sizes.push_back({size, nullptr, {}});
      return result;
    }
    // torch.randn([2, 3], dtype=...), torch.randint(1, size=[2, 3], dtype=...)
    const FxExpr *sizes = callArgument(*call, "size", 0);
    if (!callee.isPath("torch.randn") && !callee.isPath("torch.randint"))
      source.fail(callee.begin, "expected a tensor");
    if (!sizes || sizes->kind != ExprKind::List)
      sizes = callArgument(*call, "size");
    if (!sizes)
      source.fail(call->begin, "expected a list of sizes");
    result.meta.sizes = sizeList(source, *sizes);
    result.meta.dtype = dtypeArgument(source, *call).value_or(DType::Float32);
    return result;
  }

  /// The literal that repr() gives a tensor.
  Tensor tensor(const FxExpr &call) const;

  const FxSource &source;
};

/// Appends the numbers of nested lists to `numbers`, their sizes to `sizes`.
void flatten(const FxSource &source, const FxExpr &where, const Argument &value,
             size_t level, std::vector<int64_t> &sizes,
             std::vector<Argument> &numbers) {
  const auto *list = std::get_if<Argument::List>(&value.data);
  if (!list) {
    if (level != sizes.size())
      source.fail(where.begin, "the lists of the tensor differ in depth");
    numbers.push_back(value);
    return;
  }
  if (level == sizes.size() && numbers.empty())
    sizes.push_back(static_cast<int64_t>(list->size()));
  if (level >= sizes.size() ||
      sizes[level] != static_cast<int64_t>(list->size()))
    source.fail(where.begin, "the lists of the tensor differ in length");
  for (const Argument &element : *list)
    flatten(source, where, element, level + 1, sizes, numbers);
}

/// Bits of the half-precision number nearest to `value`, ties to even.
uint16_t roundToHalf(double value) {
  uint16_t sign = std::signbit(value) ? 0x8000 : 0;
  double magnitude = std::fabs(value);
  if (std::isnan(value))
    return sign | 0x7E00;
  if (magnitude >= 65520)
    return sign | 0x7C00;
  if (magnitude == 0)
    return sign;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  // Numbers below 2^-14 share the spacing 2^-24.
  int spacing = std::max(exponent - 11, -24);
  auto steps =
      static_cast<uint32_t>(std::nearbyint(std::ldexp(magnitude, -spacing)));
  return sign | static_cast<uint16_t>(steps + ((spacing + 24) << 10));
}

uint16_t roundToBFloat16(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof(bits));
  if (std::isnan(value))
    return static_cast<uint16_t>(bits >> 16 | 0x40);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

Tensor ConstructorReader::tensor(const FxExpr &call) const {
  const FxExpr &values = call.operands[1];
  std::vector<int64_t> sizes;
  std::vector<Argument> numbers;
  flatten(source, values, literal(source, values), 0, sizes, numbers);
  if (const FxExpr *size = callArgument(call, "size")) { // of an empty tensor
    sizes = staticSizes(source, *size, sizeList(source, *size));
    if (!numbers.empty() || std::ranges::find(sizes, 0) == sizes.end())
      source.fail(size->begin, "expected the sizes of an empty tensor");
  }
  auto holds = [&](auto type) {
    return !numbers.empty() && std::ranges::all_of(numbers, [](auto &number) {
      return std::holds_alternative<decltype(type)>(number.data);
    });
  };
  DType dtype = dtypeArgument(source, call)
                    .value_or(holds(true)        ? DType::Bool
                              : holds(int64_t{}) ? DType::Int64
                                                 : DType::Float32);
  Tensor result = Tensor::empty(dtype, std::move(sizes));
  std::byte *out = result.mutableData();
  auto put = [&](auto element) {
    std::memcpy(out, &element, sizeof(element));
    out += sizeof(element);
  };
  for (const Argument &number : numbers) {
    double real = 0;
    int64_t integer = 0;
    if (const auto *value = std::get_if<bool>(&number.data))
      real = static_cast<double>(integer = *value);
    else if (const auto *value = std::get_if<int64_t>(&number.data))
      real = static_cast<double>(integer = *value);
    else if (const auto *value = std::get_if<double>(&number.data);
             value && isFloatingPoint(dtype))
      real = *value;
    else
      source.fail(
          values.begin,
          fmt::format("expected {} elements in the tensor", name(dtype)));
    switch (dtype) {
    case DType::Float64:
      put(real);
      break;
    case DType::Float32:
      put(static_cast<float>(real));
      break;
    case DType::Float16:
      put(roundToHalf(real));
      break;
    case DType::BFloat16:
      put(roundToBFloat16(static_cast<float>(real)));
      break;
    case DType::Bool:
    case DType::UInt8:
    case DType::Int8:
      put(static_cast<uint8_t>(integer));
      break;
    case DType::UInt16:
    case DType::Int16:
      put(static_cast<uint16_t>(integer));
      break;
    case DType::UInt32:
    case DType::Int32:
      put(static_cast<uint32_t>(integer));
      break;
    case DType::UInt64:
    case DType::Int64:
      put(integer);
      break;
    default:
      source.fail(values.begin,
                  fmt::format("{} constants are not supported", name(dtype)),
                  {}, ErrorCode::Unsupported);
    }
  }
  return result;
}

void readConstructor(const FxSource &source, const FxFunction &function,
                     Model &model) {
  std::map<std::string, Constant> constants =
      ConstructorReader(source).read(function);
  for (InputSpec &input : model.program.inputs) {
    auto found = constants.find(input.target);
    if (input.kind == InputSpec::Kind::UserInput || found == constants.end())
      continue;
    Constant &constant = found->second;
    input.kind = constant.kind;
    model.program.graph.values.try_emplace(input.name, constant.meta);
    if (constant.data)
      model.weights.tensors.emplace(input.target, *constant.data);
    else
      model.weights.absent.emplace(input.target,
                                   "the file has random numbers for it");
  }
}

} // namespace

void readFxRunnable(const FxSource &source, const FxClass &module,
                    size_t firstLine, Model &model) {
  if (const FxFunction *constructor = module.function("__init__"))
    readConstructor(source, *constructor, model);
  for (size_t line = firstLine; line < source.numLines(); ++line) {
    if (!source.line(line).starts_with("def load_args("))
      continue;
    size_t end = line + 1;
    while (end < source.numLines() &&
           (source.line(end).empty() || indentation(source.line(end)) > 0))
      ++end;
    size_t endOffset =
        end < source.numLines() ? source.lineBegin(end) : source.text().size();
    FxParser parser(source, source.lineBegin(line), endOffset);
    readLoadArgs(source, parser.parseFunction(), model.program);
    return;
  }
}

} // namespace gcompile::frontend
