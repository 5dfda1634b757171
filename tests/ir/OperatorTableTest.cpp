#include "gcompile/ir/AtenBuilder.h"
#include "gcompile/ir/Dialects.h"
#include "gcompile/ir/Promotion.h"

#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/MLIRContext.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

using namespace mlir;
using namespace gcompile;
using namespace gcompile::aten;
using testing::ElementsAre;

namespace {

class OperatorTableTest : public testing::Test {
protected:
  OperatorTableTest() : builder(&context) {
    DialectRegistry registry;
    registerGcompileDialects(registry);
    context.appendDialectRegistry(registry);
    context.loadAllAvailableDialects();
    module = ModuleOp::create(builder.getUnknownLoc());
    builder.setInsertionPointToStart(module->getBody());
  }

  Type f16() { return builder.getF16Type(); }
  Type bf16() { return builder.getBF16Type(); }
  Type f32() { return builder.getF32Type(); }
  Type f64() { return builder.getF64Type(); }
  Type i1() { return builder.getI1Type(); }
  Type i8() { return builder.getIntegerType(8); }
  Type ui8() { return builder.getIntegerType(8, false); }
  Type i32() { return builder.getI32Type(); }
  Type i64() { return builder.getI64Type(); }

  Value tensor(ArrayRef<int64_t> shape, Type element) {
    return AtenBuilder(builder, builder.getUnknownLoc())
        .call("aten.empty.memory_format", {SmallVector<int64_t>(shape)},
              {{"dtype", element}});
  }
  RankedTensorType type(ArrayRef<int64_t> shape, Type element) {
    return RankedTensorType::get(shape, element);
  }
  Type call(StringRef callee, ArrayRef<Arg> args,
            AtenBuilder::Keywords keywords = {}) {
    return AtenBuilder(builder, builder.getUnknownLoc())
        .call(callee, args, keywords)
        .getType();
  }
  SmallVector<Type> multi(StringRef callee, ArrayRef<Arg> args,
                          AtenBuilder::Keywords keywords = {}) {
    return SmallVector<Type>(AtenBuilder(builder, builder.getUnknownLoc())
                                 .callMulti(callee, args, keywords)
                                 .getTypes());
  }

