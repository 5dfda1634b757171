//===- ReductionLowering.cpp - sums, extrema, moments and norms -----------===//
#include "Lowering.h"

#include "mlir/Dialect/Traits.h"

#include <cmath>

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

namespace {
/// What a reduction runs over.
struct Reduction {
  Tensor input; ///< not 0-d
  SmallVector<unsigned> dims;
  int64_t count = 1; ///< elements that become one

  Loops loops() const { return {SizeVector(input.shape()), dims}; }
};
} // namespace

/// `self`, reduced over the dimensions that `argument` lists: over all of them
/// where it is None or empty.
static Reduction reductionOf(const aten::Call &call, LoweringBuilder &b,
                             Tensor x, StringRef argument = "dim") {
  Reduction reduction;
  reduction.input = b.atLeast1d(x);
  SizeVector dims;
  int index = call.schema->find(argument);
  if (index >= 0 && !call.isNone(argument))
    dims = call.schema->arguments[index].isList
               ? call.integers(argument)
               : SizeVector{call.integer(argument)};
  dims = normalizeDims(dims, x.rank());
  // PyTorch spells "all" with an empty list too, but not for every operator:
  // the recorded rank tells.
  bool keepsAll = dims.empty() && x.rank() > 0 &&
                  resultType(call).getRank() == x.rank() &&
                  (call.schema->find("keepdim") < 0 || !call.flag("keepdim"));
  if (dims.empty() && !keepsAll)
    dims = llvm::to_vector(llvm::seq<int64_t>(0, reduction.input.rank()));
  llvm::sort(dims);
  for (int64_t dim : dims) {
    reduction.dims.push_back(dim);
    reduction.count *= reduction.input.shape()[dim];
  }
  return reduction;
}

static Reduction reductionOf(const aten::Call &call, LoweringBuilder &b,
                             StringRef argument = "dim") {
  return reductionOf(call, b, b.tensor(call.value("self")), argument);
}

/// Combines the terms that `term` makes of the elements, in type `element`.
static Tensor reduce(LoweringBuilder &b, const Reduction &reduction,
                     ReduceKind kind, Type element,
                     function_ref<Scalar(Scalar)> term) {
  Tensor x = reduction.input;
  return b.reduce(kind, element, reduction.loops(),
                  Read(x, b.identityMap(x.rank())),
                  [&](LoopBody &, ArrayRef<Scalar> in) { return term(in[0]); });
}

/// As above, with a second tensor that has the shape of the result: `term` gets
/// its element for the slice.
static Tensor reduceAgainst(LoweringBuilder &b, const Reduction &reduction,
                            ReduceKind kind, Type element, Tensor perSlice,
                            function_ref<Scalar(Scalar, Scalar)> term) {
  Tensor x = reduction.input;
  SmallVector<AffineExpr> kept;
  for (unsigned i = 0; i < x.rank(); ++i)
    if (!llvm::is_contained(reduction.dims, i))
      kept.push_back(b.dim(i));
  return b.reduce(
      kind, element, reduction.loops(),
      {Read(x, b.identityMap(x.rank())),
       Read(perSlice, AffineMap::get(x.rank(), 0, kept, b.context))},
      [&](LoopBody &, ArrayRef<Scalar> in) { return term(in[0], in[1]); });
}

/// Stores a result: in the recorded type, with dimensions of one where kept.
static Tensor finish(const aten::Call &call, LoweringBuilder &b, Tensor x,
                     unsigned index = 0,
                     function_ref<Scalar(Scalar)> last = nullptr) {
  Type element = resultElement(call, index);
  if (last)
    x = b.pointwise(
        x.shape(), element, {x},
        [&](LoopBody &, ArrayRef<Scalar> in) { return last(in[0]); });
  return b.reshape(b.narrow(x, element), resultShape(call, index));
}

//===----------------------------------------------------------------------===//
// Sums and products
//===----------------------------------------------------------------------===//

static Tensor sum(const aten::Call &call, LoweringBuilder &b,
                  const Reduction &reduction, ReduceKind kind) {
  Type element = computeType(resultElement(call));
  if (element.isInteger(1)) // of bools: any and all
    kind = kind == ReduceKind::Sum ? ReduceKind::Max : ReduceKind::Min;
  return reduce(b, reduction, kind, element,
                [&](Scalar x) { return cast(x, element); });
}

static Lowered lowerSum(const aten::Call &call, LoweringBuilder &b) {
  return finish(call, b, sum(call, b, reductionOf(call, b), ReduceKind::Sum));
}

static Lowered lowerProd(const aten::Call &call, LoweringBuilder &b) {
  return finish(call, b, sum(call, b, reductionOf(call, b), ReduceKind::Prod));
}

