//===- MatmulLowering.cpp - matrix products -------------------------------===//
// tg.matmul and what PyTorch adds to it. Half-precision products come out in
// float32, are scaled and summed there and rounded once.
#include "Lowering.h"

using namespace mlir;

namespace gcompile::legalize {

/// The product of two matrices, or of stacks of them with equal batch
/// dimensions.
static Tensor matmul(LoweringBuilder &b, Tensor x, Tensor y) {
  SizeVector shape(x.shape());
  shape.back() = y.shape().back();
  Type element = computeType(x.element);
  if (x.shape().back() == 0)
    return b.full(shape, element, 0);
  return b.wrap(b.builder.create<tg::MatmulOp>(b.loc, b.type(shape, element),
                                               x.value, y.value),
                element);
}

static Lowered lowerMatmul(const aten::Call &call, LoweringBuilder &b) {
  Tensor product =
      matmul(b, b.tensor(call.value("self")), b.tensor(call.value("mat2")));
  return b.narrow(product, resultElement(call));
}

/// beta * self + alpha * product.
static Tensor addProduct(const aten::Call &call, LoweringBuilder &b,
                         Tensor product) {
  Tensor self = b.tensor(call.value("self"));
  Type element = product.element;
  Attribute beta = call.literal("beta"), alpha = call.literal("alpha");
  SmallVector<Read> inputs{product};
  // A zero beta does not even let NaN through.
  bool readsSelf = call.number("beta") != 0;
  if (readsSelf)
    inputs.push_back(self);
  return b.pointwise(
      resultShape(call), resultElement(call), inputs,
      [&](LoopBody &loop, ArrayRef<Scalar> in) {
        Scalar sum = in[0] * loop.literal(alpha, element);
        if (!readsSelf)
          return sum;
        return cast(in[1], element) * loop.literal(beta, element) + sum;
      });
}

static Lowered lowerAddMatmul(const aten::Call &call, LoweringBuilder &b) {
  return addProduct(
      call, b,
      matmul(b, b.tensor(call.value("mat1")), b.tensor(call.value("mat2"))));
}

static Lowered lowerAddBatchMatmul(const aten::Call &call, LoweringBuilder &b) {
  return addProduct(call, b,
                    matmul(b, b.tensor(call.value("batch1")),
                           b.tensor(call.value("batch2"))));
}

/// An outer product has nothing to sum: it is pointwise.
static Lowered lowerAddOuter(const aten::Call &call, LoweringBuilder &b) {
  Type element = computeType(resultElement(call));
  Tensor x = b.unsqueeze(b.tensor(call.value("vec1")), 1);
  Tensor y = b.tensor(call.value("vec2"));
  Tensor product = b.pointwise(
      resultShape(call), element, {x, y}, [&](LoopBody &, ArrayRef<Scalar> in) {
        return cast(in[0], element) * cast(in[1], element);
      });
  return addProduct(call, b, product);
}

/// The sum over some dimensions of the product of three tensors, each with
/// dimensions of one put in where its list says.
static Lowered lowerTrilinear(const aten::Call &call, LoweringBuilder &b) {
  SmallVector<Read> inputs;
  Loops loops;
  for (auto [operand, expand] :
       {std::pair("i1", "expand1"), {"i2", "expand2"}, {"i3", "expand3"}}) {
    Tensor x = b.tensor(call.value(operand));
    for (int64_t dim : call.integers(expand))
      x = b.unsqueeze(x, dim);
    loops.sizes.resize(x.rank(), 1);
    for (auto [size, own] : llvm::zip_equal(loops.sizes, x.shape()))
      size = std::max(size, own);
    inputs.push_back(x);
  }
  for (Read &input : inputs) {
    SmallVector<AffineExpr> places;
    for (auto [i, size] : llvm::enumerate(input.tensor.shape()))
      places.push_back(size == loops.sizes[i] ? b.dim(i) : b.constant(0));
    input.map = AffineMap::get(loops.sizes.size(), 0, places, b.context);
  }
  for (int64_t dim : call.integers("sumdim"))
    loops.reduced.push_back(dim);
  llvm::sort(loops.reduced);
  Type element = computeType(resultElement(call));
  Tensor sums = b.reduce(tg::ReduceKind::Sum, element, loops, inputs,
                         [](LoopBody &, ArrayRef<Scalar> in) {
                           return widen(in[0]) * widen(in[1]) * widen(in[2]);
                         });
  return b.narrow(sums, resultElement(call));
}

void addMatmulLowerings(Registry &registry) {
  for (StringRef name : {"aten.mm.default", "aten.bmm.default"})
    registry[name] = lowerMatmul;
  registry["aten.addmm.default"] = lowerAddMatmul;
  registry["aten.baddbmm.default"] = lowerAddBatchMatmul;
  registry["aten.addr.default"] = lowerAddOuter;
  registry["aten._trilinear.default"] = lowerTrilinear;
}

} // namespace gcompile::legalize
