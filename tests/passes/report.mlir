// RUN: gcompile-opt %s -tg-report 2>&1 | FileCheck %s

// Nothing ran before the report, so it says nothing and keeps the program.
// CHECK-NOT: {{: [0-9]+$}}
// CHECK:       func.func @forward(%[[X:.*]]: tensor<4xf32>) -> tensor<4xf32>
// CHECK-NEXT:    return %[[X]]
func.func @forward(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
