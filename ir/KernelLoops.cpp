//===- KernelLoops.cpp - the loops that run a group of operations ---------===//
// Every root of a group needs a map from the kernel's loops to its own. The
// first reduction (without one, the root of highest rank) gives the kernel its
// loops. Each other root is placed by trying the few maps that can be right:
// the index at which a placed root reads it or is read by it, the same
// row-major position in the loops of a placed root, the element of a tensor
// that both read. A map is right if it is one to one and finds every
// reduction's result in the parallel iteration that computes it.
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;

namespace gcompile {

using Generic = KernelLoopsCache::Generic;

static bool isParallel(utils::IteratorType type) {
  return type == utils::IteratorType::parallel;
}
static bool isReduction(utils::IteratorType type) { return !isParallel(type); }

static int64_t product(ArrayRef<int64_t> sizes) {
  int64_t total = 1;
  for (int64_t size : sizes)
    total *= size;
  return total;
}

static ArrayRef<int64_t> shapeOf(Value value) {
  return cast<RankedTensorType>(value.getType()).getShape();
}

static std::string sizesText(ArrayRef<int64_t> sizes) {
  std::string text;
  for (int64_t size : sizes)
    text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "1" : text;
}

//===----------------------------------------------------------------------===//
// Facts about one generic
//===----------------------------------------------------------------------===//

bool isPointwise(linalg::GenericOp op) {
  if (!llvm::all_of(op.getIteratorTypesArray(), isParallel))
    return false;
  for (OpOperand &init : op.getDpsInitsMutable())
    if (!op.getMatchingIndexingMap(&init).isIdentity() ||
        op.payloadUsesValueFromOperand(&init))
      return false;
  return true;
}

/// True where every element of `init` is one known scalar.
static bool isSplat(Value init) {
  DenseElementsAttr constant;
  return init.getDefiningOp<linalg::FillOp>() ||
         (matchPattern(init, m_Constant(&constant)) && constant.isSplat());
}

static TensorRead throughViews(Value tensor, AffineMap map,
                               ArrayRef<int64_t> sizes) {
  while (auto view = tensor.getDefiningOp<tg::ViewOp>()) {
    map = view.getMap().compose(map);
    tensor = view.getSource();
  }
  return {tensor, simplifyInRange(map, sizes)};
}

static Generic describe(linalg::GenericOp op) {
  Generic info;
  info.op = op;
  info.sizes = op.getStaticLoopRanges();
  info.isReduction = llvm::any_of(op.getIteratorTypesArray(), isReduction);
  for (OpOperand *input : op.getDpsInputOperands())
    if (op.payloadUsesValueFromOperand(input))
      info.reads.push_back(throughViews(
          input->get(), op.getMatchingIndexingMap(input), info.sizes));
  op.getRegion().walk([&](Operation *inner) {
    for (Value operand : inner->getOperands()) {
      if (!isa<RankedTensorType>(operand.getType()))
        continue;
      if (!isa<tensor::ExtractOp>(inner))
        info.problem = "uses a whole tensor in '" +
                       inner->getName().getStringRef().str() + "'";
      Value tensor = operand;
      while (auto view = tensor.getDefiningOp<tg::ViewOp>())
        tensor = view.getSource();
      if (!llvm::is_contained(info.extracted, tensor))
        info.extracted.push_back(tensor);
    }
  });
  if (!info.isReduction && !isPointwise(op))
    info.problem = "writes its results in another order than its loops";
  if (info.isReduction)
    for (OpOperand &init : op.getDpsInitsMutable()) {
      AffineMap map = op.getMatchingIndexingMap(&init);
      if (!map.isProjectedPermutation())
        info.problem = "writes its results at computed indices";
      else if (!isSplat(init.get()))
        info.problem = "reduces into a tensor that is not one scalar";
      unsigned numParallel =
          llvm::count_if(op.getIteratorTypesArray(), isParallel);
      if (map.getNumResults() != numParallel)
        info.problem = "has results of different shapes";
    }
  return info;
}

KernelLoopsCache::KernelLoopsCache() = default;
KernelLoopsCache::~KernelLoopsCache() = default;

Generic &KernelLoopsCache::get(linalg::GenericOp op) {
  std::unique_ptr<Generic> &slot = generics[op];
  if (!slot)
    slot = std::make_unique<Generic>(describe(op));
  return *slot;
}

//===----------------------------------------------------------------------===//
// A group
//===----------------------------------------------------------------------===//

namespace {

class GroupAnalysis {
public:
  GroupAnalysis(KernelLoopsCache &cache, ArrayRef<Operation *> ops,
                ArrayRef<Value> outputs, std::string &why)
      : cache(cache), ops(ops), outputs(outputs), why(why) {}

