//===- NodeNames.cpp - the user's names for operations --------------------===//
#include "gcompile/ir/NodeNames.h"

#include "mlir/IR/Location.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;

namespace gcompile {

static void collect(Location loc, llvm::SmallSetVector<StringRef, 4> &names) {
  if (auto named = dyn_cast<NameLoc>(loc))
    names.insert(named.getName().getValue());
  else if (auto fused = dyn_cast<FusedLoc>(loc))
    for (Location part : fused.getLocations())
      collect(part, names);
  else if (auto call = dyn_cast<CallSiteLoc>(loc))
    collect(call.getCallee(), names);
}

SmallVector<StringRef> nodeNames(Location loc) {
  llvm::SmallSetVector<StringRef, 4> names;
  collect(loc, names);
  return SmallVector<StringRef>(names.begin(), names.end());
}

std::string nodeName(Operation *op) {
  SmallVector<StringRef> names = nodeNames(op->getLoc());
  return names.empty() ? op->getName().getStringRef().str()
                       : names.back().str();
}

} // namespace gcompile
