//===- Tg.cpp - the tg dialect: text form, verifiers, folders -------------===//
#include "gcompile/ir/Tg.h"
#include "gcompile/ir/IndexMaps.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "mlir/IR/OpImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

#include "gcompile/ir/TgDialect.cpp.inc"
#include "gcompile/ir/TgEnums.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "gcompile/ir/TgAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "gcompile/ir/TgOps.cpp.inc"

using namespace mlir;

namespace gcompile::tg {

void addCounterInterface(TGDialect *dialect); // Counters.cpp

void TGDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "gcompile/ir/TgAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "gcompile/ir/TgOps.cpp.inc"
      >();
  addCounterInterface(this);
}

bool isStructuredOp(Operation *op) {
  return isa<MatmulOp, ConvolutionOp, AttentionOp, SortOp, TopKOp, ScanOp,
             ScatterOp, RandomOp>(op);
}

static RankedTensorType typeOf(Value value) {
  return cast<RankedTensorType>(value.getType());
}

/// The type products of `operand` elements are summed in.
static Type accumulatorType(Type operand) {
  return operand.isF16() || operand.isBF16()
             ? Float32Type::get(operand.getContext())
             : operand;
}

//===----------------------------------------------------------------------===//
// tg.view
//===----------------------------------------------------------------------===//

ParseResult ViewOp::parse(OpAsmParser &parser, OperationState &result) {
  OpAsmParser::UnresolvedOperand source;
  AffineMap map;
  Type sourceType, resultType;
  if (parser.parseOperand(source) || parser.parseAffineMap(map) ||
      parser.parseOptionalAttrDict(result.attributes) ||
      parser.parseColonType(sourceType) || parser.parseArrow() ||
      parser.parseType(resultType) ||
      parser.resolveOperand(source, sourceType, result.operands))
    return failure();
  result.addAttribute("map", AffineMapAttr::get(map));
  result.addTypes(resultType);
  return success();
}

void ViewOp::print(OpAsmPrinter &printer) {
  printer << " " << getSource() << " " << getMap();
  printer.printOptionalAttrDict((*this)->getAttrs(), {"map"});
  printer << " : " << getSource().getType() << " -> " << getType();
}

LogicalResult ViewOp::verify() {
  RankedTensorType source = typeOf(getSource()), result = typeOf(getResult());
  AffineMap map = getMap();
  if (source.getElementType() != result.getElementType())
    return emitOpError("changes the element type from ")
           << source.getElementType() << " to "
           << result.getElementType(); // C1
  if (map.getNumDims() != result.getRank() || map.getNumSymbols() != 0 ||
      map.getNumResults() != source.getRank())
    return emitOpError("map takes ")
           << map.getNumDims() << " dimensions and gives "
           << map.getNumResults() << " indices, expected " << result.getRank()
           << " and " << source.getRank(); // C2
  if (result.getNumElements() == 0)
    return success();
  for (auto [i, expr] : llvm::enumerate(map.getResults())) {
    auto range = rangeOf(expr, result.getShape());
    if (!range || range->first < 0 || range->second >= source.getDimSize(i))
      return emitOpError("index ")
             << i << " of " << getMapAttr() << " leaves dimension " << i
             << " of size " << source.getDimSize(i); // C3
  }
  return success();
}

/// True where each element stays where it is: an index of a dimension of size 1
/// is 0, however it is written.
static bool isIdentityOver(AffineMap map, ArrayRef<int64_t> shape) {
  for (auto [i, expr] : llvm::enumerate(map.getResults()))
    if (shape[i] != 1 && expr != getAffineDimExpr(i, map.getContext()))
      return false;
  return true;
}

OpFoldResult ViewOp::fold(FoldAdaptor adaptor) {
  if (getSource().getType() == getType() &&
      isIdentityOver(getMap(), typeOf(getResult()).getShape()))
    return getSource();
  auto inner = getSource().getDefiningOp<ViewOp>();
  AffineMap map = inner ? inner.getMap().compose(getMap()) : getMap();
  map = simplifyInRange(map, typeOf(getResult()).getShape());
  if (!inner && map == getMap())
    return {};
  setMap(map);
  if (inner)
    getSourceMutable().assign(inner.getSource());
  return getResult();
}

//===----------------------------------------------------------------------===//
// Structured operations
//===----------------------------------------------------------------------===//

