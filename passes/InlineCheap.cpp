//===- InlineCheap.cpp - compute what costs less than to load -------------===//
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/SetVector.h"

namespace gcompile {
#define GEN_PASS_DEF_INLINECHEAPPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

/// Bodies beyond this are not copied into readers.
constexpr size_t kMaxBodyOps = 32;

bool isWorthInlining(linalg::GenericOp op) {
  if (!isPointwise(op) || op.getNumResults() != 1 ||
      op.getBody()->getOperations().size() > kMaxBodyOps ||
      bodyWork(op).second > 0)
    return false;
  for (Operation &inner : *op.getBody())
    if (inner.getNumRegions() > 0 ||
        isa<linalg::IndexOp, tensor::ExtractOp>(inner))
      return false;
  llvm::SmallSetVector<Value, 4> inputs;
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.payloadUsesValueFromOperand(input))
      inputs.insert(baseOf(input->get()));
  int64_t bytes = 0;
  for (Value input : inputs)
    bytes += numBytes(input.getType());
  return bytes < numBytes(op.getResult(0).getType());
}

/// Replaces the input `use` of a generic by the inputs of its producer.
void inlineInto(linalg::GenericOp producer, OpOperand &use) {
  auto reader = cast<linalg::GenericOp>(use.getOwner());
  SmallVector<int64_t> loops = reader.getStaticLoopRanges();
  AffineMap at = reader.getMatchingIndexingMap(&use);
  BlockArgument replaced = reader.getMatchingBlockArgument(&use);
  Block &body = *reader.getBody();

  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *input : reader.getDpsInputOperands()) {
    inputs.push_back(input->get());
    maps.push_back(reader.getMatchingIndexingMap(input));
  }
  IRMapping mapping;
  for (OpOperand *input : producer.getDpsInputOperands()) {
    BlockArgument inside = producer.getMatchingBlockArgument(input);
    if (inside.use_empty())
      continue;
    AffineMap map = simplifyInRange(
        producer.getMatchingIndexingMap(input).compose(at), loops);
    AffineMap spelled = guardedMap(
        map, loops, cast<RankedTensorType>(input->get().getType()).getShape());
    // The reader may read the same element already.
    unsigned number = 0;
    while (number < inputs.size() &&
           (inputs[number] != input->get() || maps[number] != spelled))
      ++number;
    if (number == inputs.size()) {
      inputs.push_back(input->get());
      maps.push_back(spelled);
      body.insertArgument(number, inside.getType(), inside.getLoc());
    }
    mapping.map(inside, body.getArgument(number));
  }
  OpBuilder builder = OpBuilder::atBlockBegin(&body);
  for (Operation &op : producer.getBody()->without_terminator())
    builder.clone(op, mapping);
  replaced.replaceAllUsesWith(mapping.lookupOrDefault(
      producer.getBody()->getTerminator()->getOperand(0)));
  unsigned number = replaced.getArgNumber();
  body.eraseArgument(number);
  inputs.erase(inputs.begin() + number);
  maps.erase(maps.begin() + number);
  setInputs(reader, inputs, maps, loops);
}

/// A use of `value` as an input of a generic, or null.
OpOperand *readByLoop(Value value) {
  for (OpOperand &use : value.getUses())
    if (auto reader = dyn_cast<linalg::GenericOp>(use.getOwner());
        reader && reader.isDpsInput(&use))
      return &use;
  return nullptr;
}

class InlineCheapPass : public impl::InlineCheapPassBase<InlineCheapPass> {
  void runOnOperation() override {
    SmallVector<linalg::GenericOp> producers;
    getOperation().walk<WalkOrder::PreOrder>(
        [&](linalg::GenericOp op) { producers.push_back(op); });
    // In program order: what a producer took in goes along to its readers.
    for (linalg::GenericOp producer : producers) {
      if (!isWorthInlining(producer))
        continue;
      // Each round changes the operands of a reader, hence the list of uses.
      while (OpOperand *use = readByLoop(producer.getResult(0))) {
        inlineInto(producer, *use);
        count(&getContext(), "tg-inline-cheap.inlined");
      }
      if (producer.use_empty())
        producer.erase();
    }
  }
};

} // namespace
} // namespace gcompile
