//===- SplitPrepare.cpp - compute from weights once, not in every run -----===//
// Splits @forward in two: @prepare takes the weights and computes what depends
// on nothing else; @forward takes its results as further arguments.
#include "FixedValues.h"
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

namespace gcompile {
#define GEN_PASS_DEF_SPLITPREPAREPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

class SplitPreparePass : public impl::SplitPreparePassBase<SplitPreparePass> {
  void runOnOperation() override;

  void chooseMoved(const FixedValues &fixed);
  bool isCheapToRepeat(linalg::GenericOp op);
  void moveOut(const FixedValues &fixed);

  func::FuncOp forward;
  llvm::SmallSetVector<Operation *, 32> moved;
};

/// Calls back for each op that reads `value`, through views.
void forEachReader(Value value, function_ref<void(Operation *)> callback) {
  for (Operation *user : value.getUsers()) {
    if (auto view = dyn_cast<tg::ViewOp>(user))
      forEachReader(view.getResult(), callback);
    else
      callback(user);
  }
}

/// True where readers may as well compute the elements again: no costly work,
/// no fewer bytes to read than it reads itself, and no reader that needs a
/// tensor in memory.
bool SplitPreparePass::isCheapToRepeat(linalg::GenericOp op) {
  if (!isPointwise(op) || bodyWork(op).second > 0)
    return false;
  int64_t read = 0, written = 0;
  llvm::SetVector<Value> tensors;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.payloadUsesValueFromOperand(input))
      tensors.insert(baseOf(input->get()));
  op.getRegion().walk([&](tensor::ExtractOp extract) {
    tensors.insert(baseOf(extract.getTensor()));
  });
  for (Value tensor : tensors)
    read += numBytes(tensor.getType());
  bool isReadByLoops = true;
  for (Value result : op->getResults()) {
    written += numBytes(result.getType());
    forEachReader(result, [&](Operation *reader) {
      isReadByLoops &= isa<linalg::GenericOp>(reader) ||
                       reader->getParentOfType<linalg::GenericOp>();
    });
  }
  return isReadByLoops && read < written;
}

void SplitPreparePass::chooseMoved(const FixedValues &fixed) {
  for (Operation &op : forward.getBody().front()) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if ((generic || tg::isStructuredOp(&op)) &&
        fixed.contains(op.getResult(0)) &&
        !(generic && isCheapToRepeat(generic)))
      moved.insert(&op);
  }
}

void SplitPreparePass::moveOut(const FixedValues &fixed) {
  // Results that something outside of @prepare reads.
  SmallVector<Value> crossing;
  for (Operation *op : moved)
    for (Value result : op->getResults()) {
      bool crosses = false;
      forEachReader(result, [&](Operation *reader) {
        Operation *owner =
            forward.getBody().front().findAncestorOpInBlock(*reader);
        crosses |= !moved.contains(owner);
      });
      if (crosses)
        crossing.push_back(result);
    }
  if (crossing.empty())
    return;

  // What @prepare needs, in program order.
  llvm::SmallPtrSet<Operation *, 32> needed;
  llvm::SmallSetVector<Value, 16> arguments;
  SmallVector<Value> pending(crossing);
  while (!pending.empty()) {
    Value value = pending.pop_back_val();
    Operation *op = value.getDefiningOp();
    if (!op) {
      arguments.insert(value);
      continue;
    }
    if (!needed.insert(op).second)
      continue;
    pending.append(op->operand_begin(), op->operand_end());
    pending.append(capturedValues(op));
  }
  SmallVector<Value> weights(arguments.begin(), arguments.end());
  llvm::sort(weights, [](Value a, Value b) {
    return cast<BlockArgument>(a).getArgNumber() <
           cast<BlockArgument>(b).getArgNumber();
  });

  OpBuilder builder(forward->getContext());
  builder.setInsertionPointAfter(forward);
  auto prepare = builder.create<func::FuncOp>(
      forward.getLoc(), "prepare",
      builder.getFunctionType(TypeRange(ValueRange(weights)),
                              TypeRange(ValueRange(crossing))));
  Block *body = prepare.addEntryBlock();
  IRMapping mapping;
  for (auto [i, weight] : llvm::enumerate(weights)) {
    mapping.map(weight, prepare.getArgument(i));
    prepare.setArgAttrs(
        i, forward.getArgAttrDict(cast<BlockArgument>(weight).getArgNumber()));
  }
  builder.setInsertionPointToEnd(body);
  for (Operation &op : forward.getBody().front())
    if (needed.contains(&op))
      builder.clone(op, mapping);
  SmallVector<Value> results;
  for (Value value : crossing)
    results.push_back(mapping.lookup(value));
  builder.create<func::ReturnOp>(forward.getLoc(), results);

  llvm::StringSet<> names;
  for (auto [i, value] : llvm::enumerate(crossing)) {
    std::string base = nodeName(value.getDefiningOp()), name = base;
    for (unsigned n = 1; !names.insert(name).second; ++n)
      name = base + "." + std::to_string(n);
    DictionaryAttr attrs = builder.getDictionaryAttr(
        {builder.getNamedAttr("aten.kind", builder.getStringAttr("prepared")),
         builder.getNamedAttr("aten.name", builder.getStringAttr(name))});
    prepare.setResultAttrs(i, attrs);
    unsigned number = forward.getNumArguments();
    forward.insertArgument(number, value.getType(), attrs, value.getLoc());
    value.replaceAllUsesWith(forward.getArgument(number));
    count(&getContext(), "tg-split-prepare.bytes", numBytes(value.getType()));
  }
  count(&getContext(), "tg-split-prepare.values", crossing.size());
  count(&getContext(), "tg-split-prepare.moved", moved.size());

  // Only ops that were moved read what was moved and does not cross; views and
  // repeated generics before them may now be unread.
  for (Operation &op :
       llvm::make_early_inc_range(llvm::reverse(forward.getBody().front())))
    if (op.use_empty() && op.getNumResults() > 0 &&
        fixed.contains(op.getResult(0)))
      op.erase();
}

void SplitPreparePass::runOnOperation() {
  forward = getOperation().lookupSymbol<func::FuncOp>("forward");
  moved.clear();
  if (!forward)
    return;
  if (getOperation().lookupSymbol("prepare")) {
    forward.emitError("has been split already: the module has a @prepare");
    return signalPassFailure();
  }
  FixedValues fixed(forward);
  chooseMoved(fixed);
  moveOut(fixed);
}

} // namespace
} // namespace gcompile