LogicalResult MatmulOp::verify() {
  RankedTensorType lhs = typeOf(getLhs()), rhs = typeOf(getRhs()),
                   result = typeOf(getResult());
  int64_t rank = lhs.getRank();
  if (rank < 2 || rhs.getRank() != rank || result.getRank() != rank)
    return emitOpError("needs one rank of at least 2, but has ")
           << rank << ", " << rhs.getRank() << " and "
           << result.getRank(); // C1
  for (int64_t i = 0; i < rank - 2; ++i)
    if (rhs.getDimSize(i) != lhs.getDimSize(i) ||
        result.getDimSize(i) != lhs.getDimSize(i))
      return emitOpError("batch dimension ")
             << i << " is " << lhs.getDimSize(i) << ", " << rhs.getDimSize(i)
             << " and " << result.getDimSize(i); // C1
  if (lhs.getDimSize(rank - 1) != rhs.getDimSize(rank - 2))
    return emitOpError("contracts ") << lhs.getDimSize(rank - 1) << " with "
                                     << rhs.getDimSize(rank - 2); // C2
  if (result.getDimSize(rank - 2) != lhs.getDimSize(rank - 2) ||
      result.getDimSize(rank - 1) != rhs.getDimSize(rank - 1))
    return emitOpError("result should end in ")
           << lhs.getDimSize(rank - 2) << "x" << rhs.getDimSize(rank - 1); // C2
  if (lhs.getElementType() != rhs.getElementType() ||
      result.getElementType() != accumulatorType(lhs.getElementType()))
    return emitOpError("of ")
           << lhs.getElementType() << " and " << rhs.getElementType()
           << " cannot give " << result.getElementType(); // C3
  return success();
}

LogicalResult ConvolutionOp::verify() {
  RankedTensorType input = typeOf(getInput()), weight = typeOf(getWeight()),
                   result = typeOf(getResult());
  int64_t spatial = input.getRank() - 2;
  if (spatial < 1 || weight.getRank() != input.getRank() ||
      result.getRank() != input.getRank() ||
      static_cast<int64_t>(getStride().size()) != spatial ||
      static_cast<int64_t>(getDilation().size()) != spatial ||
      static_cast<int64_t>(getOutputPadding().size()) != spatial ||
      static_cast<int64_t>(getPadding().size()) != 2 * spatial)
    return emitOpError("ranks and the lengths of stride, padding, dilation and "
                       "output_padding disagree for ")
           << input << " and " << weight; // C1
  int64_t groups = getGroups();
  bool transposed = getTransposed();
  int64_t inChannels = input.getDimSize(1);
  int64_t weightIn =
      transposed ? weight.getDimSize(0) : weight.getDimSize(1) * groups;
  int64_t outChannels =
      transposed ? weight.getDimSize(1) * groups : weight.getDimSize(0);
  if (groups < 1 || weightIn != inChannels || outChannels % groups != 0 ||
      result.getDimSize(1) != outChannels ||
      result.getDimSize(0) != input.getDimSize(0))
    return emitOpError("input with ")
           << inChannels << " channels, weight " << weight << " in " << groups
           << " groups and result " << result << " do not fit"; // C2
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t window = (weight.getDimSize(i + 2) - 1) * getDilation()[i] + 1;
    int64_t padding = getPadding()[2 * i] + getPadding()[2 * i + 1];
    int64_t size = input.getDimSize(i + 2);
    int64_t expected = transposed
                           ? (size - 1) * getStride()[i] - padding + window +
                                 getOutputPadding()[i]
                           : (size + padding - window) / getStride()[i] + 1;
    if (result.getDimSize(i + 2) != expected)
      return emitOpError("result has ")
             << result.getDimSize(i + 2) << " in spatial dimension " << i
             << ", expected " << expected; // C3
  }
  if (input.getElementType() != weight.getElementType() ||
      result.getElementType() != accumulatorType(input.getElementType()))
    return emitOpError("of ")
           << input.getElementType() << " and " << weight.getElementType()
           << " cannot give " << result.getElementType(); // C4
  return success();
}

