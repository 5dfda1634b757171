//===- IndexingLowering.cpp - elements from computed places ---------------===//
// Gathers, concatenation and padding: pointwise loops that read other tensors
// at places that they compute. An index outside its dimension is the user's
// error (PyTorch raises it, on a GPU asynchronously); it is moved to the
// nearest valid one, so that no kernel reads foreign memory.
#include "Indexing.h"

#include "mlir/Dialect/Traits.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

Scalar clampIndex(Scalar index, int64_t size) {
  LoopBody &loop = *index.body;
  return minimum(maximum(index, loop.integer(0, index.type)),
                 loop.integer(size - 1, index.type));
}

Scalar resolveNegative(Scalar index, int64_t size) {
  index = toI64(index);
  return select(index < 0, index + size, index);
}

/// A tensor without elements has no nearest one.
static LogicalResult checkReadable(const aten::Call &call, Tensor x) {
  if (x.numElements() > 0)
    return success();
  call.op->emitError() << "'" << call.schema->callee
                       << "' reads elements of an empty tensor";
  return failure();
}

//===----------------------------------------------------------------------===//
// Gathers
//===----------------------------------------------------------------------===//

FailureOr<IndexedDims> IndexedDims::get(const aten::Call &call,
                                        LoweringBuilder &b) {
  IndexedDims dims;
  Tensor x = b.tensor(call.value("self"));
  dims.indices = b.tensors(call.values("indices"));
  dims.indices.resize(x.rank());
  std::optional<int64_t> first, last;
  for (auto [i, index] : llvm::enumerate(dims.indices)) {
    if (!index)
      continue;
    if (index.element.isInteger(1) || index.element.isUnsignedInteger(8)) {
      unsupported(call) << "selects by a mask, so that the number of elements "
                           "depends on data";
      return failure();
    }
    SizeVector broadcast;
    OpTrait::util::getBroadcastedShape(dims.indexShape, index.shape(),
                                       broadcast);
    dims.indexShape = broadcast;
    first = first.value_or(i);
    last = i;
  }
  // The dimensions of the indices stand where the indexed ones were, if those
  // are neighbours, else in front.
  bool areNeighbours = true;
  for (int64_t i = first.value_or(0); i <= last.value_or(-1); ++i)
    areNeighbours &= bool(dims.indices[i]);
  dims.position = areNeighbours ? first.value_or(0) : 0;
  for (int64_t i = 0; i < x.rank(); ++i)
    if (!dims.indices[i])
      dims.domain.push_back(x.shape()[i]);
  dims.domain.insert(dims.domain.begin() + dims.position,
                     dims.indexShape.begin(), dims.indexShape.end());
  dims.selfShape = SizeVector(x.shape());
  return dims;
}

SmallVector<Read> IndexedDims::reads(LoweringBuilder &b) const {
  SmallVector<Read> reads;
  for (Tensor index : indices) {
    if (!index)
      continue;
    int64_t skipped = position + indexShape.size() - index.rank();
    SmallVector<AffineExpr> places;
    for (int64_t i = 0; i < index.rank(); ++i)
      places.push_back(index.shape()[i] == domain[i + skipped]
                           ? b.dim(i + skipped)
                           : b.constant(0));
    reads.push_back(
        {index, AffineMap::get(domain.size(), 0, places, b.context)});
  }
  return reads;
}

SmallVector<Scalar> IndexedDims::places(LoopBody &loop, Args elements) const {
  SmallVector<Scalar> places;
  unsigned next = 0; // loop of the next dimension without an index
  auto skipIndexLoops = [&] {
    if (next == position)
      next += indexShape.size();
  };
  for (auto [index, size] : llvm::zip_equal(indices, selfShape)) {
    if (index) {
      places.push_back(resolveNegative(elements.front(), size));
      elements = elements.drop_front();
      continue;
    }
    skipIndexLoops();
    places.push_back(loop.index(next++));
  }
  return places;
}

static Lowered lowerIndex(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  FailureOr<IndexedDims> dims = IndexedDims::get(call, b);
  if (failed(dims) || failed(checkReadable(call, x)))
    return failure();
  return b.pointwise(dims->domain, x.element, dims->reads(b),
                     [&](LoopBody &loop, Args in) {
                       SmallVector<Scalar> places = dims->places(loop, in);
                       for (auto [i, place] : llvm::enumerate(places))
                         if (dims->indices[i])
                           place = clampIndex(place, x.shape()[i]);
                       return loop.read(x, places);
                     });
}

