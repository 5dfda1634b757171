//===- Generics.cpp - reading and changing linalg.generic -----------------===//
#include "Generics.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/KernelLoops.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace gcompile {

Value baseOf(Value value) {
  while (auto view = value.getDefiningOp<tg::ViewOp>())
    value = view.getSource();
  return value;
}

int64_t numBytes(Type type) {
  auto tensor = cast<RankedTensorType>(type);
  unsigned bits =
      tensor.getElementType().isIndex() ? 64 : tensor.getElementTypeBitWidth();
  return tensor.getNumElements() * ((bits + 7) / 8);
}

TypedAttr splatValue(Value tensor) {
  if (auto fill = tensor.getDefiningOp<linalg::FillOp>()) {
    TypedAttr scalar;
    matchPattern(fill.getInputs().front(), m_Constant(&scalar));
    return scalar;
  }
  DenseElementsAttr elements;
  if (matchPattern(tensor, m_Constant(&elements)) && elements.isSplat())
    return elements.getSplatValue<TypedAttr>();
  return {};
}

AffineMap guardedMap(AffineMap map, ArrayRef<int64_t> loops,
                     ArrayRef<int64_t> shape) {
  SmallVector<AffineExpr> results;
  for (auto [expr, size] : llvm::zip_equal(map.getResults(), shape)) {
    auto dim = dyn_cast<AffineDimExpr>(expr);
    results.push_back(dim && loops[dim.getPosition()] != size ? expr % size
                                                              : expr);
  }
  return AffineMap::get(map.getNumDims(), 0, results, map.getContext());
}

void setInputs(linalg::GenericOp op, ArrayRef<Value> inputs,
               ArrayRef<AffineMap> maps, ArrayRef<int64_t> loops) {
  SmallVector<Value> newInputs(inputs);
  SmallVector<AffineMap> newMaps;
  for (auto [input, map] : llvm::zip_equal(inputs, maps))
    newMaps.push_back(guardedMap(
        map, loops, cast<RankedTensorType>(input.getType()).getShape()));
  SmallVector<AffineMap> allMaps(newMaps);
  for (OpOperand &init : op.getDpsInitsMutable())
    allMaps.push_back(op.getMatchingIndexingMap(&init));
  if (!inversePermutation(concatAffineMaps(allMaps))) {
    OpBuilder builder(op);
    Type element = getElementTypeOrSelf(op.getResult(0));
    newInputs.push_back(
        builder.create<tensor::EmptyOp>(op.getLoc(), loops, element));
    allMaps.insert(allMaps.begin() + newMaps.size(),
                   builder.getMultiDimIdentityMap(loops.size()));
    op.getBody()->insertArgument(inputs.size(), element, op.getLoc());
  }
  op.getInputsMutable().assign(newInputs);
  op.setIndexingMapsAttr(OpBuilder(op).getAffineMapArrayAttr(allMaps));
}

OpOperand *copiedOperand(linalg::GenericOp op) {
  if (op.getNumResults() != 1 || !isPointwise(op))
    return nullptr;
  auto argument =
      dyn_cast<BlockArgument>(op.getBody()->getTerminator()->getOperand(0));
  if (!argument || argument.getOwner() != op.getBody())
    return nullptr;
  return &op->getOpOperand(argument.getArgNumber());
}

static linalg::GenericOp
buildPointwise(OpBuilder &builder, Location loc, ValueRange inputs,
               ArrayRef<AffineMap> inputMaps, ArrayRef<int64_t> shape,
               Type element,
               function_ref<Value(OpBuilder &, Location, ValueRange)> body) {
  SmallVector<AffineMap> maps;
  for (auto [input, map] : llvm::zip_equal(inputs, inputMaps))
    maps.push_back(guardedMap(
        map, shape, cast<RankedTensorType>(input.getType()).getShape()));
  maps.push_back(builder.getMultiDimIdentityMap(shape.size()));
  Value init = builder.create<tensor::EmptyOp>(loc, shape, element);
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  return builder.create<linalg::GenericOp>(
      loc, init.getType(), inputs, init, maps, iterators,
      [&](OpBuilder &b, Location l, ValueRange arguments) {
        b.create<linalg::YieldOp>(l, body(b, l, arguments));
      });
}

linalg::GenericOp buildCopy(OpBuilder &builder, Location loc, Value source,
                            AffineMap map, ArrayRef<int64_t> shape) {
  return buildPointwise(
      builder, loc, source, map, shape, getElementTypeOrSelf(source),
      [](OpBuilder &, Location, ValueRange args) { return args[0]; });
}

linalg::GenericOp buildSplat(OpBuilder &builder, Location loc, TypedAttr value,
                             ArrayRef<int64_t> shape) {
  return buildPointwise(builder, loc, {}, {}, shape, value.getType(),
                        [&](OpBuilder &b, Location l, ValueRange) -> Value {
                          return b.create<arith::ConstantOp>(l, value);
                        });
}

std::pair<double, double> bodyWork(linalg::GenericOp op) {
  double cheap = 0, costly = 0;
  op.getRegion().walk([&](Operation *inner) {
    if (isa<arith::ConstantOp>(inner))
      return;
    if (isa<arith::DivFOp, arith::RemFOp, arith::DivSIOp, arith::DivUIOp,
            arith::RemSIOp, arith::RemUIOp, arith::FloorDivSIOp, math::SqrtOp,
            math::RsqrtOp>(inner))
      costly += 4;
    else if (isa<math::PowFOp>(inner))
      costly += 32;
    else if (isa<math::AbsFOp, math::CopySignOp, math::FloorOp, math::CeilOp,
                 math::RoundEvenOp, math::TruncOp, math::FmaOp, math::AbsIOp>(
                 inner))
      cheap += 1;
    else if (isa<math::MathDialect>(inner->getDialect()))
      costly += 16;
    else if (isa<arith::ArithDialect, tensor::TensorDialect>(
                 inner->getDialect()))
      cheap += 1;
  });
  return {cheap, costly};
}

bool isStrided(Value value) {
  auto view = value.getDefiningOp<tg::ViewOp>();
  if (!view)
    return true;
  AffineMap map = view.getMap();
  Value source = view.getSource();
  while (auto inner = source.getDefiningOp<tg::ViewOp>()) {
    map = inner.getMap().compose(map);
    source = inner.getSource();
  }
  ArrayRef<int64_t> shape = view.getType().getShape();
  AffineExpr position = simplifyInRange(
      linearize(map, cast<RankedTensorType>(source.getType()).getShape()),
      shape);
  return getStridedForm(position, shape.size()).has_value();
}

} // namespace gcompile
