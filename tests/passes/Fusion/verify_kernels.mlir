// RUN: gcompile-opt %s -split-input-file -tg-verify-kernels -verify-diagnostics

func.func @k1(%x: tensor<4x8xf32>) -> tensor<8x4xf32> {
  // expected-error @below {{is outside of every kernel}}
  %v = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
  return %v : tensor<8x4xf32>
}

// -----

#id = affine_map<(d0) -> (d0)>
func.func @k2(%x: tensor<4xf32>, %y: tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>) {
  // expected-error @below {{has no common loops: the loops of}}
  %r:2 = tg.kernel "neg"(%x, %y) reason "test" {
  ^bb0(%p: tensor<4xf32>, %q: tensor<8xf32>):
    %e = tensor.empty() : tensor<4xf32>
    %a = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%p : tensor<4xf32>) outs(%e : tensor<4xf32>) {
    ^bb0(%i: f32, %o: f32):
      %n = arith.negf %i : f32
      linalg.yield %n : f32
    } -> tensor<4xf32>
    %f = tensor.empty() : tensor<8xf32>
    %b = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel"]}
      ins(%q : tensor<8xf32>) outs(%f : tensor<8xf32>) {
    ^bb0(%i: f32, %o: f32):
      %n = arith.negf %i : f32
      linalg.yield %n : f32
    } -> tensor<8xf32>
    tg.yield %a, %b : tensor<4xf32>, tensor<8xf32>
  } : (tensor<4xf32>, tensor<8xf32>) -> (tensor<4xf32>, tensor<8xf32>)
  return %r#0, %r#1 : tensor<4xf32>, tensor<8xf32>
}

// -----

func.func @k3(%x: tensor<12x128x64xf32>, %w: tensor<768x8xf32>) -> tensor<128x8xf32> {
  // expected-error @below {{an operand that is no strided view of its own operands}}
  %r = tg.kernel "mm"(%x, %w) reason "test" {
  ^bb0(%p: tensor<12x128x64xf32>, %q: tensor<768x8xf32>):
    %v = tg.view %p (d0, d1) -> (d1 floordiv 64, d0, d1 mod 64) : tensor<12x128x64xf32> -> tensor<128x768xf32>
    %y = tg.matmul %v, %q : tensor<128x768xf32>, tensor<768x8xf32> -> tensor<128x8xf32>
    tg.yield %y : tensor<128x8xf32>
  } : (tensor<12x128x64xf32>, tensor<768x8xf32>) -> tensor<128x8xf32>
  return %r : tensor<128x8xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>
func.func @k4(%x: tensor<8x8xf32>) -> tensor<8xf32> {
  // expected-error @below {{which is not pointwise}}
  %r = tg.kernel "mm_sum"(%x) reason "test" {
  ^bb0(%p: tensor<8x8xf32>):
    %y = tg.matmul %p, %p : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32>
    %zero = arith.constant dense<0.0> : tensor<8xf32>
    %s = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
      ins(%y : tensor<8x8xf32>) outs(%zero : tensor<8xf32>) {
    ^bb0(%a: f32, %acc: f32):
      %m = arith.addf %a, %acc : f32
      linalg.yield %m : f32
    } -> tensor<8xf32>
    tg.yield %s : tensor<8xf32>
  } : (tensor<8x8xf32>) -> tensor<8xf32>
  return %r : tensor<8xf32>
}

// -----

func.func @k5(%x: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @below {{yields an operand, which nothing in it computes}}
  %r = tg.kernel "none"(%x) reason "test" {
  ^bb0(%p: tensor<4xf32>):
    tg.yield %p : tensor<4xf32>
  } : (tensor<4xf32>) -> tensor<4xf32>
  return %r : tensor<4xf32>
}
