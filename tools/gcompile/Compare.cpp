#include "Compare.h"

#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::tool {
namespace {

float fromBFloat16(uint16_t bits) {
  return std::bit_cast<float>(static_cast<uint32_t>(bits) << 16);
}

float fromFloat16(uint16_t bits) {
  uint32_t sign = bits >> 15, exponent = (bits >> 10) & 31,
           mantissa = bits & 1023;
  float magnitude;
  if (exponent == 31)
    magnitude = mantissa ? NAN : INFINITY;
  else if (exponent == 0)
    magnitude = std::ldexp(static_cast<float>(mantissa), -24);
  else
    magnitude = std::ldexp(static_cast<float>(mantissa + 1024),
                           static_cast<int>(exponent) - 25);
  return sign ? -magnitude : magnitude;
}

template <typename T>
T load(const Tensor &tensor, int64_t index) {
  T value;
  std::memcpy(&value, tensor.data() + index * static_cast<int64_t>(sizeof(T)),
              sizeof(T));
  return value;
}

std::vector<int64_t> unravel(int64_t index, const std::vector<int64_t> &sizes) {
  std::vector<int64_t> position(sizes.size());
  for (size_t d = sizes.size(); d-- > 0;) {
    position[d] = index % sizes[d];
    index /= sizes[d];
  }
  return position;
}

bool isHalf(DType dtype) {
  return isFloatingPoint(dtype) && byteWidth(dtype) <= 2;
}

} // namespace

double elementAt(const Tensor &tensor, int64_t index) {
  switch (tensor.dtype) {
  case DType::Bool:
  case DType::UInt8:
    return load<uint8_t>(tensor, index);
  case DType::Int8:
    return load<int8_t>(tensor, index);
  case DType::UInt16:
    return load<uint16_t>(tensor, index);
  case DType::Int16:
    return load<int16_t>(tensor, index);
  case DType::UInt32:
    return load<uint32_t>(tensor, index);
  case DType::Int32:
    return load<int32_t>(tensor, index);
  case DType::UInt64:
    return static_cast<double>(load<uint64_t>(tensor, index));
  case DType::Int64:
    return static_cast<double>(load<int64_t>(tensor, index));
  case DType::Float16:
    return fromFloat16(load<uint16_t>(tensor, index));
  case DType::BFloat16:
    return fromBFloat16(load<uint16_t>(tensor, index));
  case DType::Float32:
    return load<float>(tensor, index);
  case DType::Float64:
    return load<double>(tensor, index);
  default:
    throwError(ErrorCode::Unsupported,
               fmt::format("cannot compare tensors of {}", name(tensor.dtype)));
  }
}

Tensor toFloat64(const Tensor &tensor) {
  Tensor source = tensor.contiguous();
  Tensor wide = Tensor::empty(DType::Float64, tensor.sizes);
  auto *target = reinterpret_cast<double *>(wide.mutableData());
  for (int64_t i = 0, n = source.numElements(); i < n; ++i)
    target[i] = elementAt(source, i);
  return wide;
}

Difference compareTensors(const Tensor &actual, const Tensor &expected,
                          const Tolerance &tolerance) {
  Difference difference;
  // Files often hold a scalar as one element in one dimension.
  auto isScalar = [](const Tensor &t) {
    return t.sizes.empty() || t.sizes == std::vector<int64_t>{1};
  };
  if (actual.sizes != expected.sizes &&
      !(isScalar(actual) && isScalar(expected))) {
    difference.message = fmt::format("has shape [{}], expected [{}]",
                                     fmt::join(actual.sizes, ", "),
                                     fmt::join(expected.sizes, ", "));
    return difference;
  }
  bool isFloat =
      isFloatingPoint(actual.dtype) && isFloatingPoint(expected.dtype);
  if (!isFloat && actual.dtype != expected.dtype) {
    difference.message = fmt::format("has dtype {}, expected {}",
                                     name(actual.dtype), name(expected.dtype));
    return difference;
  }
  double fallback = !isFloat                                         ? 0
                    : isHalf(actual.dtype) || isHalf(expected.dtype) ? 2e-2
                                                                     : 1e-4;
  double rtol = isFloat ? tolerance.rtol.value_or(fallback) : 0;
  double atol = isFloat ? tolerance.atol.value_or(fallback) : 0;

  Tensor a = actual.contiguous(), b = expected.contiguous();
  int64_t worst = -1, numWrong = 0;
  double worstExcess = 0;
  int64_t count = a.numElements();
  for (int64_t i = 0; i < count; ++i) {
    double got = elementAt(a, i), want = elementAt(b, i);
    if (std::isnan(got) && std::isnan(want))
      continue;
    if (got == want)
      continue;
    double error = std::abs(got - want);
    if (std::isfinite(error)) {
      difference.maxAbsolute = std::max(difference.maxAbsolute, error);
      if (want != 0)
        difference.maxRelative =
            std::max(difference.maxRelative, error / std::abs(want));
    }
    double allowed = atol + rtol * std::abs(want);
    // A NaN or an infinity on one side fails whatever the tolerance.
    double excess = std::isfinite(error) && std::isfinite(allowed)
                        ? error - allowed
                        : INFINITY;
    if (excess <= 0)
      continue;
    ++numWrong;
    if (worst < 0 || excess > worstExcess) {
      worst = i;
      worstExcess = excess;
    }
  }
  if (worst >= 0)
    difference.message = fmt::format(
        "{} of {} elements differ; the worst is at [{}]: {:.9g}, expected "
        "{:.9g} (rtol {:g}, atol {:g})",
        numWrong, count, fmt::join(unravel(worst, a.sizes), ", "),
        elementAt(a, worst), elementAt(b, worst), rtol, atol);
  return difference;
}

} // namespace gcompile::tool
