//===- LinearRules.cpp - rules of products, convolutions, norms, attention ===//
#include "ResultRules.h"

#include "mlir/IR/BuiltinTypes.h"
#include "llvm/ADT/MapVector.h"

#include <cmath>

using namespace mlir;

namespace gcompile::aten {

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static LogicalResult sameElementTypes(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> types = tensorTypes(call);
  for (RankedTensorType type : types)
    if (type.getElementType() != types.front().getElementType())
      return error() << "mixes " << dtypeName(types.front().getElementType())
                     << " and " << dtypeName(type.getElementType());
  return success();
}

static LogicalResult checkRank(RankedTensorType type, int64_t rank,
                               EmitError error) {
  if (type.getRank() == rank)
    return success();
  return error() << "needs " << rank << " dimensions, but the shape is "
                 << describe(type.getShape());
}

/// [.., m, k] times [.., k, n].
static FailureOr<Shape> product(ArrayRef<int64_t> lhs, ArrayRef<int64_t> rhs,
                                EmitError error) {
  if (lhs.back() != rhs[rhs.size() - 2])
    return error() << "cannot multiply " << describe(lhs) << " by "
                   << describe(rhs) << ": " << lhs.back() << " columns, "
                   << rhs[rhs.size() - 2] << " rows";
  auto shape = broadcast({lhs.drop_back(2), rhs.drop_back(2)}, error);
  if (failed(shape))
    return failure();
  shape->push_back(lhs[lhs.size() - 2]);
  shape->push_back(rhs.back());
  return shape;
}

static ResultTypes productOf(const Call &call, StringRef left, StringRef right,
                             int64_t rank, EmitError error) {
  RankedTensorType lhs = call.tensorType(left), rhs = call.tensorType(right);
  if (failed(checkRank(lhs, rank, error)) ||
      failed(checkRank(rhs, rank, error)) ||
      failed(sameElementTypes(call, error)))
    return failure();
  if (rank == 3 && lhs.getDimSize(0) != rhs.getDimSize(0))
    return error() << "batches of " << lhs.getDimSize(0) << " and "
                   << rhs.getDimSize(0) << " matrices";
  auto shape = product(lhs.getShape(), rhs.getShape(), error);
  if (failed(shape))
    return failure();
  Type element = lhs.getElementType();
  if (call.schema->find("out_dtype") >= 0)
    element = call.dtype("out_dtype");
  return oneTensor(*shape, element);
}

ResultTypes rules::matrixProduct(const Call &call, EmitError error) {
  return productOf(call, "self", "mat2", 2, error);
}

ResultTypes rules::batchProduct(const Call &call, EmitError error) {
  return productOf(call, "self", "mat2", 3, error);
}

/// addmm, baddbmm, addbmm: `self` broadcasts to the product.
ResultTypes rules::addedProduct(const Call &call, EmitError error) {
  bool isMatrix = call.schema->find("mat1") >= 0;
  ResultTypes types = isMatrix ? productOf(call, "mat1", "mat2", 2, error)
                               : productOf(call, "batch1", "batch2", 3, error);
  if (failed(types))
    return failure();
  auto type = cast<RankedTensorType>(types->front());
  if (call.schema->callee == "aten.addbmm.default")
    type = tensorOf(type.getShape().drop_front(), type.getElementType());
  ArrayRef<int64_t> bias = call.tensorType("self").getShape();
  auto shape = broadcast({type.getShape(), bias}, error);
  if (failed(shape))
    return failure();
  if (ArrayRef<int64_t>(*shape) != type.getShape())
    return error() << "cannot expand " << describe(bias) << " to the product's "
                   << describe(type.getShape());
  return SmallVector<Type>{type};
}

/// mv and addmv.
ResultTypes rules::vectorProduct(const Call &call, EmitError error) {
  RankedTensorType matrix =
      call.tensorType(call.schema->find("mat") >= 0 ? "mat" : "self");
  RankedTensorType vector = call.tensorType("vec");
  if (failed(checkRank(matrix, 2, error)) ||
      failed(checkRank(vector, 1, error)) ||
      failed(sameElementTypes(call, error)))
    return failure();
  if (matrix.getDimSize(1) != vector.getDimSize(0))
    return error() << "cannot multiply " << describe(matrix.getShape())
                   << " by a vector of " << vector.getDimSize(0);
  return oneTensor({matrix.getDimSize(0)}, matrix.getElementType());
}

ResultTypes rules::dotProduct(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> types = tensorTypes(call);
  if (failed(checkRank(types[0], 1, error)) ||
      failed(checkRank(types[1], 1, error)) ||
      failed(sameElementTypes(call, error)))
    return failure();
  if (types[0] != types[1])
    return error() << "vectors of " << types[0].getDimSize(0) << " and "
                   << types[1].getDimSize(0) << " elements";
  return oneTensor({}, types[0].getElementType());
}

/// outer, ger and addr.
ResultTypes rules::outerProduct(const Call &call, EmitError error) {
  bool isAdded = call.schema->find("vec1") >= 0;
  RankedTensorType a = call.tensorType(isAdded ? "vec1" : "self");
  RankedTensorType b = call.tensorType("vec2");
  if (failed(checkRank(a, 1, error)) || failed(checkRank(b, 1, error)))
    return failure();
  return oneTensor({a.getDimSize(0), b.getDimSize(0)},
                   promotedElementType(call));
}

static ResultTypes matmulTypes(RankedTensorType lhs, RankedTensorType rhs,
                               EmitError error) {
  if (lhs.getRank() == 0 || rhs.getRank() == 0)
    return error() << "needs tensors with dimensions";
  Shape left(lhs.getShape()), right(rhs.getShape());
  bool isRow = left.size() == 1, isColumn = right.size() == 1;
  if (isRow)
    left.insert(left.begin(), 1);
  if (isColumn)
    right.push_back(1);
  auto shape = product(left, right, error);
  if (failed(shape))
    return failure();
  if (isColumn)
    shape->pop_back();
  if (isRow)
    shape->erase(shape->end() - (isColumn ? 1 : 2));
  return oneTensor(*shape, lhs.getElementType());
}

ResultTypes rules::matmul(const Call &call, EmitError error) {
  if (failed(sameElementTypes(call, error)))
    return failure();
  SmallVector<RankedTensorType> types = tensorTypes(call);
  return matmulTypes(types[0], types[1], error);
}

ResultTypes rules::linear(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input"),
                   weight = call.tensorType("weight");
  if (failed(sameElementTypes(call, error)))
    return failure();
  if (input.getRank() == 0 || weight.getRank() < 1 || weight.getRank() > 2 ||
      input.getShape().back() != weight.getShape().back())
    return error() << "cannot multiply " << describe(input.getShape())
                   << " by the transpose of " << describe(weight.getShape());
  Shape shape(input.getShape().drop_back());
  if (weight.getRank() == 2)
    shape.push_back(weight.getDimSize(0));
  return oneTensor(shape, input.getElementType());
}

/// "bij,bjk->bik"; `...` stands for broadcast dimensions.
ResultTypes rules::einsum(const Call &call, EmitError error) {
  SmallVector<RankedTensorType> tensors = listTypes(call, "tensors");
  std::string text;
  for (char c : call.string("equation"))
    if (c != ' ')
      text += c;
  auto [inputs, output] = StringRef(text).split("->");
  bool hasOutput = StringRef(text).contains("->");
  SmallVector<StringRef> terms;
  inputs.split(terms, ',');
  if (terms.size() != tensors.size())
    return error() << "'" << text << "' names " << terms.size()
                   << " operands, but there are " << tensors.size();
  llvm::MapVector<char, int64_t> sizes;
  std::map<char, unsigned> uses;
  SmallVector<SmallVector<int64_t>> ellipses;
  for (auto [term, tensor] : llvm::zip(terms, tensors)) {
    ArrayRef<int64_t> shape = tensor.getShape();
    auto [head, tail] = term.split("...");
    bool hasEllipsis = term.contains("...");
    size_t named = head.size() + tail.size();
    if (hasEllipsis ? shape.size() < named : shape.size() != named)
      return error() << "'" << term << "' does not fit " << describe(shape);
    size_t extra = shape.size() - named;
    ellipses.emplace_back(shape.slice(head.size(), extra));
    for (size_t i = 0; i < named; ++i) {
      char letter = i < head.size() ? head[i] : tail[i - head.size()];
      int64_t size = shape[i < head.size() ? i : i + extra];
      int64_t &known = sizes.insert({letter, size}).first->second;
      ++uses[letter];
      if (known == 1)
        known = size;
      else if (size != 1 && size != known)
        return error() << "'" << letter << "' is both " << known << " and "
                       << size;
    }
  }
  auto common = broadcast(
      llvm::map_to_vector(ellipses,
                          [](auto &list) { return ArrayRef<int64_t>(list); }),
      error);
  if (failed(common))
    return failure();
  std::string implicit = "...";
  if (!hasOutput) { // letters that occur once, in order
    for (auto [letter, count] : uses)
      if (count == 1)
        implicit += letter;
    output = implicit;
  }
  Shape shape;
  auto [head, tail] = output.split("...");
  auto append = [&](StringRef letters) {
    for (char letter : letters)
      shape.push_back(sizes.lookup(letter));
  };
  append(head);
  if (output.contains("..."))
    llvm::append_range(shape, *common);
  append(tail);
  return oneTensor(shape, tensors.front().getElementType());
}

/// bilinear, _trilinear and tensordot.
ResultTypes rules::bilinear(const Call &call, EmitError error) {
  StringRef callee = call.schema->callee;
  RankedTensorType first = firstTensor(call);
  if (callee == "aten.bilinear.default") {
    Shape shape(first.getShape().drop_back());
    shape.push_back(call.tensorType("weight").getDimSize(0));
    return oneTensor(shape, first.getElementType());
  }
  if (callee == "aten.tensordot.default") {
    RankedTensorType other = call.tensorType("other");
    auto left = dimensions(call.integers("dims_self"), first.getRank(), error);
    auto right =
        dimensions(call.integers("dims_other"), other.getRank(), error);
    if (failed(left) || failed(right))
      return failure();
    Shape shape;
    for (int64_t i = 0; i < first.getRank(); ++i)
      if (!llvm::is_contained(*left, i))
        shape.push_back(first.getDimSize(i));
    for (int64_t i = 0; i < other.getRank(); ++i)
      if (!llvm::is_contained(*right, i))
        shape.push_back(other.getDimSize(i));
    return oneTensor(shape, first.getElementType());
  }
  // _trilinear: each input gets dimensions of size one, all broadcast, and
  // `sumdim` is summed away.
  SmallVector<Shape> shapes;
  for (auto [tensor, expand] :
       {std::pair{"i1", "expand1"}, {"i2", "expand2"}, {"i3", "expand3"}}) {
    Shape &shape = shapes.emplace_back(call.tensorType(tensor).getShape());
    SmallVector<int64_t> dims = call.integers(expand);
    llvm::sort(dims);
    for (int64_t dim : dims)
      shape.insert(shape.begin() + dim, 1);
  }
  auto shape = broadcast({shapes[0], shapes[1], shapes[2]}, error);
  if (failed(shape))
    return failure();
  SmallVector<int64_t> summed = call.integers("sumdim");
  Shape kept;
  for (auto [i, size] : llvm::enumerate(*shape))
    if (!llvm::is_contained(summed, static_cast<int64_t>(i)))
      kept.push_back(size);
  return oneTensor(kept, first.getElementType());
}

ResultTypes rules::kron(const Call &call, EmitError error) {
  ArrayRef<int64_t> a = call.tensorType("self").getShape(),
                    b = call.tensorType("other").getShape();
  Shape shape(std::max(a.size(), b.size()), 1);
  for (ArrayRef<int64_t> part : {a, b})
    for (auto [i, size] : llvm::enumerate(part))
      shape[shape.size() - part.size() + i] *= size;
  return oneTensor(shape, promotedElementType(call));
}

//===----------------------------------------------------------------------===//
// Convolution
//===----------------------------------------------------------------------===//

/// Entry `i` of a list in which one number stands for all dimensions.
static int64_t at(ArrayRef<int64_t> list, size_t i) {
  return list.size() == 1 ? list[0] : list[i];
}

struct ConvolutionSizes {
  SmallVector<int64_t> stride, padding, dilation, outputPadding;
  int64_t groups = 1;
  bool isTransposed = false;
};

static ResultTypes convolve(RankedTensorType input, RankedTensorType weight,
                            const ConvolutionSizes &sizes, EmitError error) {
  int64_t spatial = weight.getRank() - 2;
  bool isBatched = input.getRank() == weight.getRank();
  if (spatial < 1 || (!isBatched && input.getRank() != weight.getRank() - 1))
    return error() << "input " << describe(input.getShape())
                   << " does not fit weight " << describe(weight.getShape());
  if (input.getElementType() != weight.getElementType())
    return error() << "mixes " << dtypeName(input.getElementType()) << " and "
                   << dtypeName(weight.getElementType());
  auto tooShort = [&](ArrayRef<int64_t> list) {
    return list.size() != 1 && static_cast<int64_t>(list.size()) < spatial;
  };
  if (tooShort(sizes.stride) || tooShort(sizes.padding) ||
      tooShort(sizes.dilation))
    return error() << "stride, padding and dilation need " << spatial
                   << " entries";
  ArrayRef<int64_t> image = input.getShape().take_back(spatial);
  ArrayRef<int64_t> window = weight.getShape().take_back(spatial);
  int64_t channels = input.getDimSize(isBatched ? 1 : 0);
  int64_t expected = sizes.isTransposed ? weight.getDimSize(0)
                                        : weight.getDimSize(1) * sizes.groups;
  if (sizes.groups <= 0 || channels != expected)
    return error() << "the input has " << channels
                   << " channels, but the weight "
                   << describe(weight.getShape()) << " in " << sizes.groups
                   << " groups takes " << expected;
  Shape shape;
  if (isBatched)
    shape.push_back(input.getDimSize(0));
  shape.push_back(sizes.isTransposed ? weight.getDimSize(1) * sizes.groups
                                     : weight.getDimSize(0));
  for (int64_t i = 0; i < spatial; ++i) {
    int64_t stride = at(sizes.stride, i), padding = at(sizes.padding, i),
            extent = at(sizes.dilation, i) * (window[i] - 1) + 1;
    if (stride <= 0 || at(sizes.dilation, i) <= 0)
      return error() << "stride and dilation must be positive";
    int64_t size = sizes.isTransposed
                       ? (image[i] - 1) * stride - 2 * padding + extent +
                             at(sizes.outputPadding, i)
                       : (image[i] + 2 * padding - extent) / stride + 1;
    if (size < 0 || (!sizes.isTransposed && image[i] + 2 * padding < extent))
      return error() << "a window of " << extent << " does not fit dimension "
                     << i << " of size " << image[i] << " padded by "
                     << padding;
    shape.push_back(size);
  }
  return oneTensor(shape, input.getElementType());
}

ResultTypes rules::convolution(const Call &call, EmitError error) {
  ConvolutionSizes sizes{call.integers("stride"),
                         call.integers("padding"),
                         call.integers("dilation"),
                         {0},
                         call.integer("groups")};
  if (call.schema->find("transposed") >= 0) {
    sizes.isTransposed = call.flag("transposed");
    sizes.outputPadding = call.integers("output_padding");
    if (sizes.outputPadding.empty())
      sizes.outputPadding = {0};
  }
  return convolve(call.tensorType("input"), call.tensorType("weight"), sizes,
                  error);
}

/// conv2d.padding: "valid", or "same" with stride one.
ResultTypes rules::convolutionNamedPadding(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input"),
                   weight = call.tensorType("weight");
  ConvolutionSizes sizes{call.integers("stride"),
                         {0},
                         call.integers("dilation"),
                         {0},
                         call.integer("groups")};
  if (call.string("padding") == "valid")
    return convolve(input, weight, sizes, error);
  if (call.string("padding") != "same" ||
      llvm::any_of(sizes.stride, [](int64_t stride) { return stride != 1; }))
    return error() << "padding '" << call.string("padding") << "' with stride "
                   << describe(sizes.stride);
  int64_t spatial = weight.getRank() - 2;
  Shape shape(input.getShape());
  if (static_cast<int64_t>(shape.size()) <= spatial)
    return error() << "input " << describe(shape) << " does not fit weight "
                   << describe(weight.getShape());
  shape[shape.size() - spatial - 1] = weight.getDimSize(0);
  return oneTensor(shape, input.getElementType());
}

ResultTypes rules::convolutionTransposed(const Call &call, EmitError error) {
  ConvolutionSizes sizes{
      call.integers("stride"),   call.integers("padding"),
      call.integers("dilation"), call.integers("output_padding"),
      call.integer("groups"),
      /*isTransposed=*/true};
  return convolve(call.tensorType("input"), call.tensorType("weight"), sizes,
                  error);
}

/// Whether entry `i` of `output_mask` asks for a result.
static bool isWanted(const Call &call, unsigned i) {
  auto mask = cast<ArrayAttr>(call.literal("output_mask"));
  return cast<BoolAttr>(mask[i]).getValue();
}

ResultTypes rules::convolutionBackward(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input"),
                   weight = call.tensorType("weight");
  int64_t channels = call.tensorType("grad_output").getDimSize(1);
  Type none = noType(call);
  return SmallVector<Type>{
      isWanted(call, 0) ? input : none, isWanted(call, 1) ? weight : none,
      isWanted(call, 2) ? tensorOf({channels}, input.getElementType()) : none};
}

//===----------------------------------------------------------------------===//
// Pooling and resampling
//===----------------------------------------------------------------------===//

static FailureOr<Shape> pooledShape(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> window = call.integers("kernel_size"),
                       stride = call.integers("stride"),
                       padding = call.integers("padding"), dilation{1};
  if (stride.empty())
    stride = window;
  if (call.schema->find("dilation") >= 0)
    dilation = call.integers("dilation");
  size_t spatial = window.size();
  if (self.getRank() < static_cast<int64_t>(spatial) + 1)
    return error() << "pools " << spatial << " dimensions of "
                   << describe(self.getShape());
  Shape shape(self.getShape());
  for (size_t i = 0; i < spatial; ++i) {
    int64_t &size = shape[shape.size() - spatial + i];
    int64_t step = at(stride, i), before = at(padding, i);
    int64_t extent = at(dilation, i) * (window[i] - 1) + 1;
    if (step <= 0 || size + 2 * before < extent)
      return error() << "a window of " << extent << " every " << step
                     << " does not fit " << size << " elements padded by "
                     << before;
    int64_t span = size + 2 * before - extent;
    int64_t count = span / step + 1;
    // A last window that starts inside the input or its left padding counts.
    if (call.flag("ceil_mode") && span % step != 0 &&
        count * step < size + before)
      ++count;
    size = count;
  }
  return shape;
}

ResultTypes rules::pool(const Call &call, EmitError error) {
  auto shape = pooledShape(call, error);
  if (failed(shape))
    return failure();
  return oneTensor(*shape, firstTensor(call).getElementType());
}

ResultTypes rules::maxPoolWithIndices(const Call &call, EmitError error) {
  auto shape = pooledShape(call, error);
  if (failed(shape))
    return failure();
  return SmallVector<Type>{tensorOf(*shape, firstTensor(call).getElementType()),
                           tensorOf(*shape, i64Type(call))};
}

ResultTypes rules::adaptivePool(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  SmallVector<int64_t> sizes = call.integers("output_size");
  if (self.getRank() <= static_cast<int64_t>(sizes.size()))
    return error() << "pools " << sizes.size() << " dimensions of "
                   << describe(self.getShape());
  Shape shape(self.getShape().drop_back(sizes.size()));
  llvm::append_range(shape, sizes);
  return oneTensor(shape, self.getElementType());
}

ResultTypes rules::adaptiveMaxPool(const Call &call, EmitError error) {
  ResultTypes types = adaptivePool(call, error);
  if (failed(types))
    return failure();
  auto type = cast<RankedTensorType>(types->front());
  types->push_back(tensorOf(type.getShape(), i64Type(call)));
  return types;
}

ResultTypes rules::upsample(const Call &call, EmitError error) {
  RankedTensorType input = firstTensor(call);
  if (input.getRank() < 3)
    return error() << "needs a batch of images, not "
                   << describe(input.getShape());
  Shape shape(input.getShape());
  bool isVector = call.schema->find("scale_factors") >= 0;
  if (isVector && call.isNone("output_size")) {
    SmallVector<double> factors = call.numbers("scale_factors");
    for (auto [i, factor] : llvm::enumerate(factors))
      shape[2 + i] = static_cast<int64_t>(std::floor(shape[2 + i] * factor));
    return oneTensor(shape, input.getElementType());
  }
  SmallVector<int64_t> sizes = call.integers("output_size");
  if (sizes.size() + 2 != shape.size())
    return error() << "cannot resize " << describe(shape) << " to "
                   << describe(sizes);
  llvm::copy(sizes, shape.begin() + 2);
  return oneTensor(shape, input.getElementType());
}

ResultTypes rules::gridSample(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input"),
                   grid = call.tensorType("grid");
  if (input.getRank() != grid.getRank() || input.getRank() < 4)
    return error() << "grid " << describe(grid.getShape())
                   << " does not fit input " << describe(input.getShape());
  Shape shape(input.getShape().take_front(2));
  llvm::append_range(shape, grid.getShape().slice(1, grid.getRank() - 2));
  return oneTensor(shape, input.getElementType());
}

ResultTypes rules::glu(const Call &call, EmitError error) {
  RankedTensorType self = firstTensor(call);
  auto dim = dimension(call, "dim", self.getRank(), error);
  if (failed(dim))
    return failure();
  if (self.getRank() == 0 || self.getDimSize(*dim) % 2)
    return error() << "cannot halve dimension " << *dim << " of "
                   << describe(self.getShape());
  Shape shape(self.getShape());
  shape[*dim] /= 2;
  return oneTensor(shape, self.getElementType());
}

//===----------------------------------------------------------------------===//
// Recurrent networks
//===----------------------------------------------------------------------===//

/// lstm.input, gru.input, rnn_tanh.input, rnn_relu.input.
ResultTypes rules::recurrent(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  bool isLstm = call.schema->returns.size() == 3;
  SmallVector<RankedTensorType> states =
      isLstm ? listTypes(call, "hx")
             : SmallVector<RankedTensorType>{call.tensorType("hx")};
  if (states.empty() || states.front().getRank() != input.getRank())
    return error() << "the initial state does not fit input "
                   << describe(input.getShape());
  Shape shape(input.getShape());
  shape.back() =
      states.front().getShape().back() * (call.flag("bidirectional") ? 2 : 1);
  SmallVector<Type> types{tensorOf(shape, input.getElementType())};
  llvm::append_range(types, states);
  return types;
}

ResultTypes rules::recurrentCell(const Call &call, EmitError error) {
  if (call.schema->returns.size() == 1)
    return SmallVector<Type>{call.tensorType("hx")};
  SmallVector<Type> types;
  llvm::append_range(types, listTypes(call, "hx"));
  return types;
}

//===----------------------------------------------------------------------===//
// Normalisation
//===----------------------------------------------------------------------===//
// Statistics have the type that PyTorch's CUDA kernels give them, float32 for
// half-precision inputs.

ResultTypes rules::nativeBatchNorm(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  if (input.getRank() < 2)
    return error() << "needs channels, but the input has shape "
                   << describe(input.getShape());
  Type statistics =
      tensorOf({input.getDimSize(1)}, accumulatorType(input.getElementType()));
  return SmallVector<Type>{input, statistics, statistics};
}

ResultTypes rules::batchNormFunctional(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  Type statistics =
      tensorOf({input.getDimSize(1)}, accumulatorType(input.getElementType()));
  SmallVector<Type> types{input, statistics, statistics};
  if (call.schema->returns.size() == 6) // the workspace of cuDNN
    types.push_back(tensorOf(
        {0}, IntegerType::get(input.getContext(), 8, IntegerType::Unsigned)));
  bool isTraining = call.schema->find("training") < 0 || call.flag("training");
  for (StringRef name : {"running_mean", "running_var"}) {
    RankedTensorType running = call.tensorType(name);
    Type element = running.getElementType();
    if (isTraining) // an average with the batch's
      element = promoteTypes(element, accumulatorType(input.getElementType()));
    types.push_back(tensorOf(running.getShape(), element));
  }
  return types;
}

ResultTypes rules::nativeLayerNorm(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  SmallVector<int64_t> normalized = call.integers("normalized_shape");
  if (input.getShape().take_back(normalized.size()) !=
      ArrayRef<int64_t>(normalized))
    return error() << "normalises over " << describe(normalized)
                   << ", but the input has shape "
                   << describe(input.getShape());
  Shape shape(input.getShape());
  for (size_t i = 0; i < normalized.size(); ++i)
    shape[shape.size() - 1 - i] = 1;
  Type statistics = tensorOf(shape, accumulatorType(input.getElementType()));
  return SmallVector<Type>{input, statistics, statistics};
}

ResultTypes rules::fusedRmsNorm(const Call &call, EmitError error) {
  ResultTypes types = nativeLayerNorm(call, error);
  if (succeeded(types))
    types->pop_back();
  return types;
}

ResultTypes rules::nativeGroupNorm(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  Type statistics = tensorOf({call.integer("N"), call.integer("group")},
                             accumulatorType(input.getElementType()));
  return SmallVector<Type>{input, statistics, statistics};
}

/// Gradients of input, weight and bias, as far as the mask asks for them.
ResultTypes rules::normBackward(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  RankedTensorType weight = call.tensorType("weight");
  if (!weight) { // a parameter's shape without the parameter
    Shape shape = call.schema->find("C") >= 0
                      ? Shape{call.integer("C")}
                      : Shape(call.integers("normalized_shape"));
    weight = tensorOf(shape, input.getElementType());
  }
  Type none = noType(call);
  return SmallVector<Type>{isWanted(call, 0) ? input : none,
                           isWanted(call, 1) ? weight : none,
                           isWanted(call, 2) ? weight : none};
}

ResultTypes rules::batchNormBackward(const Call &call, EmitError error) {
  RankedTensorType input = call.tensorType("input");
  RankedTensorType weight = call.tensorType("weight");
  if (!weight)
    weight = tensorOf({input.getDimSize(1)},
                      accumulatorType(input.getElementType()));
  Type none = noType(call);
  return SmallVector<Type>{input, isWanted(call, 1) ? weight : none,
                           isWanted(call, 2) ? weight : none};
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Query's shape with the width of the values.
static RankedTensorType attended(const Call &call) {
  RankedTensorType query = call.tensorType("query");
  Shape shape(query.getShape());
  shape.back() = call.tensorType("value").getShape().back();
  return tensorOf(shape, query.getElementType());
}

static LogicalResult checkAttention(const Call &call, EmitError error) {
  RankedTensorType query = call.tensorType("query"),
                   key = call.tensorType("key"),
                   value = call.tensorType("value");
  int64_t rank = query.getRank();
  if (rank < 2 || key.getRank() < 2 || value.getRank() < 2 ||
      query.getShape().back() != key.getShape().back() ||
      key.getDimSize(key.getRank() - 2) !=
          value.getDimSize(value.getRank() - 2))
    return error() << "query " << describe(query.getShape()) << ", key "
                   << describe(key.getShape()) << " and value "
                   << describe(value.getShape()) << " do not fit";
  return success();
}

ResultTypes rules::attention(const Call &call, EmitError error) {
  if (failed(checkAttention(call, error)))
    return failure();
  return SmallVector<Type>{attended(call)};
}

/// Scores of query against key, before the product with value.
ResultTypes rules::attentionMath(const Call &call, EmitError error) {
  if (failed(checkAttention(call, error)))
    return failure();
  RankedTensorType query = call.tensorType("query"),
                   key = call.tensorType("key");
  Shape scores(query.getShape());
  scores.back() = key.getDimSize(key.getRank() - 2);
  return SmallVector<Type>{attended(call),
                           tensorOf(scores, query.getElementType())};
}

/// Seed and offset of Philox, where dropout would use them.
static RankedTensorType philox(const Call &call) {
  return tensorOf({}, i64Type(call));
}

ResultTypes rules::cudnnAttention(const Call &call, EmitError error) {
  if (failed(checkAttention(call, error)))
    return failure();
  RankedTensorType query = call.tensorType("query");
  Shape rows(query.getShape().drop_back());
  rows.push_back(1);
  Type none = noType(call), i64 = i64Type(call), seed = philox(call);
  return SmallVector<Type>{attended(call),
                           tensorOf(rows, f32Type(call)),
                           none,
                           none,
                           i64,
                           i64,
                           seed,
                           seed,
                           none};
}

ResultTypes rules::flashAttention(const Call &call, EmitError error) {
  if (failed(checkAttention(call, error)))
    return failure();
  RankedTensorType query = call.tensorType("query");
  Type none = noType(call), i64 = i64Type(call);
  Type ui64 = IntegerType::get(i64.getContext(), 64, IntegerType::Unsigned);
  return SmallVector<Type>{
      attended(call),
      tensorOf(query.getShape().drop_back(), f32Type(call)),
      none,
      none,
      i64,
      i64,
      tensorOf({2}, ui64),
      tensorOf({}, ui64),
      tensorOf({0}, query.getElementType())};
}

ResultTypes rules::flashAttentionCpu(const Call &call, EmitError error) {
  if (failed(checkAttention(call, error)))
    return failure();
  RankedTensorType query = call.tensorType("query");
  return SmallVector<Type>{attended(call),
                           tensorOf(query.getShape().drop_back(),
                                    accumulatorType(query.getElementType()))};
}

/// Query is B x H x L x E, or B x L x H x E for _efficient_attention_forward.
ResultTypes rules::efficientAttention(const Call &call, EmitError error) {
  RankedTensorType query = call.tensorType("query");
  if (failed(checkRank(query, 4, error)))
    return failure();
  bool isRaw = call.schema->find("bias") >= 0;
  int64_t heads = query.getDimSize(isRaw ? 2 : 1);
  int64_t rows = query.getDimSize(isRaw ? 1 : 2);
  // The kernel works on tiles of 32 rows.
  int64_t padded = call.flag("compute_log_sumexp") ? (rows + 31) / 32 * 32 : 0;
  SmallVector<Type> types{
      attended(call),
      tensorOf({query.getDimSize(0), heads, padded}, f32Type(call)),
      philox(call), philox(call)};
  if (isRaw)
    types.append({i64Type(call), i64Type(call)});
  return types;
}

ResultTypes rules::attentionBackward(const Call &call, EmitError error) {
  return SmallVector<Type>{call.tensorType("query"), call.tensorType("key"),
                           call.tensorType("value")};
}

ResultTypes rules::efficientAttentionBackward(const Call &call,
                                              EmitError error) {
  ResultTypes types = attentionBackward(call, error);
  RankedTensorType bias = call.tensorType("attn_bias");
  bool isWanted =
      cast<BoolAttr>(cast<ArrayAttr>(call.literal("grad_input_mask"))[3])
          .getValue();
  types->push_back(isWanted && bias ? Type(bias) : noType(call));
  return types;
}

} // namespace gcompile::aten
