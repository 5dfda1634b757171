//===- CudaEmitter.cpp - loop nests as CUDA kernels -----------------------===//
// Three shapes of code, by the schedule:
//   pointwise:  a thread computes `vector` neighbours along the last loop;
//   rows:       `threads` threads share a parallel iteration; each takes
//               `vector` neighbours of the reduction, every `threads` vectors;
//   columns:    as rows, but neighbouring threads take neighbouring parallel
//               iterations, and a thread one element of the reduction at a
//               time.
// Partial results of the threads, and of blocks that split a reduction, are
// merged by functions of gcompile.cuh. What several stages read stays in
// registers where the schedule says so.
#include "CudaEmitter.h"
#include "CudaPrinter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace gcompile::cuda {
namespace {

using namespace loops;
using Shape = Schedule::Shape;

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

/// The C++ type of an element in memory: a bool is a byte.
std::string memoryName(Type type) {
  return type.isInteger(1) ? "u8" : elementType(type);
}

class CudaEmitter : public Evaluator {
public:
  CudaEmitter(const CudaFunction &function, OpBuilder &builder)
      : Evaluator(builder, function.part->nest.sizes), function(function),
        schedule(function.schedule), kernel(function.part->kernel),
        nest(function.part->nest), facts(function.part->facts) {}

  FailureOr<CudaSource> emit();

private:
  //===--- Evaluator's surroundings ---------------------------------------===//
  Value pointerOf(Value tensor) override { return pointers.lookup(tensor); }
  Value loadElement(Value pointer, AffineExpr position, Type type) override;
  Value readReduction(OpResult result) override {
    return reduced.lookup(result);
  }
  Value recall(const Element &element) override;
  void onComputed(const Element &element, Value value) override;

  //===--- Small code -----------------------------------------------------===//
  Value literal(const Twine &text) {
    return builder.create<emitc::LiteralOp>(loc, builder.getIndexType(),
                                            text.str());
  }
  emitc::CallOpaqueOp call(const Twine &callee, TypeRange results,
                           ValueRange operands);
  Value named(Value value, StringRef hint);
  Value add(Value a, Value b) {
    return builder.create<arith::AddIOp>(loc, a, b);
  }
  Value multiply(Value a, int64_t b) {
    return b == 1 ? a : builder.create<arith::MulIOp>(loc, a, constantIndex(b));
  }
  Value isLess(Value a, Value b) {
    return builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::slt, a, b);
  }
  Value declare(const Twine &type, StringRef hint, int64_t size = 0);
  SmallVector<Value> delinearize(Value flat, ArrayRef<int64_t> sizes);
  SmallVector<Value>
  emitFor(Value begin, Value end, int64_t step, StringRef hint, bool unroll,
          ValueRange initial,
          function_ref<SmallVector<Value>(Value, ValueRange)> body);
  void emitIf(Value condition, function_ref<void()> body);

  //===--- Shapes ---------------------------------------------------------===//
  void addParameters();
  std::string describe() const;
  void emitPointwise();
  void emitScatterThreads();
  void emitReduction();
  void placeParallel();
  void emitStage(unsigned stage);
  SmallVector<Value> emitChunk(Value first, ValueRange carried, unsigned stage);
  SmallVector<Value> emitPoint(ValueRange carried, unsigned stage);
  SmallVector<Value> mergeThreads(unsigned stage, ValueRange partial);
  std::string addMergeStruct(unsigned stage, TypeRange types);
  void emitOuterRoots(unsigned stage);
  void emitScatter(tg::ScatterOp op, AffineMap at);

  //===--- Elements -------------------------------------------------------===//
  SmallVector<const LoopNest::Root *> rootsOf(unsigned stage, bool isInner,
                                              bool reductions) const;
  void loadVectors(unsigned phase, unsigned lane);
  void storeVectors(unsigned lane);
  void evaluateAndStore(ArrayRef<const LoopNest::Root *> roots);
  void storeElement(const LoopNest::Root &root, OpResult result, Value value);
  Value keptPosition();
  bool isVector(AffineExpr position, unsigned lane) const {
    return schedule.vector > 1 &&
           isVectorAccess(position, lane, schedule.vector, nest.sizes);
  }
  void trackPosition(AffineExpr position);

