// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1) -> (d0)>
// CHECK-DAG:   #[[ALL:.*]] = affine_map<(d0, d1) -> (d0, d1)>
// CHECK-LABEL: func.func @index_put_of_rows
// CHECK-SAME:    (%[[X:.*]]: tensor<8x4xf32>, %[[I:.*]]: tensor<2xi64>, %[[V:.*]]: tensor<2x4xf32>)
// CHECK:         tg.scatter %[[I]], %[[V]] into %[[X]] domain [2, 4] maps [#[[ROW]], #[[ALL]]]{{ +}}set
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %[[J:.*]]: index, %[[AT:.*]]: i64, %[[VALUE:.*]]: f32):
// CHECK:           %[[ROW:.*]] = arith.index_cast %{{.*}} : i64 to index
// CHECK:           tg.yield %[[ROW]], %[[J]], %[[VALUE]], %{{.*}} : index, index, f32, i1
func.func @index_put_of_rows(%x: tensor<8x4xf32>, %i: tensor<2xi64>, %v: tensor<2x4xf32>) -> tensor<8x4xf32> {
  %y = aten.call "aten.index_put.default"(%x, [%i], %v, false) : (tensor<8x4xf32>, tensor<2xi64>, tensor<2x4xf32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// CHECK-LABEL: func.func @sums_of_half_precision_are_kept_in_float32
// CHECK:         %[[BASE:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<8xf32>)
// CHECK:         %[[SUM:.*]] = tg.scatter %{{.*}} into %[[BASE]] {{.*}} sum
// CHECK:           arith.extf %{{.*}} : bf16 to f32
// CHECK:         linalg.generic {{.*}} ins(%[[SUM]] : tensor<8xf32>)
// CHECK:           arith.truncf
func.func @sums_of_half_precision_are_kept_in_float32(%x: tensor<8xbf16>, %i: tensor<2xi64>, %v: tensor<2xbf16>) -> tensor<8xbf16> {
  %y = aten.call "aten.scatter_add.default"(%x, 0, %i, %v) : (tensor<8xbf16>, tensor<2xi64>, tensor<2xbf16>) -> tensor<8xbf16>
  return %y : tensor<8xbf16>
}

// -----

// A mask and one value need no scatter.
// CHECK-LABEL: func.func @put_by_mask_is_a_select
// CHECK-NOT:     tg.scatter
// CHECK:         arith.select
func.func @put_by_mask_is_a_select(%x: tensor<8x4xf32>, %m: tensor<8xi1>, %v: tensor<f32>) -> tensor<8x4xf32> {
  %y = aten.call "aten.index_put.default"(%x, [%m], %v, false) : (tensor<8x4xf32>, tensor<8xi1>, tensor<f32>) -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

// The source may be larger than the index.
// CHECK-LABEL: func.func @scatter_along_a_dimension
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [1, 3] maps [#[[ALL:.*]], #[[ALL]]]{{ +}}set
// CHECK-NEXT:    ^bb0(%{{.*}}: index, %[[COLUMN:.*]]: index, %{{.*}}: i64, %[[VALUE:.*]]: f32):
// CHECK:           tg.yield %{{.*}}, %[[COLUMN]], %[[VALUE]]
func.func @scatter_along_a_dimension(%x: tensor<4x4xf32>, %i: tensor<1x3xi64>, %s: tensor<2x3xf32>) -> tensor<4x4xf32> {
  %y = aten.call "aten.scatter.src"(%x, 0, %i, %s) : (tensor<4x4xf32>, tensor<1x3xi64>, tensor<2x3xf32>) -> tensor<4x4xf32>
  return %y : tensor<4x4xf32>
}

// -----

// Without self the places written to start at the identity.
// CHECK-LABEL: func.func @reduction_without_self
// CHECK:         %[[CLEARED:.*]] = tg.scatter %{{.*}} into %{{.*}} set
// CHECK:           arith.constant 0xFF800000 : f32
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %[[CLEARED]] {{.*}} max
func.func @reduction_without_self(%x: tensor<4xf32>, %i: tensor<3xi64>, %s: tensor<3xf32>) -> tensor<4xf32> {
  %y = aten.call "aten.scatter_reduce.two"(%x, 0, %i, %s, "amax", false) : (tensor<4xf32>, tensor<3xi64>, tensor<3xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK:       #[[SLICE:.*]] = affine_map<(d0, d1, d2) -> (d1)>
// CHECK-LABEL: func.func @index_copy
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [2, 1, 3] maps [#[[SLICE]], #{{.*}}]{{ +}}set
func.func @index_copy(%x: tensor<2x4x3xf32>, %i: tensor<1xi64>, %s: tensor<2x1x3xf32>) -> tensor<2x4x3xf32> {
  %y = aten.call "aten.index_copy.default"(%x, 1, %i, %s) : (tensor<2x4x3xf32>, tensor<1xi64>, tensor<2x1x3xf32>) -> tensor<2x4x3xf32>
  return %y : tensor<2x4x3xf32>
}

// -----

// The position in a plane of 4 x 5 is taken apart again.
// CHECK-LABEL: func.func @max_pool_backward
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [1, 2, 2, 2] {{.*}} sum
// CHECK:           arith.constant 5 : i64
// CHECK:           arith.remsi
// CHECK:           arith.divsi
func.func @max_pool_backward(%g: tensor<1x2x2x2xf32>, %x: tensor<1x2x4x5xf32>, %i: tensor<1x2x2x2xi64>) -> tensor<1x2x4x5xf32> {
  %y = aten.call "aten.max_pool2d_with_indices_backward.default"(%g, %x, [2, 2], [2, 2], [0, 0], [1, 1], false, %i) : (tensor<1x2x2x2xf32>, tensor<1x2x4x5xf32>, tensor<1x2x2x2xi64>) -> tensor<1x2x4x5xf32>
  return %y : tensor<1x2x4x5xf32>
}
