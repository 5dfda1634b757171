//===- Fuse.cpp - group operations into kernels ---------------------------===//
// Works on one block at a time. Every generic and structured op is a node;
// views, fills and constants are free and follow their readers. Each node
// starts as a group of its own. A merge of two groups needs three answers: that
// no third group lies between them (or the kernels would wait for each other),
// that one loop nest runs both (analyzeKernelLoops, and for a structured op
// that the rest reads its result element by element), and that the strategy
// wants it.
#include "Fusion/FormKernels.h"
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/passes/FusionStrategy.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"

#include <queue>

namespace gcompile {
#define GEN_PASS_DEF_FUSEPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

/// A group with more members than this takes no more: kernels stay readable and
/// the search stays linear in the size of the program.
constexpr size_t kMaxMembers = 96;
/// Siblings further apart than this would keep values alive for long.
constexpr unsigned kMaxSiblingDistance = 48;
/// A shared tensor is worth a merge if it is this part of what a sibling moves.
constexpr int64_t kMinSharedPart = 4;

bool isFree(Operation *op) {
  return isa<tg::ViewOp, tensor::EmptyOp, linalg::FillOp, arith::ConstantOp>(
      op);
}

/// Structured ops that hand over their result element by element.
bool allowsEpilogue(Operation *op) {
  return isa<tg::MatmulOp, tg::ConvolutionOp, tg::AttentionOp, tg::RandomOp>(
      op);
}

int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

struct Node {
  Operation *op = nullptr;
  linalg::GenericOp generic; ///< null for others
  bool isStructured = false; ///< neither: control flow, which stays as it is
  bool isReduction = false;
  double cheapWork = 0, costlyWork = 0; ///< of one run of the body
  unsigned group = 0;
  SmallVector<unsigned> producers; ///< nodes it reads, ascending
  struct Result {
    SmallVector<unsigned> readers; ///< ascending
    bool escapes = false;          ///< read by the terminator
  };
  SmallVector<Result, 1> results;

  bool isKernel() const { return generic || isStructured; }
};

struct Group {
  SmallVector<unsigned> members; ///< ascending: program order
  bool isAlive = true;
  KernelCost cost;
  SmallVector<std::string> reasons;
  std::string refusal; ///< of the last merge that was tried
};

/// Bytes that reading `tensor` at `map` over loops of `sizes` touches, at most.
int64_t touchedBytes(Value tensor, AffineMap map, ArrayRef<int64_t> sizes) {
  int64_t elements = 1;
  for (auto [i, size] : llvm::enumerate(sizes))
    if (map.isFunctionOfDim(i))
      elements *= size;
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t all = numBytes(type);
  return std::min(all,
                  all / std::max<int64_t>(type.getNumElements(), 1) * elements);
}

class BlockFuser {
public:
  BlockFuser(Block &block, FusionStrategy &strategy, bool emitRemarks)
      : block(block), strategy(strategy), emitRemarks(emitRemarks) {}

  LogicalResult run();

private:
  LogicalResult buildGraph();
  void addReaders(Value value, unsigned node, unsigned result);
  LogicalResult makeSingletons();
  void fuseVertically();
  void fuseSiblings();
  bool tryMerge(unsigned first, unsigned second, FusionKind kind);
  void refuse(unsigned first, unsigned second, StringRef counter,
              const Twine &reason);
  bool isBetween(unsigned from, unsigned to);
  FailureOr<KernelCost> evaluate(ArrayRef<unsigned> members, std::string &why);
  LogicalResult checkEpilogue(ArrayRef<unsigned> members, Operation *anchor,
                              const KernelLoops &loops, std::string &why);
  SmallVector<KernelStep> schedule();
  std::string reasonOf(const Group &group) const;

  Node &nodeOf(Operation *op) { return nodes[numbers.lookup(op)]; }
  SmallVector<Operation *> opsOf(ArrayRef<unsigned> members) const {
    return llvm::map_to_vector(members,
                               [&](unsigned m) { return nodes[m].op; });
  }
  /// Groups that read results of `group`, without itself.
  template <typename Callback>
  void forEachReader(const Group &group, Callback callback) const {
    for (unsigned member : group.members)
      for (const Node::Result &result : nodes[member].results)
        for (unsigned reader : result.readers)
          if (&groups[nodes[reader].group] != &group)
            callback(nodes[reader].group);
  }

