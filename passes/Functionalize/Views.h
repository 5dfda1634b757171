//===- Views.h - views as steps that can be taken and undone --------------===//
#pragma once
#include "gcompile/ir/AtenBuilder.h"

#include <optional>

namespace gcompile {

/// How a view's elements lie in the memory of the storage, as far as it is
/// known.
struct MemoryLayout {
  llvm::SmallVector<int64_t> strides;
  int64_t offset = 0;
};

MemoryLayout rowMajor(llvm::ArrayRef<int64_t> shape);
/// Whether the elements lie without gaps, dimensions in `order`, outermost
/// first.
bool isDense(const MemoryLayout &layout, llvm::ArrayRef<int64_t> shape,
             llvm::ArrayRef<int64_t> order);
bool isRowMajor(const MemoryLayout &layout, llvm::ArrayRef<int64_t> shape);

/// One view operator, in the few forms that all of them come down to. The
/// source and the result share memory.
struct ViewStep {
  enum class Kind {
    Identity,
    Reshape,  ///< to the result's shape, elements in the same order
    Permute,  ///< dims
    Expand,   ///< to the result's shape
    Slice,    ///< dim, start, end, step
    Select,   ///< dim, index
    Diagonal, ///< offset, dim1, dim2
    Strided,  ///< sizes (the result's shape), strides, offset in the storage
    Windows,  ///< dim, size, step
    Bits,     ///< as the result's element type
  };
  Kind kind = Kind::Identity;
  mlir::RankedTensorType source, result;
  llvm::SmallVector<int64_t> numbers; ///< as listed above
  llvm::SmallVector<int64_t> strides; ///< Strided

  /// The result's elements, as a pure function of the source's.
  mlir::Value apply(aten::AtenBuilder &builder, mlir::Value source) const;
  /// The source's elements after the result's have been replaced by `written`.
  /// Null where several elements of the result share memory.
  mlir::Value undo(aten::AtenBuilder &builder, mlir::Value oldSource,
                   mlir::Value written) const;
  /// Where the result's elements lie; none where that is not known.
  std::optional<MemoryLayout> layout(const MemoryLayout &source) const;
};

/// Whether the result of a call shares memory with an argument.
enum class Aliasing {
  None,   ///< a new tensor
  View,   ///< always
  Layout, ///< if the strides allow it, else a copy (reshape, contiguous)
};

/// What kind of alias the call's results are, of which operand, and each
/// result's step from it.
struct AliasInfo {
  Aliasing aliasing = Aliasing::None;
  mlir::Value source;
  llvm::SmallVector<ViewStep> steps; ///< one a result
  /// contiguous: the order of dimensions that makes it a view.
  llvm::SmallVector<int64_t> denseOrder;
};

/// Whether the results share memory with a source of this layout; none where
/// the layout would decide and is not known.
std::optional<bool> sharesMemory(const AliasInfo &info,
                                 const std::optional<MemoryLayout> &source);

/// Reads a call that is not in place. Fails, after a diagnostic, on a view that
/// has no step (of complex numbers).
mlir::FailureOr<AliasInfo> analyzeAlias(aten::CallOp op);

/// Squeezing, transposing and the like "in place": the argument's own view
/// changes, no element does. None for other calls.
std::optional<ViewStep> analyzeInPlaceView(aten::CallOp op);

} // namespace gcompile
