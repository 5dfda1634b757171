//===- Random.cpp - counter-based random numbers --------------------------===//
// Philox-4x32-10. Block number b, keyed by the seed and with the op's stream in
// the upper half of the counter, gives the 64 bits of elements 2b and 2b + 1.
// Narrower types take the upper bits, so that a program computed in another
// precision draws the same numbers, rounded down.
#include "Axis.h"
#include "Elements.h"
#include "RoutineSupport.h"

#include <array>
#include <cmath>
#include <fmt/format.h>
#include <numbers>

namespace gcompile::cpu {
namespace {

constexpr int64_t kElementsPerChunk = 1 << 12;
/// Elements made at a time; even.
constexpr int64_t kBatch = 256;

using Block = std::array<uint64_t, 2>;

Block philox(uint64_t seed, uint64_t stream, uint64_t index) {
  uint32_t c[4] = {
      static_cast<uint32_t>(index), static_cast<uint32_t>(index >> 32),
      static_cast<uint32_t>(stream), static_cast<uint32_t>(stream >> 32)};
  uint32_t k0 = static_cast<uint32_t>(seed),
           k1 = static_cast<uint32_t>(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t p0 = uint64_t{0xD2511F53} * c[0];
    const uint64_t p1 = uint64_t{0xCD9E8D57} * c[2];
    const uint32_t next[4] = {
        static_cast<uint32_t>(p1 >> 32) ^ c[1] ^ k0, static_cast<uint32_t>(p1),
        static_cast<uint32_t>(p0 >> 32) ^ c[3] ^ k1, static_cast<uint32_t>(p0)};
    std::copy(next, next + 4, c);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {uint64_t{c[0]} << 32 | c[1], uint64_t{c[2]} << 32 | c[3]};
}

/// Bits of the significand of a type, the implicit one included.
int digitsOf(DType dtype) {
  switch (dtype) {
  case DType::BFloat16:
    return 8;
  case DType::Float16:
    return 11;
  case DType::Float32:
    return 24;
  default:
    return 53;
  }
}

/// What becomes of a block: two elements.
using Draw = std::array<double, 2> (*)(const Block &bits, int digits);

/// Numbers in [0, 1) that the type holds exactly.
std::array<double, 2> drawUniform(const Block &bits, int digits) {
  auto draw = [&](uint64_t word) {
    return std::ldexp(static_cast<double>(word >> (64 - digits)), -digits);
  };
  return {draw(bits[0]), draw(bits[1])};
}

/// Box and Muller: two normal numbers of two uniform ones.
std::array<double, 2> drawNormal(const Block &bits, int) {
  const std::array<double, 2> uniform = drawUniform(bits, 53);
  const double radius = std::sqrt(-2 * std::log1p(-uniform[0]));
  const double angle = 2 * std::numbers::pi * uniform[1];
  return {radius * std::cos(angle), radius * std::sin(angle)};
}

/// T is double, float or, for the distribution of bits, int64_t.
template <typename T>
class Random : public Routine {
public:
  Random(const plan::LibraryCall &call, Draw draw)
      : result(call.outputs[0]),
        stream(static_cast<uint64_t>(integerAttribute(call, "stream"))),
        digits(digitsOf(result.dtype)), draw(draw),
        elements(result.sizes, result.strides),
        storeRow(storeRowOf<T>(result.dtype)) {}

  void run(const RoutineContext &context) const override {
    const int64_t batches = (elements.size() + kBatch - 1) / kBatch;
    std::byte *target = addressOf(result, context.buffers);
    context.pool.parallelFor(batches, kElementsPerChunk / kBatch,
                             [&](int64_t begin, int64_t end, int) {
                               for (int64_t batch = begin; batch < end; ++batch)
                                 runBatch(context.seed, batch * kBatch, target);
                             });
  }

private:
  void runBatch(uint64_t seed, int64_t first, std::byte *target) const {
    T values[kBatch];
    const int64_t count = std::min(kBatch, elements.size() - first);
    for (int64_t i = 0; i < count; i += 2) {
      const Block bits =
          philox(seed, stream, static_cast<uint64_t>(first + i) / 2);
      if constexpr (std::is_integral_v<T>) {
        values[i] = static_cast<T>(bits[0] >> 1);
        values[i + 1] = static_cast<T>(bits[1] >> 1);
      } else {
        const std::array<double, 2> drawn = draw(bits, digits);
        values[i] = static_cast<T>(drawn[0]);
        values[i + 1] = static_cast<T>(drawn[1]);
      }
    }
    elements.forRuns(
        first, count,
        [&](int64_t done, int64_t offset, int64_t length, int64_t stride) {
          storeRow(values + done, length,
                   target + offset * byteWidth(result.dtype), stride);
        });
  }

  const plan::TensorRef result;
  const uint64_t stream;
  const int digits;
  const Draw draw;
  const Axis elements;
  const StoreRow<T> storeRow;
};

} // namespace

std::unique_ptr<Routine> bindRandom(const plan::LibraryCall &call) {
  expectOperands(call, 0, 0, 1, 1);
  const std::string distribution = stringAttribute(call, "distribution");
  const DType dtype = call.outputs[0].dtype;
  if (distribution == "bits" && dtype == DType::Int64)
    return std::make_unique<Random<int64_t>>(call, nullptr);
  const Draw draw = distribution == "uniform"  ? drawUniform
                    : distribution == "normal" ? drawNormal
                                               : nullptr;
  std::unique_ptr<Routine> routine;
  if (draw && isFloatingPoint(dtype))
    visitSumType(dtype, [&]<typename T>(T) {
      if constexpr (std::is_floating_point_v<T>)
        routine = std::make_unique<Random<T>>(call, draw);
    });
  if (!routine)
    throwError(ErrorCode::Unsupported,
               fmt::format("random '{}' of {} is not supported on the CPU",
                           distribution, name(dtype)));
  return routine;
}

} // namespace gcompile::cpu