  FailureOr<KernelLoops> run();

private:
  struct Root {
    Generic *info;
    AffineMap loopMap; ///< null until it is placed
    bool isInner = false;
    unsigned stage = 0;
    SmallVector<TensorRead> reads; ///< over its own loops, through the group
    SmallVector<TensorRead> kernelReads; ///< the same over the kernel's loops
  };

  LogicalResult fail(const Twine &reason) {
    why = reason.str();
    return failure();
  }
  static std::string quoted(Generic &info) {
    return "'" + nodeName(info.op) + "'";
  }

  LogicalResult collectRoots();
  void collectReads(Root &root);
  LogicalResult setLoops(Root &base);
  LogicalResult place(Root &root);
  LogicalResult tryMap(Root &root, AffineMap map, bool isInner);
  void addKnown(Root &root);
  /// Index of `result` of a placed reduction, over the kernel's loops.
  AffineMap resultIndex(Root &root, OpResult result) const;
  AffineMap simplify(AffineMap map) const {
    return simplifyInRange(map, loopSizes);
  }
  bool equal(AffineMap a, AffineMap b) const;
  bool usesReductionLoops(AffineMap map) const;
  unsigned neededLoops(bool isInner) const {
    return isInner ? loopSizes.size() : parallel.size();
  }
  bool coversOnce(AffineMap map, ArrayRef<int64_t> shape, bool isInner) const;
  /// The loops of a root that reads an element of `tensor` at `rootMap`, given
  /// that an iteration touches the element at `knownMap`.
  AffineMap alignReads(Root &root, Value tensor, AffineMap rootMap,
                       AffineMap knownMap, bool isInner) const;