  const CudaFunction &function;
  const Schedule &schedule;
  const LoopKernel &kernel;
  const LoopNest &nest;
  const LoopFacts &facts;
  CudaSource source;
  ModuleOp module;
  func::FuncOp kernelFunction;
  llvm::DenseMap<Value, Value> pointers;
  llvm::DenseMap<Value, std::string> names; ///< of tensors in memory
  llvm::DenseMap<Value, Value> reduced;
  unsigned phase = 0;

  /// Vectors read before the loop over their lanes, by pointer and position.
  llvm::DenseMap<std::pair<Value, AffineExpr>, Value> vectors;
  /// Vectors written after it: pointer, position and variable.
  struct StoredVector {
    Value pointer;
    AffineExpr position;
    Value variable;
  };
  SmallVector<StoredVector> stored;
  Value laneIndex; ///< number in the vector; null outside the loop over lanes

  Value threadInGroup; ///< which of the threads of a parallel iteration
  Value isValid;       ///< the parallel iteration exists; null: all do
  Value chunk;         ///< number of the vector of this thread
  int64_t chunks = 1;
  struct Kept {
    Value array; ///< of elements, or of vectors
    bool isVector = false;
  };
  llvm::MapVector<Element, Kept> kept;
  llvm::DenseMap<std::pair<Value, AffineExpr>, Value> keptVectors;
};

//===----------------------------------------------------------------------===//
// Small code
//===----------------------------------------------------------------------===//

emitc::CallOpaqueOp CudaEmitter::call(const Twine &callee, TypeRange results,
                                      ValueRange operands) {
  return builder.create<emitc::CallOpaqueOp>(loc, results, callee.str(),
                                             operands);
}

Value CudaEmitter::named(Value value, StringRef hint) {
  if (Operation *def = value.getDefiningOp())
    def->setAttr("hint", builder.getStringAttr(hint));
  return value;
}

Value CudaEmitter::declare(const Twine &type, StringRef hint, int64_t size) {
  auto opaque = emitc::OpaqueType::get(context, type.str());
  auto op = call("declare", TypeRange{opaque}, {});
  op->setAttr("hint", builder.getStringAttr(hint));
  op->setAttr("type", builder.getStringAttr(type));
  if (size > 0)
    op->setAttr("size", builder.getStringAttr(Twine(size)));
  return op.getResult(0);
}

SmallVector<Value> CudaEmitter::delinearize(Value flat,
                                            ArrayRef<int64_t> sizes) {
  SmallVector<Value> indices(sizes.size());
  for (unsigned i = sizes.size(); i-- > 1;) {
    Value size = constantIndex(sizes[i]);
    indices[i] = builder.create<arith::RemUIOp>(loc, flat, size);
    flat = builder.create<arith::DivUIOp>(loc, flat, size);
  }
  if (!sizes.empty())
    indices[0] = flat;
  return indices;
}

SmallVector<Value>
CudaEmitter::emitFor(Value begin, Value end, int64_t step, StringRef hint,
                     bool unroll, ValueRange initial,
                     function_ref<SmallVector<Value>(Value, ValueRange)> body) {
  auto loop =
      builder.create<scf::ForOp>(loc, begin, end, constantIndex(step), initial);
  loop->setAttr("hint", builder.getStringAttr(hint));
  if (unroll)
    loop->setAttr("unroll", builder.getUnitAttr());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Scope scope(*this);
  SmallVector<Value> results =
      body(loop.getInductionVar(), loop.getRegionIterArgs());
  if (!initial.empty())
    builder.create<scf::YieldOp>(loc, results);
  return loop.getResults();
}

void CudaEmitter::emitIf(Value condition, function_ref<void()> body) {
  if (!condition)
    return body();
  auto op = builder.create<scf::IfOp>(loc, condition);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(op.thenBlock());
  Scope scope(*this);
  body();
}

//===----------------------------------------------------------------------===//
// Elements
//===----------------------------------------------------------------------===//

SmallVector<const LoopNest::Root *>
CudaEmitter::rootsOf(unsigned stage, bool isInner, bool reductions) const {
  SmallVector<const LoopNest::Root *> found;
  for (const LoopNest::Root &root : nest.roots)
    if (root.stage == stage && root.isInner == isInner &&
        isReduction(root.op) == reductions)
      found.push_back(&root);
  return found;
}

