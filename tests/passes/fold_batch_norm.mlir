// RUN: gcompile-opt %s -split-input-file -tg-fold-batch-norm | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-fold-batch-norm -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

// weight = w * s and bias = (b - mean) * s + beta, with s = gamma * rsqrt(var + eps).
// COUNT:       tg-fold-batch-norm.folded: 1
// CHECK-LABEL: func.func @convolution_with_bias(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x3x8x8xf32>
// CHECK-SAME:    %[[W:[^:]*]]: tensor<4x3x3x3xf32>
// CHECK-SAME:    %[[B:[^:]*]]: tensor<4xf32>
// CHECK-SAME:    %[[GAMMA:[^:]*]]: tensor<4xf32>
// CHECK-SAME:    %[[BETA:[^:]*]]: tensor<4xf32>
// CHECK-SAME:    %[[MEAN:[^:]*]]: tensor<4xf32>
// CHECK-SAME:    %[[VAR:[^:]*]]: tensor<4xf32>
// CHECK:         %[[SUM:.*]] = aten.call "aten.add.Scalar"(%[[VAR]]
// CHECK:         %[[INV:.*]] = aten.call "aten.rsqrt.default"(%[[SUM]]
// CHECK:         %[[S:.*]] = aten.call "aten.mul.Tensor"(%[[INV]], %[[GAMMA]]
// CHECK:         %[[D:.*]] = aten.call "aten.sub.Tensor"(%[[B]], %[[MEAN]]
// CHECK:         %[[E:.*]] = aten.call "aten.mul.Tensor"(%[[D]], %[[S]]
// CHECK:         %[[BIAS:.*]] = aten.call "aten.add.Tensor"(%[[E]], %[[BETA]]
// CHECK:         %[[S4:.*]] = aten.call "aten.view.default"(%[[S]], [4, 1, 1, 1]
// CHECK:         %[[WEIGHT:.*]] = aten.call "aten.mul.Tensor"(%[[W]], %[[S4]]
// CHECK:         %[[Y:.*]] = aten.call "aten.conv2d.default"(%[[X]], %[[WEIGHT]], %[[BIAS]], [1, 1], [1, 1], [1, 1], 1)
// CHECK-NEXT:    return %[[Y]]
func.func @convolution_with_bias(
    %x: tensor<2x3x8x8xf32> {aten.kind = "user_input", aten.name = "x"},
    %w: tensor<4x3x3x3xf32> {aten.kind = "parameter", aten.name = "w"},
    %b: tensor<4xf32> {aten.kind = "parameter", aten.name = "b"},
    %gamma: tensor<4xf32> {aten.kind = "parameter", aten.name = "gamma"},
    %beta: tensor<4xf32> {aten.kind = "parameter", aten.name = "beta"},
    %mean: tensor<4xf32> {aten.kind = "buffer", aten.name = "mean"},
    %var: tensor<4xf32> {aten.kind = "buffer", aten.name = "var"}) -> tensor<2x4x8x8xf32> {
  %c = aten.call "aten.conv2d.default"(%x, %w, %b, [1, 1], [1, 1], [1, 1], 1) : (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  %y = aten.call "aten.batch_norm.default"(%c, %gamma, %beta, %mean, %var, false, 0.1, 1.0e-5, true) : (tensor<2x4x8x8xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x8x8xf32>
  return %y : tensor<2x4x8x8xf32>
}

// -----

// Half precision: computed in float32, narrowed once.
// COUNT:       tg-fold-batch-norm.folded: 1
// CHECK-LABEL: func.func @half_precision_folds_in_float32
// CHECK:         %[[P:.*]] = aten.call "aten.mul.Tensor"({{.*}} : (tensor<4x3x3x3xf32>, tensor<4x1x1x1xf32>) -> tensor<4x3x3x3xf32>
// CHECK:         %[[W:.*]] = aten.call "aten._to_copy.default"(%[[P]]{{.*}} -> tensor<4x3x3x3xf16>
// CHECK:         aten.call "aten.convolution.default"(%{{.*}}, %[[W]], %{{.*}} : (tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>, tensor<4xf16>)
func.func @half_precision_folds_in_float32(
    %x: tensor<2x3x8x8xf16> {aten.kind = "user_input", aten.name = "x"},
    %w: tensor<4x3x3x3xf16> {aten.kind = "parameter", aten.name = "w"},
    %gamma: tensor<4xf16> {aten.kind = "parameter", aten.name = "gamma"},
    %beta: tensor<4xf16> {aten.kind = "parameter", aten.name = "beta"},
    %mean: tensor<4xf16> {aten.kind = "buffer", aten.name = "mean"},
    %var: tensor<4xf16> {aten.kind = "buffer", aten.name = "var"}) -> tensor<2x4x8x8xf16> {
  %c = aten.call "aten.convolution.default"(%x, %w, unit, [1, 1], [1, 1], [1, 1], false, [0, 0], 1) : (tensor<2x3x8x8xf16>, tensor<4x3x3x3xf16>) -> tensor<2x4x8x8xf16>
  %y, %a, %b = aten.call "aten._native_batch_norm_legit_no_training.default"(%c, %gamma, %beta, %mean, %var, 0.1, 1.0e-5) : (tensor<2x4x8x8xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>, tensor<4xf16>) -> (tensor<2x4x8x8xf16>, tensor<0xf16>, tensor<0xf16>)
  return %y : tensor<2x4x8x8xf16>
}

// -----

// COUNT:       tg-fold-batch-norm.folded: 1
// CHECK-LABEL: func.func @linear_layer
// CHECK:         aten.call "aten.view.default"({{.*}}, [4, 1])
// CHECK:         aten.call "aten.linear.default"
// CHECK-NOT:     batch_norm
func.func @linear_layer(
    %x: tensor<2x3xf32> {aten.kind = "user_input", aten.name = "x"},
    %w: tensor<4x3xf32> {aten.kind = "parameter", aten.name = "w"},
    %mean: tensor<4xf32> {aten.kind = "buffer", aten.name = "mean"},
    %var: tensor<4xf32> {aten.kind = "buffer", aten.name = "var"}) -> tensor<2x4xf32> {
  %c = aten.call "aten.linear.default"(%x, %w, unit) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %y = aten.call "aten.batch_norm.default"(%c, unit, unit, %mean, %var, false, 0.1, 1.0e-5, true) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %y : tensor<2x4xf32>
}

// -----

// Near miss: the norm's channels are the rows of this product, 4 as well.
// COUNT-NOT:   tg-fold-batch-norm
// CHECK-LABEL: func.func @channels_of_a_stack_are_rows
// CHECK:         aten.call "aten.batch_norm.default"
func.func @channels_of_a_stack_are_rows(
    %x: tensor<2x4x3xf32> {aten.kind = "user_input", aten.name = "x"},
    %w: tensor<4x3xf32> {aten.kind = "parameter", aten.name = "w"},
    %mean: tensor<4xf32> {aten.kind = "buffer", aten.name = "mean"},
    %var: tensor<4xf32> {aten.kind = "buffer", aten.name = "var"}) -> tensor<2x4x4xf32> {
  %c = aten.call "aten.linear.default"(%x, %w, unit) : (tensor<2x4x3xf32>, tensor<4x3xf32>) -> tensor<2x4x4xf32>
  %y = aten.call "aten.batch_norm.default"(%c, unit, unit, %mean, %var, false, 0.1, 1.0e-5, true) : (tensor<2x4x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

// -----

// Refused: the unscaled product is wanted too.
// CHECK-LABEL: func.func @second_reader_wants_the_plain_product
// CHECK:         aten.call "aten.batch_norm.default"
func.func @second_reader_wants_the_plain_product(
    %x: tensor<2x3xf32> {aten.kind = "user_input", aten.name = "x"},
    %w: tensor<4x3xf32> {aten.kind = "parameter", aten.name = "w"},
    %mean: tensor<4xf32> {aten.kind = "buffer", aten.name = "mean"},
    %var: tensor<4xf32> {aten.kind = "buffer", aten.name = "var"}) -> (tensor<2x4xf32>, tensor<2x4xf32>) {
  %c = aten.call "aten.linear.default"(%x, %w, unit) : (tensor<2x3xf32>, tensor<4x3xf32>) -> tensor<2x4xf32>
  %y = aten.call "aten.batch_norm.default"(%c, unit, unit, %mean, %var, false, 0.1, 1.0e-5, true) : (tensor<2x4xf32>, tensor<4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  return %c, %y : tensor<2x4xf32>, tensor<2x4xf32>
}
