//===- PlanRunner.h - run a kernel program in a test ----------------------===//
#pragma once
#include "gcompile/base/Tensor.h"
#include "gcompile/plan/Plan.h"

#include <cstring>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace gcompile::test {

/// The plan of a program in MLIR text; none where it does not parse or cannot
/// be planned, and then `error` has the diagnostics.
std::optional<plan::Plan> planOf(const std::string &program,
                                 std::string *error = nullptr);

/// Runs the plan once with `inputs`. Poisons memory that nobody has written.
/// `weights` are updated where the plan mutates them.
std::vector<Tensor> run(const plan::Plan &plan,
                        const std::vector<Tensor> &inputs,
                        std::map<std::string, Tensor> *weights = nullptr);

template <typename T>
Tensor tensor(DType dtype, std::vector<int64_t> sizes,
              const std::vector<T> &values) {
  Tensor result = Tensor::empty(dtype, std::move(sizes));
  if (!values.empty())
    std::memcpy(result.mutableData(), values.data(), values.size() * sizeof(T));
  return result;
}

inline Tensor floats(std::vector<int64_t> sizes,
                     const std::vector<float> &values) {
  return tensor(DType::Float32, std::move(sizes), values);
}
inline Tensor integers(std::vector<int64_t> sizes,
                       const std::vector<int64_t> &values) {
  return tensor(DType::Int64, std::move(sizes), values);
}

/// Numbers in [-2, 2), the same for each seed.
std::vector<float> randomFloats(int64_t count, unsigned seed = 1);

template <typename T>
std::vector<T> valuesOf(const Tensor &tensor) {
  auto values = tensor.as<T>();
  return {values.begin(), values.end()};
}

} // namespace gcompile::test