Value CudaEmitter::loadElement(Value pointer, AffineExpr position, Type type) {
  if (laneIndex)
    if (Value vector = vectors.lookup({pointer, position}))
      return call("lane", type, {vector, laneIndex}).getResult(0);
  return call("load", type, {pointer, emitIndex(position)}).getResult(0);
}

/// Reads the vectors of the elements that `phase` wants.
void CudaEmitter::loadVectors(unsigned phase, unsigned lane) {
  vectors.clear();
  if (schedule.vector == 1)
    return;
  for (const Access &load : facts.loads) {
    Value tensor = kernel.inputs[load.tensor];
    Value pointer = pointers.lookup(tensor);
    auto key = std::make_pair(pointer, load.position);
    if (load.phase != phase || load.inBranch || vectors.contains(key) ||
        !isVector(load.position, lane))
      continue;
    auto keptVector = keptVectors.find(key);
    std::string type = "Vec<" +
                       memoryName(tensorType(tensor).getElementType()) + ", " +
                       std::to_string(schedule.vector) + ">";
    auto op = call("load_vec", emitc::OpaqueType::get(context, type),
                   {pointer, emitIndex(load.position)});
    op->setAttr("count", builder.getStringAttr(Twine(schedule.vector)));
    vectors[key] = named(op.getResult(0), names[tensor] + "_vec");
    // Later stages find it in registers.
    Element element(tensor, load.index);
    if (!schedule.keeps || keptVector != keptVectors.end() ||
        !facts.kept.count(element))
      continue;
    Kept &entry = kept[element];
    call("set_at", {}, {entry.array, chunk, op.getResult(0)});
  }
}

Value CudaEmitter::recall(const Element &element) {
  auto found = kept.find(element);
  if (found == kept.end() || phase % 2 != 0 ||
      facts.kept.lookup(element) == phase)
    return {};
  Type type = tensorType(element.first).getElementType();
  const Kept &entry = found->second;
  if (!entry.isVector)
    return call("at", type, {entry.array, keptPosition()}).getResult(0);
  Value vector = call("at",
                      emitc::OpaqueType::get(
                          context, "Vec<" + memoryName(type) + ", " +
                                       std::to_string(schedule.vector) + ">"),
                      {entry.array, chunk})
                     .getResult(0);
  return call("lane", type, {vector, laneIndex}).getResult(0);
}

void CudaEmitter::onComputed(const Element &element, Value value) {
  auto found = kept.find(element);
  if (found == kept.end() || found->second.isVector || branchDepth > 0 ||
      facts.kept.lookup(element) != phase)
    return;
  call("set_at", {}, {found->second.array, keptPosition(), value});
}

Value CudaEmitter::keptPosition() {
  if (!laneIndex)
    return chunk;
  return add(multiply(chunk, schedule.vector), laneIndex);
}

void CudaEmitter::storeElement(const LoopNest::Root &root, OpResult result,
                               Value value) {
  AffineExpr position =
      simplify(linearize(simplify(LoopNest::resultIndex(root, result)),
                         tensorType(result).getShape()));
  for (auto [output, argument] :
       llvm::zip_equal(kernel.outputs, function.outputArguments)) {
    if (output != result)
      continue;
    Value pointer = kernelFunction.getArgument(argument);
    if (laneIndex) {
      auto *known = llvm::find_if(stored, [&](const StoredVector &vector) {
        return vector.pointer == pointer && vector.position == position;
      });
      if (known != stored.end()) {
        call("set_lane", {}, {known->variable, laneIndex, value});
        continue;
      }
    }
    call("store", {}, {pointer, emitIndex(position), value});
  }
}

/// Evaluates pointwise roots, then stores: a later root may read what an
/// earlier one overwrites in place.
void CudaEmitter::evaluateAndStore(ArrayRef<const LoopNest::Root *> roots) {
  SmallVector<std::tuple<const LoopNest::Root *, OpResult, Value>> values;
  for (const LoopNest::Root *root : roots)
    for (OpResult result : root->op->getResults())
      values.push_back(
          {root, result,
           evaluate(result, simplify(LoopNest::resultIndex(*root, result)))});
  for (auto &[root, result, value] : values)
    storeElement(*root, result, value);
}

