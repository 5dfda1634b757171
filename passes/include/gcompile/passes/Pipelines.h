//===- Pipelines.h - the order of passes ----------------------------------===//
#pragma once
#include "mlir/Pass/PassManager.h"

#include <cstdint>
#include <vector>

namespace gcompile {

struct PipelineOptions {
  /// Sizes of the tensor inputs, in order; may be empty where all are static.
  std::vector<std::vector<int64_t>> inputSizes;
  /// Evaluate in float64, each operation a kernel of its own.
  bool isReference = false;
};

/// aten program -> tensor program.
void buildLegalizePipeline(mlir::OpPassManager &manager,
                           const PipelineOptions &options);
/// tensor program -> kernel program.
void buildFusePipeline(mlir::OpPassManager &manager,
                       const PipelineOptions &options);

/// Makes both known to gcompile-opt, as -tg-legalize-pipeline and
/// -tg-fuse-pipeline.
void registerPipelines();

} // namespace gcompile
