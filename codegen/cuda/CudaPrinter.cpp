//===- CudaPrinter.cpp - emitted functions as CUDA C++ --------------------===//
// Operations become expressions; one that is used once, next to where it is
// computed, is written there, so that the text reads like arithmetic.
#include "CudaPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;

namespace gcompile::cuda {
namespace {

using llvm::formatv;

/// An expression, and how tightly it binds: that of C++, or kAtom.
struct Text {
  std::string text;
  int precedence;
};
enum Precedence {
  kConditional,
  kOr,
  kAnd,
  kBitOr,
  kBitXor,
  kBitAnd,
  kEqual,
  kCompare,
  kShift,
  kSum,
  kProduct,
  kUnary,
  kAtom
};

constexpr size_t kMaxInlined = 60; // characters

class Printer {
public:
  Printer(StringRef indexType, llvm::raw_ostream &os)
      : indexType(indexType), os(os) {}

  void printMerge(func::FuncOp func);
  void printKernel(func::FuncOp func);

  /// An operation that has no CUDA C++; empty if all have.
  StringRef unsupported;

private:
  std::string typeName(Type type) const;
  std::string unsignedName(Type type) const;
  std::string expression(Value value, int precedence = kConditional) const;
  std::string fresh(StringRef base);
  void line(const Twine &text) { os.indent(indent) << text << "\n"; }
  void define(Value value, const Twine &text, int precedence);
  void printBlock(Block &block);
  void printOp(Operation &op);
  void printFor(scf::ForOp op);
  void printIf(scf::IfOp op);
  void printCall(emitc::CallOpaqueOp op);
  void printReduce(emitc::CallOpaqueOp op);
  std::optional<Text> arithmetic(Operation &op) const;
  std::optional<Text> conversion(Operation &op) const;
  Text constant(TypedAttr attr) const;
  Text infix(Operation &op, StringRef symbol, int precedence) const;
  Text wrapping(Operation &op, StringRef symbol) const;
  Text unsignedInfix(Operation &op, StringRef symbol) const;
  Text comparison(arith::CmpFOp op) const;
  Text comparison(arith::CmpIOp op) const;
  Text callOf(StringRef function, ValueRange operands) const;
  std::string mathName(Operation &op) const;