/// Writes the vectors that the loop over lanes has filled.
void CudaEmitter::storeVectors(unsigned lane) {
  for (const StoredVector &vector : stored)
    call("store_vec", {},
         {vector.pointer, emitIndex(vector.position), vector.variable});
  stored.clear();
}

//===----------------------------------------------------------------------===//
// Pointwise
//===----------------------------------------------------------------------===//

void CudaEmitter::emitPointwise() {
  SmallVector<int64_t> sizes(nest.parallel());
  unsigned lane = sizes.empty() ? 0 : sizes.size() - 1;
  if (!sizes.empty())
    sizes[lane] /= schedule.vector;
  int64_t groups = product(sizes);
  source.gridBlocks = llvm::divideCeil(groups, schedule.iterations);
  Value group = named(add(multiply(literal("blockIdx.x"), schedule.iterations),
                          literal("threadIdx.x")),
                      "group");
  if (groups % schedule.iterations != 0)
    call("return_unless", {}, {isLess(group, constantIndex(groups))});
  for (auto [dim, index] : llvm::enumerate(delinearize(group, sizes)))
    dims[dim] = index;
  phase = LoopNest::phaseOf(0, true);
  SmallVector<const LoopNest::Root *> roots;
  for (const LoopNest::Root &root : nest.roots)
    roots.push_back(&root);
  // Without reduction loops, inner and outer are the same.
  if (schedule.vector == 1) {
    evaluateAndStore(roots);
    return;
  }
  Value first = named(multiply(dims[lane], schedule.vector), "first");
  dims[lane] = first;
  loadVectors(facts.stores.front().phase, lane);
  for (const Access &store : facts.stores) {
    Value tensor = kernel.outputs[store.tensor];
    Value variable =
        declare("Vec<" + memoryName(tensorType(tensor).getElementType()) +
                    ", " + Twine(schedule.vector) + ">",
                "out");
    stored.push_back(
        {kernelFunction.getArgument(function.outputArguments[store.tensor]),
         store.position, variable});
  }
  emitFor(constantIndex(0), constantIndex(schedule.vector), 1, "lane", true, {},
          [&](Value index, ValueRange) -> SmallVector<Value> {
            laneIndex = index;
            dims[lane] = add(first, index);
            evaluateAndStore(roots);
            return {};
          });
  laneIndex = {};
  dims[lane] = first;
  storeVectors(lane);
}

/// Points that meet in one place are combined by atomic operations.
void CudaEmitter::emitScatterThreads() {
  int64_t points = product(nest.sizes);
  source.gridBlocks = llvm::divideCeil(points, schedule.iterations);
  Value point = named(add(multiply(literal("blockIdx.x"), schedule.iterations),
                          literal("threadIdx.x")),
                      "point");
  if (points % schedule.iterations != 0)
    call("return_unless", {}, {isLess(point, constantIndex(points))});
  for (auto [dim, index] : llvm::enumerate(delinearize(point, nest.sizes)))
    dims[dim] = index;
  const LoopNest::Root &root = nest.roots.front();
  emitScatter(cast<tg::ScatterOp>(root.op), simplify(root.loopMap));
}