  MLIRContext context;
  OpBuilder builder;
  OwningOpRef<ModuleOp> module;
};

TEST_F(OperatorTableTest, schema_is_read_as_pytorch_prints_it) {
  const Schema &add = lookupOperator(&context, "aten.add.Tensor")->schema;
  ASSERT_EQ(add.arguments.size(), 3u);
  EXPECT_EQ(add.arguments[2].name, "alpha");
  EXPECT_TRUE(add.arguments[2].isKeywordOnly);
  EXPECT_EQ(add.arguments[2].defaultValue, builder.getI64IntegerAttr(1));
  EXPECT_FALSE(add.isInPlace());

  const Schema &pool =
      lookupOperator(&context, "aten.max_pool2d.default")->schema;
  EXPECT_EQ(pool.arguments[pool.find("padding")].defaultValue,
            builder.getI64ArrayAttr({0, 0}));
  EXPECT_EQ(pool.arguments[pool.find("stride")].defaultValue,
            builder.getArrayAttr({}));

  const Schema &split = lookupOperator(&context, "aten.split.Tensor")->schema;
  EXPECT_TRUE(split.isView());
  EXPECT_TRUE(split.returns[0].isList);
  EXPECT_EQ(split.returns[0].aliasOf, 0);

  const Schema &copy = lookupOperator(&context, "aten.copy_.default")->schema;
  EXPECT_TRUE(copy.isInPlace());
  EXPECT_FALSE(copy.isView());

  const Schema &mul = lookupOperator(&context, "_operator.mul")->schema;
  EXPECT_EQ(mul.returns.size(), 1u);
}

TEST_F(OperatorTableTest, in_place_operator_has_a_functional_twin) {
  for (const std::string &name : supportedOperators(&context)) {
    auto [prefix, overload] = StringRef(name).rsplit('.');
    if (!prefix.ends_with("_") || prefix.ends_with("__") ||
        !prefix.starts_with("aten."))
      continue;
    // Named differently from their twins.
    if (name == "aten.bernoulli_.float" || name == "aten.normal_.default" ||
        name == "aten.transpose_.default")
      continue;
    std::string twin = (prefix.drop_back() + "." + overload).str();
    EXPECT_NE(lookupOperator(&context, twin), nullptr) << name;
  }
}

TEST_F(OperatorTableTest, tensors_with_dimensions_decide_the_dtype) {
  Value half = tensor({2, 3}, f16()), zeroDim = tensor({}, f32()),
        ints = tensor({3}, i64()), bytes = tensor({3}, ui8()),
        bools = tensor({3}, i1());
  EXPECT_EQ(call("aten.add.Tensor", {half, zeroDim}), type({2, 3}, f16()));
  EXPECT_EQ(call("aten.add.Tensor", {ints, zeroDim}), type({3}, f32()));
  EXPECT_EQ(call("aten.mul.Tensor", {ints, half}), type({2, 3}, f16()));
  EXPECT_EQ(call("aten.add.Tensor", {bytes, tensor({3}, i8())}),
            type({3}, builder.getIntegerType(16)));
  EXPECT_EQ(call("aten.add.Tensor", {half, tensor({3}, bf16())}),
            type({2, 3}, f32()));
  EXPECT_EQ(call("aten.add.Tensor", {bools, bools}), type({3}, i1()));
}

TEST_F(OperatorTableTest, python_scalars_only_lift_the_category) {
  Value ints = tensor({3}, i32()), bools = tensor({3}, i1()),
        half = tensor({3}, bf16());
  EXPECT_EQ(call("aten.mul.Scalar", {ints, 2}), type({3}, i32()));
  EXPECT_EQ(call("aten.mul.Scalar", {ints, 2.5}), type({3}, f32()));
  EXPECT_EQ(call("aten.mul.Scalar", {bools, 2}), type({3}, i64()));
  EXPECT_EQ(call("aten.mul.Scalar", {half, 2.5}), type({3}, bf16()));
  EXPECT_EQ(call("aten.pow.Scalar", {2, half}), type({3}, bf16()));
  EXPECT_EQ(call("aten.where.ScalarOther", {bools, ints, 1.0}),
            type({3}, f32()));
}

TEST_F(OperatorTableTest, division_and_transcendentals_give_floats) {
  Value ints = tensor({3}, i64()), bools = tensor({3}, i1());
  EXPECT_EQ(call("aten.div.Tensor", {ints, ints}), type({3}, f32()));
  EXPECT_EQ(
      call("aten.div.Tensor_mode", {ints, ints}, {{"rounding_mode", "floor"}}),
      type({3}, i64()));
  EXPECT_EQ(call("aten.exp.default", {bools}), type({3}, f32()));
  EXPECT_EQ(call("aten.eq.Scalar", {ints, 1}), type({3}, i1()));
}

TEST_F(OperatorTableTest, reductions) {
  Value x = tensor({2, 3, 4}, f32()), ints = tensor({2, 3}, i32());
  using Dims = SmallVector<int64_t>;
  EXPECT_EQ(call("aten.sum.dim_IntList", {ints, Dims{-1}}), type({2}, i64()));
  EXPECT_EQ(call("aten.mean.dim", {x, Dims{-1, 0}, true}),
            type({1, 3, 1}, f32()));
  EXPECT_EQ(call("aten.amax.default", {x}), type({}, f32()));
  EXPECT_EQ(call("aten.any.dim", {ints, 0}), type({3}, i1()));
  EXPECT_THAT(multi("aten.max.dim", {x, 1}),
              ElementsAre(type({2, 4}, f32()), type({2, 4}, i64())));
}

TEST_F(OperatorTableTest, views_and_lists) {
  using Dims = SmallVector<int64_t>;
  Value x = tensor({2, 3, 4}, f32());
  EXPECT_EQ(call("aten.view.default", {x, Dims{6, -1}}), type({6, 4}, f32()));
  EXPECT_EQ(call("aten.slice.Tensor", {x, 2, 1, int64_t(INT64_MAX), 2}),
            type({2, 3, 2}, f32()));
  EXPECT_EQ(call("aten.slice.Tensor", {x, 1, -2}), type({2, 2, 4}, f32()));
  EXPECT_EQ(call("aten.permute.default", {x, Dims{2, 0, 1}}),
            type({4, 2, 3}, f32()));
  EXPECT_THAT(multi("aten.split.Tensor", {x, 3, 2}),
              ElementsAre(type({2, 3, 3}, f32()), type({2, 3, 1}, f32())));
  EXPECT_THAT(multi("aten.unbind.int", {x}),
              ElementsAre(type({3, 4}, f32()), type({3, 4}, f32())));
  Value index = tensor({5, 1}, i64());
  EXPECT_EQ(
      call("aten.index.Tensor", {x, SmallVector<Value>{Value(), index, index}}),
      type({2, 5, 1}, f32()));
  EXPECT_EQ(
      call("aten.index.Tensor", {x, SmallVector<Value>{index, Value(), index}}),
      type({5, 1, 3}, f32()));
  EXPECT_EQ(call("aten.cat.default",
                 {SmallVector<Value>{x, tensor({0}, f32()), x}, 1}),
            type({2, 6, 4}, f32()));
}

TEST_F(OperatorTableTest, windows) {
  using Dims = SmallVector<int64_t>;
  Value x = tensor({1, 8, 15, 15}, f32());
  EXPECT_EQ(
      call("aten.conv2d.default", {x, tensor({16, 4, 3, 3}, f32()), Arg::none(),
                                   Dims{2, 2}, Dims{1, 1}, Dims{1, 1}, 2}),
      type({1, 16, 8, 8}, f32()));
  EXPECT_EQ(call("aten.conv_transpose2d.input",
                 {x, tensor({8, 4, 3, 3}, f32()), Arg::none(), Dims{2, 2},
                  Dims{1, 1}, Dims{1, 1}}),
            type({1, 4, 30, 30}, f32()));
  // (15 - 3) / 2 + 1 = 7 with stride 2; the ceiling adds nothing.
  EXPECT_EQ(call("aten.max_pool2d.default", {x, Dims{3, 3}, Dims{2, 2}}),
            type({1, 8, 7, 7}, f32()));
  // (15 - 2) / 2 + 1 = 7, and one more that starts at 14.
  EXPECT_EQ(call("aten.avg_pool2d.default",
                 {x, Dims{2, 2}, Dims{2, 2}, Dims{0, 0}, true}),
            type({1, 8, 8, 8}, f32()));
}

TEST_F(OperatorTableTest, promotion_refuses_what_pytorch_refuses) {
  Type ui16 = builder.getIntegerType(16, false);
  EXPECT_EQ(promoteTypes(ui16, f32()), f32());
  EXPECT_EQ(promoteTypes(ui16, ui16), ui16);
  EXPECT_FALSE(promoteTypes(ui16, i64()));
  EXPECT_FALSE(promoteTypes(ui16, i1()));
  EXPECT_FALSE(promoteTypes(builder.getFloat8E4M3FNType(), f32()));
}

TEST_F(OperatorTableTest, randomness_follows_the_arguments) {
  auto random = [&](StringRef callee, ArrayRef<Arg> args) {
    AtenBuilder(builder, builder.getUnknownLoc()).callMulti(callee, args);
    return isRandom(cast<CallOp>(module->getBody()->back()));
  };
  Value x = tensor({3}, f32());
  EXPECT_TRUE(random("aten.rand.default", {SmallVector<int64_t>{2}}));
  EXPECT_TRUE(random("aten.bernoulli.p", {x, 0.5}));
  EXPECT_TRUE(random("aten.dropout.default", {x, 0.5, true}));
  EXPECT_FALSE(random("aten.dropout.default", {x, 0.5, false}));
  EXPECT_FALSE(random("aten.add.Tensor", {x, x}));
}

} // namespace
