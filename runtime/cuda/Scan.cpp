//===- Scan.cpp - running sums, products, extremes ------------------------===//
// Three ways, after the shape: a thread for each line, where neighbouring lines
// are neighbours in memory or there are very many; a block for each line; and,
// for few long lines, blocks that reduce pieces of a line first, so that each
// piece then knows what came before it.
#include "GeneratedRoutine.h"

#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 256;
/// Neighbours that a thread scans by itself.
constexpr int64_t kItems = 8;
constexpr int64_t kTile = kThreads * kItems;
/// Bytes of the largest running value.
constexpr int64_t kStateBytes = 16;
enum { Input, Values, Indices };

std::string scanElement(DType dtype) {
  if (dtype == DType::Complex64)
    return "Complex<f32>";
  if (dtype == DType::Complex128)
    return "Complex<f64>";
  return std::string(elementType(dtype));
}

/// The type of scan.cuh; empty where the kind has no meaning for the elements.
std::string runningType(std::string_view kind, DType dtype) {
  const std::string element = scanElement(dtype);
  const bool isArithmetic = kind == "sum" || kind == "prod";
  if (element.empty() || (isArithmetic && dtype == DType::Bool) ||
      (!isArithmetic && isComplex(dtype)))
    return {};
  if (kind == "sum")
    return fmt::format("RunningSum<{}>", element);
  if (kind == "prod")
    return fmt::format("RunningProduct<{}>", element);
  if (kind == "max" || kind == "min")
    return fmt::format("RunningExtreme<{}, {}>", element, kind == "max");
  if (kind == "logsumexp" && isFloatingPoint(dtype))
    return fmt::format("RunningLogSumExp<{}>", element);
  return {};
}

struct ScanShape {
  std::vector<StridedDim> lines;
  int64_t numLines, length;
  std::vector<int64_t> strides; ///< along the lines
  bool hasIndices;
};

ScanShape shapeOf(const plan::LibraryCall &call) {
  const size_t dim = plan::dimAttribute(call);
  std::vector<const plan::TensorRef *> views = {&call.inputs[0]};
  for (const plan::TensorRef &output : call.outputs)
    views.push_back(&output);
  ScanShape shape;
  shape.lines = lineDimsOf(views, dim);
  shape.numLines = numElements(shape.lines);
  shape.length = call.inputs[0].sizes[dim];
  for (const plan::TensorRef *view : views)
    shape.strides.push_back(view->strides[dim]);
  shape.hasIndices = call.outputs.size() > 1;
  return shape;
}

/// What all kernels begin with: types, sizes, and `Line`, which knows where the
/// elements of a line are.
std::string prologue(const ScanShape &shape, const std::string &element,
                     const std::string &running) {
  std::string text = fmt::format(
      "#include \"scan.cuh\"\nusing Element = {};\nusing Running = {};\n"
      "using State = Running::State;\n"
      "constexpr i64 kLines = {}, kLength = {};\n"
      "constexpr i64 kInputStride = {}, kValueStride = {};\n",
      element, running, shape.numLines, shape.length, shape.strides[Input],
      shape.strides[Values]);
  text += offsetFunction("input_line", shape.lines, Input) +
          offsetFunction("value_line", shape.lines, Values);
  if (shape.hasIndices)
    text += fmt::format("constexpr i64 kIndexStride = {};\n",
                        shape.strides[Indices]) +
            offsetFunction("index_line", shape.lines, Indices);
  return text;
}

/// Parameters of a kernel that writes results, and the start of its body, after
/// which `line` has been read.
std::string parameters(const ScanShape &shape) {
  return shape.hasIndices
             ? "const Element *input, Element *values, i64 *indices"
             : "const Element *input, Element *values";
}
std::string enterLine(const ScanShape &shape) {
  return std::string("  input += input_line(line);\n"
                     "  values += value_line(line);\n") +
         (shape.hasIndices ? "  indices += index_line(line);\n" : "");
}
/// Stores `state` as the result at position `i`.
std::string storeAt(const ScanShape &shape) {
  return std::string("Running::store(state, values[i * kValueStride]);") +
         (shape.hasIndices ? " indices[i * kIndexStride] = state.position;"
                           : "");
}

