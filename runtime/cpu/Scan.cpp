//===- Scan.cpp - running sums, products, extremes ------------------------===//
#include "Elements.h"
#include "RoutineSupport.h"

#include <cmath>
#include <fmt/format.h>
#include <limits>

namespace gcompile::cpu {
namespace {

constexpr int64_t kElementsPerChunk = 1 << 12;

/// The lines of one call: elements of input, values and (or null) indices.
struct Line {
  const std::byte *input;
  std::byte *values;
  int64_t *indices;
  int64_t length, inputStride, valueStride, indexStride;
};

/// What a running value is kept in: wider than the elements where PyTorch's is.
template <typename S>
using Accumulator = std::conditional_t<
    isHalf<S>, float,
    std::conditional_t<
        std::is_floating_point_v<S>, double,
        std::conditional_t<isComplexType<S>, std::complex<double>, uint64_t>>>;

template <typename S>
Accumulator<S> widened(S value) {
  return static_cast<Accumulator<S>>(value);
}

/// Calls `visit(i, element, value)` for each element of a line, where `value`
/// is the place of the result.
template <typename S, typename Visit>
void forElements(const Line &line, Visit &&visit) {
  auto *input = reinterpret_cast<const S *>(line.input);
  auto *values = reinterpret_cast<S *>(line.values);
  for (int64_t i = 0; i < line.length; ++i)
    visit(i, input[i * line.inputStride], values[i * line.valueStride]);
}

template <typename S>
void runningSum(const Line &line) {
  Accumulator<S> sum = 0;
  forElements<S>(line, [&](int64_t, S element, S &value) {
    sum += widened(element);
    value = static_cast<S>(sum);
  });
}

template <typename S>
void runningProduct(const Line &line) {
  Accumulator<S> product = 1;
  forElements<S>(line, [&](int64_t, S element, S &value) {
    product *= widened(element);
    value = static_cast<S>(product);
  });
}

/// Later elements that equal the running value count as it; NaN stays.
template <typename S, bool isMax>
void runningExtreme(const Line &line) {
  S best{};
  int64_t bestIndex = 0;
  forElements<S>(line, [&](int64_t i, S element, S &value) {
    const bool isNan = element != element, bestIsNan = best != best;
    if (i == 0 || isNan ||
        (!bestIsNan && (isMax ? element >= best : element <= best))) {
      best = element;
      bestIndex = i;
    }
    value = best;
    if (line.indices)
      line.indices[i * line.indexStride] = bestIndex;
  });
}

template <typename S>
void runningLogSumExp(const Line &line) {
  double sum = -std::numeric_limits<double>::infinity();
  forElements<S>(line, [&](int64_t, S element, S &value) {
    const double x = static_cast<double>(element);
    const double larger = std::fmax(sum, x), smaller = std::fmin(sum, x);
    if (x != x || sum != sum)
      sum = std::numeric_limits<double>::quiet_NaN();
    else if (!std::isinf(larger)) // equal infinities have no difference
      sum = larger + std::log1p(std::exp(smaller - larger));
    else
      sum = larger;
    value = static_cast<S>(sum);
  });
}

using ScanLine = void (*)(const Line &line);

/// Null where the kind has no meaning for the elements.
template <typename S>
ScanLine scanFor(std::string_view kind) {
  if (kind == "sum")
    return runningSum<S>;
  if (kind == "prod")
    return runningProduct<S>;
  if constexpr (!isComplexType<S>) {
    if (kind == "max")
      return runningExtreme<S, true>;
    if (kind == "min")
      return runningExtreme<S, false>;
  }
  if constexpr (isHalf<S> || std::is_floating_point_v<S>)
    if (kind == "logsumexp")
      return runningLogSumExp<S>;
  return nullptr;
}

class Scan : public Routine {
public:
  Scan(const plan::LibraryCall &call, ScanLine scan)
      : input(call.inputs[0]), values(call.outputs[0]),
        inputLines(input, dimAttribute(call)),
        valueLines(values, dimAttribute(call)), scan(scan) {
    if (call.outputs.size() > 1) {
      indices = call.outputs[1];
      indexLines.emplace(*indices, dimAttribute(call));
    }
  }

  void run(const RoutineContext &context) const override {
    const int64_t width = byteWidth(input.dtype);
    auto runLine = [&](int64_t i) {
      Line line{
          addressOf(input, context.buffers) + inputLines.offset(i) * width,
          addressOf(values, context.buffers) + valueLines.offset(i) * width,
          nullptr,
          inputLines.length,
          inputLines.stride,
          valueLines.stride,
          0};
      if (indices) {
        line.indices =
            reinterpret_cast<int64_t *>(addressOf(*indices, context.buffers)) +
            indexLines->offset(i);
        line.indexStride = indexLines->stride;
      }
      scan(line);
    };
    context.pool.parallelFor(inputLines.count(),
                             kElementsPerChunk /
                                 std::max<int64_t>(1, inputLines.length),
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t i = begin; i < end; ++i)
                                 runLine(i);
                             });
  }

private:
  const plan::TensorRef input, values;
  std::optional<plan::TensorRef> indices;
  const Lines inputLines, valueLines;
  std::optional<Lines> indexLines;
  const ScanLine scan;
};

} // namespace

std::unique_ptr<Routine> bindScan(const plan::LibraryCall &call) {
  expectOperands(call, 1, 1, 1, 2);
  const std::string kind = stringAttribute(call, "kind");
  for (const plan::TensorRef &output : call.outputs)
    if (output.sizes != call.inputs[0].sizes)
      failCall(call, "shapes do not agree");
  const bool hasIndices = call.outputs.size() > 1;
  if (call.outputs[0].dtype != call.inputs[0].dtype ||
      (hasIndices && call.outputs[1].dtype != DType::Int64))
    failCall(call, "types do not agree");
  if (hasIndices && kind != "max" && kind != "min")
    failCall(call, fmt::format("'{}' has no indices", kind));
  ScanLine scan = nullptr;
  visitElementType(orderedType(call),
                   [&]<typename S>(S) { scan = scanFor<S>(kind); });
  const bool isArithmetic = kind != "max" && kind != "min";
  if (!scan || (call.inputs[0].dtype == DType::Bool && isArithmetic))
    throwError(ErrorCode::Unsupported,
               fmt::format("a running '{}' of {} is not supported on the CPU",
                           kind, name(call.inputs[0].dtype)));
  return std::make_unique<Scan>(call, scan);
}

} // namespace gcompile::cpu