  KernelLoopsCache &cache;
  ArrayRef<Operation *> ops;
  ArrayRef<Value> outputs;
  std::string &why;
  llvm::MapVector<Operation *, Generic *> members;
  SmallVector<Root, 0> roots;
  llvm::DenseMap<Operation *, unsigned> rootNumber;
  SmallVector<unsigned> placed; ///< in the order of placing
  SmallVector<int64_t> parallel, loopSizes;
  /// Elements that an iteration touches for the sake of placed roots.
  SmallVector<TensorRead> known;
};

LogicalResult GroupAnalysis::collectRoots() {
  for (Operation *op : ops)
    if (auto generic = dyn_cast<linalg::GenericOp>(op)) {
      Generic &info = cache.get(generic);
      if (!info.problem.empty())
        return fail(quoted(info) + " " + info.problem);
      members.insert({op, &info});
    }
  for (Value output : outputs)
    if (isa_and_present<tg::ViewOp>(output.getDefiningOp()))
      return fail("a view cannot leave a kernel");
  for (auto [op, info] : members)
    if (info->isReduction || llvm::any_of(op->getResults(), [&](Value result) {
          return llvm::is_contained(outputs, result);
        })) {
      rootNumber[op] = roots.size();
      roots.push_back({info, {}, false, 0, {}, {}});
    }
  if (roots.empty())
    return fail("nothing in the group is read outside");
  return success();
}

/// Reads of `root` over its own loops: those of its own body, and those of the
/// pointwise generics that it evaluates.
void GroupAnalysis::collectReads(Root &root) {
  SmallVector<TensorRead> &reads = root.reads;
  llvm::DenseSet<std::pair<Value, AffineMap>> seen;
  auto add = [&](const TensorRead &read) {
    if (seen.insert({read.tensor, read.map}).second)
      reads.push_back(read);
  };
  for (const TensorRead &read : root.info->reads)
    add(read);
  for (size_t i = 0; i < reads.size(); ++i) {
    auto it = members.find(reads[i].tensor.getDefiningOp());
    if (it == members.end() || it->second->isReduction)
      continue;
    AffineMap at = reads[i].map;
    for (const TensorRead &inner : it->second->reads)
      add({inner.tensor,
           simplifyInRange(inner.map.compose(at), root.info->sizes)});
  }
}

/// Divisors by which the reads of a root take its loop `dim` apart, ascending,
/// each a multiple of the one before and a divisor of the size.
static SmallVector<int64_t> divisorsOf(ArrayRef<TensorRead> reads, unsigned dim,
                                       int64_t size) {
  SmallVector<int64_t> divisors;
  for (const TensorRead &read : reads)
    for (AffineExpr result : read.map.getResults())
      result.walk([&](AffineExpr expr) {
        auto binary = dyn_cast<AffineBinaryOpExpr>(expr);
        if (!binary || (expr.getKind() != AffineExprKind::FloorDiv &&
                        expr.getKind() != AffineExprKind::Mod))
          return;
        auto divisor = dyn_cast<AffineConstantExpr>(binary.getRHS());
        if (!divisor || divisor.getValue() <= 0)
          return;
        int64_t value = divisor.getValue();
        AffineExpr inner = binary.getLHS();
        // (d floordiv a) mod b has its next digit at a * b.
        if (auto quotient = dyn_cast<AffineBinaryOpExpr>(inner);
            quotient && inner.getKind() == AffineExprKind::FloorDiv)
          if (auto first = dyn_cast<AffineConstantExpr>(quotient.getRHS())) {
            inner = quotient.getLHS();
            value *= first.getValue();
          }
        auto loop = dyn_cast<AffineDimExpr>(inner);
        if (loop && loop.getPosition() == dim)
          divisors.push_back(value);
      });
  llvm::sort(divisors);
  SmallVector<int64_t> chain;
  for (int64_t divisor : divisors)
    if (divisor > (chain.empty() ? 1 : chain.back()) && divisor < size &&
        size % divisor == 0 && (chain.empty() || divisor % chain.back() == 0))
      chain.push_back(divisor);
  return chain;
}

/// Takes the loops of `base`, parallel ones first. A loop that reads take apart
/// (`d0 floordiv 64`, `d0 mod 64`) becomes one loop a part: addresses are then
/// sums of strides.
LogicalResult GroupAnalysis::setLoops(Root &base) {
  Generic &info = *base.info;
  MLIRContext *context = info.op.getContext();
  SmallVector<utils::IteratorType> iterators = info.op.getIteratorTypesArray();
  SmallVector<AffineExpr> index(info.sizes.size(),
                                getAffineConstantExpr(0, context));
  for (bool wantsParallel : {true, false}) {
    for (auto [i, size] : llvm::enumerate(info.sizes)) {
      if (isParallel(iterators[i]) != wantsParallel)
        continue;
      SmallVector<int64_t> divisors = divisorsOf(base.reads, i, size);
      divisors.insert(divisors.begin(), 1);
      int64_t above = size;
      for (int64_t divisor : llvm::reverse(divisors)) {
        index[i] =
            index[i] + getAffineDimExpr(loopSizes.size(), context) * divisor;
        loopSizes.push_back(above / divisor);
        above = divisor;
      }
    }
    if (wantsParallel)
      parallel = loopSizes;
  }
  return tryMap(base,
                simplify(AffineMap::get(loopSizes.size(), 0, index, context)),
                info.isReduction);
}

bool GroupAnalysis::equal(AffineMap a, AffineMap b) const {
  if (a == b)
    return true;
  // Sums may be spelled in another order: compare by difference.
  for (auto [left, right] : llvm::zip_equal(a.getResults(), b.getResults()))
    if (simplifyInRange(left - right, loopSizes) != 0)
      return false;
  return true;
}

bool GroupAnalysis::usesReductionLoops(AffineMap map) const {
  for (unsigned i = parallel.size(), e = loopSizes.size(); i < e; ++i)
    if (map.isFunctionOfDim(i))
      return true;
  return false;
}

bool GroupAnalysis::coversOnce(AffineMap map, ArrayRef<int64_t> shape,
                               bool isInner) const {
  return denseDigits(simplifyInRange(linearize(map, shape), loopSizes),
                     loopSizes, neededLoops(isInner), product(shape))
      .has_value();
}

AffineMap GroupAnalysis::resultIndex(Root &root, OpResult result) const {
  linalg::GenericOp op = root.info->op;
  OpOperand *init = op.getDpsInitOperand(result.getResultNumber());
  return simplify(op.getMatchingIndexingMap(init).compose(root.loopMap));
}

AffineMap GroupAnalysis::alignReads(Root &root, Value tensor, AffineMap rootMap,
                                    AffineMap knownMap, bool isInner) const {
  ArrayRef<int64_t> shape = shapeOf(tensor), sizes = root.info->sizes;
  auto digits = denseDigits(simplifyInRange(linearize(rootMap, shape), sizes),
                            sizes, sizes.size(), product(shape));
  if (!digits || !coversOnce(knownMap, shape, isInner))
    return {};
  AffineExpr position = linearize(knownMap, shape);
  return simplify(AffineMap::get(
      loopSizes.size(), 0, indexFromDigits(*digits, sizes.size(), position),
      position.getContext()));
}

/// Accepts `map` if every read of a reduction's result meets the element that
/// the parallel iteration computes. Sets the stage.
LogicalResult GroupAnalysis::tryMap(Root &root, AffineMap map, bool isInner) {
  root.loopMap = map;
  root.isInner = isInner;
  root.stage = 0;
  auto reject = [&](const Twine &reason) {
    root.loopMap = {};
    return fail(reason);
  };
  if (root.info->isReduction) {
    // One result for each parallel iteration, and none that several share.
    int64_t numResults = 1;
    for (auto [iterator, size] : llvm::zip_equal(
             root.info->op.getIteratorTypesArray(), root.info->sizes))
      numResults *= isParallel(iterator) ? size : 1;
    bool sharesResults = numResults != product(parallel);
    for (OpResult result : root.info->op->getResults())
      if (sharesResults || usesReductionLoops(resultIndex(root, result)))
        return reject(quoted(*root.info) + " reduces over other loops than " +
                      quoted(*roots[placed.front()].info));
  }
  for (const TensorRead &read : root.reads) {
    auto it = rootNumber.find(read.tensor.getDefiningOp());
    if (it == rootNumber.end() || !roots[it->second].info->isReduction)
      continue;
    Root &source = roots[it->second];
    if (!source.loopMap ||
        !equal(simplify(read.map.compose(map)),
               resultIndex(source, cast<OpResult>(read.tensor))))
      return reject(quoted(*root.info) + " reads the reduction " +
                    quoted(*source.info) +
                    " at other elements than one iteration computes");
    root.stage = std::max(root.stage, source.stage + (isInner ? 1 : 0));
  }
  return success();
}

void GroupAnalysis::addKnown(Root &root) {
  for (OpResult result : root.info->op->getResults())
    known.push_back({result, resultIndex(root, result)});
  for (const TensorRead &read : root.reads)
    root.kernelReads.push_back(
        {read.tensor, simplify(read.map.compose(root.loopMap))});
  known.append(root.kernelReads);
}

LogicalResult GroupAnalysis::place(Root &root) {
  Generic &info = *root.info;
  Root &base = roots[placed.front()];
  int64_t elements = product(info.sizes);
  bool isInner = loopSizes.size() > parallel.size() &&
                 (info.isReduction || elements != product(parallel));
  if (elements != product(isInner ? ArrayRef<int64_t>(loopSizes) : parallel))
    return fail("the loops of " + quoted(info) + " (" + sizesText(info.sizes) +
                ") do not fit those of " + quoted(*base.info) + " (" +
                sizesText(base.info->sizes) + ")");
  MLIRContext *context = info.op.getContext();
  // An empty space has no positions to compare.
  if (elements == 0) {
    if (info.sizes != base.info->sizes)
      return fail(quoted(info) + " has empty loops");
    return tryMap(root, base.loopMap, isInner);
  }
  why.clear();
  auto accept = [&](AffineMap map) {
    return map && succeeded(tryMap(root, map, isInner));
  };
  // The index at which placed roots read this one, and this one reads them.
  for (const TensorRead &use : known)
    if (use.tensor.getDefiningOp() == info.op && !info.isReduction &&
        coversOnce(use.map, info.sizes, isInner) && accept(use.map))
      return success();
  for (bool isResult : {true, false}) {
    for (const TensorRead &read : root.reads) {
      if (rootNumber.contains(read.tensor.getDefiningOp()) != isResult)
        continue;
      for (const TensorRead &use : known)
        if (use.tensor == read.tensor &&
            accept(alignReads(root, read.tensor, read.map, use.map, isInner)))
          return success();
    }
    if (!isResult)
      continue;
    // The same position in the loops of a placed root: those of the same shape
    // first.
    auto sameLoops = [&](ArrayRef<int64_t> sizes, AffineMap map) {
      return accept(
          simplify(reshapeMap(info.sizes, sizes, context).compose(map)));
    };
    for (bool sameShape : {true, false})
      for (unsigned number : placed) {
        Root &other = roots[number];
        if (other.isInner == isInner &&
            (other.info->sizes == info.sizes) == sameShape &&
            sameLoops(other.info->sizes, other.loopMap))
          return success();
      }
    unsigned numLoops = loopSizes.size(), numParallel = parallel.size();
    // getMajorSubMap() is null for a map without results.
    AffineMap parallelLoops =
        numParallel == 0 ? AffineMap::get(numLoops, 0, context)
                         : AffineMap::getMultiDimIdentityMap(numLoops, context)
                               .getMajorSubMap(numParallel);
    if (!isInner && sameLoops(parallel, parallelLoops))
      return success();
    if (!info.isReduction)
      continue;
    // Parallel to parallel and reduction to reduction loops.
    SmallVector<unsigned> dims[2];
    for (auto [i, iterator] : llvm::enumerate(info.op.getIteratorTypesArray()))
      dims[isReduction(iterator)].push_back(i);
    SmallVector<AffineExpr> loops(info.sizes.size());
    ArrayRef<int64_t> kernelSizes[2] = {
        parallel, ArrayRef<int64_t>(loopSizes).drop_front(numParallel)};
    bool fits = true;
    for (int kind : {0, 1}) {
      SmallVector<int64_t> sizes;
      for (unsigned dim : dims[kind])
        sizes.push_back(info.sizes[dim]);
      if (product(sizes) != product(kernelSizes[kind])) {
        fits = false;
        break;
      }
      AffineMap map = reshapeMap(sizes, kernelSizes[kind], context);
      for (auto [dim, expr] : llvm::zip_equal(dims[kind], map.getResults()))
        loops[dim] =
            kind ? expr.shiftDims(map.getNumDims(), numParallel) : expr;
    }
    if (fits && accept(simplify(AffineMap::get(numLoops, 0, loops, context))))
      return success();
  }
  if (why.empty())
    why = "found no common loops for " + quoted(info) + " (" +
          sizesText(info.sizes) + ") and " + quoted(*base.info) + " (" +
          sizesText(base.info->sizes) + ")";
  return failure();
}

FailureOr<KernelLoops> GroupAnalysis::run() {
  if (failed(collectRoots()))
    return failure();
  unsigned base = 0;
  for (auto [i, root] : llvm::enumerate(roots)) {
    if (root.info->isReduction) {
      base = i;
      break;
    }
    if (root.info->sizes.size() > roots[base].info->sizes.size())
      base = i;
  }
  for (Root &root : roots)
    collectReads(root);
  placed.push_back(base);
  if (failed(setLoops(roots[base])))
    return failure();
  addKnown(roots[base]);
  for (auto [i, root] : llvm::enumerate(roots)) {
    if (i == base)
      continue;
    if (failed(place(root)))
      return failure();
    placed.push_back(i);
    addKnown(root);
  }

  // What is read at a computed index cannot wait for this iteration.
  SmallVector<Value> pending;
  for (auto [op, info] : members)
    pending.append(info->extracted);
  llvm::DenseSet<Operation *> seen;
  while (!pending.empty()) {
    auto it = members.find(pending.pop_back_val().getDefiningOp());
    if (it == members.end() || !seen.insert(it->first).second)
      continue;
    if (it->second->isReduction) {
      return fail("the reduction " + quoted(*it->second) +
                  " is read at a computed index");
    }
    for (const TensorRead &read : it->second->reads)
      pending.push_back(read.tensor);
  }

  KernelLoops result;
  result.parallel = parallel;
  result.reduction.assign(loopSizes.begin() + parallel.size(), loopSizes.end());
  for (Root &root : roots)
    result.roots.push_back({root.info->op, root.loopMap, root.isInner,
                            root.stage, root.kernelReads});
  return result;
}

} // namespace

FailureOr<KernelLoops> KernelLoopsCache::analyze(ArrayRef<Operation *> ops,
                                                 ArrayRef<Value> outputs,
                                                 std::string &why) {
  return GroupAnalysis(*this, ops, outputs, why).run();
}

FailureOr<KernelLoops> analyzeKernelLoops(ArrayRef<Operation *> ops,
                                          ArrayRef<Value> outputs,
                                          std::string &why) {
  return KernelLoopsCache().analyze(ops, outputs, why);
}

} // namespace gcompile
