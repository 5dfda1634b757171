//===- Specialize.cpp - symbolic sizes become numbers ---------------------===//
// Everything after this pass sees static shapes: kernels are made for the sizes
// at hand, and kept by what determines them. The symbolic program keeps the
// ranges of its symbols, and here they guard.
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/OperatorTable.h"
#include "gcompile/passes/Passes.h"

#include "llvm/ADT/StringMap.h"

#include <cmath>

using namespace mlir;

namespace gcompile {
#define GEN_PASS_DEF_SPECIALIZEPASS
#include "gcompile/passes/Passes.h.inc"

namespace {

using aten::CallOp;

/// A symbolic scalar's value: an integer or bool exactly, or a float.
struct Number {
  std::optional<int64_t> integer;
  double real = 0;
  double asReal() const {
    return integer ? static_cast<double>(*integer) : real;
  }
  static Number of(int64_t value) { return {value, 0}; }
  static Number of(double value) { return {std::nullopt, value}; }
};

std::optional<Number> numberOf(Attribute literal) {
  if (auto flag = dyn_cast<BoolAttr>(literal))
    return Number::of(static_cast<int64_t>(flag.getValue()));
  if (auto integer = dyn_cast<IntegerAttr>(literal))
    return Number::of(integer.getInt());
  if (auto real = dyn_cast<FloatAttr>(literal))
    return Number::of(real.getValueAsDouble());
  return std::nullopt;
}

int64_t floorDivide(int64_t a, int64_t b) {
  return a / b - ((a % b != 0 && (a < 0) != (b < 0)) ? 1 : 0);
}

/// Python's value of a scalar function; none where it has none (division by
/// zero, overflow) or the function is not one of scalars.
std::optional<Number> evaluate(StringRef callee, ArrayRef<Number> args) {
  bool areIntegers =
      llvm::all_of(args, [](const Number &n) { return n.integer.has_value(); });
  auto a = [&] { return *args[0].integer; };
  auto b = [&] { return *args[1].integer; };
  auto compare = [&](auto less) {
    return Number::of(static_cast<int64_t>(
        areIntegers ? less(a(), b())
                    : less(args[0].asReal(), args[1].asReal())));
  };
  int64_t result = 0;
  if (callee == "_operator.add" || callee == "_operator.sub" ||
      callee == "_operator.mul") {
    if (!areIntegers) {
      double x = args[0].asReal(), y = args[1].asReal();
      return Number::of(callee.ends_with("add")   ? x + y
                        : callee.ends_with("sub") ? x - y
                                                  : x * y);
    }
    bool overflows =
        callee.ends_with("add")   ? __builtin_add_overflow(a(), b(), &result)
        : callee.ends_with("sub") ? __builtin_sub_overflow(a(), b(), &result)
                                  : __builtin_mul_overflow(a(), b(), &result);
    return overflows ? std::nullopt : std::optional(Number::of(result));
  }
  if (callee == "_operator.floordiv" || callee == "_operator.mod") {
    if (args[1].asReal() == 0)
      return std::nullopt;
    bool isMod = callee.ends_with("mod");
    if (areIntegers) {
      int64_t quotient = floorDivide(a(), b());
      return Number::of(isMod ? a() - quotient * b() : quotient);
    }
    double quotient = std::floor(args[0].asReal() / args[1].asReal());
    return Number::of(isMod ? args[0].asReal() - quotient * args[1].asReal()
                            : quotient);
  }
  if (callee == "_operator.truediv") {
    if (args[1].asReal() == 0)
      return std::nullopt;
    return Number::of(args[0].asReal() / args[1].asReal());
  }
  if (callee == "_operator.pow") {
    if (!areIntegers || b() < 0)
      return Number::of(std::pow(args[0].asReal(), args[1].asReal()));
    result = 1;
    for (int64_t i = 0; i < b(); ++i)
      if (__builtin_mul_overflow(result, a(), &result))
        return std::nullopt;
    return Number::of(result);
  }
  if (callee == "_operator.neg")
    return areIntegers ? Number::of(-a()) : Number::of(-args[0].real);
  if (callee == "_operator.pos" || callee == "torch.sym_float")
    return callee.ends_with("float") ? Number::of(args[0].asReal()) : args[0];
  if (callee == "_operator.eq")
    return compare([](auto x, auto y) { return x == y; });
  if (callee == "_operator.ne")
    return compare([](auto x, auto y) { return x != y; });
  if (callee == "_operator.lt")
    return compare([](auto x, auto y) { return x < y; });
  if (callee == "_operator.le")
    return compare([](auto x, auto y) { return x <= y; });
  if (callee == "_operator.gt")
    return compare([](auto x, auto y) { return x > y; });
  if (callee == "_operator.ge")
    return compare([](auto x, auto y) { return x >= y; });
  if (callee == "_operator.and_" && areIntegers)
    return Number::of(a() & b());
  if (callee == "_operator.or_" && areIntegers)
    return Number::of(a() | b());
  if (callee == "torch.sym_not" && areIntegers)
    return Number::of(static_cast<int64_t>(a() == 0));
  if (callee == "torch.sym_max" || callee == "torch.sym_min") {
    bool firstIsLess = args[0].asReal() < args[1].asReal();
    return args[firstIsLess == callee.ends_with("max") ? 1 : 0];
  }
  if (callee == "torch.sym_ite")
    return args[args[0].asReal() != 0 ? 1 : 2];
  if (callee == "torch.sym_int" || callee == "math.trunc")
    return areIntegers ? args[0]
                       : Number::of(static_cast<int64_t>(args[0].real));
  if (callee == "math.floor")
    return areIntegers
               ? args[0]
               : Number::of(static_cast<int64_t>(std::floor(args[0].real)));
  if (callee == "math.ceil")
    return areIntegers
               ? args[0]
               : Number::of(static_cast<int64_t>(std::ceil(args[0].real)));
  if (callee == "torch._sym_sqrt" || callee == "torch.sym_sqrt")
    return Number::of(std::sqrt(args[0].asReal()));
  return std::nullopt;
}

Type withoutEncoding(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getEncoding()
             ? RankedTensorType::get(tensor.getShape(), tensor.getElementType())
             : type;
}

struct SpecializePass : impl::SpecializePassBase<SpecializePass> {
  using Base = impl::SpecializePassBase<SpecializePass>;
  using Base::Base;