static Lowered lowerNanSum(const aten::Call &call, LoweringBuilder &b) {
  Type element = computeType(resultElement(call));
  return finish(
      call, b,
      reduce(b, reductionOf(call, b), ReduceKind::Sum, element, [&](Scalar x) {
        Scalar term = cast(x, element);
        return select(isNan(term), 0, term);
      }));
}

static Lowered lowerCountNonzero(const aten::Call &call, LoweringBuilder &b) {
  Type i64 = b.builder.getI64Type();
  return finish(call, b,
                reduce(b, reductionOf(call, b), ReduceKind::Sum, i64,
                       [&](Scalar x) { return cast(widen(x) != 0, i64); }));
}

static Lowered lowerMean(const aten::Call &call, LoweringBuilder &b) {
  Reduction reduction = reductionOf(call, b);
  return finish(call, b, sum(call, b, reduction, ReduceKind::Sum), 0,
                [&](Scalar x) { return x / double(reduction.count); });
}

/// Sum of squared distances from the mean, and the mean. Two passes: exact
/// where one pass over squares would cancel.
static std::pair<Tensor, Tensor>
squaredDistances(LoweringBuilder &b, const Reduction &reduction, Type element) {
  Tensor total = reduce(b, reduction, ReduceKind::Sum, element,
                        [&](Scalar x) { return cast(x, element); });
  Tensor mean = b.pointwise(total.shape(), element, {total},
                            [&](LoopBody &, ArrayRef<Scalar> in) {
                              return in[0] / double(reduction.count);
                            });
  Tensor distances = reduceAgainst(b, reduction, ReduceKind::Sum, element, mean,
                                   [&](Scalar x, Scalar mean) {
                                     Scalar distance = cast(x, element) - mean;
                                     return distance * distance;
                                   });
  return {distances, mean};
}

/// var, std, var_mean and std_mean in their overloads.
template <bool isDeviation>
static Lowered lowerVar(const aten::Call &call, LoweringBuilder &b) {
  Reduction reduction = reductionOf(call, b);
  double correction = 1;
  if (call.schema->find("correction") >= 0)
    correction = call.maybeNumber("correction").value_or(1);
  else
    correction = call.flag("unbiased") ? 1 : 0;
  auto [distances, mean] =
      squaredDistances(b, reduction, computeType(resultElement(call)));
  double divisor = std::max(0.0, double(reduction.count) - correction);
  Tensor spread = finish(call, b, distances, 0, [&](Scalar x) {
    return isDeviation ? sqrt(x / divisor) : x / divisor;
  });
  if (call.op->getNumResults() == 1)
    return spread;
  return SmallVector<Tensor>{spread, finish(call, b, mean, 1)};
}

//===----------------------------------------------------------------------===//
// Extrema
//===----------------------------------------------------------------------===//

static Tensor extremum(LoweringBuilder &b, const Reduction &reduction,
                       bool largest) {
  return b.reduce(largest ? ReduceKind::Max : ReduceKind::Min, reduction.input,
                  reduction.dims);
}

template <bool largest>
static Lowered lowerExtremum(const aten::Call &call, LoweringBuilder &b) {
  return finish(call, b, extremum(b, reductionOf(call, b), largest));
}

/// Value and position along one dimension.
static std::pair<Tensor, Tensor>
valueAndPosition(LoweringBuilder &b, const Reduction &reduction, bool largest) {
  Tensor x = reduction.input;
  return b.argReduce(
      largest, computeType(x.element), reduction.loops(),
      Read(x, b.identityMap(x.rank())),
      [&](LoopBody &loop, ArrayRef<Scalar> in) {
        return LoweringBuilder::Candidate{
            widen(in[0]),
            cast(loop.index(reduction.dims[0]), b.builder.getI64Type()),
            {}};
      });
}

template <bool largest>
static Lowered lowerExtremumAlongDim(const aten::Call &call,
                                     LoweringBuilder &b) {
  Reduction reduction = reductionOf(call, b);
  if (!isUsed(call, 1))
    return SmallVector<Tensor>{finish(call, b, extremum(b, reduction, largest)),
                               Tensor()};
  auto [values, positions] = valueAndPosition(b, reduction, largest);
  return SmallVector<Tensor>{finish(call, b, values),
                             finish(call, b, positions, 1)};
}

template <bool largest>
static Lowered lowerArgExtremum(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  if (call.isNone("dim")) // the position in row-major order
    x = b.reshape(x, {x.numElements()});
  return finish(call, b,
                valueAndPosition(b, reductionOf(call, b, x), largest).second);
}

static Lowered lowerMinAndMax(const aten::Call &call, LoweringBuilder &b) {
  Reduction reduction = reductionOf(call, b);
  return SmallVector<Tensor>{
      finish(call, b, extremum(b, reduction, /*largest=*/false)),
      finish(call, b, extremum(b, reduction, /*largest=*/true), 1)};
}