static Lowered lowerGather(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(b.tensor(call.value("self")));
  Tensor index = b.atLeast1d(b.tensor(call.value("index")));
  int64_t dim = call.dim("dim", x.rank());
  if (failed(checkReadable(call, x)))
    return failure();
  Tensor result = b.pointwise(
      index.shape(), x.element, {index}, [&](LoopBody &loop, Args in) {
        SmallVector<Scalar> places = loop.indices(x.rank());
        places[dim] = clampIndex(toI64(in[0]), x.shape()[dim]);
        return loop.read(x, places);
      });
  return b.reshape(result, resultShape(call));
}

/// Slices of `x` along `dim`, at the positions that the vector `index` lists.
static Tensor selectSlices(LoweringBuilder &b, Tensor x, int64_t dim,
                           Tensor index) {
  SizeVector shape(x.shape());
  shape[dim] = index.shape()[0];
  Read position(index, AffineMap::get(shape.size(), 0, b.dim(dim), b.context));
  return b.pointwise(shape, x.element, {position},
                     [&](LoopBody &loop, Args in) {
                       SmallVector<Scalar> places = loop.indices(x.rank());
                       places[dim] = clampIndex(toI64(in[0]), x.shape()[dim]);
                       return loop.read(x, places);
                     });
}

static Lowered lowerIndexSelect(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.atLeast1d(b.tensor(call.value("self")));
  Tensor index = b.atLeast1d(b.tensor(call.value("index")));
  if (failed(checkReadable(call, x)))
    return failure();
  return b.reshape(selectSlices(b, x, call.dim("dim", x.rank()), index),
                   resultShape(call));
}

static Lowered lowerEmbedding(const aten::Call &call, LoweringBuilder &b) {
  Tensor weight = b.tensor(call.value("weight"));
  Tensor indices = b.tensor(call.value("indices"));
  if (failed(checkReadable(call, weight)))
    return failure();
  Sizes shape = resultShape(call);
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < indices.rank(); ++i)
    places.push_back(b.dim(i));
  Read row(indices, AffineMap::get(shape.size(), 0, places, b.context));
  return b.pointwise(
      shape, weight.element, {row}, [&](LoopBody &loop, Args in) {
        return loop.read(weight, {clampIndex(toI64(in[0]), weight.shape()[0]),
                                  loop.index(shape.size() - 1)});
      });
}

static Lowered lowerTake(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  Tensor index = b.tensor(call.value("index"));
  if (failed(checkReadable(call, x)))
    return failure();
  int64_t size = x.numElements();
  Tensor flat = b.reshape(x, {size});
  return b.pointwise(index.shape(), x.element, {index},
                     [&](LoopBody &loop, Args in) {
                       Scalar place = resolveNegative(in[0], size);
                       return loop.read(flat, {clampIndex(place, size)});
                     });
}

//===----------------------------------------------------------------------===//
// Concatenation and padding
//===----------------------------------------------------------------------===//

/// Reads from the one of `parts` that holds position `place` of dimension
/// `dim`; the first begins at `offset`. Finds it by bisection.
static Scalar readPart(LoopBody &loop, ArrayRef<Tensor> parts, int64_t offset,
                       ArrayRef<Scalar> places, int64_t dim, Type element) {
  if (parts.size() == 1) {
    SmallVector<Scalar> inPart(places);
    if (offset > 0)
      inPart[dim] = inPart[dim] - offset;
    return cast(loop.read(parts[0], inPart), element);
  }
  ArrayRef<Tensor> low = parts.take_front(parts.size() / 2);
  ArrayRef<Tensor> high = parts.drop_front(low.size());
  int64_t middle = offset;
  for (Tensor part : low)
    middle += part.shape()[dim];
  return loop.ifElse(
      places[dim] < middle,
      [&] { return readPart(loop, low, offset, places, dim, element); },
      [&] { return readPart(loop, high, middle, places, dim, element); });
}

static Tensor concatenate(LoweringBuilder &b, ArrayRef<Tensor> parts,
                          int64_t dim, Sizes shape, Type element) {
  if (parts.size() == 1)
    return b.cast(parts[0], element);
  return b.pointwise(shape, element, {}, [&](LoopBody &loop, Args) {
    return readPart(loop, parts, 0, loop.indices(shape.size()), dim, element);
  });
}

static Lowered lowerCat(const aten::Call &call, LoweringBuilder &b) {
  Sizes shape = resultShape(call);
  int64_t dim = call.dim("dim", shape.size());
  // A vector without elements may stand among tensors of any rank.
  SmallVector<Tensor> parts = b.tensors(call.values("tensors"));
  llvm::erase_if(parts, [](Tensor x) { return x.numElements() == 0; });
  return concatenate(b, parts, dim, shape, resultElement(call));
}

