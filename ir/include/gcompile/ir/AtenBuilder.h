//===- AtenBuilder.h - building aten calls with inferred types ------------===//
#pragma once
#include "gcompile/ir/OperatorTable.h"

#include "mlir/IR/Builders.h"

#include <variant>

namespace gcompile::aten {

/// One argument of a call under construction: a value, a literal, or a list.
class Arg {
public:
  Arg(mlir::Value value) : data(value) {}
  Arg(mlir::Attribute literal) : data(literal) {}
  Arg(mlir::Type dtype);
  Arg(int value) : data(static_cast<int64_t>(value)) {}
  Arg(int64_t value) : data(value) {}
  Arg(double value) : data(value) {}
  Arg(bool value) : data(value) {}
  Arg(const char *text) : data(std::string(text)) {}
  Arg(llvm::ArrayRef<int64_t> list) : data(llvm::SmallVector<int64_t>(list)) {}
  Arg(const llvm::SmallVector<int64_t> &list) : data(list) {}
  Arg(llvm::ArrayRef<mlir::Value> list)
      : data(llvm::SmallVector<mlir::Value>(list)) {}
  Arg(const llvm::SmallVector<mlir::Value> &list) : data(list) {}
  /// An argument of another call, as it is there.
  Arg(const Call &call, llvm::StringRef name);
  /// Python's None.
  static Arg none() { return Arg(); }

  /// std::monostate is None; a null Value in a list, too.
  std::variant<std::monostate, mlir::Value, mlir::Attribute, int64_t, double,
               bool, std::string, llvm::SmallVector<int64_t>,
               llvm::SmallVector<mlir::Value>>
      data;

private:
  Arg() = default;
};

/// Builds `aten.call`s in schema order; arguments that are left out at the end
/// take the schema's defaults, keyword arguments go by name. Result types come
/// from the operator table.
class AtenBuilder {
public:
  AtenBuilder(mlir::OpBuilder &builder, mlir::Location loc)
      : builder(builder), loc(loc) {}

  using Keywords = llvm::ArrayRef<std::pair<llvm::StringRef, Arg>>;
  /// The only result of a call. A wrong call is a bug and stops the program
  /// with a message.
  mlir::Value call(llvm::StringRef callee, llvm::ArrayRef<Arg> args,
                   Keywords keywords = {});
  mlir::ValueRange callMulti(llvm::StringRef callee, llvm::ArrayRef<Arg> args,
                             Keywords keywords = {});
  /// Likewise, but a wrong call is a diagnostic at `loc`.
  mlir::FailureOr<mlir::Value> tryCall(llvm::StringRef callee,
                                       llvm::ArrayRef<Arg> args,
                                       Keywords keywords = {});

  mlir::OpBuilder &builder;
  mlir::Location loc;

private:
  mlir::FailureOr<mlir::ValueRange>
  build(llvm::StringRef callee, llvm::ArrayRef<Arg> args, Keywords keywords);
};

} // namespace gcompile::aten
