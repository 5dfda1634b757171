//===- Functionalize.cpp - in-place operators and views become pure -------===//
// Follows which values share memory. A value that does is a handle on a
// storage: a chain of view steps from the storage's base. A write through a
// handle makes a new base by undoing the steps one by one; other handles of the
// storage are derived anew from it when they are read next. What is left are
// pure functions, and writes that the caller can see are results of the
// function.
#include "Views.h"

#include "gcompile/ir/Counters.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/ir/Tg.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include <deque>

using namespace mlir;

namespace gcompile {
#define GEN_PASS_DEF_FUNCTIONALIZEPASS
#include "gcompile/passes/Passes.h.inc"

using aten::Arg;
using aten::AtenBuilder;
using aten::Call;
using aten::CallOp;
using aten::Schema;

namespace {

/// One view of a storage; without a parent it is the storage's base.
struct Handle {
  SmallVector<Value> values; ///< of the program as it was
  Handle *parent = nullptr;
  ViewStep step; ///< from the parent
  /// The strides decide whether memory is shared with the parent, and they are
  /// not known.
  bool mayBeCopy = false;
  std::optional<MemoryLayout> layout;
  Value current;          ///< the pure value,
  unsigned version = 0;   ///< as of this many writes
  unsigned numWrites = 0; ///< of a base: to its storage

  Handle *base() { return parent ? parent->base() : this; }
  bool isBelow(const Handle *other) const {
    return this == other || (parent && parent->isBelow(other));
  }
};

//===----------------------------------------------------------------------===//
// What an in-place operator computes
//===----------------------------------------------------------------------===//

/// The operator that computes what `callee` writes.
std::string functionalTwin(StringRef callee) {
  if (callee == "aten.bernoulli_.float")
    return "aten.bernoulli.p";
  if (callee == "aten.normal_.default")
    return "aten.normal_functional.default";
  auto [name, overload] = callee.rsplit('.');
  return (name.drop_back() + "." + overload).str();
}

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

SmallVector<int64_t> shapeOf(RankedTensorType type) {
  return SmallVector<int64_t>(type.getShape());
}

/// `value` as PyTorch stores it into a tensor of `type`: converted and
/// expanded.
FailureOr<Value> storeAs(AtenBuilder &builder, Value value,
                         RankedTensorType type) {
  if (tensorType(value).getElementType() != type.getElementType())
    value = builder.call("aten._to_copy.default", {value},
                         {{"dtype", type.getElementType()}});
  if (tensorType(value).getShape() != type.getShape())
    return builder.tryCall("aten.expand.default", {value, shapeOf(type)});
  return value;
}

Value filled(AtenBuilder &builder, const Arg &value, RankedTensorType type) {
  return builder.call("aten.full.default", {shapeOf(type), value},
                      {{"dtype", type.getElementType()}});
}

/// The call of the twin, with the arguments that both schemas have.
FailureOr<Value> callTwin(AtenBuilder &builder, const Call &call) {
  std::string callee = functionalTwin(call.schema->callee);
  const aten::OperatorInfo *twin =
      aten::lookupOperator(builder.builder.getContext(), callee);
  if (!twin)
    return emitError(builder.loc) << "unsupported: no functional form of '"
                                  << call.schema->callee << "' is known";
  SmallVector<Arg> args;
  for (const aten::SchemaArgument &argument : twin->schema.arguments)
    args.push_back(Arg(call, argument.name));
  return builder.tryCall(callee, args);
}

/// A tensor argument, or the Python number in its place, as stored.
FailureOr<Value> storeArgument(AtenBuilder &builder, const Call &call,
                               StringRef name, RankedTensorType target) {
  if (Value value = call.value(name))
    return storeAs(builder, value, target);
  return filled(builder, Arg(call, name), target);
}

/// What the call leaves in the argument it writes to.
FailureOr<Value> writtenValue(AtenBuilder &builder, const Call &call,
                              RankedTensorType target) {
  StringRef callee = call.schema->callee;
  if (callee == "aten.copy_.default")
    return storeArgument(builder, call, "src", target);
  if (callee == "aten.fill_.Tensor")
    return storeArgument(builder, call, "value", target);
  if (callee == "aten.fill_.Scalar")
    return filled(builder, Arg(call, "value"), target);
  if (callee == "aten.zero_.default")
    return filled(builder, Arg(0), target);
  FailureOr<Value> value = callTwin(builder, call);
  if (failed(value))
    return failure();
  return storeAs(builder, *value, target);
}

/// Copies: new memory with the value of the operand.
bool isCopy(CallOp op) {
  StringRef callee = op.getCallee();
  if (callee == "aten.clone.default" ||
      callee == "aten.lift_fresh_copy.default" ||
      callee == "aten.detach_copy.default" ||
      callee == "aten.alias_copy.default")
    return true;
  return (callee.starts_with("aten.to.") ||
          callee == "aten._to_copy.default") &&
         op.getOperand(0).getType() == op.getResult(0).getType();
}

/// Batch norm in training mode updates its running statistics, whether or not
/// its schema says so.
bool updatesStatistics(const Call &call) {
  StringRef callee = call.schema->callee;
  bool isBatchNorm = callee == "aten.batch_norm.default" ||
                     callee == "aten.native_batch_norm.default" ||
                     callee == "aten._native_batch_norm_legit.default";
  return isBatchNorm && call.flag("training") && call.value("running_mean") &&
         call.value("running_var");
}

//===----------------------------------------------------------------------===//
// One block
//===----------------------------------------------------------------------===//

class BlockFunctionalizer {
public:
  explicit BlockFunctionalizer(Block &block)
      : block(block), context(block.getParentOp()->getContext()) {}

