//===- FormKernels.cpp - moving groups of operations into kernels ---------===//
#include "Fusion/FormKernels.h"
#include "Generics.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace gcompile {

std::string kernelName(ArrayRef<Operation *> ops) {
  constexpr size_t kMaxLength = 40;
  llvm::SmallSetVector<StringRef, 8> stems;
  SmallVector<std::string> names;
  for (Operation *op : ops)
    if (!nodeNames(op->getLoc()).empty())
      names.push_back(nodeName(op));
  if (names.empty())
    names.push_back(nodeName(ops.back()));
  for (StringRef name : names) {
    // Node names end in a counter: "linear_3".
    StringRef stem = name.rtrim("0123456789");
    stem = stem.size() < name.size() && stem.ends_with("_") ? stem.rtrim('_')
                                                            : name;
    stems.insert(stem.ltrim('_'));
  }
  std::string result;
  for (StringRef stem : stems) {
    if (!result.empty() && result.size() + stem.size() >= kMaxLength)
      break;
    result += (result.empty() ? "" : "_") + stem.str();
  }
  for (char &c : result)
    if (!llvm::isAlnum(c))
      c = '_';
  return result;
}

namespace {

/// Region::isAncestor for regions that may hang under no operation yet.
bool contains(const Region &outer, Region *inner) {
  while (inner && inner != &outer)
    inner = inner->getParentOp() ? inner->getParentRegion() : nullptr;
  return inner;
}

/// True where something outside of `region` reads `value`, or a view of it.
/// Views that only members read are left behind without readers.
bool isReadOutside(Value value, const Region &region) {
  return llvm::any_of(value.getUsers(), [&](Operation *user) {
    if (contains(region, user->getParentRegion()))
      return false;
    auto view = dyn_cast<tg::ViewOp>(user);
    return !view || isReadOutside(view.getResult(), region);
  });
}

/// Moves one group into the region of its kernel.
class KernelFormer {
public:
  KernelFormer(const KernelStep &step, Block &block)
      : step(step), members(step.ops.begin(), step.ops.end()),
        builder(OpBuilder::atBlockTerminator(&block)) {}

  void form();

private:
  /// `value` as seen inside the kernel: a member's result, a copy of what costs
  /// nothing, or an argument.
  Value inside(Value value);
  Value asArgument(Value value);
  void moveIn(Operation *op);
  /// Builds at the end of the kernel's region, which has no parent yet.
  OpBuilder inner() {
    OpBuilder result(builder.getContext());
    result.setInsertionPointToEnd(&region.front());
    return result;
  }

  const KernelStep &step;
  llvm::SmallPtrSet<Operation *, 16> members;
  OpBuilder builder;
  Region region;
  IRMapping mapping;
  SmallVector<Value> inputs;
};

Value KernelFormer::asArgument(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Value argument = region.front().addArgument(value.getType(), value.getLoc());
  mapping.map(value, argument);
  inputs.push_back(value);
  return argument;
}

Value KernelFormer::inside(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (op && members.contains(op))
    return value;
  bool isFree =
      isa_and_present<tg::ViewOp, tensor::EmptyOp, linalg::FillOp>(op);
  if (isa_and_present<arith::ConstantOp>(op))
    isFree = !isa<RankedTensorType>(value.getType());
  if (!isFree)
    return asArgument(value);
  for (Value operand : op->getOperands())
    inside(operand);
  inner().clone(*op, mapping);
  return mapping.lookup(value);
}

void KernelFormer::moveIn(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  bool ignoresInits = generic && isPointwise(generic);
  for (OpOperand &operand : op->getOpOperands()) {
    OpBuilder builder = inner();
    bool isInit = generic && generic.isDpsInit(&operand);
    TypedAttr scalar = isInit ? splatValue(operand.get()) : TypedAttr();
    if (isInit && (ignoresInits || scalar)) {
      // Inits are made here: a fresh tensor, filled where its values matter.
      auto type = cast<RankedTensorType>(operand.get().getType());
      Value init = builder.create<tensor::EmptyOp>(
          op->getLoc(), type.getShape(), type.getElementType());
      if (!ignoresInits) {
        Value constant =
            builder.create<arith::ConstantOp>(op->getLoc(), scalar);
        init = builder.create<linalg::FillOp>(op->getLoc(), constant, init)
                   .getResult(0);
      }
      operand.set(init);
    } else {
      operand.set(inside(operand.get()));
    }
  }
  // What bodies take from outside: extracted tensors and scalars.
  for (Region &body : op->getRegions())
    body.walk([&](Operation *nested) {
      for (OpOperand &operand : nested->getOpOperands())
        if (!contains(body, operand.get().getParentRegion()))
          operand.set(inside(operand.get()));
    });
  op->moveBefore(&region.front(), region.front().end());
}

void KernelFormer::form() {
  region.push_back(new Block());
  SmallVector<Location> locs;
  for (Operation *op : step.ops) {
    locs.push_back(op->getLoc());
    moveIn(op);
  }
  SmallVector<Value> outputs;
  SmallVector<Type> types;
  for (Operation *op : step.ops)
    for (OpResult result : op->getResults())
      if (isReadOutside(result, region)) {
        outputs.push_back(result);
        types.push_back(result.getType());
      }
  Location loc = builder.getFusedLoc(locs);
  inner().create<tg::YieldOp>(loc, outputs);
  auto kernel =
      builder.create<tg::KernelOp>(loc, types, kernelName(step.ops), inputs,
                                   step.reason, tg::ScheduleAttr());
  kernel.getBody().takeBody(region);
  for (auto [output, result] : llvm::zip_equal(outputs, kernel.getResults()))
    output.replaceUsesWithIf(result, [&](OpOperand &use) {
      return !contains(kernel.getBody(), use.getOwner()->getParentRegion());
    });
}

} // namespace

void formKernels(Block &block, ArrayRef<KernelStep> steps) {
  for (const KernelStep &step : steps) {
    if (step.isKernel)
      KernelFormer(step, block).form();
    else
      step.ops.front()->moveBefore(block.getTerminator());
  }
}

void eraseLeftovers(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (op.use_empty() &&
        isa<tg::ViewOp, tensor::EmptyOp, linalg::FillOp, arith::ConstantOp>(op))
      op.erase();
}

} // namespace gcompile
