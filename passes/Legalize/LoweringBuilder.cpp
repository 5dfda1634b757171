//===- LoweringBuilder.cpp - loops, reductions and views on tensors -------===//
#include "Lowering.h"

#include "gcompile/ir/IndexMaps.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

#include <numeric>

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Tensor LoweringBuilder::tensor(Value aten) const {
  if (!aten)
    return {};
  Type type = aten.getType();
  if (auto ranked = dyn_cast<RankedTensorType>(type))
    type = ranked.getElementType();
  return {values.lookup(aten), type};
}

SmallVector<Tensor> LoweringBuilder::tensors(ArrayRef<Value> aten) const {
  return llvm::map_to_vector(aten, [&](Value value) { return tensor(value); });
}

RankedTensorType LoweringBuilder::type(Sizes shape, Type element) const {
  return RankedTensorType::get(shape, signless(element));
}

Value LoweringBuilder::empty(Sizes shape, Type element) {
  return builder.create<tensor::EmptyOp>(loc, shape, signless(element));
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

AffineMap LoweringBuilder::broadcastMap(Sizes from, Sizes to) const {
  assert(from.size() <= to.size() && "cannot broadcast to a smaller rank");
  SmallVector<AffineExpr> places;
  unsigned skipped = to.size() - from.size();
  for (unsigned i = 0; i < from.size(); ++i) {
    assert((from[i] == 1 || from[i] == to[i + skipped]) && "cannot broadcast");
    places.push_back(from[i] == to[i + skipped] ? dim(i + skipped)
                                                : constant(0));
  }
  return AffineMap::get(to.size(), 0, places, context);
}

Tensor LoweringBuilder::pointwise(Sizes shape, Type element,
                                  ArrayRef<Read> inputs, BodyFn body) {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  for (const Read &input : inputs) {
    operands.push_back(input.tensor.value);
    maps.push_back(input.map ? input.map
                             : broadcastMap(input.tensor.shape(), shape));
  }
  maps.push_back(identityMap(shape.size()));
  SmallVector<utils::IteratorType> iterators(shape.size(),
                                             utils::IteratorType::parallel);
  Value init = empty(shape, element);
  auto op = builder.create<linalg::GenericOp>(
      loc, init.getType(), operands, init, maps, iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        LoopBody loop(nested, loc);
        SmallVector<Scalar> elements;
        for (auto [input, argument] :
             llvm::zip_equal(inputs, arguments.drop_back()))
          elements.push_back(loop.wrap(argument, input.tensor.element));
        Scalar result = legalize::cast(body(loop, elements), element,
                                       /*elidable=*/true);
        nested.create<linalg::YieldOp>(loc, result.value);
      });
  return wrap(op.getResult(0), element);
}

Tensor LoweringBuilder::full(Sizes shape, Type element, double value) {
  return pointwise(shape, element, {}, [&](LoopBody &loop, ArrayRef<Scalar>) {
    return loop.number(value, element);
  });
}

Tensor LoweringBuilder::cast(Tensor x, Type element) {
  if (x.element == element)
    return x;
  if (signless(x.element) == signless(element) && !isa<FloatType>(element))
    return wrap(x.value, element);
  return pointwise(x.shape(), element, {x},
                   [&](LoopBody &, ArrayRef<Scalar> in) {
                     return legalize::cast(in[0], element);
                   });
}

Tensor LoweringBuilder::narrow(Tensor x, Type element) {
  if (x.element == element)
    return x;
  return pointwise(x.shape(), element, {x},
                   [](LoopBody &, ArrayRef<Scalar> in) { return in[0]; });
}

TypedAttr identityOf(ReduceKind kind, Type element) {
  Builder builder(element.getContext());
  bool isMax = kind == ReduceKind::Max, isMin = kind == ReduceKind::Min;
  if (auto type = dyn_cast<FloatType>(element)) {
    if (isMax || isMin)
      return FloatAttr::get(
          type, APFloat::getInf(type.getFloatSemantics(), /*Negative=*/isMax));
    return builder.getFloatAttr(type, kind == ReduceKind::Prod ? 1.0 : 0.0);
  }
  unsigned width = element.getIntOrFloatBitWidth();
  APInt value(width, kind == ReduceKind::Prod ? 1 : 0);
  if (isMax)
    value = isUnsigned(element) ? APInt::getMinValue(width)
                                : APInt::getSignedMinValue(width);
  if (isMin)
    value = isUnsigned(element) ? APInt::getMaxValue(width)
                                : APInt::getSignedMaxValue(width);
  return builder.getIntegerAttr(signless(element), value);
}

