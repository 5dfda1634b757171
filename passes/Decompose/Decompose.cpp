//===- Decompose.cpp - composite operators in terms of simpler ones -------===//
// Replaces each aten.call that has a decomposition, and what the decomposition
// is made of, until only operators that tg-legalize lowers are left.
#include "Decompose.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/passes/Passes.h"

using namespace mlir;

namespace gcompile {
#define GEN_PASS_DEF_DECOMPOSEPASS
#include "gcompile/passes/Passes.h.inc"

//===----------------------------------------------------------------------===//
// DecompositionBuilder
//===----------------------------------------------------------------------===//

Type computeType(Type type) {
  return type.isF16() || type.isBF16() ? Float32Type::get(type.getContext())
                                       : type;
}

Value DecompositionBuilder::scalar(double value, Type dtype) {
  return full({}, value, dtype);
}

Value DecompositionBuilder::full(Dims sizes, double value, Type dtype) {
  return call("aten.full.default", {aten::Arg(sizes), value},
              {{"dtype", dtype}});
}

Value DecompositionBuilder::sum(Value x, Dims dims, bool keepDim) {
  return call("aten.sum.dim_IntList", {x, aten::Arg(dims), keepDim});
}

Value DecompositionBuilder::mean(Value x, Dims dims, bool keepDim) {
  return call("aten.mean.dim", {x, aten::Arg(dims), keepDim});
}

Value DecompositionBuilder::amax(Value x, Dims dims, bool keepDim) {
  return call("aten.amax.default", {x, aten::Arg(dims), keepDim});
}

Value DecompositionBuilder::cast(Value x, Type dtype) {
  if (tensorType(x).getElementType() == dtype)
    return x;
  return call("aten._to_copy.default", {x}, {{"dtype", dtype}});
}

Value DecompositionBuilder::view(Value x, Dims sizes) {
  if (tensorType(x).getShape() == sizes)
    return x;
  return call("aten.view.default", {x, aten::Arg(sizes)});
}

Value DecompositionBuilder::expand(Value x, Dims sizes) {
  if (tensorType(x).getShape() == sizes)
    return x;
  return call("aten.expand.default", {x, aten::Arg(sizes)});
}

Value DecompositionBuilder::permute(Value x, Dims dims) {
  return call("aten.permute.default", {x, aten::Arg(dims)});
}

Value DecompositionBuilder::transposeLast(Value x) {
  auto dims = llvm::to_vector(llvm::seq<int64_t>(0, tensorType(x).getRank()));
  std::swap(dims[dims.size() - 1], dims[dims.size() - 2]);
  return permute(x, dims);
}

Value DecompositionBuilder::stack(ArrayRef<Value> parts, int64_t dim) {
  SmallVector<Value> unsqueezed;
  for (Value part : parts)
    unsqueezed.push_back(unsqueeze(part, dim));
  return cat(unsqueezed, dim);
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

namespace {

const DecompositionTable &decompositions() {
  static const DecompositionTable table = [] {
    DecompositionTable t;
    addContractionDecompositions(t);
    addNormDecompositions(t);
    addSoftmaxDecompositions(t);
    addBackwardDecompositions(t);
    addRecurrentDecompositions(t);
    addShapeDecompositions(t);
    addPointwiseDecompositions(t);
    return t;
  }();
  return table;
}

struct DecomposePass : impl::DecomposePassBase<DecomposePass> {
  void runOnOperation() override {
    SmallVector<aten::CallOp> worklist;
    getOperation().walk([&](aten::CallOp op) { worklist.push_back(op); });
    bool failed = false;
    int64_t numDecomposed = 0;
    while (!worklist.empty()) {
      aten::CallOp op = worklist.pop_back_val();
      auto found = decompositions().find(op.getCallee());
      if (found == decompositions().end())
        continue;
      // Users come later in the program, so they have been visited: a dead call
      // is dead for good.
      if (isOpTriviallyDead(op)) {
        op.erase();
        continue;
      }
      OpBuilder builder(op);
      NewCalls newCalls;
      builder.setListener(&newCalls);
      DecompositionBuilder decomposition(builder, op.getLoc());
      auto values = found->second(aten::Call(op), decomposition);
      if (mlir::failed(values)) {
        failed = true;
        continue;
      }
      if (!replace(op, *values)) {
        failed = true;
        continue;
      }
      // Last first, so that uses are visited before definitions.
      llvm::append_range(worklist, newCalls.ops);
      ++numDecomposed;
    }
    count(&getContext(), "tg-decompose.decomposed", numDecomposed);
    if (failed)
      signalPassFailure();
  }

private:
  struct NewCalls : OpBuilder::Listener {
    void notifyOperationInserted(Operation *op,
                                 OpBuilder::InsertPoint) override {
      if (auto call = dyn_cast<aten::CallOp>(op))
        ops.push_back(call);
    }
    SmallVector<aten::CallOp> ops;
  };

  /// Checks each value against the result it replaces.
  bool replace(aten::CallOp op, ArrayRef<Value> values) {
    for (auto [result, value] : llvm::zip_equal(op.getResults(), values)) {
      if (!value) {
        if (result.use_empty())
          continue;
        op.emitError("result ")
            << result.getResultNumber() << " of " << op.getCallee()
            << " is not supported where it is used";
        return false;
      }
      if (value.getType() != result.getType()) {
        op.emitError("internal error: decomposition of ")
            << op.getCallee() << " gives " << value.getType() << ", expected "
            << result.getType();
        return false;
      }
      result.replaceAllUsesWith(value);
    }
    op.erase();
    return true;
  }
};

} // namespace
} // namespace gcompile
