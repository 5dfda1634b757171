// RUN: gcompile-opt %s -split-input-file -tg-materialize-views | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-materialize-views -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

// Column 64 is head 1, element 0: 128 * 64 elements further, not 64.
// COUNT:       tg-materialize-views.copies: 1
// CHECK:       #[[MAP:.*]] = affine_map<(d0, d1) -> (d1 floordiv 64, d0, d1 mod 64)>
// CHECK-LABEL: func.func @heads_are_joined_by_a_copy
// CHECK-SAME:    (%[[X:.*]]: tensor<12x128x64xf32>
// CHECK:         %[[COPY:.*]] = linalg.generic {indexing_maps = [#[[MAP]], {{.*}} ins(%[[X]]
// CHECK:         tg.matmul %[[COPY]]
func.func @heads_are_joined_by_a_copy(%x: tensor<12x128x64xf32>, %w: tensor<768x8xf32>) -> tensor<128x8xf32> {
  %v = tg.view %x (d0, d1) -> (d1 floordiv 64, d0, d1 mod 64) : tensor<12x128x64xf32> -> tensor<128x768xf32>
  %y = tg.matmul %v, %w : tensor<128x768xf32>, tensor<768x8xf32> -> tensor<128x8xf32>
  return %y : tensor<128x8xf32>
}

// -----

// Near miss: taking heads apart is a matter of strides, 64, 768 and 1.
// CHECK-LABEL: func.func @heads_are_parted_by_strides
// CHECK:         %[[V:.*]] = tg.view
// CHECK:         tg.matmul %[[V]]
func.func @heads_are_parted_by_strides(%x: tensor<128x768xf32>, %w: tensor<12x64x8xf32>) -> tensor<12x128x8xf32> {
  %v = tg.view %x (d0, d1, d2) -> (d1, d0 * 64 + d2) : tensor<128x768xf32> -> tensor<12x128x64xf32>
  %y = tg.matmul %v, %w : tensor<12x128x64xf32>, tensor<12x64x8xf32> -> tensor<12x128x8xf32>
  return %y : tensor<12x128x8xf32>
}

// -----

// Results are whole tensors; one copy serves both.
// COUNT:       tg-materialize-views.copies: 1
// CHECK-LABEL: func.func @results_are_copied_once
// CHECK:         %[[COPY:.*]] = linalg.generic
// CHECK-NOT:     linalg.generic
// CHECK:         return %[[COPY]], %[[COPY]]
func.func @results_are_copied_once(%x: tensor<4x8xf32>) -> (tensor<8x4xf32>, tensor<8x4xf32>) {
  %v = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
  return %v, %v : tensor<8x4xf32>, tensor<8x4xf32>
}

// -----

// 8 * 8 * 4 = 256 bytes are kept as data, 64 * 64 * 4 = 16384 are computed.
// COUNT:       tg-materialize-views.splats: 2
// CHECK-LABEL: func.func @splats_by_size
// CHECK-DAG:     %[[SMALL:.*]] = arith.constant dense<0.000000e+00> : tensor<8x8xf32>
// CHECK-DAG:     %[[LARGE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<64x64xf32>)
// CHECK:         return %[[SMALL]], %[[LARGE]]
func.func @splats_by_size() -> (tensor<8x8xf32>, tensor<64x64xf32>) {
  %zero = arith.constant 0.0 : f32
  %e = tensor.empty() : tensor<8x8xf32>
  %small = linalg.fill ins(%zero : f32) outs(%e : tensor<8x8xf32>) -> tensor<8x8xf32>
  %large = arith.constant dense<1.0> : tensor<64x64xf32>
  return %small, %large : tensor<8x8xf32>, tensor<64x64xf32>
}
