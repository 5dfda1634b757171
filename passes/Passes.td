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
