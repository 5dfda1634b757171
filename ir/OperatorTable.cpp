//===- OperatorTable.cpp - schemas, their look-up, and calls read by name -===//
#include "gcompile/ir/OperatorTable.h"
#include "Operators.h"

#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringMap.h"

#include <mutex>

using namespace mlir;

namespace gcompile::aten {

//===----------------------------------------------------------------------===//
// Schema text
//===----------------------------------------------------------------------===//

namespace {

/// Reads `ns::name.overload(Type name=default, ...) -> Type`, as PyTorch prints
/// a schema. The text is our own, so a mistake in it is a bug.
class SchemaParser {
public:
  SchemaParser(MLIRContext *context, StringRef text)
      : builder(context), whole(text), rest(text) {}

  Schema parse() {
    Schema schema;
    StringRef ns = until("::"), name = until("(");
    bool isPython = ns == "_operator" || ns == "math" || ns == "torch";
    schema.callee = (ns + "." + name).str();
    if (!isPython && !name.contains('.'))
      schema.callee += ".default";
    bool keywordOnly = false;
    while (!consume(")")) {
      if (consume("*"))
        keywordOnly = true;
      else
        schema.arguments.push_back(parseArgument(keywordOnly));
      consume(", ");
    }
    expect(" -> ");
    if (consume("(")) {
      while (!consume(")")) {
        schema.returns.push_back(parseReturn());
        takeName();
        consume(", ");
      }
    } else {
      schema.returns.push_back(parseReturn());
    }
    return schema;
  }

private:
  [[noreturn]] void fail() {
    llvm::report_fatal_error("bad schema: " + whole + " at: " + rest);
  }
  bool consume(StringRef token) { return rest.consume_front(token); }
  void expect(StringRef token) {
    if (!consume(token))
      fail();
  }
  StringRef until(StringRef token) {
    auto [head, tail] = rest.split(token);
    if (head.size() == rest.size())
      fail();
    rest = tail;
    return head;
  }
  StringRef takeName() {
    rest = rest.ltrim(' ');
    return take([](char c) { return llvm::isAlnum(c) || c == '_'; });
  }
  template <typename Predicate>
  StringRef take(Predicate predicate) {
    StringRef head = rest.take_while(predicate);
    rest = rest.drop_front(head.size());
    return head;
  }

  ArgType parseBaseType() {
    StringRef name = takeName();
    if (name == "Tensor")
      return ArgType::Tensor;
    if (name == "int" || name == "SymInt")
      return ArgType::Int;
    if (name == "float" || name == "SymFloat")
      return ArgType::Float;
    if (name == "bool" || name == "SymBool")
      return ArgType::Bool;
    if (name == "Scalar")
      return ArgType::Scalar;
    if (name == "str")
      return ArgType::String;
    if (name == "ScalarType")
      return ArgType::DType;
    if (name == "Layout")
      return ArgType::Layout;
    if (name == "Device")
      return ArgType::Device;
    if (name == "MemoryFormat")
      return ArgType::MemoryFormat;
    if (name == "Generator")
      return ArgType::Generator;
    if (name == "Any")
      return ArgType::Any;
    fail();
  }

  /// `(a)`, `(a!)` or `(a -> *)` after Tensor: the letter of the storage.
  char parseAlias(bool &isWritten) {
    if (!consume("("))
      return 0;
    char letter = take([](char c) { return llvm::isAlpha(c); }).front();
    isWritten = consume("!");
    consume(" -> *");
    expect(")");
    return letter;
  }

  /// `[]`, `[2]`, `?` in any order that occurs. Returns the 2.
  unsigned parseSuffix(bool &isList, bool &isOptional) {
    unsigned size = 0;
    while (true) {
      if (consume("?")) {
        isOptional = true;
      } else if (consume("[")) {
        isList = true;
        until("]").getAsInteger(10, size); // stays 0 for `[]`
      } else {
        return size;
      }
    }
  }

  SchemaArgument parseArgument(bool keywordOnly) {
    SchemaArgument argument;
    argument.isKeywordOnly = keywordOnly;
    argument.type = parseBaseType();
    letters.push_back(parseAlias(argument.isWritten));
    argument.isAliased = letters.back() && !argument.isWritten;
    argument.listSize = parseSuffix(argument.isList, argument.isOptional);
    argument.name = takeName().str();
    argument.hasDefault = consume("=");
    if (argument.hasDefault)
      argument.defaultValue = parseDefault(argument);
    return argument;
  }

