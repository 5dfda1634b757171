// RUN: gcompile-opt %s -split-input-file -tg-functionalize | FileCheck %s

// A write through a view updates the buffer, and a view taken before the write
// shows it when it is read after.
// CHECK-LABEL: func.func @write_through_view(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32> {{.*}}) -> (tensor<4x8xf32> {aten.kind = "buffer_mutation", aten.name = "state"}, tensor<8x4xf32> {aten.kind = "user_output", aten.name = "0"})
func.func @write_through_view(%x: tensor<4x8xf32> {aten.kind = "buffer", aten.name = "state"})
    -> (tensor<8x4xf32> {aten.kind = "user_output", aten.name = "0"}) {
  %t = aten.call "aten.t.default"(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  // CHECK: %[[V:.*]] = aten.call "aten.select.int"(%[[X]], 0, 1)
  // CHECK: %[[W:.*]] = aten.call "aten.relu.default"(%[[V]])
  // CHECK: %[[Y:.*]] = aten.call "aten.select_scatter.default"(%[[X]], %[[W]], 0, 1)
  %v = aten.call "aten.select.int"(%x, 0, 1) : (tensor<4x8xf32>) -> tensor<8xf32>
  %w = aten.call "aten.relu_.default"(%v) : (tensor<8xf32>) -> tensor<8xf32>
  // CHECK: %[[T:.*]] = aten.call "aten.permute.default"(%[[Y]], [1, 0])
  // CHECK: return %[[Y]], %[[T]]
  return %t : tensor<8x4xf32>
}

// -----

// A chain of views is undone step by step, the last first.
// CHECK-LABEL: func.func @chain(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3x4xf32> {{.*}}, %[[S:.*]]: tensor<8xf32>
func.func @chain(%x: tensor<2x3x4xf32> {aten.kind = "user_input", aten.name = "x"}, %s: tensor<8xf32>) {
  %a = aten.call "aten.select.int"(%x, 1, -1) : (tensor<2x3x4xf32>) -> tensor<2x4xf32>
  %b = aten.call "aten.view.default"(%a, [8]) : (tensor<2x4xf32>) -> tensor<8xf32>
  // CHECK: %[[A:.*]] = aten.call "aten.view.default"(%[[S]], [2, 4])
  // CHECK: %[[Y:.*]] = aten.call "aten.select_scatter.default"(%[[X]], %[[A]], 1, 2)
  // CHECK: return %[[Y]]
  %c = aten.call "aten.copy_.default"(%b, %s, false) : (tensor<8xf32>, tensor<8xf32>) -> tensor<8xf32>
  return
}

// -----

// What is stored takes the type of the tensor it is stored to.
// CHECK-LABEL: func.func @store_converts(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xbf16> {{.*}}, %[[Y:.*]]: tensor<4x8xbf16> {{.*}}, %[[S:.*]]: tensor<8xi64>
func.func @store_converts(%x: tensor<4x8xbf16> {aten.kind = "buffer", aten.name = "x"},
                          %y: tensor<4x8xbf16> {aten.kind = "parameter", aten.name = "y"}, %s: tensor<8xi64>) {
  // CHECK: %[[A:.*]] = aten.call "aten.add.Tensor"(%[[X]], %[[S]], 2) : {{.*}} -> tensor<4x8xbf16>
  %a = aten.call "aten.add_.Tensor"(%x, %s, 2) : (tensor<4x8xbf16>, tensor<8xi64>) -> tensor<4x8xbf16>
  // CHECK: %[[C:.*]] = aten.call "aten._to_copy.default"(%[[S]], bf16,
  // CHECK: %[[D:.*]] = aten.call "aten.expand.default"(%[[C]], [4, 8], false)
  // CHECK: return %[[A]], %[[D]]
  %b = aten.call "aten.copy_.default"(%y, %s, false) : (tensor<4x8xbf16>, tensor<8xi64>) -> tensor<4x8xbf16>
  return
}

// -----

// A static cache: index_copy_ into a buffer that is read after.
// CHECK-LABEL: func.func @cache(
// CHECK-SAME:    %[[K:.*]]: tensor<1x2x16x4xf32> {{.*}}, %[[P:.*]]: tensor<1xi64>, %[[NEW:.*]]: tensor<1x2x1x4xf32>
func.func @cache(%k: tensor<1x2x16x4xf32> {aten.kind = "buffer", aten.name = "cache.k"}, %p: tensor<1xi64>, %new: tensor<1x2x1x4xf32>) -> tensor<1x2x16x4xf32> {
  // CHECK: %[[Y:.*]] = aten.call "aten.index_copy.default"(%[[K]], 2, %[[P]], %[[NEW]])
  // CHECK: %[[Z:.*]] = aten.call "aten.mul.Tensor"(%[[Y]], %[[Y]])
  // CHECK: return %[[Y]], %[[Z]]
  %r = aten.call "aten.index_copy_.default"(%k, 2, %p, %new) : (tensor<1x2x16x4xf32>, tensor<1xi64>, tensor<1x2x1x4xf32>) -> tensor<1x2x16x4xf32>
  %z = aten.call "aten.mul.Tensor"(%k, %r) : (tensor<1x2x16x4xf32>, tensor<1x2x16x4xf32>) -> tensor<1x2x16x4xf32>
  return %z : tensor<1x2x16x4xf32>
}

// -----

// Copies have memory of their own: a write to one is not seen through the other.
// CHECK-LABEL: func.func @copies(
// CHECK-SAME:    %[[X:.*]]: tensor<4xf32>
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  // CHECK: %[[R:.*]] = aten.call "aten.relu.default"(%[[X]])
  // CHECK-NOT: aten.call
  %c = aten.call "aten.clone.default"(%x, none) : (tensor<4xf32>) -> tensor<4xf32>
  %d = aten.call "aten.detach.default"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  %e = aten.call "aten.dropout.default"(%x, 0.1 : f64, false) : (tensor<4xf32>) -> tensor<4xf32>
  %r = aten.call "aten.relu_.default"(%c) : (tensor<4xf32>) -> tensor<4xf32>
  // CHECK: return %[[R]], %[[X]], %[[X]]
  return %d, %e, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// contiguous and reshape of a row-major tensor are views, of a transpose copies.
// CHECK-LABEL: func.func @strides_decide(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32> {{.*}}, %[[Y:.*]]: tensor<4x8xf32>
func.func @strides_decide(%x: tensor<4x8xf32> {aten.kind = "buffer", aten.name = "x"},
                          %y: tensor<4x8xf32> {aten.kind = "buffer", aten.name = "y"}) {
  // CHECK: %[[V:.*]] = aten.call "aten.reshape.default"(%[[X]], [32])
  // CHECK: %[[W:.*]] = aten.call "aten.relu.default"(%[[V]])
  // CHECK: %[[R:.*]] = aten.call "aten.view.default"(%[[W]], [4, 8])
  // CHECK: return %[[R]] : tensor<4x8xf32>
  %a = aten.call "aten.reshape.default"(%x, [32]) : (tensor<4x8xf32>) -> tensor<32xf32>
  %b = aten.call "aten.relu_.default"(%a) : (tensor<32xf32>) -> tensor<32xf32>
  %t = aten.call "aten.t.default"(%y) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %c = aten.call "aten.contiguous.default"(%t, "contiguous_format") : (tensor<8x4xf32>) -> tensor<8x4xf32>
  %d = aten.call "aten.relu_.default"(%c) : (tensor<8x4xf32>) -> tensor<8x4xf32>
  return
}

// -----

// The layout of a pointwise result is not known, but nobody reads the product
// after the write, so that it does not matter.
// CHECK-LABEL: func.func @unknown_strides_unread(
// CHECK-SAME:    %[[X:.*]]: tensor<4x8xf32>
func.func @unknown_strides_unread(%x: tensor<4x8xf32>) -> tensor<32xf32> {
  // CHECK: %[[V:.*]] = aten.call "aten.reshape.default"
  // CHECK: %[[R:.*]] = aten.call "aten.relu.default"(%[[V]])
  // CHECK: return %[[R]]
  %t = aten.call "aten.t.default"(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %m = aten.call "aten.mul.Tensor"(%t, %t) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  %v = aten.call "aten.reshape.default"(%m, [32]) : (tensor<8x4xf32>) -> tensor<32xf32>
  %r = aten.call "aten.relu_.default"(%v) : (tensor<32xf32>) -> tensor<32xf32>
  return %v : tensor<32xf32>
}

// -----

// Each part of a split is a slice of the storage.
// CHECK-LABEL: func.func @split_parts(
// CHECK-SAME:    %[[X:.*]]: tensor<4x6xf32>
func.func @split_parts(%x: tensor<4x6xf32>) -> tensor<4x6xf32> {
  // CHECK: %[[C:.*]] = aten.call "aten.relu.default"(%[[X]])
  // CHECK: %[[P:.*]]:3 = aten.call "aten.split.Tensor"(%[[C]], 2, 1)
  // CHECK: %[[S:.*]] = aten.call "aten.sigmoid.default"(%[[P]]#1)
  // CHECK: %[[A:.*]] = aten.call "aten.slice_scatter.default"(%[[C]], %[[S]], 1, 2, 4, 1)
  // CHECK: %[[T:.*]] = aten.call "aten.slice.Tensor"(%[[A]], 1, 4, 6, 1)
  // CHECK: %[[Q:.*]] = aten.call "aten.tanh.default"(%[[T]])
  // CHECK: %[[B:.*]] = aten.call "aten.slice_scatter.default"(%[[A]], %[[Q]], 1, 4, 6, 1)
  // CHECK: return %[[B]]
  %c = aten.call "aten.relu.default"(%x) : (tensor<4x6xf32>) -> tensor<4x6xf32>
  %p:3 = aten.call "aten.split.Tensor"(%c, 2, 1) : (tensor<4x6xf32>) -> (tensor<4x2xf32>, tensor<4x2xf32>, tensor<4x2xf32>)
  %s = aten.call "aten.sigmoid_.default"(%p#1) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %q = aten.call "aten.tanh_.default"(%p#2) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  return %c : tensor<4x6xf32>
}

// -----

// Batch norm in training mode writes its statistics, though its schema hides it.
// CHECK-LABEL: func.func @batch_norm(
// CHECK-SAME:    %[[X:.*]]: tensor<2x3x4x4xf32>, %[[M:.*]]: tensor<3xf32> {{.*}}, %[[V:.*]]: tensor<3xf32>
// CHECK-SAME:    {aten.kind = "buffer_mutation", aten.name = "mean"}
// CHECK-SAME:    {aten.kind = "buffer_mutation", aten.name = "var"}
func.func @batch_norm(%x: tensor<2x3x4x4xf32>,
                      %m: tensor<3xf32> {aten.kind = "buffer", aten.name = "mean"},
                      %v: tensor<3xf32> {aten.kind = "buffer", aten.name = "var"}) -> tensor<2x3x4x4xf32> {
  // CHECK: %[[Y:.*]]:5 = aten.call "aten._native_batch_norm_legit_functional.default"(%[[X]], none, none, %[[M]], %[[V]], true, 1.000000e-01 : f64, 1.000000e-05 : f64)
  // CHECK: return %[[Y]]#3, %[[Y]]#4, %[[Y]]#0
  %y = aten.call "aten.batch_norm.default"(%x, none, none, %m, %v, true, 0.1 : f64, 1.0e-5 : f64, true) : (tensor<2x3x4x4xf32>, tensor<3xf32>, tensor<3xf32>) -> tensor<2x3x4x4xf32>
  return %y : tensor<2x3x4x4xf32>
}

// -----

// Writes inside a branch stay there; as_strided sees the whole storage.
// CHECK-LABEL: func.func @regions(
func.func @regions(%p: tensor<i1>, %x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // CHECK: aten.cond
  // CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4x4xf32>):
  // CHECK-NEXT:   %[[R:.*]] = aten.call "aten.relu.default"(%[[A]])
  // CHECK-NEXT:   %[[D:.*]] = aten.call "aten.as_strided.default"(%[[R]], [2], [5], 4)
  // CHECK-NEXT:   %[[N:.*]] = aten.call "aten.neg.default"(%[[D]])
  // CHECK-NEXT:   %[[S:.*]] = aten.call "aten.as_strided_scatter.default"(%[[R]], %[[N]], [2], [5], 4)
  // CHECK-NEXT:   aten.yield %[[S]]
  %r = aten.cond %p(%x) : (tensor<i1>, tensor<4x4xf32>) -> tensor<4x4xf32> then {
  ^bb0(%a: tensor<4x4xf32>):
    %b = aten.call "aten.relu.default"(%a) : (tensor<4x4xf32>) -> tensor<4x4xf32>
    %row = aten.call "aten.select.int"(%b, 0, 1) : (tensor<4x4xf32>) -> tensor<4xf32>
    %d = aten.call "aten.as_strided.default"(%row, [2], [5], none) : (tensor<4xf32>) -> tensor<2xf32>
    %n = aten.call "aten.neg_.default"(%d) : (tensor<2xf32>) -> tensor<2xf32>
    aten.yield %b : tensor<4x4xf32>
  } else {
  ^bb0(%a: tensor<4x4xf32>):
    aten.yield %a : tensor<4x4xf32>
  }
  return %r : tensor<4x4xf32>
}
