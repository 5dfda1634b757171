//===- Merge.cpp - partial results of reductions --------------------------===//
// A reduction's body computes acc' = op(acc, candidate). Two partial results
// merge by the same operations, with the other's accumulator as the candidate.
#include "Evaluator.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace gcompile::loops {
namespace {

/// Where a value of a reduction's body comes from.
class ReductionBody {
public:
  explicit ReductionBody(linalg::GenericOp op) : op(op), block(*op.getBody()) {}

  unsigned numResults() const { return op->getNumResults(); }
  Value accumulator(unsigned i) const {
    return block.getArgument(op.getNumDpsInputs() + i);
  }
  Value yielded(unsigned i) const {
    return block.getTerminator()->getOperand(i);
  }
  bool usesAccumulators(Value value) const {
    return reaches(value, [&](Value leaf) {
      auto argument = dyn_cast<BlockArgument>(leaf);
      return argument && argument.getArgNumber() >= op.getNumDpsInputs();
    });
  }
  /// The new element or position that result `i` may take; null if there is no
  /// such thing.
  Value candidate(unsigned i) const {
    Operation *def = yielded(i).getDefiningOp();
    // A select that leaves some elements out keeps the accumulator then.
    while (auto select = dyn_cast_or_null<arith::SelectOp>(def)) {
      if (select.getFalseValue() != accumulator(i))
        return {};
      if (!usesAccumulators(select.getTrueValue()))
        return select.getTrueValue();
      if (usesAccumulators(select.getCondition()))
        return {};
      def = select.getTrueValue().getDefiningOp();
    }
    if (!def || def->getNumOperands() != 2 ||
        !(def->hasTrait<OpTrait::IsCommutative>()))
      return {};
    for (unsigned side : {0, 1})
      if (def->getOperand(side) == accumulator(i) &&
          !usesAccumulators(def->getOperand(1 - side)))
        return def->getOperand(1 - side);
    return {};
  }
  Operation *combiner(unsigned i) const {
    Operation *def = yielded(i).getDefiningOp();
    while (auto select = dyn_cast<arith::SelectOp>(def)) {
      if (!usesAccumulators(select.getTrueValue()))
        return select;
      def = select.getTrueValue().getDefiningOp();
    }
    return def;
  }
  template <typename Predicate>
  static bool reaches(Value value, Predicate isWanted) {
    if (isWanted(value))
      return true;
    Operation *def = value.getDefiningOp();
    return def && llvm::any_of(def->getOperands(), [&](Value operand) {
             return reaches(operand, isWanted);
           });
  }

private:
  mutable linalg::GenericOp op; // a handle whose accessors are not const
  Block &block;
};

/// True where combining with `initial` changes nothing.
bool isNeutral(Operation *combiner, Attribute initial) {
  // Taking part more than once makes no difference.
  if (isa<arith::SelectOp, arith::MaximumFOp, arith::MinimumFOp,
          arith::MaxNumFOp, arith::MinNumFOp, arith::MaxSIOp, arith::MinSIOp,
          arith::MaxUIOp, arith::MinUIOp, arith::AndIOp, arith::OrIOp>(
          combiner))
    return true;
  auto integer = dyn_cast<IntegerAttr>(initial);
  auto number = dyn_cast<FloatAttr>(initial);
  if (isa<arith::AddFOp>(combiner))
    return number && number.getValue().isZero();
  if (isa<arith::MulFOp>(combiner))
    return number && number.getValue().isExactlyValue(1.0);
  if (isa<arith::AddIOp, arith::XOrIOp>(combiner))
    return integer && integer.getValue().isZero();
  if (isa<arith::MulIOp>(combiner))
    return integer && integer.getValue().isOne();
  return false;
}

} // namespace

bool canMerge(linalg::GenericOp op) {
  ReductionBody body(op);
  for (unsigned i = 0; i < body.numResults(); ++i) {
    auto fill = op.getDpsInits()[i].getDefiningOp<linalg::FillOp>();
    Attribute initial;
    if (!fill || !matchPattern(fill.value(), m_Constant(&initial)) ||
        !body.candidate(i) || !isNeutral(body.combiner(i), initial))
      return false;
  }
  return true;
}

SmallVector<Value> Evaluator::emitMerge(linalg::GenericOp op, ValueRange mine,
                                        ValueRange theirs) {
  ReductionBody shape(op);
  auto argument = [&](BlockArgument argument) -> Value {
    return mine[argument.getArgNumber() - op.getNumDpsInputs()];
  };
  Body body{{}, argument, {}};
  llvm::SmallDenseSet<Value> candidates;
  for (unsigned i = 0; i < shape.numResults(); ++i) {
    body.locals.map(shape.candidate(i), theirs[i]);
    candidates.insert(shape.candidate(i));
  }
  auto isPart = [&](Value value) {
    return ReductionBody::reaches(value, [&](Value leaf) {
      return candidates.contains(leaf) ||
             llvm::is_contained(
                 op.getBody()->getArguments().drop_front(op.getNumDpsInputs()),
                 leaf);
    });
  };
  // What has no part in merging is whether an element counts: it does.
  llvm::SetVector<Operation *> needed;
  Value always;
  auto collect = [&](auto &&self, Value value) -> void {
    Operation *def = value.getDefiningOp();
    if (!def || body.locals.contains(value))
      return;
    if (value.getType().isInteger(1) && !isPart(value) &&
        !def->hasTrait<OpTrait::ConstantLike>()) {
      if (!always)
        always = builder.create<arith::ConstantIntOp>(loc, 1, 1);
      body.locals.map(value, always);
      return;
    }
    for (Value operand : def->getOperands())
      self(self, operand);
    needed.insert(def);
  };
  for (Value value : op.getBody()->getTerminator()->getOperands())
    collect(collect, value);
  for (Operation *each : needed)
    emitOp(*each, body);
  SmallVector<Value> merged;
  for (Value value : op.getBody()->getTerminator()->getOperands())
    merged.push_back(operand(value, body));
  return merged;
}

} // namespace gcompile::loops