std::string threadKernel(const ScanShape &shape) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__({0}) KERNEL({1}) {{
  const i64 line = i64(blockIdx.x) * {0} + threadIdx.x;
  if (line >= kLines)
    return;
{2}  State state = Running::none();
#pragma unroll 4
  for (i64 i = 0; i < kLength; ++i) {{
    state = Running::join(state, Running::first(input[i * kInputStride], i));
    {3}
  }}
}}
)",
                     kThreads, parameters(shape), enterLine(shape),
                     storeAt(shape));
}

/// Scans `pieceLength` elements of a line in tiles, beginning with `carry`.
std::string blockLoop(const ScanShape &shape) {
  return fmt::format(R"(  __shared__ State shared[{0} / 32];
  for (i64 tile = begin; tile < end; tile += {0} * {1}) {{
    const i64 first = tile + threadIdx.x * {1};
    Element element[{1}];
#pragma unroll
    for (int j = 0; j < {1}; ++j)
      if (first + j < end)
        element[j] = input[(first + j) * kInputStride];
    State state = Running::none();
#pragma unroll
    for (int j = 0; j < {1}; ++j)
      if (first + j < end)
        state = Running::join(state, Running::first(element[j], first + j));
    state = scan_block<Running, {0}>(state, carry, shared);
#pragma unroll
    for (int j = 0; j < {1}; ++j)
      if (first + j < end) {{
        const i64 i = first + j;
        state = Running::join(state, Running::first(element[j], i));
        {2}
      }}
  }}
)",
                     kThreads, kItems, storeAt(shape));
}

std::string blockKernel(const ScanShape &shape) {
  return fmt::format(R"(
extern "C" __global__ void __launch_bounds__({0}) KERNEL({1}) {{
  const i64 line = blockIdx.x;
{2}  const i64 begin = 0, end = kLength;
  State carry = Running::none();
{3}}}
)",
                     kThreads, parameters(shape), enterLine(shape),
                     blockLoop(shape));
}

/// The running value of each piece of a line by itself.
std::string reduceKernel(int64_t numPieces, int64_t pieceLength) {
  return fmt::format(R"(
constexpr i64 kPieces = {0}, kPieceLength = {1};
extern "C" __global__ void __launch_bounds__({2}) KERNEL(const Element *input, State *pieces) {{
  const i64 piece = blockIdx.x % kPieces, line = blockIdx.x / kPieces;
  input += input_line(line);
  __shared__ State shared[{2} / 32];
  const i64 begin = piece * kPieceLength;
  const i64 end = begin + kPieceLength < kLength ? begin + kPieceLength : kLength;
  State carry = Running::none();
  for (i64 tile = begin; tile < end; tile += {2} * {3}) {{
    const i64 first = tile + threadIdx.x * {3};
    State state = Running::none();
#pragma unroll
    for (int j = 0; j < {3}; ++j)
      if (first + j < end)
        state = Running::join(state, Running::first(input[(first + j) * kInputStride], first + j));
    scan_block<Running, {2}>(state, carry, shared);
  }}
  if (threadIdx.x == 0)
    pieces[blockIdx.x] = carry;
}}
)",
                     numPieces, pieceLength, kThreads, kItems);
}

/// Each piece of a line, after what the pieces before it come to.
std::string pieceKernel(const ScanShape &shape, int64_t numPieces,
                        int64_t pieceLength) {
  return fmt::format(R"(
constexpr i64 kPieces = {0}, kPieceLength = {1};
extern "C" __global__ void __launch_bounds__({2}) KERNEL({3}, const State *pieces) {{
  const i64 piece = blockIdx.x % kPieces, line = blockIdx.x / kPieces;
{4}  const i64 begin = piece * kPieceLength;
  const i64 end = begin + kPieceLength < kLength ? begin + kPieceLength : kLength;
  State carry = Running::none();
  for (i64 i = 0; i < piece; ++i)
    carry = Running::join(carry, pieces[line * kPieces + i]);
{5}}}
)",
                     numPieces, pieceLength, kThreads, parameters(shape),
                     enterLine(shape), blockLoop(shape));
}