  std::string indexType;
  llvm::raw_ostream &os;
  int indent = 0;
  llvm::DenseMap<Value, Text> texts;
  llvm::StringSet<> taken;
};

//===----------------------------------------------------------------------===//
// Types and names
//===----------------------------------------------------------------------===//

std::string Printer::typeName(Type type) const {
  return type.isIndex() ? indexType : elementType(type);
}

std::string Printer::unsignedName(Type type) const {
  std::string name = typeName(type);
  name[0] = 'u';
  return name;
}

std::string Printer::fresh(StringRef base) {
  std::string name = base.str();
  for (int i = 1; !taken.insert(name).second; ++i)
    name = (base + Twine(i)).str();
  return name;
}

std::string Printer::expression(Value value, int precedence) const {
  auto it = texts.find(value);
  assert(it != texts.end() && "used before it is printed");
  const Text &text = it->second;
  return text.precedence < precedence ? "(" + text.text + ")" : text.text;
}

/// True where writing the expression at its only use changes nothing.
bool isInlined(Value value, StringRef text) {
  if (!value.hasOneUse() || text.size() > kMaxInlined)
    return false;
  Operation *def = value.getDefiningOp(), *user = *value.getUsers().begin();
  if (def->getBlock() != user->getBlock())
    return false;
  // Reads of memory keep their order with writes.
  return !isa<emitc::CallOpaqueOp>(def);
}

void Printer::define(Value value, const Twine &text, int precedence) {
  std::string written = text.str();
  Operation *def = value.getDefiningOp();
  if (isa<arith::ConstantOp>(def) || isInlined(value, written)) {
    texts[value] = {written, precedence};
    return;
  }
  auto hint = def->getAttrOfType<StringAttr>("hint");
  std::string name =
      fresh(hint ? hint.getValue()
                 : StringRef(value.getType().isIndex() ? "i" : "v"));
  line("const " + typeName(value.getType()) + " " + name + " = " + written +
       ";");
  texts[value] = {name, kAtom};
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Text Printer::constant(TypedAttr attr) const {
  Type type = attr.getType();
  if (auto integer = dyn_cast<IntegerAttr>(attr)) {
    if (type.isInteger(1))
      return {integer.getValue().isZero() ? "false" : "true", kAtom};
    int64_t value = integer.getValue().getSExtValue();
    if (value == std::numeric_limits<int64_t>::min())
      return {"(-9223372036854775807ll - 1)", kAtom};
    std::string text = std::to_string(value);
    if (type.isInteger(64) || (type.isIndex() && indexType == "i64"))
      text += "ll";
    return {text, value < 0 ? kUnary : kAtom};
  }
  APFloat value = cast<FloatAttr>(attr).getValue();
  APInt bits = value.bitcastToAPInt();
  if (type.isF16() || type.isBF16())
    return {formatv("{0}{{{1:x}}", typeName(type), bits.getZExtValue()), kAtom};
  bool isDouble = type.isF64();
  if (!value.isFinite())
    return {
        isDouble
            ? formatv("__longlong_as_double({0}ll)", bits.getSExtValue()).str()
            : formatv("__uint_as_float({0:x}u)", bits.getZExtValue()).str(),
        kAtom};
  SmallString<32> digits;
  value.toString(digits, isDouble ? 17 : 9);
  if (digits.find_first_of(".eE") == StringRef::npos)
    digits += ".0";
  if (!isDouble)
    digits += "f";
  return {std::string(digits), value.isNegative() ? kUnary : kAtom};
}

Text Printer::infix(Operation &op, StringRef symbol, int precedence) const {
  return {(expression(op.getOperand(0), precedence) + " " + symbol + " " +
           expression(op.getOperand(1), precedence + 1))
              .str(),
          precedence};
}

/// Integers of tensors wrap; those of indices never need to.
Text Printer::wrapping(Operation &op, StringRef symbol) const {
  Type type = op.getResult(0).getType();
  int precedence = symbol == "*" ? kProduct : kSum;
  if (type.isIndex())
    return infix(op, symbol, precedence);
  return {formatv("{0}({1}({2}) {3} {1}({4}))", typeName(type),
                  unsignedName(type), expression(op.getOperand(0)), symbol,
                  expression(op.getOperand(1))),
          kAtom};
}

Text Printer::unsignedInfix(Operation &op, StringRef symbol) const {
  Type type = op.getResult(0).getType();
  if (type.isIndex()) // known not to be negative
    return infix(op, symbol, kProduct);
  return {formatv("{0}({1}({2}) {3} {1}({4}))", typeName(type),
                  unsignedName(type), expression(op.getOperand(0)), symbol,
                  expression(op.getOperand(1))),
          kAtom};
}

Text Printer::comparison(arith::CmpFOp op) const {
  std::string lhs = expression(op.getLhs(), kShift);
  std::string rhs = expression(op.getRhs(), kShift);
  auto negated = [&](StringRef symbol) -> Text {
    return {("!(" + lhs + " " + symbol + " " + rhs + ")").str(), kUnary};
  };
  auto plain = [&](StringRef symbol, int precedence = kCompare) -> Text {
    return {(lhs + " " + symbol + " " + rhs).str(), precedence};
  };
  auto both = "(" + lhs + " < " + rhs + " || " + lhs + " > " + rhs + ")";
  std::string isNan =
      "(" + lhs + " != " + lhs + " || " + rhs + " != " + rhs + ")";
  switch (op.getPredicate()) {
  case arith::CmpFPredicate::AlwaysFalse:
    return {"false", kAtom};
  case arith::CmpFPredicate::OEQ:
    return plain("==", kEqual);
  case arith::CmpFPredicate::OGT:
    return plain(">");
  case arith::CmpFPredicate::OGE:
    return plain(">=");
  case arith::CmpFPredicate::OLT:
    return plain("<");
  case arith::CmpFPredicate::OLE:
    return plain("<=");
  case arith::CmpFPredicate::ONE:
    return {both, kAtom};
  case arith::CmpFPredicate::ORD:
    return {"!" + isNan, kUnary};
  case arith::CmpFPredicate::UEQ:
    return {"!" + both, kUnary};
  case arith::CmpFPredicate::UGT:
    return negated("<=");
  case arith::CmpFPredicate::UGE:
    return negated("<");
  case arith::CmpFPredicate::ULT:
    return negated(">=");
  case arith::CmpFPredicate::ULE:
    return negated(">");
  case arith::CmpFPredicate::UNE:
    return plain("!=", kEqual);
  case arith::CmpFPredicate::UNO:
    return {isNan, kAtom};
  case arith::CmpFPredicate::AlwaysTrue:
    return {"true", kAtom};
  }
  llvm_unreachable("all predicates are listed");
}

Text Printer::comparison(arith::CmpIOp op) const {
  using P = arith::CmpIPredicate;
  P predicate = op.getPredicate();
  std::string lhs = expression(op.getLhs(), kShift);
  std::string rhs = expression(op.getRhs(), kShift);
  bool isUnsigned = predicate == P::ult || predicate == P::ule ||
                    predicate == P::ugt || predicate == P::uge;
  if (isUnsigned) {
    std::string type = unsignedName(op.getLhs().getType());
    lhs = type + "(" + expression(op.getLhs()) + ")";
    rhs = type + "(" + expression(op.getRhs()) + ")";
  }
  StringRef symbol = predicate == P::eq                           ? "=="
                     : predicate == P::ne                         ? "!="
                     : predicate == P::slt || predicate == P::ult ? "<"
                     : predicate == P::sle || predicate == P::ule ? "<="
                     : predicate == P::sgt || predicate == P::ugt ? ">"
                                                                  : ">=";
  bool isEquality = predicate == P::eq || predicate == P::ne;
  return {(lhs + " " + symbol + " " + rhs).str(),
          isEquality ? kEqual : kCompare};
}

Text Printer::callOf(StringRef function, ValueRange operands) const {
  std::string text = (function + "(").str();
  llvm::raw_string_ostream stream(text);
  llvm::interleaveComma(operands, stream,
                        [&](Value operand) { stream << expression(operand); });
  stream << ")";
  return {text, kAtom};
}

/// Name of CUDA's function for an operation of the math dialect; empty if there
/// is none.
std::string Printer::mathName(Operation &op) const {
  StringRef name = llvm::TypeSwitch<Operation *, StringRef>(&op)
                       .Case<math::AbsFOp>([](auto) { return "fabs"; })
                       .Case<math::AbsIOp>([](auto) { return "abs"; })
                       .Case<math::CopySignOp>([](auto) { return "copysign"; })
                       .Case<math::RoundEvenOp>([](auto) { return "rint"; })
                       .Case<math::PowFOp>([](auto) { return "pow"; })
                       .Case<math::IPowIOp>([](auto) { return "ipow"; })
                       .Case<math::FPowIOp>([](auto) { return "pow"; })
                       .Case<math::FmaOp>([](auto) { return "fma"; })
                       .Case<math::CtPopOp>([](auto) { return "popcount"; })
                       .Default([](Operation *other) {
                         return isa<math::MathDialect>(other->getDialect())
                                    ? other->getName().stripDialect()
                                    : StringRef();
                       });
  bool isFloat = op.getNumResults() == 1 && op.getResult(0).getType().isF32();
  return name.empty() ? "" : (name + (isFloat ? "f" : "")).str();
}

std::optional<Text> Printer::conversion(Operation &op) const {
  auto cast = [&](StringRef type) -> Text {
    return {(type + "(" + expression(op.getOperand(0)) + ")").str(), kAtom};
  };
  Type from = op.getNumOperands() ? op.getOperand(0).getType() : Type();
  Type to = op.getNumResults() ? op.getResult(0).getType() : Type();
  auto isHalf = [](Type type) { return type.isF16() || type.isBF16(); };
  if (isa<arith::ExtFOp>(op))
    return cast(isHalf(from) ? "to_float" : typeName(to));
  if (isa<arith::TruncFOp>(op))
    return cast(isHalf(to) ? "to_" + typeName(to) : typeName(to));
  if (isa<arith::ExtUIOp, arith::UIToFPOp, arith::IndexCastUIOp>(op))
    return Text{formatv("{0}({1}({2}))", typeName(to),
                        from.isInteger(1) ? "bool" : unsignedName(from),
                        expression(op.getOperand(0))),
                kAtom};
  if (isa<arith::ExtSIOp, arith::SIToFPOp>(op) && from.isInteger(1))
    return Text{"-" + cast(typeName(to)).text, kUnary};
  if (isa<arith::TruncIOp>(op) && to.isInteger(1))
    return Text{"(" + expression(op.getOperand(0), kProduct) + " & 1) != 0",
                kEqual};
  if (isa<arith::FPToUIOp>(op))
    return Text{typeName(to) + "(" + cast(unsignedName(to)).text + ")", kAtom};
  if (isa<arith::FPToSIOp>(op) && to.getIntOrFloatBitWidth() < 32)
    return Text{typeName(to) + "(" + cast("i32").text + ")", kAtom};
  if (isa<arith::ExtSIOp, arith::SIToFPOp, arith::TruncIOp, arith::IndexCastOp,
          arith::FPToSIOp>(op))
    return cast(typeName(to));
  if (isa<arith::BitcastOp>(op)) {
    if (isHalf(from))
      return Text{"i16(" + expression(op.getOperand(0), kAtom) + ".bits)",
                  kAtom};
    if (isHalf(to))
      return Text{
          formatv("{0}{{u16({1})}", typeName(to), expression(op.getOperand(0))),
          kAtom};
    StringRef name = from.isF32()   ? "__float_as_int"
                     : to.isF32()   ? "__int_as_float"
                     : from.isF64() ? "__double_as_longlong"
                     : to.isF64()   ? "__longlong_as_double"
                                    : "";
    return name.empty() ? cast(typeName(to)) : cast(name);
  }
  return std::nullopt;
}

std::optional<Text> Printer::arithmetic(Operation &op) const {
  if (auto constantOp = dyn_cast<arith::ConstantOp>(op))
    return constant(constantOp.getValue());
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return comparison(compare);
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return comparison(compare);
  if (std::optional<Text> converted = conversion(op))
    return converted;
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return Text{expression(select.getCondition(), kOr) + " ? " +
                    expression(select.getTrueValue(), kOr) + " : " +
                    expression(select.getFalseValue(), kOr),
                kConditional};
  if (std::string name = mathName(op); !name.empty())
    return callOf(name, op.getOperands());
  using Result = std::optional<Text>;
  auto integerType = [&] { return op.getResult(0).getType(); };
  auto extremum = [&](StringRef name, bool isUnsigned) -> Result {
    Type type = integerType();
    std::string to = isUnsigned ? unsignedName(type) : typeName(type);
    return Text{
        formatv("{0}({1}({2}, {3}))", typeName(type), name,
                isUnsigned ? to + "(" + expression(op.getOperand(0)) + ")"
                           : expression(op.getOperand(0)),
                isUnsigned ? to + "(" + expression(op.getOperand(1)) + ")"
                           : expression(op.getOperand(1))),
        kAtom};
  };
  auto bitwise = [&](StringRef symbol, int precedence) -> Result {
    return infix(op, symbol, precedence);
  };
  auto narrow = [&](Text text) -> Result { // C++ widens to int
    return Text{typeName(integerType()) + "(" + text.text + ")", kAtom};
  };
  return llvm::TypeSwitch<Operation *, Result>(&op)
      .Case<arith::AddFOp>([&](auto) { return infix(op, "+", kSum); })
      .Case<arith::SubFOp>([&](auto) { return infix(op, "-", kSum); })
      .Case<arith::MulFOp>([&](auto) { return infix(op, "*", kProduct); })
      .Case<arith::DivFOp>([&](auto) { return infix(op, "/", kProduct); })
      .Case<arith::RemFOp>([&](auto) {
        return callOf(integerType().isF32() ? "fmodf" : "fmod",
                      op.getOperands());
      })
      .Case<arith::NegFOp>([&](auto) {
        return Text{"-" + expression(op.getOperand(0), kAtom), kUnary};
      })
      .Case<arith::AddIOp>([&](auto) { return wrapping(op, "+"); })
      .Case<arith::SubIOp>([&](auto) { return wrapping(op, "-"); })
      .Case<arith::MulIOp>([&](auto) { return wrapping(op, "*"); })
      .Case<arith::DivUIOp>([&](auto) { return unsignedInfix(op, "/"); })
      .Case<arith::RemUIOp>([&](auto) { return unsignedInfix(op, "%"); })
      .Case<arith::DivSIOp>(
          [&](auto) { return narrow(infix(op, "/", kProduct)); })
      .Case<arith::RemSIOp>(
          [&](auto) { return narrow(infix(op, "%", kProduct)); })
      .Case<arith::FloorDivSIOp>(
          [&](auto) { return callOf("floor_div", op.getOperands()); })
      .Case<arith::CeilDivSIOp>(
          [&](auto) { return callOf("ceil_div", op.getOperands()); })
      .Case<arith::AndIOp>([&](auto) { return bitwise("&", kBitAnd); })
      .Case<arith::OrIOp>([&](auto) { return bitwise("|", kBitOr); })
      .Case<arith::XOrIOp>([&](auto) { return bitwise("^", kBitXor); })
      .Case<arith::ShLIOp>([&](auto) {
        return Text{formatv("{0}({1}({2}) << {3})", typeName(integerType()),
                            unsignedName(integerType()),
                            expression(op.getOperand(0)),
                            expression(op.getOperand(1), kSum)),
                    kAtom};
      })
      .Case<arith::ShRSIOp>(
          [&](auto) { return narrow(infix(op, ">>", kShift)); })
      .Case<arith::ShRUIOp>([&](auto) {
        return Text{formatv("{0}({1}({2}) >> {3})", typeName(integerType()),
                            unsignedName(integerType()),
                            expression(op.getOperand(0)),
                            expression(op.getOperand(1), kSum)),
                    kAtom};
      })
      .Case<arith::MaximumFOp>(
          [&](auto) { return callOf("maximum", op.getOperands()); })
      .Case<arith::MinimumFOp>(
          [&](auto) { return callOf("minimum", op.getOperands()); })
      .Case<arith::MaxNumFOp>(
          [&](auto) { return callOf("fmax", op.getOperands()); })
      .Case<arith::MinNumFOp>(
          [&](auto) { return callOf("fmin", op.getOperands()); })
      .Case<arith::MaxSIOp>([&](auto) { return extremum("larger", false); })
      .Case<arith::MinSIOp>([&](auto) { return extremum("smaller", false); })
      .Case<arith::MaxUIOp>([&](auto) { return extremum("larger", true); })
      .Case<arith::MinUIOp>([&](auto) { return extremum("smaller", true); })
      .Default([](Operation *) -> Result { return std::nullopt; });
}

//===----------------------------------------------------------------------===//
// Statements
//===----------------------------------------------------------------------===//

void Printer::printCall(emitc::CallOpaqueOp op) {
  StringRef callee = op.getCallee();
  auto operand = [&](unsigned i, int precedence = kConditional) {
    return expression(op.getOperand(i), precedence);
  };
  Value result = op.getNumResults() ? op.getResult(0) : Value();
  if (callee == "load" || callee == "at") {
    std::string text = operand(0, kAtom) + "[" + operand(1) + "]";
    if (result.getType().isInteger(1))
      return define(result, text + " != 0", kEqual);
    return define(result, text, kAtom);
  }
  if (callee == "store" || callee == "set_at")
    return line(operand(0, kAtom) + "[" + operand(1) + "] = " + operand(2) +
                ";");
  if (callee == "load_vec") {
    std::string count = op->getAttrOfType<StringAttr>("count").str();
    return define(result,
                  "load_vec<" + count + ">(" + operand(0, kSum) + " + " +
                      operand(1, kProduct) + ")",
                  kAtom);
  }
  if (callee == "store_vec")
    return line("store_vec(" + operand(0, kSum) + " + " + operand(1, kProduct) +
                ", " + operand(2) + ");");
  if (callee == "lane") {
    std::string text = operand(0, kAtom) + ".v[" + operand(1) + "]";
    if (result.getType().isInteger(1))
      return define(result, text + " != 0", kEqual);
    return define(result, text, kAtom);
  }
  if (callee == "set_lane")
    return line(operand(0, kAtom) + ".v[" + operand(1) + "] = " + operand(2) +
                ";");
  if (callee == "declare") {
    auto hint = op->getAttrOfType<StringAttr>("hint");
    std::string name = fresh(hint ? hint.getValue() : StringRef("array"));
    auto size = op->getAttrOfType<StringAttr>("size");
    line(op->getAttrOfType<StringAttr>("type").str() + " " + name +
         (size ? "[" + size.str() + "]" : "") + ";");
    texts[result] = {name, kAtom};
    return;
  }
  if (callee == "return_unless")
    return line("if (!(" + operand(0) + "))\n" + std::string(indent + 2, ' ') +
                "return;");
  if (callee.starts_with("reduce."))
    return printReduce(op);
  std::string text = callOf(callee, op.getOperands()).text;
  if (result)
    define(result, text, kAtom);
  else
    line(text + ";");
}

void Printer::printReduce(emitc::CallOpaqueOp op) {
  std::string type = op->getAttrOfType<StringAttr>("struct").str();
  std::string extra = op->getAttrOfType<StringAttr>("arguments").str();
  StringRef function = op.getCallee().drop_front(strlen("reduce."));
  std::string name = fresh("total");
  std::string members;
  llvm::raw_string_ostream stream(members);
  llvm::interleaveComma(op.getOperands(), stream,
                        [&](Value value) { stream << expression(value); });
  if (op->hasAttr("splits")) {
    // The last block to arrive goes on with the whole result.
    line(type + " " + name + "{" + members + "};");
    line("if (!" + function + "(" + name + extra + "))\n" +
         std::string(indent + 2, ' ') + "return;");
  } else {
    line("const " + type + " " + name + " = " + function + "(" + type + "{" +
         members + "}" + extra + ");");
  }
  for (auto [i, result] : llvm::enumerate(op.getResults()))
    texts[result] = {name + ".m" + std::to_string(i), kAtom};
}

void Printer::printFor(scf::ForOp op) {
  SmallVector<std::string> variables;
  for (auto [initial, carried] :
       llvm::zip_equal(op.getInitArgs(), op.getRegionIterArgs())) {
    // A loop within another goes on with its variables.
    auto argument = dyn_cast<BlockArgument>(initial);
    auto outer = argument
                     ? dyn_cast<scf::ForOp>(argument.getOwner()->getParentOp())
                     : scf::ForOp();
    std::string name;
    if (outer && argument != outer.getInductionVar() && initial.hasOneUse()) {
      name = expression(initial);
    } else {
      name = fresh("acc");
      line(typeName(carried.getType()) + " " + name + " = " +
           expression(initial) + ";");
    }
    texts[carried] = {name, kAtom};
    variables.push_back(name);
  }
  if (op->hasAttr("unroll"))
    line("#pragma unroll");
  auto hint = op->getAttrOfType<StringAttr>("hint");
  std::string index = fresh(hint ? hint.getValue() : StringRef("i"));
  texts[op.getInductionVar()] = {index, kAtom};
  std::string step = expression(op.getStep());
  line(formatv("for ({0} {1} = {2}; {1} < {3}; {4}) {{",
               typeName(op.getInductionVar().getType()), index,
               expression(op.getLowerBound()),
               expression(op.getUpperBound(), kShift),
               step == "1" || step == "1ll" ? "++" + index
                                            : index + " += " + step)
           .str());
  indent += 2;
  printBlock(*op.getBody());
  auto yield = op.getBody()->getTerminator();
  SmallVector<std::pair<std::string, std::string>> assignments;
  for (auto [variable, value] :
       llvm::zip_equal(variables, yield->getOperands()))
    if (std::string text = expression(value); text != variable)
      assignments.push_back({variable, text});
  // As if all at once.
  if (assignments.size() > 1)
    for (auto &[variable, text] : assignments) {
      std::string next = fresh("next");
      line("const auto " + next + " = " + text + ";");
      text = next;
    }
  for (auto &[variable, text] : assignments)
    line(variable + " = " + text + ";");
  indent -= 2;
  line("}");
  for (auto [result, variable] : llvm::zip_equal(op.getResults(), variables))
    texts[result] = {variable, kAtom};
}

void Printer::printIf(scf::IfOp op) {
  SmallVector<std::string> variables;
  for (Value result : op.getResults()) {
    variables.push_back(fresh("v"));
    line(typeName(result.getType()) + " " + variables.back() + ";");
    texts[result] = {variables.back(), kAtom};
  }
  auto printBranch = [&](Region &region) {
    indent += 2;
    printBlock(region.front());
    for (auto [variable, value] : llvm::zip_equal(
             variables, region.front().getTerminator()->getOperands()))
      line(variable + " = " + expression(value) + ";");
    indent -= 2;
  };
  line("if (" + expression(op.getCondition()) + ") {");
  printBranch(op.getThenRegion());
  if (!op.getElseRegion().empty()) {
    line("} else {");
    printBranch(op.getElseRegion());
  }
  line("}");
}

void Printer::printOp(Operation &op) {
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return printFor(loop);
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return printIf(branch);
  if (auto call = dyn_cast<emitc::CallOpaqueOp>(op))
    return printCall(call);
  if (auto literal = dyn_cast<emitc::LiteralOp>(op)) {
    texts[literal.getResult()] = {literal.getValue().str(), kAtom};
    return;
  }
  if (op.getNumResults() == 1 && isMemoryEffectFree(&op) && op.use_empty())
    return;
  std::optional<Text> text = arithmetic(op);
  if (!text) {
    unsupported = op.getName().getStringRef();
    text = Text{"0", kAtom};
  }
  define(op.getResult(0), text->text, text->precedence);
}

void Printer::printBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    printOp(op);
}

void Printer::printMerge(func::FuncOp func) {
  std::string name = func->getAttrOfType<StringAttr>("merge").str();
  Block &block = func.getBody().front();
  unsigned count = func.getNumResults();
  line("/// Partial results of a reduction.");
  line("struct " + name + " {");
  indent += 2;
  for (unsigned i = 0; i < count; ++i) {
    std::string member = "m" + std::to_string(i);
    line(typeName(func.getResultTypes()[i]) + " " + member + ";");
    texts[block.getArgument(i)] = {member, kAtom};
    texts[block.getArgument(count + i)] = {"other." + member, kAtom};
  }
  line("__device__ void merge(const " + name + " &other) {");
  indent += 2;
  printBlock(block);
  Operation *ret = block.getTerminator();
  SmallVector<std::string> merged;
  for (Value value : ret->getOperands()) {
    merged.push_back(count == 1 ? expression(value) : fresh("merged"));
    if (count > 1)
      line("const auto " + merged.back() + " = " + expression(value) + ";");
  }
  for (unsigned i = 0; i < count; ++i)
    line("m" + std::to_string(i) + " = " + merged[i] + ";");
  indent -= 2;
  line("}");
  indent -= 2;
  line("};\n");
}

void Printer::printKernel(func::FuncOp func) {
  Block &block = func.getBody().front();
  int64_t threads = func->getAttrOfType<IntegerAttr>("threads").getInt();
  os << "extern \"C\" __global__ void __launch_bounds__(" << threads << ")\n"
     << func.getName() << "(";
  llvm::interleave(
      block.getArguments(),
      [&](BlockArgument argument) {
        auto hint =
            func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "hint");
        std::string name = fresh(hint.getValue());
        texts[argument] = {name, kAtom};
        os << cast<emitc::OpaqueType>(argument.getType()).getValue() << name;
      },
      [&] { os << ",\n    "; });
  os << ") {\n";
  indent = 2;
  printBlock(block);
  indent = 0;
  os << "}\n";
}

} // namespace

