// RUN: gcompile-opt %s -split-input-file -tg-inline-cheap | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-inline-cheap -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// Two readers, the second at the transposed index; 2 bytes an element for 4.
// COUNT:       tg-inline-cheap.inlined: 2
// CHECK-DAG:   #[[SWAP:.*]] = affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @readers_widen
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<8x8xbf16>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8x8xbf16>)
// CHECK-NEXT:    ^bb0(%[[A:.*]]: bf16, %[[ACC:.*]]: f32):
// CHECK-NEXT:      %[[W:.*]] = arith.extf %[[A]]
// CHECK-NEXT:      arith.addf %[[W]], %[[ACC]]
// CHECK:         linalg.generic {indexing_maps = [#[[SWAP]], {{.*}} ins(%[[X]] : tensor<8x8xbf16>)
// CHECK:           arith.extf
// CHECK-NEXT:      math.exp
func.func @readers_widen(%x: tensor<8x8xbf16>) -> (tensor<8xf32>, tensor<8x8xf32>) {
  %e = tensor.empty() : tensor<8x8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x8xbf16>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%w : tensor<8x8xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %v = arith.addf %a, %acc : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %t = linalg.generic {indexing_maps = [affine_map<(d0, d1) -> (d1, d0)>, #id], iterator_types = ["parallel", "parallel"]}
    ins(%w : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  return %s, %t : tensor<8xf32>, tensor<8x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// COUNT-NEXT:  tg-inline-cheap.inlined: 1
// The residual is read once, though both the sum and the widening read it.
// CHECK-LABEL: func.func @one_read_of_one_element
// CHECK-SAME:    (%[[X:[^:]*]]: tensor<8xbf16>
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<8xbf16>)
func.func @one_read_of_one_element(%x: tensor<8xbf16>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%x : tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%w, %x : tensor<8xf32>, tensor<8xbf16>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: bf16, %o: f32):
    %c = arith.extf %b : bf16 to f32
    %v = arith.mulf %a, %c : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %y : tensor<8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Near miss: 8 bytes read for 4 written.
// COUNT-NOT:   tg-inline-cheap
// CHECK-LABEL: func.func @sums_are_stored
// CHECK-COUNT-2: linalg.generic
func.func @sums_are_stored(%x: tensor<8xf32>, %y: tensor<8xf32>) -> tensor<8xf32> {
  %e = tensor.empty() : tensor<8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]}
    ins(%x, %y : tensor<8xf32>, tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%w : tensor<8xf32>) outs(%e : tensor<8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.exp %a : f32
    linalg.yield %v : f32
  } -> tensor<8xf32>
  return %z : tensor<8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// Refused: the product wants its operand in memory.
// CHECK-LABEL: func.func @products_read_memory
// CHECK:         linalg.generic
// CHECK:         tg.matmul
func.func @products_read_memory(%x: tensor<8x8xbf16>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %w = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x8xbf16>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: bf16, %o: f32):
    %v = arith.extf %a : bf16 to f32
    linalg.yield %v : f32
  } -> tensor<8x8xf32>
  %y = tg.matmul %w, %w : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
  return %y : tensor<8x8xf32>
}
