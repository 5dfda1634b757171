//===- PlanBuilder.h - kernel programs to plans ---------------------------===//
// Two walks over each block. The first, backwards, gives every value a buffer:
// a value that may take over the memory of an operand (a scatter's base, the
// element that a pointwise kernel overwrites), or be computed right where it is
// wanted (an output, a state, a loop-carried value), shares that buffer. The
// second, forwards, makes the steps. Copies appear where sharing failed. Last,
// live ranges are read off the steps and the arena is planned.
#pragma once
#include "KernelEmitter.h"
#include "gcompile/codegen/BuildPlan.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "llvm/ADT/StringMap.h"

namespace gcompile {

inline mlir::RankedTensorType tensorType(mlir::Value value) {
  return mlir::cast<mlir::RankedTensorType>(value.getType());
}
std::vector<int64_t> sizesOf(mlir::RankedTensorType type);
mlir::FailureOr<DType> dtypeOf(mlir::Type type, bool isUnsigned = false);

class PlanBuilder {
public:
  PlanBuilder(mlir::ModuleOp module, const TargetOptions &options);
  mlir::FailureOr<plan::Plan> build();

private:
  // Buffers.
  /// `attrs` are those of the argument or result that the buffer is.
  mlir::FailureOr<int64_t> addBuffer(mlir::RankedTensorType type,
                                     mlir::Location loc, plan::BufferKind kind,
                                     std::string name,
                                     mlir::DictionaryAttr attrs = {});
  mlir::FailureOr<int64_t> addBuffer(mlir::Value value, plan::BufferKind kind,
                                     std::string name,
                                     mlir::DictionaryAttr attrs = {}) {
    return addBuffer(tensorType(value), value.getLoc(), kind, std::move(name),
                     attrs);
  }
  mlir::FailureOr<int64_t> addConstant(mlir::DenseElementsAttr elements,
                                       mlir::Location loc, std::string name);
  mlir::FailureOr<int64_t> arenaBuffer(mlir::Value value);
  mlir::FailureOr<int64_t> argumentBuffer(mlir::BlockArgument argument,
                                          mlir::DictionaryAttr attrs);
  mlir::LogicalResult bindArguments(mlir::func::FuncOp func);
  mlir::LogicalResult bindReturns(mlir::func::FuncOp func);
  mlir::LogicalResult assignBlock(mlir::Block &block);
  mlir::LogicalResult assignOp(mlir::Operation &op);
  mlir::LogicalResult assignKernel(tg::KernelOp kernel);
  mlir::LogicalResult assignWhile(tg::WhileOp op);
  void wantYields(mlir::Block &block, mlir::ValueRange targets);
  void tryOperandInPlace(tg::KernelOp kernel, unsigned operand,
                         mlir::Value result);
  bool canOverwrite(mlir::Value old, mlir::OpResult value);
  bool mayTakeOver(const loops::KernelParts &parts, unsigned operand,
                   unsigned result) const;

  // Steps.
  using Steps = std::vector<plan::Step>;
  /// Where the results of an anchor are written.
  struct Targets {
    mlir::SmallVector<plan::TensorRef, 2> refs;
    /// All that the epilogue would do is to move the elements there.
    bool replaceEpilogue = false;
  };
  mlir::LogicalResult emitBlock(mlir::Block &block, Steps &steps);
  mlir::LogicalResult emitKernel(tg::KernelOp kernel, Steps &steps);
  mlir::LogicalResult emitCond(tg::CondOp op, Steps &steps);
  mlir::LogicalResult emitWhile(tg::WhileOp op, Steps &steps);
  void emitReturns(Steps &steps);
  plan::Step describe(tg::KernelOp kernel) const;
  mlir::FailureOr<Targets> anchorTargets(tg::KernelOp kernel,
                                         const loops::KernelParts &parts);
  mlir::LogicalResult emitLibrary(tg::KernelOp kernel, const Targets &targets,
                                  plan::Step &step);
  mlir::LogicalResult emitScatter(tg::KernelOp kernel,
                                  const loops::LoopPart &part,
                                  const Targets &targets, plan::Step &step);
  mlir::SmallVector<int64_t> inputsOf(tg::KernelOp kernel,
                                      const loops::LoopPart &part,
                                      const Targets &targets) const;
  mlir::LogicalResult emitLaunch(const loops::LoopPart &part,
                                 mlir::StringRef name,
                                 mlir::ArrayRef<int64_t> inputs,
                                 mlir::ArrayRef<int64_t> outputs,
                                 plan::Step &step);
  mlir::FailureOr<plan::TensorRef> viewOf(tg::KernelOp kernel,
                                          mlir::Value value);
  mlir::FailureOr<plan::TensorRef> splatOf(tg::KernelOp kernel,
                                           mlir::Attribute scalar,
                                           mlir::RankedTensorType type);
  plan::TensorRef wholeOf(int64_t buffer) const;
  void emitCopy(int64_t source, int64_t target, mlir::StringRef name,
                Steps &steps);
  void emitParallelCopies(mlir::ArrayRef<std::pair<int64_t, int64_t>> copies,
                          mlir::StringRef name, Steps &steps);

  // Arena.
  struct Loop {
    int64_t begin, end; // steps
  };
  void visitSteps(const Steps &steps, int64_t &next,
                  mlir::SmallVectorImpl<Loop> &loops);
  void touch(int64_t buffer, int64_t step, mlir::ArrayRef<Loop> loops);
  mlir::LogicalResult planEntry(plan::Entry &entry, size_t firstBuffer);

  int64_t numBytes(int64_t buffer) const {
    return plan.buffers[buffer].numBytes;
  }

  mlir::ModuleOp module;
  plan::Plan plan;
  loops::KernelAnalysis analysis;
  std::unique_ptr<KernelEmitter> emitter;
  llvm::DenseMap<mlir::Value, int64_t> bufferOf;
  /// Number of while loops around the definition of a buffer.
  mlir::SmallVector<unsigned> loopDepths;
  unsigned loopDepth = 0;
  llvm::StringMap<int64_t> weights, prepared;
  /// Mutations of @forward: source value and target argument.
  mlir::SmallVector<std::pair<mlir::Value, mlir::BlockArgument>> mutations;
  mlir::SmallVector<std::pair<mlir::Value, int64_t>> outputs;
};

} // namespace gcompile
