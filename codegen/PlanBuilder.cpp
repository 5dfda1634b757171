//===- PlanBuilder.cpp - signature, arena and the whole plan --------------===//
#include "PlanBuilder.h"
#include "cpu/CpuKernels.h"
#include "cuda/CudaKernels.h"
#include "gcompile/arena/ArenaPlanner.h"
#include "gcompile/base/Tensor.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/EmitC/IR/EmitC.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace gcompile {

using plan::BufferKind;

/// Bytes: a cache line, or what GPU libraries want.
static int64_t alignmentOf(const plan::Plan &plan) {
  return plan.target == "cuda" ? 256 : 64;
}

std::vector<int64_t> sizesOf(RankedTensorType type) {
  return {type.getShape().begin(), type.getShape().end()};
}

FailureOr<DType> dtypeOf(Type type, bool isUnsigned) {
  if (type.isInteger(1))
    return DType::Bool;
  if (type.isInteger(8))
    return isUnsigned ? DType::UInt8 : DType::Int8;
  if (type.isInteger(16))
    return isUnsigned ? DType::UInt16 : DType::Int16;
  if (type.isInteger(32))
    return isUnsigned ? DType::UInt32 : DType::Int32;
  if (type.isInteger(64))
    return isUnsigned ? DType::UInt64 : DType::Int64;
  if (type.isF16())
    return DType::Float16;
  if (type.isBF16())
    return DType::BFloat16;
  if (type.isF32())
    return DType::Float32;
  if (type.isF64())
    return DType::Float64;
  return failure();
}

static StringRef stringAttr(DictionaryAttr attrs, StringRef name) {
  auto text = attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue() : StringRef();
}

PlanBuilder::PlanBuilder(ModuleOp module, const TargetOptions &options)
    : module(module),
      analysis({.loads = options.device == TargetDevice::Cuda}) {
  plan.modelName = options.modelName;
  if (options.device == TargetDevice::Cuda) {
    plan.target = "cuda";
    emitter = std::make_unique<cuda::CudaKernels>(plan.kernels);
  } else {
    plan.target = "cpu";
    emitter = std::make_unique<cpu::CpuKernels>(plan.kernels);
  }
}

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

FailureOr<int64_t> PlanBuilder::argumentBuffer(BlockArgument argument,
                                               DictionaryAttr attrs) {
  StringRef kind = stringAttr(attrs, "aten.kind");
  StringRef name = stringAttr(attrs, "aten.name");
  if (kind == "prepared") {
    auto it = prepared.find(name);
    if (it == prepared.end())
      return emitError(argument.getLoc(), "@prepare does not make '")
             << name << "'";
    return it->second;
  }
  if (kind == "user_input")
    return addBuffer(argument, BufferKind::Input, name.str(), attrs);
  auto [it, isNew] = weights.try_emplace(name, plan.buffers.size());
  if (!isNew)
    return it->second;
  FailureOr<int64_t> buffer =
      addBuffer(argument, BufferKind::Weight, name.str(), attrs);
  if (succeeded(buffer))
    plan.buffers[*buffer].weight = name;
  return buffer;
}

LogicalResult PlanBuilder::bindArguments(func::FuncOp func) {
  // What is only written needs a buffer too. Inputs and weights may share
  // names.
  llvm::StringSet<> written[2];
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    DictionaryAttr attrs = func.getResultAttrDict(i);
    StringRef kind = stringAttr(attrs, "aten.kind");
    if (kind.ends_with("_mutation"))
      written[kind == "input_mutation"].insert(stringAttr(attrs, "aten.name"));
  }
  for (BlockArgument argument : func.getArguments()) {
    DictionaryAttr attrs = func.getArgAttrDict(argument.getArgNumber());
    bool isInput = stringAttr(attrs, "aten.kind") == "user_input";
    auto type = dyn_cast<RankedTensorType>(argument.getType());
    bool isUsed = !argument.use_empty() ||
                  written[isInput].contains(stringAttr(attrs, "aten.name"));
    if (type && isUsed) {
      FailureOr<int64_t> buffer = argumentBuffer(argument, attrs);
      if (failed(buffer))
        return failure();
      bufferOf[argument] = *buffer;
      if (isInput)
        plan.buffers[*buffer].index = plan.inputs.size();
    }
    if (!isInput)
      continue;
    plan::InputBinding binding;
    StringRef userName = stringAttr(attrs, "aten.user_name");
    binding.name =
        (userName.empty() ? stringAttr(attrs, "aten.name") : userName).str();
    if (auto it = bufferOf.find(argument); it != bufferOf.end())
      binding.buffer = it->second;
    FailureOr<DType> dtype =
        dtypeOf(type ? type.getElementType() : argument.getType(),
                attrs && attrs.contains("aten.unsigned"));
    if (failed(dtype))
      return emitError(argument.getLoc(), "input '")
             << binding.name << "' has type " << argument.getType()
             << ", which is not supported on the CPU";
    binding.dtype = *dtype;
    if (type)
      binding.sizes = sizesOf(type);
    plan.inputs.push_back(std::move(binding));
  }
  return success();
}