/// Float sums may be reordered: PyTorch promises no order either.
static Value combine(ReduceKind kind, LoopBody &loop, Scalar sum, Scalar term) {
  OpBuilder &builder = loop.builder;
  auto inAnyOrder = arith::FastMathFlags::reassoc;
  Value x = sum.value, y = term.value;
  if (sum.isFloat()) {
    switch (kind) {
    case ReduceKind::Sum:
      return builder.create<arith::AddFOp>(loop.loc, x, y, inAnyOrder);
    case ReduceKind::Prod:
      return builder.create<arith::MulFOp>(loop.loc, x, y, inAnyOrder);
    case ReduceKind::Max:
      return builder.create<arith::MaximumFOp>(loop.loc, x, y, inAnyOrder);
    case ReduceKind::Min:
      return builder.create<arith::MinimumFOp>(loop.loc, x, y, inAnyOrder);
    default:
      llvm_unreachable("not a reduction of loops");
    }
  }
  switch (kind) {
  case ReduceKind::Sum:
    return (sum + term).value;
  case ReduceKind::Prod:
    return (sum * term).value;
  case ReduceKind::Max:
    return (sum.isBool() ? sum | term : maximum(sum, term)).value;
  case ReduceKind::Min:
    return (sum.isBool() ? sum & term : minimum(sum, term)).value;
  default:
    llvm_unreachable("not a reduction of loops");
  }
}

namespace {
/// A reduction's loops as linalg wants them.
struct ReductionShape {
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  SmallVector<utils::IteratorType> iterators;
  SizeVector resultSizes;
  AffineMap resultMap;
};
} // namespace

static ReductionShape shapeOf(LoweringBuilder &b, const Loops &loops,
                              ArrayRef<Read> inputs) {
  ReductionShape shape;
  unsigned numLoops = loops.sizes.size();
  SmallVector<AffineExpr> kept;
  for (unsigned i = 0; i < numLoops; ++i) {
    bool isReduced = llvm::is_contained(loops.reduced, i);
    shape.iterators.push_back(isReduced ? utils::IteratorType::reduction
                                        : utils::IteratorType::parallel);
    if (isReduced)
      continue;
    shape.resultSizes.push_back(loops.sizes[i]);
    kept.push_back(b.dim(i));
  }
  shape.resultMap = AffineMap::get(numLoops, 0, kept, b.context);

  llvm::SmallBitVector isKnown(numLoops);
  auto note = [&](AffineMap map) {
    for (AffineExpr place : map.getResults())
      if (auto loop = dyn_cast<AffineDimExpr>(place))
        isKnown.set(loop.getPosition());
  };
  note(shape.resultMap);
  for (const Read &input : inputs) {
    assert(input.map && "a reduction says where it reads");
    shape.operands.push_back(input.tensor.value);
    shape.maps.push_back(input.map);
    note(input.map);
  }
  if (isKnown.all())
    return shape;
  // linalg takes the size of a loop from an operand that the loop alone
  // indexes.
  SizeVector domain;
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < numLoops; ++i)
    if (!isKnown[i]) {
      domain.push_back(loops.sizes[i]);
      places.push_back(b.dim(i));
    }
  shape.operands.push_back(b.empty(domain, b.builder.getI1Type()));
  shape.maps.push_back(AffineMap::get(numLoops, 0, places, b.context));
  return shape;
}

static bool runsNever(const Loops &loops) {
  return llvm::any_of(loops.reduced,
                      [&](unsigned i) { return loops.sizes[i] == 0; });
}

