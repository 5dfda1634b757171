// RUN: gcompile-opt %s -split-input-file -tg-legalize | FileCheck %s

// The regions read the operands where they are.
// CHECK-LABEL: func.func @cond
// CHECK-SAME:    (%[[P:.*]]: tensor<i1>, %[[X:.*]]: tensor<4xf32>)
// CHECK:         %[[R:.*]] = tg.cond %[[P]] : (tensor<i1>) -> tensor<4xf32> then {
// CHECK:           linalg.generic {{.*}} ins(%[[X]] :
// CHECK:             math.sin
// CHECK:           tg.yield
// CHECK:         } else {
// CHECK:             math.cos
// CHECK:         return %[[R]]
func.func @cond(%p: tensor<i1>, %x: tensor<4xf32>) -> tensor<4xf32> {
  %r = aten.cond %p(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %s = aten.call "aten.sin.default"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %s : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    %c = aten.call "aten.cos.default"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %c : tensor<4xf32>
  }
  return %r : tensor<4xf32>
}

// -----

// What stays the same in all rounds is read from outside.
// CHECK-LABEL: func.func @while_loop
// CHECK-SAME:    (%[[I:.*]]: tensor<i64>, %[[N:.*]]: tensor<i64>)
// CHECK:         tg.while %[[I]] : (tensor<i64>) -> tensor<i64> while {
// CHECK-NEXT:    ^bb0(%[[A:.*]]: tensor<i64>):
// CHECK:           linalg.generic {{.*}} ins(%[[A]], %[[N]] : tensor<i64>, tensor<i64>)
// CHECK:         } do {
// CHECK:           arith.addi
func.func @while_loop(%i: tensor<i64>, %n: tensor<i64>) -> tensor<i64> {
  %r = aten.while_loop(%i) with (%n) : (tensor<i64>, tensor<i64>) -> tensor<i64> while {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %p = aten.call "aten.lt.Tensor"(%a, %b) : (tensor<i64>, tensor<i64>) -> tensor<i1>
    aten.yield %p : tensor<i1>
  } do {
  ^bb0(%a: tensor<i64>, %b: tensor<i64>):
    %s = aten.call "aten.add.Scalar"(%a, 1, 1) : (tensor<i64>) -> tensor<i64>
    aten.yield %s : tensor<i64>
  }
  return %r : tensor<i64>
}
