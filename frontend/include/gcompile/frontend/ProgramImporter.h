//===- ProgramImporter.h - from plain structs to the aten program ---------===//
#pragma once
#include "gcompile/frontend/Program.h"

#include "mlir/IR/BuiltinOps.h"
#include "mlir/IR/OwningOpRef.h"

#include <string>
#include <vector>

namespace gcompile::frontend {

/// Builds a module with one function, @forward, of aten.calls: one a node,
/// named and located after it. Arguments and results carry `aten.kind` and
/// `aten.name` (see the aten dialect), user inputs also `aten.user_name`;
/// unused literal inputs have no argument. Types are those recorded, checked
/// against the operators' own rules where all sizes are known, and inferred by
/// these rules where nothing is recorded. Every bad node is reported as a
/// diagnostic at its location, not only the first; then the result is null.
/// Loads the dialects it needs.
mlir::OwningOpRef<mlir::ModuleOp> importProgram(mlir::MLIRContext &context,
                                                const Program &program);

/// An operator that the table does not have, and the nodes that call it.
struct UnknownOperator {
  std::string target;
  std::vector<const Node *> nodes; ///< of the program given; in order
};

/// All unknown operators of the program, sub-graphs included, by name.
std::vector<UnknownOperator> findUnknownOperators(mlir::MLIRContext &context,
                                                  const Program &program);

/// "model.py:88 in forward:  y = y.view(5, 5)  (module blocks.1.attn)"; empty
/// where nothing is known.
std::string describeSource(const SourceLocation &location);

} // namespace gcompile::frontend
