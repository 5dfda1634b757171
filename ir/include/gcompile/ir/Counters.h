//===- Counters.h - what passes count -------------------------------------===//
// Release builds of MLIR compile pass statistics out, so passes count here.
// `gcompile-opt -tg-report` prints the counters, tests check them.
#pragma once
#include "mlir/IR/MLIRContext.h"

#include <cstdint>
#include <map>
#include <string>

namespace gcompile {

/// Adds `amount` to the counter "pass-name.counter-name" of this context.
/// Thread-safe. Needs a loaded tg dialect, which owns the counters.
void count(mlir::MLIRContext *context, llvm::StringRef counter,
           int64_t amount = 1);

/// All counters so far, by name.
std::map<std::string, int64_t> counters(mlir::MLIRContext *context);

} // namespace gcompile
