// RUN: gcompile-opt %s -tg-specialize=sizes=4x8 | FileCheck %s
// RUN: gcompile-opt %s -tg-specialize=sizes=4x8 -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s
// RUN: not gcompile-opt %s -tg-specialize=sizes=17x8 2>&1 | FileCheck --check-prefix=RANGE %s
// RUN: not gcompile-opt %s -tg-specialize=sizes=4x9 2>&1 | FileCheck --check-prefix=STATIC %s
// RUN: not gcompile-opt %s -tg-specialize 2>&1 | FileCheck --check-prefix=UNBOUND %s
// RUN: not gcompile-opt %s -tg-specialize=sizes=3x8 2>&1 | FileCheck --check-prefix=ASSERT %s

// Four scalars become numbers: 4, 4 mod 2 = 0, true, and 2 * 4 = 8.
// COUNT:      tg-specialize.asserts-checked: 1
// COUNT-NEXT: tg-specialize.scalars-folded: 4
// CHECK-NOT:  aten.symbols
// CHECK:      func.func @forward(%{{.*}}: tensor<4x8xf32> {{.*}}) -> tensor<8xf32>
// CHECK-NEXT:   %[[Y:.*]] = aten.call "aten.full.default"([8], {{.*}}) : () -> tensor<8xf32>
// CHECK-NEXT:   return %[[Y]] : tensor<8xf32>

// RANGE:   dimension 0 has size 17, but 's0' was exported for 2 to 16
// STATIC:  dimension 1 has size 9, expected 8
// UNBOUND: size 's0' of dimension 0 is symbolic
// ASSERT:  the model asserts: even sizes only
module attributes {aten.symbols = {s0 = [2, 16]}} {
  func.func @forward(%x: tensor<?x8xf32, #aten.dims<"s0", "8">> {aten.kind = "user_input", aten.name = "x"}) -> (tensor<?xf32, #aten.dims<"2*s0">>) {
    %n = aten.call "aten.sym_size.int"(%x, 0) : (tensor<?x8xf32, #aten.dims<"s0", "8">>) -> i64
    %r = aten.call "_operator.mod"(%n, 2) : (i64) -> i64
    %even = aten.call "_operator.eq"(%r, 0) : (i64) -> i1
    aten.call "aten._assert_scalar.default"(%even, "even sizes only") : (i1) -> ()
    %m = aten.call "_operator.mul"(%n, 2) : (i64) -> i64
    %y = aten.call "aten.full.default"([%m], 1.0 : f64, f32, none, none, none) : (i64) -> tensor<?xf32, #aten.dims<"2*s0">>
    return %y : tensor<?xf32, #aten.dims<"2*s0">>
  }
}
