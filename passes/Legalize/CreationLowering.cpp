//===- CreationLowering.cpp - tensors from numbers, positions and chance --===//
#include "Lowering.h"

using namespace mlir;

namespace gcompile::legalize {

using Args = ArrayRef<Scalar>;

/// Memory that PyTorch leaves undefined is zero here, so that runs repeat.
static Lowered lowerZeros(const aten::Call &call, LoweringBuilder &b) {
  return b.full(resultShape(call), resultElement(call), 0);
}

/// The argument, a number or a tensor of one, everywhere.
template <const char *argument>
static Lowered lowerFull(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  SmallVector<Read> inputs;
  if (Value value = call.value(argument))
    inputs.push_back(b.reshape(b.tensor(value), {}));
  return b.pointwise(
      resultShape(call), element, inputs, [&](LoopBody &loop, Args in) {
        return in.empty() ? loop.literal(call.literal(argument), element)
                          : cast(in[0], element);
      });
}
static constexpr char fillValue[] = "fill_value", value[] = "value", s[] = "s";

/// The number in a tensor, as a scalar of the program.
static Lowered lowerItem(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.reshape(b.tensor(call.value("self")), {});
  return b.cast(x, call.op->getResult(0).getType());
}

/// start + i * step
static Tensor arange(LoweringBuilder &b, int64_t size, Type element,
                     function_ref<Scalar(LoopBody &, Type)> start,
                     function_ref<Scalar(LoopBody &, Type)> step) {
  Type type =
      isa<FloatType>(element) ? computeType(element) : b.builder.getI64Type();
  return b.pointwise({size}, element, {}, [&](LoopBody &loop, Args) {
    return start(loop, type) + cast(loop.index(0), type) * step(loop, type);
  });
}

static Lowered lowerArange(const aten::Call &call, LoweringBuilder &b) {
  auto argument = [&](const char *name, int64_t otherwise) {
    return [&call, name, otherwise](LoopBody &loop, Type type) {
      return call.schema->find(name) < 0
                 ? loop.integer(otherwise, type)
                 : loop.literal(call.literal(name), type);
    };
  };
  return arange(b, resultShape(call)[0], resultElement(call),
                argument("start", 0), argument("step", 1));
}

static Lowered lowerLinspace(const aten::Call &call, LoweringBuilder &b) {
  int64_t size = resultShape(call)[0];
  Type element = resultElement(call);
  Type type =
      isa<FloatType>(element) ? computeType(element) : b.builder.getF32Type();
  double start = call.number("start"), end = call.number("end");
  double step = size > 1 ? (end - start) / (size - 1) : 0;
  // From both ends, as PyTorch does: the last element is exact.
  return b.pointwise({size}, element, {}, [&](LoopBody &loop, Args) {
    Scalar i = loop.index(0);
    Scalar fromStart = cast(i, type) * step + start;
    Scalar fromEnd = end - cast(loop.position(size - 1) - i, type) * step;
    return select(i < size / 2, fromStart, size > 1 ? fromEnd : fromStart);
  });
}

static Lowered lowerEye(const aten::Call &call, LoweringBuilder &b) {
  return b.pointwise(
      resultShape(call), resultElement(call), {},
      [&](LoopBody &loop, Args) { return loop.index(0) == loop.index(1); });
}

/// Keeps a triangle: below and on the diagonal, or above and on it.
template <bool isLower>
static Lowered lowerTriangle(const aten::Call &call, LoweringBuilder &b) {
  Tensor x = b.tensor(call.value("self"));
  int64_t diagonal = call.integer("diagonal");
  return b.pointwise(x.shape(), x.element, {x}, [&](LoopBody &loop, Args in) {
    Scalar row = loop.index(x.rank() - 2), column = loop.index(x.rank() - 1);
    Scalar limit = row + diagonal;
    return select(isLower ? column <= limit : column >= limit, in[0], 0);
  });
}

//===----------------------------------------------------------------------===//
// Random numbers
//===----------------------------------------------------------------------===//

static Tensor random(LoweringBuilder &b, StringRef distribution, Sizes shape,
                     Type element) {
  return b.wrap(b.builder.create<tg::RandomOp>(b.loc, b.type(shape, element),
                                               distribution,
                                               b.nextRandomStream()),
                element);
}

/// Uniform in [0, 1). Half precision gets as many bits as it has, since
/// rounding could give 1.
static Tensor uniform(LoweringBuilder &b, Sizes shape, Type element) {
  Type type = computeType(element);
  Tensor wide = random(b, "uniform", shape, type);
  if (type == element)
    return wide;
  double steps = element.isBF16() ? 1 << 8 : 1 << 11;
  return b.pointwise(shape, element, {wide}, [&](LoopBody &, Args in) {
    return floor(in[0] * steps) / steps;
  });
}

static Lowered lowerRand(const aten::Call &call, LoweringBuilder &b) {
  return uniform(b, resultShape(call), resultElement(call));
}

static Lowered lowerRandn(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  return b.narrow(random(b, "normal", resultShape(call), computeType(element)),
                  element);
}

static Lowered lowerUniform(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  double from = call.number("from"), to = call.number("to");
  Tensor unit = random(b, "uniform", resultShape(call), computeType(element));
  return b.pointwise(
      resultShape(call), element, {unit},
      [&](LoopBody &, Args in) { return in[0] * (to - from) + from; });
}

static Lowered lowerNormal(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  double mean = call.number("mean"), deviation = call.number("std");
  Tensor standard =
      random(b, "normal", resultShape(call), computeType(element));
  return b.pointwise(
      resultShape(call), element, {standard},
      [&](LoopBody &, Args in) { return in[0] * deviation + mean; });
}

static Lowered lowerExponential(const aten::Call &call, LoweringBuilder &b) {
  Type element = resultElement(call);
  double rate = call.number("lambd");
  Tensor unit = random(b, "uniform", resultShape(call), computeType(element));
  return b.pointwise(
      resultShape(call), element, {unit},
      [&](LoopBody &, Args in) { return -log1p(-in[0]) / rate; });
}

/// True with the probability in the argument or in the tensor itself.
static Lowered lowerBernoulli(const aten::Call &call, LoweringBuilder &b) {
  Sizes shape = resultShape(call);
  Type f32 = b.builder.getF32Type();
  SmallVector<Read> inputs{random(b, "uniform", shape, f32)};
  bool hasNumber = call.schema->find("p") >= 0 && !call.value("p");
  if (!hasNumber)
    inputs.push_back(
        b.tensor(call.value(call.schema->find("p") >= 0 ? "p" : "self")));
  return b.pointwise(
      shape, resultElement(call), inputs, [&](LoopBody &loop, Args in) {
        return in[0] < (hasNumber ? loop.literal(call.literal("p"), f32)
                                  : cast(in[1], f32));
      });
}

static Lowered lowerRandint(const aten::Call &call, LoweringBuilder &b) {
  int64_t low = call.schema->find("low") >= 0 ? call.integer("low") : 0;
  int64_t range = call.integer("high") - low;
  Type i64 = b.builder.getI64Type();
  Tensor bits = random(b, "bits", resultShape(call), i64);
  return b.pointwise(resultShape(call), resultElement(call), {bits},
                     [&](LoopBody &loop, Args in) {
                       return remainderOf(in[0], loop.integer(range, i64)) +
                              low;
                     });
}

/// The order of random keys.
static Lowered lowerRandperm(const aten::Call &call, LoweringBuilder &b) {
  Type i64 = b.builder.getI64Type();
  Tensor keys = random(b, "bits", resultShape(call), i64);
  auto sort = b.builder.create<tg::SortOp>(
      b.loc, keys.value.getType(), b.type(keys.shape(), i64), keys.value,
      b.builder.getI64IntegerAttr(0), b.builder.getBoolAttr(false),
      b.builder.getBoolAttr(false));
  return b.cast(b.wrap(sort.getIndices(), i64), resultElement(call));
}

//===----------------------------------------------------------------------===//
// Assertions
//===----------------------------------------------------------------------===//

/// What the export asserted of types holds by construction here, and what it
/// asserted of data cannot be raised by a kernel.
static Lowered lowerAssertion(const aten::Call &, LoweringBuilder &) {
  return SmallVector<Tensor>();
}

void addCreationLowerings(Registry &registry) {
  for (StringRef name :
       {"aten.zero.default", "aten.empty.memory_format",
        "aten.empty_like.default", "aten.empty_strided.default",
        "aten.empty_permuted.default", "aten.new_empty.default",
        "aten.new_empty_strided.default"})
    registry[name] = lowerZeros;
  for (StringRef name :
       {"aten.full.default", "aten.full_like.default", "aten.new_full.default"})
    registry[name] = lowerFull<fillValue>;
  for (StringRef name : {"aten.fill.Scalar", "aten.fill.Tensor"})
    registry[name] = lowerFull<value>;
  registry["aten.scalar_tensor.default"] = lowerFull<s>;
  registry["aten._local_scalar_dense.default"] = lowerItem;
  registry["aten.item.default"] = lowerItem;
  for (StringRef name : {"aten.arange.default", "aten.arange.start",
                         "aten.arange.start_step", "prims.iota.default"})
    registry[name] = lowerArange;
  registry["aten.linspace.default"] = lowerLinspace;
  for (StringRef name : {"aten.eye.default", "aten.eye.m"})
    registry[name] = lowerEye;
  registry["aten.tril.default"] = lowerTriangle<true>;
  registry["aten.triu.default"] = lowerTriangle<false>;
  for (StringRef name : {"aten.rand.default", "aten.rand_like.default"})
    registry[name] = lowerRand;
  for (StringRef name : {"aten.randn.default", "aten.randn_like.default"})
    registry[name] = lowerRandn;
  registry["aten.uniform.default"] = lowerUniform;
  registry["aten.normal.float_float"] = lowerNormal;
  registry["aten.normal_functional.default"] = lowerNormal;
  registry["aten.exponential.default"] = lowerExponential;
  for (StringRef name :
       {"aten.bernoulli.default", "aten.bernoulli.p", "aten.bernoulli.Tensor"})
    registry[name] = lowerBernoulli;
  for (StringRef name :
       {"aten.randint.default", "aten.randint.low", "aten.randint_like.default",
        "aten.randint_like.low_dtype"})
    registry[name] = lowerRandint;
  registry["aten.randperm.default"] = lowerRandperm;
  for (StringRef name :
       {"aten._assert_tensor_metadata.default", "aten._assert_scalar.default",
        "aten._assert_async.msg", "aten._assert_async.default"})
    registry[name] = lowerAssertion;
}

} // namespace gcompile::legalize