static Value filled(LoweringBuilder &b, Sizes shape, TypedAttr value) {
  Value scalar = b.builder.create<arith::ConstantOp>(b.loc, value);
  Value init = b.empty(shape, value.getType());
  return b.builder.create<linalg::FillOp>(b.loc, scalar, init).getResult(0);
}

static SmallVector<Scalar> elementsOf(LoopBody &loop, ArrayRef<Read> inputs,
                                      ValueRange arguments) {
  SmallVector<Scalar> elements;
  for (auto [i, input] : llvm::enumerate(inputs))
    elements.push_back(loop.wrap(arguments[i], input.tensor.element));
  return elements;
}

Tensor LoweringBuilder::reduce(ReduceKind kind, Type element,
                               const Loops &loops, ArrayRef<Read> inputs,
                               BodyFn body) {
  if (loops.reduced.empty())
    return pointwise(loops.sizes, element, inputs, body);
  ReductionShape shape = shapeOf(*this, loops, inputs);
  TypedAttr identity = identityOf(kind, element);
  if (runsNever(loops))
    return pointwise(shape.resultSizes, element, {},
                     [&](LoopBody &loop, ArrayRef<Scalar>) {
                       return loop.literal(identity, element);
                     });
  Value init = filled(*this, shape.resultSizes, identity);
  shape.maps.push_back(shape.resultMap);
  auto op = builder.create<linalg::GenericOp>(
      loc, init.getType(), shape.operands, init, shape.maps, shape.iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        LoopBody loop(nested, loc);
        Scalar term = body(loop, elementsOf(loop, inputs, arguments));
        assert(term.type == element && "a term of the sum's type");
        Scalar sum = loop.wrap(arguments.back(), element);
        nested.create<linalg::YieldOp>(loc, combine(kind, loop, sum, term));
      });
  return wrap(op.getResult(0), element);
}

Tensor LoweringBuilder::reduce(ReduceKind kind, Tensor x,
                               ArrayRef<unsigned> dims) {
  Loops loops{SizeVector(x.shape()), SmallVector<unsigned>(dims)};
  Read all(x, identityMap(x.rank()));
  return reduce(
      kind, computeType(x.element), loops, all,
      [](LoopBody &, ArrayRef<Scalar> in) { return legalize::widen(in[0]); });
}

std::pair<Tensor, Tensor> LoweringBuilder::argReduce(
    bool largest, Type element, const Loops &loops, ArrayRef<Read> inputs,
    function_ref<Candidate(LoopBody &, ArrayRef<Scalar>)> body) {
  ReductionShape shape = shapeOf(*this, loops, inputs);
  Type i64 = builder.getI64Type();
  Value values =
      filled(*this, shape.resultSizes,
             identityOf(largest ? ReduceKind::Max : ReduceKind::Min, element));
  // Every position beats this one, so an element equal to the identity wins.
  Value positions =
      filled(*this, shape.resultSizes, identityOf(ReduceKind::Min, i64));
  shape.maps.append(2, shape.resultMap);
  auto op = builder.create<linalg::GenericOp>(
      loc, TypeRange{values.getType(), positions.getType()}, shape.operands,
      ValueRange{values, positions}, shape.maps, shape.iterators,
      [&](OpBuilder &nested, Location loc, ValueRange arguments) {
        LoopBody loop(nested, loc);
        auto [value, position, isValid] =
            body(loop, elementsOf(loop, inputs, arguments));
        Scalar best = loop.wrap(arguments.drop_back().back(), element);
        Scalar bestPosition = loop.wrap(arguments.back(), i64);
        Scalar isBetter = largest ? value > best : value < best;
        Scalar isEqual = value == best;
        if (value.isFloat()) {
          isBetter = isBetter | (isNan(value) & ~isNan(best));
          isEqual = isEqual | (isNan(value) & isNan(best));
        }
        Scalar wins = isBetter | (isEqual & (position < bestPosition));
        if (isValid)
          wins = wins & isValid;
        nested.create<linalg::YieldOp>(
            loc,
            ValueRange{legalize::select(wins, value, best).value,
                       legalize::select(wins, position, bestPosition).value});
      });
  return {wrap(op.getResult(0), element), wrap(op.getResult(1), i64)};
}

