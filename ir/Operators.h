//===- Operators.h - the operator table's source --------------------------===//
#pragma once
#include "gcompile/ir/OperatorTable.h"

namespace gcompile::aten {

/// Operators whose results follow by one rule, a schema a line.
struct OperatorGroup {
  ResultRule rule;
  const char *schemas;
};
llvm::ArrayRef<OperatorGroup> operatorGroups();

} // namespace gcompile::aten
