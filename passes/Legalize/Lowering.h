//===- Lowering.h - what lowerings of aten operators are written with -----===//
// A lowering reads one aten.call and builds its results in the tensor program.
// The files `*Lowering.cpp` have one for each core operator, by family.
#pragma once
#include "Scalar.h"

#include "gcompile/ir/OperatorTable.h"
#include "gcompile/ir/Tg.h"

#include "mlir/IR/AffineMap.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/StringMap.h"

#include <functional>

namespace gcompile::legalize {

using Sizes = llvm::ArrayRef<int64_t>;
using SizeVector = llvm::SmallVector<int64_t>;

/// What a lowering gives: a tensor for each result, null where nobody reads it,
/// or failure with a diagnostic.
class Lowered {
public:
  Lowered(Tensor tensor) : tensors(llvm::SmallVector<Tensor>{tensor}) {}
  Lowered(llvm::SmallVector<Tensor> tensors) : tensors(std::move(tensors)) {}
  Lowered(mlir::InFlightDiagnostic &&) : tensors(mlir::failure()) {}
  Lowered(mlir::LogicalResult) : tensors(mlir::failure()) {}

  mlir::FailureOr<llvm::SmallVector<Tensor>> tensors;
};

/// A tensor as a loop reads it: at `map` of the loop indices, or, without a
/// map, broadcast as PyTorch does.
struct Read {
  Read(Tensor tensor, mlir::AffineMap map = {}) : tensor(tensor), map(map) {}
  Tensor tensor;
  mlir::AffineMap map;
};

/// The loops of a reduction, outermost first.
struct Loops {
  SizeVector sizes;
  llvm::SmallVector<unsigned> reduced; ///< which of them are reduced, ascending
};

class LoweringBuilder {
public:
  using BodyFn = llvm::function_ref<Scalar(LoopBody &, llvm::ArrayRef<Scalar>)>;

  LoweringBuilder(mlir::OpBuilder &builder, mlir::Location loc,
                  const mlir::IRMapping &values, int64_t &numRandomStreams)
      : builder(builder), loc(loc), context(builder.getContext()),
        values(values), numRandomStreams(numRandomStreams) {}

  mlir::OpBuilder &builder;
  mlir::Location loc;
  mlir::MLIRContext *context;

  //===--------------------------------------------------------------------===//
  // Values
  //===--------------------------------------------------------------------===//

  /// What stands for a value of the aten program: a scalar is a 0-d tensor.
  /// Null for null.
  Tensor tensor(mlir::Value aten) const;
  llvm::SmallVector<Tensor> tensors(llvm::ArrayRef<mlir::Value> aten) const;
  mlir::RankedTensorType type(Sizes shape, mlir::Type element) const;
  mlir::Value empty(Sizes shape, mlir::Type element);
  Tensor wrap(mlir::Value value, mlir::Type element) const {
    return {value, element};
  }
  /// A new number for tg.random.
  int64_t nextRandomStream() { return numRandomStreams++; }

  //===--------------------------------------------------------------------===//
  // Loops
  //===--------------------------------------------------------------------===//

  /// One element computed by `body` at each index of `shape`. The result of the
  /// body is converted to `element`; a narrowing may be elided.
  Tensor pointwise(Sizes shape, mlir::Type element, llvm::ArrayRef<Read> inputs,
                   BodyFn body);
  Tensor full(Sizes shape, mlir::Type element, double value);
  /// Converts as the user asked for; a narrowing stays.
  Tensor cast(Tensor x, mlir::Type element);
  /// Stores a wide result in PyTorch's type; a narrowing may be elided.
  Tensor narrow(Tensor x, mlir::Type element);
  /// Widens half precision.
  Tensor widen(Tensor x) { return cast(x, computeType(x.element)); }

  /// Combines by `kind` the terms that `body` computes, over the reduced loops;
  /// the result has the other loops as dimensions. `element` is the type of the
  /// terms and of the sum, no half precision.
  Tensor reduce(tg::ReduceKind kind, mlir::Type element, const Loops &loops,
                llvm::ArrayRef<Read> inputs, BodyFn body);
  /// Reduces dimensions of `x` as they are.
  Tensor reduce(tg::ReduceKind kind, Tensor x, llvm::ArrayRef<unsigned> dims);

  /// What `argReduce`'s body gives for one point.
  struct Candidate {
    Scalar value;
    Scalar position; ///< i64; the smaller one wins a tie
    Scalar isValid;  ///< may be null: always
  };
  /// The largest (smallest) value over the reduced loops and its position. NaN
  /// beats every number.
  std::pair<Tensor, Tensor> argReduce(
      bool largest, mlir::Type element, const Loops &loops,
      llvm::ArrayRef<Read> inputs,
      llvm::function_ref<Candidate(LoopBody &, llvm::ArrayRef<Scalar>)> body);

