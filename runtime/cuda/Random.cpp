//===- Random.cpp - counter-based random numbers --------------------------===//
// A thread makes the two elements of one Philox block. Uniform numbers and bits
// are those of the CPU; normal ones are as near as the math functions are.
#include "GeneratedRoutine.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 256;

/// Statements that draw `value.v[0]` and `value.v[1]` of `bits`; empty where
/// the distribution has no such elements.
std::string drawStatements(std::string_view distribution, DType dtype) {
  if (distribution == "bits" && dtype == DType::Int64)
    return "  value.v[0] = i64(bits.word[0] >> 1);\n"
           "  value.v[1] = i64(bits.word[1] >> 1);\n";
  const int digits = dtype == DType::BFloat16  ? 8
                     : dtype == DType::Float16 ? 11
                     : dtype == DType::Float32 ? 24
                     : dtype == DType::Float64 ? 53
                                               : 0;
  if (digits == 0)
    return {};
  if (distribution == "normal")
    return "  const Vec<f64, 2> drawn = normal_pair(bits);\n"
           "  narrow(drawn.v[0], value.v[0]);\n"
           "  narrow(drawn.v[1], value.v[1]);\n";
  if (distribution != "uniform")
    return {};
  const std::string draw = digits == 53
                               ? "uniform_double"
                               : fmt::format("uniform_float<{}>", digits);
  return fmt::format("  narrow({0}(bits.word[0]), value.v[0]);\n"
                     "  narrow({0}(bits.word[1]), value.v[1]);\n",
                     draw);
}

} // namespace

std::unique_ptr<Routine> bindRandom(const plan::LibraryCall &call,
                                    const RoutineEnvironment &environment) {
  plan::expectOperands(call, 0, 0, 1, 1);
  const std::string distribution = plan::stringAttribute(call, "distribution");
  const int64_t stream = plan::integerAttribute(call, "stream");
  const plan::TensorRef &result = call.outputs[0];
  const std::string draw = drawStatements(distribution, result.dtype);
  if (draw.empty())
    throwError(ErrorCode::Unsupported,
               fmt::format("random '{}' of {} is not supported on CUDA",
                           distribution, name(result.dtype)));
  const std::vector<StridedDim> dims = dimsOf({&result});
  const int64_t count = numElements(dims);
  if (count == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});
  const bool isPaired =
      dims.size() == 1 && dims[0].strides[0] == 1 && result.offset % 2 == 0;
  const std::string store =
      isPaired ? "  if (2 * pair + 1 < kCount)\n"
                 "    store_vec<2>(to + 2 * pair, value);\n"
                 "  else\n"
                 "    to[2 * pair] = value.v[0];\n"
               : "  to[offset_of(2 * pair)] = value.v[0];\n"
                 "  if (2 * pair + 1 < kCount)\n"
                 "    to[offset_of(2 * pair + 1)] = value.v[1];\n";
  const std::string source = fmt::format(
      R"(#include "philox.cuh"
// random {0}, {1} elements of {2}
constexpr i64 kCount = {1};
{3}
extern "C" __global__ void __launch_bounds__({4}) KERNEL({2} *to, const u64 *seed) {{
  const i64 pair = i64(blockIdx.x) * {4} + threadIdx.x;
  if (2 * pair >= kCount)
    return;
  const RandomBits bits = philox(*seed, {5}ull, pair);
  Vec<{2}, 2> value;
{6}{7}}}
)",
      distribution, count, elementType(result.dtype),
      offsetFunction("offset_of", dims, 0), kThreads,
      static_cast<uint64_t>(stream), draw, store);
  return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{
      {addKernel(environment, "random", source),
       gridFor((count + 1) / 2, kThreads),
       {kThreads},
       0,
       {KernelArgument::view(result), KernelArgument::seed()}}});
}

} // namespace gcompile::cuda
