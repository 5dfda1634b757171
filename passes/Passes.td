//===- Passes.td - the passes, in the order in which they run -------------===//
#ifndef GCOMPILE_PASSES
#define GCOMPILE_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// On the aten program
//===----------------------------------------------------------------------===//

def FunctionalizePass : Pass<"tg-functionalize", "mlir::ModuleOp"> {
  let summary = "replace writes and shared memory by pure functions";
  let description = [{
    Follows which values share memory: a view is a chain of steps from the base of its storage. A write through a view
    makes a new base by undoing the steps (`slice_scatter`, `select_scatter`, inverse permutations); views that are read
    later are taken anew from it. Copies and aliases (`clone`, `detach`, `contiguous`, dropout in inference) become their
    operand. Arguments that are written to become extra results of kind `buffer_mutation`, `parameter_mutation` or
    `input_mutation`, in front of the others. Exact.

        %v = aten.call "aten.select.int"(%x, 0, 1) : (tensor<4x8xf32>) -> tensor<8xf32>
        %w = aten.call "aten.relu_.default"(%v) : (tensor<8xf32>) -> tensor<8xf32>
        return %x : tensor<4x8xf32>
        // becomes
        %v = aten.call "aten.select.int"(%x, 0, 1) : (tensor<4x8xf32>) -> tensor<8xf32>
        %w = aten.call "aten.relu.default"(%v) : (tensor<8xf32>) -> tensor<8xf32>
        %y = aten.call "aten.select_scatter.default"(%x, %w, 0, 1) : (tensor<4x8xf32>, tensor<8xf32>) -> tensor<4x8xf32>
        return %y : tensor<4x8xf32>   // and %y once more, as the mutation of %x

    Whether `reshape` and `contiguous` give a view follows from strides, which are known from row-major arguments
    through views. Refused, with an error: symbolic sizes; a write where unknown strides decide who sees it; a write to
    expanded or overlapping views; a sub-graph that writes to its inputs. Two arguments never share memory.
    Counters: `writes`, `views-renewed`, `identities`, `mutations`.
  }];
  let dependentDialects = ["gcompile::aten::AtenDialect", "gcompile::tg::TGDialect"];
}

def FoldBatchNormPass : Pass<"tg-fold-batch-norm", "mlir::func::FuncOp"> {
  let summary = "fold inference batch norms into the weights before them";
  let description = [{
    A batch norm with fixed statistics is `y * s + (beta - mean * s)` a channel, with
    `s = gamma / sqrt(var + eps)`. After a convolution or a linear layer whose weights are
    parameters, the weight takes the factor and the bias the rest; both are computed from
    weights alone, in float32 at least, and `tg-split-prepare` does so once. Real
    arithmetic is the same; roundings differ as much as those of any other order of sums.

        %c = aten.call "aten.conv2d.default"(%x, %w, unit, ...) : ...
        %y = aten.call "aten.batch_norm.default"(%c, %gamma, %beta, %mean, %var, false, ...) : ...
        // becomes
        %y = aten.call "aten.conv2d.default"(%x, %w_scaled, %bias, ...) : ...

    Not done: a convolution with a second reader, which wants the unscaled result; statistics
    or weights that the program computes from its inputs or mutates; transposed convolutions
    in groups. Counters: `folded`.
  }];
  let dependentDialects = ["gcompile::aten::AtenDialect", "gcompile::tg::TGDialect"];
}

