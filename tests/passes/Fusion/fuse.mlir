// RUN: gcompile-opt %s -split-input-file -tg-fuse -tg-verify-kernels | FileCheck %s
// RUN: gcompile-opt %s -split-input-file -tg-fuse=remarks -tg-report 2>&1 >/dev/null | FileCheck --check-prefix=COUNT %s

#id = affine_map<(d0, d1) -> (d0, d1)>
#col = affine_map<(d0, d1) -> (d1)>

// The sum is neither written nor read again: 2 * 8 * 128 * 4 = 8192 bytes.
// COUNT:       tg-fuse.fused: 2
// COUNT-NEXT:  tg-fuse.kernels: 1
// CHECK-LABEL: func.func @pointwise_ops_become_the_epilogue
// CHECK:         %[[Y:.*]] = tg.kernel "linear_add_relu"
// CHECK-SAME:      reason "linear_1 and add_2: epilogue, saves 8192 bytes and a launch; add_2 and relu_3: epilogue, saves 8192 bytes and a launch"
// CHECK:           tg.view
// CHECK:           tg.matmul
// CHECK:           arith.addf
// CHECK:           arith.maximumf
// CHECK-NOT:     tg.kernel
// CHECK:         return %[[Y]]
func.func @pointwise_ops_become_the_epilogue(%x: tensor<8x64xf32>, %w: tensor<128x64xf32>, %b: tensor<128xf32>) -> tensor<8x128xf32> {
  %wt = tg.view %w (d0, d1) -> (d1, d0) : tensor<128x64xf32> -> tensor<64x128xf32>
  %mm = tg.matmul %x, %wt : tensor<8x64xf32>, tensor<64x128xf32> -> tensor<8x128xf32> loc("linear_1")
  %e = tensor.empty() : tensor<8x128xf32>
  %y = linalg.generic {indexing_maps = [#id, #col, #id], iterator_types = ["parallel", "parallel"]}
    ins(%mm, %b : tensor<8x128xf32>, tensor<128xf32>) outs(%e : tensor<8x128xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.addf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x128xf32> loc("add_2")
  %zero = arith.constant 0.0 : f32
  %z = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%y : tensor<8x128xf32>) outs(%e : tensor<8x128xf32>) {
  ^bb0(%p: f32, %o: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  } -> tensor<8x128xf32> loc("relu_3")
  return %z : tensor<8x128xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#half = affine_map<(d0, d1) -> (d0, d1 + 64)>
#left = affine_map<(d0, d1) -> (d0, d1 mod 128)>

// Near miss: the reader wants two elements of the product at once.
// COUNT:       remark: {{.*}}'mul_2' is not fused with 'mm_1': 'mul_2' reads other elements of 'mm_1' than the one at hand
// COUNT:       tg-fuse.kernels: 2
// CHECK-LABEL: func.func @epilogue_reads_one_element
// CHECK:         tg.kernel "mm"
// CHECK:         tg.kernel "mul"
// CHECK-SAME:      reason "alone: not with 'mm_1': 'mul_2' reads other elements
func.func @epilogue_reads_one_element(%x: tensor<8x64xf32>, %w: tensor<64x128xf32>) -> tensor<8x64xf32> {
  %mm = tg.matmul %x, %w : tensor<8x64xf32>, tensor<64x128xf32> -> tensor<8x128xf32> loc("mm_1")
  %e = tensor.empty() : tensor<8x64xf32>
  %y = linalg.generic {indexing_maps = [#left, #half, #id], iterator_types = ["parallel", "parallel"]}
    ins(%mm, %mm : tensor<8x128xf32>, tensor<8x128xf32>) outs(%e : tensor<8x64xf32>) {
  ^bb0(%p: f32, %q: f32, %o: f32):
    %s = arith.mulf %p, %q : f32
    linalg.yield %s : f32
  } -> tensor<8x64xf32> loc("mul_2")
  return %y : tensor<8x64xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#row = affine_map<(d0, d1) -> (d0)>

// A softmax is one kernel; its exp is not written.
// COUNT:       tg-fuse.fused: 3
// COUNT-NEXT:  tg-fuse.kernels: 1
// CHECK-LABEL: func.func @softmax_is_one_kernel
// CHECK:         tg.kernel "softmax"(%{{.*}}) reason "one node"
// CHECK:           linalg.fill
// CHECK:           tg.yield %{{.*}} : tensor<8x128xf32>
// CHECK-NOT:     tg.kernel
func.func @softmax_is_one_kernel(%x: tensor<8x128xf32>) -> tensor<8x128xf32> {
  %low = arith.constant dense<0xFF800000> : tensor<8xf32>
  %zero = arith.constant dense<0.0> : tensor<8xf32>
  %e = tensor.empty() : tensor<8x128xf32>
  %max = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%x : tensor<8x128xf32>) outs(%low : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.maximumf %a, %acc : f32
    linalg.yield %m : f32
  } -> tensor<8xf32> loc("_softmax_3")
  %exp = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %max : tensor<8x128xf32>, tensor<8xf32>) outs(%e : tensor<8x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %s = arith.subf %a, %b : f32
    %t = math.exp %s : f32
    linalg.yield %t : f32
  } -> tensor<8x128xf32> loc("_softmax_3")
  %sum = linalg.generic {indexing_maps = [#id, #row], iterator_types = ["parallel", "reduction"]}
    ins(%exp : tensor<8x128xf32>) outs(%zero : tensor<8xf32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.addf %a, %acc : f32
    linalg.yield %m : f32
  } -> tensor<8xf32> loc("_softmax_3")
  %r = linalg.generic {indexing_maps = [#id, #row, #id], iterator_types = ["parallel", "parallel"]}
    ins(%exp, %sum : tensor<8x128xf32>, tensor<8xf32>) outs(%e : tensor<8x128xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<8x128xf32> loc("_softmax_3")
  return %r : tensor<8x128xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#none = affine_map<(d0, d1) -> ()>

// The sum over all 4M elements can be split over the machine, and so can the
// division, but one kernel of both has a single independent iteration. Saved were
// 16 MB of reading and 2 * 4 bytes of the sum.
// COUNT:       remark: {{.*}}'div_2' is not fused with 'sum_1': saves 16777224 bytes and a launch, but leaves too few independent iterations
// CHECK-LABEL: func.func @wide_reader_of_a_full_sum_stays_apart
// CHECK:         tg.kernel "sum"
// CHECK:         tg.kernel "div"
func.func @wide_reader_of_a_full_sum_stays_apart(%x: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
  %zero = arith.constant dense<0.0> : tensor<f32>
  %sum = linalg.generic {indexing_maps = [#id, #none], iterator_types = ["reduction", "reduction"]}
    ins(%x : tensor<1024x4096xf32>) outs(%zero : tensor<f32>) {
  ^bb0(%a: f32, %acc: f32):
    %m = arith.addf %a, %acc : f32
    linalg.yield %m : f32
  } -> tensor<f32> loc("sum_1")
  %e = tensor.empty() : tensor<1024x4096xf32>
  %r = linalg.generic {indexing_maps = [#id, #none, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x, %sum : tensor<1024x4096xf32>, tensor<f32>) outs(%e : tensor<1024x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.divf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<1024x4096xf32> loc("div_2")
  return %r : tensor<1024x4096xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>
#rot = affine_map<(d0, d1) -> (d0, (d1 + 2048) mod 4096)>

// exp at two places of the row: saves writing and reading 16 MB, but repeats
// 1024 * 4096 * 16 = 67108864 units of costly work.
// COUNT:       remark: {{.*}}'add_2' is not fused with 'exp_1': saves 33554432 bytes and a launch, repeats 67108864 units of costly work
// CHECK-LABEL: func.func @costly_work_is_not_repeated
// CHECK:         tg.kernel "exp"
// CHECK:         tg.kernel "add"
func.func @costly_work_is_not_repeated(%x: tensor<1024x4096xf32>) -> tensor<1024x4096xf32> {
  %e = tensor.empty() : tensor<1024x4096xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<1024x4096xf32>) outs(%e : tensor<1024x4096xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<1024x4096xf32> loc("exp_1")
  %r = linalg.generic {indexing_maps = [#id, #rot, #id], iterator_types = ["parallel", "parallel"]}
    ins(%exp, %exp : tensor<1024x4096xf32>, tensor<1024x4096xf32>) outs(%e : tensor<1024x4096xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<1024x4096xf32> loc("add_2")
  return %r : tensor<1024x4096xf32>
}

// -----

#id = affine_map<(d0, d1) -> (d0, d1)>

// The sort reads a product of exp, and the sum reads both: exp cannot wait for it.
// COUNT:       remark: {{.*}}'add_3' is not fused with 'exp_1': another kernel must run between them
// CHECK-LABEL: func.func @no_kernel_waits_for_itself
// CHECK:         %[[E:.*]] = tg.kernel "exp"
// CHECK:         tg.kernel "mm"(%[[E]]
// CHECK:         tg.kernel "sort"
// CHECK:         tg.kernel "add"
func.func @no_kernel_waits_for_itself(%x: tensor<8x8xf32>) -> tensor<8x8xf32> {
  %e = tensor.empty() : tensor<8x8xf32>
  %exp = linalg.generic {indexing_maps = [#id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%x : tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %o: f32):
    %t = math.exp %a : f32
    linalg.yield %t : f32
  } -> tensor<8x8xf32> loc("exp_1")
  %mm = tg.matmul %exp, %x : tensor<8x8xf32>, tensor<8x8xf32> -> tensor<8x8xf32> loc("mm_2")
  %s, %i = tg.sort %mm {dim = 1 : i64, descending = false, is_unsigned = false} : tensor<8x8xf32> -> tensor<8x8xf32>, tensor<8x8xi64> loc("sort_2")
  %r = linalg.generic {indexing_maps = [#id, #id, #id], iterator_types = ["parallel", "parallel"]}
    ins(%exp, %s : tensor<8x8xf32>, tensor<8x8xf32>) outs(%e : tensor<8x8xf32>) {
  ^bb0(%a: f32, %b: f32, %o: f32):
    %q = arith.addf %a, %b : f32
    linalg.yield %q : f32
  } -> tensor<8x8xf32> loc("add_3")
  return %r : tensor<8x8xf32>
}
