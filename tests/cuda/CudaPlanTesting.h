//===- CudaPlanTesting.h - models to plans of the GPU, in tests -----------===//
#pragma once
#include "Compiler.h"
#include "Inputs.h"

#include "gcompile/executor/Executable.h"
#include "gcompile/frontend/Readers.h"

#include <string>

namespace gcompile::testing {

inline std::vector<std::vector<int64_t>>
sizesOf(const std::vector<Tensor> &tensors) {
  std::vector<std::vector<int64_t>> sizes;
  for (const Tensor &tensor : tensors)
    sizes.push_back(tensor.sizes);
  return sizes;
}

/// The plan of `model` for inputs of the sizes of `inputs`; throws where there
/// is none. `reference`: in float64 and for the CPU.
inline plan::Plan planOf(const frontend::Model &model,
                         const std::vector<Tensor> &inputs, TargetDevice device,
                         bool reference = false) {
  tool::Progress progress;
  tool::CompileRequest request;
  request.model = &model;
  request.inputSizes = sizesOf(inputs);
  request.device = device;
  request.reference = reference;
  return tool::compileProgram(request, progress).valueOrThrow().plan;
}

inline WeightResolver resolverOf(const frontend::WeightStore &weights) {
  return [&weights](const std::string &name) -> Result<Tensor> {
    auto found = weights.tensors.find(name);
    if (found == weights.tensors.end())
      return Error{ErrorCode::InvalidArgument, "no weight " + name, {}, {}};
    return found->second;
  };
}

} // namespace gcompile::testing
