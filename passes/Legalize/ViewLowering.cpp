//===- ViewLowering.cpp - operators that rearrange elements ---------------===//
// All of them become tg.view, whose map says which element of the source is
// where. PyTorch's views and copies are one after functionalisation.
#include "Lowering.h"

#include "gcompile/ir/IndexMaps.h"

using namespace mlir;

namespace gcompile::legalize {

static Tensor self(const aten::Call &call, LoweringBuilder &b) {
  return b.tensor(call.value("self"));
}

/// The operand itself.
static Lowered lowerIdentity(const aten::Call &call, LoweringBuilder &b) {
  return b.tensor(call.op->getOperand(0));
}

/// The same elements in row-major order.
static Lowered lowerReshape(const aten::Call &call, LoweringBuilder &b) {
  return b.reshape(self(call, b), resultShape(call));
}

static Lowered lowerExpand(const aten::Call &call, LoweringBuilder &b) {
  return b.expand(self(call, b), resultShape(call));
}

static Lowered lowerPermute(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  return b.permute(x, normalizeDims(call.integers("dims"), x.rank()));
}

static Lowered lowerTranspose(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  if (x.rank() == 0)
    return x;
  return b.transpose(x, call.dim("dim0", x.rank()), call.dim("dim1", x.rank()));
}

static Lowered lowerMatrixTranspose(const aten::Call &call,
                                    LoweringBuilder &b) {
  Tensor x = self(call, b);
  return x.rank() < 2 ? x : b.transpose(x, 0, 1);
}

static Lowered lowerMoveDim(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  SizeVector from = normalizeDims(call.integers("source"), x.rank());
  SizeVector to = normalizeDims(call.integers("destination"), x.rank());
  SizeVector order(x.rank(), -1);
  for (auto [source, destination] : llvm::zip_equal(from, to))
    order[destination] = source;
  int64_t next = 0;
  for (int64_t &place : order) {
    if (place >= 0)
      continue;
    while (llvm::is_contained(from, next))
      ++next;
    place = next++;
  }
  return b.permute(x, order);
}

static Lowered lowerSlice(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t dim = call.dim("dim", x.rank());
  int64_t size = x.shape()[dim];
  int64_t start = call.maybeInteger("start").value_or(0);
  start = std::clamp<int64_t>(start < 0 ? start + size : start, 0, size);
  return b.slice(x, dim, start, resultShape(call)[dim], call.integer("step"));
}

static Lowered lowerNarrow(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t dim = call.dim("dim", x.rank());
  int64_t start = call.integer("start");
  if (start < 0)
    start += x.shape()[dim];
  return b.slice(x, dim, start, call.integer("length"));
}

static Lowered lowerSelect(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t dim = call.dim("dim", x.rank());
  int64_t index = call.integer("index");
  return b.select(x, dim, index < 0 ? index + x.shape()[dim] : index);
}

/// Consecutive parts, of the sizes that the results have.
static Lowered lowerSplit(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t dim = call.dim("dim", x.rank());
  SmallVector<Tensor> parts;
  int64_t start = 0;
  for (unsigned i = 0; i < call.op->getNumResults(); ++i) {
    int64_t size = resultShape(call, i)[dim];
    parts.push_back(b.slice(x, dim, start, size));
    start += size;
  }
  return parts;
}

static Lowered lowerUnbind(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t dim = call.dim("dim", x.rank());
  SmallVector<Tensor> parts;
  for (unsigned i = 0; i < call.op->getNumResults(); ++i)
    parts.push_back(b.select(x, dim, i));
  return parts;
}

static SmallVector<AffineExpr> identityPlaces(LoweringBuilder &b,
                                              unsigned rank) {
  SmallVector<AffineExpr> places;
  for (unsigned i = 0; i < rank; ++i)
    places.push_back(b.dim(i));
  return places;
}

static Lowered lowerFlip(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  SmallVector<AffineExpr> places = identityPlaces(b, x.rank());
  if (x.rank() > 0)
    for (int64_t dim : normalizeDims(call.integers("dims"), x.rank()))
      places[dim] = -b.dim(dim) + (x.shape()[dim] - 1);
  return b.view(x, x.shape(), places);
}

static Lowered lowerRoll(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  SizeVector shifts = call.integers("shifts");
  SizeVector dims = normalizeDims(call.integers("dims"), x.rank());
  auto rolled = [&](Tensor x, Sizes dims) {
    SmallVector<AffineExpr> places = identityPlaces(b, x.rank());
    for (auto [dim, shift] : llvm::zip_equal(dims, shifts)) {
      int64_t size = x.shape()[dim];
      places[dim] = (places[dim] + llvm::mod(-shift, size)) % size;
    }
    return b.view(x, x.shape(), places);
  };
  if (!dims.empty())
    return rolled(x, dims);
  // Without dimensions the elements roll in row-major order.
  return b.reshape(rolled(b.reshape(x, {x.numElements()}), {0}), x.shape());
}

static Lowered lowerRepeat(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  Sizes shape = resultShape(call);
  int64_t added = shape.size() - x.rank();
  SmallVector<AffineExpr> places;
  for (int64_t i = 0; i < x.rank(); ++i)
    places.push_back(b.dim(i + added) % x.shape()[i]);
  return b.view(x, shape,
                simplifyInRange(
                    AffineMap::get(shape.size(), 0, places, b.context), shape));
}

static Lowered lowerDiagonal(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t offset = call.integer("offset");
  int64_t dim1 = call.dim("dim1", x.rank()), dim2 = call.dim("dim2", x.rank());
  Sizes shape = resultShape(call);
  AffineExpr position = b.dim(shape.size() - 1);
  SmallVector<AffineExpr> places;
  unsigned next = 0;
  for (int64_t i = 0; i < x.rank(); ++i) {
    if (i == dim1)
      places.push_back(position + std::max<int64_t>(-offset, 0));
    else if (i == dim2)
      places.push_back(position + std::max<int64_t>(offset, 0));
    else
      places.push_back(b.dim(next++));
  }
  return b.view(x, shape, places);
}

static Lowered lowerUnfold(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  Sizes shape = resultShape(call);
  if (x.rank() == 0)
    return b.reshape(x, shape);
  int64_t dim = call.dim("dimension", x.rank());
  SmallVector<AffineExpr> places = identityPlaces(b, x.rank());
  places[dim] = places[dim] * call.integer("step") + b.dim(shape.size() - 1);
  return b.view(x, shape, places);
}

/// Row-major storage of the operand, read with the strides that are given.
static Lowered lowerAsStrided(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  Sizes shape = resultShape(call);
  int64_t last = 0;
  AffineExpr position = b.constant(0);
  int64_t offset = call.maybeInteger("storage_offset").value_or(0);
  for (auto [i, stride] : llvm::enumerate(call.integers("stride"))) {
    position = position + b.dim(i) * stride;
    last += (shape[i] - 1) * stride;
  }
  if (offset + last >= x.numElements())
    return unsupported(call) << "reads element " << offset + last
                             << " of a storage with " << x.numElements();
  Tensor flat = b.reshape(x, {x.numElements()});
  return b.view(flat, shape, {position + offset});
}

/// The storage in row-major order, cut off or continued with zeros.
static Lowered lowerResize(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  int64_t missing = resultType(call).getNumElements() - x.numElements();
  Tensor flat = b.reshape(x, {x.numElements()});
  return b.reshape(b.pad(flat, {0}, {missing}, 0), resultShape(call));
}

/// The bits of the elements as another type.
static Lowered lowerViewDtype(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = self(call, b);
  Type element = resultElement(call);
  if (x.element.getIntOrFloatBitWidth() != element.getIntOrFloatBitWidth() ||
      x.element.isInteger(1))
    return unsupported(call) << "reads " << x.element << " as " << element
                             << ", which has another size";
  return b.pointwise(x.shape(), element, {x},
                     [&](LoopBody &, ArrayRef<Scalar> in) {
                       return signless(x.element) == signless(element)
                                  ? Scalar{in[0].body, in[0].value, element}
                                  : bitcast(in[0], element);
                     });
}

void addViewLowerings(Registry &registry) {
  for (StringRef name :
       {"aten.alias_copy.default", "aten.lift_fresh.default",
        "aten.lift.default", "aten.real.default", "aten.conj.default",

        "aten.conj_physical.default", "aten.resolve_conj.default",
        "aten.resolve_neg.default", "aten.detach_copy.default"})
    registry[name] = lowerIdentity;
  for (StringRef name : {
           "aten.view.default",
           "aten._reshape_copy.default",
           "aten.squeeze.default",
           "aten.squeeze.dim",
           "aten.squeeze.dims",
           "aten.squeeze_copy.default",
           "aten.squeeze_copy.dim",
           "aten.squeeze_copy.dims",
           "aten.unsqueeze.default",
           "aten.unsqueeze_copy.default",
       })
    registry[name] = lowerReshape;
  for (StringRef name : {"aten.expand.default", "aten.expand_copy.default",
                         "aten.expand_as.default", "aten.broadcast_to.default"})
    registry[name] = lowerExpand;
  for (StringRef name : {"aten.permute.default", "aten.permute_copy.default"})
    registry[name] = lowerPermute;
  for (StringRef name : {"aten.transpose.int", "aten.transpose_copy.int"})
    registry[name] = lowerTranspose;
  for (StringRef name : {"aten.t.default", "aten.t_copy.default"})
    registry[name] = lowerMatrixTranspose;
  for (StringRef name : {"aten.movedim.int", "aten.movedim.intlist"})
    registry[name] = lowerMoveDim;
  for (StringRef name : {"aten.slice.Tensor", "aten.slice_copy.Tensor"})
    registry[name] = lowerSlice;
  for (StringRef name : {"aten.narrow.default", "aten.narrow_copy.default"})
    registry[name] = lowerNarrow;
  for (StringRef name : {"aten.select.int", "aten.select_copy.int"})
    registry[name] = lowerSelect;
  for (StringRef name :
       {"aten.split_copy.Tensor", "aten.split_with_sizes_copy.default",
        "aten.unsafe_split.Tensor", "aten.unsafe_split_with_sizes.default",
        "aten.unsafe_chunk.default"})
    registry[name] = lowerSplit;
  for (StringRef name : {"aten.unbind.int", "aten.unbind_copy.int"})
    registry[name] = lowerUnbind;
  for (StringRef name : {"aten.diagonal.default", "aten.diagonal_copy.default"})
    registry[name] = lowerDiagonal;
  for (StringRef name : {"aten.unfold.default", "aten.unfold_copy.default"})
    registry[name] = lowerUnfold;
  for (StringRef name :
       {"aten.as_strided.default", "aten.as_strided_copy.default"})
    registry[name] = lowerAsStrided;
  registry["aten.flip.default"] = lowerFlip;
  registry["aten.roll.default"] = lowerRoll;
  registry["aten.repeat.default"] = lowerRepeat;
  registry["aten.resize.default"] = lowerResize;
  registry["aten.view.dtype"] = lowerViewDtype;
}

} // namespace gcompile::legalize