  SchemaReturn parseReturn() {
    SchemaReturn result;
    bool isWritten = false, isOptional = false;
    result.type = parseBaseType();
    char letter = parseAlias(isWritten);
    parseSuffix(result.isList, isOptional);
    if (letter) {
      auto it = llvm::find(letters, letter);
      result.aliasOf = it == letters.end() ? -1 : it - letters.begin();
    }
    return result;
  }

  Attribute parseDefault(const SchemaArgument &argument) {
    if (consume("[")) {
      SmallVector<Attribute> elements;
      while (!consume("]")) {
        elements.push_back(parseLiteral(argument.type));
        consume(", ");
      }
      return builder.getArrayAttr(elements);
    }
    Attribute literal = parseLiteral(argument.type);
    if (argument.isList && !isa<UnitAttr>(literal)) // `int[2] padding=0`
      return builder.getArrayAttr(
          SmallVector<Attribute>(argument.listSize, literal));
    return literal;
  }

  Attribute parseLiteral(ArgType type) {
    if (consume("None"))
      return builder.getUnitAttr();
    if (consume("True"))
      return builder.getBoolAttr(true);
    if (consume("False"))
      return builder.getBoolAttr(false);
    if (consume("\""))
      return builder.getStringAttr(until("\""));
    StringRef number = take([](char c) {
      return llvm::isAlnum(c) || c == '.' || c == '-' || c == '_' || c == '+';
    });
    if (type == ArgType::MemoryFormat) {
      // ATen's numbers: the only defaults are contiguous and preserve.
      return builder.getStringAttr(number == "0" ? "contiguous_format"
                                                 : "preserve_format");
    }
    if (type == ArgType::DType && number == "4") // ATen's number of int64
      return TypeAttr::get(builder.getI64Type());
    int64_t integer;
    if (!number.getAsInteger(10, integer) && type != ArgType::Float)
      return builder.getI64IntegerAttr(integer);
    double value;
    if (number.getAsDouble(value))
      fail();
    return builder.getF64FloatAttr(value);
  }

  Builder builder;
  StringRef whole, rest;
  SmallVector<char> letters; ///< of each argument, 0 without
};

/// The operators of one context: defaults are attributes, which a context owns.
class OperatorTable : public DialectInterface::Base<OperatorTable> {
public:
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(OperatorTable)
  explicit OperatorTable(Dialect *dialect) : Base(dialect) {}

