// RUN: gcompile-opt %s -split-input-file -tg-legalize -verify-diagnostics

// One run names all of them.
func.func @operators_without_a_lowering(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  // expected-error @+1 {{unsupported: operator 'aten.linalg_matrix_exp.default'}}
  %y = aten.call "aten.linalg_matrix_exp.default"(%x) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %z = aten.call "aten.exp.default"(%y) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  // expected-error @+1 {{unsupported: operator 'aten.linalg_matrix_exp.default'}}
  %w = aten.call "aten.linalg_matrix_exp.default"(%z) : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %w : tensor<4x4xf32>
}

// -----

func.func @forms_without_a_lowering(%x: tensor<4xf32>, %m: tensor<4xi1>, %q: tensor<1x1x4x8xf32>) -> (tensor<2xf32>, tensor<2xf64>, tensor<1x1x4x8xf32>) {
  // expected-error @+1 {{selects by a mask, so that the number of elements depends on data}}
  %a = aten.call "aten.index.Tensor"(%x, [%m]) : (tensor<4xf32>, tensor<4xi1>) -> tensor<2xf32>
  // expected-error @+1 {{reads 'f32' as 'f64', which has another size}}
  %b = aten.call "aten.view.dtype"(%x, f64) : (tensor<4xf32>) -> tensor<2xf64>
  // expected-error @+1 {{with dropout inside attention}}
  %c, %l = aten.call "aten._scaled_dot_product_flash_attention_for_cpu.default"(%q, %q, %q, 0.1, false, none, none) : (tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>) -> (tensor<1x1x4x8xf32>, tensor<1x1x4xf32>)
  return %a, %b, %c : tensor<2xf32>, tensor<2xf64>, tensor<1x1x4x8xf32>
}

// -----

// A result of another shape than the lowering's is a bug somewhere.
func.func @wrong_result_type(%x: tensor<4x8xf32>) -> tensor<4x9xf32> {
  // expected-error @+1 {{internal error: lowered to 'tensor<4x8xf32>', expected 'tensor<4x9xf32>'}}
  %y = aten.call "aten.flip.default"(%x, [1]) : (tensor<4x8xf32>) -> tensor<4x9xf32>
  return %y : tensor<4x9xf32>
}
