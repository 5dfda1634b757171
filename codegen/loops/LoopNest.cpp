//===- LoopNest.cpp - loops, their accesses and what they compute ---------===//
// Decisions need to know every access and every value that more than one stage
// computes. A trial run of the evaluation, into a function that is thrown away,
// finds both; so nothing but the Evaluator knows how elements are computed.
#include "LoopNest.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;

namespace gcompile::loops {

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

unsigned LoopNest::numPhases() const {
  unsigned count = 0;
  for (const Root &root : roots)
    count = std::max(count, 2 * root.stage + 2);
  return count;
}

AffineMap LoopNest::resultIndex(const Root &root, OpResult result) {
  auto generic = cast<linalg::GenericOp>(root.op);
  OpOperand *init = generic.getDpsInitOperand(result.getResultNumber());
  return generic.getMatchingIndexingMap(init).compose(root.loopMap);
}

//===----------------------------------------------------------------------===//
// Trial run
//===----------------------------------------------------------------------===//

namespace {

/// Time of a body operation, in quarters of a simple element's.
int64_t costOf(Operation *op) {
  if (isa<math::AbsFOp, math::FmaOp, math::FloorOp, math::CeilOp,
          math::RoundEvenOp, math::TruncOp, math::CopySignOp>(op))
    return 1;
  if (isa<math::SqrtOp, math::RsqrtOp, arith::DivFOp>(op))
    return 4;
  if (isa<math::MathDialect>(op->getDialect()) ||
      isa<arith::RemFOp, arith::DivSIOp, arith::RemSIOp>(op))
    return 32;
  return 1;
}

/// Computing such a value again costs more than keeping it.
constexpr int64_t kDearCost = 32;

class TrialRun : public Evaluator {
public:
  TrialRun(const LoopKernel &kernel, const LoopNest &nest,
           const KeepPolicy &policy, OpBuilder &builder, Block &block)
      : Evaluator(builder, nest.sizes), kernel(kernel), nest(nest),
        policy(policy) {
    for (unsigned i = 0; i < numLoops; ++i)
      dims[i] = block.addArgument(builder.getIndexType(), loc);
    pointer = block.addArgument(LLVM::LLVMPointerType::get(context), loc);
    for (auto [i, input] : llvm::enumerate(kernel.inputs))
      inputNumbers[input] = i;
  }
  LogicalResult run(LoopFacts &facts);

private:
  struct Node {
    llvm::SetVector<unsigned> always, inBranch; ///< nodes that it needs
    int64_t cost = 0, maxCost = 0, operations = 0;
    std::optional<Access> load;
  };

  Value pointerOf(Value tensor) override {
    return inputNumbers.contains(tensor) ? pointer : Value();
  }
  Value readReduction(OpResult result) override {
    Type type = cast<RankedTensorType>(result.getType()).getElementType();
    return builder.create<arith::ConstantOp>(loc, builder.getZeroAttr(type));
  }
  void onDemand(const Element &element) override;
  void onCompute(const Element &element) override {
    open.push_back({nodeOf(element), branchDepth});
  }
  void onComputed(const Element &, Value) override { open.pop_back(); }
  void onLoad(Value tensor, AffineExpr position) override {
    nodes[open.back().first].load =
        Access{inputNumbers.lookup(tensor), position,
               numbers.begin()[open.back().first].first.second};
  }
  void onIndex(AffineExpr index) override { indices.push_back(index); }
  void onOperation(Operation *op) override {
    if (op->hasTrait<OpTrait::ConstantLike>())
      return;
    Node &node = nodes[open.back().first];
    node.cost += costOf(op);
    node.maxCost = std::max(node.maxCost, costOf(op));
    ++node.operations;
  }
  unsigned nodeOf(const Element &element) {
    auto [it, isNew] = numbers.insert({element, nodes.size()});
    if (isNew)
      nodes.emplace_back();
    return it->second;
  }

  void runRoot(const LoopNest::Root &root, LoopFacts &facts);
  void visit(unsigned node, unsigned phase, bool inBranch, LoopFacts &facts);
  bool isDear(unsigned node);
  bool usesReductionLoops(AffineMap map) const {
    for (unsigned i = nest.numParallel; i < map.getNumDims(); ++i)
      if (map.isFunctionOfDim(i))
        return true;
    return false;
  }

