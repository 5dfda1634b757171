#include "gcompile/ir/AtenBuilder.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"

using namespace mlir;

namespace gcompile::aten {

Arg::Arg(Type dtype) : literal(TypeAttr::get(dtype)) {}

namespace {

/// Turns Args into the operands and the `args` attribute of a call.
class ArgumentWriter {
public:
  explicit ArgumentWriter(Builder &builder) : builder(builder) {}

  Attribute write(const Arg &arg, const SchemaArgument &argument) {
    if (arg.value)
      return argument.isList ? builder.getArrayAttr(operand(arg.value))
                             : operand(arg.value);
    if (arg.literal)
      return arg.literal;
    if (arg.values)
      return builder.getArrayAttr(
          llvm::map_to_vector(*arg.values, [&](Value value) -> Attribute {
            return value ? operand(value) : builder.getUnitAttr();
          }));
    if (arg.integers)
      return builder.getArrayAttr(
          llvm::map_to_vector(*arg.integers, [&](int64_t value) -> Attribute {
            return integer(value, argument);
          }));
    if (arg.integer)
      return argument.isList ? builder.getArrayAttr(SmallVector<Attribute>(
                                   std::max(argument.listSize, 1u),
                                   integer(*arg.integer, argument)))
                             : integer(*arg.integer, argument);
    if (arg.number)
      return builder.getF64FloatAttr(*arg.number);
    if (arg.boolean)
      return builder.getBoolAttr(*arg.boolean);
    if (arg.text)
      return builder.getStringAttr(*arg.text);
    return builder.getUnitAttr();
  }

  SmallVector<Value> operands;

private:
  Attribute operand(Value value) {
    operands.push_back(value);
    return OperandAttr::get(builder.getContext(), operands.size() - 1);
  }
  Attribute integer(int64_t value, const SchemaArgument &argument) {
    if (argument.type == ArgType::Float)
      return builder.getF64FloatAttr(static_cast<double>(value));
    return builder.getI64IntegerAttr(value);
  }

  Builder &builder;
};

[[noreturn]] void fail(StringRef callee, const Twine &why) {
  llvm::report_fatal_error("cannot build a call of '" + callee + "': " + why);
}

} // namespace

ValueRange AtenBuilder::callMulti(StringRef callee, ArrayRef<Arg> args,
                                  Keywords keywords) {
  const OperatorInfo *info = lookupOperator(builder.getContext(), callee);
  if (!info)
    fail(callee, "no such operator");
  const Schema &schema = info->schema;
  if (args.size() > schema.arguments.size())
    fail(callee, "too many arguments");

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
      fail(callee, "argument '" + argument.name + "' is missing");
  }
  if (numKeywords != keywords.size())
    fail(callee, "a keyword is unknown or given twice");

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
  if (failed(verify(question)))
    fail(callee, "a wrong argument");
  if (!canInferTypes(question))
    fail(callee, "its result types do not follow from its arguments");
  FailureOr<SmallVector<Type>> types =
      inferResultTypes(question, [&] { return emitError(loc); });
  question.erase();
  if (failed(types))
    fail(callee, "a wrong argument");
  return builder.insert(create(*types))->getResults();
}

Value AtenBuilder::call(StringRef callee, ArrayRef<Arg> args,
                        Keywords keywords) {
  ValueRange results = callMulti(callee, args, keywords);
  if (results.size() != 1)
    fail(callee, "it has not one result");
  return results.front();
}

} // namespace gcompile::aten