  void runOnOperation() override {
    ModuleOp module = getOperation();
    func::FuncOp func = module.lookupSymbol<func::FuncOp>("forward");
    if (!func)
      return;
    ranges = module->getAttrOfType<DictionaryAttr>("aten.symbols");
    symbols.clear();
    scalars.clear();
    folded.clear();
    numAsserts = 0;
    if (failed(bindArguments(func)) || failed(specialize(func.getBody())))
      return signalPassFailure();
    for (CallOp op : llvm::reverse(folded))
      if (op->use_empty())
        op.erase();
    Block &body = func.getBody().front();
    func.setFunctionType(
        FunctionType::get(&getContext(), body.getArgumentTypes(),
                          body.getTerminator()->getOperandTypes()));
    module->removeAttr("aten.symbols");
    count(&getContext(), "tg-specialize.scalars-folded",
          static_cast<int64_t>(folded.size()));
    count(&getContext(), "tg-specialize.asserts-checked", numAsserts);
  }

private:
  //===--- Arguments ------------------------------------------------------===//

  /// Gives the arguments of @forward static types.
  LogicalResult bindArguments(func::FuncOp func) {
    unsigned position = 0;
    for (BlockArgument argument : func.getArguments()) {
      auto type = dyn_cast<RankedTensorType>(argument.getType());
      bool isUserTensor = type && kindOf(func, argument) == "user_input";
      unsigned index = isUserTensor ? position++ : 0;
      if (!type)
        continue; // a symbolic scalar: bound below, from the tensors
      SmallVector<int64_t> shape(type.getShape());
      if (isUserTensor && index < sizes.size()) {
        if (failed(parseSizes(func, argument, sizes[index], shape)))
          return failure();
      }
      auto dims = dyn_cast_or_null<aten::DimsAttr>(type.getEncoding());
      for (auto [d, size] : llvm::enumerate(shape)) {
        if (!dims || !type.isDynamicDim(d))
          continue;
        StringRef symbol = dims.getSizes()[d].getValue();
        auto known = symbols.find(symbol);
        if (ShapedType::isDynamic(size)) {
          if (known == symbols.end())
            return emitError(argument.getLoc())
                   << "size '" << symbol << "' of dimension " << d
                   << " is symbolic: say the sizes of the inputs";
          size = known->second;
        } else if (known != symbols.end() && known->second != size) {
          return emitError(argument.getLoc())
                 << "dimension " << d << " has size " << size << ", but '"
                 << symbol << "' is " << known->second << " elsewhere";
        }
        symbols[symbol] = size;
        if (failed(checkRange(argument, d, symbol, size)))
          return failure();
      }
      argument.setType(RankedTensorType::get(shape, type.getElementType()));
    }
    return success();
  }