/// Gives returned values their buffers, where they can be computed there.
LogicalResult PlanBuilder::bindReturns(func::FuncOp func) {
  Operation *ret = func.getBody().front().getTerminator();
  if (func.getName() == "prepare") {
    for (OpOperand &operand : ret->getOpOperands()) {
      StringRef name = stringAttr(
          func.getResultAttrDict(operand.getOperandNumber()), "aten.name");
      FailureOr<int64_t> buffer =
          addBuffer(operand.get(), BufferKind::Prepared, name.str());
      if (failed(buffer))
        return failure();
      prepared[name] = *buffer;
      if (isa<OpResult>(operand.get()))
        bufferOf.try_emplace(operand.get(), *buffer);
      outputs.push_back({operand.get(), *buffer});
    }
    return success();
  }
  auto find = [&](StringRef target, bool isInput) -> BlockArgument {
    for (BlockArgument argument : func.getArguments()) {
      DictionaryAttr attrs = func.getArgAttrDict(argument.getArgNumber());
      if (stringAttr(attrs, "aten.name") == target &&
          (stringAttr(attrs, "aten.kind") == "user_input") == isInput)
        return argument;
    }
    return {};
  };
  unsigned numUserOutputs = 0;
  for (OpOperand &operand : ret->getOpOperands()) {
    DictionaryAttr attrs = func.getResultAttrDict(operand.getOperandNumber());
    StringRef kind = stringAttr(attrs, "aten.kind");
    StringRef target = stringAttr(attrs, "aten.name");
    Value value = operand.get();
    if (kind.ends_with("_mutation")) {
      BlockArgument argument = find(target, kind == "input_mutation");
      if (!argument)
        return ret->emitError("mutates '")
               << target << "', which is no argument";
      plan::Buffer &buffer = plan.buffers[bufferOf[argument]];
      if (buffer.kind == BufferKind::Weight)
        buffer.kind = BufferKind::State;
      mutations.push_back({value, argument});
      plan.mutations.push_back({bufferOf[argument], bufferOf[argument]});
      continue;
    }
    plan::OutputBinding binding;
    if (kind == "loss")
      binding.name = "loss";
    else if (kind.ends_with("_gradient"))
      binding.name = ("grad." + target).str();
    else
      binding.name = std::to_string(numUserOutputs++);
    FailureOr<int64_t> buffer =
        addBuffer(value, BufferKind::Output, "output " + binding.name, attrs);
    if (failed(buffer))
      return failure();
    plan.buffers[*buffer].index = plan.outputs.size();
    binding.buffer = *buffer;
    binding.dtype = plan.buffers[*buffer].dtype;
    binding.sizes = plan.buffers[*buffer].sizes;
    auto strides = attrs ? attrs.getAs<DenseI64ArrayAttr>("aten.strides")
                         : DenseI64ArrayAttr();
    binding.strides =
        strides ? strides.asArrayRef().vec() : contiguousStrides(binding.sizes);
    plan.outputs.push_back(std::move(binding));
    outputs.push_back({value, *buffer});
  }
  // A state first: only there does computing in place save work for good.
  for (auto [value, argument] : mutations)
    if (auto result = dyn_cast<OpResult>(value);
        result && !bufferOf.contains(value) && canOverwrite(argument, result))
      bufferOf[value] = bufferOf[argument];
  for (auto [value, buffer] : outputs)
    if (isa<OpResult>(value) && !matchPattern(value, m_Constant()))
      bufferOf.try_emplace(value, buffer);
  return success();
}

//===----------------------------------------------------------------------===//
// Arena
//===----------------------------------------------------------------------===//

