// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @bias_is_pointwise
// CHECK:         %[[SUM:.*]] = tg.convolution %{{.*}}, %{{.*}} {dilation = array<i64: 1, 1>, groups = 1 : i64, output_padding = array<i64: 0, 0>, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 2>, transposed = false} : tensor<1x3x8x8xbf16>, tensor<4x3x3x3xbf16> -> tensor<1x4x4x4xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]], %{{.*}} : tensor<1x4x4x4xf32>, tensor<4xbf16>)
// CHECK:           arith.addf
// CHECK:           arith.truncf
func.func @bias_is_pointwise(%x: tensor<1x3x8x8xbf16>, %w: tensor<4x3x3x3xbf16>, %b: tensor<4xbf16>) -> tensor<1x4x4x4xbf16> {
  %y = aten.call "aten.convolution.default"(%x, %w, %b, [2, 2], [1, 1], [1, 1], false, [0, 0], 1) : (tensor<1x3x8x8xbf16>, tensor<4x3x3x3xbf16>, tensor<4xbf16>) -> tensor<1x4x4x4xbf16>
  return %y : tensor<1x4x4x4xbf16>
}

// -----

// The last row and column of the input are in no window (8 = 2 * (4 - 1) + 1 + 1):
// the transposed convolution adds them. The gradient of the weight slides 4 x 4
// gradients, 2 apart, over the 8 x 8 input: 10 - 7 + 1 = 4 places, of which the
// first 3 are the window's.
// CHECK-LABEL: func.func @gradients_are_convolutions
// CHECK:         tg.convolution {{.*}} output_padding = array<i64: 1, 1>, padding = array<i64: 1, 1, 1, 1>, stride = array<i64: 2, 2>, transposed = true} : tensor<2x4x4x4xf32>, tensor<4x3x3x3xf32> -> tensor<2x3x8x8xf32>
// CHECK:         tg.convolution {{.*}}dilation = array<i64: 2, 2>, groups = 1 : i64, {{.*}} stride = array<i64: 1, 1>, transposed = false} : tensor<3x2x8x8xf32>, tensor<4x2x4x4xf32> -> tensor<3x4x4x4xf32>
// CHECK:         iterator_types = ["reduction", "parallel", "reduction", "reduction"]
func.func @gradients_are_convolutions(%g: tensor<2x4x4x4xf32>, %x: tensor<2x3x8x8xf32>, %w: tensor<4x3x3x3xf32>) -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>) {
  %dx, %dw, %db = aten.call "aten.convolution_backward.default"(%g, %x, %w, [4], [2, 2], [1, 1], [1, 1], false, [0, 0], 1, [true, true, true]) : (tensor<2x4x4x4xf32>, tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>) -> (tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>)
  return %dx, %dw, %db : tensor<2x3x8x8xf32>, tensor<4x3x3x3xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @depthwise
// CHECK:         groups = 6 : i64, {{.*}} : tensor<1x12x10x10xf32>, tensor<6x2x8x8xf32> -> tensor<1x6x3x3xf32>
func.func @depthwise(%g: tensor<2x6x8x8xf32>, %x: tensor<2x6x10x10xf32>, %w: tensor<6x1x3x3xf32>) -> tensor<6x1x3x3xf32> {
  %dx, %dw, %db = aten.call "aten.convolution_backward.default"(%g, %x, %w, none, [1, 1], [0, 0], [1, 1], false, [0, 0], 6, [false, true, false]) : (tensor<2x6x8x8xf32>, tensor<2x6x10x10xf32>, tensor<6x1x3x3xf32>) -> (tensor<2x6x10x10xf32>, tensor<6x1x3x3xf32>, tensor<6xf32>)
  return %dw : tensor<6x1x3x3xf32>
}
