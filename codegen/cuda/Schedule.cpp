//===- Schedule.cpp - how a loop nest is spread over a GPU ----------------===//
#include "Schedule.h"
#include "gcompile/ir/IndexMaps.h"

#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;

namespace gcompile::cuda {

using loops::Access;
using loops::LoopPart;
using loops::product;

int64_t widthOf(Value tensor) {
  Type type = cast<RankedTensorType>(tensor.getType()).getElementType();
  return type.isIndex() ? 8
                        : llvm::divideCeil(type.getIntOrFloatBitWidth(), 8u);
}

std::string toString(const Schedule &schedule) {
  auto count = [](int64_t number, StringRef what) {
    return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s")
        .str();
  };
  std::string text;
  switch (schedule.shape) {
  case Schedule::Shape::Pointwise:
    return "pointwise, " + count(schedule.vector, "element") + " a thread";
  case Schedule::Shape::Rows:
    text = "rows, " + count(schedule.vector, "element") + " at once";
    break;
  case Schedule::Shape::Columns:
    text = "columns, " + count(schedule.iterations, "column") + " a block";
    break;
  }
  text += ", " + count(schedule.threads, "thread") + " a reduction";
  if (schedule.splits > 1)
    text += ", in " + count(schedule.splits, "block");
  if (schedule.keeps)
    text += ", kept in registers";
  return text;
}

namespace {

constexpr int64_t kMultiprocessors = 132; // of an H100 or H200
constexpr int64_t kVectorBytes = 16;      // the widest access of a thread
/// Threads in flight that keep the memory busy.
constexpr int64_t kManyThreads = kMultiprocessors * 1024;
constexpr int64_t kShortReduction = 16; // elements one thread had better do
constexpr int64_t kKeptElements = 64;   // registers to spend on them

/// Loops, and computed indices after them, that an expression may use.
unsigned numDims(AffineExpr expr, unsigned atLeast) {
  expr.walk([&](AffineExpr inner) {
    if (auto dim = dyn_cast<AffineDimExpr>(inner))
      atLeast = std::max(atLeast, dim.getPosition() + 1);
  });
  return atLeast;
}

/// Width of the tensor of an access, in bytes.
int64_t accessWidth(const LoopPart &part, const Access &access, bool isLoad) {
  return widthOf(isLoad ? part.kernel.inputs[access.tensor]
                        : part.kernel.outputs[access.tensor]);
}

/// Neighbours along `lane` that a thread can handle at once: stores of `phase`
/// must allow it, and something be gained.
int64_t chooseVector(const LoopPart &part, unsigned lane, bool innerOnly) {
  ArrayRef<int64_t> sizes = part.nest.sizes;
  for (int64_t vector = 16; vector > 1; vector /= 2) {
    if (sizes[lane] % vector != 0)
      continue;
    int64_t narrowest = 0, widest = 0;
    bool isPossible = true;
    auto visit = [&](const Access &access, bool isLoad) {
      if ((innerOnly && access.phase % 2 != 0) || access.inBranch)
        return;
      if (!isVectorAccess(access.position, lane, vector, sizes)) {
        isPossible &= isLoad;
        return;
      }
      int64_t width = accessWidth(part, access, isLoad);
      narrowest = narrowest == 0 ? width : std::min(narrowest, width);
      widest = std::max(widest, width);
    };
    for (const Access &load : part.facts.loads)
      visit(load, true);
    for (const Access &store : part.facts.stores)
      visit(store, false);
    if (isPossible && narrowest > 0 && narrowest * vector <= kVectorBytes &&
        widest * vector <= 2 * kVectorBytes)
      return vector;
  }
  return 1;
}

bool canMergeAll(const LoopPart &part) {
  return llvm::all_of(part.nest.roots, [](const loops::LoopNest::Root &root) {
    auto generic = dyn_cast<linalg::GenericOp>(root.op);
    return !generic || generic.getNumReductionLoops() == 0 ||
           loops::canMerge(generic);
  });
}

/// More accesses of the reduction loops run along the last of them than along
/// the last parallel loop.
bool runsAlongReduction(const LoopPart &part) {
  unsigned numLoops = part.nest.sizes.size();
  int64_t alongLanes = 0, alongReduction = 0;
  for (const auto *accesses : {&part.facts.loads, &part.facts.stores})
    for (const Access &access : *accesses) {
      if (access.phase % 2 != 0)
        continue;
      auto runsAlong = [&](unsigned lane) {
        auto form =
            getStridedForm(access.position, numDims(access.position, numLoops));
        return form && form->strides[lane] == 1;
      };
      alongReduction += runsAlong(numLoops - 1);
      alongLanes +=
          part.nest.numParallel > 0 && runsAlong(part.nest.numParallel - 1);
    }
  return alongReduction >= alongLanes;
}

int64_t powerOfTwo(int64_t atLeast) { return llvm::PowerOf2Ceil(atLeast); }

void chooseSplits(const LoopPart &part, int64_t iterations,
                  Schedule &schedule) {
  int64_t blocks = llvm::divideCeil(iterations, schedule.iterations);
  int64_t steps = llvm::divideCeil(product(part.nest.reduction()),
                                   schedule.threads * schedule.vector);
  // A block should have some rounds of its own.
  if (part.nest.numPhases() != 2 || blocks >= kMultiprocessors || steps < 16)
    return;
  schedule.splits = std::min(llvm::divideCeil(4 * kMultiprocessors, blocks),
                             llvm::divideCeil(steps, 8));
}

} // namespace

bool isVectorAccess(AffineExpr position, unsigned lane, int64_t vector,
                    ArrayRef<int64_t> loopSizes) {
  // Computed indices are known only inside the loop over the neighbours.
  unsigned count = loopSizes.size();
  if (numDims(position, count) > count)
    return false;
  SmallVector<int64_t> sizes(loopSizes);
  sizes[lane] /= vector;
  sizes.push_back(vector);
  MLIRContext *context = position.getContext();
  AffineExpr within = getAffineDimExpr(count, context);
  SmallVector<AffineExpr> dims;
  for (unsigned i = 0; i < count; ++i)
    dims.push_back(getAffineDimExpr(i, context));
  dims[lane] = dims[lane] * vector + within;
  AffineExpr first =
      simplifyInRange(position.replaceDims(dims) - within, sizes);
  return !first.isFunctionOfDim(count) &&
         first.getLargestKnownDivisor() % vector == 0;
}

Schedule chooseSchedule(const LoopPart &part) {
  Schedule schedule;
  int64_t iterations = product(part.nest.parallel());
  int64_t points = product(part.nest.reduction());
  unsigned numLoops = part.nest.sizes.size();
  bool isScatter = isa<tg::ScatterOp>(part.nest.roots.front().op);
  if (isScatter || part.nest.reduction().empty()) {
    if (!isScatter && part.nest.numParallel > 0)
      schedule.vector =
          chooseVector(part, part.nest.numParallel - 1, /*innerOnly=*/false);
    // Small tensors: more threads, rather than wide ones.
    while (schedule.vector > 2 &&
           iterations / schedule.vector < kManyThreads / 4)
      schedule.vector /= 2;
    int64_t groups =
        (isScatter ? product(part.nest.sizes) : iterations) / schedule.vector;
    schedule.iterations = groups < kManyThreads ? 128 : 256;
    return schedule;
  }
  bool isMergeable = canMergeAll(part);
  if (!isMergeable || points <= kShortReduction) {
    schedule.shape = Schedule::Shape::Columns;
    schedule.iterations = iterations < kManyThreads ? 64 : 256;
    return schedule;
  }
  int64_t kept = part.facts.kept.size();
  if (runsAlongReduction(part)) {
    schedule.shape = Schedule::Shape::Rows;
    schedule.vector = chooseVector(part, numLoops - 1, /*innerOnly=*/true);
    int64_t vectors = llvm::divideCeil(points, schedule.vector);
    // About two vectors a thread, more where warps suffice to fill the GPU.
    int64_t threads = powerOfTwo(llvm::divideCeil(vectors, 2));
    if (iterations * 32 >= kManyThreads && vectors <= 32 * 4)
      threads = std::min<int64_t>(threads, 32);
    schedule.threads = std::min<int64_t>(threads, vectors > 4096 ? 1024 : 512);
    if (schedule.threads < 32)
      schedule.threads = std::min<int64_t>(powerOfTwo(vectors), 32);
    // Threads of a block meet at its barriers: they share one iteration.
    schedule.iterations = schedule.threads > 32 ? 1 : 128 / schedule.threads;
    int64_t perThread =
        llvm::divideCeil(vectors, schedule.threads) * schedule.vector;
    schedule.keeps = kept > 0 && kept * perThread <= kKeptElements;
  } else {
    schedule.shape = Schedule::Shape::Columns;
    schedule.iterations = 32;
    schedule.threads =
        std::clamp<int64_t>(powerOfTwo(llvm::divideCeil(points, 8)), 2, 16);
    int64_t perThread = llvm::divideCeil(points, schedule.threads);
    schedule.keeps = kept > 0 && kept * perThread <= kKeptElements;
  }
  chooseSplits(part, iterations, schedule);
  return schedule;
}

} // namespace gcompile::cuda
