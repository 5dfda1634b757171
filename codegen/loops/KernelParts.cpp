//===- KernelParts.cpp - what a tg.kernel consists of
//-------------------------===//
#include "KernelParts.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/AsmState.h"

using namespace mlir;

namespace gcompile::loops {

//===----------------------------------------------------------------------===//
// LoopPart
//===----------------------------------------------------------------------===//

bool LoopPart::isEmpty() const {
  return llvm::is_contained(nest.parallel(), 0);
}

int64_t LoopPart::elementsRead(unsigned input) const {
  int64_t elements = 0;
  for (const Access &access : facts.loads) {
    if (access.tensor != input)
      continue;
    int64_t touched = 1;
    bool isComputed = false;
    for (unsigned dim = 0; dim < nest.sizes.size(); ++dim)
      if (access.position.isFunctionOfDim(dim))
        touched *= nest.sizes[dim];
    access.position.walk([&](AffineExpr expr) {
      auto dim = dyn_cast<AffineDimExpr>(expr);
      isComputed |= dim && dim.getPosition() >= nest.sizes.size();
    });
    elements = std::max(elements, isComputed ? product(nest.sizes) : touched);
  }
  int64_t all =
      cast<RankedTensorType>(kernel.inputs[input].getType()).getNumElements();
  return std::min(elements, all);
}

int64_t LoopPart::operations() const {
  int64_t total = 0;
  for (auto [phase, count] : llvm::enumerate(facts.operations))
    total += count * product(phase % 2 == 0 ? ArrayRef<int64_t>(nest.sizes)
                                            : nest.parallel());
  return total;
}

bool LoopPart::canRunInPlace(unsigned input, unsigned output) const {
  const Access *store = nullptr;
  for (const Access &access : facts.stores)
    if (access.tensor == output)
      store = &access;
  return store && llvm::all_of(facts.loads, [&](const Access &load) {
           return load.tensor != input || (load.position == store->position &&
                                           load.phase <= store->phase);
         });
}

std::optional<std::pair<StridedForm, StridedForm>> LoopPart::asCopy() const {
  if (operations() != 0)
    return std::nullopt;
  return asMove();
}

/// How the parallel loops walk an only input and an only output.
std::optional<std::pair<StridedForm, StridedForm>> LoopPart::asMove() const {
  if (facts.loads.size() != 1 || facts.stores.size() != 1 ||
      facts.loads[0].inBranch || !nest.reduction().empty() ||
      isa<tg::ScatterOp>(nest.roots.front().op))
    return std::nullopt;
  auto source = getStridedForm(facts.loads[0].position, nest.sizes.size());
  auto target = getStridedForm(facts.stores[0].position, nest.sizes.size());
  if (!source || !target)
    return std::nullopt;
  return std::pair(*source, *target);
}

/// True where one cast from float32 to half precision is all that is computed.
static bool onlyNarrows(const LoopKernel &kernel) {
  arith::TruncFOp cast;
  int64_t numOperations = 0;
  for (Operation *op : kernel.ops)
    for (Operation &inner : op->getRegion(0).front().without_terminator()) {
      ++numOperations;
      cast = dyn_cast<arith::TruncFOp>(inner);
    }
  return numOperations == 1 && cast && cast.getIn().getType().isF32();
}

std::optional<StridedForm> LoopPart::asLayout() const {
  if (operations() != 0 && !onlyNarrows(kernel))
    return std::nullopt;
  auto copy = asMove();
  if (!copy)
    return std::nullopt;
  ArrayRef<int64_t> shape =
      cast<RankedTensorType>(kernel.inputs.front().getType()).getShape();
  if (!denseDigits(facts.loads[0].position, nest.sizes, nest.sizes.size(),
                   product(shape)))
    return std::nullopt;
  auto &[source, target] = *copy;
  StridedForm layout;
  layout.offset = target.offset;
  layout.strides.assign(shape.size(), 0);
  int64_t stride = 1; // of the dimension, in the input
  for (size_t dim = shape.size(); dim-- > 0; stride *= shape[dim]) {
    if (shape[dim] == 1)
      continue;
    // The loop that runs along it, alone or with its neighbours.
    auto loops = llvm::seq<size_t>(0, nest.sizes.size());
    auto loop = llvm::find_if(loops, [&](size_t i) {
      return source.strides[i] <= stride && stride % source.strides[i] == 0 &&
             stride * shape[dim] <= source.strides[i] * nest.sizes[i];
    });
    if (loop == loops.end())
      return std::nullopt;
    layout.strides[dim] =
        target.strides[*loop] * (stride / source.strides[*loop]);
  }
  return layout;
}

//===----------------------------------------------------------------------===//
// Analysis
//===----------------------------------------------------------------------===//

/// The region as text, without locations and the kernel's name: equal for equal
/// computations.
static std::string regionText(tg::KernelOp kernel) {
  std::string text;
  llvm::raw_string_ostream stream(text);
  AsmState state(kernel, OpPrintingFlags().useLocalScope());
  for (BlockArgument argument : kernel.getBody().getArguments())
    stream << argument.getType() << ", ";
  for (Operation &op : kernel.getBody().front())
    op.print(stream, state);
  return text;
}

/// Finds the loops of `part.kernel`, and drops inputs that they do not read.
static LogicalResult analyzePart(LoopPart &part, const KeepPolicy &policy) {
  FailureOr<LoopNest> nest = buildLoopNest(part.kernel, policy, part.facts);
  if (failed(nest))
    return failure();
  part.nest = std::move(*nest);
  SmallVector<int> newNumber(part.kernel.inputs.size(), -1);
  SmallVector<Value> inputs;
  SmallVector<KernelTensor> tensors;
  for (Access &load : part.facts.loads) {
    int &number = newNumber[load.tensor];
    if (number < 0) {
      number = static_cast<int>(inputs.size());
      inputs.push_back(part.kernel.inputs[load.tensor]);
      tensors.push_back(part.inputs[load.tensor]);
    }
    load.tensor = number;
  }
  part.kernel.inputs = std::move(inputs);
  part.inputs = std::move(tensors);
  return success();
}

FailureOr<const KernelParts *> KernelAnalysis::analyze(tg::KernelOp kernel) {
  auto [it, isNew] = partsByText.try_emplace(regionText(kernel));
  KernelParts &parts = it->second;
  if (!isNew)
    return &parts;
  Block &block = kernel.getBody().front();
  parts.anchor = kernel.getAnchor();

  SmallVector<Value> operands(block.getArguments());
  SmallVector<KernelTensor> tensors;
  for (unsigned i = 0; i < operands.size(); ++i)
    tensors.push_back({false, i});
  if (auto scatter = dyn_cast_or_null<tg::ScatterOp>(parts.anchor)) {
    parts.scatter = std::make_unique<LoopPart>();
    parts.scatter->kernel = {{scatter}, operands, {scatter.getResult()}};
    parts.scatter->inputs = tensors;
    if (failed(analyzePart(*parts.scatter, policy)))
      return failure();
  }
  if (parts.anchor)
    for (OpResult result : parts.anchor->getResults()) {
      operands.push_back(result);
      tensors.push_back({true, result.getResultNumber()});
    }

  auto loops = std::make_unique<LoopPart>();
  for (Operation &op : block)
    if (isa<linalg::GenericOp>(op))
      loops->kernel.ops.push_back(&op);
  for (auto [i, value] :
       llvm::enumerate(block.getTerminator()->getOperands())) {
    if (!value.getDefiningOp<linalg::GenericOp>())
      continue;
    loops->kernel.outputs.push_back(value);
    loops->outputs.push_back(i);
  }
  if (!loops->kernel.outputs.empty()) {
    loops->kernel.inputs = operands;
    loops->inputs = tensors;
    if (failed(analyzePart(*loops, policy)))
      return failure();
    parts.loops = std::move(loops);
  }
  return &parts;
}

} // namespace gcompile::loops
