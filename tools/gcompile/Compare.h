//===- Compare.h - outputs against what was expected ----------------------===//
#pragma once
#include "gcompile/base/Tensor.h"

#include <map>
#include <optional>
#include <string>

namespace gcompile::tool {

struct Tolerance {
  std::optional<double> rtol, atol; ///< none: by the dtypes compared
};

/// How one tensor differs from the expected one.
struct Difference {
  std::string message; ///< empty: agrees
  double maxAbsolute = 0;
  double maxRelative = 0; ///< over elements expected to be non-zero
};

/// Compares elementwise, |actual - expected| <= atol + rtol * |expected|, NaN
/// equal to NaN and infinities by sign; integers and bools exactly. The
/// message names the worst element. Default tolerances: 1e-4 in float32 and
/// wider, 2e-2 where either tensor is half precision.
Difference compareTensors(const Tensor &actual, const Tensor &expected,
                          const Tolerance &tolerance);

/// Element `index` (row-major) as a double.
double elementAt(const Tensor &contiguous, int64_t index);

/// The same tensor with another dtype (PyTorch's casts, to a float dtype).
Tensor toFloat64(const Tensor &tensor);

} // namespace gcompile::tool
