//===- Aten.cpp - the aten dialect: text form and verifiers ---------------===//
#include "gcompile/ir/Aten.h"
#include "gcompile/ir/OperatorTable.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "gcompile/ir/AtenDialect.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gcompile/ir/AtenAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "gcompile/ir/AtenOps.cpp.inc"

using namespace mlir;

namespace gcompile::aten {

void addOperatorTable(AtenDialect *dialect); // OperatorTable.cpp

void AtenDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gcompile/ir/AtenAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gcompile/ir/AtenOps.cpp.inc"
      >();
  addOperatorTable(this);
}

//===----------------------------------------------------------------------===//
// aten.call
//===----------------------------------------------------------------------===//

/// arg ::= %operand | `none` | `[` (arg (`,` arg)*)? `]` | attribute
static ParseResult
parseArg(OpAsmParser &parser,
         SmallVectorImpl<OpAsmParser::UnresolvedOperand> &operands,
         Attribute &arg) {
  Builder &builder = parser.getBuilder();
  OpAsmParser::UnresolvedOperand operand;
  OptionalParseResult isOperand = parser.parseOptionalOperand(operand);
  if (isOperand.has_value()) {
    arg = OperandAttr::get(builder.getContext(), operands.size());
    operands.push_back(operand);
    return *isOperand;
  }
  if (succeeded(parser.parseOptionalKeyword("none"))) {
    arg = builder.getUnitAttr();
    return success();
  }
  if (succeeded(parser.parseOptionalLSquare())) {
    SmallVector<Attribute> elements;
    if (failed(parser.parseOptionalRSquare())) {
      if (parser.parseCommaSeparatedList([&] {
            return parseArg(parser, operands, elements.emplace_back());
          }) ||
          parser.parseRSquare())
        return failure();
    }
    arg = builder.getArrayAttr(elements);
    return success();
  }
  return parser.parseAttribute(arg);
}

static void printArg(OpAsmPrinter &printer, Attribute arg,
                     OperandRange operands) {
  if (auto operand = dyn_cast<OperandAttr>(arg)) {
    printer << operands[operand.getIndex()];
  } else if (isa<UnitAttr>(arg)) {
    printer << "none";
  } else if (auto list = dyn_cast<ArrayAttr>(arg)) {
    printer << "[";
    llvm::interleaveComma(list, printer, [&](Attribute element) {
      printArg(printer, element, operands);
    });
    printer << "]";
  } else if (isa<IntegerAttr, FloatAttr>(arg)) {
    // i64 and f64 go without their types; other widths do not occur.
    printer.printAttributeWithoutType(arg);
    if (isa<FloatAttr>(arg))
      printer << " : f64";
  } else {
    printer.printAttribute(arg);
  }
}

ParseResult CallOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr callee;
  SmallVector<OpAsmParser::UnresolvedOperand> operands;
  SmallVector<Attribute> args;
  FunctionType type;
  if (parser.parseAttribute(callee, "callee", result.attributes) ||
      parser.parseCommaSeparatedList(
          OpAsmParser::Delimiter::Paren,
          [&] { return parseArg(parser, operands, args.emplace_back()); }) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(operands, type.getInputs(), parser.getNameLoc(),
                             result.operands))
    return failure();
  result.addAttribute("args", parser.getBuilder().getArrayAttr(args));
  result.addTypes(type.getResults());
  return success();
}

void CallOp::print(OpAsmPrinter &printer) {
  printer << " " << getCalleeAttr() << "(";
  llvm::interleaveComma(getArgs(), printer, [&](Attribute arg) {
    printArg(printer, arg, getOperands());
  });
  printer << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"callee", "args"});
  printer << " : ";
  printer.printFunctionalType(*this);
}

/// Appends the indices of the operands that `arg` mentions.
static void collectOperands(Attribute arg, SmallVectorImpl<unsigned> &indices) {
  if (auto operand = dyn_cast<OperandAttr>(arg))
    indices.push_back(operand.getIndex());
  else if (auto list = dyn_cast<ArrayAttr>(arg))
    for (Attribute element : list)
      collectOperands(element, indices);
}

Value CallOp::getOperandForArg(unsigned index) {
  auto operand = dyn_cast<OperandAttr>(getArgs()[index]);
  return operand ? getOperand(operand.getIndex()) : Value();
}

