//===- OperatorTable.h - what gcompile knows of each operator -------------===//
// One entry an overload: its schema, as PyTorch prints it, and how the types of
// its results follow from the arguments. Passes add lowerings and
// decompositions in registries of their own, by the same name.
#pragma once
#include "gcompile/ir/Aten.h"

#include "mlir/IR/Diagnostics.h"

#include <optional>

namespace gcompile::aten {

/// Kind of a schema argument, list and optional apart.
enum class ArgType {
  Tensor,
  Int,
  Float,
  Bool,
  Scalar,
  String,
  DType,
  Layout,
  Device,
  MemoryFormat,
  Generator,
  Any,
};

struct SchemaArgument {
  std::string name;
  ArgType type = ArgType::Any;
  bool isList = false;     ///< T[]
  unsigned listSize = 0;   ///< T[2]: one number stands for two; 0: any length
  bool isOptional = false; ///< T?, or elements of T?[]
  bool isKeywordOnly = false;
  bool isAliased = false; ///< Tensor(a): a result may share its storage
  bool isWritten = false; ///< Tensor(a!): the call writes to it
  bool hasDefault = false;
  mlir::Attribute
      defaultValue; ///< as in aten.call's args; null without default
};

struct SchemaReturn {
  ArgType type = ArgType::Tensor;
  bool isList = false;
  /// Index of the argument whose storage it shares (view or in-place), or -1.
  int aliasOf = -1;
};

struct Schema {
  std::string callee; ///< "aten.add.Tensor"
  std::vector<SchemaArgument> arguments;
  std::vector<SchemaReturn> returns;
  /// Index of an argument, or -1.
  int find(llvm::StringRef argument) const;
  bool isInPlace() const; ///< writes to an argument
  bool isView() const;    ///< a result shares storage and nothing is written
};

/// Whether an entry of `args` may stand for the argument; `operandTypes` are
/// those of the call.
bool fitsSchema(const SchemaArgument &argument, mlir::Attribute arg,
                mlir::TypeRange operandTypes);
/// "an integer", "a list of tensors or None".
std::string describe(const SchemaArgument &argument);

/// Typed reading of one aten.call by schema argument name. An argument that the
/// schema does not have, or a literal of the wrong kind, is a bug of the
/// caller.
class Call {
public:
  explicit Call(CallOp op);
  CallOp op;
  const Schema *schema;

  bool isNone(llvm::StringRef name) const;
  /// The tensor (or symbolic scalar) operand; null for None and for literals.
  mlir::Value value(llvm::StringRef name) const;
  mlir::RankedTensorType tensorType(llvm::StringRef name) const;
  /// Elements of a tensor list; null where the element is None.
  llvm::SmallVector<mlir::Value> values(llvm::StringRef name) const;
  int64_t integer(llvm::StringRef name) const;
  std::optional<int64_t> maybeInteger(llvm::StringRef name) const;
  double number(llvm::StringRef name) const; ///< integer, float or bool literal
  std::optional<double> maybeNumber(llvm::StringRef name) const;
  bool flag(llvm::StringRef name) const;
  llvm::StringRef string(llvm::StringRef name) const;
  llvm::SmallVector<int64_t> integers(llvm::StringRef name) const;
  std::optional<llvm::SmallVector<int64_t>>
  maybeIntegers(llvm::StringRef name) const;
  llvm::SmallVector<double> numbers(llvm::StringRef name) const;
  /// A dtype argument as an element type; null for None.
  mlir::Type dtype(llvm::StringRef name) const;
  /// The literal as it stands in args.
  mlir::Attribute literal(llvm::StringRef name) const;
  /// `dim` of an argument, with negative values counted from the end of `rank`
  /// (0-dimensional tensors have one).
  int64_t dim(llvm::StringRef name, int64_t rank) const;
};

using EmitError = llvm::function_ref<mlir::InFlightDiagnostic()>;

/// The types of the results for these arguments, or a diagnostic that says
/// which argument is wrong. Needs static shapes and literal sizes. A result
/// that PyTorch leaves undefined has NoneType.
using ResultRule =
    mlir::FailureOr<llvm::SmallVector<mlir::Type>> (*)(const Call &, EmitError);

struct OperatorInfo {
  Schema schema;
  ResultRule resultRule = nullptr; ///< null: results must come with the program
};

/// The operator, or null. Thread-safe; entries live as long as `context`.
const OperatorInfo *lookupOperator(mlir::MLIRContext *context,
                                   llvm::StringRef callee);

/// Whether the operator has a result rule and the call what it needs.
bool canInferTypes(CallOp op);
/// The types that the result rule gives; only where canInferTypes().
mlir::FailureOr<llvm::SmallVector<mlir::Type>> inferResultTypes(CallOp op,
                                                                EmitError);

/// Whether the results differ from run to run: the operator draws random
/// numbers, and not with a probability of zero or in inference.
bool isRandom(CallOp op);

/// All names, sorted.
std::vector<std::string> supportedOperators(mlir::MLIRContext *context);

} // namespace gcompile::aten