  const LoopKernel &kernel;
  const LoopNest &nest;
  const KeepPolicy &policy;
  Value pointer;
  llvm::DenseMap<Value, unsigned> inputNumbers;
  llvm::MapVector<Element, unsigned> numbers;
  std::vector<Node> nodes;
  SmallVector<std::pair<unsigned, unsigned>> open; ///< node, branch depth
  SmallVector<AffineExpr> indices;
  /// First phase to compute each node, and whether only in a branch.
  llvm::DenseMap<unsigned, std::pair<unsigned, bool>> computedIn;
  llvm::DenseSet<unsigned> visited; ///< in the current phase
  llvm::DenseMap<unsigned, bool> dear;
};

void TrialRun::onDemand(const Element &element) {
  unsigned node = nodeOf(element);
  if (open.empty() || node == open.back().first)
    return;
  auto [reader, depth] = open.back();
  (branchDepth > depth ? nodes[reader].inBranch : nodes[reader].always)
      .insert(node);
}

void TrialRun::runRoot(const LoopNest::Root &root, LoopFacts &facts) {
  unsigned phase = LoopNest::phaseOf(root.stage, root.isInner);
  auto addStores = [&](Value result, AffineMap index) {
    AffineExpr position = simplify(
        linearize(index, cast<RankedTensorType>(result.getType()).getShape()));
    for (auto [i, output] : llvm::enumerate(kernel.outputs))
      if (output == result)
        facts.stores.push_back(
            {static_cast<unsigned>(i), position, index, phase});
  };
  AffineMap at = simplify(root.loopMap);
  if (auto scatter = dyn_cast<tg::ScatterOp>(root.op)) {
    onCompute(Element(scatter.getResult(), at));
    addStores(scatter.getResult(), emitScatterPoint(scatter, at).place);
    open.pop_back();
    return;
  }
  auto generic = cast<linalg::GenericOp>(root.op);
  bool isReduction = generic.getNumReductionLoops() > 0;
  for (OpResult result : generic->getResults()) {
    AffineMap index = simplify(LoopNest::resultIndex(root, result));
    // Results of a reduction are stored after its loops.
    unsigned before = facts.stores.size();
    addStores(result, index);
    if (isReduction)
      for (Access &access : llvm::drop_begin(facts.stores, before))
        access.phase = LoopNest::phaseOf(root.stage, /*isInner=*/false);
    else
      evaluate(result, index);
  }
  if (isReduction) {
    onCompute(Element(generic->getResult(0), at));
    SmallVector<Value> outputs;
    for (OpResult result : generic->getResults())
      outputs.push_back(readReduction(result));
    emitGeneric(generic, at.getResults(), outputs);
    open.pop_back();
  }
}

/// True where computing the node takes a dear operation.
bool TrialRun::isDear(unsigned node) {
  auto known = dear.find(node);
  if (known != dear.end())
    return known->second;
  auto needed = [&](unsigned other) { return isDear(other); };
  bool result = nodes[node].maxCost >= kDearCost ||
                llvm::any_of(nodes[node].always, needed) ||
                llvm::any_of(nodes[node].inBranch, needed);
  dear[node] = result;
  return result;
}

/// Follows what `node` needs in `phase`, stopping at what an earlier phase can
/// keep.
void TrialRun::visit(unsigned node, unsigned phase, bool inBranch,
                     LoopFacts &facts) {
  if (!visited.insert(node).second)
    return;
  auto [it, isFirst] = computedIn.insert({node, {phase, inBranch}});
  auto [firstPhase, firstInBranch] = it->second;
  bool isInner = phase % 2 == 0;
  const Element &element = numbers.begin()[node].first;
  auto generic = element.first.getDefiningOp<linalg::GenericOp>();
  if (!isFirst && isInner && firstPhase % 2 == 0 && firstPhase < phase &&
      !firstInBranch && usesReductionLoops(element.second) &&
      ((generic && generic->getNumResults() == 1 && isDear(node)) ||
       (policy.loads && nodes[node].load))) {
    facts.kept.insert({element, firstPhase});
    return;
  }
  const Node &info = nodes[node];
  facts.operations[phase] += info.operations;
  facts.work[phase] += info.cost;
  if (info.load) {
    facts.loads.push_back(*info.load);
    facts.loads.back().phase = phase;
    facts.loads.back().inBranch = inBranch;
  }
  for (unsigned needed : info.always)
    visit(needed, phase, inBranch, facts);
  for (unsigned needed : info.inBranch)
    visit(needed, phase, true, facts);
}

LogicalResult TrialRun::run(LoopFacts &facts) {
  facts = {};
  // Demands of roots are those of one unnamed node a phase.
  unsigned numPhases = nest.numPhases();
  SmallVector<unsigned> phaseNodes;
  for (unsigned phase = 0; phase < numPhases; ++phase) {
    phaseNodes.push_back(nodes.size());
    numbers.insert({Element(pointer, AffineMap::getConstantMap(phase, context)),
                    nodes.size()});
    nodes.emplace_back();
  }
  for (unsigned phase = 0; phase < numPhases; ++phase)
    for (const LoopNest::Root &root : nest.roots)
      if (LoopNest::phaseOf(root.stage, root.isInner) == phase) {
        // A reduction's own node is demanded by its phase.
        open.push_back({phaseNodes[phase], 0});
        onDemand(Element(root.op->getResult(0), simplify(root.loopMap)));
        runRoot(root, facts);
        open.pop_back();
      }
  facts.indices = indices;
  facts.operations.assign(numPhases, 0);
  facts.work.assign(numPhases, 0);
  for (unsigned phase = 0; phase < numPhases; ++phase) {
    visited.clear();
    visit(phaseNodes[phase], phase, false, facts);
  }
  return failure(hasFailed);
}

LogicalResult tryOut(const LoopKernel &kernel, const LoopNest &nest,
                     const KeepPolicy &policy, LoopFacts &facts) {
  OpBuilder builder(kernel.ops.front()->getContext());
  Region region;
  Block &block = region.emplaceBlock();
  builder.setInsertionPointToStart(&block);
  return TrialRun(kernel, nest, policy, builder, block).run(facts);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

/// Points of a scatter that differ in a loop which is itself an index of the
/// place never meet: such loops are parallel.
LoopNest scatterLoops(tg::ScatterOp op) {
  ArrayRef<int64_t> domain = op.getDomain();
  Block &block = op.getBody().front();
  SmallVector<unsigned> order, sequential;
  for (unsigned i = 0; i < domain.size(); ++i) {
    unsigned rank = cast<RankedTensorType>(op.getBase().getType()).getRank();
    bool isPlace = llvm::is_contained(
        block.getTerminator()->getOperands().take_front(rank),
        block.getArgument(i));
    (isPlace ? order : sequential).push_back(i);
  }
  LoopNest nest;
  nest.numParallel = order.size();
  order.append(sequential);
  SmallVector<AffineExpr> loops(domain.size());
  for (auto [position, loop] : llvm::enumerate(order)) {
    nest.sizes.push_back(domain[loop]);
    loops[loop] = getAffineDimExpr(position, op.getContext());
  }
  nest.roots.push_back(
      {op, AffineMap::get(domain.size(), 0, loops, op.getContext()), true, 0});
  return nest;
}

/// Rewrites the nest so that loop i of it is `replacement[i]` over new loops.
void substituteLoops(LoopNest &nest, ArrayRef<AffineExpr> replacement,
                     ArrayRef<int64_t> newSizes) {
  for (LoopNest::Root &root : nest.roots) {
    SmallVector<AffineExpr> loops;
    for (AffineExpr expr : root.loopMap.getResults())
      loops.push_back(simplifyInRange(expr.replaceDims(replacement), newSizes));
    root.loopMap =
        AffineMap::get(newSizes.size(), 0, loops, root.op->getContext());
  }
  nest.sizes.assign(newSizes.begin(), newSizes.end());
}

void dropUnitLoops(LoopNest &nest) {
  MLIRContext *context = nest.roots.front().op->getContext();
  SmallVector<AffineExpr> replacement;
  SmallVector<int64_t> sizes;
  unsigned numParallel = 0;
  for (auto [i, size] : llvm::enumerate(nest.sizes)) {
    if (size == 1) {
      replacement.push_back(getAffineConstantExpr(0, context));
      continue;
    }
    replacement.push_back(getAffineDimExpr(sizes.size(), context));
    sizes.push_back(size);
    numParallel += i < nest.numParallel;
  }
  substituteLoops(nest, replacement, sizes);
  nest.numParallel = numParallel;
}

int64_t countDivisions(AffineExpr expr) {
  int64_t count = 0;
  expr.walk([&](AffineExpr inner) {
    count += inner.getKind() == AffineExprKind::FloorDiv ||
             inner.getKind() == AffineExprKind::CeilDiv ||
             inner.getKind() == AffineExprKind::Mod;
  });
  return count;
}

/// Merges loops i and i + 1 where that leaves every index free of new
/// divisions.
bool tryMerge(LoopNest &nest, unsigned i, const LoopFacts &facts) {
  MLIRContext *context = nest.roots.front().op->getContext();
  unsigned numLoops = nest.sizes.size();
  SmallVector<AffineExpr> indices(facts.indices);
  for (const auto *accesses : {&facts.loads, &facts.stores})
    for (const Access &access : *accesses)
      indices.push_back(access.position);
  unsigned numDims = numLoops;
  for (AffineExpr expr : indices)
    expr.walk([&](AffineExpr inner) {
      if (auto dim = dyn_cast<AffineDimExpr>(inner))
        numDims = std::max(numDims, dim.getPosition() + 1);
    });
  int64_t inner = nest.sizes[i + 1];
  SmallVector<AffineExpr> replacement;
  for (unsigned dim = 0; dim < numDims; ++dim)
    replacement.push_back(getAffineDimExpr(dim <= i ? dim : dim - 1, context));
  replacement[i + 1] = replacement[i] % inner;
  replacement[i] = replacement[i].floorDiv(inner);
  SmallVector<int64_t> sizes(nest.sizes);
  sizes[i] *= inner;
  sizes.erase(sizes.begin() + i + 1);
  // Nothing is known of computed indices.
  SmallVector<int64_t> dimSizes(sizes);
  dimSizes.resize(numDims - 1, std::numeric_limits<int64_t>::max());
  for (AffineExpr expr : indices)
    if (countDivisions(simplifyInRange(expr.replaceDims(replacement),
                                       dimSizes)) > countDivisions(expr))
      return false;
  substituteLoops(nest, ArrayRef(replacement).take_front(numLoops), sizes);
  if (i < nest.numParallel)
    --nest.numParallel;
  return true;
}

} // namespace

FailureOr<LoopNest> buildLoopNest(const LoopKernel &kernel,
                                  const KeepPolicy &policy, LoopFacts &facts) {
  LoopNest nest;
  if (auto scatter = dyn_cast<tg::ScatterOp>(kernel.ops.front())) {
    nest = scatterLoops(scatter);
  } else {
    std::string why;
    auto loops = analyzeKernelLoops(kernel.ops, kernel.outputs, why);
    if (failed(loops))
      return kernel.ops.back()->emitError("cannot run as one loop nest: ")
             << why;
    nest.sizes = loops->parallel;
    nest.numParallel = nest.sizes.size();
    nest.sizes.append(loops->reduction);
    for (const KernelLoops::Root &root : loops->roots)
      nest.roots.push_back({root.op, root.loopMap, root.isInner, root.stage});
  }
  dropUnitLoops(nest);
  if (failed(tryOut(kernel, nest, policy, facts)))
    return failure();
  if (llvm::is_contained(nest.sizes, 0))
    return nest;
  bool hasMerged = true;
  while (hasMerged) {
    hasMerged = false;
    for (unsigned i = nest.sizes.size(); i-- > 1 && !hasMerged;)
      if (i != nest.numParallel)
        hasMerged = tryMerge(nest, i - 1, facts);
    if (hasMerged && failed(tryOut(kernel, nest, policy, facts)))
      return failure();
  }
  return nest;
}

} // namespace gcompile::loops
