// RUN: gcompile-opt %s -split-input-file -tg-fold-views -canonicalize | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-fold-views -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0, d1) -> (d0, d1)>

// COUNT:       tg-fold-views.copies: 0
// COUNT-NEXT:  tg-fold-views.folded: 1
// CHECK:       affine_map<(d0, d1) -> (d1, d0)>
// CHECK-LABEL: func.func @transpose_becomes_an_indexing_map
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NOT:     tg.view
// CHECK:         linalg.generic {{.*}} ins(%[[X]] : tensor<4x8xf32>)
func.func @transpose_becomes_an_indexing_map(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
  %e = tensor.empty() : tensor<8x4xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x4xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<8x4xf32>
  return %y : tensor<8x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Elements 0 to 4 of 8: a plain d0 would tell upstream that the loop has size 8.
// CHECK:       affine_map<(d0) -> (d0 mod 8)>
// CHECK-LABEL: func.func @leading_slice_does_not_size_the_loop
// CHECK:         linalg.generic {{.*}} ins(%{{.*}} : tensor<8xf32>) outs(%{{.*}} : tensor<5xf32>)
func.func @leading_slice_does_not_size_the_loop(%x: tensor<8xf32>) -> tensor<5xf32> {
  %t = tg.view %x (d0) -> (d0) : tensor<8xf32> -> tensor<5xf32>
  %e = tensor.empty() : tensor<5xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%t : tensor<5xf32>) outs(%e : tensor<5xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.negf %a : f32
    linalg.yield %v : f32
  } -> tensor<5xf32>
  return %y : tensor<5xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// 12 elements summed in rows of 6: neither d0 nor d1 stands alone in d0 * 6 + d1.
// CHECK-LABEL: func.func @empty_operand_fixes_loops
// CHECK-DAG:     %[[LOOPS:.*]] = tensor.empty() : tensor<2x6xf32>
// CHECK:         linalg.generic {{.*}} ins(%{{.*}}, %[[LOOPS]] : tensor<12xf32>, tensor<2x6xf32>)
func.func @empty_operand_fixes_loops(%x: tensor<12xf32>) -> tensor<2xf32> {
  %t = tg.view %x (d0, d1) -> (d0 * 6 + d1) : tensor<12xf32> -> tensor<2x6xf32>
  %zero = arith.constant dense<0.0> : tensor<2xf32>
  %y = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%t : tensor<2x6xf32>) outs(%zero : tensor<2xf32>) {
  ^bb0(%a: f32, %o: f32):
    %v = arith.addf %a, %o : f32
    linalg.yield %v : f32
  } -> tensor<2xf32>
  return %y : tensor<2xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#swap = affine_map<(d0, d1) -> (d1, d0)>

// A transposing copy between two readers goes the way of a view; twice is none.
// COUNT:       tg-fold-views.copies: 2
// CHECK-LABEL: func.func @copies_are_views
// CHECK-SAME:    (%[[X:.*]]: tensor<4x8xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @copies_are_views(%x: tensor<4x8xf32>) -> tensor<4x8xf32> {
  %e = tensor.empty() : tensor<8x4xf32>
  %t = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%e : tensor<8x4xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<8x4xf32>
  %f = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#swap, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t : tensor<8x4xf32>) outs(%f : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    linalg.yield %a : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A cast moves as many elements but changes them.
// COUNT:       tg-fold-views.copies: 0
// CHECK-LABEL: func.func @casts_are_not_copies
// CHECK:         arith.truncf
func.func @casts_are_not_copies(%x: tensor<4x8xf32>) -> tensor<4x8xbf16> {
  %e = tensor.empty() : tensor<4x8xbf16>
  %t = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<4x8xf32>) outs(%e : tensor<4x8xbf16>) {
  ^bb0(%a: f32, %o: bf16):
    %v = arith.truncf %a : f32 to bf16
    linalg.yield %v : bf16
  } -> tensor<4x8xbf16>
  return %t : tensor<4x8xbf16>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// A view of a constant is the constant, 2 + 3 is known, and so is its fill.
// CHECK-LABEL: func.func @known_scalars_are_computed
// CHECK-DAG:     %[[FIVE:.*]] = arith.constant 5.0
// CHECK-DAG:     %[[E:.*]] = tensor.empty() : tensor<4x8xf32>
// CHECK:         %[[Y:.*]] = linalg.fill ins(%[[FIVE]] : f32) outs(%[[E]] : tensor<4x8xf32>)
// CHECK-NEXT:    return %[[Y]]
func.func @known_scalars_are_computed() -> tensor<4x8xf32> {
  %two = arith.constant dense<2.0> : tensor<f32>
  %t = tg.view %two (d0, d1) -> () : tensor<f32> -> tensor<4x8xf32>
  %three = arith.constant dense<3.0> : tensor<4x8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%t, %three : tensor<4x8xf32>, tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %v = arith.addf %a, %b : f32
    linalg.yield %v : f32
  } -> tensor<4x8xf32>
  return %y : tensor<4x8xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>

// Tensors read at computed indices keep their views: the index is not known here.
// CHECK-LABEL: func.func @extracts_read_views
// CHECK:         %[[V:.*]] = tg.view
// CHECK:         tensor.extract %[[V]]
func.func @extracts_read_views(%x: tensor<4x8xf32>, %i: tensor<3xi64>) -> tensor<3xf32> {
  %t = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
  %one = arith.constant 1 : index
  %e = tensor.empty() : tensor<3xf32>
  %y = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
    ins(%i : tensor<3xi64>) outs(%e : tensor<3xf32>) {
  ^bb0(%a: i64, %o: f32):
    %p = arith.index_cast %a : i64 to index
    %v = tensor.extract %t[%one, %p] : tensor<8x4xf32>
    linalg.yield %v : f32
  } -> tensor<3xf32>
  return %y : tensor<3xf32>
}

// -----

// The product reads its operand by strides.
// CHECK-LABEL: func.func @operands_of_products_stay_views
// CHECK:         %[[T:.*]] = tg.view
// CHECK:         tg.matmul %{{.*}}, %[[T]]
func.func @operands_of_products_stay_views(%x: tensor<4x8xf32>, %w: tensor<16x8xf32>) -> tensor<4x16xf32> {
  %t = tg.view %w (d0, d1) -> (d1, d0) : tensor<16x8xf32> -> tensor<8x16xf32>
  %y = tg.matmul %x, %t : tensor<4x8xf32>, tensor<8x16xf32> -> tensor<4x16xf32>
  return %y : tensor<4x16xf32>
}

// -----

// The index of a dimension of size 1 is 0, however it is written.
// CHECK-LABEL: func.func @views_over_unit_dimensions_go
// CHECK-SAME:    (%[[X:.*]]: tensor<1x4xf32>)
// CHECK-NEXT:    return %[[X]]
func.func @views_over_unit_dimensions_go(%x: tensor<1x4xf32>) -> tensor<1x4xf32> {
  %v = tg.view %x (d0, d1) -> (0, d1) : tensor<1x4xf32> -> tensor<1x4xf32>
  return %v : tensor<1x4xf32>
}

// -----

#loops = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d1)>
#sum = affine_map<(d0, d1) -> (d0)>

// The operand that sized the loop over d0 is made anew: the body still adds to its
// output, and what computed the old operand is gone.
// CHECK-LABEL: func.func @sizing_operand_does_not_shift_the_body
// CHECK-NOT:     math.exp
// CHECK:         ins(%{{.*}}, %{{.*}} : tensor<2x4xf32>, tensor<4x8xf32>) outs(%{{.*}} : tensor<4xf32>)
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %{{.*}}: f32, %[[SUM:.*]]: f32):
// CHECK-NEXT:      arith.addf %[[SUM]], %[[X]]
func.func @sizing_operand_does_not_shift_the_body(%x: tensor<2x4xf32>, %w: tensor<4x8xf32>) -> tensor<4xf32> {
  %v = tg.view %x (d0) -> (d0 floordiv 4, d0 mod 4) : tensor<2x4xf32> -> tensor<8xf32>
  %e = tensor.empty() : tensor<4x8xf32>
  %d = linalg.generic {indexing_maps = [#loops, #loops], iterator_types = ["parallel", "parallel"]}
    ins(%w : tensor<4x8xf32>) outs(%e : tensor<4x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %r = math.exp %a : f32
    linalg.yield %r : f32
  } -> tensor<4x8xf32>
  %zero = arith.constant 0.0 : f32
  %i = tensor.empty() : tensor<4xf32>
  %f = linalg.fill ins(%zero : f32) outs(%i : tensor<4xf32>) -> tensor<4xf32>
  %y = linalg.generic {indexing_maps = [#row, #loops, #sum], iterator_types = ["parallel", "reduction"]}
    ins(%v, %d : tensor<8xf32>, tensor<4x8xf32>) outs(%f : tensor<4xf32>) {
  ^bb0(%a: f32, %size: f32, %s: f32):
    %r = arith.addf %s, %a : f32
    linalg.yield %r : f32
  } -> tensor<4xf32>
  return %y : tensor<4xf32>
}