def SpecializePass : Pass<"tg-specialize", "mlir::ModuleOp"> {
  let summary = "replace symbolic sizes by numbers";
  let description = [{
    Gives @forward the sizes of one run: binds each symbol to the size of the input it stands for, computes every
    symbolic scalar, and lets the operators' result rules say all types anew. Afterwards all shapes are static. Sizes
    outside the range of a symbol, and assertions that fail, are errors; assertions that hold are dropped.

        func.func @forward(%x: tensor<?x8xf32, #aten.dims<"s0", "8">> ...) {
          %n = aten.call "aten.sym_size.int"(%x, 0) : ...
          %m = aten.call "_operator.mul"(%n, 2) : ...
          %y = aten.call "aten.full.default"([%m], 1.0, ...) : ...
        // becomes, with sizes=4x8
        func.func @forward(%x: tensor<4x8xf32> ...) {
          %y = aten.call "aten.full.default"([8], 1.0, ...) : () -> tensor<8xf32>

    Not done: sizes that depend on data, an error. Assertions about data are dropped unchecked. Counters:
    `scalars-folded`, `asserts-checked`.
  }];
  let options = [ListOption<"sizes", "sizes", "std::string", "sizes of the tensor inputs in order, like 8x64">];
  let dependentDialects = ["gcompile::aten::AtenDialect", "gcompile::tg::TGDialect"];
}

def DecomposePass : Pass<"tg-decompose", "mlir::ModuleOp"> {
  let summary = "write composite operators in terms of simpler ones";
  let description = [{
    Replaces each `aten.call` of a composite operator (linear, layer_norm, softmax, attention, lstm, gradients, ...)
    by calls of simpler ones, again and again, until only operators remain that `tg-legalize` lowers. Safe because the
    program is functional and static here. Half-precision norms, softmax and activations are computed in float32 and
    rounded once, as PyTorch's kernels do.

        %y = aten.call "aten.linear.default"(%x, %w, none) : (tensor<2x4x8xf32>, tensor<16x8xf32>) -> tensor<2x4x16xf32>
        // becomes
        %0 = aten.call "aten.view.default"(%x, [8, 8]) : (tensor<2x4x8xf32>) -> tensor<8x8xf32>
        %1 = aten.call "aten.permute.default"(%w, [1, 0]) : (tensor<16x8xf32>) -> tensor<8x16xf32>
        %2 = aten.call "aten.mm.default"(%0, %1) : (tensor<8x8xf32>, tensor<8x16xf32>) -> tensor<8x16xf32>
        %y = aten.call "aten.view.default"(%2, [2, 4, 16]) : (tensor<8x16xf32>) -> tensor<2x4x16xf32>

    Not done: dropout inside attention or recurrent networks, batch norm in training mode that updates its statistics in
    place; these are errors at the node. Dead calls are erased on the way. Counter: `decomposed`.
  }];
  let dependentDialects = ["gcompile::aten::AtenDialect", "gcompile::tg::TGDialect"];
}

//===----------------------------------------------------------------------===//
// From the aten program to the tensor program
//===----------------------------------------------------------------------===//

def LegalizePass : Pass<"tg-legalize", "mlir::ModuleOp"> {
  let summary = "the aten program as a tensor program";
  let description = [{
    Replaces every aten.call by what computes it: pointwise, reduction and windowed
    operators become `linalg.generic`, views become `tg.view`, matrix products,
    convolutions, attention, sorting, scans and scatters the structured ops of tg.
    Unsigned types become signless; scalars become 0-d tensors.

        %y = aten.call "aten.add.Tensor"(%x, %b, 1) : (tensor<4x8xbf16>, tensor<8xbf16>) -> tensor<4x8xbf16>
        // becomes
        %y = linalg.generic {indexing_maps = [(d0, d1) -> (d0, d1), (d0, d1) -> (d1), (d0, d1) -> (d0, d1)], ...} {
          %0 = arith.extf %in : bf16 to f32
          %1 = arith.extf %in_0 : bf16 to f32
          %2 = arith.addf %0, %1 : f32
          %3 = arith.truncf %2 fastmath<contract> : f32 to bf16
          linalg.yield %3 : bf16
        }

    Numbers mean what they mean in PyTorch: half precision is computed in float32 and
    rounded once an operator, by a `truncf` marked `contract` that a later pass may
    elide; conversions of the user's own are unmarked and stay.

    Needs static shapes, a functional program and core operators. An operator without a
    lowering, or a form of it, is an error at its node; one run reports all of them.
    Counters: `operators`.
  }];
  let dependentDialects = [
    "gcompile::tg::TGDialect", "mlir::arith::ArithDialect", "mlir::linalg::LinalgDialect",
    "mlir::math::MathDialect", "mlir::scf::SCFDialect", "mlir::tensor::TensorDialect"];
}

//===----------------------------------------------------------------------===//
// On the tensor program
//===----------------------------------------------------------------------===//

defvar TensorProgramDialects = [
  "gcompile::tg::TGDialect", "mlir::affine::AffineDialect", "mlir::arith::ArithDialect",
  "mlir::func::FuncDialect", "mlir::linalg::LinalgDialect", "mlir::tensor::TensorDialect"];

def FoldViewsPass : Pass<"tg-fold-views", "mlir::func::FuncOp"> {
  let summary = "read through views";
  let description = [{
    Composes `tg.view` into the indexing maps of the `linalg.generic`s and `tg.scatter`s
    that read it. A generic that only copies becomes a view and folds likewise. Values with
    one known scalar in every element are read as that scalar, and a generic that computes
    one becomes a `linalg.fill`. Exact: each reader gets the elements that it got before.

        %t = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
        %y = linalg.generic {indexing_maps = [#id, #id], ...} ins(%t : tensor<8x4xf32>) ...
        // becomes
        %y = linalg.generic {indexing_maps = [#transpose, #id], ...} ins(%x : tensor<4x8xf32>) ...

    Upstream infers the sizes of loops from operands, by the plain dimensions of their
    maps. Where a reader of a slice would infer too much, `d0` is written `d0 mod size`;
    where no operand fixes a loop any more, a `tensor.empty` of the loops' shape does.

    Not done: operands of structured ops, which read strided views as they are; tensors that
    a body reads at computed indices. Counters: `folded` (reads), `copies`, `splats`.
  }];
  let dependentDialects = TensorProgramDialects;
}

def InlineCheapPass : Pass<"tg-inline-cheap", "mlir::func::FuncOp"> {
  let summary = "compute in the reader what costs less than to load";
  let description = [{
    A pointwise generic without costly work that reads fewer bytes than it writes (a widening, a
    mask of floats made from one of bools, a sum of a row and a column) is put into the body
    of each generic that reads it. Nobody then stores its result. Exact: the same operations
    on the same elements.

        %w = linalg.generic ... ins(%x : tensor<8x64xbf16>) { extf } -> tensor<8x64xf32>
        %s = linalg.generic ... ins(%w : tensor<8x64xf32>) { addf } -> tensor<8xf32>
        // becomes
        %s = linalg.generic ... ins(%x : tensor<8x64xbf16>) { extf, addf } -> tensor<8xf32>

    Not done: for readers that want the tensor in memory, which keep the generic; bodies with
    indices, branches or more than 32 operations. Counter: `inlined` (reads).
  }];
  let dependentDialects = TensorProgramDialects;
}

def MergeMatmulsPass : Pass<"tg-merge-matmuls", "mlir::ModuleOp"> {
  let summary = "one product for products of one matrix";
  let description = [{
    Products of one matrix with several weights (query, key and value; gate and up) become one
    product with the weights side by side, which `tg-split-prepare` joins once. Where the
    readers of all products do the same but for weights (add a bias, narrow), one reader does
    it for all, again with joined weights, so that it can be the epilogue. What remains reads
    slices. Each element is the same sum of the same products.

        %q = tg.matmul %x, %wq : tensor<128x768xf32>, tensor<768x768xf32> -> tensor<128x768xf32>
        %k = tg.matmul %x, %wk : ...
        // becomes
        %w = linalg.generic ... { scf.if ... tensor.extract %wq ... tensor.extract %wk ... } -> tensor<768x1536xf32>
        %y = tg.matmul %x, %w : tensor<128x768xf32>, tensor<768x1536xf32> -> tensor<128x1536xf32>
        %q = tg.view %y (d0, d1) -> (d0, d1) : tensor<128x1536xf32> -> tensor<128x768xf32>
        %k = tg.view %y (d0, d1) -> (d0, d1 + 768) : ...

    Not done: where products would lose epilogues that differ (unless all end in one reader,
    as a gate does); where a reader could not read a slice by strides; products with
    weights on the left. Counters: `merged` (products), `groups`, `epilogues` (readers
    made one), `refused-epilogues`, `refused-layout`.
  }];
  let dependentDialects = !listconcat(TensorProgramDialects, ["mlir::scf::SCFDialect"]);
}

def SplitPreparePass : Pass<"tg-split-prepare", "mlir::ModuleOp"> {
  let summary = "compute from weights once, not in every run";
  let description = [{
    Moves what depends on weights alone (arguments of `aten.kind` parameter, buffer or
    constant that no result mutates, and constants) from @forward to a new @prepare. Its
    results become arguments of @forward; both carry `aten.kind = "prepared"` and a common
    `aten.name`. Only values that @forward reads cross. The same operations run on the same
    values, so nothing changes but when.

        func.func @forward(%x: ..., %w: tensor<8x4xf32> {aten.kind = "parameter", aten.name = "w"}) {
          %n = linalg.generic ... ins(%w) { exp }
          %y = tg.matmul %x, %n : ...
        // becomes
        func.func @forward(%x: ..., %w: ..., %n: tensor<8x4xf32> {aten.kind = "prepared", aten.name = "exp"}) {
          %y = tg.matmul %x, %n : ...
        func.func @prepare(%w: ...) -> (tensor<8x4xf32> {aten.kind = "prepared", aten.name = "exp"}) { exp }

    Not done: views, which cost nothing; pointwise generics that readers may as well repeat
    (cheap, and fewer bytes read than written); random numbers; control flow. Counters: `moved`
    (ops), `values`, `bytes` (of what crosses).
  }];
  let dependentDialects = TensorProgramDialects;
}

def MaterializeViewsPass : Pass<"tg-materialize-views", "mlir::func::FuncOp"> {
  let summary = "copy the views that cannot stay views";
  let description = [{
    A structured op reads its operands by strides, and what leaves a function or enters
    control flow is a whole tensor. Where a view is in the way, a copying `linalg.generic`
    makes it one; fusion then has the kernel that computes the source write it in that order.
    Operands with one known scalar in every element are written out likewise. Exact.

        // One stride cannot step through (head, element): 64 apart inside a head, then a jump.
        %v = tg.view %x (d0, d1) -> (d1 floordiv 64, d0, d1 mod 64) : tensor<12x128x64xf32> -> tensor<128x768xf32>
        %y = tg.matmul %v, %w : ...
        // becomes
        %v = linalg.generic {indexing_maps = [#heads, #id], ...} ins(%x : tensor<12x128x64xf32>) ... { yield }
        %y = tg.matmul %v, %w : ...

    Not done: strided views before structured ops, small splat constants, which are
    kept as data. Counters: `copies`, `splats`.
  }];
  let dependentDialects = TensorProgramDialects;
}

def FusePass : Pass<"tg-fuse", "mlir::func::FuncOp"> {
  let summary = "group operations into kernels";
  let description = [{
    Every `linalg.generic` and structured op ends in a `tg.kernel`. First each op takes in its
    producers, the nearest first: chains of pointwise ops, pointwise ops into reductions,
    readers of reductions (softmax and norms become one kernel of several stages), and
    pointwise ops after a matmul, convolution, attention or random op (its epilogue). Then
    siblings that read the same tensor with the same loops join. Generics that read no
    tensor (masks from positions, for example) are repeated for each reader.

    A merge is legal if one loop nest runs it (KernelLoops.h), if an epilogue reads the
    structured op's result element by element, and if no third kernel must run in between.
    Whether it is wanted is up to the strategy (FusionStrategy.h), which weighs bytes, launches,
    repeated work and lost parallelism. Values do not change: each element is computed by
    the same operations.

        %y = tg.matmul %x, %w : ...
        %z = linalg.generic ... ins(%y, %bias) { addf }
        // becomes
        %z = tg.kernel "mm_add"(%x, %w, %bias) reason "mm and add: epilogue, saves 1024 bytes and a launch" {
          ...
        }

    The name comes from the user's nodes, the reason lists the merges; a kernel of one
    op says what spoke against its last candidate. `remarks` reports every refusal.

    Not done: reductions in epilogues, prologues of structured ops other than strided views,
    kernels that share nothing but their launch. Counters: `fused` (merges), `kernels`,
    `duplicated`, and `refused-loops`, `-cycle`, `-cost`, `-structured`, `-size`.
  }];
  let options = [
    Option<"strategy", "strategy", "std::string", "\"default\"", "the fusion strategy: default, none, or one of a plug-in">,
    Option<"remarks", "remarks", "bool", "false", "emit a remark for each merge that is refused">];
  let dependentDialects = TensorProgramDialects;
}

def VerifyKernelsPass : Pass<"tg-verify-kernels", "mlir::func::FuncOp"> {
  let summary = "check what codegen relies on after fusion";
  let description = [{
    Changes nothing; fails where the kernel program breaks one of its rules.

    - K1: a body holds only `tg.kernel`, `tg.cond`, `tg.while`, constants in memory and its terminator.
    - K2: the generics of a kernel run in one loop nest (KernelLoops.h).
    - K3: the operands of a structured op are operands of the kernel, or strided views of them.
    - K4: the generics beside a structured op are pointwise.
    - K5: a kernel yields results of generics and structured ops.

        %y = tg.view %x ...            // error: K1
        return %y : tensor<4xf32>

    Not done: what the verifiers of the ops check. Counters: none.
  }];
}


def WidenFloatsPass : Pass<"tg-widen-floats", "mlir::ModuleOp"> {
  let summary = "compute everything in float64";
  let description = [{
    Replaces every float type of a tensor program by f64 and drops the casts between floats, which then do nothing: the
    reference that results are judged against. Exact but for f64's own rounding, since no narrower rounding is left.

        %1 = arith.truncf %0 : f32 to bf16
        %2 = arith.extf %1 : bf16 to f32
        // becomes nothing: %2 is %0, an f64

    Not done: integer types; casts between floats and integers stay. Counter: `casts-dropped`.
  }];
  let dependentDialects = ["gcompile::tg::TGDialect"];
}

//===----------------------------------------------------------------------===//
// Tools
//===----------------------------------------------------------------------===//

def ReportPass : Pass<"tg-report", "mlir::ModuleOp"> {
  let summary = "print what the passes before it counted";
  let description = [{
    Prints the counters of this context to the standard error, one a line, sorted, and
    leaves the program alone. Counters that are not there are zero.

        tg-fuse.fused: 12

    `gcompile-opt -tg-fuse -tg-report model.mlir 2>&1 | FileCheck ...` tests them.
  }];
  let dependentDialects = ["gcompile::tg::TGDialect"];
}

#endif