LogicalResult AttentionOp::verify() {
  RankedTensorType query = typeOf(getQuery()), key = typeOf(getKey()),
                   value = typeOf(getValue()), result = typeOf(getResult());
  int64_t rank = query.getRank();
  if (rank < 3 || key.getRank() != rank || value.getRank() != rank)
    return emitOpError("needs one rank of at least 3, but has ")
           << query << ", " << key << " and " << value; // C1
  auto batch = [&](RankedTensorType type) {
    return type.getShape().drop_back(3);
  };
  int64_t heads = query.getDimSize(rank - 3),
          keyHeads = key.getDimSize(rank - 3);
  if (batch(key) != batch(query) || batch(value) != batch(query) ||
      value.getDimSize(rank - 3) != keyHeads || keyHeads == 0 ||
      heads % keyHeads != 0 ||
      key.getDimSize(rank - 1) != query.getDimSize(rank - 1) ||
      value.getDimSize(rank - 2) != key.getDimSize(rank - 2))
    return emitOpError("sizes of query, key and value do not fit: ")
           << query << ", " << key << ", " << value; // C1
  SmallVector<int64_t> expected(query.getShape());
  expected.back() = value.getDimSize(rank - 1);
  if (result.getShape() != ArrayRef<int64_t>(expected) ||
      result.getElementType() != query.getElementType())
    return emitOpError("result ") << result << " does not fit " << query; // C1
  expected.pop_back();
  if (getLogsumexp() &&
      typeOf(getLogsumexp()).getShape() != ArrayRef<int64_t>(expected))
    return emitOpError("logsumexp has type ") << getLogsumexp().getType(); // C1
  if (getMask()) {
    RankedTensorType mask = typeOf(getMask());
    expected.push_back(key.getDimSize(rank - 2));
    if (mask.getShape() != ArrayRef<int64_t>(expected))
      return emitOpError("mask ") << mask
                                  << " does not have the shape of the "
                                     "scores"; // C1
    if (!mask.getElementType().isInteger(1) &&
        !isa<FloatType>(mask.getElementType()))
      return emitOpError("mask has elements of ")
             << mask.getElementType(); // C2
  }
  if (key.getElementType() != query.getElementType() ||
      value.getElementType() != query.getElementType())
    return emitOpError("query, key and value differ in element type"); // C2
  return success();
}

static LogicalResult verifyDim(Operation *op, int64_t dim,
                               RankedTensorType type) {
  // A 0-dimensional tensor counts as one element along dimension 0.
  if (dim < 0 || dim >= std::max<int64_t>(type.getRank(), 1))
    return op->emitOpError("dim = ")
           << dim << " but the input has rank " << type.getRank();
  return success();
}

static LogicalResult verifyIndices(Operation *op, RankedTensorType values,
                                   RankedTensorType indices) {
  if (indices.getShape() != values.getShape() ||
      !indices.getElementType().isInteger(64))
    return op->emitOpError("indices have type ")
           << indices << ", expected the shape of " << values
           << " with i64 elements";
  return success();
}

LogicalResult SortOp::verify() {
  if (failed(verifyDim(*this, getDim(), typeOf(getInput()))))
    return failure(); // C1
  if (getValues().getType() != getInput().getType())
    return emitOpError("values have type ") << getValues().getType();     // C2
  return verifyIndices(*this, typeOf(getValues()), typeOf(getIndices())); // C2
}

LogicalResult TopKOp::verify() {
  RankedTensorType input = typeOf(getInput());
  if (failed(verifyDim(*this, getDim(), input)))
    return failure(); // C1
  int64_t size = input.getRank() ? input.getDimSize(getDim()) : 1;
  if (static_cast<int64_t>(getK()) < 0 || static_cast<int64_t>(getK()) > size)
    return emitOpError("k = ")
           << static_cast<int64_t>(getK()) << " but dimension " << getDim()
           << " of the input has only " << size << " elements"; // C2
  SmallVector<int64_t> shape(input.getShape());
  if (!shape.empty())
    shape[getDim()] = getK();
  auto expected = RankedTensorType::get(shape, input.getElementType());
  if (getValues().getType() != expected)
    return emitOpError("values have type ")
           << getValues().getType() << ", expected " << expected; // C3
  return verifyIndices(*this, expected, typeOf(getIndices()));    // C3
}

LogicalResult ScanOp::verify() {
  if (failed(verifyDim(*this, getDim(), typeOf(getInput()))))
    return failure(); // C1
  if (getValues().getType() != getInput().getType())
    return emitOpError("values have type ") << getValues().getType(); // C2
  bool ordered = getKind() == ReduceKind::Max || getKind() == ReduceKind::Min;
  if (getKind() == ReduceKind::Set || (getIndices() && !ordered))
    return emitOpError("cannot scan by '")
           << stringifyReduceKind(getKind())
           << (getIndices() ? "' with indices" : "'"); // C3
  if (getIndices())
    return verifyIndices(*this, typeOf(getValues()), typeOf(getIndices()));
  return success();
}

