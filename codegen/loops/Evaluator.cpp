//===- Evaluator.cpp - scalar code for elements of tensors ----------------===//
#include "Evaluator.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;

namespace gcompile::loops {

static RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

static bool isHalf(Type type) { return type.isF16() || type.isBF16(); }

/// A map with no more dimensions than `at` uses, so that equal indices are
/// equal maps whatever else has been computed meanwhile.
static AffineMap indexMap(ArrayRef<AffineExpr> at, MLIRContext *context) {
  unsigned numDims = 0;
  for (AffineExpr expr : at)
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        numDims = std::max(numDims, dim.getPosition() + 1);
    });
  return AffineMap::get(numDims, 0, at, context);
}

Evaluator::Evaluator(OpBuilder &builder, ArrayRef<int64_t> loopSizes)
    : builder(builder), context(builder.getContext()),
      loc(builder.getUnknownLoc()), dims(loopSizes.size()), dimSizes(loopSizes),
      numLoops(loopSizes.size()) {
  scopes.emplace_back();
}

AffineMap Evaluator::simplify(AffineMap map) const {
  SmallVector<AffineExpr> results;
  for (AffineExpr expr : map.getResults())
    results.push_back(simplify(expr));
  return indexMap(results, context);
}

void Evaluator::fail(Operation *op, const Twine &message) {
  if (!hasFailed)
    op->emitError(message);
  hasFailed = true;
}

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

Type Evaluator::memoryType(Type elementType) const {
  if (elementType.isInteger(1))
    return IntegerType::get(context, 8);
  if (elementType.isBF16())
    return IntegerType::get(context, 16);
  if (elementType.isIndex())
    return IntegerType::get(context, 64);
  return elementType;
}

static Value elementPointer(OpBuilder &builder, Location loc, Value pointer,
                            Value position, Type type) {
  Value offset =
      builder.create<arith::IndexCastOp>(loc, builder.getI64Type(), position);
  return builder.create<LLVM::GEPOp>(loc, pointer.getType(), type, pointer,
                                     ArrayRef<LLVM::GEPArg>{offset},
                                     /*inbounds=*/true);
}

Value Evaluator::load(Value pointer, Value position, Type type) {
  Type stored = memoryType(type);
  Value address = elementPointer(builder, loc, pointer, position, stored);
  Value value = builder.create<LLVM::LoadOp>(loc, stored, address);
  if (type.isInteger(1)) {
    Value none = builder.create<arith::ConstantIntOp>(loc, 0, 8);
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::ne, value,
                                         none);
  }
  if (type.isBF16())
    return builder.create<arith::BitcastOp>(loc, type, value);
  if (type.isIndex())
    return builder.create<arith::IndexCastOp>(loc, type, value);
  return value;
}

