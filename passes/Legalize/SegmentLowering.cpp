//===- SegmentLowering.cpp - counts, histograms, segments and bags --------===//
// Each element finds what it belongs to and is combined into it: scatters.
#include "Indexing.h"

#include <cmath>

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;
using Write = LoweringBuilder::Write;

static Lowered lowerBincount(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  Type element = resultElement(call);
  SmallVector<Read> inputs{x};
  if (Value weights = call.value("weights"))
    inputs.push_back(b.tensor(weights));
  return b.scatter(ReduceKind::Sum, b.full(resultShape(call), element, 0),
                   x.shape(), inputs, [&](LoopBody &loop, Args in) -> Write {
                     Scalar count =
                         in.size() > 1 ? in[1] : loop.integer(1, element);
                     return {{in[0]}, count, {}};
                   });
}

static Lowered lowerHistogram(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.widen(b.tensor(call.value("self")));
  x = b.reshape(x, {x.numElements()});
  Type element = x.element;
  int64_t bins = call.integer("bins");
  // Equal bounds stand for the extrema of the data.
  SmallVector<Read> inputs{x};
  bool findsBounds = call.number("min") == call.number("max");
  if (findsBounds)
    for (ReduceKind kind : {ReduceKind::Min, ReduceKind::Max})
      inputs.push_back(
          Read(b.reduce(kind, x, {0}), AffineMap::get(1, 0, {}, b.context)));
  Tensor counts = b.scatter(
      ReduceKind::Sum, b.full({bins}, computeType(resultElement(call)), 0),
      x.shape(), inputs, [&](LoopBody &loop, Args in) -> Write {
        Scalar low =
            findsBounds ? in[1] : loop.literal(call.literal("min"), element);
        Scalar high =
            findsBounds ? in[2] : loop.literal(call.literal("max"), element);
        Scalar isPoint = low == high;
        low = select(isPoint, low - 1, low);
        high = select(isPoint, high + 1, high);
        Scalar bin = toI64((in[0] - low) * double(bins) / (high - low));
        // The upper bound belongs to the last bin.
        return {{minimum(bin, loop.integer(bins - 1, bin.type))},
                loop.number(1, computeType(resultElement(call))),
                (in[0] >= low) & (in[0] <= high)};
      });
  return b.narrow(counts, resultElement(call));
}

/// The places of the elements that are not zero, in order, as many as there is
/// room for.
static Lowered lowerNonzeroStatic(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  Type i64 = b.builder.getI64Type();
  Tensor flags = b.pointwise(x.shape(), i64, {x}, [](LoopBody &, Args in) {
    return widen(in[0]) != 0;
  });
  Tensor ranks =
      b.scan(ReduceKind::Sum, b.reshape(flags, {x.numElements()}), 0);
  // One more loop, over the coordinates of a place.
  SizeVector domain(x.shape());
  domain.push_back(x.rank());
  SmallVector<AffineExpr> element;
  for (int64_t i = 0; i < x.rank(); ++i)
    element.push_back(b.dim(i));
  AffineMap map = AffineMap::get(domain.size(), 0, element, b.context);
  return b.scatter(
      ReduceKind::Set,
      b.full(resultShape(call), i64, call.integer("fill_value")), domain,
      {Read(flags, map), Read(b.reshape(ranks, x.shape()), map)},
      [&](LoopBody &loop, Args in) -> Write {
        Scalar axis = loop.index(x.rank());
        Scalar coordinate = loop.index(0);
        for (int64_t i = 1; i < x.rank(); ++i)
          coordinate = select(axis == i, loop.index(i), coordinate);
        return {{in[1] - 1, axis}, coordinate, in[0] != 0};
      });
}

//===----------------------------------------------------------------------===//
// Rows that belong to segments
//===----------------------------------------------------------------------===//

/// The segment that each of `numRows` rows belongs to. `bounds` ascend: they
/// are the rows where segments end, or, without `areEnds`, where they begin. It
/// may lie outside the segments, and then the row has none.
static Tensor segmentOfRows(LoweringBuilder &b, Tensor bounds, bool areEnds,
                            int64_t numRows) {
  return b.pointwise(
      {numRows}, b.builder.getI64Type(), {}, [&](LoopBody &loop, Args) {
        Scalar row = cast(loop.index(0), bounds.element);
        Scalar passed = search(loop, bounds, {}, {}, row, /*right=*/true);
        return areEnds ? passed : passed - 1;
      });
}

static Read alongFirstDim(LoweringBuilder &b, Tensor x, unsigned rank) {
  return Read(x, AffineMap::get(rank, 0, b.dim(0), b.context));
}

/// Combines the rows of `data` into their segments of `base`; `keep` may leave
/// rows out.
static Tensor combineRows(LoweringBuilder &b, ReduceKind kind, Tensor base,
                          Tensor data, Tensor segments, Tensor keep = {}) {
  SmallVector<Read> inputs{data, alongFirstDim(b, segments, data.rank())};
  if (keep)
    inputs.push_back(alongFirstDim(b, keep, data.rank()));
  return b.scatter(kind, base, data.shape(), inputs,
                   [&](LoopBody &loop, Args in) -> Write {
                     SmallVector<Scalar> places = loop.indices(data.rank());
                     places[0] = in[1];
                     return {places, in[0], keep ? in[2] : Scalar()};
                   });
}

