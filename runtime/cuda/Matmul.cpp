//===- Matmul.cpp - batched matrix products -------------------------------===//
#include "GeneratedRoutine.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kTile = 64, kThreads = 256;
enum { Lhs, Rhs, Result };

/// The type that products are summed in: integers wrap, and the low bits of a
/// wider sum are those of a narrow one.
std::string_view sumType(DType dtype) {
  if (dtype == DType::Float64)
    return "f64";
  return isFloatingPoint(dtype) ? "f32" : "u64";
}

} // namespace

std::unique_ptr<Routine> bindMatmul(const plan::LibraryCall &call,
                                    const RoutineEnvironment &environment) {
  plan::expectOperands(call, 2, 2, 1, 1);
  const plan::TensorRef &lhs = call.inputs[0], &rhs = call.inputs[1];
  const plan::TensorRef &result = call.outputs[0];
  const size_t rank = result.sizes.size();
  if (rank < 2 || lhs.sizes.size() != rank || rhs.sizes.size() != rank)
    plan::failCall(call, "operands are not matrices of one batch");
  std::vector<int64_t> expectedLhs = result.sizes, expectedRhs = result.sizes;
  expectedLhs[rank - 1] = expectedRhs[rank - 2] = lhs.sizes[rank - 1];
  if (lhs.sizes != expectedLhs || rhs.sizes != expectedRhs)
    plan::failCall(call, "sizes do not match");
  const std::string_view in = elementType(lhs.dtype);
  const std::string_view out = elementType(result.dtype);
  if (lhs.dtype != rhs.dtype || in.empty() || lhs.dtype == DType::Bool ||
      (out != in && result.dtype != DType::Float32))
    failDType(call, lhs.dtype);

  std::vector<StridedDim> batch;
  for (size_t d = 0; d + 2 < rank; ++d)
    batch.push_back(
        {result.sizes[d], {lhs.strides[d], rhs.strides[d], result.strides[d]}});
  batch = joinDims(batch);
  const int64_t rows = result.sizes[rank - 2], columns = result.sizes[rank - 1];
  const int64_t tilesDown = (rows + kTile - 1) / kTile;
  const int64_t tilesAcross = (columns + kTile - 1) / kTile;
  const int64_t tiles = tilesDown * tilesAcross * numElements(batch);
  if (tiles == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});

  std::string source = fmt::format(
      "#include \"matmul.cuh\"\n"
      "using Shape = MatmulShape<{}, {}, {}, {}, {}, {}, {}, {}, {}>;\n",
      rows, columns, lhs.sizes[rank - 1], lhs.strides[rank - 2],
      lhs.strides[rank - 1], rhs.strides[rank - 2], rhs.strides[rank - 1],
      result.strides[rank - 2], result.strides[rank - 1]);
  source += offsetFunction("lhs_matrix", batch, Lhs) +
            offsetFunction("rhs_matrix", batch, Rhs) +
            offsetFunction("result_matrix", batch, Result);
  source += fmt::format(R"(
extern "C" __global__ void __launch_bounds__({0})
KERNEL(const {1} *lhs, const {1} *rhs, {2} *result) {{
  const i64 across = blockIdx.x % {3}, down = blockIdx.x / {3} % {4};
  const i64 batch = blockIdx.x / {5};
  matmul_tile<Shape, {6}>(lhs + lhs_matrix(batch), rhs + rhs_matrix(batch),
                          result + result_matrix(batch), down, across);
}}
)",
                        kThreads, in, out, tilesAcross, tilesDown,
                        tilesAcross * tilesDown, sumType(lhs.dtype));
  KernelLaunch launch{addKernel(environment, "matmul", source),
                      gridFor(tiles, 1),
                      {static_cast<unsigned>(kThreads), 1, 1}};
  launch.arguments = {KernelArgument::view(lhs), KernelArgument::view(rhs),
                      KernelArgument::view(result)};
  std::vector<KernelLaunch> launches;
  launches.push_back(std::move(launch));
  return std::make_unique<GeneratedRoutine>(std::move(launches));
}

} // namespace gcompile::cuda