//===----------------------------------------------------------------------===//
// Scatters and scans
//===----------------------------------------------------------------------===//

Tensor LoweringBuilder::scatter(
    ReduceKind kind, Tensor base, Sizes domain, ArrayRef<Read> inputs,
    function_ref<Write(LoopBody &, ArrayRef<Scalar>)> body) {
  if (ShapedType::getNumElements(domain) == 0 || base.numElements() == 0)
    return base;
  if (kind == ReduceKind::Sum || kind == ReduceKind::Prod) {
    Type wide = computeType(base.element);
    if (wide != base.element)
      return narrow(scatter(kind, cast(base, wide), domain, inputs, body),
                    base.element);
    if (base.element.isInteger(1))
      kind = kind == ReduceKind::Sum ? ReduceKind::Max : ReduceKind::Min;
  }
  SmallVector<Value> operands;
  SmallVector<AffineMap> maps;
  SmallVector<Type> argumentTypes(domain.size(), builder.getIndexType());
  for (const Read &input : inputs) {
    operands.push_back(input.tensor.value);
    maps.push_back(input.map ? input.map : identityMap(domain.size()));
    argumentTypes.push_back(signless(input.tensor.element));
  }
  auto op = builder.create<tg::ScatterOp>(
      loc, base.value.getType(), operands, base.value,
      builder.getDenseI64ArrayAttr(domain), builder.getAffineMapArrayAttr(maps),
      tg::ReduceKindAttr::get(context, kind),
      builder.getBoolAttr(isUnsigned(base.element)));
  OpBuilder::InsertionGuard guard(builder);
  Block *block =
      builder.createBlock(&op.getBody(), {}, argumentTypes,
                          SmallVector<Location>(argumentTypes.size(), loc));
  auto arguments = llvm::to_vector_of<Value>(block->getArguments());
  LoopBody loop(builder, loc,
                ArrayRef<Value>(arguments).take_front(domain.size()));
  ValueRange elements = ValueRange(arguments).drop_front(domain.size());
  Write write = body(loop, elementsOf(loop, inputs, elements));
  SmallVector<Value> yielded;
  for (Scalar place : write.places)
    yielded.push_back(toIndex(place).value);
  yielded.push_back(
      legalize::cast(write.value, base.element, /*elidable=*/true).value);
  yielded.push_back(
      (write.condition ? write.condition : loop.boolean(true)).value);
  builder.create<tg::YieldOp>(loc, yielded);
  return wrap(op.getResult(), base.element);
}

Tensor LoweringBuilder::scan(ReduceKind kind, Tensor x, int64_t dim) {
  auto op = builder.create<tg::ScanOp>(
      loc, TypeRange{x.value.getType()}, x.value,
      builder.getI64IntegerAttr(dim), tg::ReduceKindAttr::get(context, kind),
      builder.getBoolAttr(isUnsigned(x.element)));
  return wrap(op.getValues(), x.element);
}

//===----------------------------------------------------------------------===//
// Views
//===----------------------------------------------------------------------===//

AffineExpr LoweringBuilder::dim(unsigned i) const {
  return getAffineDimExpr(i, context);
}
AffineExpr LoweringBuilder::constant(int64_t value) const {
  return getAffineConstantExpr(value, context);
}

AffineMap LoweringBuilder::identityMap(unsigned rank) const {
  return AffineMap::getMultiDimIdentityMap(rank, context);
}

Tensor LoweringBuilder::view(Tensor x, Sizes shape, AffineMap map) {
  if (map.isIdentity() && shape == x.shape())
    return x;
  return wrap(builder.create<tg::ViewOp>(loc, type(shape, x.element), x.value,
                                         AffineMapAttr::get(map)),
              x.element);
}

Tensor LoweringBuilder::view(Tensor x, Sizes shape,
                             ArrayRef<AffineExpr> places) {
  return view(x, shape, AffineMap::get(shape.size(), 0, places, context));
}

Tensor LoweringBuilder::reshape(Tensor x, Sizes shape) {
  // The map would say 0 for dimensions of one.
  if (shape == x.shape())
    return x;
  return view(x, shape, reshapeMap(x.shape(), shape, context));
}

