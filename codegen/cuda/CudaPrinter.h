//===- CudaPrinter.h - emitted functions as CUDA C++ ----------------------===//
#pragma once
#include "mlir/Dialect/Func/IR/FuncOps.h"

#include <string>

namespace gcompile::cuda {

/// Prints the functions of a module as CUDA C++, after its attributes "comment"
/// and "includes" (a list of headers).
///
/// A function with the attribute "merge" (a string) becomes a struct of that
/// name with a member a result and a method merge(other); any other is a
/// kernel. Bodies hold arith, math and scf, and these calls of emitc:
///
///   load(p, i), store(p, i, x)        p[i], p[i] = x
///   load_vec(p, i), store_vec(p, i, v)   neighbours, from gcompile.cuh
///   lane(v, i), set_lane(v, i, x)     v.v[i]
///   at(a, i), set_at(a, i, x)         a[i] of a local array
///   declare()                         a local variable of the result's type
///   reduce.FUNCTION(x...)             the members of STRUCT{x...}, reduced by
///                                     FUNCTION, both attributes
///   return_unless(c)                  ends the thread
///
/// Literals of emitc are printed as they are. An attribute "hint" of an
/// operation names its result. `indexType` is what index becomes.
/// Reports an error where an operation has no CUDA C++.
mlir::FailureOr<std::string> printCuda(mlir::ModuleOp module,
                                       mlir::StringRef indexType);

/// The C++ type of an element in memory or in a register.
std::string elementType(mlir::Type type);

} // namespace gcompile::cuda
