//===- Generics.h - reading and changing linalg.generic -------------------===//
#pragma once
#include "gcompile/ir/Tg.h"

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/Builders.h"

#include <optional>

namespace gcompile {

/// `value` before the views that lead to it.
mlir::Value baseOf(mlir::Value value);

/// Bytes of a tensor in memory; an i1 takes one.
int64_t numBytes(mlir::Type tensor);

/// The scalar that every element of `tensor` has, where that is known: that of
/// a linalg.fill with a constant or of a splat constant.
mlir::TypedAttr splatValue(mlir::Value tensor);

/// `map` in a spelling that upstream accepts as an input's. Upstream infers the
/// size of a loop from the first operand that is indexed by the plain
/// dimension; a slice would give it a wrong size, so there `d0` becomes `d0 mod
/// size`.
mlir::AffineMap guardedMap(mlir::AffineMap map, llvm::ArrayRef<int64_t> loops,
                           llvm::ArrayRef<int64_t> shape);

/// Gives `op` other inputs. `maps` are as they should be read; they are
/// guarded, and an operand that fixes the sizes of the loops (`loops`) is added
/// where they could not be inferred. The body keeps its arguments.
void setInputs(mlir::linalg::GenericOp op, llvm::ArrayRef<mlir::Value> inputs,
               llvm::ArrayRef<mlir::AffineMap> maps,
               llvm::ArrayRef<int64_t> loops);

/// The input that a pointwise generic returns unchanged, or null.
mlir::OpOperand *copiedOperand(mlir::linalg::GenericOp op);

/// result[i] = source[map(i)], in memory.
mlir::linalg::GenericOp buildCopy(mlir::OpBuilder &builder, mlir::Location loc,
                                  mlir::Value source, mlir::AffineMap map,
                                  llvm::ArrayRef<int64_t> shape);

/// A tensor with every element `value`, as a generic without inputs.
mlir::linalg::GenericOp buildSplat(mlir::OpBuilder &builder, mlir::Location loc,
                                   mlir::TypedAttr value,
                                   llvm::ArrayRef<int64_t> shape);

/// Work of one run of the body, cheap and costly: 1 for an add or a compare,
/// and apart from those 4 for a division and 16 for a transcendental function.
std::pair<double, double> bodyWork(mlir::linalg::GenericOp op);

/// True where a library call can read `value` by strides: a plain tensor, or a
/// view of one whose position is linear in the index.
bool isStrided(mlir::Value value);

} // namespace gcompile
