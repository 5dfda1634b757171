// RUN: gcompile-opt %s -split-input-file -tg-split-prepare | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-split-prepare -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// exp moves, its transpose is a view; 8 * 4 * 4 = 128 bytes cross.
// COUNT:       tg-split-prepare.bytes: 128
// COUNT-NEXT:  tg-split-prepare.moved: 1
// COUNT-NEXT:  tg-split-prepare.values: 1
// CHECK-LABEL: func.func @forward(
// CHECK-SAME:    %[[X:.*]]: tensor<2x4xf32>
// CHECK-SAME:    %[[P:[^:]*]]: tensor<8x4xf32> {aten.kind = "prepared", aten.name = "exp_1"}
// CHECK-NEXT:    %[[V:.*]] = tg.view %[[P]]
// CHECK-NEXT:    tg.matmul %[[X]], %[[V]]
// CHECK-LABEL: func.func @prepare(
// CHECK-SAME:    %[[W:.*]]: tensor<8x4xf32> {aten.kind = "parameter", aten.name = "w"})
// CHECK-SAME:    -> (tensor<8x4xf32> {aten.kind = "prepared", aten.name = "exp_1"})
// CHECK:         %[[E:.*]] = linalg.generic {{.*}} ins(%[[W]]
// CHECK:         return %[[E]]
func.func @forward(%x: tensor<2x4xf32> {aten.kind = "user_input", aten.name = "x"},
                   %w: tensor<8x4xf32> {aten.kind = "parameter", aten.name = "w"}) -> tensor<2x8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%w : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32> loc("exp_1")
  %t = tg.view %n (d0, d1) -> (d1, d0) : tensor<8x4xf32> -> tensor<4x8xf32>
  %y = tg.matmul %x, %t : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

// A view of a weight is free.
// COUNT-NOT:   tg-split-prepare
// CHECK-LABEL: func.func @forward
// CHECK:         tg.view
// CHECK-NOT:   @prepare
func.func @forward(%x: tensor<2x4xf32> {aten.kind = "user_input", aten.name = "x"},
                   %w: tensor<8x4xf32> {aten.kind = "parameter", aten.name = "w"}) -> tensor<2x8xf32> {
  %t = tg.view %w (d0, d1) -> (d1, d0) : tensor<8x4xf32> -> tensor<4x8xf32>
  %y = tg.matmul %x, %t : tensor<2x4xf32>, tensor<4x8xf32> -> tensor<2x8xf32>
  return %y : tensor<2x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Widening in the loop that adds reads 2 bytes an element; prepared, it would
// read 4.
// CHECK-LABEL: func.func @forward
// CHECK:         arith.extf
// CHECK-NOT:   @prepare
func.func @forward(%x: tensor<8xf32> {aten.kind = "user_input", aten.name = "x"},
                   %w: tensor<8xbf16> {aten.kind = "parameter", aten.name = "w"}) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%w : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %n : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// The buffer changes from run to run.
// CHECK-LABEL: func.func @forward
// CHECK:         math.exp
// CHECK-NOT:   @prepare
func.func @forward(%w: tensor<8xf32> {aten.kind = "buffer", aten.name = "state"})
    -> (tensor<8xf32> {aten.kind = "buffer_mutation", aten.name = "state"}) {
  %e = tensor.empty() : tensor<8xf32>
  %n = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%w : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %n : tensor<8xf32>
}