/// Whether threads of neighbouring lines do as well as a block of one line.
bool isThreadPerLine(const ScanShape &shape) {
  if (shape.length <= 32)
    return true;
  const bool isAcross = !shape.lines.empty() &&
                        shape.lines.back().strides[Input] == 1 &&
                        shape.lines.back().strides[Values] == 1;
  return isAcross && (shape.numLines >= 1024 || shape.length <= 1024);
}

} // namespace

std::unique_ptr<Routine> bindScan(const plan::LibraryCall &call,
                                  const RoutineEnvironment &environment) {
  plan::expectOperands(call, 1, 1, 1, 2);
  const std::string kind = plan::stringAttribute(call, "kind");
  for (const plan::TensorRef &output : call.outputs)
    if (output.sizes != call.inputs[0].sizes)
      failCall(call, "shapes do not agree");
  const bool hasIndices = call.outputs.size() > 1;
  if (call.outputs[0].dtype != call.inputs[0].dtype ||
      (hasIndices && call.outputs[1].dtype != DType::Int64))
    failCall(call, "types do not agree");
  if (hasIndices && kind != "max" && kind != "min")
    failCall(call, fmt::format("'{}' has no indices", kind));
  const ScanShape shape = shapeOf(call);
  const DType dtype = plan::orderedType(call);
  const std::string running = runningType(kind, dtype);
  if (running.empty())
    throwError(ErrorCode::Unsupported,
               fmt::format("a running '{}' of {} is not supported on CUDA",
                           kind, name(call.inputs[0].dtype)));
  if (shape.numLines == 0 || shape.length == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});

  const std::string start = prologue(shape, scanElement(dtype), running);
  std::vector<KernelArgument> arguments = {
      KernelArgument::view(call.inputs[0])};
  for (const plan::TensorRef &output : call.outputs)
    arguments.push_back(KernelArgument::view(output));
  auto launchOf = [&](const std::string &body, Dim3 grid,
                      std::vector<KernelArgument> all) {
    return KernelLaunch{addKernel(environment, "scan", start + body),
                        grid,
                        {kThreads},
                        0,
                        std::move(all)};
  };
  if (isThreadPerLine(shape))
    return std::make_unique<GeneratedRoutine>(std::vector{launchOf(
        threadKernel(shape), gridFor(shape.numLines, kThreads), arguments)});
  // Pieces of whole tiles, at most 128 a line, if lines alone fill no device.
  const int64_t wanted =
      2 * environment.device.numMultiprocessors / shape.numLines;
  const int64_t tiles = (shape.length + kTile - 1) / kTile;
  const int64_t pieces = std::min<int64_t>({wanted, tiles, 128});
  if (pieces < 2)
    return std::make_unique<GeneratedRoutine>(std::vector{
        launchOf(blockKernel(shape), gridFor(shape.numLines, 1), arguments)});
  const int64_t pieceLength = (tiles + pieces - 1) / pieces * kTile;
  const int64_t numPieces = (shape.length + pieceLength - 1) / pieceLength;
  const Dim3 grid = gridFor(shape.numLines * numPieces, 1);
  std::vector<KernelLaunch> launches = {
      launchOf(reduceKernel(numPieces, pieceLength), grid,
               {arguments[0], KernelArgument::workspace(0)})};
  arguments.push_back(KernelArgument::workspace(0));
  launches.push_back(
      launchOf(pieceKernel(shape, numPieces, pieceLength), grid, arguments));
  return std::make_unique<GeneratedRoutine>(
      std::move(launches), shape.numLines * numPieces * kStateBytes);
}

} // namespace gcompile::cuda
