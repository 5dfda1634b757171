//===- Legalize.cpp - the aten program as a tensor program ----------------===//
// Builds the tensor program beside the aten program, value by value, and then
// drops the latter: lowerings read PyTorch's types (`ui8`) of the one and build
// on the signless values of the other.
#include "Lowering.h"

#include "gcompile/ir/Counters.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/TypeUtilities.h"

namespace gcompile {
#define GEN_PASS_DEF_LEGALIZEPASS
#include "gcompile/passes/Passes.h.inc"
} // namespace gcompile

using namespace mlir;

namespace gcompile::legalize {

static const Registry &registry() {
  static const Registry registry = [] {
    Registry all;
    addPointwiseLowerings(all);
    addReductionLowerings(all);
    addViewLowerings(all);
    addIndexingLowerings(all);
    addScatterLowerings(all);
    addSegmentLowerings(all);
    addCreationLowerings(all);
    addOrderLowerings(all);
    addMatmulLowerings(all);
    addAttentionLowerings(all);
    addConvolutionLowerings(all);
    addPoolingLowerings(all);
    addResamplingLowerings(all);
    return all;
  }();
  return registry;
}

namespace {

/// Legalises one function.
class Legalizer {
public:
  Legalizer(MLIRContext *context, int64_t &numRandomStreams)
      : builder(context), numRandomStreams(numRandomStreams) {}

  LogicalResult run(func::FuncOp func);

private:
  Type convert(Type type) const;
  LogicalResult lower(Block &block);
  LogicalResult lower(Operation &op);
  LogicalResult lower(aten::CallOp op);
  LogicalResult lower(aten::CondOp op);
  LogicalResult lower(aten::WhileLoopOp op);
  SmallVector<Value> lookup(ValueRange values) const;