std::string elementType(Type type) {
  if (auto opaque = dyn_cast<emitc::OpaqueType>(type))
    return opaque.getValue().str();
  if (type.isInteger(1))
    return "bool";
  if (type.isIndex())
    return "i64";
  if (type.isBF16())
    return "bf16";
  return (isa<FloatType>(type) ? "f" : "i") +
         std::to_string(type.getIntOrFloatBitWidth());
}

FailureOr<std::string> printCuda(ModuleOp module, StringRef indexType) {
  std::string text;
  llvm::raw_string_ostream os(text);
  if (auto comment = module->getAttrOfType<StringAttr>("comment"))
    os << comment.getValue();
  if (auto includes = module->getAttrOfType<ArrayAttr>("includes"))
    for (auto include : includes.getAsRange<StringAttr>())
      os << "#include \"" << include.getValue() << "\"\n";
  os << "\n";
  for (auto literal : module.getOps<emitc::VerbatimOp>())
    os << literal.getValue() << "\n\n";
  for (auto func : module.getOps<func::FuncOp>()) {
    Printer printer(indexType, os);
    if (func->hasAttr("merge"))
      printer.printMerge(func);
    else
      printer.printKernel(func);
    if (!printer.unsupported.empty())
      return func.emitError("no CUDA C++ for ") << printer.unsupported;
  }
  return text;
}

} // namespace gcompile::cuda
