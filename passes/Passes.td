//===- Passes.td - the passes, in the order in which they run -------------===//
#ifndef GCOMPILE_PASSES
#define GCOMPILE_PASSES

include "mlir/Pass/PassBase.td"

//===----------------------------------------------------------------------===//
// On the aten program
//===----------------------------------------------------------------------===//

//===----------------------------------------------------------------------===//
// From the aten program to the tensor program
//===----------------------------------------------------------------------===//

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
    that read it, and into the indices of `tensor.extract`s. A generic that only copies
    becomes a view and folds likewise. Values with one known scalar in every element are
    read as that scalar, and a generic that computes one becomes a `linalg.fill`. Exact:
    each reader gets the elements that it got before.

        %t = tg.view %x (d0, d1) -> (d1, d0) : tensor<4x8xf32> -> tensor<8x4xf32>
        %y = linalg.generic {indexing_maps = [#id, #id], ...} ins(%t : tensor<8x4xf32>) ...
        // becomes
        %y = linalg.generic {indexing_maps = [#transpose, #id], ...} ins(%x : tensor<4x8xf32>) ...

    Upstream infers the sizes of loops from operands, by the plain dimensions of their
    maps. Where a reader of a slice would infer too much, `d0` is written `d0 mod size`;
    where no operand fixes a loop any more, a `tensor.empty` of the loops' shape does.

    Not done: operands of structured ops, which read strided views as they are. Counters:
    `folded` (reads), `copies`, `splats`.
  }];
  let dependentDialects = TensorProgramDialects;
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
