//===- ScatterLowering.cpp - writes to computed places --------------------===//
// Everything that writes where data says becomes tg.scatter, which may update
// its base in place. Sums of half precision are kept in float32 until the end.
#include "Indexing.h"

using namespace mlir;
using gcompile::tg::ReduceKind;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

using Write = LoweringBuilder::Write;

static Tensor self(const aten::Call &call, LoweringBuilder &b) {
  return b.tensor(call.value("self"));
}

//===----------------------------------------------------------------------===//
// index_put
//===----------------------------------------------------------------------===//

/// `self` where the one mask among the indices is false, else the value, which
/// must be one for all elements of a slice. Null where this does not apply.
static Tensor putByMask(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b), values = b.tensor(call.value("values"));
  SmallVector<Tensor> indices = b.tensors(call.values("indices"));
  if (indices.size() != 1 || !indices[0] || !indices[0].element.isInteger(1))
    return {};
  Tensor mask = indices[0];
  int64_t trailing = x.rank() - mask.rank();
  if (values.rank() > trailing && values.numElements() != 1)
    return {};
  if (values.rank() > trailing)
    values = b.reshape(values, {});
  for (int64_t i = 0; i < trailing; ++i)
    mask = b.unsqueeze(mask, mask.rank());
  bool accumulate = call.flag("accumulate");
  return b.pointwise(
      x.shape(), x.element, {x, mask, values}, [&](LoopBody &, Args in) {
        Scalar value = cast(in[2], x.element);
        if (!accumulate)
          return select(in[1], value, in[0]);
        Scalar sum = x.element.isInteger(1)
                         ? in[0] | value
                         : cast(widen(in[0]) + widen(value), x.element,
                                /*elidable=*/true);
        return select(in[1], sum, in[0]);
      });
}

static Lowered lowerIndexPut(const aten::Call &call, LoweringBuilder &b) {
  if (Tensor result = putByMask(call, b))
    return result;
  FailureOr<IndexedDims> dims = IndexedDims::get(call, b);
  if (failed(dims))
    return failure();
  Tensor values = b.tensor(call.value("values"));
  // Leading dimensions of one may be too many.
  while (values.rank() > static_cast<int64_t>(dims->domain.size()))
    values = b.squeeze(values, 0);
  SmallVector<Read> inputs = dims->reads(b);
  inputs.push_back(b.expand(values, dims->domain));
  return b.scatter(call.flag("accumulate") ? ReduceKind::Sum : ReduceKind::Set,
                   self(call, b), dims->domain, inputs,
                   [&](LoopBody &loop, Args in) -> Write {
                     return {dims->places(loop, in.drop_back()), in.back(), {}};
                   });
}

static Lowered lowerPut(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  Tensor index = b.tensor(call.value("index"));
  Tensor source = b.tensor(call.value("source"));
  SizeVector domain{index.numElements()};
  int64_t size = x.numElements();
  Tensor result =
      b.scatter(call.flag("accumulate") ? ReduceKind::Sum : ReduceKind::Set,
                b.reshape(x, {size}), domain,
                {b.reshape(index, domain), b.reshape(source, domain)},
                [&](LoopBody &, Args in) -> Write {
                  return {{resolveNegative(in[0], size)}, in[1], {}};
                });
  return b.reshape(result, x.shape());
}

//===----------------------------------------------------------------------===//
// Along one dimension: scatter writes each element to a place of its own,
// index_* whole slices.
//===----------------------------------------------------------------------===//

namespace {
/// The points of a write along one dimension.
struct AlongDim {
  Tensor base; ///< not 0-d
  int64_t dim;
  SizeVector domain;
  Read index;
  std::optional<Read> source; ///< none: a number

  /// What a point writes to.
  SmallVector<Scalar> places(LoopBody &loop, Scalar index) const {
    SmallVector<Scalar> places = loop.indices(domain.size());
    places[dim] = index;
    return places;
  }
};
} // namespace

/// scatter: `index` has a place for each element of the front of the source.
static AlongDim elementsAlongDim(const aten::Call &call, LoweringBuilder &b) {
  Tensor base = b.atLeast1d(self(call, b));
  Tensor index = b.atLeast1d(b.tensor(call.value("index")));
  AlongDim along{base, call.dim("dim", base.rank()), SizeVector(index.shape()),
                 index, std::nullopt};
  if (call.schema->find("src") >= 0)
    along.source = b.atLeast1d(b.tensor(call.value("src")));
  return along;
}