void Evaluator::store(Value value, Value pointer, Value position) {
  Type type = value.getType(), stored = memoryType(type);
  if (type.isInteger(1))
    value = builder.create<arith::ExtUIOp>(loc, stored, value);
  else if (type.isBF16())
    value = builder.create<arith::BitcastOp>(loc, stored, value);
  else if (type.isIndex())
    value = builder.create<arith::IndexCastOp>(loc, stored, value);
  builder.create<LLVM::StoreOp>(
      loc, value, elementPointer(builder, loc, pointer, position, stored));
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value Evaluator::constantIndex(int64_t value) {
  return emitIndex(getAffineConstantExpr(value, context));
}

Value Evaluator::emitIndex(AffineExpr expr) {
  if (auto dim = dyn_cast<AffineDimExpr>(expr))
    return dims[dim.getPosition()];
  for (Memo &memo : llvm::reverse(scopes))
    if (Value known = memo.indices.lookup(expr))
      return known;

  Value value;
  if (auto constant = dyn_cast<AffineConstantExpr>(expr)) {
    value = builder.create<arith::ConstantIndexOp>(loc, constant.getValue());
  } else {
    auto binary = cast<AffineBinaryOpExpr>(expr);
    Value lhs = emitIndex(binary.getLHS()), rhs = emitIndex(binary.getRHS());
    auto range = rangeOf(binary.getLHS(), dimSizes);
    bool isNatural = range && range->first >= 0;
    auto nsw = arith::IntegerOverflowFlags::nsw;
    switch (expr.getKind()) {
    case AffineExprKind::Add:
      value = builder.create<arith::AddIOp>(loc, lhs, rhs, nsw);
      break;
    case AffineExprKind::Mul:
      value = builder.create<arith::MulIOp>(loc, lhs, rhs, nsw);
      break;
    case AffineExprKind::FloorDiv:
      if (isNatural)
        value = builder.create<arith::DivUIOp>(loc, lhs, rhs);
      else
        value = builder.create<arith::FloorDivSIOp>(loc, lhs, rhs);
      break;
    case AffineExprKind::Mod:
      if (isNatural) {
        value = builder.create<arith::RemUIOp>(loc, lhs, rhs);
      } else {
        Value multiple = builder.create<arith::MulIOp>(
            loc, builder.create<arith::FloorDivSIOp>(loc, lhs, rhs), rhs, nsw);
        value = builder.create<arith::SubIOp>(loc, lhs, multiple, nsw);
      }
      break;
    default: // ceildiv
      value = builder.create<arith::CeilDivSIOp>(loc, lhs, rhs);
    }
  }
  scopes.back().indices[expr] = value;
  return value;
}

/// An index that a body computes from its loop indices and constants.
std::optional<AffineExpr> Evaluator::affineIndex(Value value, Body &body) {
  APInt integer;
  if (matchPattern(value, m_ConstantInt(&integer)))
    return getAffineConstantExpr(integer.getSExtValue(), context);
  if (auto argument = dyn_cast<BlockArgument>(value)) {
    // The loop indices of a scatter are arguments; so is the round of a loop in
    // the body, which no expression stands for.
    if (argument.getType().isIndex() && !body.locals.contains(value) &&
        argument.getArgNumber() < body.loops.size())
      return body.loops[argument.getArgNumber()];
    return std::nullopt;
  }
  Operation *op = value.getDefiningOp();
  if (auto index = dyn_cast<linalg::IndexOp>(op))
    return body.loops[index.getDim()];
  if (isa<arith::IndexCastOp>(op))
    return affineIndex(op->getOperand(0), body);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::DivSIOp,
           arith::FloorDivSIOp, arith::RemSIOp>(op))
    return std::nullopt;
  auto lhs = affineIndex(op->getOperand(0), body);
  auto rhs = affineIndex(op->getOperand(1), body);
  if (!lhs || !rhs)
    return std::nullopt;
  if (isa<arith::AddIOp>(op))
    return simplify(*lhs + *rhs);
  if (isa<arith::SubIOp>(op))
    return simplify(*lhs - *rhs);
  auto constant = dyn_cast<AffineConstantExpr>(*rhs);
  if (isa<arith::MulIOp>(op)) {
    if (!constant && !isa<AffineConstantExpr>(*lhs))
      return std::nullopt;
    return simplify(*lhs * *rhs);
  }
  auto range = rangeOf(*lhs, dimSizes);
  bool isNatural = range && range->first >= 0;
  if (!constant || constant.getValue() <= 0 ||
      (!isNatural && !isa<arith::FloorDivSIOp>(op)))
    return std::nullopt;
  return simplify(isa<arith::RemSIOp>(op) ? *lhs % *rhs : lhs->floorDiv(*rhs));
}

