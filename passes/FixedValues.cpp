//===- FixedValues.cpp - what depends on weights alone --------------------===//
#include "FixedValues.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace gcompile {

static StringRef stringAttr(DictionaryAttr attrs, StringRef name) {
  auto attr = attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
  return attr ? attr.getValue() : StringRef();
}

SmallVector<Value> capturedValues(Operation *op) {
  llvm::SetVector<Value> captured;
  getUsedValuesDefinedAbove(op->getRegions(), captured);
  return SmallVector<Value>(captured.begin(), captured.end());
}

SmallVector<BlockArgument> weightArguments(func::FuncOp forward) {
  llvm::StringSet<> mutatedNames;
  for (unsigned i = 0; i < forward.getNumResults(); ++i) {
    DictionaryAttr attrs = forward.getResultAttrDict(i);
    StringRef kind = stringAttr(attrs, "aten.kind");
    if (kind == "buffer_mutation" || kind == "parameter_mutation")
      mutatedNames.insert(stringAttr(attrs, "aten.name"));
  }
  SmallVector<BlockArgument> weights;
  for (BlockArgument argument : forward.getArguments()) {
    DictionaryAttr attrs = forward.getArgAttrDict(argument.getArgNumber());
    StringRef kind = stringAttr(attrs, "aten.kind");
    bool isWeight = kind == "parameter" || kind == "buffer" ||
                    kind == "constant" || kind == "prepared";
    if (isWeight && !mutatedNames.contains(stringAttr(attrs, "aten.name")))
      weights.push_back(argument);
  }
  return weights;
}

FixedValues::FixedValues(func::FuncOp forward) {
  for (BlockArgument weight : weightArguments(forward))
    values.insert(weight);
  for (Operation &op : forward.getBody().front())
    add(&op);
}

bool FixedValues::add(Operation *op) {
  bool isKnown = isa<linalg::GenericOp, tg::ViewOp, linalg::FillOp,
                     tensor::EmptyOp, arith::ConstantOp>(op) ||
                 (tg::isStructuredOp(op) && !isa<tg::RandomOp>(op));
  auto isFixed = [&](Value value) { return contains(value); };
  if (!isKnown || !llvm::all_of(op->getOperands(), isFixed) ||
      !llvm::all_of(capturedValues(op), isFixed))
    return false;
  values.insert(op->result_begin(), op->result_end());
  return true;
}

} // namespace gcompile