  static StringRef kindOf(func::FuncOp func, BlockArgument argument) {
    auto kind =
        func.getArgAttrOfType<StringAttr>(argument.getArgNumber(), "aten.kind");
    return kind ? kind.getValue() : StringRef();
  }

  /// "8x64" over the shape of an argument; static sizes must be the same.
  LogicalResult parseSizes(func::FuncOp func, BlockArgument argument,
                           StringRef text, SmallVectorImpl<int64_t> &shape) {
    SmallVector<StringRef> parts;
    if (!text.empty())
      text.split(parts, 'x');
    if (parts.size() != shape.size())
      return emitError(argument.getLoc())
             << "has rank " << shape.size() << " but is given sizes '" << text
             << "'";
    for (auto [d, part] : llvm::enumerate(parts)) {
      int64_t size = 0;
      if (part.getAsInteger(10, size) || size < 0)
        return emitError(argument.getLoc()) << "'" << part << "' is no size";
      if (!ShapedType::isDynamic(shape[d]) && shape[d] != size)
        return emitError(argument.getLoc())
               << "dimension " << d << " has size " << size << ", expected "
               << shape[d];
      shape[d] = size;
    }
    return success();
  }

  LogicalResult checkRange(BlockArgument argument, size_t dim, StringRef symbol,
                           int64_t size) {
    auto range = ranges ? ranges.getAs<ArrayAttr>(symbol) : ArrayAttr();
    if (!range)
      return success();
    auto low = dyn_cast<IntegerAttr>(range[0]);
    auto high = dyn_cast<IntegerAttr>(range[1]);
    if ((low && size < low.getInt()) || (high && size > high.getInt()))
      return emitError(argument.getLoc())
             << "dimension " << dim << " has size " << size << ", but '"
             << symbol << "' was exported for "
             << (low ? std::to_string(low.getInt()) : "-inf") << " to "
             << (high ? std::to_string(high.getInt()) : "inf");
    return success();
  }

  //===--- Operations -----------------------------------------------------===//

  LogicalResult specialize(Region &region) {
    if (region.empty())
      return success();
    // Erasing only ever takes the current operation.
    for (Operation &op : llvm::make_early_inc_range(region.front()))
      if (failed(specialize(&op)))
        return failure();
    return success();
  }

  LogicalResult specialize(Operation *op) {
    if (auto call = dyn_cast<CallOp>(op))
      return specializeCall(call);
    if (isa<aten::CondOp, aten::WhileLoopOp>(op))
      return specializeControlFlow(op);
    return success();
  }

  LogicalResult specializeControlFlow(Operation *op) {
    unsigned first = isa<aten::CondOp>(op) ? 1 : 0; // the predicate is no input
    for (Region &region : op->getRegions()) {
      for (BlockArgument argument : region.getArguments())
        argument.setType(
            op->getOperand(first + argument.getArgNumber()).getType());
      if (failed(specialize(region)))
        return failure();
    }
    Operation *yield =
        op->getRegion(isa<aten::CondOp>(op) ? 0 : 1).front().getTerminator();
    for (auto [result, value] :
         llvm::zip_equal(op->getResults(), yield->getOperands()))
      result.setType(value.getType());
    return success();
  }

  LogicalResult specializeCall(CallOp op) {
    op = foldOperands(op);
    StringRef callee = op.getCallee();
    if (callee.starts_with("aten._assert") ||
        callee.starts_with("aten.sym_constrain_range"))
      return checkAssert(op);
    if (auto value = scalarResult(op)) {
      // Its readers come later and take the number; then it is dead.
      scalars[op->getResult(0)] = *value;
      folded.push_back(op);
      return success();
    }
    if (aten::canInferTypes(op)) {
      auto types = aten::inferResultTypes(op, [&] { return op.emitError(); });
      if (failed(types))
        return failure();
      for (auto [result, type] : llvm::zip_equal(op->getResults(), *types))
        result.setType(type);
      return success();
    }
    for (OpResult result : op->getResults()) {
      auto type = dyn_cast<RankedTensorType>(result.getType());
      if (type && !type.hasStaticShape())
        return op.emitError("unsupported: the size of a result of ")
               << callee << " depends on data";
      result.setType(withoutEncoding(result.getType()));
    }
    return success();
  }

