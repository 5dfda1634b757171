//===- Pipelines.cpp - the order of passes, and why -----------------------===//
#include "gcompile/passes/Pipelines.h"
#include "gcompile/passes/Passes.h"

#include "mlir/Pass/PassRegistry.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;

namespace gcompile {

void buildLegalizePipeline(OpPassManager &manager,
                           const PipelineOptions &options) {
  // Everything else needs static shapes.
  SpecializePassOptions specialize;
  std::vector<std::string> sizes;
  for (const auto &shape : options.inputSizes)
    sizes.push_back(llvm::join(
        llvm::map_range(shape, [](int64_t n) { return std::to_string(n); }),
        "x"));
  specialize.sizes = sizes;
  manager.addPass(createSpecializePass(specialize));
  // Before any rewrite: until writes are gone, the order of calls matters.
  manager.addPass(createFunctionalizePass());
  // The reference is the program as exported: nothing is folded into weights.
  if (!options.isReference)
    manager.addNestedPass<func::FuncOp>(createFoldBatchNormPass());
  manager.addPass(createDecomposePass());
  manager.addPass(createLegalizePass());
  if (options.isReference)
    manager.addPass(createWidenFloatsPass());
  // Equal subexpressions are common: masks, positions, transposed weights.
  manager.addPass(createCSEPass());
  manager.addPass(createCanonicalizerPass());
}

void buildFusePipeline(OpPassManager &manager, const PipelineOptions &options) {
  manager.addNestedPass<func::FuncOp>(createFoldViewsPass());
  if (!options.isReference) {
    // Joined weights are weight-only work, so this comes before the split.
    manager.addPass(createMergeMatmulsPass());
    manager.addNestedPass<func::FuncOp>(createFoldViewsPass());
    manager.addPass(createCSEPass());
  }
  manager.addPass(createSplitPreparePass());
  manager.addNestedPass<func::FuncOp>(createMaterializeViewsPass());
  FusePassOptions fuse;
  if (options.isReference)
    fuse.strategy = "none";
  manager.addNestedPass<func::FuncOp>(createFusePass(fuse));
  manager.addNestedPass<func::FuncOp>(createVerifyKernelsPass());
}

void registerPipelines() {
  PassPipelineRegistration<>(
      "tg-legalize-pipeline", "aten program to tensor program",
      [](OpPassManager &manager) { buildLegalizePipeline(manager, {}); });
  PassPipelineRegistration<>(
      "tg-fuse-pipeline", "tensor program to kernel program",
      [](OpPassManager &manager) { buildFusePipeline(manager, {}); });
}

} // namespace gcompile
