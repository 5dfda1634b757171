//===- LoopEmitter.cpp - loop nests as functions --------------------------===//
// The innermost parallel loop (the lanes) runs over neighbours in memory where
// the kernel lets it. Three shapes of code:
//   lanes outside:  for row, for lane { for each stage { reduction loops } }
//   lanes inside:   for row, for tile of lanes { for each stage {
//                     reduction loops { for lane in tile } } }
//   tiles:          for tile { for lane, for row { columns to scratch }
//                     for row, for lane { ... } }
// The second keeps one accumulator a lane in scratch memory. It is for
// reductions over an outer dimension in memory: both read rows, not columns.
// The third is for transpositions, some of whose inputs run along other
// dimensions than the lanes: they are turned a tile at a time. LLVM vectorises
// the innermost loop.
#include "LoopEmitter.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

using namespace mlir;

namespace gcompile::cpu {
namespace {

constexpr int64_t kMaxKeptBytes = 1 << 19; // half of a usual L2 cache
constexpr int64_t kMaxLaneTile = 512, kMinLaneTile = 32;
constexpr int64_t kTile = 32; // both ways: 4 KiB of floats, in whole lines

bool isReduction(Operation *op) {
  auto generic = dyn_cast<linalg::GenericOp>(op);
  return generic && generic.getNumReductionLoops() > 0;
}

class LoopEmitter : public Evaluator {
public:
  LoopEmitter(const LoopFunction &function, OpBuilder &builder)
      : Evaluator(builder, function.nest->sizes), function(function),
        kernel(*function.kernel), nest(*function.nest), facts(*function.facts),
        hasLanes(nest.numParallel > 0), lane(nest.numParallel - 1) {}

  FailureOr<EmittedFunction> emit();

private:
  /// Scratch memory of a thread: a pointer argument of the body function.
  struct Row {
    Value pointer;
    Type type;
  };
  /// Result of a reduction: a scalar, or one for each lane of the tile.
  struct Reduced {
    Value scalar;
    Row row;
  };

  // Evaluator's surroundings.
  Value pointerOf(Value tensor) override { return pointers.lookup(tensor); }
  Value readReduction(OpResult result) override;
  Value recall(const Element &element) override;
  void onComputed(const Element &element, Value value) override;

  void chooseShape();
  bool isTurned(const Access &load) const;
  Row addRow(Type type, int64_t numElements);
  void addWrapper(ModuleOp module, func::FuncOp body);
  void emitFor(Value begin, Value end, int64_t step,
               function_ref<void(Value)> body);
  Value add(Value a, int64_t b) {
    return builder.create<arith::AddIOp>(loc, a, constantIndex(b));
  }
  Value minimum(Value a, Value b) {
    return builder.create<arith::MinSIOp>(loc, a, b);
  }
  SmallVector<Value>
  emitLoopNest(unsigned firstDim, ValueRange initial,
               function_ref<SmallVector<Value>(ValueRange)> body);
  SmallVector<Value> delinearize(Value flat, ArrayRef<int64_t> sizes);

  void emitParallelLoops();
  void emitTiles(Value begin, Value end);
  void emitStages();
  void emitStageLanesOutside(unsigned stage);
  void emitStageLanesInside(unsigned stage);
  void emitOuterRoots(unsigned stage);
  SmallVector<Value> initialValues(const LoopNest::Root &root);
  SmallVector<Value> combine(const LoopNest::Root &root, ValueRange values);
  void emitScatter(tg::ScatterOp op, AffineMap at);
  Value emitCombine(tg::ScatterOp op, Value current, Value update);
  /// Evaluates pointwise roots, then stores: a later root may read what an
  /// earlier one overwrites in place.
  void emitPointwise(ArrayRef<const LoopNest::Root *> roots);
  void storeResult(const LoopNest::Root &root, OpResult result, Value value);
  SmallVector<const LoopNest::Root *> rootsOf(unsigned stage, bool isInner,
                                              bool reductions) const;
  Value lanePosition();
  Value keptPosition();
  Value turnedPosition();