  OpBuilder builder;
  IRMapping values; ///< from the aten program to the tensor program
  int64_t &numRandomStreams;
};

} // namespace

/// Scalars of the aten program become 0-d tensors: their values may depend on
/// data.
Type Legalizer::convert(Type type) const {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return RankedTensorType::get(tensor.getShape(),
                                 signless(tensor.getElementType()));
  return RankedTensorType::get({}, signless(type));
}

SmallVector<Value> Legalizer::lookup(ValueRange source) const {
  return llvm::map_to_vector(source,
                             [&](Value value) { return values.lookup(value); });
}

LogicalResult Legalizer::lower(aten::CallOp op) {
  aten::Call call(op);
  SmallVector<Tensor> results;
  auto isEmpty = [](Type type) {
    auto tensor = dyn_cast<RankedTensorType>(type);
    return tensor && tensor.getNumElements() == 0;
  };
  if (op.getNumResults() > 0 && llvm::all_of(op.getResultTypes(), isEmpty)) {
    // Nothing to compute; no lowering has to think of it.
    for (Type type : op.getResultTypes()) {
      auto empty = DenseElementsAttr::get(cast<ShapedType>(convert(type)),
                                          ArrayRef<Attribute>());
      results.push_back({builder.create<arith::ConstantOp>(op.getLoc(), empty),
                         cast<RankedTensorType>(type).getElementType()});
    }
  } else {
    LoweringBuilder b(builder, op.getLoc(), values, numRandomStreams);
    Lowered lowered = registry().at(op.getCallee())(call, b);
    if (failed(lowered.tensors))
      return failure();
    results = std::move(*lowered.tensors);
  }
  if (results.size() != op.getNumResults())
    return op.emitError("internal error: lowered to ")
           << results.size() << " results, expected " << op.getNumResults();
  for (auto [result, tensor] : llvm::zip_equal(op.getResults(), results)) {
    if (!tensor && result.use_empty())
      continue;
    Type expected = convert(result.getType());
    if (!tensor || tensor.value.getType() != expected)
      return op.emitError("internal error: lowered to ")
             << (tensor ? tensor.value.getType() : Type()) << ", expected "
             << expected;
    values.map(result, tensor.value);
  }
  return success();
}

LogicalResult Legalizer::lower(aten::CondOp op) {
  SmallVector<Type> types = llvm::map_to_vector(
      op.getResultTypes(), [&](Type type) { return convert(type); });
  auto cond = builder.create<tg::CondOp>(op.getLoc(), types,
                                         values.lookup(op.getPredicate()));
  OpBuilder::InsertionGuard guard(builder);
  for (auto [source, target] :
       {std::pair(&op.getThenRegion(), &cond.getThenRegion()),
        std::pair(&op.getElseRegion(), &cond.getElseRegion())}) {
    builder.createBlock(target);
    values.map(source->getArguments(), lookup(op.getInputs()));
    if (failed(lower(source->front())))
      return failure();
  }
  values.map(op.getResults(), cond.getResults());
  return success();
}

LogicalResult Legalizer::lower(aten::WhileLoopOp op) {
  SmallVector<Value> carried = lookup(op.getCarried());
  auto loop = builder.create<tg::WhileOp>(
      op.getLoc(), ValueRange(carried).getTypes(), carried);
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Location> locations(carried.size(), op.getLoc());
  for (auto [source, target] :
       {std::pair(&op.getCondRegion(), &loop.getCondRegion()),
        std::pair(&op.getBodyRegion(), &loop.getBodyRegion())}) {
    Block *block = builder.createBlock(
        target, {}, ValueRange(carried).getTypes(), locations);
    auto arguments = source->getArguments();
    values.map(arguments.take_front(carried.size()), block->getArguments());
    values.map(arguments.drop_front(carried.size()),
               lookup(op.getAdditional()));
    if (failed(lower(source->front())))
      return failure();
  }
  values.map(op.getResults(), loop.getResults());
  return success();
}

LogicalResult Legalizer::lower(Operation &op) {
  if (auto call = dyn_cast<aten::CallOp>(op))
    return lower(call);
  if (auto cond = dyn_cast<aten::CondOp>(op))
    return lower(cond);
  if (auto loop = dyn_cast<aten::WhileLoopOp>(op))
    return lower(loop);
  if (isa<aten::YieldOp>(op))
    builder.create<tg::YieldOp>(op.getLoc(), lookup(op.getOperands()));
  else
    builder.clone(op, values);
  return success();
}

/// Lowers as much as it can, so that one run reports every problem.
LogicalResult Legalizer::lower(Block &block) {
  bool failedSome = false;
  for (Operation &op : block) {
    if (succeeded(lower(op)))
      continue;
    failedSome = true;
    for (Value result : op.getResults()) {
      auto type = cast<RankedTensorType>(convert(result.getType()));
      values.map(result,
                 Value(builder.create<tensor::EmptyOp>(
                     op.getLoc(), type.getShape(), type.getElementType())));
    }
  }
  return failure(failedSome);
}

LogicalResult Legalizer::run(func::FuncOp func) {
  Block &source = func.getBody().front();
  Block *target = builder.createBlock(&func.getBody());
  for (BlockArgument argument : source.getArguments())
    values.map(argument, target->addArgument(convert(argument.getType()),
                                             argument.getLoc()));
  if (failed(lower(source))) {
    target->erase();
    return failure();
  }
  // The signature keeps what its types lose.
  auto isUnsigned = [](Type type) {
    return getElementTypeOrSelf(type).isUnsignedInteger();
  };
  StringRef name = "aten.unsigned";
  for (auto [i, type] : llvm::enumerate(func.getArgumentTypes()))
    if (isUnsigned(type))
      func.setArgAttr(i, name, builder.getUnitAttr());
  for (auto [i, type] : llvm::enumerate(func.getResultTypes()))
    if (isUnsigned(type))
      func.setResultAttr(i, name, builder.getUnitAttr());
  source.erase();
  func.setFunctionType(builder.getFunctionType(
      target->getArgumentTypes(), target->getTerminator()->getOperandTypes()));
  return success();
}

/// Names every operator without a lowering.
static LogicalResult checkOperators(func::FuncOp func) {
  bool failedSome = false;
  func.walk([&](aten::CallOp op) {
    if (registry().contains(op.getCallee()))
      return;
    failedSome = true;
    op.emitError() << "unsupported: operator '" << op.getCallee() << "'";
  });
  return failure(failedSome);
}

} // namespace gcompile::legalize

namespace gcompile {
namespace {

struct LegalizePass : impl::LegalizePassBase<LegalizePass> {
  void runOnOperation() override {
    bool failedSome = false;
    for (auto func : getOperation().getOps<func::FuncOp>())
      failedSome |= failed(legalize::checkOperators(func));
    if (failedSome)
      return signalPassFailure();
    int64_t numRandomStreams = 0;
    for (auto func : getOperation().getOps<func::FuncOp>()) {
      int64_t numCalls = 0;
      func.walk([&](aten::CallOp) { ++numCalls; });
      if (failed(
              legalize::Legalizer(&getContext(), numRandomStreams).run(func)))
        failedSome = true;
      else
        count(&getContext(), "tg-legalize.operators", numCalls);
    }
    if (failedSome)
      signalPassFailure();
  }
};

} // namespace
} // namespace gcompile
