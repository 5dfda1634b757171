// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @permute
// CHECK:         tg.view %{{.*}} (d0, d1, d2) -> (d1, d2, d0) : tensor<2x3x4xf32> -> tensor<4x2x3xf32>
func.func @permute(%x: tensor<2x3x4xf32>) -> tensor<4x2x3xf32> {
  %y = aten.call "aten.permute.default"(%x, [-1, 0, 1]) : (tensor<2x3x4xf32>) -> tensor<4x2x3xf32>
  return %y : tensor<4x2x3xf32>
}

// -----

// CHECK-LABEL: func.func @view
// CHECK:         tg.view %{{.*}} (d0, d1, d2) -> (d0, d1 * 4 + d2) : tensor<3x8xf32> -> tensor<3x2x4xf32>
func.func @view(%x: tensor<3x8xf32>) -> tensor<3x2x4xf32> {
  %y = aten.call "aten.view.default"(%x, [3, 2, -1]) : (tensor<3x8xf32>) -> tensor<3x2x4xf32>
  return %y : tensor<3x2x4xf32>
}

// -----

// The end is beyond the dimension, which PyTorch allows.
// CHECK-LABEL: func.func @slice
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0, d1 * 2 + 5) : tensor<3x8xf32> -> tensor<3x2xf32>
// CHECK:         tg.view %{{.*}} (d0) -> (d0, 7) : tensor<3x8xf32> -> tensor<3xf32>
func.func @slice(%x: tensor<3x8xf32>) -> (tensor<3x2xf32>, tensor<3xf32>) {
  %y = aten.call "aten.slice.Tensor"(%x, 1, -3, 9223372036854775807, 2) : (tensor<3x8xf32>) -> tensor<3x2xf32>
  %z = aten.call "aten.select.int"(%x, 1, -1) : (tensor<3x8xf32>) -> tensor<3xf32>
  return %y, %z : tensor<3x2xf32>, tensor<3xf32>
}

// -----

// CHECK-LABEL: func.func @expand
// CHECK:         tg.view %{{.*}} (d0, d1, d2) -> (d1, 0) : tensor<3x1xf32> -> tensor<2x3x4xf32>
func.func @expand(%x: tensor<3x1xf32>) -> tensor<2x3x4xf32> {
  %y = aten.call "aten.expand.default"(%x, [2, -1, 4], false) : (tensor<3x1xf32>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// CHECK-LABEL: func.func @squeeze
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0, 0, d1)
// CHECK:         tg.view %{{.*}} (d0, d1, d2) -> (d0, d2)
func.func @squeeze(%x: tensor<2x1x4xf32>) -> tensor<2x1x4xf32> {
  %y = aten.call "aten.squeeze.dims"(%x, [1]) : (tensor<2x1x4xf32>) -> tensor<2x4xf32>
  %z = aten.call "aten.unsqueeze.default"(%y, 1) : (tensor<2x4xf32>) -> tensor<2x1x4xf32>
  return %z : tensor<2x1x4xf32>
}

// -----

// CHECK-LABEL: func.func @unbind
// CHECK:         tg.view %{{.*}} (d0) -> (0, d0)
// CHECK:         tg.view %{{.*}} (d0) -> (1, d0)
func.func @unbind(%x: tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %y:2 = aten.call "aten.unbind.int"(%x, 0) : (tensor<2x4xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %y#0, %y#1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @flip_roll_and_repeat
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0, -d1 + 3)
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0, (d1 + 3) mod 4)
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0 mod 2, d1)
func.func @flip_roll_and_repeat(%x: tensor<2x4xf32>) -> tensor<6x4xf32> {
  %y = aten.call "aten.flip.default"(%x, [1]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %z = aten.call "aten.roll.default"(%y, [1], [1]) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %w = aten.call "aten.repeat.default"(%z, [3, 1]) : (tensor<2x4xf32>) -> tensor<6x4xf32>
  return %w : tensor<6x4xf32>
}

// -----

// CHECK-LABEL: func.func @diagonal_and_unfold
// CHECK:         tg.view %{{.*}} (d0) -> (d0, d0 + 1) : tensor<4x4xf32> -> tensor<3xf32>
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0 + d1) : tensor<3xf32> -> tensor<2x2xf32>
func.func @diagonal_and_unfold(%x: tensor<4x4xf32>) -> tensor<2x2xf32> {
  %y = aten.call "aten.diagonal.default"(%x, 1, 0, 1) : (tensor<4x4xf32>) -> tensor<3xf32>
  %z = aten.call "aten.unfold.default"(%y, 0, 2, 1) : (tensor<3xf32>) -> tensor<2x2xf32>
  return %z : tensor<2x2xf32>
}

// -----

// CHECK-LABEL: func.func @as_strided
// CHECK:         tg.view %{{.*}} (d0) -> (d0 floordiv 4, d0 mod 4) : tensor<3x4xf32> -> tensor<12xf32>
// CHECK:         tg.view %{{.*}} (d0, d1) -> (d0 + d1 * 4 + 1)
func.func @as_strided(%x: tensor<3x4xf32>) -> tensor<2x3xf32> {
  %y = aten.call "aten.as_strided.default"(%x, [2, 3], [1, 4], 1) : (tensor<3x4xf32>) -> tensor<2x3xf32>
  return %y : tensor<2x3xf32>
}

// -----

// CHECK-LABEL: func.func @bits_as_another_type
// CHECK:         arith.bitcast %{{.*}} : f32 to i32
func.func @bits_as_another_type(%x: tensor<4xf32>) -> tensor<4xi32> {
  %y = aten.call "aten.view.dtype"(%x, i32) : (tensor<4xf32>) -> tensor<4xi32>
  return %y : tensor<4xi32>
}