/// index_*: `index` is a vector with a place for each slice of `source`.
static AlongDim slicesAlongDim(const aten::Call &call, LoweringBuilder &b,
                               StringRef source) {
  Tensor base = b.atLeast1d(self(call, b));
  Tensor index = b.atLeast1d(b.tensor(call.value("index")));
  int64_t dim = call.dim("dim", base.rank());
  SizeVector domain(base.shape());
  domain[dim] = index.shape()[0];
  AlongDim along{
      base, dim, domain,
      Read(index, AffineMap::get(domain.size(), 0, b.dim(dim), b.context)),
      std::nullopt};
  if (!source.empty())
    if (Value value = call.value(source))
      along.source = Read(b.expand(b.tensor(value), domain));
  return along;
}

/// Combines the source, or `number`, into the base.
static Tensor write(LoweringBuilder &b, const AlongDim &along, ReduceKind kind,
                    Tensor base, Attribute number = {},
                    function_ref<Scalar(Scalar)> change = nullptr) {
  SmallVector<Read> inputs{along.index};
  if (along.source)
    inputs.push_back(*along.source);
  int64_t size = along.base.shape()[along.dim];
  return b.scatter(
      kind, base, along.domain, inputs, [&](LoopBody &loop, Args in) -> Write {
        Scalar value =
            along.source ? in[1] : loop.literal(number, base.element);
        if (change)
          value = change(value);
        Scalar place = resolveNegative(in[0], size);
        return {along.places(loop, place), value, {}};
      });
}

/// Writes one number to every place that the source goes to.
static Tensor writeNumber(LoweringBuilder &b, AlongDim along, ReduceKind kind,
                          Tensor base, Attribute number) {
  along.source = std::nullopt;
  return write(b, along, kind, base, number);
}

/// Combines by one of PyTorch's names of reductions.
static Lowered reduceInto(const aten::Call &call, LoweringBuilder &b,
                          const AlongDim &along, StringRef name,
                          bool includeSelf, Attribute number = {}) {
  ReduceKind kind = llvm::StringSwitch<ReduceKind>(name)
                        .Cases("sum", "add", "mean", ReduceKind::Sum)
                        .Cases("prod", "multiply", ReduceKind::Prod)
                        .Cases("amax", "max", ReduceKind::Max)
                        .Default(ReduceKind::Min);
  Tensor base = along.base;
  if (!includeSelf)
    base = writeNumber(b, along, ReduceKind::Set, base,
                       identityOf(kind, base.element));
  Tensor result = write(b, along, kind, base, number);
  if (name == "mean") {
    // Counted in the compute type, as the sum is: exact up to 2^24 terms.
    Type element = computeType(base.element);
    Tensor counts = b.full(base.shape(), element, 1);
    if (!includeSelf)
      counts = writeNumber(b, along, ReduceKind::Set, counts,
                           identityOf(ReduceKind::Sum, element));
    counts = writeNumber(b, along, ReduceKind::Sum, counts,
                         b.builder.getI64IntegerAttr(1));
    result = b.pointwise(result.shape(), base.element, {result, counts},
                         [&](LoopBody &, Args in) {
                           Scalar sum = widen(in[0]);
                           return sum.isFloat() ? sum / in[1]
                                                : floorDivide(sum, in[1]);
                         });
  }
  return b.reshape(result, resultShape(call));
}

static Lowered lowerScatter(const aten::Call &call, LoweringBuilder &b) {
  AlongDim along = elementsAlongDim(call, b);
  Attribute number = along.source ? Attribute() : call.literal("value");
  if (call.schema->find("reduce") >= 0)
    return reduceInto(call, b, along, call.string("reduce"),
                      /*includeSelf=*/true, number);
  return b.reshape(write(b, along, ReduceKind::Set, along.base, number),
                   resultShape(call));
}

static Lowered lowerScatterAdd(const aten::Call &call, LoweringBuilder &b) {
  AlongDim along = elementsAlongDim(call, b);
  return b.reshape(write(b, along, ReduceKind::Sum, along.base),
                   resultShape(call));
}

static Lowered lowerScatterReduce(const aten::Call &call, LoweringBuilder &b) {
  return reduceInto(call, b, elementsAlongDim(call, b), call.string("reduce"),
                    call.flag("include_self"));
}

static Lowered lowerIndexCopy(const aten::Call &call, LoweringBuilder &b) {
  AlongDim along = slicesAlongDim(call, b, "source");
  return b.reshape(write(b, along, ReduceKind::Set, along.base),
                   resultShape(call));
}

static Lowered lowerIndexAdd(const aten::Call &call, LoweringBuilder &b) {
  AlongDim along = slicesAlongDim(call, b, "source");
  Type element = computeType(along.base.element);
  Attribute alpha = call.literal("alpha");
  Tensor sums =
      write(b, along, ReduceKind::Sum, along.base, {}, [&](Scalar value) {
        if (element.isInteger(1))
          return value;
        return cast(value, element) * value.body->literal(alpha, element);
      });
  return b.reshape(sums, resultShape(call));
}

