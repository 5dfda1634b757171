//===- AtenBuilder.h - building aten calls with inferred types ------------===//
#pragma once
#include "gcompile/ir/OperatorTable.h"

#include "mlir/IR/Builders.h"

#include <variant>

namespace gcompile::aten {

/// One argument of a call under construction: a value, a literal, or a list.
class Arg {
public:
  Arg(mlir::Value value) : value(value) {}
  Arg(mlir::Attribute literal) : literal(literal) {}
  Arg(mlir::Type dtype);
  Arg(int value) : Arg(static_cast<int64_t>(value)) {}
  Arg(int64_t value) : integer(value) {}
  Arg(double value) : number(value) {}
  Arg(bool value) : boolean(value) {}
  Arg(const char *text) : text(text) {}
  Arg(llvm::ArrayRef<int64_t> list)
      : integers(llvm::SmallVector<int64_t>(list)) {}
  Arg(const llvm::SmallVector<int64_t> &list) : integers(list) {}
  Arg(llvm::ArrayRef<mlir::Value> list)
      : values(llvm::SmallVector<mlir::Value>(list)) {}
  Arg(const llvm::SmallVector<mlir::Value> &list) : values(list) {}
  /// Python's None.
  static Arg none() { return Arg(); }

  mlir::Value value;
  mlir::Attribute literal;
  std::optional<int64_t> integer;
  std::optional<double> number;
  std::optional<bool> boolean;
  std::optional<std::string> text;
  std::optional<llvm::SmallVector<int64_t>> integers;
  std::optional<llvm::SmallVector<mlir::Value>> values;

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

  mlir::OpBuilder &builder;
  mlir::Location loc;
};

} // namespace gcompile::aten
