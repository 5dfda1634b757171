//===- PlanSteps.cpp - kernels and control flow as steps ------------------===//
#include "PlanBuilder.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/ir/NodeNames.h"

#include "mlir/IR/Matchers.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace gcompile {

using plan::BufferKind;

static nlohmann::json toJson(Attribute attr) {
  if (auto flag = dyn_cast<BoolAttr>(attr))
    return flag.getValue();
  if (auto integer = dyn_cast<IntegerAttr>(attr))
    return integer.getInt();
  if (auto number = dyn_cast<FloatAttr>(attr))
    return number.getValueAsDouble();
  if (auto text = dyn_cast<StringAttr>(attr))
    return text.str();
  if (auto list = dyn_cast<DenseI64ArrayAttr>(attr))
    return std::vector<int64_t>(list.asArrayRef());
  if (auto kind = dyn_cast<tg::ReduceKindAttr>(attr))
    return tg::stringifyReduceKind(kind.getValue()).str();
  return nullptr;
}

/// Floating-point operations that a structured op must do.
static int64_t flopsOf(Operation *anchor) {
  if (auto matmul = dyn_cast<tg::MatmulOp>(anchor))
    return 2 * tensorType(matmul.getResult()).getNumElements() *
           tensorType(matmul.getLhs()).getShape().back();
  if (auto conv = dyn_cast<tg::ConvolutionOp>(anchor)) {
    // Each element of the weight meets each position of the output once (of the
    // input, if transposed).
    Value positions = conv.getTransposed() ? conv.getInput() : conv.getResult();
    ArrayRef<int64_t> shape = tensorType(positions).getShape();
    int64_t count = shape[0];
    for (int64_t size : shape.drop_front(2))
      count *= size;
    return 2 * tensorType(conv.getWeight()).getNumElements() * count;
  }
  if (auto attention = dyn_cast<tg::AttentionOp>(anchor)) {
    ArrayRef<int64_t> query = tensorType(attention.getQuery()).getShape();
    ArrayRef<int64_t> value = tensorType(attention.getValue()).getShape();
    int64_t scores = value[value.size() - 2];
    for (int64_t size : query.drop_back())
      scores *= size;
    return 2 * scores * (query.back() + value.back());
  }
  return 0;
}

plan::TensorRef PlanBuilder::wholeOf(int64_t index) const {
  const plan::Buffer &buffer = plan.buffers[index];
  return {index, buffer.dtype, buffer.sizes, contiguousStrides(buffer.sizes),
          0};
}

/// A tensor that holds one known scalar: a view of a buffer of one element.
FailureOr<plan::TensorRef> PlanBuilder::splatOf(tg::KernelOp kernel,
                                                Attribute scalar,
                                                RankedTensorType type) {
  auto one = RankedTensorType::get({}, type.getElementType());
  FailureOr<int64_t> index = addConstant(DenseElementsAttr::get(one, scalar),
                                         kernel.getLoc(), "constant");
  if (failed(index))
    return failure();
  return plan::TensorRef{*index, plan.buffers[*index].dtype, sizesOf(type),
                         std::vector<int64_t>(type.getRank(), 0), 0};
}

/// The operand of an anchor: a block argument of the kernel, a strided view of
/// one, or a scalar in every element.
FailureOr<plan::TensorRef> PlanBuilder::viewOf(tg::KernelOp kernel,
                                               Value value) {
  RankedTensorType type = tensorType(value);
  ArrayRef<int64_t> shape = type.getShape();
  Operation *user = *value.getUsers().begin();
  AffineMap map =
      AffineMap::getMultiDimIdentityMap(shape.size(), value.getContext());
  while (auto view = value.getDefiningOp<tg::ViewOp>()) {
    map = view.getMap().compose(map);
    value = view.getSource();
  }
  Attribute scalar;
  if (auto fill = value.getDefiningOp<linalg::FillOp>();
      fill && matchPattern(fill.value(), m_Constant(&scalar)))
    return splatOf(kernel, scalar, type);
  auto argument = dyn_cast<BlockArgument>(value);
  if (!argument)
    return user->emitError("reads a value that is computed in its kernel");
  auto form = getStridedForm(
      simplifyInRange(linearize(map, tensorType(value).getShape()), shape),
      shape.size());
  FailureOr<DType> dtype = dtypeOf(type.getElementType());
  if (!form || failed(dtype))
    return user->emitError("reads a view that is not strided");
  return plan::TensorRef{
      bufferOf.lookup(kernel.getInputs()[argument.getArgNumber()]),
      *dtype,
      sizesOf(type),
      {form->strides.begin(), form->strides.end()},
      form->offset};
}

