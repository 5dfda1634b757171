#include "GeneratedRoutine.h"

#include <array>
#include <cstdlib>
#include <fmt/format.h>

namespace gcompile::cuda {

void *KernelArgument::resolve(const RoutineContext &context) const {
  switch (base) {
  case Base::Buffer:
    return static_cast<std::byte *>(context.buffers[buffer]) + offset;
  case Base::Workspace:
    return context.workspace + offset;
  case Base::Seed:
    return const_cast<uint64_t *>(context.seed);
  }
  throwError(ErrorCode::Internal, "a kernel's argument has no base");
}

void GeneratedRoutine::enqueue(const RoutineContext &context) const {
  constexpr size_t maxArguments = 8;
  for (const KernelLaunch &step : all) {
    std::array<void *, maxArguments> pointers{}, addresses{};
    if (step.arguments.size() > maxArguments)
      throwError(ErrorCode::Internal, "a routine's kernel has many parameters");
    for (size_t i = 0; i < step.arguments.size(); ++i) {
      pointers[i] = step.arguments[i].resolve(context);
      addresses[i] = &pointers[i];
    }
    launch(step.kernel, step.grid, step.block, step.sharedBytes, context.stream,
           addresses.data());
  }
}

KernelHandle addKernel(const RoutineEnvironment &environment,
                       std::string_view purpose, std::string source) {
  uint64_t hash = 0xcbf29ce484222325; // FNV-1a
  for (char c : source)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3;
  const std::string symbol = fmt::format("{}_{:016x}", purpose, hash);
  constexpr std::string_view placeholder = "KERNEL";
  for (size_t at; (at = source.find(placeholder)) != std::string::npos;)
    source.replace(at, placeholder.size(), symbol);
  return environment.kernels.add(symbol, source);
}

Dim3 gridFor(int64_t work, int64_t perBlock) {
  const int64_t blocks = (work + perBlock - 1) / perBlock;
  if (blocks > INT32_MAX)
    throwError(
        ErrorCode::Unsupported,
        fmt::format("{} thread blocks are more than a grid has", blocks));
  return {static_cast<unsigned>(blocks), 1, 1};
}

std::string_view elementType(DType dtype) {
  switch (dtype) {
  case DType::Bool:
  case DType::UInt8:
    return "u8";
  case DType::Int8:
    return "i8";
  case DType::UInt16:
    return "u16";
  case DType::Int16:
    return "i16";
  case DType::UInt32:
    return "u32";
  case DType::Int32:
    return "i32";
  case DType::UInt64:
    return "u64";
  case DType::Int64:
    return "i64";
  case DType::Float16:
    return "f16";
  case DType::BFloat16:
    return "bf16";
  case DType::Float32:
    return "f32";
  case DType::Float64:
    return "f64";
  default:
    return {};
  }
}

std::string offsetFunction(std::string_view name,
                           const std::vector<StridedDim> &dims, size_t tensor) {
  int64_t reach = 0;
  for (const StridedDim &dim : dims)
    reach +=
        std::max<int64_t>(dim.size - 1, 0) * std::llabs(dim.strides[tensor]);
  const bool isWide = reach > INT32_MAX || numElements(dims) > INT32_MAX;
  std::string body;
  for (size_t d = dims.size(); d-- > 0;) {
    const int64_t stride = dims[d].strides[tensor];
    if (stride != 0)
      body +=
          fmt::format("  offset += Offset(i{}) * {};\n",
                      d > 0 ? fmt::format(" % {}", dims[d].size) : "", stride);
    if (d > 0)
      body += fmt::format("  i /= {};\n", dims[d].size);
  }
  return fmt::format("__device__ inline i64 {}(i64 index) {{\n"
                     "  using Offset = {};\n  {} i = index;\n"
                     "  Offset offset = 0;\n{}  return offset;\n}}\n",
                     name, isWide ? "i64" : "i32", isWide ? "u64" : "u32",
                     body);
}

std::vector<StridedDim> joinDims(const std::vector<StridedDim> &dims) {
  std::vector<StridedDim> joined;
  for (const StridedDim &dim : dims) {
    if (dim.size == 1)
      continue;
    bool isRun = !joined.empty();
    for (size_t t = 0; isRun && t < dim.strides.size(); ++t)
      isRun = joined.back().strides[t] == dim.size * dim.strides[t];
    if (isRun)
      joined.back() = {joined.back().size * dim.size, dim.strides};
    else
      joined.push_back(dim);
  }
  return joined;
}

namespace {

std::vector<StridedDim>
collectDims(const std::vector<const plan::TensorRef *> &views, size_t without) {
  std::vector<StridedDim> dims;
  for (size_t d = 0; d < views[0]->sizes.size(); ++d) {
    if (d == without)
      continue;
    StridedDim dim{views[0]->sizes[d], {}};
    for (const plan::TensorRef *view : views)
      dim.strides.push_back(view->strides[d]);
    dims.push_back(std::move(dim));
  }
  return joinDims(dims);
}

} // namespace

std::vector<StridedDim>
dimsOf(const std::vector<const plan::TensorRef *> &views) {
  return collectDims(views, SIZE_MAX);
}

std::vector<StridedDim>
lineDimsOf(const std::vector<const plan::TensorRef *> &views, size_t dim) {
  return collectDims(views, dim);
}

int64_t numElements(const std::vector<StridedDim> &dims) {
  int64_t count = 1;
  for (const StridedDim &dim : dims)
    count *= dim.size;
  return count;
}

} // namespace gcompile::cuda