  const LoopFunction &function;
  const LoopKernel &kernel;
  const LoopNest &nest;
  const LoopFacts &facts;
  enum class Shape { LanesOutside, LanesInside, Tiles };
  Shape shape = Shape::LanesOutside;
  bool hasLanes;
  unsigned lane;    ///< the dimension of the lanes, where there are some
  unsigned row = 0; ///< the other dimension of tiles
  int64_t laneTile = 1;
  bool keepsElements = false;

  func::FuncOp bodyFunction;
  llvm::DenseMap<Value, Value> pointers;
  llvm::DenseMap<Value, Reduced> reduced;
  llvm::DenseMap<Element, Row> keptRows;
  llvm::MapVector<Element, Row> turnedRows;
  llvm::DenseMap<unsigned, Value> tileBegins, tileEnds; ///< by dimension
  SmallVector<int64_t> rowOffsets; ///< of scratch rows, in bytes
  int64_t scratchBytes = 0, extent = 1, iterations = 1;
  unsigned phase = 0;
};

//===----------------------------------------------------------------------===//
// Shape of the code
//===----------------------------------------------------------------------===//

void LoopEmitter::chooseShape() {
  bool isScatter = isa<tg::ScatterOp>(nest.roots.front().op);
  int64_t points = product(nest.reduction());
  int64_t bytes = facts.kept.size() * points * 8; // kept a lane, at most
  if (hasLanes && points != 1) {
    int64_t alongLanes = 0, alongReduction = 0;
    for (const auto *accesses : {&facts.loads, &facts.stores})
      for (const Access &access : *accesses)
        if (auto form = getStridedForm(access.position, dims.size());
            form && access.phase % 2 == 0) {
          alongLanes += form->strides[lane] == 1;
          alongReduction += form->strides[numLoops - 1] == 1;
        }
    // Short reductions are unrolled, and then the lanes outside vectorised.
    bool isShort = points <= 16 && facts.kept.empty();
    if (isScatter || (alongLanes > alongReduction && !isShort))
      shape = Shape::LanesInside;
  } else if (hasLanes && !isScatter) {
    for (unsigned dim = 0; dim < lane && shape != Shape::Tiles; ++dim) {
      row = dim;
      if (std::min(nest.sizes[row], nest.sizes[lane]) >= 8 &&
          llvm::any_of(facts.loads,
                       [&](const Access &load) { return isTurned(load); }))
        shape = Shape::Tiles;
    }
  }
  if (shape == Shape::LanesInside)
    laneTile = std::min(nest.sizes[lane], kMaxLaneTile);
  while (laneTile > kMinLaneTile && laneTile * bytes > kMaxKeptBytes)
    laneTile /= 2;
  keepsElements = laneTile * bytes <= kMaxKeptBytes;
}

/// True where the elements of a tile that `load` reads are neighbours along
/// `row`, not along the lanes.
bool LoopEmitter::isTurned(const Access &load) const {
  auto form = getStridedForm(load.position, dims.size());
  return form && !load.inBranch && form->strides[row] == 1 &&
         std::abs(form->strides[lane]) > 1;
}

LoopEmitter::Row LoopEmitter::addRow(Type type, int64_t numElements) {
  Type stored = memoryType(type);
  unsigned position = bodyFunction.getNumArguments();
  auto attributes = DictionaryAttr::get(
      context, builder.getNamedAttr(LLVM::LLVMDialect::getNoAliasAttrName(),
                                    builder.getUnitAttr()));
  bodyFunction.insertArgument(position, LLVM::LLVMPointerType::get(context),
                              attributes, loc);
  rowOffsets.push_back(scratchBytes);
  int64_t numBytes = numElements * ((stored.getIntOrFloatBitWidth() + 7) / 8);
  scratchBytes += (numBytes + 63) / 64 * 64;
  return {bodyFunction.getArgument(position), type};
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

FailureOr<EmittedFunction> LoopEmitter::emit() {
  chooseShape();
  EmittedFunction emitted;
  emitted.module = ModuleOp::create(loc);
  builder.setInsertionPointToStart(emitted.module->getBody());

  unsigned numBuffers = 0;
  for (unsigned position : function.inputArguments)
    numBuffers = std::max(numBuffers, position + 1);
  for (unsigned position : function.outputArguments)
    numBuffers = std::max(numBuffers, position + 1);
  Type pointer = LLVM::LLVMPointerType::get(context);
  SmallVector<Type> types(numBuffers, pointer);
  types.append(2, builder.getIndexType());
  bodyFunction = builder.create<func::FuncOp>(
      loc, function.symbol + "_loops", builder.getFunctionType(types, {}));
  bodyFunction->setAttr(
      "llvm.linkage", LLVM::LinkageAttr::get(context, LLVM::Linkage::Internal));
  // Inlined, the arguments would lose `noalias`.
  bodyFunction->setAttr("passthrough",
                        builder.getStrArrayAttr({"noinline", "nounwind"}));
  for (unsigned i = 0; i < numBuffers; ++i)
    bodyFunction.setArgAttr(i, LLVM::LLVMDialect::getNoAliasAttrName(),
                            builder.getUnitAttr());
  builder.setInsertionPointToStart(bodyFunction.addEntryBlock());
  for (auto [input, position] :
       llvm::zip_equal(kernel.inputs, function.inputArguments))
    pointers[input] = bodyFunction.getArgument(position);

  extent = product(nest.parallel());
  emitParallelLoops();
  builder.create<func::ReturnOp>(loc);
  addWrapper(*emitted.module, bodyFunction);
  emitted.extent = extent;
  emitted.iterations = iterations;
  emitted.scratchBytes = scratchBytes;
  if (hasFailed)
    return failure();
  return emitted;
}

/// symbol(buffers, begin, end, scratch) takes the pointers out of `buffers`.
void LoopEmitter::addWrapper(ModuleOp module, func::FuncOp body) {
  builder.setInsertionPointToEnd(module.getBody());
  Type pointer = LLVM::LLVMPointerType::get(context),
       i64 = builder.getI64Type();
  auto wrapper = builder.create<func::FuncOp>(
      loc, function.symbol,
      builder.getFunctionType({pointer, i64, i64, pointer}, {}));
  wrapper->setAttr("passthrough", builder.getStrArrayAttr({"nounwind"}));
  Block &block = *wrapper.addEntryBlock();
  builder.setInsertionPointToStart(&block);
  unsigned numBuffers = body.getNumArguments() - 2 - rowOffsets.size();
  SmallVector<Value> arguments;
  for (unsigned i = 0; i < numBuffers; ++i) {
    Value address = builder.create<LLVM::GEPOp>(
        loc, pointer, pointer, block.getArgument(0),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(i)});
    arguments.push_back(builder.create<LLVM::LoadOp>(loc, pointer, address));
  }
  for (unsigned i : {1, 2})
    arguments.push_back(builder.create<arith::IndexCastOp>(
        loc, builder.getIndexType(), block.getArgument(i)));
  for (int64_t offset : rowOffsets)
    arguments.push_back(builder.create<LLVM::GEPOp>(
        loc, pointer, builder.getI8Type(), block.getArgument(3),
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)}));
  builder.create<func::CallOp>(loc, body, arguments);
  builder.create<func::ReturnOp>(loc);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

void LoopEmitter::emitFor(Value begin, Value end, int64_t step,
                          function_ref<void(Value)> body) {
  auto loop = builder.create<scf::ForOp>(loc, begin, end, constantIndex(step));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Scope scope(*this);
  body(loop.getInductionVar());
}

/// Loops over the dimensions from `firstDim` on, carrying values through all.
SmallVector<Value>
LoopEmitter::emitLoopNest(unsigned firstDim, ValueRange initial,
                          function_ref<SmallVector<Value>(ValueRange)> body) {
  if (firstDim == numLoops)
    return body(initial);
  auto loop = builder.create<scf::ForOp>(loc, constantIndex(0),
                                         constantIndex(nest.sizes[firstDim]),
                                         constantIndex(1), initial);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Scope scope(*this);
  dims[firstDim] = loop.getInductionVar();
  SmallVector<Value> results =
      emitLoopNest(firstDim + 1, loop.getRegionIterArgs(), body);
  if (!initial.empty()) // otherwise the builder has made the terminator
    builder.create<scf::YieldOp>(loc, results);
  return loop.getResults();
}

/// Splits `flat`, a position in the product of `sizes`, into its indices.
SmallVector<Value> LoopEmitter::delinearize(Value flat,
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

void LoopEmitter::emitParallelLoops() {
  unsigned numBuffers = bodyFunction.getNumArguments() - 2;
  Value begin = bodyFunction.getArgument(numBuffers);
  Value end = bodyFunction.getArgument(numBuffers + 1);
  if (shape == Shape::Tiles)
    return emitTiles(begin, end);
  // Without parallel loops there is one iteration, which is [0, 1).
  if (!hasLanes)
    return emitFor(begin, end, 1, [&](Value) { emitStages(); });
  auto emitLanes = [&](Value from, Value to) {
    emitFor(from, to, laneTile, [&](Value index) {
      if (shape == Shape::LanesOutside) {
        dims[lane] = index;
      } else {
        tileBegins[lane] = index;
        tileEnds[lane] = minimum(add(index, laneTile), to);
      }
      emitStages();
    });
  };
  if (nest.numParallel == 1)
    return emitLanes(begin, end);
  int64_t size = nest.sizes[lane];
  Value numLanes = constantIndex(size);
  Value firstRow = builder.create<arith::DivUIOp>(loc, begin, numLanes);
  Value lastRow =
      builder.create<arith::DivUIOp>(loc, add(end, size - 1), numLanes);
  emitFor(firstRow, lastRow, 1, [&](Value index) {
    SmallVector<Value> outer = delinearize(index, nest.parallel().drop_back());
    llvm::copy(outer, dims.begin());
    Value start = builder.create<arith::MulIOp>(loc, index, numLanes);
    Value from = builder.create<arith::MaxSIOp>(
        loc, builder.create<arith::SubIOp>(loc, begin, start),
        constantIndex(0));
    Value to =
        minimum(builder.create<arith::SubIOp>(loc, end, start), numLanes);
    emitLanes(from, to);
  });
}

void LoopEmitter::emitTiles(Value begin, Value end) {
  // A launch runs over the tiles of all but `row` and `lane`, then over those
  // of these two.
  SmallVector<unsigned> outer;
  SmallVector<int64_t> counts;
  for (unsigned dim = 0; dim < lane; ++dim)
    if (dim != row) {
      outer.push_back(dim);
      counts.push_back(nest.sizes[dim]);
    }
  for (unsigned dim : {row, lane})
    counts.push_back(llvm::divideCeil(nest.sizes[dim], kTile));
  extent = product(counts);
  iterations = kTile * kTile;
  emitFor(begin, end, 1, [&](Value index) {
    SmallVector<Value> indices = delinearize(index, counts);
    for (auto [dim, value] : llvm::zip(outer, indices))
      dims[dim] = value;
    auto forTile = [&](unsigned dim, function_ref<void()> body) {
      emitFor(tileBegins[dim], tileEnds[dim], 1, [&](Value index) {
        dims[dim] = index;
        body();
      });
    };
    for (auto [dim, tile] : {std::pair(row, indices.rbegin()[1]),
                             std::pair(lane, indices.back())}) {
      tileBegins[dim] =
          builder.create<arith::MulIOp>(loc, tile, constantIndex(kTile));
      tileEnds[dim] =
          minimum(add(tileBegins[dim], kTile), constantIndex(nest.sizes[dim]));
    }
    llvm::MapVector<Element, Row> turned;
    for (const Access &load : facts.loads)
      if (isTurned(load)) {
        Value tensor = kernel.inputs[load.tensor];
        Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
        turned.insert({{tensor, load.index}, addRow(type, kTile * kTile)});
      }
    forTile(lane, [&] {
      forTile(row, [&] {
        for (auto &[element, scratch] : turned)
          store(evaluate(element.first, element.second), scratch.pointer,
                turnedPosition());
      });
    });
    turnedRows = std::move(turned);
    forTile(row, [&] { forTile(lane, [&] { emitStages(); }); });
  });
}

/// Place of the current iteration in a turned tile.
Value LoopEmitter::turnedPosition() {
  Value inRow = builder.create<arith::SubIOp>(loc, dims[row], tileBegins[row]);
  Value inLane =
      builder.create<arith::SubIOp>(loc, dims[lane], tileBegins[lane]);
  Value start = builder.create<arith::MulIOp>(loc, inRow, constantIndex(kTile));
  return builder.create<arith::AddIOp>(loc, start, inLane);
}

//===----------------------------------------------------------------------===//
// Stages
//===----------------------------------------------------------------------===//

SmallVector<const LoopNest::Root *>
LoopEmitter::rootsOf(unsigned stage, bool isInner, bool reductions) const {
  SmallVector<const LoopNest::Root *> found;
  for (const LoopNest::Root &root : nest.roots)
    if (root.stage == stage && root.isInner == isInner &&
        isReduction(root.op) == reductions)
      found.push_back(&root);
  return found;
}

void LoopEmitter::emitStages() {
  unsigned numStages = nest.numPhases() / 2;
  for (unsigned stage = 0; stage < numStages; ++stage) {
    phase = LoopNest::phaseOf(stage, /*isInner=*/true);
    if (shape == Shape::LanesInside)
      emitStageLanesInside(stage);
    else
      emitStageLanesOutside(stage);
  }
  reduced.clear();
}

SmallVector<Value> LoopEmitter::initialValues(const LoopNest::Root &root) {
  auto generic = cast<linalg::GenericOp>(root.op);
  SmallVector<Value> values;
  for (OpResult result : generic->getResults())
    values.push_back(evaluate(generic.getDpsInits()[result.getResultNumber()],
                              simplify(LoopNest::resultIndex(root, result))));
  return values;
}

SmallVector<Value> LoopEmitter::combine(const LoopNest::Root &root,
                                        ValueRange values) {
  return emitGeneric(cast<linalg::GenericOp>(root.op),
                     simplify(root.loopMap).getResults(), values);
}

void LoopEmitter::storeResult(const LoopNest::Root &root, OpResult result,
                              Value value) {
  AffineExpr position =
      simplify(linearize(simplify(LoopNest::resultIndex(root, result)),
                         cast<RankedTensorType>(result.getType()).getShape()));
  for (auto [output, argument] :
       llvm::zip_equal(kernel.outputs, function.outputArguments))
    if (output == result)
      store(value, bodyFunction.getArgument(argument), emitIndex(position));
}

void LoopEmitter::emitPointwise(ArrayRef<const LoopNest::Root *> roots) {
  SmallVector<std::pair<const LoopNest::Root *, SmallVector<Value>>> values;
  for (const LoopNest::Root *root : roots) {
    if (isa<tg::ScatterOp>(root->op))
      continue;
    auto &entry = values.emplace_back(root, SmallVector<Value>());
    for (OpResult result : root->op->getResults())
      entry.second.push_back(
          evaluate(result, simplify(LoopNest::resultIndex(*root, result))));
  }
  for (auto &[root, results] : values)
    for (auto [result, value] :
         llvm::zip_equal(root->op->getResults(), results))
      storeResult(*root, result, value);
  for (const LoopNest::Root *root : roots)
    if (auto scatter = dyn_cast<tg::ScatterOp>(root->op))
      emitScatter(scatter, simplify(root->loopMap));
}

void LoopEmitter::emitOuterRoots(unsigned stage) {
  phase = LoopNest::phaseOf(stage, /*isInner=*/false);
  emitPointwise(rootsOf(stage, /*isInner=*/false, /*reductions=*/false));
  for (const LoopNest::Root *root :
       rootsOf(stage, /*isInner=*/true, /*reductions=*/true))
    for (OpResult result : root->op->getResults())
      if (llvm::is_contained(kernel.outputs, result))
        storeResult(*root, result, readReduction(result));
}

void LoopEmitter::emitStageLanesOutside(unsigned stage) {
  auto reductions = rootsOf(stage, /*isInner=*/true, /*reductions=*/true);
  auto pointwise = rootsOf(stage, /*isInner=*/true, /*reductions=*/false);
  SmallVector<Value> initial;
  for (const LoopNest::Root *root : reductions)
    initial.append(initialValues(*root));
  if (!reductions.empty() || !pointwise.empty())
    initial = emitLoopNest(nest.numParallel, initial, [&](ValueRange carried) {
      SmallVector<Value> next;
      for (const LoopNest::Root *root : reductions) {
        unsigned count = root->op->getNumResults();
        next.append(combine(*root, carried.take_front(count)));
        carried = carried.drop_front(count);
      }
      emitPointwise(pointwise);
      return next;
    });
  ArrayRef<Value> results = initial;
  for (const LoopNest::Root *root : reductions)
    for (OpResult result : root->op->getResults()) {
      reduced[result].scalar = results.front();
      results = results.drop_front();
    }
  emitOuterRoots(stage);
}

void LoopEmitter::emitStageLanesInside(unsigned stage) {
  auto reductions = rootsOf(stage, /*isInner=*/true, /*reductions=*/true);
  auto pointwise = rootsOf(stage, /*isInner=*/true, /*reductions=*/false);
  auto forLanes = [&](function_ref<void()> body) {
    emitFor(tileBegins[lane], tileEnds[lane], 1, [&](Value index) {
      dims[lane] = index;
      body();
    });
  };
  for (const LoopNest::Root *root : reductions)
    for (OpResult result : root->op->getResults())
      reduced[result].row = addRow(
          cast<RankedTensorType>(result.getType()).getElementType(), laneTile);
  if (!reductions.empty())
    forLanes([&] {
      for (const LoopNest::Root *root : reductions)
        for (auto [result, value] :
             llvm::zip_equal(root->op->getResults(), initialValues(*root)))
          store(value, reduced[result].row.pointer, lanePosition());
    });
  if (!reductions.empty() || !pointwise.empty())
    emitLoopNest(nest.numParallel, {}, [&](ValueRange) -> SmallVector<Value> {
      forLanes([&] {
        for (const LoopNest::Root *root : reductions) {
          SmallVector<Value> values;
          for (OpResult result : root->op->getResults())
            values.push_back(readReduction(result));
          for (auto [result, value] :
               llvm::zip_equal(root->op->getResults(), combine(*root, values)))
            store(value, reduced[result].row.pointer, lanePosition());
        }
        emitPointwise(pointwise);
      });
      return {};
    });
  forLanes([&] { emitOuterRoots(stage); });
}

Value LoopEmitter::lanePosition() {
  return builder.create<arith::SubIOp>(loc, dims[lane], tileBegins[lane]);
}

Value LoopEmitter::readReduction(OpResult result) {
  Reduced value = reduced.lookup(result);
  if (value.scalar)
    return value.scalar;
  return load(value.row.pointer, lanePosition(), value.row.type);
}

//===----------------------------------------------------------------------===//
// Kept elements
//===----------------------------------------------------------------------===//

/// Place of the current iteration in a row of kept elements.
Value LoopEmitter::keptPosition() {
  AffineExpr position = getAffineConstantExpr(0, context);
  for (unsigned dim = nest.numParallel; dim < numLoops; ++dim)
    position = position * nest.sizes[dim] + getAffineDimExpr(dim, context);
  if (shape != Shape::LanesInside)
    return emitIndex(position);
  return builder.create<arith::AddIOp>(loc, emitIndex(position * laneTile),
                                       lanePosition());
}

Value LoopEmitter::recall(const Element &element) {
  if (auto turned = turnedRows.find(element); turned != turnedRows.end())
    return load(turned->second.pointer, turnedPosition(), turned->second.type);
  auto row = keptRows.find(element);
  if (row == keptRows.end() || phase % 2 != 0 ||
      facts.kept.lookup(element) == phase)
    return {};
  return load(row->second.pointer, keptPosition(), row->second.type);
}

void LoopEmitter::onComputed(const Element &element, Value value) {
  auto kept = facts.kept.find(element);
  if (!keepsElements || kept == facts.kept.end() || kept->second != phase ||
      branchDepth > 0)
    return;
  Row &row = keptRows[element];
  if (!row.pointer)
    row = addRow(value.getType(), product(nest.reduction()) * laneTile);
  store(value, row.pointer, keptPosition());
}

//===----------------------------------------------------------------------===//
// Scatter
//===----------------------------------------------------------------------===//

void LoopEmitter::emitScatter(tg::ScatterOp op, AffineMap at) {
  ScatterPoint point = emitScatterPoint(op, at);
  OpBuilder::InsertionGuard guard(builder);
  if (point.isWanted) {
    auto guarded = builder.create<scf::IfOp>(loc, point.isWanted);
    builder.setInsertionPointToStart(guarded.thenBlock());
  }
  Scope scope(*this);
  Value pointer = bodyFunction.getArgument(function.outputArguments.front());
  Value position = emitIndex(simplify(linearize(
      point.place, cast<RankedTensorType>(op.getBase().getType()).getShape())));
  Value update = point.update;
  if (op.getKind() != tg::ReduceKind::Set)
    update = emitCombine(op, load(pointer, position, update.getType()), update);
  store(update, pointer, position);
}

Value LoopEmitter::emitCombine(tg::ScatterOp op, Value current, Value update) {
  Type type = update.getType();
  bool isFloat = isa<FloatType>(type), isUnsigned = op.getIsUnsigned();
  // Half precision is combined in float32, as PyTorch does.
  bool isHalf = isFloat && type.getIntOrFloatBitWidth() < 32;
  if (isHalf) {
    current = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), current);
    update = builder.create<arith::ExtFOp>(loc, builder.getF32Type(), update);
  }
  auto create = [&]() -> Value {
    switch (op.getKind()) {
    case tg::ReduceKind::Sum:
      if (isFloat)
        return builder.create<arith::AddFOp>(loc, current, update);
      return builder.create<arith::AddIOp>(loc, current, update);
    case tg::ReduceKind::Prod:
      if (isFloat)
        return builder.create<arith::MulFOp>(loc, current, update);
      return builder.create<arith::MulIOp>(loc, current, update);
    case tg::ReduceKind::Max:
      if (isFloat)
        return builder.create<arith::MaximumFOp>(loc, current, update);
      if (isUnsigned)
        return builder.create<arith::MaxUIOp>(loc, current, update);
      return builder.create<arith::MaxSIOp>(loc, current, update);
    case tg::ReduceKind::Min:
      if (isFloat)
        return builder.create<arith::MinimumFOp>(loc, current, update);
      if (isUnsigned)
        return builder.create<arith::MinUIOp>(loc, current, update);
      return builder.create<arith::MinSIOp>(loc, current, update);
    default:
      fail(op, "cannot combine by this kind");
      return update;
    }
  };
  Value combined = create();
  if (isHalf)
    combined = builder.create<arith::TruncFOp>(loc, type, combined);
  return combined;
}

} // namespace

FailureOr<EmittedFunction> emitLoops(const LoopFunction &function) {
  OpBuilder builder(function.kernel->ops.front()->getContext());
  return LoopEmitter(function, builder).emit();
}

} // namespace gcompile::cpu
