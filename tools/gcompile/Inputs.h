//===- Inputs.h - the tensors that a run is given -------------------------===//
#pragma once
#include "Options.h"

#include "gcompile/base/Tensor.h"
#include "gcompile/frontend/Program.h"

#include <map>
#include <string>
#include <vector>

namespace gcompile::tool {

/// One user input that is a tensor.
struct UserInput {
  std::string placeholder; ///< value name in the graph
  std::string userName;    ///< the user's name for it, or the placeholder's
  DType dtype = DType::Float32;
  std::vector<frontend::SymInt> sizes;
};

/// The tensor inputs of the program, in order.
std::vector<UserInput> userInputs(const frontend::Program &program);

struct Inputs {
  std::vector<Tensor> tensors; ///< one a user input, in order
  std::string source;          ///< for the user: "inputs.safetensors", "random"
};

/// From --inputs, else the example inputs of the export, else random numbers of
/// the recorded shapes (a symbolic size takes its hint, or the smallest size
/// its range allows, 2 at least). Checks dtypes and static sizes.
Inputs loadInputs(const Options &options, const frontend::Model &model);

/// Normal numbers (floats), small non-negative integers, random bools. Equal
/// arguments give equal tensors.
Tensor randomTensor(DType dtype, const std::vector<int64_t> &sizes,
                    uint64_t seed, const std::string &name);

/// Random weights for every parameter, buffer and constant of the program, of
/// the recorded shapes: weights scaled by their fan-in, norm-like vectors
/// near 1.
frontend::WeightStore randomWeights(const frontend::Program &program,
                                    uint64_t seed);

} // namespace gcompile::tool
