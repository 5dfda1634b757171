//===- OrderLowering.cpp - sorting, selection and running reductions ------===//
#include "Lowering.h"

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

static Tensor self(const aten::Call &call, LoweringBuilder &b) {
  return b.tensor(call.value("self"));
}

/// Values and positions, as recorded for the call.
static Lowered valuesAndPositions(const aten::Call &call, LoweringBuilder &b,
                                  Tensor values, Tensor positions) {
  return SmallVector<Tensor>{b.reshape(values, resultShape(call, 0)),
                             b.reshape(positions, resultShape(call, 1))};
}

//===----------------------------------------------------------------------===//
// Sorting
//===----------------------------------------------------------------------===//

/// Sorted values and their positions.
static std::pair<Tensor, Tensor> sort(LoweringBuilder &b, Tensor x, int64_t dim,
                                      bool descending) {
  Type i64 = b.builder.getI64Type();
  auto op = b.builder.create<tg::SortOp>(
      b.loc, x.value.getType(), b.type(x.shape(), i64), x.value,
      b.builder.getI64IntegerAttr(dim), b.builder.getBoolAttr(descending),
      b.builder.getBoolAttr(isUnsigned(x.element)));
  return {b.wrap(op.getValues(), x.element), b.wrap(op.getIndices(), i64)};
}

static Lowered lowerSort(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  auto [values, positions] =
      sort(b, x, call.dim("dim", x.rank()), call.flag("descending"));
  return valuesAndPositions(call, b, values, positions);
}

static Lowered lowerArgSort(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  return b.reshape(
      sort(b, x, call.dim("dim", x.rank()), call.flag("descending")).second,
      resultShape(call));
}

static Lowered lowerTopK(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  int64_t dim = call.dim("dim", x.rank()), k = call.integer("k");
  SizeVector shape(x.shape());
  shape[dim] = k;
  Type i64 = b.builder.getI64Type();
  auto op = b.builder.create<tg::TopKOp>(
      b.loc, b.type(shape, x.element), b.type(shape, i64), x.value,
      b.builder.getI64IntegerAttr(k), b.builder.getI64IntegerAttr(dim),
      b.builder.getBoolAttr(call.flag("largest")),
      b.builder.getBoolAttr(isUnsigned(x.element)));
  return valuesAndPositions(call, b, b.wrap(op.getValues(), x.element),
                            b.wrap(op.getIndices(), i64));
}

static Lowered lowerKthValue(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  int64_t dim = call.dim("dim", x.rank()), k = call.integer("k");
  auto [values, positions] = sort(b, x, dim, /*descending=*/false);
  return valuesAndPositions(call, b, b.slice(values, dim, k - 1, 1),
                            b.slice(positions, dim, k - 1, 1));
}

/// The lower of the two middle elements of `x` along `dim`; a NaN, which sorts
/// last, is the median where there is one, unless they are ignored.
static std::pair<Tensor, Tensor> median(LoweringBuilder &b, Tensor x,
                                        int64_t dim, bool ignoresNan) {
  auto [values, positions] = sort(b, x, dim, /*descending=*/false);
  int64_t size = x.shape()[dim];
  SizeVector shape(x.shape());
  shape.erase(shape.begin() + dim);
  Type i64 = b.builder.getI64Type();
  Loops loops{SizeVector(x.shape()), {static_cast<unsigned>(dim)}};
  Tensor numNans = b.reduce(
      ReduceKind::Sum, i64, loops, Read(x, b.identityMap(x.rank())),
      [&](LoopBody &, Args in) { return cast(isNan(widen(in[0])), i64); });
  auto pick = [&](Tensor sorted) {
    return b.pointwise(
        shape, sorted.element, {numNans}, [&](LoopBody &loop, Args in) {
          Scalar last = loop.integer(size - 1, i64);
          Scalar middle = loop.integer((size - 1) / 2, i64);
          Scalar ofNumbers = maximum((last - in[0]) / loop.integer(2, i64),
                                     loop.integer(0, i64));
          Scalar firstNan = loop.integer(size, i64) - in[0];
          Scalar place =
              ignoresNan ? ofNumbers : select(in[0] > 0, firstNan, middle);
          SmallVector<Scalar> places = loop.indices(shape.size());
          places.insert(places.begin() + dim, place);
          return loop.read(sorted, places);
        });
  };
  return {pick(values), pick(positions)};
}

template <bool ignoresNan>
static Lowered lowerMedian(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  return median(b, b.reshape(x, {x.numElements()}), 0, ignoresNan).first;
}

template <bool ignoresNan>
static Lowered lowerMedianAlongDim(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  auto [values, positions] =
      median(b, x, call.dim("dim", x.rank()), ignoresNan);
  return valuesAndPositions(call, b, values, positions);
}

//===----------------------------------------------------------------------===//
// Running reductions
//===----------------------------------------------------------------------===//

/// Sums run in the compute type of the result.
template <ReduceKind kind>
static Lowered lowerScan(const aten::Call &call, LoweringBuilder &b) {
  Tensor x =
      b.atLeast1d(b.cast(self(call, b), computeType(resultElement(call))));
  Tensor values = b.scan(kind, x, call.dim("dim", x.rank()));
  return b.reshape(b.narrow(values, resultElement(call)), resultShape(call));
}

template <ReduceKind kind>
static Lowered lowerScanWithPositions(const aten::Call &call,
                                      LoweringBuilder &b) {
  Tensor x = b.atLeast1d(self(call, b));
  Type i64 = b.builder.getI64Type();
  auto op = b.builder.create<tg::ScanOp>(
      b.loc, TypeRange{x.value.getType(), b.type(x.shape(), i64)}, x.value,
      b.builder.getI64IntegerAttr(call.dim("dim", x.rank())),
      tg::ReduceKindAttr::get(b.context, kind),
      b.builder.getBoolAttr(isUnsigned(x.element)));
  return valuesAndPositions(call, b, b.wrap(op.getValues(), x.element),
                            b.wrap(op.getIndices(), i64));
}

void addOrderLowerings(Registry &registry) {
  for (StringRef name : {"aten.sort.default", "aten.sort.stable"})
    registry[name] = lowerSort;
  for (StringRef name : {"aten.argsort.default", "aten.argsort.stable"})
    registry[name] = lowerArgSort;
  registry["aten.topk.default"] = lowerTopK;
  registry["aten.kthvalue.default"] = lowerKthValue;
  registry["aten.median.default"] = lowerMedian<false>;
  registry["aten.nanmedian.default"] = lowerMedian<true>;
  registry["aten.median.dim"] = lowerMedianAlongDim<false>;
  registry["aten.nanmedian.dim"] = lowerMedianAlongDim<true>;
  registry["aten.cumsum.default"] = lowerScan<ReduceKind::Sum>;
  registry["aten.cumprod.default"] = lowerScan<ReduceKind::Prod>;
  registry["aten.logcumsumexp.default"] = lowerScan<ReduceKind::LogSumExp>;
  registry["aten.cummax.default"] = lowerScanWithPositions<ReduceKind::Max>;
  registry["aten.cummin.default"] = lowerScanWithPositions<ReduceKind::Min>;
}

} // namespace gcompile::legalize
