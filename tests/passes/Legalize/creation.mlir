// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// CHECK-LABEL: func.func @full
// CHECK:         linalg.generic {{.*}}iterator_types = ["parallel"]} outs(%{{.*}} : tensor<4xf32>)
// CHECK:           %[[C:.*]] = arith.constant 0xFF800000 : f32
// CHECK-NEXT:      linalg.yield %[[C]]
func.func @full() -> tensor<4xf32> {
  %y = aten.call "aten.full.default"([4], 0xFFF0000000000000 : f64, f32, none, none, none) : () -> tensor<4xf32>
  return %y : tensor<4xf32>
}

// -----

// CHECK-LABEL: func.func @arange
// CHECK-DAG:     %[[START:.*]] = arith.constant 3 : i64
// CHECK-DAG:     %[[I:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK-DAG:     %[[STEP:.*]] = arith.constant -2 : i64
// CHECK-DAG:     %[[OFFSET:.*]] = arith.muli %[[I]], %[[STEP]]
// CHECK:         arith.addi %[[OFFSET]], %[[START]]
func.func @arange() -> tensor<4xi64> {
  %y = aten.call "aten.arange.start_step"(3, -5, -2, i64, none, none, none) : () -> tensor<4xi64>
  return %y : tensor<4xi64>
}

// -----

// CHECK-LABEL: func.func @triangle
// CHECK:         %[[ROW:.*]] = linalg.index 1
// CHECK:         %[[COLUMN:.*]] = linalg.index 2
// CHECK:         arith.cmpi sle, %[[COLUMN]], %{{.*}} : index
func.func @triangle(%x: tensor<2x4x4xf32>) -> tensor<2x4x4xf32> {
  %y = aten.call "aten.tril.default"(%x, 1) : (tensor<2x4x4xf32>) -> tensor<2x4x4xf32>
  return %y : tensor<2x4x4xf32>
}

// -----

// Each op draws from a stream of its own.
// CHECK-LABEL: func.func @random
// CHECK:         tg.random "uniform" stream 0 : tensor<4xf32>
// CHECK:         tg.random "normal" stream 1 : tensor<4xf32>
// CHECK:           arith.truncf
func.func @random() -> (tensor<4xf32>, tensor<4xbf16>) {
  %u = aten.call "aten.rand.default"([4], f32, none, none, none) : () -> tensor<4xf32>
  %n = aten.call "aten.randn.default"([4], bf16, none, none, none) : () -> tensor<4xbf16>
  return %u, %n : tensor<4xf32>, tensor<4xbf16>
}

// -----

// A number that depends on data is a 0-d tensor.
// CHECK-LABEL: func.func @item
// CHECK-SAME:    (%[[X:.*]]: tensor<1xf32>, %[[Y:.*]]: tensor<4xf32>)
// CHECK:         %[[S:.*]] = tg.view %[[X]] () -> (0) : tensor<1xf32> -> tensor<f32>
// CHECK:         %[[ITEM:.*]] = linalg.generic {{.*}} ins(%[[S]] : tensor<f32>) outs(%{{.*}} : tensor<f64>)
// CHECK:         linalg.generic {{.*}} ins(%[[Y]], %[[ITEM]] : tensor<4xf32>, tensor<f64>)
func.func @item(%x: tensor<1xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %s = aten.call "aten._local_scalar_dense.default"(%x) : (tensor<1xf32>) -> f64
  %z = aten.call "aten.mul.Scalar"(%y, %s) : (tensor<4xf32>, f64) -> tensor<4xf32>
  return %z : tensor<4xf32>
}
