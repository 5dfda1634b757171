// RUN: gcompile-opt %s -tg-widen-floats | FileCheck %s
// RUN: gcompile-opt %s -tg-widen-floats -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0) -> (d0)>

// One extension and one truncation do nothing in f64; the integer cast stays.
// COUNT: tg-widen-floats.casts-dropped: 2
// CHECK-LABEL: func.func @forward(
// CHECK-SAME:    %{{.*}}: tensor<4xf64>, %{{.*}}: tensor<4xi64>) -> tensor<4xf64>
// CHECK:         arith.constant 5.000000e-01 : f64
// CHECK:       ^bb0(%[[IN:.*]]: f64, %[[N:.*]]: i64, %{{.*}}: f64):
// CHECK-NEXT:    %[[M:.*]] = arith.mulf %[[IN]], %{{.*}} : f64
// CHECK-NEXT:    %[[F:.*]] = arith.sitofp %[[N]] : i64 to f64
// CHECK-NEXT:    %[[S:.*]] = arith.addf %[[M]], %[[F]] : f64
// CHECK-NEXT:    linalg.yield %[[S]] : f64
func.func @forward(%x: tensor<4xbf16>, %n: tensor<4xi64>) -> tensor<4xbf16> {
  %e = tensor.empty() : tensor<4xbf16>
  %c = arith.constant 5.000000e-01 : f32
  %y = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel"]} ins(%x, %n : tensor<4xbf16>, tensor<4xi64>) outs(%e : tensor<4xbf16>) {
  ^bb0(%in: bf16, %int: i64, %out: bf16):
    %w = arith.extf %in : bf16 to f32
    %m = arith.mulf %w, %c : f32
    %f = arith.sitofp %int : i64 to f32
    %s = arith.addf %m, %f : f32
    %r = arith.truncf %s : f32 to bf16
    linalg.yield %r : bf16
  } -> tensor<4xbf16>
  return %y : tensor<4xbf16>
}