void PlanBuilder::touch(int64_t index, int64_t step, ArrayRef<Loop> loops) {
  plan::Buffer &buffer = plan.buffers[index];
  if (buffer.kind != BufferKind::Arena)
    return;
  int64_t begin = step, end = step + 1;
  // What is defined outside a loop lives through all its rounds.
  if (loopDepths[index] < loops.size()) {
    begin = loops[loopDepths[index]].begin;
    end = loops[loopDepths[index]].end;
  }
  bool isFirst = buffer.liveEnd == 0;
  buffer.liveBegin = isFirst ? begin : std::min(buffer.liveBegin, begin);
  buffer.liveEnd = std::max(buffer.liveEnd, end);
}

/// Steps count in the order of the text: a step, then those of its branches.
void PlanBuilder::visitSteps(const Steps &steps, int64_t &next,
                             SmallVectorImpl<Loop> &loops) {
  for (const plan::Step &step : steps) {
    int64_t number = next++;
    if (step.library)
      for (const auto *refs : {&step.library->inputs, &step.library->outputs})
        for (const plan::TensorRef &ref : *refs)
          touch(ref.buffer, number, loops);
    if (step.launch)
      for (int64_t buffer : step.launch->arguments)
        touch(buffer, number, loops);
    if (step.control.empty())
      continue;
    bool isLoop = step.control == "while";
    if (isLoop) {
      loops.push_back({number, number + 1});
      for (const Steps &branch : step.branches)
        loops.back().end += countSteps(branch);
    } else {
      touch(step.predicate, number, loops);
    }
    for (const auto &[i, branch] : llvm::enumerate(step.branches)) {
      visitSteps(branch, next, loops);
      if (isLoop && i == 0) // the condition is read after its last step
        touch(step.predicate, next - 1, loops);
    }
    if (isLoop)
      loops.pop_back();
  }
}

/// Places the entry's buffers, which are those from `firstBuffer` on.
LogicalResult PlanBuilder::planEntry(plan::Entry &entry, size_t firstBuffer) {
  int64_t next = 0;
  SmallVector<Loop> loops;
  visitSteps(entry.steps, next, loops);
  std::vector<ArenaBuffer> problem;
  SmallVector<plan::Buffer *> members;
  for (plan::Buffer &buffer : llvm::drop_begin(plan.buffers, firstBuffer)) {
    if (buffer.kind != BufferKind::Arena)
      continue;
    if (buffer.liveEnd == 0) { // it has no bytes, or nobody needs it
      buffer.offset = 0;
      continue;
    }
    problem.push_back({buffer.liveBegin, buffer.liveEnd, buffer.numBytes});
    members.push_back(&buffer);
  }
  Result<ArenaPlan> arena = planArena(problem, alignmentOf(plan));
  if (!arena)
    return module.emitError(arena.error().message);
  for (auto [member, offset] : llvm::zip_equal(members, arena->offsets))
    member->offset = offset;
  entry.arenaBytes = arena->arenaBytes;
  entry.arenaLowerBound = arena->lowerBound;
  return success();
}

FailureOr<plan::Plan> PlanBuilder::build() {
  for (StringRef name : {"prepare", "forward"}) {
    auto func = module.lookupSymbol<func::FuncOp>(name);
    if (!func) {
      if (name == "prepare")
        continue;
      return module.emitError("has no function @forward");
    }
    plan::Entry &entry = name == "prepare" ? plan.prepare : plan.forward;
    size_t firstBuffer = plan.buffers.size();
    if (failed(bindArguments(func)) || failed(bindReturns(func)) ||
        failed(assignBlock(func.getBody().front())) ||
        failed(emitBlock(func.getBody().front(), entry.steps)))
      return failure();
    emitReturns(entry.steps);
    if (failed(planEntry(entry, firstBuffer)))
      return failure();
  }
  for (plan::Buffer &buffer : plan.buffers)
    if (buffer.kind == BufferKind::Prepared) {
      buffer.offset = plan.preparedBytes;
      plan.preparedBytes += llvm::alignTo(buffer.numBytes, alignmentOf(plan));
    }
  return std::move(plan);
}

FailureOr<plan::Plan> buildPlan(ModuleOp module, const TargetOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       emitc::EmitCDialect, func::FuncDialect,
                       LLVM::LLVMDialect, math::MathDialect, scf::SCFDialect>();
  return PlanBuilder(module, options).build();
}

} // namespace gcompile
