// RUN: gcompile-opt %s -tg-functionalize -tg-report 2>&1 | FileCheck %s

// The clone is an identity; relu_ and add_ write; %v is read after add_ wrote to
// the storage it shows.
// CHECK: tg-functionalize.identities: 1
// CHECK: tg-functionalize.mutations: 1
// CHECK: tg-functionalize.views-renewed: 1
// CHECK: tg-functionalize.writes: 2
func.func @counted(%x: tensor<4x2xf32> {aten.kind = "buffer", aten.name = "x"}) -> (tensor<4xf32>, tensor<4x2xf32>) {
  %c = aten.call "aten.clone.default"(%x, none) : (tensor<4x2xf32>) -> tensor<4x2xf32>
  %v = aten.call "aten.select.int"(%x, 1, 0) : (tensor<4x2xf32>) -> tensor<4xf32>
  %r = aten.call "aten.relu_.default"(%v) : (tensor<4xf32>) -> tensor<4xf32>
  %a = aten.call "aten.add_.Tensor"(%x, %c, 1) : (tensor<4x2xf32>, tensor<4x2xf32>) -> tensor<4x2xf32>
  return %v, %c : tensor<4xf32>, tensor<4x2xf32>
}
