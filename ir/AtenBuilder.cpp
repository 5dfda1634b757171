#include "gcompile/ir/AtenBuilder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace gcompile::aten {

Arg::Arg(Type dtype) : data(Attribute(TypeAttr::get(dtype))) {}

Arg::Arg(const Call &call, StringRef name) {
  SmallVector<Value> list = call.values(name);
  if (Value value = call.value(name))
    data = value;
  else if (llvm::any_of(list, [](Value value) { return bool(value); }))
    data = list;
  else
    data = call.literal(name);
}

namespace {

/// Turns Args into the operands and the `args` attribute of a call.
class ArgumentWriter {
public:
  explicit ArgumentWriter(Builder &builder) : builder(builder) {}

  Attribute write(const Arg &arg, const SchemaArgument &argument) {
    return std::visit([&](auto &data) { return convert(data, argument); },
                      arg.data);
  }

  SmallVector<Value> operands;

private:
  Attribute operand(Value value) {
    operands.push_back(value);
    return OperandAttr::get(builder.getContext(), operands.size() - 1);
  }
  /// A single entry for a list stands for as many as the schema says.
  Attribute listOf(Attribute entry, const SchemaArgument &argument) {
    if (!argument.isList)
      return entry;
    return builder.getArrayAttr(
        SmallVector<Attribute>(std::max(argument.listSize, 1u), entry));
  }

  Attribute convert(std::monostate, const SchemaArgument &) {
    return builder.getUnitAttr();
  }
  Attribute convert(Value value, const SchemaArgument &argument) {
    return argument.isList ? builder.getArrayAttr(operand(value))
                           : operand(value);
  }
  Attribute convert(Attribute literal, const SchemaArgument &) {
    return literal;
  }
  Attribute convert(int64_t value, const SchemaArgument &argument) {
    if (argument.type == ArgType::Float)
      return convert(static_cast<double>(value), argument);
    return listOf(builder.getI64IntegerAttr(value), argument);
  }
  Attribute convert(double value, const SchemaArgument &argument) {
    return listOf(builder.getF64FloatAttr(value), argument);
  }
  Attribute convert(bool value, const SchemaArgument &argument) {
    return listOf(builder.getBoolAttr(value), argument);
  }
  Attribute convert(const std::string &text, const SchemaArgument &) {
    return builder.getStringAttr(text);
  }
  Attribute convert(const SmallVector<int64_t> &list, const SchemaArgument &) {
    return builder.getI64ArrayAttr(list);
  }
  Attribute convert(const SmallVector<Value> &list, const SchemaArgument &) {
    return builder.getArrayAttr(
        llvm::map_to_vector(list, [&](Value value) -> Attribute {
          return value ? operand(value) : builder.getUnitAttr();
        }));
  }

  Builder &builder;
};

} // namespace

FailureOr<ValueRange> AtenBuilder::build(StringRef callee, ArrayRef<Arg> args,
                                         Keywords keywords) {
  auto fail = [&] {
    return emitError(loc) << "cannot call '" << callee << "': ";
  };
  const OperatorInfo *info = lookupOperator(builder.getContext(), callee);
  if (!info)
    return fail() << "no such operator";
  const Schema &schema = info->schema;
  if (args.size() > schema.arguments.size())
    return fail() << "too many arguments";

  ArgumentWriter writer(builder);
  SmallVector<Attribute> entries;
  size_t numKeywords = 0;
  for (auto [i, argument] : llvm::enumerate(schema.arguments)) {
    if (i < args.size()) {
      entries.push_back(writer.write(args[i], argument));
      continue;
    }
    auto *keyword = llvm::find_if(
        keywords, [&](auto &pair) { return pair.first == argument.name; });
    numKeywords += keyword != keywords.end();
    if (keyword != keywords.end())
      entries.push_back(writer.write(keyword->second, argument));
    else if (argument.hasDefault)
      entries.push_back(argument.defaultValue);
    else if (argument.isOptional)
      entries.push_back(builder.getUnitAttr());
    else
      return fail() << "argument '" << argument.name << "' is missing";
  }
  if (numKeywords != keywords.size())
    return fail() << "a keyword is unknown or given twice";

  auto create = [&](TypeRange types) {
    OperationState state(loc, CallOp::getOperationName());
    state.addOperands(writer.operands);
    state.addTypes(types);
    state.addAttribute("callee", builder.getStringAttr(callee));
    state.addAttribute("args", builder.getArrayAttr(entries));
    return cast<CallOp>(Operation::create(state));
  };
  // The rules read a call, so they are asked with one that has no results yet.
  CallOp question = create({});
  auto types = [&]() -> FailureOr<SmallVector<Type>> {
    if (failed(verify(question)))
      return failure();
    if (!canInferTypes(question))
      return fail() << "its result types do not follow from its arguments";
    return inferResultTypes(question, fail);
  }();
  question.erase();
  if (failed(types))
    return failure();
  return ValueRange(builder.insert(create(*types))->getResults());
}

ValueRange AtenBuilder::callMulti(StringRef callee, ArrayRef<Arg> args,
                                  Keywords keywords) {
  FailureOr<ValueRange> results = build(callee, args, keywords);
  if (failed(results))
    llvm::report_fatal_error("a pass built a wrong call of '" + callee + "'");
  return *results;
}

Value AtenBuilder::call(StringRef callee, ArrayRef<Arg> args,
                        Keywords keywords) {
  ValueRange results = callMulti(callee, args, keywords);
  assert(results.size() == 1 && "the operator has several results");
  return results.front();
}

FailureOr<Value> AtenBuilder::tryCall(StringRef callee, ArrayRef<Arg> args,
                                      Keywords keywords) {
  FailureOr<ValueRange> results = build(callee, args, keywords);
  if (failed(results))
    return failure();
  assert(results->size() == 1 && "the operator has several results");
  return Value(results->front());
}

} // namespace gcompile::aten