/// How many rows each of `numSegments` has.
static Tensor countRows(LoweringBuilder &b, int64_t numSegments,
                        Tensor segments, Type element, Tensor keep = {}) {
  return combineRows(b, ReduceKind::Sum, b.full({numSegments}, element, 0),
                     b.full(segments.shape(), element, 1), segments, keep);
}

static Lowered lowerSegmentReduce(const aten::Call &call, LoweringBuilder &b) {
  Tensor data = b.tensor(call.value("data"));
  bool hasLengths = !call.isNone("lengths");
  if (call.dim("axis", data.rank()) != 0 || !call.isNone("indices"))
    return unsupported(call) << "along another axis than the first";
  Tensor bounds = b.tensor(call.value(hasLengths ? "lengths" : "offsets"));
  if (hasLengths)
    bounds = b.scan(ReduceKind::Sum, bounds, 0);
  Tensor segments = segmentOfRows(b, bounds, hasLengths, data.shape()[0]);
  StringRef name = call.string("reduce");
  ReduceKind kind = llvm::StringSwitch<ReduceKind>(name)
                        .Cases("sum", "mean", ReduceKind::Sum)
                        .Case("prod", ReduceKind::Prod)
                        .Case("max", ReduceKind::Max)
                        .Default(ReduceKind::Min);
  Sizes shape = resultShape(call);
  Type element = computeType(data.element);
  Attribute initial = call.isNone("initial") ? identityOf(kind, element)
                                             : call.literal("initial");
  Tensor base = b.pointwise(shape, element, {}, [&](LoopBody &loop, Args) {
    return loop.literal(initial, element);
  });
  Tensor result = combineRows(b, kind, base, data, segments);
  if (name != "mean")
    return b.narrow(result, data.element);
  // An empty segment has no mean, unless there is an initial value.
  bool keepsInitial = !call.isNone("initial");
  Tensor counts = countRows(b, shape[0], segments, element);
  return b.pointwise(
      shape, data.element, {result, alongFirstDim(b, counts, shape.size())},
      [&](LoopBody &, Args in) {
        Scalar mean = in[0] / in[1];
        return keepsInitial ? select(in[1] == 0, in[0], mean) : mean;
      });
}

//===----------------------------------------------------------------------===//
// Bags of rows of a table
//===----------------------------------------------------------------------===//

static Lowered lowerEmbeddingBag(const aten::Call &call, LoweringBuilder &b) {
  Tensor weight = b.tensor(call.value("weight"));
  Tensor indices = b.tensor(call.value("indices"));
  enum Mode { Sum, Mean, Max };
  auto mode = static_cast<Mode>(call.integer("mode"));
  if (isUsed(call, 3) && mode == Max)
    return unsupported(call) << "with the positions of maxima";
  Sizes shape = resultShape(call);
  int64_t numRows = indices.numElements(), tableSize = weight.shape()[0];
  Type element = computeType(weight.element);
  Tensor bags = segmentOfRows(b, b.tensor(call.value("offsets")),
                              /*areEnds=*/false, numRows);

  SmallVector<Read> inputs{alongFirstDim(b, indices, 2)};
  if (Value scales = call.value("per_sample_weights"))
    inputs.push_back(alongFirstDim(b, b.tensor(scales), 2));
  Tensor rows = b.pointwise(
      {numRows, shape[1]}, element, inputs, [&](LoopBody &loop, Args in) {
        Scalar row = clampIndex(toI64(in[0]), tableSize);
        Scalar value = widen(loop.read(weight, {row, loop.index(1)}));
        return in.size() > 1 ? value * widen(in[1]) : value;
      });
  // Padding counts in no bag.
  Tensor keep;
  if (int64_t padding = call.integer("padding_idx"); padding >= 0)
    keep = b.pointwise({numRows}, b.builder.getI1Type(), {indices},
                       [&](LoopBody &, Args in) { return in[0] != padding; });

  Tensor base = b.full(shape, element, mode == Max ? -INFINITY : 0);
  Tensor result =
      combineRows(b, mode == Max ? ReduceKind::Max : ReduceKind::Sum, base,
                  rows, bags, keep);
  Tensor counts = countRows(b, shape[0], bags, element, keep);
  if (mode != Sum)
    result = b.pointwise(shape, element, {result, alongFirstDim(b, counts, 2)},
                         [&](LoopBody &, Args in) {
                           return select(in[1] == 0, 0,
                                         mode == Mean ? in[0] / in[1] : in[0]);
                         });

  SmallVector<Tensor> results(4);
  results[0] = b.narrow(result, weight.element);
  if (isUsed(call, 1))
    results[1] =
        b.reshape(b.cast(bags, resultElement(call, 1)), resultShape(call, 1));
  if (isUsed(call, 2))
    results[2] =
        b.reshape(b.cast(counts, resultElement(call, 2)), resultShape(call, 2));
  if (isUsed(call, 3))
    results[3] = b.full(resultShape(call, 3), resultElement(call, 3), 0);
  return results;
}

void addSegmentLowerings(Registry &registry) {
  registry["aten.bincount.default"] = lowerBincount;
  registry["aten.histc.default"] = lowerHistogram;
  registry["aten.nonzero_static.default"] = lowerNonzeroStatic;
  registry["aten.segment_reduce.default"] = lowerSegmentReduce;
  for (StringRef name : {"aten._embedding_bag.default",
                         "aten._embedding_bag_forward_only.default"})
    registry[name] = lowerEmbeddingBag;
}

} // namespace gcompile::legalize
