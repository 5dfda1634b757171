//===- PlanBuilder.cpp - kernel programs to plans -------------------------===//
// Two walks over each block. The first, backwards, gives every value a buffer:
// a value that may take over the memory of an operand (a scatter's base, the
// element that a pointwise kernel overwrites), or be computed right where it is
// wanted (an output, a state, a loop-carried value), shares that buffer. The
// second, forwards, makes the steps. Copies appear where sharing failed. Last,
// live ranges are read off the steps and the arena is planned.
#include "cpu/CpuKernels.h"
#include "gcompile/arena/ArenaPlanner.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/codegen/CpuPlan.h"
#include "gcompile/ir/NodeNames.h"
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/ControlFlow/IR/ControlFlow.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Target/LLVMIR/Dialect/Builtin/BuiltinToLLVMIRTranslation.h"
#include "mlir/Target/LLVMIR/Dialect/LLVMIR/LLVMToLLVMIRTranslation.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;

namespace gcompile {
namespace {

using plan::BufferKind;

constexpr int64_t kAlignment = 64; // bytes: a cache line

RankedTensorType tensorType(Value value) {
  return cast<RankedTensorType>(value.getType());
}

std::vector<int64_t> sizesOf(RankedTensorType type) {
  return {type.getShape().begin(), type.getShape().end()};
}

FailureOr<DType> dtypeOf(Type type, bool isUnsigned = false) {
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

StringRef stringAttr(DictionaryAttr attrs, StringRef name) {
  auto text = attrs ? attrs.getAs<StringAttr>(name) : StringAttr();
  return text ? text.getValue() : StringRef();
}

nlohmann::json toJson(Attribute attr) {
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
int64_t flopsOf(Operation *anchor) {
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

/// Appends the bytes of `bits`, an element of `width` bytes.
void appendBytes(std::vector<uint8_t> &data, const APInt &bits, int64_t width) {
  uint64_t raw = bits.getZExtValue(); // little endian, as all our targets
  auto *first = reinterpret_cast<const uint8_t *>(&raw);
  data.insert(data.end(), first, first + width);
}

class PlanBuilder {
public:
  PlanBuilder(ModuleOp module, const CpuTargetOptions &options)
      : module(module), kernels(plan.kernels) {
    plan.target = "cpu";
    plan.modelName = options.modelName;
  }
  FailureOr<plan::Plan> build();

private:
  // Buffers.
  /// `attrs` are those of the argument or result that the buffer is.
  FailureOr<int64_t> addBuffer(RankedTensorType type, Location loc,
                               BufferKind kind, std::string name,
                               DictionaryAttr attrs = {});
  FailureOr<int64_t> addBuffer(Value value, BufferKind kind, std::string name,
                               DictionaryAttr attrs = {}) {
    return addBuffer(tensorType(value), value.getLoc(), kind, std::move(name),
                     attrs);
  }
  FailureOr<int64_t> arenaBuffer(Value value);
  FailureOr<int64_t> argumentBuffer(BlockArgument argument,
                                    DictionaryAttr attrs);
  LogicalResult bindArguments(func::FuncOp func);
  LogicalResult bindReturns(func::FuncOp func);
  LogicalResult assignBlock(Block &block);
  LogicalResult assignOp(Operation &op);
  LogicalResult assignKernel(tg::KernelOp kernel);
  LogicalResult assignWhile(tg::WhileOp op);
  void wantYields(Block &block, ValueRange targets);
  void tryOperandInPlace(tg::KernelOp kernel, unsigned operand, Value result);
  bool canOverwrite(Value old, OpResult value);
  bool mayTakeOver(const cpu::KernelParts &parts, unsigned operand,
                   unsigned result) const;

  // Steps.
  using Steps = std::vector<plan::Step>;
  LogicalResult emitBlock(Block &block, Steps &steps);
  LogicalResult emitKernel(tg::KernelOp kernel, Steps &steps);
  LogicalResult emitCond(tg::CondOp op, Steps &steps);
  LogicalResult emitWhile(tg::WhileOp op, Steps &steps);
  LogicalResult emitReturns(func::FuncOp func, Steps &steps);
  LogicalResult emitLibrary(tg::KernelOp kernel, const cpu::KernelParts &parts,
                            ArrayRef<int64_t> results, plan::Step &step);
  LogicalResult emitLaunch(const cpu::LoopPart &part, StringRef name,
                           ArrayRef<int64_t> inputs, ArrayRef<int64_t> outputs,
                           plan::Step &step);
  FailureOr<plan::TensorRef> viewOf(tg::KernelOp kernel, Value value);
  FailureOr<plan::TensorRef> splatOf(tg::KernelOp kernel, Attribute scalar,
                                     RankedTensorType type);
  plan::TensorRef wholeOf(int64_t buffer) const;
  /// `type` may differ from the buffer's where values share it.
  FailureOr<plan::TensorRef> wholeOf(int64_t buffer,
                                     RankedTensorType type) const;
  void emitCopy(int64_t source, int64_t target, StringRef name, Steps &steps);
  LogicalResult emitParallelCopies(ArrayRef<std::pair<int64_t, int64_t>> copies,
                                   StringRef name, Steps &steps);

  // Arena.
  struct Loop {
    int64_t begin, end; // steps
  };
  void visitSteps(const Steps &steps, int64_t &next,
                  SmallVectorImpl<Loop> &loops);
  void touch(int64_t buffer, int64_t step, ArrayRef<Loop> loops);
  LogicalResult planEntry(plan::Entry &entry);
  LogicalResult planPrepared();

  int64_t numBytes(int64_t buffer) const {
    return plan.buffers[buffer].numBytes;
  }

  ModuleOp module;
  plan::Plan plan;
  cpu::CpuKernels kernels;
  llvm::DenseMap<Value, int64_t> bufferOf;
  /// Number of while loops around the definition of a buffer.
  SmallVector<unsigned> loopDepths;
  unsigned loopDepth = 0;
  llvm::StringMap<int64_t> weights, prepared;
  /// Mutations of @forward: source value and target argument.
  SmallVector<std::pair<Value, BlockArgument>> mutations;
  SmallVector<std::pair<Value, int64_t>> outputs;
};

//===----------------------------------------------------------------------===//
// Signature
//===----------------------------------------------------------------------===//

FailureOr<int64_t> PlanBuilder::addBuffer(RankedTensorType type, Location loc,
                                          BufferKind kind, std::string name,
                                          DictionaryAttr attrs) {
  FailureOr<DType> dtype =
      dtypeOf(type.getElementType(), attrs && attrs.contains("aten.unsigned"));
  if (failed(dtype))
    return emitError(loc, "element type ")
           << type.getElementType() << " is not supported on the CPU";
  plan::Buffer buffer;
  buffer.name = std::move(name);
  buffer.kind = kind;
  buffer.dtype = *dtype;
  buffer.sizes = sizesOf(type);
  buffer.numBytes = type.getNumElements() * byteWidth(*dtype);
  plan.buffers.push_back(std::move(buffer));
  loopDepths.push_back(loopDepth);
  return static_cast<int64_t>(plan.buffers.size()) - 1;
}

FailureOr<int64_t> PlanBuilder::arenaBuffer(Value value) {
  std::string name;
  if (auto kernel = value.getDefiningOp<tg::KernelOp>()) {
    name = kernel.getName().str();
    if (kernel.getNumResults() > 1)
      name += "." + std::to_string(cast<OpResult>(value).getResultNumber());
  } else if (Operation *op = value.getDefiningOp()) {
    name = nodeName(op);
  }
  return addBuffer(value, BufferKind::Arena, name);
}

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
// Buffers
//===----------------------------------------------------------------------===//

/// True where `operand` of the kernel is read, if at all, only in ways that let
/// `result` be written over it.
bool PlanBuilder::mayTakeOver(const cpu::KernelParts &parts, unsigned operand,
                              unsigned result) const {
  // What the library reads cannot change under it.
  if (parts.anchor && !parts.scatter)
    return false;
  auto isOperand = [&](const cpu::KernelTensor &tensor) {
    return !tensor.isAnchorResult && tensor.number == operand;
  };
  if (parts.scatter)
    return !parts.loops && llvm::none_of(parts.scatter->inputs, isOperand) &&
           isa<BlockArgument>(cast<tg::ScatterOp>(parts.anchor).getBase());
  auto output = llvm::find(parts.loops->outputs, result);
  if (output == parts.loops->outputs.end())
    return false;
  for (auto [i, tensor] : llvm::enumerate(parts.loops->inputs))
    if (isOperand(tensor))
      return parts.loops->canRunInPlace(i,
                                        output - parts.loops->outputs.begin());
  return true; // not read
}

/// True where the op that computes `value` can write over `old`, a block
/// argument: nothing reads `old` from then on.
bool PlanBuilder::canOverwrite(Value old, OpResult value) {
  auto kernel = dyn_cast<tg::KernelOp>(value.getOwner());
  Block *block = old.getParentBlock();
  if (!kernel || kernel->getBlock() != block ||
      old.getType() != value.getType())
    return false;
  for (OpOperand &use : old.getUses()) {
    Operation *user = block->findAncestorOpInBlock(*use.getOwner());
    if (user == kernel) {
      auto parts = kernels.analyze(kernel);
      if (failed(parts) || !mayTakeOver(**parts, use.getOperandNumber(),
                                        value.getResultNumber()))
        return false;
    } else if (!user->isBeforeInBlock(kernel)) {
      return false;
    }
  }
  return true;
}

/// Lets `operand`, which nothing reads after `kernel`, be computed where
/// `result` is wanted, so that `kernel` runs in place.
void PlanBuilder::tryOperandInPlace(tg::KernelOp kernel, unsigned operand,
                                    Value result) {
  auto value = dyn_cast<OpResult>(kernel.getInputs()[operand]);
  Block *block = kernel->getBlock();
  int64_t buffer = bufferOf.lookup(result);
  if (!value || value.getParentBlock() != block || bufferOf.contains(value) ||
      !isa<tg::KernelOp>(value.getOwner()))
    return;
  auto bits = [](Value value) {
    return tensorType(value).getNumElements() *
           std::max(8u, tensorType(value).getElementTypeBitWidth());
  };
  if (bits(value) != bits(result) ||
      llvm::count(kernel.getInputs(), value) != 1)
    return;
  for (Operation *user : value.getUsers()) {
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (ancestor != kernel && !ancestor->isBeforeInBlock(kernel))
      return;
  }
  // The memory may hold an older value until then.
  for (BlockArgument argument : block->getArguments())
    if (auto it = bufferOf.find(argument); it != bufferOf.end() &&
                                           it->second == buffer &&
                                           !canOverwrite(argument, value))
      return;
  bufferOf[value] = buffer;
}

LogicalResult PlanBuilder::assignKernel(tg::KernelOp kernel) {
  FailureOr<const cpu::KernelParts *> analyzed = kernels.analyze(kernel);
  if (failed(analyzed))
    return failure();
  const cpu::KernelParts &parts = **analyzed;
  for (OpResult result : kernel->getResults()) {
    if (!bufferOf.contains(result)) {
      FailureOr<int64_t> buffer = arenaBuffer(result);
      if (failed(buffer))
        return failure();
      bufferOf[result] = *buffer;
    }
  }
  for (OpResult result : kernel->getResults()) {
    unsigned number = result.getResultNumber();
    if (parts.scatter && !parts.loops) {
      auto scatter = cast<tg::ScatterOp>(parts.anchor);
      if (auto base = dyn_cast<BlockArgument>(scatter.getBase()))
        if (mayTakeOver(parts, base.getArgNumber(), number))
          tryOperandInPlace(kernel, base.getArgNumber(), result);
      continue;
    }
    // One operand may hand its memory to a result, and only one result may
    // take it.
    for (unsigned i = 0; i < kernel.getInputs().size(); ++i) {
      bool isRead =
          parts.loops && llvm::any_of(parts.loops->inputs,
                                      [&](const cpu::KernelTensor &tensor) {
                                        return !tensor.isAnchorResult &&
                                               tensor.number == i;
                                      });
      if (isRead && mayTakeOver(parts, i, number)) {
        tryOperandInPlace(kernel, i, result);
        if (bufferOf.lookup(kernel.getInputs()[i]) == bufferOf.lookup(result))
          break;
      }
    }
  }
  return success();
}

/// Values that the terminator of `block` hands on are computed in the buffers
/// of `targets` where they can.
void PlanBuilder::wantYields(Block &block, ValueRange targets) {
  for (auto [value, target] :
       llvm::zip_equal(block.getTerminator()->getOperands(), targets)) {
    auto result = dyn_cast<OpResult>(value);
    if (!result || result.getParentBlock() != &block ||
        bufferOf.contains(value) || !isa<tg::KernelOp>(result.getOwner()))
      continue;
    int64_t buffer = bufferOf.lookup(target);
    bool isFree = llvm::all_of(block.getArguments(), [&](BlockArgument old) {
      return bufferOf.lookup(old) != buffer || !bufferOf.contains(old) ||
             canOverwrite(old, result);
    });
    if (isFree)
      bufferOf[value] = buffer;
  }
}

LogicalResult PlanBuilder::assignWhile(tg::WhileOp op) {
  Block &cond = op.getCondRegion().front(), &body = op.getBodyRegion().front();
  for (auto [result, carried] :
       llvm::zip_equal(op.getResults(), op.getCarried())) {
    unsigned number = result.getResultNumber();
    for (Block *block : {&cond, &body})
      bufferOf[block->getArgument(number)] = bufferOf.lookup(result);
    // The value before the loop is computed in place if only the loop reads it.
    auto initial = dyn_cast<OpResult>(carried);
    if (initial && initial.hasOneUse() && !bufferOf.contains(initial) &&
        initial.getParentBlock() == op->getBlock() &&
        isa<tg::KernelOp>(initial.getOwner()))
      bufferOf[initial] = bufferOf.lookup(result);
  }
  ++loopDepth;
  wantYields(body, op.getResults());
  LogicalResult status =
      failure(failed(assignBlock(cond)) || failed(assignBlock(body)));
  --loopDepth;
  return status;
}

LogicalResult PlanBuilder::assignOp(Operation &op) {
  if (auto kernel = dyn_cast<tg::KernelOp>(op))
    return assignKernel(kernel);
  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    auto elements = dyn_cast<DenseElementsAttr>(constant.getValue());
    if (!elements)
      return op.emitError("is not a tensor");
    FailureOr<int64_t> index =
        addBuffer(constant, BufferKind::Constant, nodeName(&op));
    if (failed(index))
      return failure();
    bufferOf[constant] = *index;
    plan::Buffer &buffer = plan.buffers[*index];
    int64_t width = byteWidth(buffer.dtype);
    buffer.data.reserve(buffer.numBytes);
    if (isa<FloatType>(elements.getElementType()))
      for (const APFloat &value : elements.getValues<APFloat>())
        appendBytes(buffer.data, value.bitcastToAPInt(), width);
    else
      for (const APInt &value : elements.getValues<APInt>())
        appendBytes(buffer.data, value, width);
    return success();
  }
  if (!isa<tg::CondOp, tg::WhileOp>(op))
    return op.emitError("has no place in a kernel program");
  for (Value result : op.getResults()) {
    if (bufferOf.contains(result))
      continue;
    FailureOr<int64_t> buffer = arenaBuffer(result);
    if (failed(buffer))
      return failure();
    bufferOf[result] = *buffer;
  }
  if (auto loop = dyn_cast<tg::WhileOp>(op))
    return assignWhile(loop);
  for (Region &region : op.getRegions()) {
    wantYields(region.front(), op.getResults());
    if (failed(assignBlock(region.front())))
      return failure();
  }
  return success();
}

LogicalResult PlanBuilder::assignBlock(Block &block) {
  for (Operation &op : llvm::reverse(block.without_terminator()))
    if (failed(assignOp(op)))
      return failure();
  return success();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

plan::TensorRef PlanBuilder::wholeOf(int64_t index) const {
  const plan::Buffer &buffer = plan.buffers[index];
  return {index, buffer.dtype, buffer.sizes, contiguousStrides(buffer.sizes),
          0};
}

FailureOr<plan::TensorRef> PlanBuilder::wholeOf(int64_t buffer,
                                                RankedTensorType type) const {
  FailureOr<DType> dtype = dtypeOf(type.getElementType());
  if (failed(dtype))
    return failure();
  std::vector<int64_t> sizes = sizesOf(type);
  return plan::TensorRef{buffer, *dtype, sizes, contiguousStrides(sizes), 0};
}

/// A tensor that holds one known scalar: a view of a buffer of one element.
FailureOr<plan::TensorRef> PlanBuilder::splatOf(tg::KernelOp kernel,
                                                Attribute scalar,
                                                RankedTensorType type) {
  FailureOr<int64_t> index =
      addBuffer(RankedTensorType::get({}, type.getElementType()),
                kernel.getLoc(), BufferKind::Constant, "constant");
  if (failed(index))
    return failure();
  plan::Buffer &buffer = plan.buffers[*index];
  auto number = dyn_cast<FloatAttr>(scalar);
  appendBytes(buffer.data,
              number ? number.getValue().bitcastToAPInt()
                     : cast<IntegerAttr>(scalar).getValue(),
              buffer.numBytes);
  return plan::TensorRef{*index, buffer.dtype, sizesOf(type),
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
LogicalResult
PlanBuilder::emitParallelCopies(ArrayRef<std::pair<int64_t, int64_t>> copies,
                                StringRef name, Steps &steps) {
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
  return success();
}

LogicalResult PlanBuilder::emitLaunch(const cpu::LoopPart &part, StringRef name,
                                      ArrayRef<int64_t> inputs,
                                      ArrayRef<int64_t> outputs,
                                      plan::Step &step) {
  SmallVector<int> inPlace;
  std::vector<int64_t> arguments;
  for (auto [i, buffer] : llvm::enumerate(inputs)) {
    auto shared = llvm::find(outputs, buffer);
    inPlace.push_back(shared == outputs.end() ? -1 : shared - outputs.begin());
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
  FailureOr<plan::Launch> launch = kernels.emit(part, name, inPlace);
  if (failed(launch))
    return failure();
  arguments.insert(arguments.end(), outputs.begin(), outputs.end());
  launch->arguments = std::move(arguments);
  step.launch = std::move(*launch);
  return success();
}

LogicalResult PlanBuilder::emitLibrary(tg::KernelOp kernel,
                                       const cpu::KernelParts &parts,
                                       ArrayRef<int64_t> results,
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
  for (auto [result, buffer] : llvm::zip_equal(anchor->getResults(), results)) {
    FailureOr<plan::TensorRef> ref = wholeOf(buffer, tensorType(result));
    if (failed(ref))
      return failure();
    call.outputs.push_back(std::move(*ref));
  }
  step.floorFlops += flopsOf(anchor);
  step.library = std::move(call);
  return success();
}

LogicalResult PlanBuilder::emitKernel(tg::KernelOp kernel, Steps &steps) {
  if (llvm::all_of(kernel->getResults(), [&](Value result) {
        return tensorType(result).getNumElements() == 0;
      }))
    return success();
  FailureOr<const cpu::KernelParts *> analyzed = kernels.analyze(kernel);
  if (failed(analyzed))
    return failure();
  const cpu::KernelParts &parts = **analyzed;

  plan::Step step;
  step.name = kernel.getName();
  step.reason = kernel.getReason();
  llvm::SetVector<StringRef> nodes;
  for (Operation &op : kernel.getBody().front().without_terminator())
    for (StringRef node : nodeNames(op.getLoc()))
      nodes.insert(node);
  for (StringRef node : nodes)
    step.nodes.push_back(node.str());
  for (Value result : kernel->getResults())
    step.floorBytes += numBytes(bufferOf.lookup(result));

  // Where the anchor writes: a result of the kernel, else the result that the
  // epilogue computes in place of it, else memory of its own.
  Operation *anchor = kernel.getAnchor();
  Operation *yield = kernel.getBody().front().getTerminator();
  SmallVector<int64_t> anchorBuffers;
  for (Value value : anchor ? ValueRange(anchor->getResults()) : ValueRange()) {
    std::optional<int64_t> buffer;
    for (auto [yielded, result] :
         llvm::zip_equal(yield->getOperands(), kernel->getResults()))
      if (yielded == value)
        buffer = bufferOf.lookup(result);
    for (unsigned i = 0;
         !buffer && parts.loops && i < parts.loops->inputs.size(); ++i) {
      cpu::KernelTensor tensor = parts.loops->inputs[i];
      if (!tensor.isAnchorResult || anchor->getResult(tensor.number) != value)
        continue;
      for (auto [j, number] : llvm::enumerate(parts.loops->outputs)) {
        Value result = kernel->getResult(number);
        int64_t candidate = bufferOf.lookup(result);
        // The library must not write over what it or the epilogue reads.
        bool isOperand = llvm::any_of(kernel.getInputs(), [&](Value input) {
          return bufferOf.lookup(input) == candidate;
        });
        if (!isOperand && !llvm::is_contained(anchorBuffers, candidate) &&
            tensorType(result).getElementTypeBitWidth() ==
                tensorType(value).getElementTypeBitWidth() &&
            parts.loops->canRunInPlace(i, j)) {
          buffer = candidate;
          break;
        }
      }
    }
    if (!buffer) {
      FailureOr<int64_t> own = addBuffer(value, BufferKind::Arena,
                                         kernel.getName().str() + " workspace");
      if (failed(own))
        return failure();
      buffer = *own;
    }
    anchorBuffers.push_back(*buffer);
  }

  auto buffersOf = [&](const cpu::LoopPart &part) {
    SmallVector<int64_t> buffers;
    for (cpu::KernelTensor tensor : part.inputs)
      buffers.push_back(
          tensor.isAnchorResult
              ? anchorBuffers[tensor.number]
              : bufferOf.lookup(kernel.getInputs()[tensor.number]));
    return buffers;
  };
  if (parts.scatter) {
    auto scatter = cast<tg::ScatterOp>(anchor);
    FailureOr<plan::TensorRef> base = viewOf(kernel, scatter.getBase());
    if (failed(base))
      return failure();
    int64_t target = anchorBuffers.front();
    if (base->buffer != target) {
      plan::TensorRef whole = *base;
      whole.buffer = target;
      whole.strides = contiguousStrides(whole.sizes);
      whole.offset = 0;
      step.library =
          plan::LibraryCall{"copy", nlohmann::json::object(), {*base}, {whole}};
      step.floorBytes += numBytes(target);
    } else {
      // Only the touched part moves.
      int64_t touched = 1;
      for (int64_t size : scatter.getDomain())
        touched *= size;
      step.floorBytes = touched * byteWidth(base->dtype);
    }
    if (failed(emitLaunch(*parts.scatter, kernel.getName(),
                          buffersOf(*parts.scatter), {target}, step)))
      return failure();
    if (!parts.loops) {
      steps.push_back(std::move(step));
      return success();
    }
    plan::Step epilogue;
    epilogue.name = step.name;
    epilogue.nodes = step.nodes;
    epilogue.reason = step.reason;
    steps.push_back(std::move(step));
    step = std::move(epilogue);
  } else if (anchor) {
    if (failed(emitLibrary(kernel, parts, anchorBuffers, step)))
      return failure();
  }
  if (parts.loops) {
    SmallVector<int64_t> results;
    for (unsigned number : parts.loops->outputs)
      results.push_back(bufferOf.lookup(kernel->getResult(number)));
    if (failed(emitLaunch(*parts.loops, kernel.getName(),
                          buffersOf(*parts.loops), results, step)))
      return failure();
  }
  if (step.library || step.launch)
    steps.push_back(std::move(step));

  // Results that the kernel only hands on.
  for (auto [yielded, result] :
       llvm::zip_equal(yield->getOperands(), kernel->getResults())) {
    int64_t target = bufferOf.lookup(result);
    if (auto argument = dyn_cast<BlockArgument>(yielded))
      emitCopy(bufferOf.lookup(kernel.getInputs()[argument.getArgNumber()]),
               target, kernel.getName(), steps);
    else if (yielded.getDefiningOp() == anchor)
      emitCopy(anchorBuffers[cast<OpResult>(yielded).getResultNumber()], target,
               kernel.getName(), steps);
    else if (!yielded.getDefiningOp<linalg::GenericOp>())
      return yielded.getDefiningOp()->emitError("cannot be a kernel's result");
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
    if (failed(emitParallelCopies(copies, step.name, branch)))
      return failure();
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
  if (failed(emitParallelCopies(copies, step.name, steps)))
    return failure();

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
  if (failed(emitParallelCopies(copies, step.name, step.branches[1])))
    return failure();
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
LogicalResult PlanBuilder::emitReturns(func::FuncOp func, Steps &steps) {
  for (auto [value, buffer] : outputs)
    emitCopy(bufferOf.lookup(value), buffer, plan.buffers[buffer].name, steps);
  outputs.clear();
  SmallVector<std::pair<int64_t, int64_t>> copies;
  for (auto [value, argument] : mutations)
    copies.push_back({bufferOf.lookup(value), bufferOf.lookup(argument)});
  return emitParallelCopies(copies, "update state", steps);
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

LogicalResult PlanBuilder::planEntry(plan::Entry &entry) {
  int64_t next = 0;
  SmallVector<Loop> loops;
  std::vector<bool> wasLive;
  for (const plan::Buffer &buffer : plan.buffers)
    wasLive.push_back(buffer.liveEnd > 0);
  visitSteps(entry.steps, next, loops);
  std::vector<ArenaBuffer> problem;
  SmallVector<int64_t> members;
  for (auto [i, buffer] : llvm::enumerate(plan.buffers))
    if (buffer.kind == BufferKind::Arena && buffer.liveEnd > 0 && !wasLive[i]) {
      problem.push_back({buffer.liveBegin, buffer.liveEnd, buffer.numBytes});
      members.push_back(i);
    }
  Result<ArenaPlan> arena = planArena(problem, kAlignment);
  if (!arena)
    return module.emitError(arena.error().message);
  for (auto [member, offset] : llvm::zip_equal(members, arena->offsets))
    plan.buffers[member].offset = offset;
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
    if (failed(bindArguments(func)) || failed(bindReturns(func)) ||
        failed(assignBlock(func.getBody().front())) ||
        failed(emitBlock(func.getBody().front(), entry.steps)) ||
        failed(emitReturns(func, entry.steps)) || failed(planEntry(entry)))
      return failure();
  }
  for (plan::Buffer &buffer : plan.buffers) {
    if (buffer.kind == BufferKind::Prepared) {
      buffer.offset = plan.preparedBytes;
      plan.preparedBytes +=
          (buffer.numBytes + kAlignment - 1) / kAlignment * kAlignment;
    }
    // Never touched: it has no bytes or nobody needs it.
    if (buffer.kind == BufferKind::Arena && buffer.offset < 0)
      buffer.offset = 0;
  }
  return std::move(plan);
}

} // namespace

FailureOr<plan::Plan> buildCpuPlan(ModuleOp module,
                                   const CpuTargetOptions &options) {
  MLIRContext *context = module.getContext();
  DialectRegistry registry;
  registerBuiltinDialectTranslation(registry);
  registerLLVMDialectTranslation(registry);
  context->appendDialectRegistry(registry);
  context->loadDialect<arith::ArithDialect, cf::ControlFlowDialect,
                       func::FuncDialect, LLVM::LLVMDialect, math::MathDialect,
                       scf::SCFDialect>();
  return PlanBuilder(module, options).build();
}

} // namespace gcompile
