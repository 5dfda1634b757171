//===- MergeMatmuls.cpp - one product for products of one matrix ----------===//
// x * [a b c] instead of x * a, x * b, x * c where a, b, c are weights: their
// concatenation is computed once, in @prepare. What the products' readers have
// in common (a bias, a narrowing) is done once on the wide result, so that it
// stays an epilogue; the rest reads slices.
#include "FixedValues.h"
#include "Generics.h"
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/IndexMaps.h"
#include "gcompile/ir/KernelLoops.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "llvm/ADT/MapVector.h"

namespace gcompile {
#define GEN_PASS_DEF_MERGEMATMULSPASS
#include "gcompile/passes/Passes.h.inc"

using namespace mlir;

namespace {

RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// Pointwise generics, one a part, that do the same to their parts.
struct CommonReaders {
  SmallVector<linalg::GenericOp> ops;
  unsigned partNumber; ///< which operand the part is
  unsigned loopDim;    ///< the loop along which the parts lie
  /// For each operand, the dimension along which the parts' weights are joined;
  /// none where all read the same.
  SmallVector<std::optional<unsigned>> joinedDims;
};

class MergeMatmulsPass : public impl::MergeMatmulsPassBase<MergeMatmulsPass> {
  void runOnOperation() override;

  void merge(ArrayRef<tg::MatmulOp> products);
  std::optional<CommonReaders> findCommonReaders(ArrayRef<Value> parts,
                                                 unsigned dim);
  Value mergeReaders(const CommonReaders &readers, Value whole);
  Value concatenate(Location loc, ArrayRef<Value> values, unsigned dim,
                    Operation *before);
  Value concatenateThroughViews(Location loc, ArrayRef<Value> values,
                                unsigned dim, Operation *before);
  void hoist(Value value, Operation *before);