static Lowered lowerStack(const aten::Call &call, LoweringBuilder &b) {
  Sizes shape = resultShape(call);
  int64_t dim = call.dim("dim", shape.size());
  SmallVector<Tensor> parts;
  for (Tensor part : b.tensors(call.values("tensors")))
    parts.push_back(b.unsqueeze(part, dim));
  return concatenate(b, parts, dim, shape, resultElement(call));
}

/// The widths of `pad`, which lists pairs from the last dimension on.
static std::pair<SizeVector, SizeVector>
padding(const aten::Call &call, StringRef argument, int64_t rank) {
  SizeVector before(rank, 0), after(rank, 0);
  SizeVector pad = call.integers(argument);
  for (size_t i = 0; i < pad.size() / 2; ++i) {
    before[rank - 1 - i] = pad[2 * i];
    after[rank - 1 - i] = pad[2 * i + 1];
  }
  return {before, after};
}

static Lowered lowerConstantPad(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  auto [before, after] = padding(call, "pad", x.rank());
  return b.pad(x, before, after, call.number("value"));
}

/// Pads with elements of `x`: `source(place, size)` says which stands at a
/// place that may lie outside.
static Tensor padFrom(const aten::Call &call, LoweringBuilder &b,
                      function_ref<Scalar(Scalar, int64_t)> source) {
  Tensor x = b.tensor(call.value("self"));
  auto [before, after] = padding(call, "padding", x.rank());
  return b.pointwise(
      resultShape(call), x.element, {}, [&](LoopBody &loop, Args) {
        SmallVector<Scalar> places = loop.indices(x.rank());
        for (int64_t i = 0; i < x.rank(); ++i)
          if (before[i] != 0 || after[i] != 0)
            places[i] = source(toI64(places[i]) - before[i], x.shape()[i]);
        return loop.read(x, places);
      });
}

static Lowered lowerReflectionPad(const aten::Call &call, LoweringBuilder &b) {
  return padFrom(call, b, [](Scalar place, int64_t size) {
    double last = size - 1;
    return last - abs(last - abs(place));
  });
}

static Lowered lowerReplicationPad(const aten::Call &call, LoweringBuilder &b) {
  return padFrom(call, b, clampIndex);
}

//===----------------------------------------------------------------------===//
// Replacing a static part. Pointwise, so that it fuses with what reads it.
//===----------------------------------------------------------------------===//

/// `self`, with elements of `src` at the places for which `find` gives a
/// condition; it changes the loop indices into those of `src`.
static Tensor
replacePart(const aten::Call &call, LoweringBuilder &b,
            function_ref<Scalar(LoopBody &, SmallVector<Scalar> &)> find) {
  Tensor x = b.tensor(call.value("self")), src = b.tensor(call.value("src"));
  if (src.numElements() == 0)
    return x;
  return b.pointwise(x.shape(), x.element, {x}, [&](LoopBody &loop, Args in) {
    SmallVector<Scalar> places = loop.indices(x.rank());
    Scalar isReplaced = find(loop, places);
    return loop.ifElse(
        isReplaced, [&] { return cast(loop.read(src, places), x.element); },
        [&] { return in[0]; });
  });
}

static Lowered lowerSliceScatter(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self")), src = b.tensor(call.value("src"));
  int64_t dim = call.dim("dim", x.rank());
  int64_t size = x.shape()[dim], step = call.integer("step");
  int64_t start = call.maybeInteger("start").value_or(0);
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  if (src.shape() == x.shape())
    return b.cast(src, x.element);
  int64_t end = start + src.shape()[dim] * step;
  return replacePart(call, b, [&](LoopBody &loop, SmallVector<Scalar> &places) {
    Scalar place = places[dim];
    Scalar isInside = (place >= start) & (place < end);
    places[dim] = place - start;
    if (step == 1)
      return isInside;
    Scalar stride = loop.position(step);
    isInside = isInside & (remainderOf(places[dim], stride) == 0);
    places[dim] = places[dim] / stride;
    return isInside;
  });
}

static Lowered lowerSelectScatter(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  int64_t dim = call.dim("dim", x.rank());
  int64_t index = call.integer("index");
  if (index < 0)
    index += x.shape()[dim];
  return replacePart(call, b, [&](LoopBody &, SmallVector<Scalar> &places) {
    Scalar isSelected = places[dim] == index;
    places.erase(places.begin() + dim);
    return isSelected;
  });
}