Tensor LoweringBuilder::permute(Tensor x, Sizes order) {
  SizeVector shape;
  SmallVector<AffineExpr> places(x.rank());
  for (auto [i, source] : llvm::enumerate(order)) {
    shape.push_back(x.shape()[source]);
    places[source] = dim(i);
  }
  return view(x, shape, places);
}

Tensor LoweringBuilder::transpose(Tensor x, int64_t i, int64_t j) {
  SizeVector order = llvm::to_vector(llvm::seq<int64_t>(0, x.rank()));
  std::swap(order[i], order[j]);
  return permute(x, order);
}

Tensor LoweringBuilder::slice(Tensor x, int64_t dim, int64_t start,
                              int64_t size, int64_t step) {
  SizeVector shape(x.shape());
  shape[dim] = size;
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < x.rank(); ++i)
    places.push_back(this->dim(i));
  places[dim] = places[dim] * step + start;
  return view(x, shape, places);
}

Tensor LoweringBuilder::select(Tensor x, int64_t dim, int64_t index) {
  SizeVector shape(x.shape());
  shape.erase(shape.begin() + dim);
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < x.rank(); ++i)
    places.push_back(i == dim ? constant(index)
                              : this->dim(i < dim ? i : i - 1));
  return view(x, shape, places);
}

Tensor LoweringBuilder::unsqueeze(Tensor x, int64_t dim) {
  SizeVector shape(x.shape());
  shape.insert(shape.begin() + dim, 1);
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < x.rank(); ++i)
    places.push_back(this->dim(i < dim ? i : i + 1));
  return view(x, shape, places);
}

Tensor LoweringBuilder::squeeze(Tensor x, int64_t dim) {
  assert(x.shape()[dim] == 1 && "only a dimension of size one");
  return select(x, dim, 0);
}

Tensor LoweringBuilder::expand(Tensor x, Sizes shape) {
  return view(x, shape, broadcastMap(x.shape(), shape));
}

Tensor LoweringBuilder::pad(Tensor x, Sizes before, Sizes after, double value) {
  for (int64_t i = 0; i < x.rank(); ++i) {
    int64_t low = std::min<int64_t>(before[i], 0);
    int64_t high = std::min<int64_t>(after[i], 0);
    if (low != 0 || high != 0)
      x = slice(x, i, -low, x.shape()[i] + low + high);
  }
  SizeVector shape(x.shape());
  for (int64_t i = 0; i < x.rank(); ++i)
    shape[i] +=
        std::max<int64_t>(before[i], 0) + std::max<int64_t>(after[i], 0);
  if (Sizes(shape) == x.shape())
    return x;
  if (x.numElements() == 0)
    return full(shape, x.element, value);
  return pointwise(shape, x.element, {},
                   [&](LoopBody &loop, ArrayRef<Scalar>) -> Scalar {
                     SmallVector<Scalar> places;
                     Scalar isInside;
                     auto require = [&](Scalar condition) {
                       isInside = isInside ? isInside & condition : condition;
                     };
                     for (int64_t i = 0; i < x.rank(); ++i) {
                       Scalar place = loop.index(i);
                       int64_t low = std::max<int64_t>(before[i], 0);
                       if (low > 0) {
                         require(place >= low);
                         place = place - low;
                       }
                       if (after[i] > 0)
                         require(place < x.shape()[i]);
                       places.push_back(place);
                     }
                     return loop.ifElse(
                         isInside, [&] { return loop.read(x, places); },
                         [&] { return loop.number(value, x.element); });
                   });
}

//===----------------------------------------------------------------------===//
// Reading calls
//===----------------------------------------------------------------------===//

SizeVector normalizeDims(Sizes dims, int64_t rank) {
  rank = std::max<int64_t>(rank, 1);
  return llvm::map_to_vector(
      dims, [&](int64_t dim) { return dim < 0 ? dim + rank : dim; });
}

InFlightDiagnostic unsupported(const aten::Call &call) {
  return call.op->emitError()
         << "unsupported: '" << call.schema->callee << "' ";
}

} // namespace gcompile::legalize