  Block &block;
  FusionStrategy &strategy;
  bool emitRemarks;
  std::vector<Node> nodes; ///< in program order
  llvm::DenseMap<Operation *, unsigned> numbers;
  std::vector<Group> groups;
  KernelLoopsCache loopsCache;
  /// Scratch of isBetween and evaluate: marks equal to the epoch are set.
  std::vector<unsigned> groupMarks, nodeMarks;
  unsigned epoch = 0;
};

//===----------------------------------------------------------------------===//
// The graph
//===----------------------------------------------------------------------===//

/// Notes who reads `value`, through views, inside bodies and regions too.
void BlockFuser::addReaders(Value value, unsigned node, unsigned result) {
  for (Operation *user : value.getUsers()) {
    Operation *owner = block.findAncestorOpInBlock(*user);
    auto it = numbers.find(owner);
    if (it != numbers.end()) {
      nodes[node].results[result].readers.push_back(it->second);
      nodes[it->second].producers.push_back(node);
    } else if (owner->hasTrait<OpTrait::IsTerminator>()) {
      nodes[node].results[result].escapes = true;
    } else if (auto view = dyn_cast<tg::ViewOp>(owner)) {
      addReaders(view.getResult(), node, result);
    }
  }
}

LogicalResult BlockFuser::buildGraph() {
  for (Operation &op : block.without_terminator()) {
    if (isFree(&op))
      continue;
    Node node;
    node.op = &op;
    node.generic = dyn_cast<linalg::GenericOp>(op);
    node.isStructured = tg::isStructuredOp(&op);
    if (!node.isKernel() && !isa<tg::CondOp, tg::WhileOp>(op))
      return op.emitOpError("cannot be part of a kernel; it should have been "
                            "legalised before fusion");
    if (node.generic) {
      node.isReduction = loopsCache.get(node.generic).isReduction;
      std::tie(node.cheapWork, node.costlyWork) = bodyWork(node.generic);
    }
    node.results.resize(op.getNumResults());
    numbers[&op] = nodes.size();
    nodes.push_back(std::move(node));
  }
  for (unsigned i = 0, e = nodes.size(); i < e; ++i)
    for (OpResult result : nodes[i].op->getResults())
      addReaders(result, i, result.getResultNumber());
  auto tidy = [](SmallVectorImpl<unsigned> &list) {
    llvm::sort(list);
    list.erase(std::unique(list.begin(), list.end()), list.end());
  };
  for (Node &node : nodes) {
    tidy(node.producers);
    for (Node::Result &result : node.results)
      tidy(result.readers);
  }
  return success();
}

LogicalResult BlockFuser::makeSingletons() {
  groups.resize(nodes.size());
  groupMarks.assign(nodes.size(), 0);
  nodeMarks.assign(nodes.size(), 0);
  for (unsigned i = 0, e = nodes.size(); i < e; ++i) {
    nodes[i].group = i;
    groups[i].members = {i};
    if (!nodes[i].isKernel())
      continue;
    std::string why;
    FailureOr<KernelCost> cost = evaluate(i, why);
    if (failed(cost))
      return nodes[i].op->emitOpError("cannot be a kernel: ") << why;
    groups[i].cost = *cost;
  }
  return success();
}

//===----------------------------------------------------------------------===//
// May these be one kernel, and what does it cost?
//===----------------------------------------------------------------------===//

/// True if a third group must run after `from` and before `to`.
bool BlockFuser::isBetween(unsigned from, unsigned to) {
  unsigned last = groups[to].members.back();
  ++epoch;
  SmallVector<unsigned> pending;
  auto visit = [&](unsigned group) {
    // Reads go forward in the program: a group that starts after `to` ends
    // cannot come before it.
    if (groupMarks[group] == epoch || groups[group].members.front() > last)
      return;
    groupMarks[group] = epoch;
    pending.push_back(group);
  };
  forEachReader(groups[from], [&](unsigned reader) {
    if (reader != to)
      visit(reader);
  });
  while (!pending.empty()) {
    unsigned group = pending.pop_back_val();
    if (group == to)
      return true;
    forEachReader(groups[group], visit);
  }
  return false;
}

/// Every root of the epilogue reads the structured op's result, all at the same
/// element, and each element once.
LogicalResult BlockFuser::checkEpilogue(ArrayRef<unsigned> members,
                                        Operation *anchor,
                                        const KernelLoops &loops,
                                        std::string &why) {
  for (unsigned member : members) {
    Node &node = nodes[member];
    if (!node.generic)
      continue;
    if (node.isReduction) {
      why = "'" + nodeName(node.op) + "' reduces, which no epilogue can";
      return failure();
    }
    for (Value extracted : loopsCache.get(node.generic).extracted)
      if (extracted.getDefiningOp() == anchor) {
        why = "'" + nodeName(node.op) + "' reads at computed indices";
        return failure();
      }
  }
  AffineMap common;
  for (const KernelLoops::Root &root : loops.roots) {
    bool reads = false;
    for (const TensorRead &read : root.reads) {
      if (read.tensor.getDefiningOp() != anchor)
        continue;
      reads = true;
      if (common == read.map)
        continue;
      auto shape = cast<RankedTensorType>(read.tensor.getType()).getShape();
      AffineExpr position =
          simplifyInRange(linearize(read.map, shape), loops.parallel);
      if (common || !denseDigits(position, loops.parallel,
                                 loops.parallel.size(), product(shape))) {
        why = "'" + nodeName(root.op) + "' reads other elements of '" +
              nodeName(anchor) + "' than the one at hand";
        return failure();
      }
      common = read.map;
    }
    if (!reads) {
      why = "'" + nodeName(root.op) + "' does not depend on '" +
            nodeName(anchor) + "'";
      return failure();
    }
  }
  return success();
}

FailureOr<KernelCost> BlockFuser::evaluate(ArrayRef<unsigned> members,
                                           std::string &why) {
  ++epoch;
  Operation *anchor = nullptr;
  for (unsigned member : members) {
    nodeMarks[member] = epoch;
    if (nodes[member].isStructured)
      anchor = nodes[member].op;
  }
  auto isMember = [&](Value value) {
    auto it = numbers.find(value.getDefiningOp());
    return it != numbers.end() && nodeMarks[it->second] == epoch;
  };
  KernelCost cost;
  SmallVector<Value> outputs;
  for (unsigned member : members)
    for (auto [value, result] :
         llvm::zip_equal(nodes[member].op->getResults(), nodes[member].results))
      if (result.escapes || llvm::any_of(result.readers, [&](unsigned reader) {
            return nodeMarks[reader] != epoch;
          })) {
        outputs.push_back(value);
        cost.bytesWritten += numBytes(value.getType());
      }
  llvm::SmallMapVector<Value, int64_t, 8> touched;
  auto touch = [&](Value tensor, int64_t bytes) {
    if (isMember(tensor))
      return;
    int64_t &known = touched[tensor];
    known = std::max(known, bytes);
  };
  if (anchor) {
    for (Value operand : anchor->getOperands()) {
      Value base = baseOf(operand);
      if (isMember(base)) {
        why = "'" + nodeName(anchor) + "' reads the result of '" +
              nodeName(base.getDefiningOp()) + "' from memory";
        return failure();
      }
      touch(base,
            std::min(numBytes(base.getType()), numBytes(operand.getType())));
    }
    cost.parallel = numBytes(anchor->getResult(0).getType());
  }
  if (!anchor || members.size() > 1) {
    FailureOr<KernelLoops> loops =
        loopsCache.analyze(opsOf(members), outputs, why);
    if (failed(loops) ||
        (anchor && failed(checkEpilogue(members, anchor, *loops, why))))
      return failure();
    cost.parallel = std::max<int64_t>(product(loops->parallel), 1);
    SmallVector<int64_t> sizes(loops->parallel);
    sizes.append(loops->reduction);

    // A pointwise member runs once for each element at which it is read.
    auto addWork = [&](const Node &node, double times) {
      cost.cheapWork += node.cheapWork * times;
      cost.costlyWork += node.costlyWork * times;
    };
    llvm::DenseSet<std::pair<Operation *, AffineMap>> done;
    auto times = [&](const KernelLoops::Root &root, AffineMap map) {
      double count = cost.parallel;
      bool perRow = loops->reduction.empty() || !root.isInner;
      for (unsigned i = loops->parallel.size(); i < sizes.size(); ++i)
        if (!perRow && (!map || map.isFunctionOfDim(i)))
          count *= sizes[i];
      return count;
    };
    SmallVector<Operation *> evaluated;
    for (const KernelLoops::Root &root : loops->roots) {
      if (root.isInner)
        cost.stages = std::max(cost.stages, root.stage + 1);
      done.insert({root.op, root.loopMap});
      addWork(nodeOf(root.op), times(root, AffineMap()));
      evaluated.push_back(root.op);
    }
    for (const KernelLoops::Root &root : loops->roots)
      for (const TensorRead &read : root.reads) {
        touch(read.tensor, touchedBytes(read.tensor, read.map, sizes));
        Operation *source = read.tensor.getDefiningOp();
        if (!isMember(read.tensor) || source == anchor ||
            nodeOf(source).isReduction ||
            !done.insert({source, read.map}).second)
          continue;
        addWork(nodeOf(source), times(root, read.map));
        evaluated.push_back(source);
      }
    // Members read at computed indices, and what they read in turn.
    llvm::SmallPtrSet<Operation *, 8> seen;
    for (size_t i = 0; i < evaluated.size(); ++i) {
      auto generic = cast<linalg::GenericOp>(evaluated[i]);
      auto &info = loopsCache.get(generic);
      int64_t points = product(info.sizes);
      for (Value extracted : info.extracted) {
        int64_t bytes = numBytes(extracted.getType());
        int64_t elements =
            cast<RankedTensorType>(extracted.getType()).getNumElements();
        touch(extracted, elements > points ? bytes / elements * points : bytes);
        if (!isMember(extracted) ||
            !seen.insert(extracted.getDefiningOp()).second)
          continue;
        // Under a condition (concatenation, padding) each element is wanted
        // once.
        addWork(nodeOf(extracted.getDefiningOp()), points);
        evaluated.push_back(extracted.getDefiningOp());
        auto &source =
            loopsCache.get(cast<linalg::GenericOp>(extracted.getDefiningOp()));
        for (const TensorRead &read : source.reads) {
          touch(read.tensor, touchedBytes(read.tensor, read.map, source.sizes));
          if (isMember(read.tensor) &&
              seen.insert(read.tensor.getDefiningOp()).second) {
            addWork(nodeOf(read.tensor.getDefiningOp()), points);
            evaluated.push_back(read.tensor.getDefiningOp());
          }
        }
      }
    }
  }
  for (auto [tensor, bytes] : touched)
    cost.bytesRead += bytes;
  return cost;
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void BlockFuser::refuse(unsigned first, unsigned second, StringRef counter,
                        const Twine &reason) {
  std::string text = "not with '" +
                     nodeName(nodes[groups[first].members.back()].op) +
                     "': " + reason.str();
  Operation *op = nodes[groups[second].members.back()].op;
  count(op->getContext(), ("tg-fuse." + counter).str());
  if (emitRemarks)
    emitRemark(op->getLoc(), "'")
        << nodeName(op) << "' is not fused " << text.substr(4);
  groups[second].refusal = std::move(text);
}

bool BlockFuser::tryMerge(unsigned first, unsigned second, FusionKind kind) {
  const Group &a = groups[first], &b = groups[second];
  auto anchorOf = [&](const Group &group) -> Operation * {
    for (unsigned member : group.members)
      if (nodes[member].isStructured)
        return nodes[member].op;
    return nullptr;
  };
  Operation *anchor = anchorOf(a), *otherAnchor = anchorOf(b);
  auto no = [&](StringRef counter, const Twine &reason) {
    refuse(first, second, counter, reason);
    return false;
  };
  if (anchor && otherAnchor)
    return no("refused-structured", "'" + nodeName(anchor) + "' and '" +
                                        nodeName(otherAnchor) +
                                        "' are both structured operations");
  if (!anchor)
    anchor = otherAnchor;
  if (anchor && !allowsEpilogue(anchor))
    return no("refused-structured", "'" + nodeName(anchor) + "' (" +
                                        anchor->getName().getStringRef() +
                                        ") takes no epilogue");
  if (a.members.size() + b.members.size() > kMaxMembers)
    return no("refused-size", "the kernel would have more than " +
                                  Twine(kMaxMembers) + " operations");
  SmallVector<unsigned> members(a.members);
  members.append(b.members);
  llvm::sort(members);
  std::string why;
  FailureOr<KernelCost> cost = evaluate(members, why);
  if (failed(cost))
    return no("refused-loops", why);
  if (isBetween(first, second) ||
      (kind == FusionKind::Sibling && isBetween(second, first)))
    return no("refused-cycle", "another kernel must run between them");

  if (kind == FusionKind::Vertical && anchor)
    kind = FusionKind::Epilogue;
  SmallVector<Operation *> opsA = opsOf(a.members), opsB = opsOf(b.members);
  KernelCost before[] = {a.cost, b.cost};
  FusionDecision decision = strategy.decide({kind, opsA, opsB, before, *cost});
  if (!decision.fuse)
    return no("refused-cost", decision.reason);

  auto kindName = [&]() -> StringRef {
    switch (kind) {
    case FusionKind::Vertical:
      return "producer and reader";
    case FusionKind::Epilogue:
      return "epilogue";
    case FusionKind::Sibling:
      return "siblings";
    }
    llvm_unreachable("unknown kind of fusion");
  };
  MLIRContext *context = block.getParentOp()->getContext();
  count(context, "tg-fuse.fused");
  // The merged group takes the place of the first in program order.
  unsigned into = std::min(first, second), from = std::max(first, second);
  Group &target = groups[into], &source = groups[from];
  target.reasons.append(source.reasons);
  std::string nameA = nodeName(nodes[a.members.back()].op),
              nameB = nodeName(nodes[b.members.back()].op);
  // The parts of one node go without saying.
  if (nameA != nameB)
    target.reasons.push_back(
        (nameA + " and " + nameB + ": " + kindName() + ", " + decision.reason)
            .str());
  for (unsigned member : source.members)
    nodes[member].group = into;
  target.members = std::move(members);
  target.cost = *cost;
  source.members.clear();
  source.isAlive = false;
  return true;
}

void BlockFuser::fuseVertically() {
  for (unsigned reader = 0; reader < nodes.size(); ++reader) {
    if (!nodes[reader].isKernel())
      continue;
    // The nearest producer first: it is the one whose result is still at hand.
    llvm::SmallSetVector<unsigned, 4> tried;
    for (unsigned producer : llvm::reverse(nodes[reader].producers)) {
      unsigned first = nodes[producer].group, second = nodes[reader].group;
      if (first != second && nodes[producer].isKernel() && tried.insert(first))
        tryMerge(first, second, FusionKind::Vertical);
    }
  }
}

void BlockFuser::fuseSiblings() {
  llvm::MapVector<Value, SmallVector<unsigned>> readers;
  for (unsigned i = 0; i < nodes.size(); ++i)
    if (nodes[i].generic)
      for (const TensorRead &read : loopsCache.get(nodes[i].generic).reads)
        readers[read.tensor].push_back(i);
  for (auto &[tensor, list] : readers) {
    int64_t bytes = numBytes(tensor.getType());
    for (size_t i = 0; i + 1 < list.size(); ++i) {
      unsigned a = list[i], b = list[i + 1];
      unsigned first = nodes[a].group, second = nodes[b].group;
      if (first == second || b - a > kMaxSiblingDistance)
        continue;
      auto shares = [&](const Group &group) {
        return bytes * kMinSharedPart >=
               group.cost.bytesRead + group.cost.bytesWritten;
      };
      if (shares(groups[first]) && shares(groups[second]))
        tryMerge(first, second, FusionKind::Sibling);
    }
  }
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

std::string BlockFuser::reasonOf(const Group &group) const {
  constexpr size_t kMaxReasons = 4;
  if (group.reasons.empty()) {
    std::string text = group.members.size() == 1 ? "alone" : "one node";
    return group.refusal.empty() ? text : text + ": " + group.refusal;
  }
  std::string text;
  for (const std::string &reason :
       ArrayRef(group.reasons).take_front(kMaxReasons))
    text += (text.empty() ? "" : "; ") + reason;
  if (group.reasons.size() > kMaxReasons)
    text +=
        "; and " + std::to_string(group.reasons.size() - kMaxReasons) + " more";
  return text;
}

/// An order of the groups that respects what they read; the one that begins
/// first in the program goes first.
SmallVector<KernelStep> BlockFuser::schedule() {
  std::vector<unsigned> waitsFor(groups.size(), 0);
  std::vector<llvm::SmallSetVector<unsigned, 4>> readers(groups.size());
  for (unsigned i = 0; i < groups.size(); ++i)
    forEachReader(groups[i], [&](unsigned reader) {
      if (readers[i].insert(reader))
        ++waitsFor[reader];
    });
  std::priority_queue<std::pair<unsigned, unsigned>,
                      std::vector<std::pair<unsigned, unsigned>>,
                      std::greater<>>
      ready; // first member, group
  auto add = [&](unsigned group) {
    if (groups[group].isAlive && waitsFor[group] == 0)
      ready.push({groups[group].members.front(), group});
  };
  for (unsigned i = 0; i < groups.size(); ++i)
    add(i);
  SmallVector<KernelStep> steps;
  while (!ready.empty()) {
    unsigned group = ready.top().second;
    ready.pop();
    KernelStep step;
    step.ops = opsOf(groups[group].members);
    step.isKernel = nodes[groups[group].members.front()].isKernel();
    step.reason = reasonOf(groups[group]);
    steps.push_back(std::move(step));
    for (unsigned reader : readers[group]) {
      --waitsFor[reader];
      add(reader);
    }
  }
  return steps;
}

LogicalResult BlockFuser::run() {
  if (failed(buildGraph()) || failed(makeSingletons()))
    return failure();
  fuseVertically();
  fuseSiblings();
  SmallVector<KernelStep> steps = schedule();
  formKernels(block, steps);
  count(block.getParentOp()->getContext(), "tg-fuse.kernels",
        llvm::count_if(steps, [](const KernelStep &s) { return s.isKernel; }));
  return success();
}

//===----------------------------------------------------------------------===//
// The pass
//===----------------------------------------------------------------------===//

class FusePass : public impl::FusePassBase<FusePass> {
  using FusePassBase::FusePassBase;
  void runOnOperation() override;

  LogicalResult fuse(Block &block, FusionStrategy &strategy);
  /// Gives every reader of a generic that reads nothing a copy of its own: its
  /// elements are cheaper to compute than to load.
  void duplicateSources(Block &block);
};

void FusePass::duplicateSources(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    auto generic = dyn_cast<linalg::GenericOp>(op);
    if (!generic || !isPointwise(generic) || bodyWork(generic).second > 0)
      continue;
    bool readsTensor = false;
    for (OpOperand *input : generic.getDpsInputOperands())
      readsTensor |= generic.payloadUsesValueFromOperand(input);
    generic.getRegion().walk([&](tensor::ExtractOp) { readsTensor = true; });
    if (readsTensor)
      continue;
    SmallVector<OpOperand *> uses;
    for (OpOperand &use : op.getUses())
      if (isa<linalg::GenericOp>(use.getOwner()))
        uses.push_back(&use);
    // Uses are listed latest first.
    for (OpOperand *use : llvm::reverse(uses)) {
      if (op.hasOneUse())
        break;
      Operation *copy = OpBuilder(use->getOwner()).clone(op);
      use->set(copy->getResult(0));
      count(&getContext(), "tg-fuse.duplicated");
    }
  }
}

LogicalResult FusePass::fuse(Block &block, FusionStrategy &strategy) {
  duplicateSources(block);
  if (failed(BlockFuser(block, strategy, remarks).run()))
    return failure();
  for (Operation &op : block)
    if (isa<tg::CondOp, tg::WhileOp>(op))
      for (Region &region : op.getRegions())
        if (failed(fuse(region.front(), strategy)))
          return failure();
  eraseLeftovers(block);
  return success();
}

void FusePass::runOnOperation() {
  std::unique_ptr<FusionStrategy> chosen = createFusionStrategy(strategy);
  if (!chosen) {
    getOperation().emitError("unknown fusion strategy '")
        << strategy << "'; known are " << fusionStrategyNames();
    return signalPassFailure();
  }
  if (failed(fuse(getOperation().getBody().front(), *chosen)))
    signalPassFailure();
}

} // namespace
} // namespace gcompile
