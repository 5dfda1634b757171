// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// Equal bounds: the extrema of the data. The upper one belongs to the last bin.
// CHECK-LABEL: func.func @histogram
// CHECK:         arith.minimumf
// CHECK:         arith.maximumf
// CHECK:         tg.scatter {{.*}} domain [8] {{.*}} sum
// CHECK:           arith.fptosi
// CHECK:           %[[LAST:.*]] = arith.constant 3 : i64
// CHECK:           arith.minsi %{{.*}}, %[[LAST]]
func.func @histogram(%x: tensor<8xf32>) -> tensor<4xf32> {
  %y = aten.call "aten.histc.default"(%x, 4, 0, 0) : (tensor<8xf32>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// One more loop, over the two coordinates of a place.
// CHECK-LABEL: func.func @nonzero_with_a_size
// CHECK:         tg.scan %{{.*}} sum
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [2, 3, 2]
func.func @nonzero_with_a_size(%x: tensor<2x3xf32>) -> tensor<4x2xi64> {
  %y = aten.call "aten.nonzero_static.default"(%x, 4, -1) : (tensor<2x3xf32>) -> tensor<4x2xi64>
  return %y : tensor<4x2xi64>
}

// -----

// The bag of a row is the last that begins at it or before.
// CHECK-LABEL: func.func @bags
// CHECK:         scf.for
// CHECK:           arith.cmpi sgt
// CHECK:         tensor.extract
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [6, 4] {{.*}} sum
// CHECK:         arith.divf
func.func @bags(%w: tensor<10x4xf32>, %i: tensor<6xi64>, %o: tensor<2xi64>) -> tensor<2x4xf32> {
  %r:4 = aten.call "aten._embedding_bag.default"(%w, %i, %o, false, 1, false, none, false, -1) : (tensor<10x4xf32>, tensor<6xi64>, tensor<2xi64>) -> (tensor<2x4xf32>, tensor<6xi64>, tensor<2xi64>, tensor<2xi64>)
  return %r#0 : tensor<2x4xf32>
}

// -----

// CHECK-LABEL: func.func @segments_without_rows_keep_the_initial_value
// CHECK:         tg.scan %{{.*}} sum
// CHECK:         arith.constant 1.000000e+00 : f32
// CHECK:         tg.scatter %{{.*}}, %{{.*}} into %{{.*}} domain [5] {{.*}} max
func.func @segments_without_rows_keep_the_initial_value(%x: tensor<5xf32>, %l: tensor<4xi64>) -> tensor<4xf32> {
  %y = aten.call "aten.segment_reduce.default"(%x, "max", %l, none, none, 0, false, 1) : (tensor<5xf32>, tensor<4xi64>) -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @distances_between_rows
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]} ins(%{{.*}}, %{{.*}} : tensor<3x5xf32>, tensor<4x5xf32>) outs(%{{.*}} : tensor<3x4xf32>)
// CHECK:         math.sqrt
func.func @distances_between_rows(%x: tensor<3x5xf32>, %y: tensor<4x5xf32>) -> tensor<3x4xf32> {
  %d = aten.call "aten._cdist_forward.default"(%x, %y, 2.0, none) : (tensor<3x5xf32>, tensor<4x5xf32>) -> tensor<3x4xf32>
  return %d : tensor<3x4xf32>
}