  LogicalResult run() {
    for (BlockArgument argument : block.getArguments())
      if (isa<RankedTensorType>(argument.getType()))
        addBase(argument, argument, rowMajor(tensorType(argument).getShape()));
    for (Operation &op : llvm::make_early_inc_range(block)) {
      LogicalResult done = success();
      if (auto call = dyn_cast<CallOp>(op))
        done = processCall(call);
      else if (op.getNumRegions() > 0)
        done = processControlFlow(&op);
      else
        readOperands(&op);
      if (failed(done))
        return failure();
    }
    return success();
  }

  /// The value of a written argument at the end of the block, or null.
  Value finalValue(BlockArgument argument) {
    Handle *handle = handleOf(argument);
    if (!handle || !handle->base()->numWrites)
      return {};
    return read(handle->base(), block.getTerminator());
  }

  /// Erases what is replaced or no longer read.
  void cleanUp() {
    for (Operation *op : llvm::reverse(replaced))
      op->erase();
    for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
      if (isOpTriviallyDead(&op))
        op.erase();
  }

private:
  //===--- Handles --------------------------------------------------------===//

  Handle *handleOf(Value value) { return handles.lookup(value); }

  Handle *addHandle(Value value) {
    Handle *handle = &storage.emplace_back();
    name(value, handle);
    return handle;
  }
  void name(Value value, Handle *handle) {
    handle->values.push_back(value);
    handles[value] = handle;
  }
  Handle *addBase(Value value, Value current,
                  std::optional<MemoryLayout> layout) {
    Handle *handle = addHandle(value);
    handle->current = current;
    handle->layout = std::move(layout);
    return handle;
  }

  AtenBuilder builderBefore(Operation *op) {
    builder.setInsertionPoint(op);
    return AtenBuilder(builder, op->getLoc());
  }

  /// The pure value of a handle, before `op`.
  Value read(Handle *handle, Operation *op) {
    unsigned version = handle->base()->numWrites;
    if (handle->version == version)
      return handle->current;
    Value source = read(handle->parent, op);
    AtenBuilder builder = builderBefore(op);
    handle->current = handle->step.apply(builder, source);
    handle->version = version;
    if (handle->step.kind != ViewStep::Kind::Identity)
      count(context, "tg-functionalize.views-renewed");
    return handle->current;
  }

  /// Replaces the operands of `op` by their pure values.
  void readOperands(Operation *op) {
    for (OpOperand &operand : op->getOpOperands())
      if (Handle *handle = handleOf(operand.get()))
        operand.set(read(handle, op));
  }

  //===--- Writes ---------------------------------------------------------===//

  /// Whether the program reads the handle after `op`, or its caller does.
  bool isReadAfter(Handle *handle, Operation *op) {
    return llvm::any_of(handle->values, [&](Value value) {
      if (isa<BlockArgument>(value) && isa<func::FuncOp>(block.getParentOp()))
        return true;
      return llvm::any_of(value.getUsers(), [&](Operation *user) {
        Operation *inBlock = block.findAncestorOpInBlock(*user);
        return inBlock && op->isBeforeInBlock(inBlock);
      });
    });
  }

