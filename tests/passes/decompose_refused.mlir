// RUN: gcompile-opt %s -split-input-file -tg-decompose -verify-diagnostics

func.func @dropout_in_attention(%q: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  // expected-error @+1 {{unsupported: attention with dropout; export the model in eval mode}}
  %y = aten.call "aten.scaled_dot_product_attention.default"(%q, %q, %q, none, 5.0e-01 : f64, false, none, false) : (tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32>
  return %y : tensor<1x2x4x8xf32>
}