void PlanBuilder::emitCopy(int64_t source, int64_t target, StringRef name,
                           Steps &steps) {
  if (source == target || numBytes(target) == 0)
    return;
  plan::Step step;
  step.name = name;
  plan::TensorRef from = wholeOf(source), to = wholeOf(target);
  from.dtype = to.dtype;
  from.sizes = to.sizes;
  from.strides = to.strides;
  step.library =
      plan::LibraryCall{"copy", nlohmann::json::object(), {from}, {to}};
  step.reason = "the value is already elsewhere";
  step.floorBytes = 2 * numBytes(target);
  steps.push_back(std::move(step));
}

/// Copies as if all at once: a source may be a target of another copy.
void PlanBuilder::emitParallelCopies(
    ArrayRef<std::pair<int64_t, int64_t>> copies, StringRef name,
    Steps &steps) {
  SmallVector<std::pair<int64_t, int64_t>> ordered;
  for (auto [source, target] : copies) {
    bool isOverwritten =
        source != target && llvm::any_of(copies, [&](const auto &other) {
          return other.second == source && other.first != source;
        });
    if (isOverwritten) {
      plan::Buffer buffer = plan.buffers[source];
      buffer.kind = BufferKind::Arena;
      buffer.weight.clear();
      buffer.index = -1;
      plan.buffers.push_back(std::move(buffer));
      loopDepths.push_back(loopDepth);
      int64_t temporary = plan.buffers.size() - 1;
      emitCopy(source, temporary, name, steps);
      source = temporary;
    }
    ordered.push_back({source, target});
  }
  for (auto [source, target] : ordered)
    emitCopy(source, target, name, steps);
}

LogicalResult PlanBuilder::emitLaunch(const loops::LoopPart &part,
                                      StringRef name, ArrayRef<int64_t> inputs,
                                      ArrayRef<int64_t> outputs,
                                      plan::Step &step) {
  SmallVector<int> inPlace;
  std::vector<int64_t> arguments;
  for (auto [i, buffer] : llvm::enumerate(inputs)) {
    auto shared = llvm::find(outputs, buffer);
    inPlace.push_back(shared == outputs.end()
                          ? -1
                          : static_cast<int>(shared - outputs.begin()));
    if (shared == outputs.end())
      arguments.push_back(buffer);
    step.floorBytes +=
        part.elementsRead(i) * byteWidth(plan.buffers[buffer].dtype);
  }
  step.floorFlops += part.operations();
  if (part.isEmpty())
    return success();
  if (auto copy = part.asCopy(); copy && !step.library) {
    auto walked = [&](int64_t buffer, const StridedForm &form) {
      return plan::TensorRef{buffer,
                             plan.buffers[buffer].dtype,
                             {part.nest.sizes.begin(), part.nest.sizes.end()},
                             {form.strides.begin(), form.strides.end()},
                             form.offset};
    };
    if (inputs[0] != outputs[0]) // in place there is nothing to do
      step.library = plan::LibraryCall{"copy",
                                       nlohmann::json::object(),
                                       {walked(inputs[0], copy->first)},
                                       {walked(outputs[0], copy->second)}};
    return success();
  }
  FailureOr<plan::Launch> launch = emitter->emit(part, name, inPlace);
  if (failed(launch))
    return failure();
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  // Blocks share it; the scratch of CPU threads is the runtime's.
  if (plan.target == "cuda" && launch->scratchBytes > 0) {
    auto bytes = RankedTensorType::get(
        {launch->scratchBytes}, IntegerType::get(module.getContext(), 8));
    FailureOr<int64_t> scratch =
        addBuffer(bytes, module.getLoc(), BufferKind::Arena,
                  name.str() + " partial results");
    if (failed(scratch))
      return failure();
    arguments.push_back(*scratch);
  }
  launch->arguments = std::move(arguments);
  step.launch = std::move(*launch);
  return success();
}