template <ReduceKind kind>
static Lowered lowerAnyOrAll(const aten::Call &call, LoweringBuilder &b) {
  return finish(call, b,
                reduce(b, reductionOf(call, b), kind, b.builder.getI1Type(),
                       [](Scalar x) { return widen(x) != 0; }));
}

//===----------------------------------------------------------------------===//
// Exponentials and norms
//===----------------------------------------------------------------------===//

static Lowered lowerLogSumExp(const aten::Call &call, LoweringBuilder &b) {
  Reduction reduction = reductionOf(call, b);
  Type element = computeType(resultElement(call));
  Tensor largest = reduce(b, reduction, ReduceKind::Max, element,
                          [&](Scalar x) { return cast(x, element); });
  // Infinite maxima would give inf - inf.
  Tensor shift = b.pointwise(largest.shape(), element, {largest},
                             [](LoopBody &, ArrayRef<Scalar> in) {
                               return select(isInf(in[0]), 0, in[0]);
                             });
  Tensor total = reduceAgainst(
      b, reduction, ReduceKind::Sum, element, shift,
      [&](Scalar x, Scalar shift) { return exp(cast(x, element) - shift); });
  return b.reshape(b.pointwise(total.shape(), resultElement(call),
                               {total, shift},
                               [](LoopBody &, ArrayRef<Scalar> in) {
                                 return log(in[0]) + in[1];
                               }),
                   resultShape(call));
}

/// The maximum along a dimension and the sum of exp(x - maximum).
static Lowered lowerPrepareSoftmax(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.op->getOperand(0));
  Reduction reduction = reductionOf(call, b, x);
  Type element = computeType(x.element);
  Tensor largest = extremum(b, reduction, /*largest=*/true);
  Tensor total = reduceAgainst(
      b, reduction, ReduceKind::Sum, element, largest,
      [&](Scalar x, Scalar largest) { return exp(widen(x) - largest); });
  return SmallVector<Tensor>{finish(call, b, largest),
                             finish(call, b, total, 1)};
}

/// What a norm of this order sums, or takes the extremum of.
static Scalar normTerm(Scalar x, double order) {
  if (order == 0)
    return cast(x != 0, x.type);
  if (order == 1 || std::isinf(order))
    return abs(x);
  return order == 2 ? x * x : pow(abs(x), x.body->number(order, x.type));
}

static ReduceKind normKind(double order) {
  if (!std::isinf(order))
    return ReduceKind::Sum;
  return order > 0 ? ReduceKind::Max : ReduceKind::Min;
}

/// The norm that the sum stands for.
static Scalar normOf(Scalar sum, double order) {
  if (order == 0 || order == 1 || std::isinf(order))
    return sum;
  return order == 2 ? sqrt(sum)
                    : pow(sum, sum.body->number(1 / order, sum.type));
}

static Tensor norm(const aten::Call &call, LoweringBuilder &b,
                   const Reduction &reduction, double order) {
  Type element = computeType(resultElement(call));
  Tensor total = reduce(b, reduction, normKind(order), element, [&](Scalar x) {
    return normTerm(cast(x, element), order);
  });
  return finish(call, b, total, 0, [&](Scalar x) { return normOf(x, order); });
}

static Lowered lowerVectorNorm(const aten::Call &call, LoweringBuilder &b) {
  return norm(call, b, reductionOf(call, b), call.number("ord"));
}

static Lowered lowerNorm(const aten::Call &call, LoweringBuilder &b) {
  return norm(call, b, reductionOf(call, b), call.maybeNumber("p").value_or(2));
}

/// The norm of a difference.
static Lowered lowerDist(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self")), y = b.tensor(call.value("other"));
  SizeVector shape;
  OpTrait::util::getBroadcastedShape(x.shape(), y.shape(), shape);
  Type element = computeType(resultElement(call));
  Tensor difference =
      b.pointwise(shape, element, {x, y}, [&](LoopBody &, ArrayRef<Scalar> in) {
        return cast(in[0], element) - cast(in[1], element);
      });
  return norm(call, b, reductionOf(call, b, difference), call.number("p"));
}

