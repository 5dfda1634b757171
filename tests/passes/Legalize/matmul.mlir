// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @half_precision_products_come_out_in_float32
// CHECK:         %[[P:.*]] = tg.matmul %{{.*}}, %{{.*}} : tensor<4x8xbf16>, tensor<8x16xbf16> -> tensor<4x16xf32>
// CHECK:         linalg.generic {{.*}} ins(%[[P]] : tensor<4x16xf32>) outs(%{{.*}} : tensor<4x16xbf16>)
// CHECK:           arith.truncf %{{.*}} fastmath<contract> : f32 to bf16
func.func @half_precision_products_come_out_in_float32(%x: tensor<4x8xbf16>, %y: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %p = aten.call "aten.mm.default"(%x, %y) : (tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %p : tensor<4x16xbf16>
}

// -----

// CHECK-LABEL: func.func @bias_is_added_before_rounding
// CHECK:         tg.matmul {{.*}} -> tensor<4x16xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %{{.*}} : tensor<4x16xf32>, tensor<16xbf16>)
// CHECK-NEXT:    ^bb0(%[[P:.*]]: f32, %[[B:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NOT:       arith.mulf
// CHECK:           %[[WIDE:.*]] = arith.extf %[[B]]
// CHECK:           %[[SUM:.*]] = arith.addf %[[WIDE]], %[[P]] : f32
// CHECK-NEXT:      arith.truncf %[[SUM]] fastmath<contract>
func.func @bias_is_added_before_rounding(%b: tensor<16xbf16>, %x: tensor<4x8xbf16>, %y: tensor<8x16xbf16>) -> tensor<4x16xbf16> {
  %p = aten.call "aten.addmm.default"(%b, %x, %y, 1, 1) : (tensor<16xbf16>, tensor<4x8xbf16>, tensor<8x16xbf16>) -> tensor<4x16xbf16>
  return %p : tensor<4x16xbf16>
}

// -----

// A NaN in the bias must not get through a beta of zero.
// CHECK-LABEL: func.func @zero_beta_does_not_read_the_bias
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<2x4x16xf32>)
// CHECK:           arith.mulf
// CHECK-NOT:       arith.addf
func.func @zero_beta_does_not_read_the_bias(%b: tensor<2x4x16xf32>, %x: tensor<2x4x8xf32>, %y: tensor<2x8x16xf32>) -> tensor<2x4x16xf32> {
  %p = aten.call "aten.baddbmm.default"(%b, %x, %y, 0, 0.5) : (tensor<2x4x16xf32>, tensor<2x4x8xf32>, tensor<2x8x16xf32>) -> tensor<2x4x16xf32>
  return %p : tensor<2x4x16xf32>
}

// -----

// CHECK-LABEL: func.func @empty_contraction_is_zero
// CHECK-NOT:     tg.matmul
// CHECK:         arith.constant 0.000000e+00
func.func @empty_contraction_is_zero(%x: tensor<4x0xf32>, %y: tensor<0x16xf32>) -> tensor<4x16xf32> {
  %p = aten.call "aten.mm.default"(%x, %y) : (tensor<4x0xf32>, tensor<0x16xf32>) -> tensor<4x16xf32>
  return %p : tensor<4x16xf32>
}