plan::Step PlanBuilder::describe(tg::KernelOp kernel) const {
  plan::Step step;
  step.name = kernel.getName();
  step.reason = kernel.getReason();
  llvm::SetVector<StringRef> nodes;
  for (Operation &op : kernel.getBody().front().without_terminator())
    for (StringRef node : nodeNames(op.getLoc()))
      nodes.insert(node);
  for (StringRef node : nodes)
    step.nodes.push_back(node.str());
  return step;
}

/// An anchor writes to a result of the kernel, else where the epilogue computes
/// in place or would only move its elements to, else to memory of its own.
FailureOr<PlanBuilder::Targets>
PlanBuilder::anchorTargets(tg::KernelOp kernel,
                           const loops::KernelParts &parts) {
  Targets targets;
  Operation *anchor = kernel.getAnchor();
  Operation *yield = kernel.getBody().front().getTerminator();
  // The library must not write over what it or the epilogue reads.
  auto isFree = [&](int64_t buffer) {
    return llvm::none_of(
               kernel.getInputs(),
               [&](Value input) { return bufferOf.lookup(input) == buffer; }) &&
           llvm::none_of(targets.refs, [&](const plan::TensorRef &target) {
             return target.buffer == buffer;
           });
  };
  for (OpResult value : anchor->getResults()) {
    RankedTensorType type = tensorType(value);
    FailureOr<DType> dtype = dtypeOf(type.getElementType());
    if (failed(dtype))
      return anchor->emitError("element type is not supported on the CPU");
    std::vector<int64_t> sizes = sizesOf(type);
    plan::TensorRef target{-1, *dtype, sizes, contiguousStrides(sizes), 0};
    for (auto [yielded, result] :
         llvm::zip_equal(yield->getOperands(), kernel->getResults()))
      if (yielded == value)
        target.buffer = bufferOf.lookup(result);
    const loops::LoopPart *loops = parts.loops.get();
    for (unsigned i = 0, e = loops ? loops->inputs.size() : 0;
         i < e && target.buffer < 0; ++i) {
      if (!loops->inputs[i].isAnchorResult ||
          loops->inputs[i].number != value.getResultNumber())
        continue;
      for (auto [j, number] : llvm::enumerate(loops->outputs)) {
        Value result = kernel->getResult(number);
        int64_t buffer = bufferOf.lookup(result);
        Type element = tensorType(result).getElementType();
        // Products may be narrowed as they are written.
        bool mayLayOut = element == type.getElementType() ||
                         isa<tg::MatmulOp, tg::ConvolutionOp>(anchor);
        auto layout = mayLayOut ? loops->asLayout() : std::nullopt;
        bool isInPlace =
            element.getIntOrFloatBitWidth() == type.getElementTypeBitWidth() &&
            loops->canRunInPlace(i, j);
        if (!isFree(buffer) || (!layout && !isInPlace))
          continue;
        if (layout) {
          target.dtype = *dtypeOf(element);
          target.strides = {layout->strides.begin(), layout->strides.end()};
          target.offset = layout->offset;
          targets.replaceEpilogue = true;
        }
        target.buffer = buffer;
        break;
      }
    }
    if (target.buffer < 0) {
      FailureOr<int64_t> own = addBuffer(value, BufferKind::Arena,
                                         kernel.getName().str() + " workspace");
      if (failed(own))
        return failure();
      target.buffer = *own;
    }
    targets.refs.push_back(std::move(target));
  }
  return targets;
}