static Lowered lowerIndexFill(const aten::Call &call, LoweringBuilder &b) {
  AlongDim along = slicesAlongDim(call, b, "value");
  Attribute number = along.source ? Attribute() : call.literal("value");
  return b.reshape(write(b, along, ReduceKind::Set, along.base, number),
                   resultShape(call));
}

static Lowered lowerIndexReduce(const aten::Call &call, LoweringBuilder &b) {
  return reduceInto(call, b, slicesAlongDim(call, b, "source"),
                    call.string("reduce"), call.flag("include_self"));
}

//===----------------------------------------------------------------------===//
// Others
//===----------------------------------------------------------------------===//

/// Elements of the source, in order, where the mask is true.
static Lowered lowerMaskedScatter(const aten::Call &call, LoweringBuilder &b) {
  Sizes shape = resultShape(call);
  Tensor x = b.expand(self(call, b), shape);
  Tensor mask = b.expand(b.tensor(call.value("mask")), shape);
  Tensor source = b.tensor(call.value("source"));
  if (source.numElements() == 0)
    return x;
  Tensor flatMask =
      b.cast(b.reshape(mask, {mask.numElements()}), b.builder.getI64Type());
  Tensor ranks = b.scan(ReduceKind::Sum, flatMask, 0);
  Tensor flatSource = b.reshape(source, {source.numElements()});
  int64_t last = source.numElements() - 1;
  return b.pointwise(
      shape, x.element, {x, mask, b.reshape(ranks, shape)},
      [&](LoopBody &loop, Args in) {
        return loop.ifElse(
            in[1],
            [&] {
              Scalar place = minimum(in[2] - 1, loop.integer(last, in[2].type));
              return cast(loop.read(flatSource, {place}), x.element);
            },
            [&] { return in[0]; });
      });
}

/// Writes `src` into the row-major storage of `self`, where strides say.
static Lowered lowerAsStridedScatter(const aten::Call &call,
                                     LoweringBuilder &b) {
  Tensor x = self(call, b), src = b.tensor(call.value("src"));
  SizeVector strides = call.integers("stride");
  int64_t offset = call.maybeInteger("storage_offset").value_or(0);
  Tensor result =
      b.scatter(ReduceKind::Set, b.reshape(x, {x.numElements()}), src.shape(),
                {src}, [&](LoopBody &loop, Args in) -> Write {
                  Scalar place = loop.position(offset);
                  for (auto [i, stride] : llvm::enumerate(strides))
                    place = place + loop.index(i) * double(stride);
                  return {{place}, in[0], {}};
                });
  return b.reshape(result, x.shape());
}

/// Adds each gradient to the place that the maximum came from. The position in
/// the spatial dimensions is row-major.
template <unsigned spatialRank>
static Lowered lowerMaxPoolBackward(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor grad = b.tensor(call.value("grad_output"));
  Tensor indices = b.tensor(call.value("indices"));
  Sizes shape = resultShape(call);
  Type element = computeType(grad.element);
  Tensor sums = b.scatter(
      ReduceKind::Sum, b.full(shape, element, 0), grad.shape(), {indices, grad},
      [&](LoopBody &loop, Args in) -> Write {
        SmallVector<Scalar> places = loop.indices(grad.rank());
        Scalar position = in[0];
        for (unsigned i = shape.size(); i-- > shape.size() - spatialRank;) {
          Scalar size = loop.integer(shape[i], position.type);
          places[i] = remainderOf(position, size);
          position = position / size;
        }
        return {places, in[1], {}};
      });
  return b.narrow(sums, resultElement(call));
}

void addScatterLowerings(Registry &registry) {
  for (StringRef name :
       {"aten.index_put.default", "aten._unsafe_index_put.default"})
    registry[name] = lowerIndexPut;
  registry["aten.put.default"] = lowerPut;
  for (StringRef name : {"aten.scatter.src", "aten.scatter.value",
                         "aten.scatter.reduce", "aten.scatter.value_reduce"})
    registry[name] = lowerScatter;
  registry["aten.scatter_add.default"] = lowerScatterAdd;
  registry["aten.scatter_reduce.two"] = lowerScatterReduce;
  registry["aten.index_copy.default"] = lowerIndexCopy;
  registry["aten.index_add.default"] = lowerIndexAdd;
  for (StringRef name :
       {"aten.index_fill.int_Scalar", "aten.index_fill.int_Tensor"})
    registry[name] = lowerIndexFill;
  registry["aten.index_reduce.default"] = lowerIndexReduce;
  registry["aten.masked_scatter.default"] = lowerMaskedScatter;
  registry["aten.as_strided_scatter.default"] = lowerAsStridedScatter;
  registry["aten.max_pool2d_with_indices_backward.default"] =
      lowerMaxPoolBackward<2>;
  registry["aten.max_pool3d_with_indices_backward.default"] =
      lowerMaxPoolBackward<3>;
}

} // namespace gcompile::legalize