  /// Makes sure that the write cannot be seen, or fail to be seen, through a
  /// handle that might be a copy.
  LogicalResult settleCopies(Handle *written, Operation *op) {
    Handle *base = written->base();
    auto refuse = [&](Handle *link) {
      InFlightDiagnostic diagnostic =
          op->emitError("unsupported: writes to memory that another tensor may "
                        "or may not share, as strides decide at run time");
      diagnostic.attachNote(link->values.front().getLoc())
          << "the result of this is a view or a copy";
      return diagnostic;
    };
    for (Handle *link = written; link; link = link->parent) {
      if (!link->mayBeCopy)
        continue;
      for (Handle &other : storage)
        if (other.base() == base && !other.isBelow(link) &&
            isReadAfter(&other, op))
          return refuse(link);
      // Nobody looks at the other side again: a copy will do.
      link->current = read(link, op);
      link->numWrites = link->version;
      link->parent = nullptr;
      link->mayBeCopy = false;
      base = link;
      break;
    }
    for (Handle &link : storage) {
      if (!link.mayBeCopy || link.base() != base || written->isBelow(&link))
        continue;
      for (Handle &other : storage)
        if (other.isBelow(&link) && isReadAfter(&other, op))
          return refuse(&link);
    }
    return success();
  }

  LogicalResult write(Handle *handle, Value value, Operation *op) {
    if (failed(settleCopies(handle, op)))
      return failure();
    SmallVector<std::pair<Handle *, Value>> updates{{handle, value}};
    for (Handle *at = handle; at->parent; at = at->parent) {
      Value old = read(at->parent, op);
      AtenBuilder builder = builderBefore(op);
      value = at->step.undo(builder, old, value);
      if (!value)
        return op->emitError("unsupported: writes to a view in which several "
                             "elements share memory");
      updates.emplace_back(at->parent, value);
    }
    unsigned version = ++handle->base()->numWrites;
    for (auto [updated, current] : updates) {
      updated->current = current;
      updated->version = version;
    }
    count(context, "tg-functionalize.writes");
    return success();
  }

  //===--- Operations -----------------------------------------------------===//

  /// Row-major where all tensors it reads are: PyTorch's operators keep the
  /// order of their inputs' dimensions, or give row-major results.
  std::optional<MemoryLayout> layoutOfNew(Value result,
                                          ArrayRef<Handle *> operands) {
    // Recorded where a reader depends on it.
    if (auto strides = result.getDefiningOp()->getAttrOfType<DenseI64ArrayAttr>(
            "aten.strides"))
      return MemoryLayout{SmallVector<int64_t>(strides.asArrayRef()), 0};
    for (Handle *operand : operands)
      if (!operand->layout ||
          !isRowMajor(*operand->layout,
                      tensorType(operand->values.front()).getShape()))
        return std::nullopt;
    return rowMajor(tensorType(result).getShape());
  }

  SmallVector<Handle *> operandHandles(Operation *op) {
    SmallVector<Handle *> found;
    for (Value operand : op->getOperands())
      if (Handle *handle = handleOf(operand))
        found.push_back(handle);
    return found;
  }

  void addNewResults(Operation *op, ArrayRef<Handle *> operands) {
    for (Value result : op->getResults())
      if (isa<RankedTensorType>(result.getType()))
        addBase(result, result, layoutOfNew(result, operands));
  }

  LogicalResult processCall(CallOp op) {
    Call call(op);
    if (updatesStatistics(call))
      return processBatchNorm(op);
    // In inference the same without the right to write.
    if (op.getCallee() == "aten._native_batch_norm_legit.default") {
      op.setCallee("aten.native_batch_norm.default");
      return processCall(op);
    }
    if (call.schema->isInPlace())
      return processInPlace(op);
    FailureOr<AliasInfo> alias = analyzeAlias(op);
    if (failed(alias))
      return failure();
    SmallVector<Handle *> operands = operandHandles(op);
    if (alias->aliasing != Aliasing::None) {
      Handle *source = operands.front();
      std::optional<bool> shares = sharesMemory(*alias, source->layout);
      if (shares.value_or(true))
        return processView(op, *alias, source, !shares.has_value());
      // A copy is made for the sake of its layout.
      bool isContiguous = !alias->denseOrder.empty();
      std::optional<MemoryLayout> layout;
      if (!isContiguous || llvm::is_sorted(alias->denseOrder))
        layout = rowMajor(tensorType(op.getResult(0)).getShape());
      if (isContiguous)
        return processCopy(op, source, layout);
      readOperands(op);
      addBase(op.getResult(0), op.getResult(0), layout);
      return success();
    }
    if (isCopy(op))
      return processCopy(op, operands.front(),
                         layoutOfNew(op.getResult(0), operands));
    readOperands(op);
    addNewResults(op, operands);
    return success();
  }