void CudaEmitter::emitScatter(tg::ScatterOp op, AffineMap at) {
  ScatterPoint point = emitScatterPoint(op, at);
  emitIf(point.isWanted, [&] {
    Value pointer =
        kernelFunction.getArgument(function.outputArguments.front());
    Value position = emitIndex(
        simplify(linearize(point.place, tensorType(op.getBase()).getShape())));
    if (op.getKind() == tg::ReduceKind::Set) {
      call("store", {}, {pointer, position, point.update});
      return;
    }
    std::string callee =
        "atomic_" + tg::stringifyReduceKind(op.getKind()).str();
    if (op.getIsUnsigned())
      callee += "_unsigned";
    call(callee, {}, {pointer, position, point.update});
  });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

/// Which parallel iteration this thread works on. One that does not exist is
/// computed as the last, since all threads of a block meet at barriers.
void CudaEmitter::placeParallel() {
  int64_t total = product(nest.parallel());
  Value thread = literal("threadIdx.x"), block = literal("blockIdx.x");
  int64_t groups = llvm::divideCeil(total, schedule.iterations);
  source.gridBlocks = groups * schedule.splits;
  if (schedule.splits > 1)
    block = named(builder.create<arith::DivUIOp>(
                      loc, block, constantIndex(schedule.splits)),
                  "group");
  Value within;
  auto divide = [&](int64_t by) {
    return builder.create<arith::DivUIOp>(loc, thread, constantIndex(by));
  };
  auto modulo = [&](int64_t by) {
    return builder.create<arith::RemUIOp>(loc, thread, constantIndex(by));
  };
  if (schedule.iterations == 1) {
    threadInGroup = thread;
  } else if (schedule.shape == Shape::Rows) {
    within = divide(schedule.threads);
    threadInGroup = modulo(schedule.threads);
  } else {
    within = schedule.threads == 1 ? thread : modulo(schedule.iterations);
    threadInGroup =
        schedule.threads == 1 ? constantIndex(0) : divide(schedule.iterations);
  }
  named(threadInGroup, "thread");
  Value iteration = block;
  if (within)
    iteration = named(add(multiply(block, schedule.iterations), within), "row");
  if (total % schedule.iterations != 0) {
    isValid = named(isLess(iteration, constantIndex(total)), "is_valid");
    iteration = named(builder.create<arith::SelectOp>(loc, isValid, iteration,
                                                      constantIndex(total - 1)),
                      "row");
  }
  for (auto [dim, index] :
       llvm::enumerate(delinearize(iteration, nest.parallel())))
    dims[dim] = index;
}

void CudaEmitter::emitReduction() {
  placeParallel();
  int64_t points = product(nest.reduction());
  chunks = llvm::divideCeil(points, schedule.threads * schedule.vector *
                                        schedule.splits);
  if (schedule.keeps)
    for (auto &[element, firstPhase] : facts.kept) {
      // Computed indices have other numbers here than in the trial run.
      if (element.second.getNumDims() > numLoops)
        continue;
      Type type = tensorType(element.first).getElementType();
      AffineExpr position =
          linearize(element.second, tensorType(element.first).getShape());
      Value pointer = pointers.lookup(element.first);
      Kept &entry = kept[element];
      std::string name = pointer ? names[element.first] + "_kept" : "kept";
      if (pointer && isVector(simplify(position), numLoops - 1)) {
        entry.isVector = true;
        entry.array = declare("Vec<" + memoryName(type) + ", " +
                                  Twine(schedule.vector) + ">",
                              name, chunks);
      } else {
        entry.array =
            declare(elementType(type), name, chunks * schedule.vector);
      }
    }
  unsigned numStages = nest.numPhases() / 2;
  for (unsigned stage = 0; stage < numStages; ++stage)
    emitStage(stage);
}

/// The loop over this thread's part of the reduction, then what follows it.
void CudaEmitter::emitStage(unsigned stage) {
  phase = LoopNest::phaseOf(stage, /*isInner=*/true);
  auto reductions = rootsOf(stage, true, true);
  auto pointwise = rootsOf(stage, true, false);
  SmallVector<Value> partial;
  for (const LoopNest::Root *root : reductions) {
    auto generic = cast<linalg::GenericOp>(root->op);
    for (OpResult result : generic->getResults())
      partial.push_back(
          evaluate(generic.getDpsInits()[result.getResultNumber()],
                   simplify(LoopNest::resultIndex(*root, result))));
  }
  if (!reductions.empty() || !pointwise.empty()) {
    bool unroll = schedule.keeps || chunks <= 4;
    Value offset = threadInGroup;
    if (schedule.splits > 1)
      offset = add(multiply(builder.create<arith::RemUIOp>(
                                loc, literal("blockIdx.x"),
                                constantIndex(schedule.splits)),
                            chunks * schedule.threads),
                   threadInGroup);
    partial =
        emitFor(constantIndex(0), constantIndex(chunks), 1, "chunk", unroll,
                partial, [&](Value index, ValueRange carried) {
                  chunk = index;
                  Value first = named(
                      multiply(add(multiply(index, schedule.threads), offset),
                               schedule.vector),
                      "first");
                  return emitChunk(first, carried, stage);
                });
  }
  if (!reductions.empty() && schedule.threads * schedule.splits > 1)
    partial = mergeThreads(stage, partial);
  ArrayRef<Value> results = partial;
  for (const LoopNest::Root *root : reductions)
    for (OpResult result : root->op->getResults()) {
      reduced[result] = results.front();
      results = results.drop_front();
    }
  emitOuterRoots(stage);
}

/// `vector` points of the reduction, from `first` on, if there are so many.
SmallVector<Value> CudaEmitter::emitChunk(Value first, ValueRange carried,
                                          unsigned stage) {
  int64_t points = product(nest.reduction());
  bool isWhole =
      points % (schedule.threads * schedule.vector * schedule.splits) == 0;
  auto body = [&]() -> SmallVector<Value> {
    for (auto [dim, index] :
         llvm::enumerate(delinearize(first, nest.reduction())))
      dims[nest.numParallel + dim] = index;
    if (schedule.vector == 1)
      return emitPoint(carried, stage);
    unsigned lane = numLoops - 1;
    Value base = dims[lane];
    loadVectors(phase, lane);
    for (const Access &store : facts.stores) {
      if (store.phase != phase)
        continue;
      Value tensor = kernel.outputs[store.tensor];
      Value variable =
          declare("Vec<" + memoryName(tensorType(tensor).getElementType()) +
                      ", " + Twine(schedule.vector) + ">",
                  "out");
      stored.push_back(
          {kernelFunction.getArgument(function.outputArguments[store.tensor]),
           store.position, variable});
    }
    SmallVector<Value> results =
        emitFor(constantIndex(0), constantIndex(schedule.vector), 1, "lane",
                true, carried, [&](Value index, ValueRange inner) {
                  laneIndex = index;
                  dims[lane] = add(base, index);
                  return emitPoint(inner, stage);
                });
    laneIndex = {};
    dims[lane] = base;
    emitIf(stored.empty() ? Value() : isValid, [&] { storeVectors(lane); });
    return results;
  };
  if (isWhole)
    return body();
  auto guarded = builder.create<scf::IfOp>(loc, carried.getTypes(),
                                           isLess(first, constantIndex(points)),
                                           /*withElseRegion=*/!carried.empty());
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(guarded.thenBlock());
  {
    Scope scope(*this);
    SmallVector<Value> results = body();
    if (!carried.empty())
      builder.create<scf::YieldOp>(loc, results);
  }
  if (!carried.empty()) {
    builder.setInsertionPointToStart(guarded.elseBlock());
    builder.create<scf::YieldOp>(loc, carried);
  }
  return guarded.getResults();
}

/// One point of the reduction: what it adds, and what is stored there.
SmallVector<Value> CudaEmitter::emitPoint(ValueRange carried, unsigned stage) {
  SmallVector<Value> next;
  for (const LoopNest::Root *root : rootsOf(stage, true, true)) {
    unsigned count = root->op->getNumResults();
    next.append(emitGeneric(cast<linalg::GenericOp>(root->op),
                            simplify(root->loopMap).getResults(),
                            carried.take_front(count)));
    carried = carried.drop_front(count);
  }
  auto pointwise = rootsOf(stage, true, false);
  if (pointwise.empty())
    return next;
  // Vectors are stored after the loop, and guarded there.
  emitIf(laneIndex ? Value() : isValid, [&] { evaluateAndStore(pointwise); });
  return next;
}

/// A struct with the partial results of a stage's reductions.
std::string CudaEmitter::addMergeStruct(unsigned stage, TypeRange types) {
  std::string name = function.symbol + "_stage" + std::to_string(stage);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernelFunction);
  SmallVector<Type> arguments(types);
  arguments.append(types.begin(), types.end());
  auto func =
      builder.create<func::FuncOp>(loc, "merge" + std::to_string(stage),
                                   builder.getFunctionType(arguments, types));
  func->setAttr("merge", builder.getStringAttr(name));
  Block &block = *func.addEntryBlock();
  builder.setInsertionPointToStart(&block);
  ValueRange mine = block.getArguments().take_front(types.size());
  ValueRange theirs = block.getArguments().drop_front(types.size());
  SmallVector<Value> merged;
  Scope scope(*this);
  for (const LoopNest::Root *root : rootsOf(stage, true, true)) {
    unsigned count = root->op->getNumResults();
    merged.append(emitMerge(cast<linalg::GenericOp>(root->op),
                            mine.take_front(count), theirs.take_front(count)));
    mine = mine.drop_front(count);
    theirs = theirs.drop_front(count);
  }
  builder.create<func::ReturnOp>(loc, merged);
  return name;
}