SmallVector<Value> CallOp::getOperandsForListArg(unsigned index) {
  SmallVector<unsigned> indices;
  collectOperands(getArgs()[index], indices);
  return llvm::map_to_vector(indices,
                             [&](unsigned i) { return getOperand(i); });
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

static LogicalResult verifyRegion(Operation *op, Region &region, StringRef name,
                                  TypeRange arguments, TypeRange yielded) {
  Block &block = region.front();
  if (block.getArgumentTypes() != arguments)
    return op->emitOpError() << name << " takes " << block.getArgumentTypes()
                             << " but is given " << arguments;
  TypeRange actual = block.getTerminator()->getOperandTypes();
  if (actual != yielded)
    return op->emitOpError()
           << name << " yields " << actual << ", expected " << yielded;
  return success();
}

static bool isPredicate(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.getElementType().isInteger(1) && tensor.hasStaticShape() &&
           tensor.getNumElements() == 1;
  return type.isInteger(1);
}

LogicalResult CondOp::verify() {
  if (!isPredicate(getPredicate().getType()))
    return emitOpError("predicate must be one i1, but is ")
           << getPredicate().getType();        // C1
  TypeRange operands = getInputs().getTypes(); // C2, C3
  if (failed(verifyRegion(*this, getThenRegion(), "then-region", operands,
                          getResultTypes())))
    return failure();
  return verifyRegion(*this, getElseRegion(), "else-region", operands,
                      getResultTypes());
}

LogicalResult WhileLoopOp::verify() {
  SmallVector<Type> arguments(getCarried().getTypes());
  llvm::append_range(arguments, getAdditional().getTypes());
  Operation *condYield = getCondRegion().front().getTerminator();
  if (condYield->getNumOperands() != 1 ||
      !isPredicate(condYield->getOperand(0).getType()))
    return emitOpError("condition must yield one i1, but yields ")
           << condYield->getOperandTypes(); // C2
  if (failed(verifyRegion(*this, getCondRegion(), "condition", arguments,
                          condYield->getOperandTypes())))
    return failure(); // C1
  if (TypeRange(getCarried().getTypes()) != getResultTypes())
    return emitOpError("results ")
           << getResultTypes() << " differ from the carried "
           << getCarried().getTypes(); // C3
  return verifyRegion(*this, getBodyRegion(), "body", arguments,
                      getResultTypes()); // C1, C3
}

LogicalResult CallOp::verify() {
  const OperatorInfo *info = lookupOperator(getContext(), getCallee());
  if (!info)
    return emitOpError("calls '") << getCallee() << "', which is unknown"; // C1
  ArrayRef<SchemaArgument> arguments = info->schema.arguments;
  if (getArgs().size() != arguments.size())
    return emitOpError("of '")
           << getCallee() << "' has " << getArgs().size()
           << " arguments, expected " << arguments.size(); // C2
  SmallVector<unsigned> indices;
  collectOperands(getArgsAttr(), indices);
  if (indices.size() != getNumOperands() ||
      !llvm::equal(indices, llvm::seq<unsigned>(0, getNumOperands())))
    return emitOpError("has ")
           << getNumOperands() << " operands, but args " << getArgsAttr()
           << " does not mention each once, in order"; // C3
  for (auto [argument, arg] : llvm::zip(arguments, getArgs()))
    if (!fitsSchema(argument, arg, getOperandTypes()))
      return emitOpError("argument '")
             << argument.name << "' must be " << describe(argument)
             << ", but is " << arg; // C4
  return success();
}

void CallOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  // An unknown operator might do anything; the verifier refuses it later.
  const OperatorInfo *info = lookupOperator(getContext(), getCallee());
  bool writes = !info || info->schema.isInPlace() || getNumResults() == 0;
  if (writes)
    effects.emplace_back(MemoryEffects::Write::get());
  // Until tg-functionalize an operand stands for a storage that changes.
  if (llvm::any_of(getOperandTypes(),
                   [](Type type) { return isa<TensorType>(type); }))
    effects.emplace_back(MemoryEffects::Read::get());
  // A random result may go unused, but is never the same as another.
  if (info && isRandom(*this))
    for (OpResult result : getResults())
      effects.emplace_back(MemoryEffects::Allocate::get(), result);
}

} // namespace gcompile::aten