static Lowered lowerDiagonalScatter(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  int64_t offset = call.integer("offset");
  int64_t dim1 = call.dim("dim1", x.rank()), dim2 = call.dim("dim2", x.rank());
  return replacePart(call, b, [&](LoopBody &, SmallVector<Scalar> &places) {
    Scalar row = places[dim1], column = places[dim2];
    Scalar isOnDiagonal = row + offset == column;
    places.erase(places.begin() + std::max(dim1, dim2));
    places.erase(places.begin() + std::min(dim1, dim2));
    places.push_back(offset < 0 ? column : row);
    return isOnDiagonal;
  });
}

//===----------------------------------------------------------------------===//
// Search
//===----------------------------------------------------------------------===//

Scalar search(LoopBody &loop, Tensor sequence, Tensor sorter,
              ArrayRef<Scalar> prefix, Scalar value, bool right) {
  int64_t size = sequence.shape().back();
  Type i64 = loop.builder.getI64Type();
  Scalar first = loop.integer(0, i64), end = loop.integer(size, i64);
  auto step = [&](Scalar, Args range) -> SmallVector<Scalar> {
    Scalar middle = (range[0] + range[1]) / loop.integer(2, i64);
    SmallVector<Scalar> places(prefix);
    places.push_back(minimum(middle, loop.integer(size - 1, i64)));
    if (sorter)
      places.back() = clampIndex(toI64(loop.read(sorter, places)), size);
    Scalar element = cast(widen(loop.read(sequence, places)), value.type);
    // Not less: a NaN goes to the end.
    Scalar isBefore = ~(right ? element > value : element >= value);
    Scalar isActive = range[0] < range[1];
    return {select(isActive & isBefore, middle + 1, range[0]),
            select(isActive & ~isBefore, middle, range[1])};
  };
  return loop.repeat(loop.position(llvm::Log2_64_Ceil(size + 1)), {first, end},
                     step)[0];
}

/// Binary search of numbers in a sorted vector, or in the row they belong to.
static Lowered lowerSearch(const aten::Call &call, LoweringBuilder &b,
                           Tensor sequence, Tensor sorter, bool right) {
  SmallVector<Read> inputs;
  if (call.value("self"))
    inputs.push_back(b.tensor(call.value("self")));
  Type type = computeType(sequence.element);
  return b.pointwise(
      resultShape(call), resultElement(call), inputs,
      [&](LoopBody &loop, Args in) {
        Scalar value = in.empty() ? loop.literal(call.literal("self"), type)
                                  : cast(in[0], type);
        if (sequence.numElements() == 0)
          return loop.integer(0, resultElement(call));
        return search(loop, sequence, sorter, loop.indices(sequence.rank() - 1),
                      value, right);
      });
}

static Lowered lowerSearchSorted(const aten::Call &call, LoweringBuilder &b) {
  bool right = call.flag("right") ||
               (!call.isNone("side") && call.string("side") == "right");
  return lowerSearch(call, b, b.tensor(call.value("sorted_sequence")),
                     b.tensor(call.value("sorter")), right);
}

static Lowered lowerBucketize(const aten::Call &call, LoweringBuilder &b) {
  return lowerSearch(call, b, b.tensor(call.value("boundaries")), {},
                     call.flag("right"));
}

void addIndexingLowerings(Registry &registry) {
  for (StringRef name : {"aten.index.Tensor", "aten._unsafe_index.Tensor"})
    registry[name] = lowerIndex;
  registry["aten.gather.default"] = lowerGather;
  registry["aten.index_select.default"] = lowerIndexSelect;
  registry["aten.embedding.default"] = lowerEmbedding;
  registry["aten.take.default"] = lowerTake;
  registry["aten.cat.default"] = lowerCat;
  registry["aten.stack.default"] = lowerStack;
  registry["aten.constant_pad_nd.default"] = lowerConstantPad;
  for (StringRef name :
       {"aten.reflection_pad1d.default", "aten.reflection_pad2d.default",
        "aten.reflection_pad3d.default"})
    registry[name] = lowerReflectionPad;
  for (StringRef name :
       {"aten.replication_pad1d.default", "aten.replication_pad2d.default",
        "aten.replication_pad3d.default"})
    registry[name] = lowerReplicationPad;
  registry["aten.slice_scatter.default"] = lowerSliceScatter;
  registry["aten.select_scatter.default"] = lowerSelectScatter;
  registry["aten.diagonal_scatter.default"] = lowerDiagonalScatter;
  for (StringRef name :
       {"aten.searchsorted.Tensor", "aten.searchsorted.Scalar"})
    registry[name] = lowerSearchSorted;
  for (StringRef name : {"aten.bucketize.Tensor", "aten.bucketize.Scalar"})
    registry[name] = lowerBucketize;
}

} // namespace gcompile::legalize
