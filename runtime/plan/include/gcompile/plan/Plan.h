//===- Plan.h - what the runtime executes ---------------------------------===//
// Plain data, no MLIR: buffers, kernels and steps. Codegen writes it, the
// runtime runs it, the checker checks it. Sizes are bytes where the name says
// so.
#pragma once
#include "gcompile/base/DType.h"
#include "gcompile/base/Error.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gcompile::plan {

/// Where the bytes of a buffer are.
enum class BufferKind {
  Input,    ///< the caller's; read only
  Output,   ///< the caller's; written by a step or copied at the end
  Weight,   ///< parameter, buffer or constant of the model, by name; read only
  State,    ///< as Weight, but updated by the run and kept between runs
  Constant, ///< bytes in the plan
  Prepared, ///< computed once from weights by the `prepare` entry
  Arena,    ///< intermediate: at `arenaOffset` of the run's one allocation
};

/// Storage for one dense, row-major tensor.
struct Buffer {
  std::string name;
  BufferKind kind = BufferKind::Arena;
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes;
  int64_t numBytes = 0;
  /// Input: position among the user inputs. Output: among the outputs.
  int64_t index = -1;
  /// Weight and State: fully qualified name in the weight store.
  std::string weight;
  /// Arena and Prepared: byte position in the entry's arena, or in the area of
  /// prepared weights.
  int64_t offset = -1;
  /// Constant: the bytes.
  std::vector<uint8_t> data;
  /// Arena: [begin, end) in steps of its entry, first write to last use.
  int64_t liveBegin = 0, liveEnd = 0;
};

/// A strided view of a buffer, for operands of library calls. Counts elements.
struct TensorRef {
  int64_t buffer = -1;
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes, strides;
  int64_t offset = 0;
};

/// Source of one compiled function. Identical kernels of a program share one.
struct Kernel {
  std::string symbol;
  std::string language; ///< "llvm" (LLVM IR text) or "cuda"
  std::string source;
};

/// A generated kernel run over [0, extent) of its flattened parallel loops.
/// CPU ABI: void symbol(void *const *buffers, int64_t begin, int64_t end,
/// void *scratch); `buffers` are the first bytes of the buffers in `arguments`.
/// CUDA ABI: extern "C" __global__ void symbol(T0 *a0, T1 *a1, …), one pointer
/// for each buffer in `arguments`, and nothing else.
struct Launch {
  int64_t kernel = -1;
  std::vector<int64_t> arguments; ///< buffers: inputs, then outputs
  int64_t extent = 1;
  /// Work of one parallel iteration in elements, to size chunks of threads.
  int64_t elementsPerIteration = 1;
  /// Thread-private scratch the kernel needs.
  int64_t scratchBytes = 0;
  /// CUDA: thread blocks in x, y and z (none are run where one is 0), threads
  /// of a block (in x), and its dynamic shared memory.
  std::array<int64_t, 3> grid{1, 1, 1};
  int64_t blockThreads = 0;
  int64_t sharedBytes = 0;
};

/// A call of a library routine: "matmul", "convolution", "attention", "sort",
/// "top_k", "scan", "random", "copy". `attributes` are those of the tg op.
struct LibraryCall {
  std::string op;
  nlohmann::json attributes;
  std::vector<TensorRef> inputs;
  std::vector<TensorRef> outputs;
};

/// One step: a library call, then a generated kernel, either of which may be
/// missing; or control flow.
struct Step {
  std::string name;               ///< after the user's nodes
  std::vector<std::string> nodes; ///< nodes of the exported graph it computes
  std::string reason;             ///< why these are one step
  std::optional<LibraryCall> library;
  std::optional<Launch> launch;
  /// Control flow: "cond" runs branches[0] where the predicate buffer holds
  /// true, else branches[1]. "while" runs branches[0] (which sets the
  /// predicate) and, while it holds true, branches[1], then again.
  std::string control;
  int64_t predicate = -1;
  std::vector<std::vector<Step>> branches;
  /// Floor: bytes that must move and operations that must be done.
  int64_t floorBytes = 0, floorFlops = 0;
};

/// A list of steps with one arena.
struct Entry {
  std::vector<Step> steps;
  int64_t arenaBytes = 0;
  int64_t arenaLowerBound = 0; ///< largest sum of live bytes over the steps
};

/// How a value of the exported signature is bound.
struct InputBinding {
  std::string name;    ///< the user's name for it
  int64_t buffer = -1; ///< -1: the program does not read it
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes;
};

struct OutputBinding {
  std::string name;    ///< "0", "1", …, "loss", "grad.NAME"
  int64_t buffer = -1; ///< copied from this buffer where it is not Output
  DType dtype = DType::Float32;
  std::vector<int64_t> sizes;
  std::vector<int64_t> strides; ///< as the export recorded; elements
};

/// State that takes a new value at the end of a run: `source` is copied into
/// `target`, unless a step has updated `target` in place (source == target).
struct Mutation {
  int64_t source = -1;
  int64_t target =
      -1; ///< a State buffer, or an Input that the caller lets be written
};

struct Plan {
  static constexpr int kVersion = 1;
  std::string target; ///< "cpu" or "cuda"
  std::string modelName;
  std::vector<Buffer> buffers;
  std::vector<Kernel> kernels;
  Entry forward;
  Entry prepare;
  int64_t preparedBytes = 0;
  std::vector<InputBinding> inputs;
  std::vector<OutputBinding> outputs;
  std::vector<Mutation> mutations;
};

/// The plan as JSON, kernel sources included; stable: same plan, same text.
nlohmann::json toJson(const Plan &plan);

/// The plan that toJson wrote; an error that names the field where the JSON is
/// not one, and whatever checkPlan finds.
Result<Plan> fromJson(const nlohmann::json &json);

/// An error if an index, a size, an offset or a strided view of the plan lies
/// outside what it refers to. A plan that passes can be run without touching
/// memory outside its buffers, as far as library calls and copies go; what
/// kernels access is up to them.
Status checkPlan(const Plan &plan);

std::string_view name(BufferKind kind);

/// Number of steps of an entry, those in branches included.
int64_t countSteps(const std::vector<Step> &steps);

} // namespace gcompile::plan
