//===- TopK.cpp - the k first elements of lines ---------------------------===//
// In a long line a block finds the key of the k-th element by counting digits
// of keys, the highest first; then it takes what comes before that key, and as
// many equal ones as are still wanted, and sorts those.
#include "Sorting.h"

#include <algorithm>
#include <bit>
#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 1024;

std::string selectKernel(const SortCall &sort, int64_t items) {
  return fmt::format(R"(
constexpr int kItems = {0}, kThreads = {1};

/// The key of element kCount - 1 in order; `wanted` of its equals are taken.
__device__ inline Key select_key(const Element *input, int &wanted) {{
  __shared__ int counts[256];
  __shared__ int chosenDigit, chosenWanted;
  Key known = 0; // the digits that are known of it
  wanted = kCount;
  for (int shift = Order<Element>::bits - 8; shift >= 0; shift -= 8) {{
    for (int i = threadIdx.x; i < 256; i += kThreads)
      counts[i] = 0;
    __syncthreads();
    for (i64 i = threadIdx.x; i < kLength; i += kThreads) {{
      const Key key = sorting_key<kDescending>(input[i * kInputStride]);
      // Two shifts: one by all bits would be none.
      if (((key ^ known) >> shift) >> 8 == 0)
        atomicAdd(&counts[(key >> shift) & 255], 1);
    }}
    __syncthreads();
    if (threadIdx.x == 0) {{
      int digit = 0, rest = wanted;
      for (; rest > counts[digit]; ++digit)
        rest -= counts[digit];
      chosenDigit = digit;
      chosenWanted = rest;
    }}
    __syncthreads();
    known |= Key(chosenDigit) << shift;
    wanted = chosenWanted;
  }}
  return known;
}}

extern "C" __global__ void __launch_bounds__({1}) KERNEL(const Element *input, Element *values, i64 *positions) {{
  __shared__ Key keys[kItems];
  __shared__ u32 indices[kItems];
  __shared__ int numBefore, equalOfWarp[kThreads / 32];
  const i64 line = blockIdx.x;
  input += input_line(line);
  int wanted;
  const Key last = select_key(input, wanted);
  for (int i = threadIdx.x; i < kItems; i += kThreads) {{
    keys[i] = ~Key(0);
    indices[i] = kNoIndex;
  }}
  if (threadIdx.x == 0)
    numBefore = 0;
  __syncthreads();
  const int warp = threadIdx.x / 32;
  int numEqual = 0; // so far
  for (i64 tile = 0; tile < kLength; tile += kThreads) {{
    const i64 i = tile + threadIdx.x;
    const Key key = i < kLength ? sorting_key<kDescending>(input[i * kInputStride]) : 0;
    const bool isEqual = i < kLength && key == last;
    if (i < kLength && key < last) {{
      const int at = atomicAdd(&numBefore, 1);
      keys[at] = key;
      indices[at] = u32(i);
    }}
    // Equal ones are taken in the order of their positions.
    if (numEqual >= wanted)
      continue;
    const u32 ballot = __ballot_sync(0xffffffff, isEqual);
    if (threadIdx.x % 32 == 0)
      equalOfWarp[warp] = __popc(ballot);
    __syncthreads();
    int rank = numEqual + __popc(ballot & ((1u << threadIdx.x % 32) - 1));
    for (int w = 0; w < kThreads / 32; ++w) {{
      rank += w < warp ? equalOfWarp[w] : 0;
      numEqual += equalOfWarp[w];
    }}
    if (isEqual && rank < wanted) {{
      keys[kCount - wanted + rank] = key;
      indices[kCount - wanted + rank] = u32(i);
    }}
    __syncthreads();
  }}
  __syncthreads();
  sort_shared<kItems, kThreads>(keys, indices);
{2}}}
)",
                     items, kThreads, storeSorted(sort, kThreads));
}

} // namespace

std::unique_ptr<Routine> bindTopK(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment) {
  plan::expectOperands(call, 1, 1, 2, 2);
  const int64_t length = call.inputs[0].sizes[plan::dimAttribute(call)];
  const int64_t count = plan::integerAttribute(call, "k");
  if (count < 0 || count > length)
    failCall(call, "k is not in the dimension");
  const SortCall sort =
      readSortCall(call, count, plan::boolAttribute(call, "largest"));
  // Few elements are as well sorted as selected from.
  if (sort.numLines == 0 || count == 0 || length <= 1024 ||
      count > sort.maxShared())
    return sortLines(sort, environment);
  const auto items = static_cast<int64_t>(
      std::bit_ceil(static_cast<uint64_t>(std::max<int64_t>(count, 2))));
  return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{
      {addKernel(environment, "top_k",
                 sortPrologue(sort) + selectKernel(sort, items)),
       gridFor(sort.numLines, 1),
       {kThreads},
       0,
       {KernelArgument::view(call.inputs[0]),
        KernelArgument::view(call.outputs[0]),
        KernelArgument::view(call.outputs[1])}}});
}

} // namespace gcompile::cuda
