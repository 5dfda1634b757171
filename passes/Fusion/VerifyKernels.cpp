//===- VerifyKernels.cpp - check what codegen relies on after fusion ------===//
#include "Generics.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace gcompile {
#define GEN_PASS_DEF_VERIFYKERNELSPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

LogicalResult verifyKernel(tg::KernelOp kernel) {
  Block &body = kernel.getBody().front();
  Operation *anchor = kernel.getAnchor();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator()) {
    ops.push_back(&op);
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (anchor && generic && !isPointwise(generic))
      return kernel.emitOpError("holds '")
             << nodeName(anchor) << "' and '" << nodeName(&op)
             << "', which is not pointwise"; // K4
  }
  SmallVector<Value> generics;
  for (Value output : body.getTerminator()->getOperands()) {
    Operation *source = output.getDefiningOp();
    if (!isa_and_present<linalg::GenericOp>(source) &&
        !(source && tg::isStructuredOp(source)))
      return kernel.emitOpError("yields ")
             << (source ? source->getName().getStringRef() : "an operand")
             << ", which nothing in it computes"; // K5
    if (isa<linalg::GenericOp>(source))
      generics.push_back(output);
  }
  if (anchor)
    for (Value operand : anchor->getOperands())
      if (!isa<BlockArgument>(baseOf(operand)) || !isStrided(operand))
        return kernel.emitOpError("gives '") << nodeName(anchor)
                                             << "' an operand that is no "
                                                "strided view of its own "
                                                "operands"; // K3
  std::string why;
  if (!generics.empty() && failed(analyzeKernelLoops(ops, generics, why)))
    return kernel.emitOpError("has no common loops: ") << why; // K2
  return success();
}

LogicalResult verifyBlock(Block &block) {
  for (Operation &op : block) {
    if (auto kernel = dyn_cast<tg::KernelOp>(op)) {
      if (failed(verifyKernel(kernel)))
        return failure();
    } else if (isa<tg::CondOp, tg::WhileOp>(op)) {
      for (Region &region : op.getRegions())
        if (failed(verifyBlock(region.front())))
          return failure();
    } else if (!op.hasTrait<OpTrait::IsTerminator>() &&
               !(isa<arith::ConstantOp>(op) &&
                 isa<RankedTensorType>(op.getResult(0).getType()))) {
      return op.emitOpError("is outside of every kernel"); // K1
    }
  }
  return success();
}

class VerifyKernelsPass
    : public impl::VerifyKernelsPassBase<VerifyKernelsPass> {
  void runOnOperation() override {
    if (failed(verifyBlock(getOperation().getBody().front())))
      signalPassFailure();
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace gcompile
