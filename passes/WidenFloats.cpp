//===- WidenFloats.cpp - evaluate a tensor program in float64 -------------===//
// The reference that `--reference` compares with is the same program with every
// float type replaced by f64. Casts between floats then do nothing and go away,
// so the roundings that PyTorch makes are not in it: it is the exact answer, up
// to float64.
#include "gcompile/passes/Passes.h"

#include "gcompile/ir/Counters.h"
#include "gcompile/ir/Tg.h"

using namespace mlir;

namespace gcompile {
#define GEN_PASS_DEF_WIDENFLOATSPASS
#include "gcompile/passes/Passes.h.inc"

namespace {

Type widened(Type type) {
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(widened(tensor.getElementType()));
  if (isa<FloatType>(type) && !type.isF64())
    return Float64Type::get(type.getContext());
  return type;
}

Attribute widened(Attribute attribute) {
  auto widen = [](const APFloat &value) {
    APFloat wide = value;
    bool losesInfo;
    wide.convert(APFloat::IEEEdouble(), APFloat::rmNearestTiesToEven,
                 &losesInfo);
    return wide;
  };
  if (auto value = dyn_cast<FloatAttr>(attribute))
    return FloatAttr::get(widened(value.getType()), widen(value.getValue()));
  if (auto elements = dyn_cast<DenseFPElementsAttr>(attribute))
    return elements.mapValues(
        Float64Type::get(attribute.getContext()),
        [&](const APFloat &value) { return widen(value).bitcastToAPInt(); });
  return attribute;
}

struct WidenFloatsPass : impl::WidenFloatsPassBase<WidenFloatsPass> {
  void runOnOperation() override {
    int64_t numCasts = 0;
    getOperation().walk([&](Operation *op) {
      for (Region &region : op->getRegions())
        for (Block &block : region)
          for (BlockArgument argument : block.getArguments())
            argument.setType(widened(argument.getType()));
      for (OpResult result : op->getResults())
        result.setType(widened(result.getType()));
      if (auto constant = dyn_cast<arith::ConstantOp>(op))
        constant.setValueAttr(cast<TypedAttr>(widened(constant.getValue())));
      if (auto func = dyn_cast<func::FuncOp>(op)) {
        auto widen = [](Type type) { return widened(type); };
        func.setFunctionType(FunctionType::get(
            op->getContext(),
            llvm::map_to_vector(func.getArgumentTypes(), widen),
            llvm::map_to_vector(func.getResultTypes(), widen)));
      }
    });
    // Casts are now from f64 to f64, which the verifier would refuse.
    getOperation().walk([&](Operation *op) {
      if (!isa<arith::ExtFOp, arith::TruncFOp>(op) ||
          op->getOperand(0).getType() != op->getResult(0).getType())
        return;
      op->getResult(0).replaceAllUsesWith(op->getOperand(0));
      op->erase();
      ++numCasts;
    });
    count(&getContext(), "tg-widen-floats.casts-dropped", numCasts);
  }
};

} // namespace
} // namespace gcompile
