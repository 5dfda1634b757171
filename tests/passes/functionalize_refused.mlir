// RUN: gcompile-opt %s -split-input-file -tg-functionalize -verify-diagnostics

func.func @expanded(%x: tensor<4xf32>) {
  %e = aten.call "aten.expand.default"(%x, [2, 4], false) : (tensor<4xf32>) -> tensor<2x4xf32>
  // expected-error @+1 {{unsupported: writes to a view in which several elements share memory}}
  %r = aten.call "aten.relu_.default"(%e) : (tensor<2x4xf32>) -> tensor<2x4xf32>
  return
}

// -----

func.func @unknown_strides_read(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  %t = aten.call "aten.t.default"(%x) : (tensor<4x8xf32>) -> tensor<8x4xf32>
  %m = aten.call "aten.mul.Tensor"(%t, %t) : (tensor<8x4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  // expected-note @+1 {{the result of this is a view or a copy}}
  %v = aten.call "aten.reshape.default"(%m, [32]) : (tensor<8x4xf32>) -> tensor<32xf32>
  // expected-error @+1 {{unsupported: writes to memory that another tensor may or may not share}}
  %r = aten.call "aten.relu_.default"(%v) : (tensor<32xf32>) -> tensor<32xf32>
  return %m : tensor<8x4xf32>
}

// -----

func.func @symbolic(%x: tensor<?xf32>) -> tensor<?xf32> {
  // expected-error @+1 {{has symbolic sizes; run tg-specialize first}}
  %r = aten.call "aten.relu.default"(%x) : (tensor<?xf32>) -> tensor<?xf32>
  return %r : tensor<?xf32>
}

// -----

// expected-error @+1 {{unsupported: writes to argument 0, which is not a buffer, parameter or user input}}
func.func @constant(%x: tensor<4xf32> {aten.kind = "constant", aten.name = "c"}) {
  %r = aten.call "aten.relu_.default"(%x) : (tensor<4xf32>) -> tensor<4xf32>
  return
}

// -----

func.func @writes_to_region_input(%p: tensor<i1>, %x: tensor<4xf32>) {
  // expected-error @+1 {{unsupported: a sub-graph writes to its input 0}}
  %r = aten.cond %p(%x) : (tensor<i1>, tensor<4xf32>) -> tensor<4xf32> then {
  ^bb0(%a: tensor<4xf32>):
    %b = aten.call "aten.relu_.default"(%a) : (tensor<4xf32>) -> tensor<4xf32>
    aten.yield %b : tensor<4xf32>
  } else {
  ^bb0(%a: tensor<4xf32>):
    aten.yield %a : tensor<4xf32>
  }
  return
}

// -----

func.func @does_not_fit(%x: tensor<4xf32>, %y: tensor<2x4xf32>) {
  // expected-error @+1 {{cannot call 'aten.expand.default': cannot expand [2, 4] to [4]}}
  %r = aten.call "aten.add_.Tensor"(%x, %y, 1) : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<4xf32>
  return
}
