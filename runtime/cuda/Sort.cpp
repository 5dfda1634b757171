//===- Sort.cpp - stable sort of lines ------------------------------------===//
// Lines that fit are sorted in shared memory, a block for each. Longer ones are
// sorted in pieces, and pairs of sorted runs are merged until one is left: each
// element finds its place by a search in the other run.
#include "Sorting.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace gcompile::cuda {

SortCall readSortCall(const plan::LibraryCall &call, int64_t count,
                      bool descending) {
  const plan::TensorRef &input = call.inputs[0];
  const plan::TensorRef &values = call.outputs[0], &indices = call.outputs[1];
  const size_t dim = plan::dimAttribute(call);
  std::vector<int64_t> expected = input.sizes;
  expected[dim] = count;
  if (values.sizes != expected || indices.sizes != expected)
    failCall(call, "shapes do not agree");
  if (values.dtype != input.dtype || indices.dtype != DType::Int64)
    failCall(call, "types do not agree");
  SortCall sort{call, plan::orderedType(call), {}, 0, 0, count, {}, descending};
  if (elementType(sort.dtype).empty())
    failDType(call, input.dtype);
  sort.lines = lineDimsOf({&input, &values, &indices}, dim);
  sort.numLines = numElements(sort.lines);
  sort.length = input.sizes[dim];
  sort.strides = {input.strides[dim], values.strides[dim],
                  indices.strides[dim]};
  if (sort.length > INT32_MAX)
    throwError(ErrorCode::Unsupported,
               fmt::format("'{}' of lines of {} elements is not supported on "
                           "CUDA",
                           call.op, sort.length));
  return sort;
}

std::string sortPrologue(const SortCall &sort) {
  return fmt::format("#include \"order.cuh\"\nusing Element = {};\n"
                     "using Key = Order<Element>::Key;\n"
                     "using Item = SortItem<Key>;\n"
                     "constexpr i64 kLines = {}, kLength = {}, kCount = {};\n"
                     "constexpr i64 kInputStride = {}, kValueStride = {}, "
                     "kIndexStride = {};\n"
                     "constexpr bool kDescending = {};\n",
                     elementType(sort.dtype), sort.numLines, sort.length,
                     sort.count, sort.strides[0], sort.strides[1],
                     sort.strides[2], sort.descending) +
         offsetFunction("input_line", sort.lines, 0) +
         offsetFunction("value_line", sort.lines, 1) +
         offsetFunction("index_line", sort.lines, 2);
}

std::string storeSorted(const SortCall &sort, int64_t threads) {
  return fmt::format(R"(  values += value_line(line);
  positions += index_line(line);
  for (int i = threadIdx.x; i < kCount; i += {}) {{
    values[i * kValueStride] = input[indices[i] * kInputStride];
    positions[i * kIndexStride] = indices[i];
  }}
)",
                     threads);
}

int64_t sortThreads(int64_t items) {
  return std::clamp<int64_t>(items / 2, 32, 512);
}

namespace {

/// Source that sorts the elements from `begin` on, as many as there are of
/// `items`, in shared memory.
std::string sortPiece(int64_t items) {
  return fmt::format(R"(  __shared__ Key keys[{0}];
  __shared__ u32 indices[{0}];
  for (int i = threadIdx.x; i < {0}; i += {1}) {{
    const bool isInside = begin + i < kLength;
    keys[i] = isInside ? sorting_key<kDescending>(input[(begin + i) * kInputStride]) : ~Key(0);
    indices[i] = isInside ? u32(begin + i) : kNoIndex;
  }}
  __syncthreads();
  sort_shared<{0}, {1}>(keys, indices);
)",
                     items, sortThreads(items));
}

std::string sharedKernel(const SortCall &sort, int64_t items) {
  const int64_t threads = sortThreads(items);
  return fmt::format(
      "extern \"C\" __global__ void __launch_bounds__({}) KERNEL(const Element "
      "*input, Element *values, i64 *positions) {{\n"
      "  const i64 line = blockIdx.x, begin = 0;\n"
      "  input += input_line(line);\n{}{}}}\n",
      threads, sortPiece(items), storeSorted(sort, threads));
}

