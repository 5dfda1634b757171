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

void addMatmulLowerings(Registry &registry) {
  for (StringRef name : {"aten.mm.default", "aten.bmm.default"})
    registry[name] = lowerMatmul;
  registry["aten.addmm.default"] = lowerAddMatmul;
  registry["aten.baddbmm.default"] = lowerAddBatchMatmul;
  registry["aten.addr.default"] = lowerAddOuter;
}

} // namespace gcompile::legalize