LogicalResult ScatterOp::verify() {
  RankedTensorType base = typeOf(getBase());
  size_t rank = getDomain().size();
  if (getMaps().size() != getInputs().size())
    return emitOpError("has ") << getInputs().size() << " inputs but "
                               << getMaps().size() << " maps"; // C1
  SmallVector<Type> arguments(rank, IndexType::get(getContext()));
  for (auto [input, mapAttr] : llvm::zip_equal(getInputs(), getMaps())) {
    AffineMap map = cast<AffineMapAttr>(mapAttr).getValue();
    if (map.getNumDims() != rank ||
        map.getNumResults() != static_cast<unsigned>(typeOf(input).getRank()))
      return emitOpError("map ")
             << mapAttr << " does not read " << input.getType() << " over "
             << rank << " loops"; // C1
    arguments.push_back(typeOf(input).getElementType());
  }
  Block &block = getBody().front();
  if (TypeRange(arguments) != block.getArgumentTypes())
    return emitOpError("region takes ")
           << block.getArgumentTypes() << ", expected " << arguments; // C2
  SmallVector<Type> yielded(base.getRank(), IndexType::get(getContext()));
  yielded.push_back(base.getElementType());
  yielded.push_back(IntegerType::get(getContext(), 1));
  if (block.getTerminator()->getOperandTypes() != TypeRange(yielded))
    return emitOpError("region yields ")
           << block.getTerminator()->getOperandTypes() << ", expected "
           << yielded; // C2
  if (getResult().getType() != base)
    return emitOpError("result has type ") << getResult().getType(); // C3
  return success();
}

LogicalResult RandomOp::verify() {
  Type element = typeOf(getResult()).getElementType();
  bool known = getDistribution() == "bits" ? element.isInteger(64)
                                           : (getDistribution() == "uniform" ||
                                              getDistribution() == "normal") &&
                                                 isa<FloatType>(element);
  if (!known)
    return emitOpError("distribution '")
           << getDistribution() << "' does not give " << element; // C1
  return success();
}

//===----------------------------------------------------------------------===//
// Control flow and kernels
//===----------------------------------------------------------------------===//

static LogicalResult verifyYield(Operation *op, Region &region, StringRef name,
                                 TypeRange expected) {
  TypeRange actual = region.front().getTerminator()->getOperandTypes();
  if (actual != expected)
    return op->emitOpError()
           << name << " yields " << actual << ", expected " << expected;
  return success();
}

static bool isOnePredicate(Type type) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  return tensor && tensor.getElementType().isInteger(1) &&
         tensor.getNumElements() == 1;
}

LogicalResult CondOp::verify() {
  if (!isOnePredicate(getPredicate().getType()))
    return emitOpError("predicate must be one i1, but is ")
           << getPredicate().getType(); // C1
  if (failed(
          verifyYield(*this, getThenRegion(), "then-region", getResultTypes())))
    return failure(); // C2
  return verifyYield(*this, getElseRegion(), "else-region",
                     getResultTypes()); // C2
}

LogicalResult WhileOp::verify() {
  for (Region *region : {&getCondRegion(), &getBodyRegion()})
    if (region->front().getArgumentTypes() != getCarried().getTypes())
      return emitOpError("region takes ")
             << region->front().getArgumentTypes() << ", expected "
             << getCarried().getTypes(); // C1
  if (getCarried().getTypes() != getResultTypes())
    return emitOpError("results ")
           << getResultTypes() << " differ from the carried values"; // C1
  Operation *condYield = getCondRegion().front().getTerminator();
  if (condYield->getNumOperands() != 1 ||
      !isOnePredicate(condYield->getOperand(0).getType()))
    return emitOpError("condition must yield one i1, but yields ")
           << condYield->getOperandTypes();                             // C2
  return verifyYield(*this, getBodyRegion(), "body", getResultTypes()); // C2
}

LogicalResult KernelOp::verify() {
  if (getBody().front().getArgumentTypes() != getInputs().getTypes())
    return emitOpError("region takes ")
           << getBody().front().getArgumentTypes() << ", expected "
           << getInputs().getTypes(); // C1
  if (failed(verifyYield(*this, getBody(), "region", getResultTypes())))
    return failure(); // C1
  if (llvm::count_if(getBody().front(),
                     [](Operation &op) { return isStructuredOp(&op); }) > 1)
    return emitOpError("holds more than one structured op"); // C2
  return success();
}

Operation *KernelOp::getAnchor() {
  for (Operation &op : getBody().front())
    if (isStructuredOp(&op))
      return &op;
  return nullptr;
}

} // namespace gcompile::tg