std::string pieceKernel(int64_t items, int64_t numPieces) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__({0}) KERNEL(const Element *input, Item *items) {{
  const i64 line = blockIdx.x / {1}, begin = blockIdx.x % {1} * {2};
  input += input_line(line);
{3}  for (int i = threadIdx.x; i < {2} && begin + i < kLength; i += {0})
    items[line * kLength + begin + i] = {{keys[i], indices[i]}};
}}
)",
                     sortThreads(items), numPieces, items, sortPiece(items));
}

constexpr int64_t kThreads = 256;

/// Merges pairs of runs of `run` items.
std::string mergeKernel(int64_t run) {
  return fmt::format(R"(
constexpr i64 kRun = {0};
extern "C" __global__ void __launch_bounds__({1}) KERNEL(const Item *from, Item *to) {{
  const i64 index = i64(blockIdx.x) * {1} + threadIdx.x;
  if (index >= kLines * kLength)
    return;
  const i64 i = index % kLength, line = index - i;
  const i64 run = i / kRun * kRun, other = run ^ kRun;
  const i64 rest = kLength - other;
  const i64 count = rest < 0 ? 0 : rest < kRun ? rest : kRun;
  const Item item = from[index];
  const i64 rank = rank_in(from + line + other, count, item);
  to[line + (run < other ? run : other) + (i - run) + rank] = item;
}}
)",
                     run, kThreads);
}

std::string storeKernel() {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__({0}) KERNEL(const Item *items, const Element *input, Element *values, i64 *positions) {{
  const i64 index = i64(blockIdx.x) * {0} + threadIdx.x;
  if (index >= kLines * kCount)
    return;
  const i64 i = index % kCount, line = index / kCount;
  const u32 position = items[line * kLength + i].index;
  values[value_line(line) + i * kValueStride] = input[input_line(line) + position * kInputStride];
  positions[index_line(line) + i * kIndexStride] = position;
}}
)",
                     kThreads);
}

} // namespace

std::unique_ptr<Routine> sortLines(const SortCall &sort,
                                   const RoutineEnvironment &environment) {
  if (sort.numLines == 0 || sort.count == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});
  const auto input = KernelArgument::view(sort.call.inputs[0]),
             values = KernelArgument::view(sort.call.outputs[0]),
             positions = KernelArgument::view(sort.call.outputs[1]);
  std::vector<KernelLaunch> launches;
  auto add = [&](const std::string &body, Dim3 grid, int64_t threads,
                 std::vector<KernelArgument> arguments) {
    launches.push_back(
        {addKernel(environment, sort.call.op, sortPrologue(sort) + body),
         grid,
         {static_cast<unsigned>(threads)},
         0,
         std::move(arguments)});
  };
  const int64_t items = std::min(
      sort.maxShared(),
      static_cast<int64_t>(std::bit_ceil(static_cast<uint64_t>(sort.length))));
  if (sort.length <= items) {
    add(sharedKernel(sort, items), gridFor(sort.numLines, 1),
        sortThreads(items), {input, values, positions});
    return std::make_unique<GeneratedRoutine>(std::move(launches));
  }
  // Runs go back and forth between two halves of the workspace.
  const int64_t numItems = sort.numLines * sort.length;
  const int64_t half = (numItems * 2 * sort.keyBytes() + 255) / 256 * 256;
  KernelArgument from = KernelArgument::workspace(0),
                 to = KernelArgument::workspace(half);
  const int64_t numPieces = (sort.length + items - 1) / items;
  add(pieceKernel(items, numPieces), gridFor(sort.numLines * numPieces, 1),
      sortThreads(items), {input, from});
  for (int64_t run = items; run < sort.length; run *= 2) {
    add(mergeKernel(run), gridFor(numItems, kThreads), kThreads, {from, to});
    std::swap(from, to);
  }
  add(storeKernel(), gridFor(sort.numLines * sort.count, kThreads), kThreads,
      {from, input, values, positions});
  return std::make_unique<GeneratedRoutine>(std::move(launches), 2 * half);
}

std::unique_ptr<Routine> bindSort(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment) {
  plan::expectOperands(call, 1, 1, 2, 2);
  const int64_t length = call.inputs[0].sizes[plan::dimAttribute(call)];
  return sortLines(
      readSortCall(call, length, plan::boolAttribute(call, "descending")),
      environment);
}

} // namespace gcompile::cuda