/// Norms of the differences between the rows of `x` and those of `y`.
static Tensor distances(LoweringBuilder &b, Tensor x, Tensor y, double order,
                        Type element) {
  int64_t rank = x.rank();
  Loops loops{SizeVector(x.shape()), {static_cast<unsigned>(rank)}};
  loops.sizes.insert(loops.sizes.end() - 1, y.shape()[rank - 2]);
  // Loops: batch, row of x, row of y, column.
  SmallVector<AffineExpr> ofX, ofY;
  for (int64_t i = 0; i < rank - 2; ++i) {
    ofX.push_back(b.dim(i));
    ofY.push_back(b.dim(i));
  }
  ofX.append({b.dim(rank - 2), b.dim(rank)});
  ofY.append({b.dim(rank - 1), b.dim(rank)});
  Tensor total = b.reduce(
      normKind(order), element, loops,
      {Read(x, AffineMap::get(rank + 1, 0, ofX, b.context)),
       Read(y, AffineMap::get(rank + 1, 0, ofY, b.context))},
      [&](LoopBody &, ArrayRef<Scalar> in) {
        return normTerm(cast(in[0], element) - cast(in[1], element), order);
      });
  return b.pointwise(
      total.shape(), element, {total},
      [&](LoopBody &, ArrayRef<Scalar> in) { return normOf(in[0], order); });
}

static Lowered lowerCdist(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("x1")), y = b.tensor(call.value("x2"));
  // Batches broadcast against each other.
  Sizes batch = resultShape(call).drop_back(2);
  auto expanded = [&](Tensor x) {
    SizeVector shape(batch);
    shape.append(x.shape().end() - 2, x.shape().end());
    return b.expand(x, shape);
  };
  Type element = computeType(resultElement(call));
  return b.narrow(
      distances(b, expanded(x), expanded(y), call.number("p"), element),
      resultElement(call));
}

/// The distances of all pairs of rows i < j, by i and then j.
static Lowered lowerPdist(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  int64_t n = x.shape()[0];
  Type element = computeType(resultElement(call));
  Tensor all = distances(b, x, x, call.number("p"), element);
  return b.pointwise(
      resultShape(call), resultElement(call), {},
      [&](LoopBody &loop, ArrayRef<Scalar>) {
        // Row i begins at pair i * n - i * (i + 1) / 2; solved for i.
        Scalar pair = cast(loop.index(0), b.builder.getF64Type());
        double half = n - 0.5;
        Scalar i = toI64(half - sqrt(half * half - 1 - pair * 2));
        Scalar begin = i * double(n) - i * (i + 1) / loop.integer(2, i.type);
        Scalar j = toI64(loop.index(0)) - begin + i + 1;
        return loop.read(all, {i, j});
      });
}

void addReductionLowerings(Registry &registry) {
  for (StringRef name : {"aten.sum.default", "aten.sum.dim_IntList"})
    registry[name] = lowerSum;
  for (StringRef name : {"aten.prod.default", "aten.prod.dim_int"})
    registry[name] = lowerProd;
  for (StringRef name : {"aten.mean.default", "aten.mean.dim"})
    registry[name] = lowerMean;
  for (StringRef name :
       {"aten.count_nonzero.default", "aten.count_nonzero.dim_IntList"})
    registry[name] = lowerCountNonzero;
  for (StringRef name : {"aten.var.correction", "aten.var.default",
                         "aten.var.dim", "aten.var_mean.correction",
                         "aten.var_mean.default", "aten.var_mean.dim"})
    registry[name] = lowerVar<false>;
  for (StringRef name : {"aten.std.default", "aten.std_mean.correction",
                         "aten.std_mean.default", "aten.std_mean.dim"})
    registry[name] = lowerVar<true>;
  for (StringRef name : {"aten.amax.default", "aten.max.default"})
    registry[name] = lowerExtremum<true>;
  for (StringRef name : {"aten.amin.default", "aten.min.default"})
    registry[name] = lowerExtremum<false>;
  for (StringRef name : {"aten.any.default", "aten.any.dim", "aten.any.dims"})
    registry[name] = lowerAnyOrAll<ReduceKind::Max>;
  for (StringRef name : {"aten.all.default", "aten.all.dim", "aten.all.dims"})
    registry[name] = lowerAnyOrAll<ReduceKind::Min>;
  for (StringRef name : {"aten.norm.Scalar", "aten.norm.ScalarOpt_dim"})
    registry[name] = lowerNorm;
  registry["aten.nansum.default"] = lowerNanSum;
  registry["aten.max.dim"] = lowerExtremumAlongDim<true>;
  registry["aten.min.dim"] = lowerExtremumAlongDim<false>;
  registry["aten.argmax.default"] = lowerArgExtremum<true>;
  registry["aten.argmin.default"] = lowerArgExtremum<false>;
  registry["aten.aminmax.default"] = lowerMinAndMax;
  registry["aten.logsumexp.default"] = lowerLogSumExp;
  registry["aten.linalg_vector_norm.default"] = lowerVectorNorm;
  registry["aten.dist.default"] = lowerDist;
  registry["aten._cdist_forward.default"] = lowerCdist;
  registry["aten._pdist_forward.default"] = lowerPdist;
  registry["prims.prepare_softmax_online.default"] = lowerPrepareSoftmax;
}

} // namespace gcompile::legalize
