// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @sort_and_top_k
// CHECK:         tg.sort %{{.*}} {descending = true, dim = 1 : i64, is_unsigned = true} : tensor<4x8xi8> -> tensor<4x8xi8>, tensor<4x8xi64>
// CHECK:         tg.top_k %{{.*}} {dim = 1 : i64, is_unsigned = false, k = 2 : i64, largest = true} : tensor<4x8xf32> -> tensor<4x2xf32>, tensor<4x2xi64>
func.func @sort_and_top_k(%x: tensor<4x8xui8>, %y: tensor<4x8xf32>) -> (tensor<4x8xui8>, tensor<4x2xi64>) {
  %a:2 = aten.call "aten.sort.default"(%x, -1, true) : (tensor<4x8xui8>) -> (tensor<4x8xui8>, tensor<4x8xi64>)
  %b:2 = aten.call "aten.topk.default"(%y, 2, -1, true, true) : (tensor<4x8xf32>) -> (tensor<4x2xf32>, tensor<4x2xi64>)
  return %a#0, %b#1 : tensor<4x8xui8>, tensor<4x2xi64>
}

// -----

// CHECK-LABEL: func.func @running_sum_of_bools
// CHECK:         arith.extui %{{.*}} : i1 to i64
// CHECK:         tg.scan %{{.*}} sum {dim = 0 : i64, is_unsigned = false} : (tensor<8xi64>) -> tensor<8xi64>
func.func @running_sum_of_bools(%x: tensor<8xi1>) -> tensor<8xi64> {
  %y = aten.call "aten.cumsum.default"(%x, 0, none) : (tensor<8xi1>) -> tensor<8xi64>
  return %y : tensor<8xi64>
}

// -----

// CHECK-LABEL: func.func @running_maximum_with_positions
// CHECK:         tg.scan %{{.*}} max {{.*}} : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>)
func.func @running_maximum_with_positions(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>) {
  %y:2 = aten.call "aten.cummax.default"(%x, 0) : (tensor<8xf32>) -> (tensor<8xf32>, tensor<8xi64>)
  return %y#0, %y#1 : tensor<8xf32>, tensor<8xi64>
}

// -----

// The bias is expanded by a view; the scale is 1 / sqrt(16).
// CHECK-LABEL: func.func @attention
// CHECK:         %[[MASK:.*]] = tg.view %{{.*}} (d0, d1, d2, d3) -> (0, 0, d2, d3) : tensor<1x1x4x6xf32> -> tensor<2x3x4x6xf32>
// CHECK:         tg.attention %{{.*}}, %{{.*}}, %{{.*}} mask %[[MASK]] {causal = false, scale = 2.500000e-01 : f64} : {{.*}} -> tensor<2x3x4x16xf32>
func.func @attention(%q: tensor<2x3x4x16xf32>, %k: tensor<2x3x6x16xf32>, %v: tensor<2x3x6x16xf32>, %m: tensor<1x1x4x6xf32>) -> tensor<2x3x4x16xf32> {
  %r:4 = aten.call "aten._scaled_dot_product_efficient_attention.default"(%q, %k, %v, %m, false, 0.0, false, none) : (tensor<2x3x4x16xf32>, tensor<2x3x6x16xf32>, tensor<2x3x6x16xf32>, tensor<1x1x4x6xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x3x0xf32>, tensor<i64>, tensor<i64>)
  return %r#0 : tensor<2x3x4x16xf32>
}

// -----

// This variant pads its 4 sums to 32.
// CHECK-LABEL: func.func @attention_with_its_sums
// CHECK:         tg.attention {{.*}} -> (tensor<2x3x4x16xf32>, tensor<2x3x4xf32>)
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<2x3x32xf32>)
func.func @attention_with_its_sums(%q: tensor<2x3x4x16xf32>, %k: tensor<2x3x6x16xf32>, %v: tensor<2x3x6x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x3x32xf32>) {
  %r:4 = aten.call "aten._scaled_dot_product_efficient_attention.default"(%q, %k, %v, none, true, 0.0, true, none) : (tensor<2x3x4x16xf32>, tensor<2x3x6x16xf32>, tensor<2x3x6x16xf32>) -> (tensor<2x3x4x16xf32>, tensor<2x3x32xf32>, tensor<i64>, tensor<i64>)
  return %r#0, %r#1 : tensor<2x3x4x16xf32>, tensor<2x3x32xf32>
}