  const llvm::StringMap<OperatorInfo> &get() const {
    std::call_once(once, [&] {
      for (const OperatorGroup &group : operatorGroups()) {
        SmallVector<StringRef> lines;
        StringRef(group.schemas).split(lines, '\n', -1, /*KeepEmpty=*/false);
        for (StringRef line : lines) {
          Schema schema = SchemaParser(getContext(), line).parse();
          std::string callee = schema.callee;
          bool isNew = entries
                           .try_emplace(callee, OperatorInfo{std::move(schema),
                                                             group.rule})
                           .second;
          if (!isNew)
            llvm::report_fatal_error("operator listed twice: " +
                                     StringRef(callee));
        }
      }
    });
    return entries;
  }

private:
  mutable std::once_flag once;
  mutable llvm::StringMap<OperatorInfo> entries;
};

const llvm::StringMap<OperatorInfo> &tableOf(MLIRContext *context) {
  auto *dialect = context->getLoadedDialect<AtenDialect>();
  assert(dialect && "the operator table needs the aten dialect");
  return dialect->getRegisteredInterface<OperatorTable>()->get();
}

} // namespace

void addOperatorTable(AtenDialect *dialect) {
  dialect->addInterfaces<OperatorTable>();
}

const OperatorInfo *lookupOperator(MLIRContext *context, StringRef callee) {
  const auto &table = tableOf(context);
  auto it = table.find(callee);
  return it == table.end() ? nullptr : &it->second;
}

std::vector<std::string> supportedOperators(MLIRContext *context) {
  std::vector<std::string> names;
  for (const auto &entry : tableOf(context))
    names.push_back(entry.getKey().str());
  llvm::sort(names);
  return names;
}

//===----------------------------------------------------------------------===//
// Schema
//===----------------------------------------------------------------------===//

int Schema::find(StringRef argument) const {
  for (auto [i, candidate] : llvm::enumerate(arguments))
    if (candidate.name == argument)
      return i;
  return -1;
}

bool Schema::isInPlace() const {
  return llvm::any_of(arguments, [](auto &arg) { return arg.isWritten; });
}

bool Schema::isView() const {
  return !isInPlace() &&
         llvm::any_of(returns, [](auto &ret) { return ret.aliasOf >= 0; });
}

//===----------------------------------------------------------------------===//
// Arguments against the schema
//===----------------------------------------------------------------------===//

static bool isSymbolic(Type type) {
  return type.isSignlessInteger(64) || type.isF64() ||
         type.isSignlessInteger(1);
}

/// Whether one literal or operand, not a list, may stand for `type`.
static bool fits(ArgType type, Attribute arg, TypeRange operandTypes) {
  if (auto operand = dyn_cast<OperandAttr>(arg)) {
    Type actual = operandTypes[operand.getIndex()];
    switch (type) {
    case ArgType::Tensor:
      return isa<RankedTensorType>(actual);
    case ArgType::Int:
      return actual.isSignlessInteger(64) || actual.isSignlessInteger(1);
    case ArgType::Float:
    case ArgType::Bool:
    case ArgType::Scalar:
      return isSymbolic(actual);
    case ArgType::Any:
      return true;
    default:
      return false;
    }
  }
  switch (type) {
  case ArgType::Int:
    return isa<IntegerAttr>(arg) && !isa<BoolAttr>(arg);
  case ArgType::Float:
    return isa<FloatAttr>(arg);
  case ArgType::Bool:
    return isa<BoolAttr>(arg);
  case ArgType::Scalar:
    return isa<IntegerAttr, FloatAttr>(arg);
  case ArgType::String:
  case ArgType::Layout:
  case ArgType::Device:
  case ArgType::MemoryFormat:
    return isa<StringAttr>(arg);
  case ArgType::DType:
    return isa<TypeAttr>(arg);
  case ArgType::Any:
    return true;
  case ArgType::Tensor: // a Python number may stand for one
    return isa<IntegerAttr, FloatAttr>(arg);
  case ArgType::Generator:
    return false;
  }
  llvm_unreachable("unknown argument type");
}

bool fitsSchema(const SchemaArgument &argument, Attribute arg,
                TypeRange operandTypes) {
  if (isa<UnitAttr>(arg))
    return argument.isOptional || argument.type == ArgType::Any;
  if (!argument.isList)
    return fits(argument.type, arg, operandTypes);
  auto list = dyn_cast<ArrayAttr>(arg);
  return list && llvm::all_of(list, [&](Attribute element) {
           return (isa<UnitAttr>(element) && argument.isOptional) ||
                  fits(argument.type, element, operandTypes);
         });
}

std::string describe(const SchemaArgument &argument) {
  static constexpr const char *names[] = {
      "a tensor", "an integer",      "a float",     "a bool",
      "a number", "a string",        "a dtype",     "a layout",
      "a device", "a memory format", "a generator", "anything"};
  static constexpr const char *plurals[] = {
      "tensors", "integers", "floats",  "bools",   "numbers",    "strings",
      "dtypes",  "layouts",  "devices", "formats", "generators", "values"};
  auto index = static_cast<unsigned>(argument.type);
  std::string text = argument.isList
                         ? std::string("a list of ") + plurals[index]
                         : names[index];
  return argument.isOptional ? text + " or None" : text;
}

//===----------------------------------------------------------------------===//
// Call
//===----------------------------------------------------------------------===//

Call::Call(CallOp op) : op(op) {
  const OperatorInfo *info = lookupOperator(op.getContext(), op.getCallee());
  assert(info && "call of an unknown operator");
  schema = &info->schema;
}

static unsigned indexOf(const Call &call, StringRef name) {
  int index = call.schema->find(name);
  if (index < 0)
    llvm::report_fatal_error("'" + StringRef(call.schema->callee) +
                             "' has no argument '" + name + "'");
  return index;
}

Attribute Call::literal(StringRef name) const {
  return CallOp(op).getArgs()[indexOf(*this, name)];
}

bool Call::isNone(StringRef name) const { return isa<UnitAttr>(literal(name)); }

Value Call::value(StringRef name) const {
  auto operand = dyn_cast<OperandAttr>(literal(name));
  return operand ? CallOp(op).getOperand(operand.getIndex()) : Value();
}

RankedTensorType Call::tensorType(StringRef name) const {
  Value operand = value(name);
  return operand ? dyn_cast<RankedTensorType>(operand.getType())
                 : RankedTensorType();
}

SmallVector<Value> Call::values(StringRef name) const {
  SmallVector<Value> result;
  if (auto list = dyn_cast<ArrayAttr>(literal(name)))
    for (Attribute element : list) {
      auto operand = dyn_cast<OperandAttr>(element);
      result.push_back(operand ? CallOp(op).getOperand(operand.getIndex())
                               : Value());
    }
  return result;
}

int64_t Call::integer(StringRef name) const {
  return cast<IntegerAttr>(literal(name)).getInt();
}

std::optional<int64_t> Call::maybeInteger(StringRef name) const {
  return isNone(name) ? std::nullopt : std::optional(integer(name));
}

static double toDouble(Attribute attr) {
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  auto integer = cast<IntegerAttr>(attr);
  return integer.getType().isInteger(1) ? !integer.getValue().isZero()
                                        : integer.getInt();
}

double Call::number(StringRef name) const { return toDouble(literal(name)); }

std::optional<double> Call::maybeNumber(StringRef name) const {
  return isNone(name) ? std::nullopt : std::optional(number(name));
}

bool Call::flag(StringRef name) const {
  return cast<BoolAttr>(literal(name)).getValue();
}

StringRef Call::string(StringRef name) const {
  return cast<StringAttr>(literal(name)).getValue();
}

SmallVector<int64_t> Call::integers(StringRef name) const {
  return llvm::map_to_vector(
      cast<ArrayAttr>(literal(name)),
      [](Attribute element) { return cast<IntegerAttr>(element).getInt(); });
}

std::optional<SmallVector<int64_t>> Call::maybeIntegers(StringRef name) const {
  return isNone(name) ? std::nullopt : std::optional(integers(name));
}

SmallVector<double> Call::numbers(StringRef name) const {
  return llvm::map_to_vector(cast<ArrayAttr>(literal(name)), toDouble);
}

Type Call::dtype(StringRef name) const {
  auto type = dyn_cast<TypeAttr>(literal(name));
  return type ? type.getValue() : Type();
}

int64_t Call::dim(StringRef name, int64_t rank) const {
  int64_t dim = integer(name);
  return dim < 0 ? dim + std::max<int64_t>(rank, 1) : dim;
}

//===----------------------------------------------------------------------===//
// Result types
//===----------------------------------------------------------------------===//

bool canInferTypes(CallOp op) {
  const OperatorInfo *info = lookupOperator(op.getContext(), op.getCallee());
  if (!info || !info->resultRule)
    return false;
  for (Type type : op.getOperandTypes())
    if (auto tensor = dyn_cast<RankedTensorType>(type);
        tensor && !tensor.hasStaticShape())
      return false;
  // Sizes must be literals; other numbers may be values, since only their kind
  // matters to a type.
  for (auto [argument, arg] : llvm::zip(info->schema.arguments, op.getArgs())) {
    if (argument.type != ArgType::Int)
      continue;
    auto list = dyn_cast<ArrayAttr>(arg);
    if (isa<OperandAttr>(arg) || (list && llvm::any_of(list, [](Attribute a) {
                                    return isa<OperandAttr>(a);
                                  })))
      return false;
  }
  return true;
}

FailureOr<SmallVector<Type>> inferResultTypes(CallOp op, EmitError emitError) {
  assert(canInferTypes(op));
  const OperatorInfo *info = lookupOperator(op.getContext(), op.getCallee());
  return info->resultRule(Call(op), emitError);
}

bool isRandom(CallOp op) {
  Call call(op);
  const Schema &schema = *call.schema;
  // A flag or probability that is a literal and off.
  auto isOff = [&](StringRef name) {
    if (schema.find(name) < 0)
      return false;
    Attribute arg = call.literal(name);
    if (auto flag = dyn_cast<BoolAttr>(arg))
      return !flag.getValue();
    auto number = dyn_cast<FloatAttr>(arg);
    return number && number.getValueAsDouble() == 0;
  };
  if (isOff("train") || isOff("training"))
    return false;
  for (StringRef name : {"dropout_p", "dropout", "generator"})
    if (schema.find(name) >= 0)
      return !isOff(name);
  StringRef callee = schema.callee;
  return callee.starts_with("aten.rand") ||
         (callee.contains("dropout") && !callee.contains("backward"));
}

} // namespace gcompile::aten