/// An index into a dimension of `size`: an expression of the loops, or a
/// computed index of its own.
AffineExpr Evaluator::indexOf(Value value, int64_t size, Body &body) {
  if (auto affine = affineIndex(value, body))
    return *affine;
  Value computed = operand(value, body);
  auto [it, isNew] = computedDims.try_emplace(computed, dims.size());
  if (isNew) {
    dims.push_back(computed);
    dimSizes.push_back(size);
  }
  return getAffineDimExpr(it->second, context);
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

Value Evaluator::evaluate(Value tensor, ArrayRef<AffineExpr> at) {
  SmallVector<AffineExpr> index(at);
  while (auto view = tensor.getDefiningOp<tg::ViewOp>()) {
    SmallVector<AffineExpr> source;
    for (AffineExpr expr : view.getMap().getResults())
      source.push_back(simplify(expr.replaceDims(index)));
    index = source;
    tensor = view.getSource();
  }
  // Results of one generic are computed together, as its first.
  auto generic = tensor.getDefiningOp<linalg::GenericOp>();
  Element element(tensor, indexMap(index, context));
  Element first(generic ? generic->getResult(0) : tensor, element.second);
  onDemand(first);
  for (Memo &memo : llvm::reverse(scopes))
    if (Value known = memo.elements.lookup(element))
      return known;
  if (Value known = recall(element)) {
    scopes.back().elements[element] = known;
    return known;
  }
  onCompute(first);
  Value value = compute(element);
  scopes.back().elements[element] = value;
  onComputed(first, value);
  return value;
}

Value Evaluator::compute(const Element &element) {
  auto [tensor, map] = element;
  Type type = tensorType(tensor).getElementType();
  if (Value pointer = pointerOf(tensor)) {
    AffineExpr position =
        simplify(linearize(map, tensorType(tensor).getShape()));
    onLoad(tensor, position);
    return loadElement(pointer, position, type);
  }
  Operation *op = tensor.getDefiningOp();
  if (auto generic = dyn_cast_or_null<linalg::GenericOp>(op)) {
    if (generic.getNumReductionLoops() > 0)
      return readReduction(cast<OpResult>(tensor));
    SmallVector<Value> outputs; // Not read by a pointwise body.
    for (Type result : generic->getResultTypes())
      outputs.push_back(zero(cast<RankedTensorType>(result).getElementType()));
    SmallVector<Value> results =
        emitGeneric(generic, map.getResults(), outputs);
    for (auto [result, value] : llvm::zip_equal(generic->getResults(), results))
      scopes.back().elements[Element(result, map)] = value;
    return results[cast<OpResult>(tensor).getResultNumber()];
  }
  if (auto fill = dyn_cast_or_null<linalg::FillOp>(op)) {
    Body none{{}, [](BlockArgument) { return Value(); }, {}};
    return operand(fill.value(), none);
  }
  DenseElementsAttr constant;
  if (op && matchPattern(tensor, m_Constant(&constant)) && constant.isSplat())
    return builder.create<arith::ConstantOp>(
        loc, cast<TypedAttr>(constant.getSplatValue<Attribute>()));
  if (isa_and_nonnull<tensor::EmptyOp>(op))
    return zero(type);
  fail(op ? op : cast<BlockArgument>(tensor).getOwner()->getParentOp(),
       "cannot be computed element by element");
  return zero(type);
}

Value Evaluator::zero(Type type) {
  return builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
}

SmallVector<Value> Evaluator::emitGeneric(linalg::GenericOp op,
                                          ArrayRef<AffineExpr> at,
                                          ValueRange outputs) {
  unsigned numInputs = op.getNumDpsInputs();
  auto argument = [&](BlockArgument argument) -> Value {
    unsigned number = argument.getArgNumber();
    if (number >= numInputs)
      return outputs[number - numInputs];
    OpOperand *input = op.getDpsInputOperand(number);
    SmallVector<AffineExpr> index;
    for (AffineExpr expr : op.getMatchingIndexingMap(input).getResults())
      index.push_back(simplify(expr.replaceDims(at)));
    return evaluate(input->get(), index);
  };
  Body body{at, argument, {}};
  for (Operation &inner : op.getBody()->without_terminator())
    emitOp(inner, body);
  SmallVector<Value> yielded;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    yielded.push_back(operand(value, body));
  return yielded;
}

Evaluator::ScatterPoint Evaluator::emitScatterPoint(tg::ScatterOp op,
                                                    AffineMap at) {
  unsigned rank = at.getNumResults();
  auto argument = [&](BlockArgument argument) -> Value {
    unsigned number = argument.getArgNumber();
    if (number < rank)
      return emitIndex(at.getResult(number));
    auto map = cast<AffineMapAttr>(op.getMaps()[number - rank]).getValue();
    return evaluate(op.getInputs()[number - rank], simplify(map.compose(at)));
  };
  Body body{at.getResults(), argument, {}};
  Block &block = op.getBody().front();
  for (Operation &inner : block.without_terminator())
    emitOp(inner, body);
  SmallVector<Value> yielded(block.getTerminator()->getOperands());
  ScatterPoint point;
  if (Value flag = yielded.pop_back_val(); !matchPattern(flag, m_One()))
    point.isWanted = operand(flag, body);
  point.update = operand(yielded.pop_back_val(), body);

  SmallVector<AffineExpr> place;
  for (auto [value, size] :
       llvm::zip_equal(yielded, tensorType(op.getBase()).getShape())) {
    AffineExpr index = indexOf(value, size, body);
    place.push_back(index);
    // Of computed indices, the sizes are only what the user should keep to.
    auto dim = dyn_cast<AffineDimExpr>(index);
    bool isComputed = dim && dim.getPosition() >= numLoops;
    auto range = rangeOf(index, dimSizes);
    if (!isComputed && range && range->first >= 0 && range->second < size)
      continue;
    // Unsigned: a negative index is large.
    Value isInside = builder.create<arith::CmpIOp>(
        loc, arith::CmpIPredicate::ult, emitIndex(index), constantIndex(size));
    point.isWanted =
        point.isWanted
            ? builder.create<arith::AndIOp>(loc, point.isWanted, isInside)
            : isInside;
  }
  point.place = indexMap(place, context);
  return point;
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// The emitted value for `value` of the body. Arguments are computed where they
/// are needed: a branch that is not taken loads nothing.
Value Evaluator::operand(Value value, Body &body) {
  if (Value local = body.locals.lookupOrNull(value))
    return local;
  if (auto argument = dyn_cast<BlockArgument>(value))
    return body.argument(argument);
  Operation *op = value.getDefiningOp();
  if (op->hasTrait<OpTrait::ConstantLike>())
    return builder.clone(*op)->getResult(0);
  fail(op, "is used by a loop body but is not a constant");
  return zero(value.getType());
}

void Evaluator::emitOp(Operation &op, Body &body) {
  if (auto index = dyn_cast<linalg::IndexOp>(op)) {
    AffineExpr expr = body.loops[index.getDim()];
    onIndex(expr);
    body.locals.map(index.getResult(), emitIndex(expr));
    return;
  }
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    SmallVector<AffineExpr> index;
    for (auto [value, size] : llvm::zip_equal(
             extract.getIndices(), tensorType(extract.getTensor()).getShape()))
      index.push_back(indexOf(value, size, body));
    body.locals.map(extract.getResult(), evaluate(extract.getTensor(), index));
    return;
  }
  if (isa<scf::IfOp>(op))
    return emitIf(op, body);
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitFor(loop, body);
  if (op.getNumRegions() != 0 || !isMemoryEffectFree(&op))
    return fail(&op, "is not supported in the body of a loop");

  onOperation(&op);
  bool isCast = isa<arith::ExtFOp, arith::TruncFOp>(op);
  bool isMove = isa<arith::SelectOp, arith::ConstantOp, arith::BitcastOp>(op);
  auto typeIsHalf = [](Value value) { return isHalf(value.getType()); };
  if (!isMove && (isCast || llvm::any_of(op.getOperands(), typeIsHalf) ||
                  llvm::any_of(op.getResults(), typeIsHalf)))
    return emitWidened(op, body);
  // A mapping of its own: an argument that is computed inside a branch must not
  // be found after it.
  IRMapping mapping;
  for (Value each : op.getOperands())
    mapping.map(each, operand(each, body));
  Operation *cloned = builder.clone(op, mapping);
  body.locals.map(op.getResults(), cloned->getResults());
}

/// Half-precision operands are widened to float32 first and results rounded
/// last, as PyTorch computes: also casts between half precision and float64 or
/// integers go through float32.
void Evaluator::emitWidened(Operation &op, Body &body) {
  Type f32 = builder.getF32Type();
  auto resize = [&](Value value, Type type) -> Value {
    unsigned from = value.getType().getIntOrFloatBitWidth();
    unsigned to = type.getIntOrFloatBitWidth();
    if (from == to)
      return value;
    if (from < to)
      return builder.create<arith::ExtFOp>(loc, type, value);
    return builder.create<arith::TruncFOp>(loc, type, value);
  };
  if (isa<arith::ExtFOp, arith::TruncFOp>(op)) {
    Value value = operand(op.getOperand(0), body);
    Type type = op.getResult(0).getType();
    if (isHalf(value.getType()) || isHalf(type))
      value = resize(value, f32);
    body.locals.map(op.getResult(0), resize(value, type));
    return;
  }
  IRMapping mapping;
  for (Value each : op.getOperands()) {
    Value value = operand(each, body);
    mapping.map(each, isHalf(value.getType()) ? resize(value, f32) : value);
  }
  Operation *cloned = builder.clone(op, mapping);
  for (auto [result, wide] :
       llvm::zip_equal(op.getResults(), cloned->getResults())) {
    Type type = result.getType();
    if (isHalf(type))
      wide.setType(f32);
    body.locals.map(result, isHalf(type) ? resize(wide, type) : wide);
  }
}

void Evaluator::emitIf(Operation &op, Body &body) {
  auto ifOp = cast<scf::IfOp>(op);
  Value condition = operand(ifOp.getCondition(), body);
  auto emitted = builder.create<scf::IfOp>(
      loc, ifOp.getResultTypes(), condition, !ifOp.getElseRegion().empty());
  ++branchDepth;
  for (auto [from, to] :
       llvm::zip_equal(ifOp->getRegions(), emitted->getRegions())) {
    if (from.empty())
      continue;
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&to.front());
    Scope scope(*this);
    for (Operation &inner : from.front().without_terminator())
      emitOp(inner, body);
    SmallVector<Value> yielded;
    for (Value value : from.front().getTerminator()->getOperands())
      yielded.push_back(operand(value, body));
    // Without results the builder has made the terminators.
    if (!yielded.empty())
      builder.create<scf::YieldOp>(loc, yielded);
  }
  --branchDepth;
  body.locals.map(op.getResults(), emitted.getResults());
}

void Evaluator::emitFor(scf::ForOp op, Body &body) {
  SmallVector<Value> initial;
  for (Value value : op.getInitArgs())
    initial.push_back(operand(value, body));
  auto emitted = builder.create<scf::ForOp>(
      loc, operand(op.getLowerBound(), body), operand(op.getUpperBound(), body),
      operand(op.getStep(), body), initial);
  // It may run no round: what it computes is not known after it.
  ++branchDepth;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(emitted.getBody());
    Scope scope(*this);
    body.locals.map(op.getBody()->getArguments(),
                    emitted.getBody()->getArguments());
    for (Operation &inner : op.getBody()->without_terminator())
      emitOp(inner, body);
    SmallVector<Value> yielded;
    for (Value value : op.getBody()->getTerminator()->getOperands())
      yielded.push_back(operand(value, body));
    if (!yielded.empty())
      builder.create<scf::YieldOp>(loc, yielded);
  }
  --branchDepth;
  body.locals.map(op.getResults(), emitted.getResults());
}

} // namespace gcompile::loops
