// RUN: gcompile-opt %s -split-input-file -tg-decompose | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-decompose -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

// A linear layer is one product of all 2 * 4 rows.
// COUNT: tg-decompose.decomposed: 1
// CHECK-LABEL: func.func @linear(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4x8xf32>, %[[W:.*]]: tensor<16x8xf32>)
// CHECK:         %[[ROWS:.*]] = aten.call "aten.view.default"(%[[X]], [8, 8])
// CHECK:         %[[T:.*]] = aten.call "aten.permute.default"(%[[W]], [1, 0])
// CHECK:         %[[Y:.*]] = aten.call "aten.mm.default"(%[[ROWS]], %[[T]])
// CHECK:         aten.call "aten.view.default"(%[[Y]], [2, 4, 16])
func.func @linear(%x: tensor<2x4x8xf32>, %w: tensor<16x8xf32>) -> tensor<2x4x16xf32> {
  %y = aten.call "aten.linear.default"(%x, %w, none) : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
  return %y : tensor<2x4x16xf32>
}

// -----

// Half precision is computed in float32 and rounded once.
// COUNT: tg-decompose.decomposed: 1
// CHECK-LABEL: func.func @silu(
// CHECK:         %[[WIDE:.*]] = aten.call "aten._to_copy.default"(%{{.*}}, f32
// CHECK:         %[[S:.*]] = aten.call "aten.sigmoid.default"(%[[WIDE]])
// CHECK:         %[[M:.*]] = aten.call "aten.mul.Tensor"(%[[WIDE]], %[[S]])
// CHECK:         aten.call "aten._to_copy.default"(%[[M]], bf16
// CHECK-NOT:     bf16,
func.func @silu(%x: tensor<4x8xbf16>) -> tensor<4x8xbf16> {
  %y = aten.call "aten.silu.default"(%x) : (tensor<4x8xbf16>) -> tensor<4x8xbf16>
  return %y : tensor<4x8xbf16>
}

// -----

// What a decomposition is made of is decomposed too: matmul, to bmm.
// COUNT: tg-decompose.decomposed: 1
// CHECK-LABEL: func.func @broadcast_matmul(
// CHECK:         aten.call "aten.expand.default"(%{{.*}}, [3, 2, 4, 8]
// CHECK:         aten.call "aten.bmm.default"
// CHECK-SAME:      (tensor<6x4x8xf32>, tensor<6x8x5xf32>) -> tensor<6x4x5xf32>
func.func @broadcast_matmul(%x: tensor<2x4x8xf32>, %y: tensor<3x2x8x5xf32>) -> tensor<3x2x4x5xf32> {
  %z = aten.call "aten.matmul.default"(%x, %y) : (tensor<2x4x8xf32>, tensor<3x2x8x5xf32>) -> tensor<3x2x4x5xf32>
  return %z : tensor<3x2x4x5xf32>
}

// -----

// A core operator stays; a dead composite goes.
// COUNT: tg-decompose.decomposed: 0
// CHECK-LABEL: func.func @core(
// CHECK-NEXT:    %[[Y:.*]] = aten.call "aten.relu.default"
// CHECK-NEXT:    return %[[Y]]
func.func @core(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %y = aten.call "aten.relu.default"(%x) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  %dead = aten.call "aten.silu.default"(%y) : (tensor<4x8xf32>) -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}
