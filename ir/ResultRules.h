//===- ResultRules.h - how result types follow from arguments -------------===//
// The rules of the operator table, by family, and what they share. Private to
// the table.
#pragma once
#include "gcompile/ir/OperatorTable.h"
#include "gcompile/ir/Promotion.h"

namespace gcompile::aten {

using mlir::failure;
using mlir::FailureOr;
using mlir::RankedTensorType;
using mlir::Type;
using Shape = llvm::SmallVector<int64_t>;
using ResultTypes = FailureOr<llvm::SmallVector<Type>>;

//===----------------------------------------------------------------------===//
// What rules share
//===----------------------------------------------------------------------===//

inline RankedTensorType tensorOf(llvm::ArrayRef<int64_t> shape, Type element) {
  return RankedTensorType::get(shape, element);
}
/// One tensor result.
inline ResultTypes oneTensor(llvm::ArrayRef<int64_t> shape, Type element) {
  return llvm::SmallVector<Type>{tensorOf(shape, element)};
}
Type i64Type(const Call &call);
Type f32Type(const Call &call);
/// Stands for a result that PyTorch leaves undefined.
Type noType(const Call &call);
/// The first tensor among the arguments.
RankedTensorType firstTensor(const Call &call);
/// All tensors among the arguments, those in lists included.
llvm::SmallVector<RankedTensorType> tensorTypes(const Call &call);
llvm::SmallVector<RankedTensorType> listTypes(const Call &call,
                                              llvm::StringRef name);

/// "[2, 3]".
std::string describe(llvm::ArrayRef<int64_t> shape);
int64_t numElements(llvm::ArrayRef<int64_t> shape);

/// PyTorch's broadcast of shapes, aligned at their ends.
FailureOr<Shape> broadcast(llvm::ArrayRef<llvm::ArrayRef<int64_t>> shapes,
                           EmitError error);
FailureOr<Shape> broadcastTensors(const Call &call, EmitError error);

/// Argument `name` as a dimension of a tensor of `rank`, in [0, max(rank, 1)).
FailureOr<int64_t> dimension(const Call &call, llvm::StringRef name,
                             int64_t rank, EmitError error);
FailureOr<int64_t> wrapDimension(int64_t dim, int64_t rank, EmitError error);
/// Likewise for a list, whose entries must differ.
FailureOr<llvm::SmallVector<int64_t>> dimensions(llvm::ArrayRef<int64_t> dims,
                                                 int64_t rank, EmitError error);
/// The argument `dtype`, or `otherwise` where it is None.
Type dtypeOr(const Call &call, Type otherwise);

//===----------------------------------------------------------------------===//
// Rules
//===----------------------------------------------------------------------===//

namespace rules {
#define RULE(name) ResultTypes name(const Call &call, EmitError error)
// PointwiseRules.cpp
RULE(pointwise);
RULE(pointwiseToFloat);
RULE(pointwiseToBool);
RULE(divideRounded);
RULE(floatPower);
RULE(sameAsFirst);
RULE(gradOfSelf);
RULE(inPlace);
RULE(noResult);
RULE(maskedFill);
RULE(convertType);
RULE(viewType);
RULE(sameAsSelfWithMask);
RULE(broadcastAll);
RULE(containedIn);
RULE(bucketPosition);
RULE(logSigmoidForward);
RULE(symbolicArithmetic);
RULE(symbolicLogic);
RULE(itemOf);
RULE(symbolicToInt);
RULE(symbolicToFloat);
RULE(symbolicToBool);
// ShapeRules.cpp
RULE(view);
RULE(viewAs);
RULE(expand);
RULE(expandAs);
RULE(permute);
RULE(transposeDims);
RULE(transposeLast);
RULE(reversed);
RULE(moveDims);
RULE(squeeze);
RULE(unsqueeze);
RULE(flatten);
RULE(ravel);
RULE(unflatten);
RULE(slice);
RULE(select);
RULE(narrow);
RULE(split);
RULE(chunk);
RULE(splitWithSizes);
RULE(tensorSplit);
RULE(unbind);
RULE(diagonal);
RULE(stridedView);
RULE(windows);
RULE(sized);
RULE(sizedLikeSelf);
RULE(filled);
RULE(likeSelf);
RULE(arange);
RULE(linspace);
RULE(identityMatrix);
RULE(scalarTensor);
RULE(randomInts);
RULE(iota);
RULE(triangleIndices);
RULE(concatenate);
RULE(stack);
RULE(meshgrid);
RULE(atLeast);
RULE(pad);
RULE(repeat);
RULE(repeatInterleave);
RULE(rotate);
RULE(difference);
RULE(diag);
RULE(diagEmbed);
RULE(gather);
RULE(take);
RULE(indexSelect);
RULE(indexTensors);
RULE(embedding);
RULE(embeddingBag);
RULE(oneHot);
RULE(backwardToSizes);
RULE(pixelShuffle);
RULE(pixelUnshuffle);
RULE(imageToColumns);
RULE(columnsToImage);
// ReductionRules.cpp
RULE(sumLike);
RULE(meanLike);
RULE(reduceSame);
RULE(reduceToFloat);
RULE(reduceToBool);
RULE(reduceToIndex);
RULE(reduceWithIndex);
RULE(reducePair);
RULE(extrema);
RULE(vectorNorm);
RULE(distance);
RULE(softmax);
RULE(softmaxBackward);
RULE(onlineSoftmax);
RULE(scan);
RULE(scanWithIndex);
RULE(topK);
RULE(toIndices);
RULE(histogram);
RULE(loss);
RULE(crossEntropy);
RULE(negativeLogLikelihood);
// LinearRules.cpp
RULE(matrixProduct);
RULE(batchProduct);
RULE(addedProduct);
RULE(vectorProduct);
RULE(dotProduct);
RULE(outerProduct);
RULE(matmul);
RULE(linear);
RULE(einsum);
RULE(bilinear);
RULE(kron);
RULE(convolution);
RULE(convolutionNamedPadding);
RULE(convolutionTransposed);
RULE(convolutionBackward);
RULE(pool);
RULE(maxPoolWithIndices);
RULE(adaptivePool);
RULE(adaptiveMaxPool);
RULE(upsample);
RULE(gridSample);
RULE(glu);
RULE(recurrent);
RULE(recurrentCell);
RULE(nativeBatchNorm);
RULE(batchNormFunctional);
RULE(nativeLayerNorm);
RULE(fusedRmsNorm);
RULE(nativeGroupNorm);
RULE(normBackward);
RULE(batchNormBackward);
RULE(attention);
RULE(attentionMath);
RULE(cudnnAttention);
RULE(flashAttention);
RULE(flashAttentionCpu);
RULE(efficientAttention);
RULE(attentionBackward);
RULE(efficientAttentionBackward);
#undef RULE
} // namespace rules

} // namespace gcompile::aten
