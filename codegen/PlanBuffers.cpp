//===- PlanBuffers.cpp - which values share memory ------------------------===//
#include "PlanBuilder.h"
#include "gcompile/ir/NodeNames.h"

#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace mlir;

namespace gcompile {

using plan::BufferKind;

FailureOr<int64_t> PlanBuilder::addBuffer(RankedTensorType type, Location loc,
                                          BufferKind kind, std::string name,
                                          DictionaryAttr attrs) {
  FailureOr<DType> dtype =
      dtypeOf(type.getElementType(), attrs && attrs.contains("aten.unsigned"));
  if (failed(dtype))
    return emitError(loc, "element type ")
           << type.getElementType() << " is not supported on the CPU";
  plan::Buffer buffer;
  buffer.name = std::move(name);
  buffer.kind = kind;
  buffer.dtype = *dtype;
  buffer.sizes = sizesOf(type);
  buffer.numBytes = type.getNumElements() * byteWidth(*dtype);
  plan.buffers.push_back(std::move(buffer));
  loopDepths.push_back(loopDepth);
  return static_cast<int64_t>(plan.buffers.size()) - 1;
}

FailureOr<int64_t> PlanBuilder::arenaBuffer(Value value) {
  std::string name;
  if (auto kernel = value.getDefiningOp<tg::KernelOp>()) {
    name = kernel.getName().str();
    if (kernel.getNumResults() > 1)
      name += "." + std::to_string(cast<OpResult>(value).getResultNumber());
  } else if (Operation *op = value.getDefiningOp()) {
    name = nodeName(op);
  }
  return addBuffer(value, BufferKind::Arena, name);
}

FailureOr<int64_t> PlanBuilder::addConstant(DenseElementsAttr elements,
                                            Location loc, std::string name) {
  FailureOr<int64_t> index =
      addBuffer(cast<RankedTensorType>(elements.getType()), loc,
                BufferKind::Constant, std::move(name));
  if (failed(index))
    return failure();
  plan::Buffer &buffer = plan.buffers[*index];
  int64_t width = byteWidth(buffer.dtype);
  buffer.data.reserve(buffer.numBytes);
  auto append = [&](const APInt &bits) {
    uint64_t raw = bits.getZExtValue(); // little endian, as all our targets
    auto *first = reinterpret_cast<const uint8_t *>(&raw);
    buffer.data.insert(buffer.data.end(), first, first + width);
  };
  if (isa<FloatType>(elements.getElementType()))
    for (const APFloat &value : elements.getValues<APFloat>())
      append(value.bitcastToAPInt());
  else
    for (const APInt &value : elements.getValues<APInt>())
      append(value);
  return index;
}

/// True where `operand` of the kernel is read, if at all, only in ways that let
/// `result` be written over it.
bool PlanBuilder::mayTakeOver(const loops::KernelParts &parts, unsigned operand,
                              unsigned result) const {
  // What the library reads cannot change under it.
  if (parts.anchor && !parts.scatter)
    return false;
  auto isOperand = [&](const loops::KernelTensor &tensor) {
    return !tensor.isAnchorResult && tensor.number == operand;
  };
  if (parts.scatter)
    return !parts.loops && llvm::none_of(parts.scatter->inputs, isOperand) &&
           isa<BlockArgument>(cast<tg::ScatterOp>(parts.anchor).getBase());
  auto output = llvm::find(parts.loops->outputs, result);
  if (output == parts.loops->outputs.end())
    return false;
  for (auto [i, tensor] : llvm::enumerate(parts.loops->inputs))
    if (isOperand(tensor))
      return parts.loops->canRunInPlace(i,
                                        output - parts.loops->outputs.begin());
  return true; // not read
}

/// True where the op that computes `value` can write over `old`, a block
/// argument: nothing reads `old` from then on.
bool PlanBuilder::canOverwrite(Value old, OpResult value) {
  auto kernel = dyn_cast<tg::KernelOp>(value.getOwner());
  Block *block = old.getParentBlock();
  if (!kernel || kernel->getBlock() != block ||
      old.getType() != value.getType())
    return false;
  for (OpOperand &use : old.getUses()) {
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    if (user == kernel) {
      auto parts = analysis.analyze(kernel);
      if (failed(parts) || !mayTakeOver(**parts, use.getOperandNumber(),
                                        value.getResultNumber()))
        return false;
    } else if (!user->isBeforeInBlock(kernel)) {
      return false;
    }
  }
  return true;
}

/// Lets `operand`, which nothing reads after `kernel`, be computed where
/// `result` is wanted, so that `kernel` runs in place.
void PlanBuilder::tryOperandInPlace(tg::KernelOp kernel, unsigned operand,
                                    Value result) {
  auto value = dyn_cast<OpResult>(kernel.getInputs()[operand]);
  Block *block = kernel->getBlock();
  int64_t buffer = bufferOf.lookup(result);
  if (!value || value.getParentBlock() != block || bufferOf.contains(value) ||
      !isa<tg::KernelOp>(value.getOwner()))
    return;
  auto bits = [](Value value) {
    return tensorType(value).getNumElements() *
           std::max(8u, tensorType(value).getElementTypeBitWidth());
  };
  if (bits(value) != bits(result) ||
      llvm::count(kernel.getInputs(), value) != 1)
    return;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (ancestor != kernel && !ancestor->isBeforeInBlock(kernel))
      return;
  }
  // The memory may hold an older value until then.
  for (BlockArgument argument : block->getArguments())
    if (auto it = bufferOf.find(argument); it != bufferOf.end() &&
                                           it->second == buffer &&
                                           !canOverwrite(argument, value))
      return;
  bufferOf[value] = buffer;
}

