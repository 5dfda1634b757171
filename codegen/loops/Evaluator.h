//===- Evaluator.h - scalar code for elements of tensors ------------------===//
// Emits the code that computes one element of a tensor at an index, on demand:
// views are composed into the index, pointwise generics are computed where they
// are read, tensors in memory are loaded. Indices stay affine expressions over
// the loops as long as they can, so that addresses become sums of strides.
#pragma once
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"

namespace gcompile::loops {

/// One element of a tensor: its index as a map over the loops and, after them,
/// the indices that were computed (read from memory).
using Element = std::pair<mlir::Value, mlir::AffineMap>;

class Evaluator {
public:
  /// `dims` are the loop indices where they are known already.
  Evaluator(mlir::OpBuilder &builder, mlir::ArrayRef<int64_t> loopSizes);
  virtual ~Evaluator() = default;

protected:
  //===--- What the evaluation asks of its surroundings -------------------===//
  /// Pointer to the first element of a tensor in memory; null if it is
  /// computed.
  virtual mlir::Value pointerOf(mlir::Value tensor) = 0;
  virtual mlir::Value loadElement(mlir::Value pointer,
                                  mlir::AffineExpr position, mlir::Type type) {
    return load(pointer, emitIndex(position), type);
  }
  /// The result of a reduction for the current parallel iteration.
  virtual mlir::Value readReduction(mlir::OpResult result) = 0;
  /// The value of an element that an earlier stage kept; null if it did not.
  virtual mlir::Value recall(const Element &element) { return {}; }
  /// Called for each demand, and around the first computation in a scope.
  virtual void onDemand(const Element &element) {}
  virtual void onCompute(const Element &element) {}
  virtual void onComputed(const Element &element, mlir::Value value) {}
  virtual void onLoad(mlir::Value tensor, mlir::AffineExpr position) {}
  virtual void onIndex(mlir::AffineExpr index) {}
  virtual void onOperation(mlir::Operation *op) {}

  //===--- Evaluation -----------------------------------------------------===//
  mlir::Value evaluate(mlir::Value tensor, mlir::ArrayRef<mlir::AffineExpr> at);
  mlir::Value evaluate(mlir::Value tensor, mlir::AffineMap at) {
    return evaluate(tensor, at.getResults());
  }
  /// Runs the body of a generic or a scatter once: `loops` are its loop
  /// indices, `argument` gives its block arguments. Returns what it yields.
  mlir::SmallVector<mlir::Value>
  emitBody(mlir::Block &block, mlir::ArrayRef<mlir::AffineExpr> loops,
           llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument);
  /// Runs the body of `op` with the given values of its outputs; returns what
  /// it yields.
  mlir::SmallVector<mlir::Value>
  emitGeneric(mlir::linalg::GenericOp op, mlir::ArrayRef<mlir::AffineExpr> at,
              mlir::ValueRange outputs);
  /// One element of a scatter on its way.
  struct ScatterPoint {
    mlir::AffineMap place;
    mlir::Value isWanted; ///< null: always
    mlir::Value update;
  };
  ScatterPoint emitScatterPoint(tg::ScatterOp op, mlir::AffineMap at);
  mlir::Value emitIndex(mlir::AffineExpr expr);
  mlir::Value constantIndex(int64_t value);

  /// Bool is a byte of 0 or 1, bfloat16 an integer of its bits.
  mlir::Type memoryType(mlir::Type elementType) const;
  mlir::Value load(mlir::Value pointer, mlir::Value position, mlir::Type type);
  void store(mlir::Value value, mlir::Value pointer, mlir::Value position);
  /// What the reduction `op` makes of two partial results, `mine` and `theirs`.
  /// Ask canMerge() first.
  mlir::SmallVector<mlir::Value> emitMerge(mlir::linalg::GenericOp op,
                                           mlir::ValueRange mine,
                                           mlir::ValueRange theirs);

  mlir::AffineExpr simplify(mlir::AffineExpr expr) const {
    return simplifyInRange(expr, dimSizes);
  }
  mlir::AffineMap simplify(mlir::AffineMap map) const;
  void fail(mlir::Operation *op, const llvm::Twine &message);

  /// Values computed inside a scope are forgotten at its end.
  class Scope {
  public:
    explicit Scope(Evaluator &evaluator) : evaluator(evaluator) {
      evaluator.scopes.emplace_back();
    }
    ~Scope() { evaluator.scopes.pop_back(); }
    Scope(const Scope &) = delete;

  private:
    Evaluator &evaluator;
  };

  mlir::OpBuilder &builder;
  mlir::MLIRContext *context;
  mlir::Location loc;
  /// One a loop, then one a computed index.
  mlir::SmallVector<mlir::Value> dims;
  mlir::SmallVector<int64_t> dimSizes;
  unsigned numLoops;
  /// Number of branches around the current point.
  unsigned branchDepth = 0;
  bool hasFailed = false;

private:
  struct Body {
    mlir::ArrayRef<mlir::AffineExpr> loops;
    llvm::function_ref<mlir::Value(mlir::BlockArgument)> argument;
    mlir::IRMapping locals;
  };
  struct Memo {
    llvm::DenseMap<Element, mlir::Value> elements;
    llvm::DenseMap<mlir::AffineExpr, mlir::Value> indices;
  };

  mlir::Value compute(const Element &element);
  void emitOp(mlir::Operation &op, Body &body);
  void emitIf(mlir::Operation &op, Body &body);
  void emitFor(mlir::scf::ForOp op, Body &body);
  void emitWidened(mlir::Operation &op, Body &body);
  mlir::Value operand(mlir::Value value, Body &body);
  mlir::AffineExpr indexOf(mlir::Value value, int64_t size, Body &body);
  std::optional<mlir::AffineExpr> affineIndex(mlir::Value value, Body &body);
  mlir::Value zero(mlir::Type type);

  llvm::SmallVector<Memo, 4> scopes;
  llvm::DenseMap<mlir::Value, unsigned> computedDims;
};

/// True where the partial results of a reduction, each begun with the initial
/// values, can be merged: every result is a select or an operation of its
/// accumulator and a candidate that no accumulator has a part in, and the
/// initial value changes nothing.
bool canMerge(mlir::linalg::GenericOp op);

} // namespace gcompile::loops
