// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-DAG:   #[[ID:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d1)>
// CHECK-DAG:   #[[COLUMN:.*]] = affine_map<(d0, d1) -> (d0, 0)>
// CHECK-LABEL: func.func @operands_broadcast_in_the_indexing_maps
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>, %[[Y:.*]]: tensor<8xf32>, %[[Z:.*]]: tensor<4x1xf32>)
// CHECK:         linalg.generic {indexing_maps = [#[[ID]], #[[ROW]], #[[ID]]], iterator_types = ["parallel", "parallel"]} ins(%[[X]], %[[Y]] :
// CHECK:           arith.addf
// CHECK:         linalg.generic {indexing_maps = [#[[ID]], #[[COLUMN]], #[[ID]]]
// CHECK:           arith.mulf
func.func @operands_broadcast_in_the_indexing_maps(%x: tensor<4x8xf32>, %y: tensor<8xf32>, %z: tensor<4x1xf32>) -> tensor<4x8xf32> {
  %s = aten.call "aten.add.Tensor"(%x, %y, 1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
  %p = aten.call "aten.mul.Tensor"(%s, %z) : (tensor<4x8xf32>, tensor<4x1xf32>) -> tensor<4x8xf32>
  return %p : tensor<4x8xf32>
}

// -----

// An alpha of one costs nothing, another is a factor.
// CHECK-LABEL: func.func @alpha
// CHECK-NOT:     arith.mulf
// CHECK:         arith.subf
// CHECK:         %[[TWO:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:         %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[TWO]] : f32
// CHECK:         arith.subf %{{.*}}, %[[SCALED]] : f32
func.func @alpha(%x: tensor<8xf32>, %y: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = aten.call "aten.sub.Tensor"(%x, %y, 1) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  %b = aten.call "aten.sub.Tensor"(%x, %y, 2) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @half_precision_is_computed_in_float32_and_rounded_once
// CHECK:         ^bb0(%[[X:.*]]: bf16, %{{.*}}: bf16):
// CHECK-NEXT:      %[[WIDE:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK:           %[[ERF:.*]] = math.erf
// CHECK-NOT:       truncf
// CHECK:           %[[Y:.*]] = arith.truncf %{{.*}} fastmath<contract> : f32 to bf16
// CHECK-NEXT:      linalg.yield %[[Y]] : bf16
func.func @half_precision_is_computed_in_float32_and_rounded_once(%x: tensor<8xbf16>) -> tensor<8xbf16> {
  %y = aten.call "aten.gelu.default"(%x, "none") : (tensor<8xbf16>) -> tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

// CHECK-LABEL: func.func @conversion_of_the_user_is_not_elidable
// CHECK:         %[[Y:.*]] = arith.truncf %{{.*}} : f32 to bf16
// CHECK-NEXT:    linalg.yield %[[Y]]
func.func @conversion_of_the_user_is_not_elidable(%x: tensor<8xf32>) -> tensor<8xbf16> {
  %y = aten.call "aten._to_copy.default"(%x, bf16, none, none, none, false, none) : (tensor<8xf32>) -> tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

// CHECK-LABEL: func.func @floats_to_small_integers_wrap_through_i64
// CHECK:         %[[WIDE:.*]] = arith.fptosi %{{.*}} : f32 to i64
// CHECK-NEXT:    arith.trunci %[[WIDE]] : i64 to i8
// CHECK:         arith.cmpf une
func.func @floats_to_small_integers_wrap_through_i64(%x: tensor<8xf32>) -> (tensor<8xui8>, tensor<8xi1>) {
  %y = aten.call "aten._to_copy.default"(%x, ui8, none, none, none, false, none) : (tensor<8xf32>) -> tensor<8xui8>
  %b = aten.call "aten._to_copy.default"(%x, i1, none, none, none, false, none) : (tensor<8xf32>) -> tensor<8xi1>
  return %y, %b : tensor<8xui8>, tensor<8xi1>
}

// -----

// Signless after this pass, but the operations and the signature know.
// CHECK-LABEL: func.func @unsigned_types
// CHECK-SAME:    (%{{.*}}: tensor<8xi8> {aten.unsigned}, %{{.*}}: tensor<8xi8> {aten.unsigned})
// CHECK-SAME:    -> (tensor<8xi1>, tensor<8xi8> {aten.unsigned}, tensor<8xf32>)
// CHECK:         arith.cmpi ult
// CHECK:         arith.divui
// CHECK:         arith.uitofp
func.func @unsigned_types(%x: tensor<8xui8>, %y: tensor<8xui8>) -> (tensor<8xi1>, tensor<8xui8>, tensor<8xf32>) {
  %c = aten.call "aten.lt.Tensor"(%x, %y) : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xi1>
  %q = aten.call "aten.floor_divide.default"(%x, %y) : (tensor<8xui8>, tensor<8xui8>) -> tensor<8xui8>
  %f = aten.call "aten._to_copy.default"(%x, f32, none, none, none, false, none) : (tensor<8xui8>) -> tensor<8xf32>
  return %c, %q, %f : tensor<8xi1>, tensor<8xui8>, tensor<8xf32>
}

// -----

// Division by zero or of the smallest number by -1 would trap.
// CHECK-LABEL: func.func @integer_division_is_defined_everywhere
// CHECK:         %[[SAFE:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Y:.*]] : i64
// CHECK:         arith.divsi %{{.*}}, %[[SAFE]] : i64
// CHECK:         arith.constant 3 : i64
// CHECK-NOT:     arith.select
// CHECK:         arith.divsi
func.func @integer_division_is_defined_everywhere(%x: tensor<8xi64>, %y: tensor<8xi64>) -> (tensor<8xi64>, tensor<8xi64>) {
  %q = aten.call "aten.div.Tensor_mode"(%x, %y, "trunc") : (tensor<8xi64>, tensor<8xi64>) -> tensor<8xi64>
  %r = aten.call "aten.div.Scalar_mode"(%x, 3, "trunc") : (tensor<8xi64>) -> tensor<8xi64>
  return %q, %r : tensor<8xi64>, tensor<8xi64>
}

// -----

// A comparison works in the type that its operands promote to.
// CHECK-LABEL: func.func @comparison_promotes
// CHECK:         arith.sitofp %{{.*}} : i64 to f32
// CHECK:         arith.cmpf oge
// CHECK-NOT:     sitofp
// CHECK:         arith.cmpi sge
func.func @comparison_promotes(%x: tensor<8xi64>) -> (tensor<8xi1>, tensor<8xi1>) {
  %a = aten.call "aten.ge.Scalar"(%x, 0.5) : (tensor<8xi64>) -> tensor<8xi1>
  %b = aten.call "aten.ge.Scalar"(%x, 1) : (tensor<8xi64>) -> tensor<8xi1>
  return %a, %b : tensor<8xi1>, tensor<8xi1>
}

// -----

// CHECK-LABEL: func.func @bools_add_and_multiply_logically
// CHECK:         arith.ori
// CHECK:         arith.andi
func.func @bools_add_and_multiply_logically(%x: tensor<8xi1>, %y: tensor<8xi1>) -> (tensor<8xi1>, tensor<8xi1>) {
  %a = aten.call "aten.add.Tensor"(%x, %y, 1) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  %b = aten.call "aten.mul.Tensor"(%x, %y) : (tensor<8xi1>, tensor<8xi1>) -> tensor<8xi1>
  return %a, %b : tensor<8xi1>, tensor<8xi1>
}

// -----

// NaN passes through clamp; a missing bound costs nothing.
// CHECK-LABEL: func.func @clamp_propagates_nan
// CHECK:         arith.maximumf
// CHECK-NOT:     arith.minimumf
// CHECK:         linalg.yield
// CHECK-NOT:     arith.maximumf
// CHECK:         arith.minimumf
func.func @clamp_propagates_nan(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>) {
  %a = aten.call "aten.clamp.default"(%x, 0.0, none) : (tensor<8xf32>) -> tensor<8xf32>
  %b = aten.call "aten.clamp.default"(%x, none, 6.0) : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b : tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @small_powers_are_products
// CHECK:         arith.mulf
// CHECK:         arith.mulf
// CHECK-NOT:     math.powf
// CHECK:         math.sqrt
// CHECK:         math.powf
func.func @small_powers_are_products(%x: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %a = aten.call "aten.pow.Tensor_Scalar"(%x, 3) : (tensor<8xf32>) -> tensor<8xf32>
  %b = aten.call "aten.pow.Tensor_Scalar"(%x, 0.5) : (tensor<8xf32>) -> tensor<8xf32>
  %c = aten.call "aten.pow.Tensor_Scalar"(%x, 2.5) : (tensor<8xf32>) -> tensor<8xf32>
  return %a, %b, %c : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// -----

// CHECK-LABEL: func.func @round_is_half_to_even
// CHECK:         math.roundeven
func.func @round_is_half_to_even(%x: tensor<8xf32>) -> tensor<8xf32> {
  %a = aten.call "aten.round.default"(%x) : (tensor<8xf32>) -> tensor<8xf32>
  return %a : tensor<8xf32>
}

// -----

// A 0-d tensor of a wider type does not widen the result: it is rounded first.
// CHECK-LABEL: func.func @scalar_tensor_keeps_the_type_of_the_other
// CHECK-SAME:    (%[[X:.*]]: tensor<8xbf16>, %[[S:.*]]: tensor<f32>)
// CHECK:         linalg.generic {indexing_maps = [#{{.*}}, #{{.*}}, #{{.*}}], iterator_types = ["parallel"]} ins(%[[X]], %[[S]] :
// CHECK:           arith.truncf %{{.*}} : f32 to bf16
func.func @scalar_tensor_keeps_the_type_of_the_other(%x: tensor<8xbf16>, %s: tensor<f32>) -> tensor<8xbf16> {
  %a = aten.call "aten.mul.Tensor"(%x, %s) : (tensor<8xbf16>, tensor<f32>) -> tensor<8xbf16>
  return %a : tensor<8xbf16>
}

// -----

// CHECK-LABEL: func.func @nothing_is_computed_for_an_empty_result
// CHECK:         %[[EMPTY:.*]] = arith.constant dense<> : tensor<0x4xf32>
// CHECK-NEXT:    return %[[EMPTY]]
func.func @nothing_is_computed_for_an_empty_result(%x: tensor<0x4xf32>) -> tensor<0x4xf32> {
  %a = aten.call "aten.exp.default"(%x) : (tensor<0x4xf32>) -> tensor<0x4xf32>
  return %a : tensor<0x4xf32>
}