  std::optional<FixedValues> fixed;
};

//===----------------------------------------------------------------------===//
// Concatenation
//===----------------------------------------------------------------------===//

/// Moves what computes a fixed value before `before`; it depends on weights
/// only.
void MergeMatmulsPass::hoist(Value value, Operation *before) {
  Operation *op = value.getDefiningOp();
  if (!op || op->getBlock() != before->getBlock() ||
      op->isBeforeInBlock(before))
    return;
  for (Value operand : op->getOperands())
    hoist(operand, before);
  for (Value captured : capturedValues(op))
    hoist(captured, before);
  op->moveBefore(before);
}

/// A pointwise generic that picks the right source by index.
Value MergeMatmulsPass::concatenate(Location loc, ArrayRef<Value> values,
                                    unsigned dim, Operation *before) {
  SmallVector<int64_t> shape(typeOf(values[0]).getShape());
  shape[dim] = 0;
  for (Value value : values) {
    hoist(value, before);
    shape[dim] += typeOf(value).getDimSize(dim);
  }
  OpBuilder builder(before);
  Type element = typeOf(values[0]).getElementType();
  Value init = builder.create<tensor::EmptyOp>(loc, shape, element);
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  auto body = [&](OpBuilder &b, Location l, ValueRange) {
    SmallVector<Value> index;
    for (unsigned i = 0; i < shape.size(); ++i)
      index.push_back(b.create<linalg::IndexOp>(l, i));
    // One branch a source, the last without a test.
    std::function<Value(OpBuilder &, size_t, int64_t)> pick =
        [&](OpBuilder &b, size_t i, int64_t offset) -> Value {
      auto extract = [&](OpBuilder &b) -> Value {
        SmallVector<Value> at(index);
        if (offset)
          at[dim] = b.create<arith::SubIOp>(
              l, at[dim], b.create<arith::ConstantIndexOp>(l, offset));
        return b.create<tensor::ExtractOp>(l, values[i], at);
      };
      if (i + 1 == values.size())
        return extract(b);
      int64_t end = offset + typeOf(values[i]).getDimSize(dim);
      Value isHere =
          b.create<arith::CmpIOp>(l, arith::CmpIPredicate::slt, index[dim],
                                  b.create<arith::ConstantIndexOp>(l, end));
      return b
          .create<scf::IfOp>(
              l, isHere,
              [&](OpBuilder &b, Location) {
                b.create<scf::YieldOp>(l, extract(b));
              },
              [&](OpBuilder &b, Location) {
                b.create<scf::YieldOp>(l, pick(b, i + 1, end));
              })
          .getResult(0);
    };
    b.create<linalg::YieldOp>(l, pick(b, 0, 0));
  };
  auto result = builder.create<linalg::GenericOp>(
      loc, init.getType(), ValueRange(), init,
      builder.getMultiDimIdentityMap(shape.size()), iterators, body);
  fixed->add(init.getDefiningOp());
  fixed->add(result);
  return result.getResult(0);
}

/// Where all values are the same permuting view of weights, joins the weights
/// themselves: rows stay rows.
Value MergeMatmulsPass::concatenateThroughViews(Location loc,
                                                ArrayRef<Value> values,
                                                unsigned dim,
                                                Operation *before) {
  auto view = values[0].getDefiningOp<tg::ViewOp>();
  auto place = [&]() -> std::optional<unsigned> {
    if (!view || !view.getMap().isProjectedPermutation())
      return std::nullopt;
    SmallVector<int64_t> rest(typeOf(view.getSource()).getShape());
    auto position = view.getMap().getResultPosition(
        getAffineDimExpr(dim, view.getContext()));
    if (!position)
      return std::nullopt;
    for (Value value : values) {
      auto other = value.getDefiningOp<tg::ViewOp>();
      if (!other || other.getMap() != view.getMap())
        return std::nullopt;
      SmallVector<int64_t> shape(typeOf(other.getSource()).getShape());
      // A slice is no permutation, though its map may look like one.
      if (shape[*position] != typeOf(value).getDimSize(dim))
        return std::nullopt;
      shape[*position] = rest[*position];
      if (shape != rest)
        return std::nullopt;
    }
    return position;
  }();
  if (!place)
    return concatenate(loc, values, dim, before);
  SmallVector<Value> sources;
  SmallVector<int64_t> shape(typeOf(values[0]).getShape());
  shape[dim] = 0;
  for (Value value : values) {
    sources.push_back(value.getDefiningOp<tg::ViewOp>().getSource());
    shape[dim] += typeOf(value).getDimSize(dim);
  }
  Value joined = concatenate(loc, sources, *place, before);
  OpBuilder builder(before);
  auto result = builder.create<tg::ViewOp>(
      loc, RankedTensorType::get(shape, typeOf(joined).getElementType()),
      joined, view.getMap());
  fixed->add(result);
  return result;
}

//===----------------------------------------------------------------------===//
// May we?
//===----------------------------------------------------------------------===//

/// The one op that reads `value`, or null.
Operation *onlyReader(Value value) {
  return value.hasOneUse() ? *value.user_begin() : nullptr;
}

/// True if every structured op that reads `value`, through views, can still do
/// so by strides when `value` is a slice of something wider along `dim`.
bool readersAcceptSlice(Value value, AffineMap map, ArrayRef<int64_t> wideShape,
                        ArrayRef<int64_t> shape) {
  for (Operation *user : value.getUsers()) {
    if (auto view = dyn_cast<tg::ViewOp>(user)) {
      if (!readersAcceptSlice(view.getResult(), map.compose(view.getMap()),
                              wideShape, view.getType().getShape()))
        return false;
      continue;
    }
    if (isa<linalg::GenericOp>(user) ||
        user->getParentOfType<linalg::GenericOp>())
      continue;
    AffineExpr position = simplifyInRange(linearize(map, wideShape), shape);
    if (!tg::isStructuredOp(user) || !getStridedForm(position, shape.size()))
      return false;
  }
  return true;
}

/// Follows pointwise generics that alone read their producers from each value;
/// true if all meet in one (a gate multiplied with its partner).
bool meetInOneReader(ArrayRef<Value> values) {
  Operation *common = nullptr;
  for (Value value : values) {
    llvm::SmallPtrSet<Operation *, 4> chain;
    Operation *last = nullptr;
    while (Operation *reader = onlyReader(value)) {
      auto generic = dyn_cast<linalg::GenericOp>(reader);
      if (!generic || !isPointwise(generic))
        break;
      last = generic;
      chain.insert(last);
      if (common && last == common)
        break;
      value = generic.getResult(0);
    }
    if (!last || (common && !chain.contains(common)))
      return false;
    if (!common)
      common = last;
  }
  return true;
}

/// True if `value` is read by one pointwise generic, which may be its epilogue.
bool hasEpilogue(Value value) {
  auto generic = dyn_cast_or_null<linalg::GenericOp>(onlyReader(value));
  return generic && isPointwise(generic);
}

//===----------------------------------------------------------------------===//
// Readers that do the same
//===----------------------------------------------------------------------===//

/// The generics that alone read the parts, if these lie along `dim` of one
/// tensor and the generics differ only in weights along it.
std::optional<CommonReaders>
MergeMatmulsPass::findCommonReaders(ArrayRef<Value> parts, unsigned dim) {
  CommonReaders result;
  SmallVector<SmallVector<int64_t>> loops;
  for (Value part : parts) {
    auto generic = dyn_cast_or_null<linalg::GenericOp>(onlyReader(part));
    if (!generic || !isPointwise(generic) || generic.getNumResults() != 1 ||
        llvm::is_contained(result.ops, generic))
      return std::nullopt;
    result.ops.push_back(generic);
    loops.push_back(generic.getStaticLoopRanges());
  }
  linalg::GenericOp first = result.ops[0];
  SmallVector<AffineMap> maps = first.getIndexingMapsArray();
  result.partNumber =
      llvm::find(first.getInputs(), parts[0]) - first.getInputs().begin();

  // Which loop runs along the parts?
  AffineMap partMap = maps[result.partNumber];
  auto loop = dyn_cast<AffineDimExpr>(partMap.getResult(dim));
  if (!loop)
    return std::nullopt;
  result.loopDim = loop.getPosition();
  for (unsigned i = 0; i < partMap.getNumResults(); ++i)
    if (i != dim && partMap.getResult(i).isFunctionOfDim(result.loopDim))
      return std::nullopt;

  for (auto [i, reader] : llvm::enumerate(result.ops)) {
    SmallVector<int64_t> sizes(loops[i]);
    bool fits = sizes.size() == loops[0].size() &&
                sizes[result.loopDim] == typeOf(parts[i]).getDimSize(dim);
    if (!fits)
      return std::nullopt;
    sizes[result.loopDim] = loops[0][result.loopDim];
    bool readsByIndex = false;
    reader.getRegion().walk([&](Operation *op) {
      readsByIndex |= isa<tensor::ExtractOp, linalg::IndexOp>(op);
    });
    if (sizes != loops[0] || readsByIndex ||
        reader.getIndexingMaps() != first.getIndexingMaps() ||
        reader.getInputs()[result.partNumber] != parts[i] ||
        getElementTypeOrSelf(reader.getResult(0)) !=
            getElementTypeOrSelf(first.getResult(0)) ||
        !OperationEquivalence::isRegionEquivalentTo(
            &first.getRegion(), &reader.getRegion(),
            OperationEquivalence::IgnoreLocations))
      return std::nullopt;
  }
  result.joinedDims.resize(first.getNumDpsInputs());
  for (auto [n, joined] : llvm::enumerate(result.joinedDims)) {
    if (n == result.partNumber)
      continue;
    for (auto [i, expr] : llvm::enumerate(maps[n].getResults()))
      if (expr.isFunctionOfDim(result.loopDim)) {
        if (expr != loop || joined)
          return std::nullopt;
        joined = i;
      }
    for (auto [i, reader] : llvm::enumerate(result.ops)) {
      Value input = reader.getInputs()[n];
      bool matches =
          joined ? typeOf(input).getDimSize(*joined) == loops[i][result.loopDim]
                 : input == first.getInputs()[n];
      if (!matches || !fixed->contains(input))
        return std::nullopt;
    }
  }
  return result;
}

/// One generic over `whole` that does what `readers` do to its parts.
Value MergeMatmulsPass::mergeReaders(const CommonReaders &readers,
                                     Value whole) {
  linalg::GenericOp first = readers.ops[0];
  Operation *before = whole.getDefiningOp()->getNextNode();
  SmallVector<Value> inputs;
  SmallVector<Location> locs;
  for (linalg::GenericOp reader : readers.ops)
    locs.push_back(reader.getLoc());
  OpBuilder builder(before);
  Location loc = builder.getFusedLoc(locs);
  for (auto [n, joined] : llvm::enumerate(readers.joinedDims)) {
    Value input = first.getInputs()[n];
    if (n == readers.partNumber) {
      input = whole;
    } else if (joined) {
      SmallVector<Value> weights;
      for (linalg::GenericOp reader : readers.ops)
        weights.push_back(reader.getInputs()[n]);
      input = concatenateThroughViews(loc, weights, *joined, before);
    } else {
      hoist(input, before);
    }
    inputs.push_back(input);
  }
  for (Value captured : capturedValues(first))
    hoist(captured, before);

  SmallVector<int64_t> shape(typeOf(first.getResult(0)).getShape());
  shape[readers.loopDim] = 0;
  for (linalg::GenericOp reader : readers.ops)
    shape[readers.loopDim] +=
        typeOf(reader.getResult(0)).getDimSize(readers.loopDim);
  Value init = builder.create<tensor::EmptyOp>(
      loc, shape, getElementTypeOrSelf(first.getResult(0)));
  auto merged = builder.create<linalg::GenericOp>(
      loc, init.getType(), inputs, init, first.getIndexingMapsArray(),
      first.getIteratorTypesArray());
  IRMapping mapping;
  first.getRegion().cloneInto(&merged.getRegion(), mapping);
  return merged.getResult(0);
}

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

void MergeMatmulsPass::merge(ArrayRef<tg::MatmulOp> products) {
  auto refuse = [&](StringRef why) {
    count(&getContext(), ("tg-merge-matmuls.refused-" + why).str());
  };
  SmallVector<Value> parts;
  for (tg::MatmulOp product : products)
    parts.push_back(product.getResult());
  unsigned dim = typeOf(parts[0]).getRank() - 1;
  SmallVector<CommonReaders> levels;
  while (auto readers = findCommonReaders(parts, dim)) {
    dim = readers->loopDim;
    for (auto [part, op] : llvm::zip_equal(parts, readers->ops))
      part = op.getResult(0);
    levels.push_back(std::move(*readers));
  }
  // Each product could have had its own epilogue; on slices it cannot.
  if (levels.empty() && llvm::any_of(parts, hasEpilogue) &&
      !meetInOneReader(parts))
    return refuse("epilogues");

  SmallVector<int64_t> wideShape(typeOf(parts[0]).getShape());
  wideShape[dim] = 0;
  for (Value part : parts)
    wideShape[dim] += typeOf(part).getDimSize(dim);
  SmallVector<AffineMap> slices;
  int64_t offset = 0;
  for (Value part : parts) {
    SmallVector<AffineExpr> exprs;
    for (int64_t i = 0; i < typeOf(part).getRank(); ++i)
      exprs.push_back(getAffineDimExpr(i, &getContext()));
    exprs[dim] = exprs[dim] + offset;
    offset += typeOf(part).getDimSize(dim);
    slices.push_back(AffineMap::get(exprs.size(), 0, exprs, &getContext()));
    if (!readersAcceptSlice(part, slices.back(), wideShape,
                            typeOf(part).getShape()))
      return refuse("layout");
  }

  tg::MatmulOp first = products[0];
  SmallVector<Value> weights;
  SmallVector<Location> locs;
  for (tg::MatmulOp product : products) {
    weights.push_back(product.getRhs());
    locs.push_back(product.getLoc());
  }
  int64_t last = typeOf(first.getRhs()).getRank() - 1;
  OpBuilder builder(first);
  Location loc = builder.getFusedLoc(locs);
  Value joined = concatenateThroughViews(loc, weights, last, first);
  SmallVector<int64_t> shape(typeOf(first.getResult()).getShape());
  shape.back() = typeOf(joined).getDimSize(last);
  Value whole = builder.create<tg::MatmulOp>(
      loc,
      RankedTensorType::get(shape, getElementTypeOrSelf(first.getResult())),
      first.getLhs(), joined);
  for (const CommonReaders &readers : levels)
    whole = mergeReaders(readers, whole);
  builder.setInsertionPointAfterValue(whole);
  for (auto [part, slice] : llvm::zip_equal(parts, slices))
    part.replaceAllUsesWith(builder.create<tg::ViewOp>(
        part.getLoc(), part.getType(), whole, slice));
  for (const CommonReaders &readers : llvm::reverse(levels))
    for (linalg::GenericOp op : readers.ops)
      op.erase();
  for (tg::MatmulOp product : products)
    product.erase();
  count(&getContext(), "tg-merge-matmuls.merged", products.size());
  count(&getContext(), "tg-merge-matmuls.groups");
  count(&getContext(), "tg-merge-matmuls.epilogues", levels.size());
}

void MergeMatmulsPass::runOnOperation() {
  auto forward = getOperation().lookupSymbol<func::FuncOp>("forward");
  if (!forward)
    return;
  fixed.emplace(forward);
  // Products of one matrix, seen through the same views.
  using Key = std::tuple<Value, AffineMap, Type>;
  llvm::MapVector<Key, SmallVector<tg::MatmulOp>> byMatrix;
  for (auto product : forward.getBody().front().getOps<tg::MatmulOp>()) {
    if (!fixed->contains(product.getRhs()) || fixed->contains(product.getLhs()))
      continue;
    Value lhs = product.getLhs();
    RankedTensorType type = typeOf(lhs);
    AffineMap map =
        AffineMap::getMultiDimIdentityMap(type.getRank(), &getContext());
    while (auto view = lhs.getDefiningOp<tg::ViewOp>()) {
      map = simplifyInRange(view.getMap().compose(map), type.getShape());
      lhs = view.getSource();
    }
    byMatrix[{lhs, map, type}].push_back(product);
  }
  for (auto &[key, products] : byMatrix)
    if (products.size() > 1)
      merge(products);
}

} // namespace
} // namespace gcompile
