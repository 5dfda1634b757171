// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-DAG:   #[[READ:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d0, d1, d2 * 2 + d4, d3 * 2 + d5)>
// CHECK-DAG:   #[[WINDOW:.*]] = affine_map<(d0, d1, d2, d3, d4, d5) -> (d4, d5)>
// CHECK-LABEL: func.func @max_pool_pads_with_minus_infinity
// CHECK:         %[[PADDED:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x9x9xf32>)
// CHECK:           arith.constant 0xFF800000
// CHECK:         %[[SIZES:.*]] = tensor.empty() : tensor<3x3xi1>
// CHECK:         linalg.generic {indexing_maps = [#[[READ]], #[[WINDOW]], #{{.*}}], iterator_types = ["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]} ins(%[[PADDED]], %[[SIZES]] :
// CHECK:           arith.maximumf
func.func @max_pool_pads_with_minus_infinity(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %y, %i = aten.call "aten.max_pool2d_with_indices.default"(%x, [3, 3], [2, 2], [1, 1], [1, 1], false) : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return %y : tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @max_pool_with_positions
// CHECK:         } -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
func.func @max_pool_with_positions(%x: tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>) {
  %y, %i = aten.call "aten.max_pool2d_with_indices.default"(%x, [2, 2], [], [0, 0], [1, 1], false) : (tensor<1x2x8x8xf32>) -> (tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>)
  return %y, %i : tensor<1x2x4x4xf32>, tensor<1x2x4x4xi64>
}

// -----

// All windows count 2 x 2 elements.
// CHECK-LABEL: func.func @equal_windows_share_a_divisor
// CHECK:         arith.constant 4.000000e+00
// CHECK-NEXT:    arith.divf
func.func @equal_windows_share_a_divisor(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32> {
  %y = aten.call "aten.avg_pool2d.default"(%x, [2, 2], [2, 2], [0, 0], false, true, none) : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return %y : tensor<1x2x4x4xf32>
}

// -----

// The last windows reach beyond the padding: 8 + 2 * 1 < 2 * 5 + 1, and count less.
// CHECK-LABEL: func.func @ceil_mode_counts_by_place
// CHECK:         arith.minsi
// CHECK:         arith.divf
func.func @ceil_mode_counts_by_place(%x: tensor<1x2x8x8xf32>) -> tensor<1x2x5x5xf32> {
  %y = aten.call "aten.avg_pool2d.default"(%x, [3, 3], [2, 2], [1, 1], true, true, none) : (tensor<1x2x8x8xf32>) -> tensor<1x2x5x5xf32>
  return %y : tensor<1x2x5x5xf32>
}

// -----

// 7 = 2 windows of 4, which share an element; 8 = 4 windows of 2.
// CHECK-LABEL: func.func @adaptive_windows
// CHECK:         tensor.empty() : tensor<4x4xi1>
// CHECK:         scf.if
// CHECK:           tensor.extract
// CHECK:         tensor.empty() : tensor<2x2xi1>
// CHECK-NOT:     tensor.extract
func.func @adaptive_windows(%x: tensor<1x2x7x7xf32>, %y: tensor<1x2x8x8xf32>) -> (tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>) {
  %a = aten.call "aten._adaptive_avg_pool2d.default"(%x, [2, 2]) : (tensor<1x2x7x7xf32>) -> tensor<1x2x2x2xf32>
  %b = aten.call "aten._adaptive_avg_pool2d.default"(%y, [4, 4]) : (tensor<1x2x8x8xf32>) -> tensor<1x2x4x4xf32>
  return %a, %b : tensor<1x2x2x2xf32>, tensor<1x2x4x4xf32>
}

// -----

// CHECK-LABEL: func.func @nearest_is_a_view
// CHECK:         tg.view %{{.*}} (d0, d1, d2, d3) -> (0, d1, d2 floordiv 2, d3 floordiv 2)
func.func @nearest_is_a_view(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %y = aten.call "aten.upsample_nearest2d.vec"(%x, none, [2.0, 2.0]) : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return %y : tensor<1x2x8x8xf32>
}

// -----

// CHECK-LABEL: func.func @bilinear_reads_four_neighbours
// CHECK-COUNT-4: tensor.extract
// CHECK-NOT:     tensor.extract
func.func @bilinear_reads_four_neighbours(%x: tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32> {
  %y = aten.call "aten.upsample_bilinear2d.vec"(%x, [8, 8], false, none) : (tensor<1x2x4x4xf32>) -> tensor<1x2x8x8xf32>
  return %y : tensor<1x2x8x8xf32>
}