  LogicalResult processCopy(CallOp op, Handle *source,
                            std::optional<MemoryLayout> layout) {
    addBase(op.getResult(0), read(source, op), std::move(layout));
    replaced.push_back(op);
    count(context, "tg-functionalize.identities");
    return success();
  }

  LogicalResult processView(CallOp op, AliasInfo &alias, Handle *source,
                            bool mayBeCopy) {
    bool isStrided = alias.steps.front().kind == ViewStep::Kind::Strided;
    if (isStrided) { // it sees the whole storage
      Handle *base = source->base();
      RankedTensorType type = tensorType(base->values.front());
      if (!source->layout || !base->layout ||
          !isRowMajor(*base->layout, type.getShape()) ||
          type.getElementType() != alias.steps.front().result.getElementType())
        return op.emitError("unsupported: an as_strided view of a tensor whose "
                            "place in memory is not known");
      int64_t &offset = alias.steps.front().numbers.front();
      if (offset < 0)
        offset = source->layout->offset;
      source = base;
    }
    Value current = read(source, op);
    bool isReplaced =
        isStrided || llvm::all_of(alias.steps, [](const ViewStep &step) {
          return step.kind == ViewStep::Kind::Identity;
        });
    readOperands(op);
    for (auto [result, step] : llvm::zip_equal(op.getResults(), alias.steps)) {
      Handle *handle = addHandle(result);
      handle->parent = source;
      handle->step = step;
      handle->mayBeCopy = mayBeCopy;
      if (source->layout)
        handle->layout = step.layout(*source->layout);
      handle->version = source->base()->numWrites;
      AtenBuilder builder = builderBefore(op);
      handle->current = isReplaced ? step.apply(builder, current) : result;
    }
    if (isReplaced) {
      replaced.push_back(op);
      if (!isStrided)
        count(context, "tg-functionalize.identities");
    }
    return success();
  }

  LogicalResult processInPlace(CallOp op) {
    Call call(op);
    replaced.push_back(op);
    if (std::optional<ViewStep> step = analyzeInPlaceView(op)) {
      Handle *source = handleOf(op.getOperand(0));
      Handle *handle = addHandle(op.getResult(0));
      handle->parent = source;
      handle->step = *step;
      if (source->layout)
        handle->layout = step->layout(*source->layout);
      handle->version = source->base()->numWrites;
      Value current = read(source, op);
      AtenBuilder builder = builderBefore(op);
      handle->current = step->apply(builder, current);
      // From here on the argument's name stands for the new view, too.
      for (Value value : source->values)
        name(value, handle);
      return success();
    }
    SmallVector<Value> targets;
    for (const aten::SchemaArgument &argument : call.schema->arguments)
      if (argument.isWritten)
        targets.push_back(call.value(argument.name));
    if (targets.size() != 1 || !targets[0])
      return op.emitError("unsupported: no functional form of '")
             << op.getCallee() << "' is known";
    Handle *handle = handleOf(targets[0]);
    readOperands(op);
    AtenBuilder builder = builderBefore(op);
    FailureOr<Value> value =
        writtenValue(builder, call, tensorType(targets[0]));
    if (failed(value))
      return failure();
    for (OpResult result : op.getResults())
      name(result, handle);
    return write(handle, *value, op);
  }

  /// (y, ...) = batch_norm(training) with the new statistics as results.
  LogicalResult processBatchNorm(CallOp op) {
    Call call(op);
    Handle *mean = handleOf(call.value("running_mean")),
           *variance = handleOf(call.value("running_var"));
    SmallVector<Handle *> operands = operandHandles(op);
    readOperands(op);
    auto argument = [&](StringRef name) { return Arg(call, name); };
    AtenBuilder builder = builderBefore(op);
    ValueRange results = builder.callMulti(
        "aten._native_batch_norm_legit_functional.default",
        {argument("input"), argument("weight"), argument("bias"),
         argument("running_mean"), argument("running_var"), true,
         argument("momentum"), argument("eps")});
    for (auto [old, result] : llvm::zip(op.getResults(), results))
      addBase(old, result, layoutOfNew(old, operands));
    replaced.push_back(op);
    for (auto [handle, result] :
         {std::pair(mean, results[3]), std::pair(variance, results[4])}) {
      FailureOr<Value> value =
          storeAs(builder, result, tensorType(handle->values.front()));
      if (failed(value) || failed(write(handle, *value, op)))
        return failure();
    }
    return success();
  }