  /// Operands that are known scalars become literals.
  CallOp foldOperands(CallOp op) {
    if (llvm::none_of(op->getOperands(),
                      [&](Value v) { return scalars.contains(v); }))
      return op;
    Builder builder(op.getContext());
    SmallVector<Value> operands;
    auto literal = [&](const Number &number, Type type) -> Attribute {
      if (type.isInteger(1))
        return builder.getBoolAttr(number.asReal() != 0);
      if (number.integer)
        return builder.getI64IntegerAttr(*number.integer);
      return builder.getF64FloatAttr(number.real);
    };
    std::function<Attribute(Attribute)> fold = [&](Attribute arg) -> Attribute {
      if (auto list = dyn_cast<ArrayAttr>(arg))
        return builder.getArrayAttr(llvm::map_to_vector(
            list, [&](Attribute element) { return fold(element); }));
      auto operand = dyn_cast<aten::OperandAttr>(arg);
      if (!operand)
        return arg;
      Value value = op->getOperand(operand.getIndex());
      auto known = scalars.find(value);
      if (known != scalars.end())
        return literal(known->second, value.getType());
      operands.push_back(value);
      return aten::OperandAttr::get(op.getContext(), operands.size() - 1);
    };
    auto args = cast<ArrayAttr>(fold(op.getArgsAttr()));
    op->setOperands(operands);
    op.setArgsAttr(args);
    return op;
  }

  /// The value of a scalar function of known numbers, or of a size.
  std::optional<Number> scalarResult(CallOp op) {
    if (op->getNumResults() != 1 || isa<TensorType>(op->getResult(0).getType()))
      return std::nullopt;
    StringRef callee = op.getCallee();
    if (callee.starts_with("aten.sym_")) {
      aten::Call call(op);
      RankedTensorType type = call.tensorType("self");
      if (!type || !type.hasStaticShape())
        return std::nullopt;
      if (callee == "aten.sym_numel.default")
        return Number::of(type.getNumElements());
      // Values are row-major here, whatever they were in the exporter's memory.
      if (callee == "aten.sym_storage_offset.default")
        return Number::of(int64_t(0));
      int64_t dim = call.dim("dim", type.getRank());
      if (callee == "aten.sym_size.int")
        return Number::of(type.getDimSize(dim));
      if (callee == "aten.sym_stride.int") {
        int64_t stride = 1;
        for (int64_t d = dim + 1; d < type.getRank(); ++d)
          stride *= std::max<int64_t>(type.getDimSize(d), 1);
        return Number::of(stride);
      }
      return std::nullopt;
    }
    if (!op->getOperands().empty())
      return std::nullopt;
    SmallVector<Number> args;
    for (Attribute arg : op.getArgs()) {
      auto number = numberOf(arg);
      if (!number)
        return std::nullopt;
      args.push_back(*number);
    }
    return evaluate(callee, args);
  }

  /// Checks an assertion about sizes and drops it. One about data or about what
  /// the type already says goes unchecked, as the runtime has no way to stop.
  LogicalResult checkAssert(CallOp op) {
    aten::Call call(op);
    StringRef callee = op.getCallee();
    auto erase = [&] {
      ++numAsserts;
      op.erase();
      return success();
    };
    if (callee == "aten._assert_scalar.default") {
      auto holds = numberOf(call.literal("self"));
      if (holds && holds->asReal() == 0)
        return op.emitError("the model asserts: ") << call.string("assert_msg");
    } else if (callee.starts_with("aten.sym_constrain_range")) {
      auto size = numberOf(call.literal("size"));
      auto low = call.maybeInteger("min"), high = call.maybeInteger("max");
      if (size && ((low && size->asReal() < static_cast<double>(*low)) ||
                   (high && size->asReal() > static_cast<double>(*high))))
        return op.emitError("size ")
               << *size->integer << " is outside the exported range";
    }
    return erase();
  }

  DictionaryAttr ranges;
  llvm::StringMap<int64_t> symbols;
  DenseMap<Value, Number> scalars;
  SmallVector<CallOp> folded;
  int64_t numAsserts = 0;
};

} // namespace
} // namespace gcompile