LogicalResult PlanBuilder::assignKernel(tg::KernelOp kernel) {
  FailureOr<const loops::KernelParts *> analyzed = analysis.analyze(kernel);
  if (failed(analyzed))
    return failure();
  const loops::KernelParts &parts = **analyzed;
  for (OpResult result : kernel->getResults()) {
    if (!bufferOf.contains(result)) {
      FailureOr<int64_t> buffer = arenaBuffer(result);
      if (failed(buffer))
        return failure();
      bufferOf[result] = *buffer;
    }
  }
  for (OpResult result : kernel->getResults()) {
    unsigned number = result.getResultNumber();
    if (parts.scatter && !parts.loops) {
      auto scatter = cast<tg::ScatterOp>(parts.anchor);
      if (auto base = dyn_cast<BlockArgument>(scatter.getBase()))
        if (mayTakeOver(parts, base.getArgNumber(), number))
          tryOperandInPlace(kernel, base.getArgNumber(), result);
      continue;
    }
    // One operand may hand its memory to a result, and only one result may
    // take it.
    for (unsigned i = 0; i < kernel.getInputs().size(); ++i) {
      bool isRead =
          parts.loops && llvm::any_of(parts.loops->inputs,
                                      [&](const loops::KernelTensor &tensor) {
                                        return !tensor.isAnchorResult &&
                                               tensor.number == i;
                                      });
      if (isRead && mayTakeOver(parts, i, number)) {
        tryOperandInPlace(kernel, i, result);
        if (bufferOf.lookup(kernel.getInputs()[i]) == bufferOf.lookup(result))
          break;
      }
    }
  }
  return success();
}

/// Values that the terminator of `block` hands on are computed in the buffers
/// of `targets` where they can.
void PlanBuilder::wantYields(Block &block, ValueRange targets) {
  for (auto [value, target] :
       llvm::zip_equal(block.getTerminator()->getOperands(), targets)) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || result.getParentBlock() != &block ||
        bufferOf.contains(value) || !isa<tg::KernelOp>(result.getOwner()))
      continue;
    int64_t buffer = bufferOf.lookup(target);
    bool isFree = llvm::all_of(block.getArguments(), [&](BlockArgument old) {
      return bufferOf.lookup(old) != buffer || !bufferOf.contains(old) ||
             canOverwrite(old, result);
    });
    if (isFree)
      bufferOf[value] = buffer;
  }
}

LogicalResult PlanBuilder::assignWhile(tg::WhileOp op) {
  Block &cond = op.getCondRegion().front(), &body = op.getBodyRegion().front();
  for (auto [result, carried] :
       llvm::zip_equal(op.getResults(), op.getCarried())) {
    unsigned number = result.getResultNumber();
    for (Block *block : {&cond, &body})
      bufferOf[block->getArgument(number)] = bufferOf.lookup(result);
    // The value before the loop is computed in place if only the loop reads it.
    auto initial = dyn_cast<OpResult>(carried);
    if (initial && initial.hasOneUse() && !bufferOf.contains(initial) &&
        initial.getParentBlock() == op->getBlock() &&
        isa<tg::KernelOp>(initial.getOwner()))
      bufferOf[initial] = bufferOf.lookup(result);
  }
  ++loopDepth;
  wantYields(body, op.getResults());
  LogicalResult status =
      failure(failed(assignBlock(cond)) || failed(assignBlock(body)));
  --loopDepth;
  return status;
}

LogicalResult PlanBuilder::assignOp(Operation &op) {
  if (auto kernel = dyn_cast<tg::KernelOp>(op))
    return assignKernel(kernel);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return op.emitError("is not a tensor");
    FailureOr<int64_t> buffer =
        addConstant(elements, op.getLoc(), nodeName(&op));
    if (failed(buffer))
      return failure();
    bufferOf[constant] = *buffer;
    return success();
  }
  if (!isa<tg::CondOp, tg::WhileOp>(op))
    return op.emitError("has no place in a kernel program");
  for (Value result : op.getResults()) {
    if (bufferOf.contains(result))
      continue;
    FailureOr<int64_t> buffer = arenaBuffer(result);
    if (failed(buffer))
      return failure();
    bufferOf[result] = *buffer;
  }
  if (auto loop = dyn_cast<tg::WhileOp>(op))
    return assignWhile(loop);
  for (Region &region : op.getRegions()) {
    wantYields(region.front(), op.getResults());
    if (failed(assignBlock(region.front())))
      return failure();
  }
  return success();
}

LogicalResult PlanBuilder::assignBlock(Block &block) {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (failed(assignOp(op)))
      return failure();
  return success();
}

} // namespace gcompile
