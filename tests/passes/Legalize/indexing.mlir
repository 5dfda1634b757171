// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// An index outside the table reads the nearest row, not foreign memory.
// CHECK-LABEL: func.func @embedding
// CHECK-SAME:    (%[[W:.*]]: tensor<10x4xf32>, %[[I:.*]]: tensor<2x3xi64>)
// CHECK:         linalg.generic {{.*}} ins(%[[I]] : tensor<2x3xi64>) outs(%{{.*}} : tensor<2x3x4xf32>)
// CHECK:           %[[LAST:.*]] = arith.constant 9 : i64
// CHECK:           %[[LOW:.*]] = arith.maxsi
// CHECK:           arith.minsi %[[LOW]], %[[LAST]]
// CHECK:           linalg.index 2
// CHECK:           tensor.extract %[[W]]
func.func @embedding(%w: tensor<10x4xf32>, %i: tensor<2x3xi64>) -> tensor<2x3x4xf32> {
  %y = aten.call "aten.embedding.default"(%w, %i, -1, false, false) : (tensor<10x4xf32>, tensor<2x3xi64>) -> tensor<2x3x4xf32>
  return %y : tensor<2x3x4xf32>
}

// -----

// Neighbouring indices broadcast against each other, in their place.
// CHECK-DAG:   #[[COLUMN:.*]] = affine_map<(d0, d1, d2, d3) -> (d1, 0)>
// CHECK-DAG:   #[[ROW:.*]] = affine_map<(d0, d1, d2, d3) -> (d2)>
// CHECK-LABEL: func.func @neighbouring_indices
// CHECK:         linalg.generic {indexing_maps = [#[[COLUMN]], #[[ROW]], #{{.*}}], {{.*}} outs(%{{.*}} : tensor<2x5x6x7xf32>)
// CHECK:           arith.cmpi slt
// CHECK:           tensor.extract
func.func @neighbouring_indices(%x: tensor<2x3x4x7xf32>, %i: tensor<5x1xi64>, %j: tensor<6xi64>) -> tensor<2x5x6x7xf32> {
  %y = aten.call "aten.index.Tensor"(%x, [none, %i, %j]) : (tensor<2x3x4x7xf32>, tensor<5x1xi64>, tensor<6xi64>) -> tensor<2x5x6x7xf32>
  return %y : tensor<2x5x6x7xf32>
}

// -----

// Indices with a `:` between them come first.
// CHECK:       affine_map<(d0, d1, d2) -> (d0)>
// CHECK-LABEL: func.func @separate_indices
// CHECK:         outs(%{{.*}} : tensor<5x3x7xf32>)
// CHECK:           %[[MIDDLE:.*]] = linalg.index 1
// CHECK:           %[[LAST:.*]] = linalg.index 2
// CHECK:           tensor.extract %{{.*}}[%{{.*}}, %[[MIDDLE]], %{{.*}}, %[[LAST]]]
func.func @separate_indices(%x: tensor<2x3x4x7xf32>, %i: tensor<5xi64>) -> tensor<5x3x7xf32> {
  %y = aten.call "aten.index.Tensor"(%x, [%i, none, %i]) : (tensor<2x3x4x7xf32>, tensor<5xi64>, tensor<5xi64>) -> tensor<5x3x7xf32>
  return %y : tensor<5x3x7xf32>
}

// -----

// CHECK-LABEL: func.func @gather
// CHECK:         %[[ROW:.*]] = linalg.index 0
// CHECK:         tensor.extract %{{.*}}[%[[ROW]], %{{.*}}]
func.func @gather(%x: tensor<3x4xf32>, %i: tensor<3x2xi64>) -> tensor<3x2xf32> {
  %y = aten.call "aten.gather.default"(%x, 1, %i, false) : (tensor<3x4xf32>, tensor<3x2xi64>) -> tensor<3x2xf32>
  return %y : tensor<3x2xf32>
}

// -----

// Three parts: two decisions, the parts begin at 2 and at 5.
// CHECK-LABEL: func.func @cat_finds_the_part
// CHECK-SAME:    (%[[X:.*]]: tensor<2x4xf32>, %[[Y:.*]]: tensor<3x4xf32>, %{{.*}}: tensor<0xf32>, %[[Z:.*]]: tensor<1x4xf32>)
// CHECK:         %[[TWO:.*]] = arith.constant 2 : index
// CHECK:         %[[FIRST:.*]] = arith.cmpi slt, %{{.*}}, %[[TWO]]
// CHECK:         scf.if %[[FIRST]]
// CHECK:           tensor.extract %[[X]]
// CHECK:         } else {
// CHECK:           %[[FIVE:.*]] = arith.constant 5 : index
// CHECK:           arith.cmpi slt, %{{.*}}, %[[FIVE]]
// CHECK:           scf.if
// CHECK:             tensor.extract %[[Y]]
// CHECK:           } else {
// CHECK:             tensor.extract %[[Z]]
func.func @cat_finds_the_part(%x: tensor<2x4xf32>, %y: tensor<3x4xf32>, %e: tensor<0xf32>, %z: tensor<1x4xf32>) -> tensor<6x4xf32> {
  %r = aten.call "aten.cat.default"([%x, %y, %e, %z], 0) : (tensor<2x4xf32>, tensor<3x4xf32>, tensor<0xf32>, tensor<1x4xf32>) -> tensor<6x4xf32>
  return %r : tensor<6x4xf32>
}

// -----

// A negative width cuts off.
// CHECK-LABEL: func.func @pad
// CHECK:         %[[CUT:.*]] = tg.view %{{.*}} (d0, d1) -> (d0, d1 + 1) : tensor<2x4xf32> -> tensor<2x3xf32>
// CHECK:         linalg.generic {{.*}} outs(%{{.*}} : tensor<2x5xf32>)
// CHECK-NOT:       arith.cmpi sge
// CHECK:           arith.cmpi slt
// CHECK:           scf.if
// CHECK:             tensor.extract %[[CUT]]
// CHECK:           } else {
// CHECK:             arith.constant 5.000000e-01 : f32
func.func @pad(%x: tensor<2x4xf32>) -> tensor<2x5xf32> {
  %y = aten.call "aten.constant_pad_nd.default"(%x, [-1, 2], 0.5) : (tensor<2x4xf32>) -> tensor<2x5xf32>
  return %y : tensor<2x5xf32>
}

// -----

// CHECK-LABEL: func.func @slice_scatter_is_pointwise
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<2x8xf32>)
// CHECK:           arith.remsi
// CHECK:           scf.if
// CHECK:             tensor.extract
// CHECK:           } else {
// CHECK:             scf.yield %in
func.func @slice_scatter_is_pointwise(%x: tensor<2x8xf32>, %s: tensor<2x3xf32>) -> tensor<2x8xf32> {
  %y = aten.call "aten.slice_scatter.default"(%x, %s, 1, 1, 7, 2) : (tensor<2x8xf32>, tensor<2x3xf32>) -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// 4 steps find one of 9 places among 8 boundaries.
// CHECK-LABEL: func.func @binary_search
// CHECK:         %[[STEPS:.*]] = arith.constant 4 : index
// CHECK:         scf.for %{{.*}} = %{{.*}} to %[[STEPS]]
func.func @binary_search(%x: tensor<5xf32>, %b: tensor<8xf32>) -> tensor<5xi64> {
  %y = aten.call "aten.bucketize.Tensor"(%x, %b, false, false) : (tensor<5xf32>, tensor<8xf32>) -> tensor<5xi64>
  return %y : tensor<5xi64>
}
