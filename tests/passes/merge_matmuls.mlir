// RUN: gcompile-opt %s -split-input-file -tg-merge-matmuls -canonicalize | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-merge-matmuls -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// Rows of weights stay rows: 8 + 4 = 12 of them. One generic adds both biases.
// COUNT:       tg-merge-matmuls.epilogues: 1
// COUNT-NEXT:  tg-merge-matmuls.groups: 1
// COUNT-NEXT:  tg-merge-matmuls.merged: 2
// CHECK-LABEL: func.func @forward(
// CHECK-SAME:    %[[X:[^:]*]]: tensor<2x16xf32>
// CHECK-SAME:    %[[WQ:[^:]*]]: tensor<8x16xf32>
// CHECK-SAME:    %[[WK:[^:]*]]: tensor<4x16xf32>
// CHECK-SAME:    %[[BQ:[^:]*]]: tensor<8xf32>
// CHECK-SAME:    %[[BK:[^:]*]]: tensor<4xf32>
// CHECK-DAG:     %[[EIGHT:.*]] = arith.constant 8 : index
// CHECK:         %[[W:.*]] = linalg.generic
// CHECK:           %[[ROW:.*]] = linalg.index 0
// CHECK:           arith.cmpi slt, %[[ROW]], %[[EIGHT]]
// CHECK:             tensor.extract %[[WQ]]
// CHECK:             arith.subi %[[ROW]], %[[EIGHT]]
// CHECK:             tensor.extract %[[WK]]
// CHECK:         -> tensor<12x16xf32>
// CHECK:         %[[T:.*]] = tg.view %[[W]] (d0, d1) -> (d1, d0)
// CHECK:         %[[Y:.*]] = tg.matmul %[[X]], %[[T]] : {{.*}} -> tensor<2x12xf32>
// CHECK:         %[[B:.*]] = linalg.generic {{.*}} outs(%{{.*}} : tensor<12xf32>)
// CHECK:             tensor.extract %[[BQ]]
// CHECK:             tensor.extract %[[BK]]
// CHECK:         %[[S:.*]] = linalg.generic {{.*}} ins(%[[Y]], %[[B]]
// CHECK:           arith.addf
// CHECK-DAG:     tg.view %[[S]] (d0, d1) -> (d1, d0) : tensor<2x12xf32> -> tensor<8x2xf32>
// CHECK-DAG:     tg.view %[[S]] (d0, d1) -> (d0, d1 + 8) : tensor<2x12xf32> -> tensor<2x4xf32>
func.func @forward(%x: tensor<2x16xf32> {aten.kind = "user_input", aten.name = "x"},
                   %wq: tensor<8x16xf32> {aten.kind = "parameter", aten.name = "wq"},
                   %wk: tensor<4x16xf32> {aten.kind = "parameter", aten.name = "wk"},
                   %bq: tensor<8xf32> {aten.kind = "parameter", aten.name = "bq"},
                   %bk: tensor<4xf32> {aten.kind = "parameter", aten.name = "bk"}) -> tensor<8x4xf32> {
  %wqt = tg.view %wq (d0, d1) -> (d1, d0) : tensor<8x16xf32> -> tensor<16x8xf32>
  %q = tg.matmul %x, %wqt : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %eq = tensor.empty() : tensor<2x8xf32>
  %qb = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%q, %bq : tensor<2x8xf32>, tensor<8xf32>) outs(%eq : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %wkt = tg.view %wk (d0, d1) -> (d1, d0) : tensor<4x16xf32> -> tensor<16x4xf32>
  %k = tg.matmul %x, %wkt : tensor<2x16xf32>, tensor<16x4xf32> -> tensor<2x4xf32>
  %ek = tensor.empty() : tensor<2x4xf32>
  %kb = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%k, %bk : tensor<2x4xf32>, tensor<4xf32>) outs(%ek : tensor<2x4xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<2x4xf32>
  %qt = tg.view %qb (d0, d1) -> (d1, d0) : tensor<2x8xf32> -> tensor<8x2xf32>
  %r = tg.matmul %qt, %kb : tensor<8x2xf32>, tensor<2x4xf32> -> tensor<8x4xf32>
  return %r : tensor<8x4xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A gate and its partner do different things but end in one reader.
// COUNT:       tg-merge-matmuls.epilogues: 0
// COUNT:       tg-merge-matmuls.merged: 2
// CHECK-LABEL: func.func @forward
// CHECK:         tg.matmul {{.*}} -> tensor<2x16xf32>
// CHECK-NOT:     tg.matmul
func.func @forward(%x: tensor<2x16xf32> {aten.kind = "user_input", aten.name = "x"},
                   %wg: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wg"},
                   %wu: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wu"}) -> tensor<2x8xf32> {
  %g = tg.matmul %x, %wg : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %u = tg.matmul %x, %wu : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%g : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.tanh %a : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t, %u : tensor<2x8xf32>, tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.mulf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  return %r : tensor<2x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// tanh of one and a sign change of the other are epilogues; slices have none.
// COUNT:       tg-merge-matmuls.refused-epilogues: 1
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: tg.matmul
func.func @forward(%x: tensor<2x16xf32> {aten.kind = "user_input", aten.name = "x"},
                   %wg: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wg"},
                   %wu: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wu"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %g = tg.matmul %x, %wg : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %u = tg.matmul %x, %wu : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %e = tensor.empty() : tensor<2x8xf32>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%g : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = math.tanh %a : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  %r = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%u : tensor<2x8xf32>) outs(%e : tensor<2x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<2x8xf32>
  return %t, %r : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Results of the program are whole tensors, no slices.
// COUNT:       tg-merge-matmuls.refused-layout: 1
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-2: tg.matmul
func.func @forward(%x: tensor<2x16xf32> {aten.kind = "user_input", aten.name = "x"},
                   %wg: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wg"},
                   %wu: tensor<16x8xf32> {aten.kind = "parameter", aten.name = "wu"}) -> (tensor<2x8xf32>, tensor<2x8xf32>) {
  %g = tg.matmul %x, %wg : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  %u = tg.matmul %x, %wu : tensor<2x16xf32>, tensor<16x8xf32> -> tensor<2x8xf32>
  return %g, %u : tensor<2x8xf32>, tensor<2x8xf32>
}

// -----

// Near miss: the second weight comes with each run.
// COUNT-NOT:   tg-merge-matmuls
// CHECK-LABEL: func.func @forward
// CHECK-COUNT-3: tg.matmul
func.func @forward(%x: tensor<16x16xf32> {aten.kind = "user_input", aten.name = "x"},
                   %wg: tensor<16x16xf32> {aten.kind = "parameter", aten.name = "wg"},
                   %wu: tensor<16x16xf32> {aten.kind = "user_input", aten.name = "wu"}) -> tensor<16x16xf32> {
  %g = tg.matmul %x, %wg : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %u = tg.matmul %x, %wu : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  %y = tg.matmul %g, %u : tensor<16x16xf32>, tensor<16x16xf32> -> tensor<16x16xf32>
  return %y : tensor<16x16xf32>
}