  //===--------------------------------------------------------------------===//
  // Scatters and scans
  //===--------------------------------------------------------------------===//

  /// What one point of a scatter does.
  struct Write {
    llvm::SmallVector<Scalar> places; ///< outside the base: nothing is written
    Scalar value;
    Scalar condition; ///< may be null: always
  };
  /// Combines one value for each point of `domain` into `base`. Inputs are read
  /// at the point without a map. Sums and products run in the compute type, of
  /// bools they are `or` and `and`.
  Tensor
  scatter(tg::ReduceKind kind, Tensor base, Sizes domain,
          llvm::ArrayRef<Read> inputs,
          llvm::function_ref<Write(LoopBody &, llvm::ArrayRef<Scalar>)> body);
  /// Running reduction in the type of `x`.
  Tensor scan(tg::ReduceKind kind, Tensor x, int64_t dim);

  //===--------------------------------------------------------------------===//
  // Views
  //===--------------------------------------------------------------------===//

  mlir::AffineExpr dim(unsigned i) const;
  mlir::AffineExpr constant(int64_t value) const;
  mlir::AffineMap identityMap(unsigned rank) const;
  Tensor view(Tensor x, Sizes shape, mlir::AffineMap map);
  /// One expression over the result's dimensions for each dimension of `x`.
  Tensor view(Tensor x, Sizes shape, llvm::ArrayRef<mlir::AffineExpr> places);
  Tensor reshape(Tensor x, Sizes shape);
  Tensor permute(Tensor x, Sizes order);
  Tensor transpose(Tensor x, int64_t i, int64_t j);
  /// Elements start, start + step, ... of dimension `dim`, `size` of them.
  Tensor slice(Tensor x, int64_t dim, int64_t start, int64_t size,
               int64_t step = 1);
  Tensor select(Tensor x, int64_t dim, int64_t index);
  Tensor unsqueeze(Tensor x, int64_t dim);
  Tensor squeeze(Tensor x, int64_t dim);
  /// A 0-d tensor as a vector of one; others as they are.
  Tensor atLeast1d(Tensor x) { return x.rank() ? x : unsqueeze(x, 0); }
  Tensor expand(Tensor x, Sizes shape);
  /// Fills with `value` around `x`; a negative width cuts off.
  Tensor pad(Tensor x, Sizes before, Sizes after, double value);

private:
  mlir::AffineMap broadcastMap(Sizes from, Sizes to) const;
  const mlir::IRMapping &values;
  int64_t &numRandomStreams;
};

/// The term that a reduction leaves as it is: 0, 1, -inf or inf.
mlir::TypedAttr identityOf(tg::ReduceKind kind, mlir::Type element);

using Lowering = std::function<Lowered(const aten::Call &, LoweringBuilder &)>;

/// All lowerings, by overload.
using Registry = llvm::StringMap<Lowering>;

void addPointwiseLowerings(Registry &registry);
void addReductionLowerings(Registry &registry);
void addViewLowerings(Registry &registry);
void addIndexingLowerings(Registry &registry);
void addScatterLowerings(Registry &registry);
void addSegmentLowerings(Registry &registry);
void addCreationLowerings(Registry &registry);
void addMatmulLowerings(Registry &registry);
void addConvolutionLowerings(Registry &registry);
void addPoolingLowerings(Registry &registry);
void addResamplingLowerings(Registry &registry);
void addOrderLowerings(Registry &registry);
void addAttentionLowerings(Registry &registry);

//===----------------------------------------------------------------------===//
// Reading calls
//===----------------------------------------------------------------------===//

/// The type recorded for a result, and its parts.
inline mlir::RankedTensorType resultType(const aten::Call &call,
                                         unsigned index = 0) {
  return mlir::cast<mlir::RankedTensorType>(
      call.op->getResult(index).getType());
}
inline Sizes resultShape(const aten::Call &call, unsigned index = 0) {
  return resultType(call, index).getShape();
}
inline mlir::Type resultElement(const aten::Call &call, unsigned index = 0) {
  return resultType(call, index).getElementType();
}
inline bool isUsed(const aten::Call &call, unsigned index) {
  return !call.op->getResult(index).use_empty();
}

/// A diagnostic for a form of the operator that has no lowering.
mlir::InFlightDiagnostic unsupported(const aten::Call &call);

/// Counts negative dimensions from the end; a 0-d tensor has one.
SizeVector normalizeDims(Sizes dims, int64_t rank);

} // namespace gcompile::legalize