  /// Regions take their operands as arguments and capture nothing.
  LogicalResult processControlFlow(Operation *op) {
    SmallVector<Handle *> operands = operandHandles(op);
    readOperands(op);
    for (Region &region : op->getRegions()) {
      Block &inner = region.front();
      BlockFunctionalizer functionalizer(inner);
      if (failed(functionalizer.run()))
        return failure();
      for (BlockArgument argument : inner.getArguments())
        if (functionalizer.finalValue(argument))
          return op->emitError("unsupported: a sub-graph writes to its input ")
                 << argument.getArgNumber();
      functionalizer.cleanUp();
    }
    addNewResults(op, operands);
    return success();
  }

  Block &block;
  MLIRContext *context;
  OpBuilder builder{context};
  std::deque<Handle> storage;
  DenseMap<Value, Handle *> handles;
  SmallVector<Operation *> replaced;
};

//===----------------------------------------------------------------------===//
// The function
//===----------------------------------------------------------------------===//

/// Kind of the result that carries the new value of a written argument.
StringRef mutationKind(StringRef kind) {
  if (kind == "buffer")
    return "buffer_mutation";
  if (kind == "parameter")
    return "parameter_mutation";
  if (kind == "user_input")
    return "input_mutation";
  return {};
}

LogicalResult functionalize(func::FuncOp func) {
  WalkResult isStatic = func.walk([](Operation *op) {
    for (Type type : op->getResultTypes())
      if (auto tensor = dyn_cast<ShapedType>(type);
          tensor && !tensor.hasStaticShape()) {
        op->emitError("has symbolic sizes; run tg-specialize first");
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  if (isStatic.wasInterrupted())
    return failure();

  Block &entry = func.getBody().front();
  BlockFunctionalizer functionalizer(entry);
  if (failed(functionalizer.run()))
    return failure();

  // As in an export's signature, mutations come before the other results.
  Operation *terminator = entry.getTerminator();
  SmallVector<Value> results;
  SmallVector<Attribute> attrs;
  Builder builder(func.getContext());
  for (BlockArgument argument : entry.getArguments()) {
    if (!isa<RankedTensorType>(argument.getType()))
      continue;
    Value value = functionalizer.finalValue(argument);
    if (!value)
      continue;
    unsigned number = argument.getArgNumber();
    auto kind = func.getArgAttrOfType<StringAttr>(number, "aten.kind");
    auto name = func.getArgAttrOfType<StringAttr>(number, "aten.name");
    StringRef mutation = kind && name ? mutationKind(kind) : StringRef();
    if (mutation.empty())
      return func.emitError("unsupported: writes to argument ")
             << number << ", which is not a buffer, parameter or user input";
    results.push_back(value);
    attrs.push_back(builder.getDictionaryAttr(
        {builder.getNamedAttr("aten.kind", builder.getStringAttr(mutation)),
         builder.getNamedAttr("aten.name", name)}));
  }
  count(func.getContext(), "tg-functionalize.mutations", results.size());
  for (auto [i, value] : llvm::enumerate(terminator->getOperands())) {
    results.push_back(value);
    attrs.push_back(func.getResultAttrDict(i) ? func.getResultAttrDict(i)
                                              : builder.getDictionaryAttr({}));
  }
  terminator->setOperands(results);
  func.setType(builder.getFunctionType(
      func.getArgumentTypes(),
      SmallVector<Type>(ValueRange(results).getTypes())));
  func.setResAttrsAttr(builder.getArrayAttr(attrs));
  functionalizer.cleanUp();
  return success();
}

struct FunctionalizePass : impl::FunctionalizePassBase<FunctionalizePass> {
  void runOnOperation() override {
    for (auto func : getOperation().getOps<func::FuncOp>())
      if (!func.isExternal() && failed(functionalize(func)))
        return signalPassFailure();
  }
};

} // namespace
} // namespace gcompile
