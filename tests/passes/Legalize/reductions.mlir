// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @sum_in_half_precision_is_kept_in_float32
// CHECK:         %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK:         %[[INIT:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<4xf32>)
// CHECK:         %[[SUM:.*]] = linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}} : tensor<4x8xf16>) outs(%[[INIT]] : tensor<4xf32>)
// CHECK:           arith.extf
// CHECK:           arith.addf %{{.*}}, %{{.*}} fastmath<reassoc> : f32
// CHECK:         %[[HALF:.*]] = linalg.generic {{.*}} ins(%[[SUM]] : tensor<4xf32>)
// CHECK:           arith.truncf %{{.*}} fastmath<contract> : f32 to f16
// CHECK:         tg.view %[[HALF]] (d0, d1) -> (d0) : tensor<4xf16> -> tensor<4x1xf16>
func.func @sum_in_half_precision_is_kept_in_float32(%x: tensor<4x8xf16>) -> tensor<4x1xf16> {
  %y = aten.call "aten.sum.dim_IntList"(%x, [-1], true, none) : (tensor<4x8xf16>) -> tensor<4x1xf16>
  return %y : tensor<4x1xf16>
}

// -----

// CHECK-LABEL: func.func @bools_count_as_integers
// CHECK:         outs(%{{.*}} : tensor<i64>)
// CHECK:           arith.extui %{{.*}} : i1 to i64
// CHECK:           arith.addi
func.func @bools_count_as_integers(%x: tensor<4x8xi1>) -> tensor<i64> {
  %y = aten.call "aten.sum.default"(%x, none) : (tensor<4x8xi1>) -> tensor<i64>
  return %y : tensor<i64>
}

// -----

// 6 = 2 x 3 elements of each slice.
// CHECK-LABEL: func.func @mean_divides_once
// CHECK:         iterator_types = ["reduction", "parallel", "reduction"]
// CHECK:         arith.constant 6.000000e+00 : f32
// CHECK-NEXT:    arith.divf
func.func @mean_divides_once(%x: tensor<2x5x3xf32>) -> tensor<5xf32> {
  %y = aten.call "aten.mean.dim"(%x, [0, 2], false, none) : (tensor<2x5x3xf32>) -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

// The second pass sums the squared distances from the mean; 8 - 1 = 7.
// CHECK-LABEL: func.func @variance_takes_two_passes
// CHECK:         arith.addf
// CHECK:         arith.constant 8.000000e+00
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<4x8xf32>, tensor<4xf32>)
// CHECK:           %[[D:.*]] = arith.subf
// CHECK:           arith.mulf %[[D]], %[[D]]
// CHECK:         arith.constant 7.000000e+00
func.func @variance_takes_two_passes(%x: tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %v, %m = aten.call "aten.var_mean.correction"(%x, [1], none, false) : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xf32>)
  return %v, %m : tensor<4xf32>, tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @maximum_propagates_nan
// CHECK:         arith.constant 0xFF800000 : f32
// CHECK:         arith.maximumf
func.func @maximum_propagates_nan(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %y = aten.call "aten.amax.default"(%x, [1], false) : (tensor<4x8xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @maximum_of_unsigned_numbers
// CHECK:         arith.constant 0 : i8
// CHECK:         arith.maxui
func.func @maximum_of_unsigned_numbers(%x: tensor<4x8xui8>) -> tensor<4xui8> {
  %y = aten.call "aten.amax.default"(%x, [1], false) : (tensor<4x8xui8>) -> tensor<4xui8>
  return %y : tensor<4xui8>
}

// -----

// The first of equal ones wins whatever the order of the loop.
// CHECK-LABEL: func.func @position_of_the_maximum
// CHECK:         linalg.generic {{.*}} outs(%{{.*}}, %{{.*}} : tensor<4xf32>, tensor<4xi64>)
// CHECK:           linalg.index 1
// CHECK:           arith.cmpf ogt
// CHECK:           arith.cmpf une
// CHECK:           arith.cmpi slt
// CHECK:         } -> (tensor<4xf32>, tensor<4xi64>)
func.func @position_of_the_maximum(%x: tensor<4x8xf32>) -> tensor<4xi64> {
  %y = aten.call "aten.argmax.default"(%x, 1, false) : (tensor<4x8xf32>) -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

// CHECK-LABEL: func.func @positions_that_nobody_reads_are_not_computed
// CHECK-NOT:     i64
// CHECK:         arith.maximumf
func.func @positions_that_nobody_reads_are_not_computed(%x: tensor<4x8xf32>) -> tensor<4xf32> {
  %v, %i = aten.call "aten.max.dim"(%x, 1, false) : (tensor<4x8xf32>) -> (tensor<4xf32>, tensor<4xi64>)
  return %v : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @any_is_an_or
// CHECK:         arith.cmpf une
// CHECK:         arith.ori
func.func @any_is_an_or(%x: tensor<4x8xf32>) -> tensor<4x1xi1> {
  %y = aten.call "aten.any.dim"(%x, 1, true) : (tensor<4x8xf32>) -> tensor<4x1xi1>
  return %y : tensor<4x1xi1>
}

// -----

// CHECK-LABEL: func.func @sum_over_nothing_is_zero
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]} outs(%{{.*}} : tensor<4xf32>)
// CHECK:           arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      linalg.yield
func.func @sum_over_nothing_is_zero(%x: tensor<4x0xf32>) -> tensor<4xf32> {
  %y = aten.call "aten.sum.dim_IntList"(%x, [1], false, none) : (tensor<4x0xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @softmax_statistics
// CHECK:         arith.maximumf
// CHECK:         arith.subf
// CHECK:         math.exp
// CHECK:         arith.addf
func.func @softmax_statistics(%x: tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>) {
  %m, %s = aten.call "prims.prepare_softmax_online.default"(%x, 1) : (tensor<4x8xf32>) -> (tensor<4x1xf32>, tensor<4x1xf32>)
  return %m, %s : tensor<4x1xf32>, tensor<4x1xf32>
}
