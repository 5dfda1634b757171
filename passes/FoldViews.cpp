//===- FoldViews.cpp - read through views ---------------------------------===//
// A reader of a view reads the view's source at the composed index. Copies made
// only to change the order or shape of elements are views too, so they go the
// same way. One walk in program order suffices: producers come before readers.
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/FoldUtils.h"

namespace gcompile {
#define GEN_PASS_DEF_FOLDVIEWSPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

class FoldViewsPass : public impl::FoldViewsPassBase<FoldViewsPass> {
  void runOnOperation() override;

  void foldView(tg::ViewOp view);
  void foldInputs(linalg::GenericOp op);
  void foldExtracts(linalg::GenericOp op);
  /// Replaces a generic that copies by a view, one that computes a constant by
  /// a fill.
  void foldResult(linalg::GenericOp op);
  void foldInputs(tg::ScatterOp op);

  int64_t numFolded = 0, numCopies = 0, numSplats = 0;
};

void FoldViewsPass::foldView(tg::ViewOp view) {
  OpBuilder builder(view);
  if (TypedAttr scalar = splatValue(view.getSource())) {
    Value constant = builder.create<arith::ConstantOp>(view.getLoc(), scalar);
    Value init = builder.create<tensor::EmptyOp>(
        view.getLoc(), view.getType().getShape(), scalar.getType());
    auto fill = builder.create<linalg::FillOp>(view.getLoc(), constant, init);
    view.replaceAllUsesWith(fill.getResult(0));
    ++numSplats;
  } else if (auto inner = view.getSource().getDefiningOp<tg::ViewOp>()) {
    AffineMap map = simplifyInRange(inner.getMap().compose(view.getMap()),
                                    view.getType().getShape());
    view.getSourceMutable().assign(inner.getSource());
    view.setMap(map);
  }
  if (view.getSource().getType() == view.getType() &&
      view.getMap().isIdentity())
    view.replaceAllUsesWith(view.getSource());
  if (view.use_empty())
    view.erase();
}

void FoldViewsPass::foldInputs(linalg::GenericOp op) {
  if (llvm::none_of(op.getInputs(), [](Value input) {
        return input.getDefiningOp<tg::ViewOp>() || splatValue(input);
      }))
    return;
  SmallVector<int64_t> loops = op.getStaticLoopRanges();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  bool bodyChanged = false;
  unsigned argument = 0;
  for (OpOperand *input : op.getDpsInputOperands()) {
    BlockArgument inside = op.getBody()->getArgument(argument);
    Value value = input->get();
    TypedAttr scalar = splatValue(value);
    if (scalar && !inside.use_empty()) {
      OpBuilder builder = OpBuilder::atBlockBegin(op.getBody());
      inside.replaceAllUsesWith(
          builder.create<arith::ConstantOp>(op.getLoc(), scalar));
      bodyChanged = true;
      ++numSplats;
    }
    // An operand that only fixes the sizes of loops is made anew where needed.
    if (inside.use_empty()) {
      op.getBody()->eraseArgument(argument);
      continue;
    }
    AffineMap map = op.getMatchingIndexingMap(input);
    if (auto view = value.getDefiningOp<tg::ViewOp>()) {
      map = simplifyInRange(view.getMap().compose(map), loops);
      value = view.getSource();
      ++numFolded;
    }
    inputs.push_back(value);
    maps.push_back(map);
    ++argument;
  }
  setInputs(op, inputs, maps, loops);
  if (!bodyChanged)
    return;
  // What is known of the scalars may settle the body.
  OperationFolder folder(&getContext());
  for (Operation &inner :
       llvm::make_early_inc_range(op.getBody()->without_terminator()))
    (void)folder.tryToFold(&inner);
}

void FoldViewsPass::foldExtracts(linalg::GenericOp op) {
  op.getRegion().walk([&](tensor::ExtractOp extract) {
    TypedAttr scalar = splatValue(extract.getTensor());
    if (!scalar)
      return;
    OpBuilder builder(extract);
    extract.replaceAllUsesWith(
        builder.create<arith::ConstantOp>(extract.getLoc(), scalar)
            .getResult());
    extract.erase();
    ++numSplats;
  });
}

void FoldViewsPass::foldResult(linalg::GenericOp op) {
  OpBuilder builder(op);
  if (OpOperand *source = copiedOperand(op)) {
    SmallVector<int64_t> loops = op.getStaticLoopRanges();
    AffineMap map = simplifyInRange(op.getMatchingIndexingMap(source), loops);
    Value result = source->get();
    if (result.getType() != op.getResult(0).getType() || !map.isIdentity())
      result = builder.create<tg::ViewOp>(
          op.getLoc(), op.getResult(0).getType(), result, map);
    op.getResult(0).replaceAllUsesWith(result);
    op.erase();
    ++numCopies;
    return;
  }
  if (op.getNumResults() != 1 || !isPointwise(op))
    return;
  TypedAttr scalar;
  Value yielded = op.getBody()->getTerminator()->getOperand(0);
  if (!matchPattern(yielded, m_Constant(&scalar)))
    return;
  Value constant = builder.create<arith::ConstantOp>(op.getLoc(), scalar);
  auto fill = builder.create<linalg::FillOp>(op.getLoc(), constant,
                                             op.getDpsInitOperand(0)->get());
  op.getResult(0).replaceAllUsesWith(fill.getResult(0));
  op.erase();
  ++numSplats;
}

void FoldViewsPass::foldInputs(tg::ScatterOp op) {
  SmallVector<Attribute> maps(op.getMaps().getValue());
  for (auto [i, input] : llvm::enumerate(op.getInputsMutable()))
    if (auto view = input.get().getDefiningOp<tg::ViewOp>()) {
      AffineMap map = cast<AffineMapAttr>(maps[i]).getValue();
      maps[i] = AffineMapAttr::get(
          simplifyInRange(view.getMap().compose(map), op.getDomain()));
      input.set(view.getSource());
      ++numFolded;
    }
  op.setMapsAttr(ArrayAttr::get(op.getContext(), maps));
}

void FoldViewsPass::runOnOperation() {
  numFolded = numCopies = numSplats = 0;
  SmallVector<Operation *> ops;
  getOperation().walk<WalkOrder::PreOrder>([&](Operation *op) {
    if (isa<tg::ViewOp, linalg::GenericOp, tg::ScatterOp>(op))
      ops.push_back(op);
  });
  for (Operation *op : ops) {
    if (auto view = dyn_cast<tg::ViewOp>(op)) {
      foldView(view);
    } else if (auto scatter = dyn_cast<tg::ScatterOp>(op)) {
      foldInputs(scatter);
    } else {
      auto generic = cast<linalg::GenericOp>(op);
      foldInputs(generic);
      foldExtracts(generic);
      foldResult(generic);
    }
  }
  // Views, and what only fed operands that have gone. Readers come last.
  SmallVector<Operation *> all;
  getOperation().walk<WalkOrder::PreOrder>(
      [&](Operation *op) { all.push_back(op); });
  for (Operation *op : llvm::reverse(all))
    if (isOpTriviallyDead(op))
      op->erase();
  count(&getContext(), "tg-fold-views.folded", numFolded);
  count(&getContext(), "tg-fold-views.copies", numCopies);
  count(&getContext(), "tg-fold-views.splats", numSplats);
}

} // namespace
} // namespace gcompile