LogicalResult PlanBuilder::emitLibrary(tg::KernelOp kernel,
                                       const Targets &targets,
                                       plan::Step &step) {
  Operation *anchor = kernel.getAnchor();
  plan::LibraryCall call;
  call.op = anchor->getName().stripDialect();
  call.attributes = nlohmann::json::object();
  for (NamedAttribute attr : anchor->getAttrs())
    if (nlohmann::json value = toJson(attr.getValue()); !value.is_null())
      call.attributes[attr.getName().str()] = std::move(value);
  for (Value operand : anchor->getOperands()) {
    FailureOr<plan::TensorRef> ref = viewOf(kernel, operand);
    if (failed(ref))
      return failure();
    step.floorBytes +=
        std::min(numBytes(ref->buffer),
                 tensorType(operand).getNumElements() * byteWidth(ref->dtype));
    call.inputs.push_back(std::move(*ref));
  }
  call.outputs.assign(targets.refs.begin(), targets.refs.end());
  step.floorFlops += flopsOf(anchor);
  step.library = std::move(call);
  return success();
}

/// A scatter writes into its base, or into a copy of it.
LogicalResult PlanBuilder::emitScatter(tg::KernelOp kernel,
                                       const loops::LoopPart &part,
                                       const Targets &targets,
                                       plan::Step &step) {
  auto scatter = cast<tg::ScatterOp>(kernel.getAnchor());
  FailureOr<plan::TensorRef> base = viewOf(kernel, scatter.getBase());
  if (failed(base))
    return failure();
  const plan::TensorRef &target = targets.refs.front();
  if (base->buffer != target.buffer) {
    step.library =
        plan::LibraryCall{"copy", nlohmann::json::object(), {*base}, {target}};
    step.floorBytes += numBytes(target.buffer);
  } else {
    // Only the touched part moves.
    int64_t touched = 1;
    for (int64_t size : scatter.getDomain())
      touched *= size;
    step.floorBytes = touched * byteWidth(base->dtype);
  }
  return emitLaunch(part, kernel.getName(), inputsOf(kernel, part, targets),
                    target.buffer, step);
}

SmallVector<int64_t> PlanBuilder::inputsOf(tg::KernelOp kernel,
                                           const loops::LoopPart &part,
                                           const Targets &targets) const {
  return llvm::map_to_vector(
      part.inputs, [&](const loops::KernelTensor &tensor) {
        return tensor.isAnchorResult
                   ? targets.refs[tensor.number].buffer
                   : bufferOf.lookup(kernel.getInputs()[tensor.number]);
      });
}

LogicalResult PlanBuilder::emitKernel(tg::KernelOp kernel, Steps &steps) {
  if (llvm::all_of(kernel->getResults(), [&](Value result) {
        return tensorType(result).getNumElements() == 0;
      }))
    return success();
  FailureOr<const loops::KernelParts *> analyzed = analysis.analyze(kernel);
  if (failed(analyzed))
    return failure();
  const loops::KernelParts &parts = **analyzed;

  plan::Step step = describe(kernel);
  for (Value result : kernel->getResults())
    step.floorBytes += numBytes(bufferOf.lookup(result));
  Targets targets;
  if (parts.anchor) {
    FailureOr<Targets> found = anchorTargets(kernel, parts);
    if (failed(found))
      return failure();
    targets = std::move(*found);
    if (failed(parts.scatter
                   ? emitScatter(kernel, *parts.scatter, targets, step)
                   : emitLibrary(kernel, targets, step)))
      return failure();
    if (parts.scatter && parts.loops) {
      // The step has a library call and a launch already.
      steps.push_back(std::move(step));
      step = describe(kernel);
    }
  }
  if (parts.loops && !targets.replaceEpilogue) {
    SmallVector<int64_t> results;
    for (unsigned number : parts.loops->outputs)
      results.push_back(bufferOf.lookup(kernel->getResult(number)));
    if (failed(emitLaunch(*parts.loops, kernel.getName(),
                          inputsOf(kernel, *parts.loops, targets), results,
                          step)))
      return failure();
  }
  if (step.library || step.launch)
    steps.push_back(std::move(step));

  // Results that the kernel only hands on.
  Operation *yield = kernel.getBody().front().getTerminator();
  for (auto [yielded, result] :
       llvm::zip_equal(yield->getOperands(), kernel->getResults())) {
    int64_t target = bufferOf.lookup(result);
    Operation *op = yielded.getDefiningOp();
    if (auto argument = dyn_cast<BlockArgument>(yielded))
      emitCopy(bufferOf.lookup(kernel.getInputs()[argument.getArgNumber()]),
               target, kernel.getName(), steps);
    else if (op == kernel.getAnchor())
      emitCopy(targets.refs[cast<OpResult>(yielded).getResultNumber()].buffer,
               target, kernel.getName(), steps);
    else if (!isa<linalg::GenericOp>(op))
      return op->emitError("cannot be a kernel's result");
  }
  return success();
}

