//===- Decompose.h - composite operators in terms of simpler ones ---------===//
#pragma once
#include "gcompile/ir/AtenBuilder.h"

#include "llvm/ADT/StringMap.h"

namespace gcompile {

/// AtenBuilder with names for what decompositions are written in, so that they
/// read like the formulas they are. Shapes broadcast and dtypes promote as in
/// PyTorch.
class DecompositionBuilder : public aten::AtenBuilder {
public:
  using AtenBuilder::AtenBuilder;
  using Value = mlir::Value;
  using Dims = llvm::ArrayRef<int64_t>;

  Value add(Value x, Value y) { return call("aten.add.Tensor", {x, y}); }
  Value sub(Value x, Value y) { return call("aten.sub.Tensor", {x, y}); }
  Value mul(Value x, Value y) { return call("aten.mul.Tensor", {x, y}); }
  Value div(Value x, Value y) { return call("aten.div.Tensor", {x, y}); }
  Value add(Value x, double y) { return call("aten.add.Scalar", {x, y}); }
  Value sub(Value x, double y) { return call("aten.sub.Scalar", {x, y}); }
  Value mul(Value x, double y) { return call("aten.mul.Scalar", {x, y}); }
  Value div(Value x, double y) { return call("aten.div.Scalar", {x, y}); }
  /// y - x.
  Value rsub(Value x, double y) { return add(neg(x), y); }
  Value neg(Value x) { return call("aten.neg.default", {x}); }
  Value exp(Value x) { return call("aten.exp.default", {x}); }
  Value log(Value x) { return call("aten.log.default", {x}); }
  Value rsqrt(Value x) { return call("aten.rsqrt.default", {x}); }
  Value sqrt(Value x) { return call("aten.sqrt.default", {x}); }
  Value tanh(Value x) { return call("aten.tanh.default", {x}); }
  Value sigmoid(Value x) { return call("aten.sigmoid.default", {x}); }
  Value relu(Value x) { return call("aten.relu.default", {x}); }
  Value square(Value x) { return mul(x, x); }
  Value where(Value condition, Value x, Value y) {
    return call("aten.where.self", {condition, x, y});
  }
  Value scalar(double value, mlir::Type dtype);
  Value full(Dims sizes, double value, mlir::Type dtype);
  Value sum(Value x, Dims dims, bool keepDim);
  Value mean(Value x, Dims dims, bool keepDim);
  Value amax(Value x, Dims dims, bool keepDim);
  Value mm(Value x, Value y) { return call("aten.mm.default", {x, y}); }
  Value bmm(Value x, Value y) { return call("aten.bmm.default", {x, y}); }
  /// Itself where the dtype is already right.
  Value cast(Value x, mlir::Type dtype);
  Value view(Value x, Dims sizes);
  Value expand(Value x, Dims sizes);
  Value permute(Value x, Dims dims);
  Value transposeLast(Value x);
  Value unsqueeze(Value x, int64_t dim) {
    return call("aten.unsqueeze.default", {x, dim});
  }
  Value slice(Value x, int64_t dim, int64_t start, int64_t end) {
    return call("aten.slice.Tensor", {x, dim, start, end});
  }
  Value select(Value x, int64_t dim, int64_t index) {
    return call("aten.select.int", {x, dim, index});
  }
  Value cat(llvm::ArrayRef<Value> parts, int64_t dim) {
    return call("aten.cat.default", {aten::Arg(parts), dim});
  }
  Value stack(llvm::ArrayRef<Value> parts, int64_t dim);
};

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return llvm::cast<mlir::RankedTensorType>(value.getType());
}
/// float32 for half precision, else the type itself: what sums and
/// transcendental functions are computed in.
mlir::Type computeType(mlir::Type type);

/// Gives the values of a call's results, or fails with a diagnostic at the
/// call. A null value stands for a result that nothing may use.
using Decomposition = mlir::FailureOr<llvm::SmallVector<mlir::Value>> (*)(
    const aten::Call &, DecompositionBuilder &);
using DecompositionTable = llvm::StringMap<Decomposition>;

// One function a file.
void addContractionDecompositions(DecompositionTable &table);
void addNormDecompositions(DecompositionTable &table);
void addSoftmaxDecompositions(DecompositionTable &table);
void addBackwardDecompositions(DecompositionTable &table);
void addRecurrentDecompositions(DecompositionTable &table);
void addShapeDecompositions(DecompositionTable &table);
void addPointwiseDecompositions(DecompositionTable &table);

} // namespace gcompile