SmallVector<Value> CudaEmitter::mergeThreads(unsigned stage,
                                             ValueRange partial) {
  std::string name = addMergeStruct(stage, partial.getTypes());
  auto reduce = [&](const Twine &callee, ValueRange values) {
    auto op = call("reduce." + callee, values.getTypes(), values);
    op->setAttr("struct", builder.getStringAttr(name));
    op->setAttr("arguments", builder.getStringAttr(""));
    return op;
  };
  SmallVector<Value> results(partial);
  if (schedule.threads > 1) {
    std::string callee =
        schedule.shape == Shape::Columns
            ? "reduce_columns<" + std::to_string(schedule.iterations) + ", " +
                  std::to_string(schedule.threads) + ">"
        : schedule.threads > 32
            ? "reduce_block<" + std::to_string(schedule.threads) + ">"
            : "reduce_warp<" + std::to_string(schedule.threads) + ">";
    results = reduce(callee, results).getResults();
  }
  if (schedule.splits == 1)
    return results;
  int64_t groups =
      llvm::divideCeil(product(nest.parallel()), schedule.iterations);
  builder.setInsertionPoint(kernelFunction);
  builder.create<emitc::VerbatimOp>(
      loc, ("/// Blocks of each group that have arrived; 0 between launches.\n"
            "__device__ u32 " +
            function.symbol + "_arrivals[" + Twine(groups) + "];")
               .str());
  builder.setInsertionPointToEnd(&kernelFunction.getBody().front());
  auto op =
      reduce("finish_splits<" + std::to_string(schedule.splits) + ">", results);
  std::string extra;
  llvm::raw_string_ostream stream(extra);
  // The slots of this group's iterations, `splits` each.
  stream << ", scratch, " << function.symbol << "_arrivals, blockIdx.x / "
         << schedule.splits << ", blockIdx.x % " << schedule.splits << ", "
         << schedule.iterations << ", "
         << (schedule.shape == Shape::Columns
                 ? "threadIdx.x % " + std::to_string(schedule.iterations) +
                       ", threadIdx.x / " + std::to_string(schedule.iterations)
                 : "threadIdx.x / " + std::to_string(schedule.threads) +
                       ", threadIdx.x % " + std::to_string(schedule.threads));
  op->setAttr("arguments", builder.getStringAttr(extra));
  op->setAttr("splits", builder.getUnitAttr());
  // Words of 4 bytes; a member takes 8 at most.
  source.scratchBytes = groups * schedule.splits * schedule.iterations * 8 *
                        static_cast<int64_t>(partial.size());
  return op.getResults();
}

