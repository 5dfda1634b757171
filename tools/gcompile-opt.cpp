//===- gcompile-opt.cpp - mlir-opt with our dialects and passes -----------===//
#include "gcompile/ir/Dialects.h"
#include "gcompile/passes/Passes.h"
#include "gcompile/passes/Pipelines.h"

#include "mlir/InitAllDialects.h"
#include "mlir/InitAllExtensions.h"
#include "mlir/InitAllPasses.h"
#include "mlir/Tools/mlir-opt/MlirOptMain.h"

int main(int argc, char **argv) {
  mlir::DialectRegistry registry;
  mlir::registerAllDialects(registry);
  mlir::registerAllExtensions(registry);
  mlir::registerAllPasses();
  gcompile::registerGcompileDialects(registry);
  gcompile::registerGcompilePasses();
  gcompile::registerPipelines();
  return mlir::asMainReturnCode(mlir::MlirOptMain(
      argc, argv, "gcompile's modular optimizer driver\n", registry));
}