LogicalResult PlanBuilder::emitCond(tg::CondOp op, Steps &steps) {
  plan::Step step;
  step.name = nodeName(op);
  for (StringRef node : nodeNames(op.getLoc()))
    step.nodes.push_back(node.str());
  step.control = "cond";
  step.predicate = bufferOf.lookup(op.getPredicate());
  for (Region &region : op->getRegions()) {
    Steps &branch = step.branches.emplace_back();
    if (failed(emitBlock(region.front(), branch)))
      return failure();
    SmallVector<std::pair<int64_t, int64_t>> copies;
    for (auto [value, result] : llvm::zip_equal(
             region.front().getTerminator()->getOperands(), op.getResults()))
      copies.push_back({bufferOf.lookup(value), bufferOf.lookup(result)});
    emitParallelCopies(copies, step.name, branch);
  }
  steps.push_back(std::move(step));
  return success();
}

LogicalResult PlanBuilder::emitWhile(tg::WhileOp op, Steps &steps) {
  plan::Step step;
  step.name = nodeName(op);
  for (StringRef node : nodeNames(op.getLoc()))
    step.nodes.push_back(node.str());
  SmallVector<std::pair<int64_t, int64_t>> copies;
  for (auto [value, result] : llvm::zip_equal(op.getCarried(), op.getResults()))
    copies.push_back({bufferOf.lookup(value), bufferOf.lookup(result)});
  emitParallelCopies(copies, step.name, steps);

  Block &cond = op.getCondRegion().front(), &body = op.getBodyRegion().front();
  step.control = "while";
  step.branches.resize(2);
  ++loopDepth;
  step.predicate = bufferOf.lookup(cond.getTerminator()->getOperand(0));
  copies.clear();
  if (failed(emitBlock(cond, step.branches[0])) ||
      failed(emitBlock(body, step.branches[1])))
    return failure();
  for (auto [value, result] :
       llvm::zip_equal(body.getTerminator()->getOperands(), op.getResults()))
    copies.push_back({bufferOf.lookup(value), bufferOf.lookup(result)});
  emitParallelCopies(copies, step.name, step.branches[1]);
  --loopDepth;
  steps.push_back(std::move(step));
  return success();
}

LogicalResult PlanBuilder::emitBlock(Block &block, Steps &steps) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult status = success();
    if (auto kernel = dyn_cast<tg::KernelOp>(op))
      status = emitKernel(kernel, steps);
    else if (auto cond = dyn_cast<tg::CondOp>(op))
      status = emitCond(cond, steps);
    else if (auto loop = dyn_cast<tg::WhileOp>(op))
      status = emitWhile(loop, steps);
    if (failed(status))
      return failure();
  }
  return success();
}

/// Outputs and new states that no step has written in place: outputs first, as
/// they may be old states.
void PlanBuilder::emitReturns(Steps &steps) {
  for (auto [value, buffer] : outputs)
    emitCopy(bufferOf.lookup(value), buffer, plan.buffers[buffer].name, steps);
  outputs.clear();
  SmallVector<std::pair<int64_t, int64_t>> copies;
  for (auto [value, argument] : mutations)
    copies.push_back({bufferOf.lookup(value), bufferOf.lookup(argument)});
  emitParallelCopies(copies, "update state", steps);
}

} // namespace gcompile