/// What is computed once a parallel iteration: one thread stores it.
void CudaEmitter::emitOuterRoots(unsigned stage) {
  phase = LoopNest::phaseOf(stage, /*isInner=*/false);
  auto pointwise = rootsOf(stage, false, false);
  SmallVector<std::pair<const LoopNest::Root *, OpResult>> results;
  for (const LoopNest::Root *root : rootsOf(stage, true, true))
    for (OpResult result : root->op->getResults())
      if (llvm::is_contained(kernel.outputs, result))
        results.push_back({root, result});
  if (pointwise.empty() && results.empty())
    return;
  Value isFirst;
  if (schedule.threads > 1)
    isFirst = builder.create<arith::CmpIOp>(loc, arith::CmpIPredicate::eq,
                                            threadInGroup, constantIndex(0));
  if (isFirst && isValid)
    isFirst = builder.create<arith::AndIOp>(loc, isFirst, isValid);
  else if (isValid)
    isFirst = isValid;
  emitIf(isFirst, [&] {
    evaluateAndStore(pointwise);
    for (auto &[root, result] : results)
      storeElement(*root, result, reduced.lookup(result));
  });
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

void CudaEmitter::addParameters() {
  unsigned count = 0;
  for (ArrayRef<unsigned> positions :
       {function.inputArguments, function.outputArguments})
    for (unsigned position : positions)
      count = std::max(count, position + 1);
  SmallVector<std::string> types(count), hints(count);
  for (auto [i, position] : llvm::enumerate(function.inputArguments)) {
    Value tensor = kernel.inputs[i];
    types[position] = "const " +
                      memoryName(tensorType(tensor).getElementType()) +
                      " *__restrict__ ";
    hints[position] = "in" + std::to_string(i);
    names[tensor] = hints[position];
  }
  for (auto [i, position] : llvm::enumerate(function.outputArguments)) {
    Value tensor = kernel.outputs[i];
    types[position] =
        memoryName(tensorType(tensor).getElementType()) + " *__restrict__ ";
    hints[position] = "out" + std::to_string(i);
  }
  if (schedule.splits > 1) {
    types.push_back("u32 *__restrict__ ");
    hints.push_back("scratch");
  }
  SmallVector<Type> opaque;
  for (const std::string &type : types)
    opaque.push_back(emitc::OpaqueType::get(context, type));
  kernelFunction = builder.create<func::FuncOp>(
      loc, function.symbol, builder.getFunctionType(opaque, {}));
  for (auto [i, hint] : llvm::enumerate(hints))
    kernelFunction.setArgAttr(i, "hint", builder.getStringAttr(hint));
  kernelFunction->setAttr("threads",
                          builder.getI64IntegerAttr(schedule.blockThreads()));
  builder.setInsertionPointToStart(kernelFunction.addEntryBlock());
  for (auto [tensor, position] :
       llvm::zip_equal(kernel.inputs, function.inputArguments)) {
    Value &pointer = pointers[tensor];
    pointer = kernelFunction.getArgument(position);
    // In place of an output of another type.
    std::string type = memoryName(tensorType(tensor).getElementType()) + " *";
    if (!StringRef(types[position]).contains(type))
      pointer = call("reinterpret_cast<" + type + ">",
                     emitc::OpaqueType::get(context, type), pointer)
                    .getResult(0);
  }
}

/// The comment on top of the source.
std::string CudaEmitter::describe() const {
  int64_t bytes = 0;
  for (unsigned i = 0; i < kernel.inputs.size(); ++i)
    bytes += function.part->elementsRead(i) * widthOf(kernel.inputs[i]);
  for (Value output : kernel.outputs)
    bytes += tensorType(output).getNumElements() * widthOf(output);
  return llvm::formatv(
      "// {0}\n// Floor: {1} bytes, {2} operations. Schedule: {3}.\n",
      function.symbol, bytes, function.part->operations(), toString(schedule));
}

FailureOr<CudaSource> CudaEmitter::emit() {
  OwningOpRef<ModuleOp> owned = ModuleOp::create(loc);
  module = *owned;
  builder.setInsertionPointToStart(module.getBody());
  addParameters();
  source.blockThreads = schedule.blockThreads();
  if (isa<tg::ScatterOp>(nest.roots.front().op))
    emitScatterThreads();
  else if (schedule.shape == Shape::Pointwise)
    emitPointwise();
  else
    emitReduction();
  builder.create<func::ReturnOp>(loc);
  if (hasFailed)
    return failure();
  StringRef include = "gcompile.cuh";
  if (isa<tg::ScatterOp>(nest.roots.front().op))
    include = "atomics.cuh";
  else if (schedule.threads * schedule.splits > 1)
    include = "reduce.cuh";
  module->setAttr("includes", builder.getStrArrayAttr(include));
  module->setAttr("comment", builder.getStringAttr(describe()));
  // The largest number that an index takes.
  int64_t largest = source.gridBlocks * source.blockThreads * schedule.vector;
  for (const auto *tensors : {&kernel.inputs, &kernel.outputs})
    for (Value tensor : *tensors)
      largest = std::max(largest, tensorType(tensor).getNumElements());
  largest = std::max(largest, product(nest.sizes));
  bool fits = largest < (int64_t(1) << 31) - (1 << 20);
  FailureOr<std::string> text = printCuda(module, fits ? "i32" : "i64");
  if (failed(text))
    return failure();
  source.text = std::move(*text);
  return std::move(source);
}

} // namespace

FailureOr<CudaSource> emitCuda(const CudaFunction &function) {
  MLIRContext *context = function.part->kernel.ops.front()->getContext();
  OpBuilder builder(context);
  return CudaEmitter(function, builder).emit();
}

} // namespace gcompile::cuda
