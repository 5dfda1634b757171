//===- Sort.cpp - sort and top_k ------------------------------------------===//
// Elements of every type become 64-bit keys in the order that PyTorch sorts
// them in. Ties are decided by position, so that any sorting algorithm is
// stable.
#include "Elements.h"
#include "RoutineSupport.h"

#include <algorithm>
#include <bit>
#include <cstring>

namespace gcompile::cpu {
namespace {

constexpr int64_t kElementsPerChunk = 1 << 11;

/// Unsigned integers in the order of floating-point numbers: zeros are equal
/// and NaN is above all.
template <typename Bits, typename T>
uint64_t orderedBits(T value) {
  if (value != value)
    return UINT64_MAX;
  const Bits bits = std::bit_cast<Bits>(value + T(0)); // -0 becomes +0
  constexpr Bits sign = Bits(1) << (8 * sizeof(Bits) - 1);
  return bits & sign ? static_cast<Bits>(~bits) : bits | sign;
}

template <typename S>
uint64_t orderedKey(S value) {
  if constexpr (std::is_same_v<S, double>)
    return orderedBits<uint64_t>(value);
  else if constexpr (std::is_same_v<S, float> || isHalf<S>)
    return orderedBits<uint32_t>(static_cast<float>(value));
  else if constexpr (std::is_signed_v<S>)
    return static_cast<uint64_t>(static_cast<int64_t>(value)) ^
           (uint64_t{1} << 63);
  else
    return static_cast<uint64_t>(value);
}

struct Entry {
  uint64_t key;
  int64_t index;

  bool operator<(const Entry &other) const {
    return key != other.key ? key < other.key : index < other.index;
  }
};

/// Fills the entries of a line; with `flip` in descending order.
using LoadEntries = void (*)(const std::byte *line, int64_t stride,
                             int64_t length, uint64_t flip, Entry *entries);

template <typename S>
void loadEntries(const std::byte *line, int64_t stride, int64_t length,
                 uint64_t flip, Entry *entries) {
  auto *values = reinterpret_cast<const S *>(line);
  for (int64_t i = 0; i < length; ++i)
    entries[i] = {orderedKey(values[i * stride]) ^ flip, i};
}

/// The first `count` elements of each line in order; all of them in a sort.
class Sort : public Routine {
public:
  Sort(const plan::LibraryCall &call, int64_t count, bool descending)
      : input(call.inputs[0]), values(call.outputs[0]),
        indices(call.outputs[1]), inputLines(input, dimAttribute(call)),
        valueLines(values, dimAttribute(call)),
        indexLines(indices, dimAttribute(call)), count(count),
        flip(descending ? UINT64_MAX : 0) {
    visitElementType(orderedType(call), [&]<typename S>(S) {
      if constexpr (!isComplexType<S>)
        load = loadEntries<S>;
    });
    if (!load)
      failDType(call, input.dtype);
  }

  int64_t workspaceBytes(int numThreads) const override {
    return threadBytes() * numThreads;
  }

  void run(const RoutineContext &context) const override {
    context.pool.parallelFor(
        inputLines.count(),
        kElementsPerChunk / std::max<int64_t>(1, inputLines.length),
        [&](int64_t begin, int64_t end, int thread) {
          auto *entries = reinterpret_cast<Entry *>(context.workspace +
                                                    thread * threadBytes());
          for (int64_t line = begin; line < end; ++line)
            runLine(context, line, entries);
        });
  }

private:
  int64_t threadBytes() const {
    return alignToCacheLine(inputLines.length *
                            static_cast<int64_t>(sizeof(Entry)));
  }

  void runLine(const RoutineContext &context, int64_t line,
               Entry *entries) const {
    const int64_t width = byteWidth(input.dtype);
    const std::byte *from =
        addressOf(input, context.buffers) + inputLines.offset(line) * width;
    load(from, inputLines.stride, inputLines.length, flip, entries);
    if (count < inputLines.length)
      std::nth_element(entries, entries + count, entries + inputLines.length);
    std::sort(entries, entries + count);
    std::byte *to =
        addressOf(values, context.buffers) + valueLines.offset(line) * width;
    auto *positions =
        reinterpret_cast<int64_t *>(addressOf(indices, context.buffers)) +
        indexLines.offset(line);
    for (int64_t i = 0; i < count; ++i) {
      std::memcpy(to + i * valueLines.stride * width,
                  from + entries[i].index * inputLines.stride * width,
                  static_cast<size_t>(width));
      positions[i * indexLines.stride] = entries[i].index;
    }
  }

  const plan::TensorRef input, values, indices;
  const Lines inputLines, valueLines, indexLines;
  const int64_t count;
  const uint64_t flip;
  LoadEntries load = nullptr;
};

/// Checks operands of which the outputs have `count` elements in the dimension.
void checkOperands(const plan::LibraryCall &call, int64_t count) {
  const plan::TensorRef &input = call.inputs[0];
  std::vector<int64_t> expected = input.sizes;
  expected[dimAttribute(call)] = count;
  for (const plan::TensorRef &output : call.outputs)
    if (output.sizes != expected)
      failCall(call, "shapes do not agree");
  if (call.outputs[0].dtype != input.dtype ||
      call.outputs[1].dtype != DType::Int64)
    failCall(call, "types do not agree");
}

} // namespace

std::unique_ptr<Routine> bindSort(const plan::LibraryCall &call) {
  expectOperands(call, 1, 1, 2, 2);
  const int64_t length = call.inputs[0].sizes[dimAttribute(call)];
  checkOperands(call, length);
  return std::make_unique<Sort>(call, length,
                                boolAttribute(call, "descending"));
}

std::unique_ptr<Routine> bindTopK(const plan::LibraryCall &call) {
  expectOperands(call, 1, 1, 2, 2);
  const int64_t length = call.inputs[0].sizes[dimAttribute(call)];
  const int64_t count = integerAttribute(call, "k");
  if (count < 0 || count > length)
    failCall(call, "k is not in the dimension");
  checkOperands(call, count);
  return std::make_unique<Sort>(call, count, boolAttribute(call, "largest"));
}

} // namespace gcompile::cpu
