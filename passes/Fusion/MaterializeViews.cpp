//===- MaterializeViews.cpp - copy the views that cannot stay views -------===//
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace gcompile {
#define GEN_PASS_DEF_MATERIALIZEVIEWSPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Splats of at most this size stay constants: a few bytes in the plan cost
/// less than a launch.
constexpr int64_t kMaxSplatBytes = 4096;

class MaterializeViewsPass
    : public impl::MaterializeViewsPassBase<MaterializeViewsPass> {
  void runOnOperation() override;
  Value materialize(Value value, bool acceptsStrides);

  /// One copy a value, whoever reads it.
  llvm::DenseMap<Value, Value> copies;
};

Value MaterializeViewsPass::materialize(Value value, bool acceptsStrides) {
  if (!isa<RankedTensorType>(value.getType()))
    return value;
  TypedAttr scalar = splatValue(value);
  auto view = value.getDefiningOp<tg::ViewOp>();
  bool isFill = value.getDefiningOp<linalg::FillOp>() != nullptr;
  if (!(view && !(acceptsStrides && isStrided(value))) && !isFill &&
      !(scalar && numBytes(value.getType()) > kMaxSplatBytes))
    return value;
  Value &copy = copies[value];
  if (copy)
    return copy;
  Operation *op = value.getDefiningOp();
  OpBuilder builder(op->getContext());
  builder.setInsertionPointAfter(op);
  auto type = cast<RankedTensorType>(value.getType());
  if (!view) {
    if (isFill && numBytes(type) <= kMaxSplatBytes)
      copy = builder.create<arith::ConstantOp>(
          op->getLoc(), DenseElementsAttr::get(type, Attribute(scalar)));
    else
      copy = buildSplat(builder, op->getLoc(), scalar, type.getShape())
                 .getResult(0);
    count(&getContext(), "tg-materialize-views.splats");
  } else {
    copy = buildCopy(builder, op->getLoc(), view.getSource(), view.getMap(),
                     type.getShape())
               .getResult(0);
    count(&getContext(), "tg-materialize-views.copies");
  }
  return copy;
}

void MaterializeViewsPass::runOnOperation() {
  copies.clear();
  getOperation().walk([&](Operation *op) {
    bool isStructured = tg::isStructuredOp(op);
    if (isStructured || isa<tg::CondOp, tg::WhileOp>(op) ||
        isa<func::ReturnOp>(op) ||
        (isa<tg::YieldOp>(op) &&
         isa<tg::CondOp, tg::WhileOp>(op->getParentOp())))
      for (OpOperand &operand : op->getOpOperands())
        operand.set(materialize(operand.get(), isStructured));
  });
}

} // namespace
} // namespace gcompile
