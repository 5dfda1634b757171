//===- Report.cpp - print what the passes counted -------------------------===//
#include "gcompile/ir/Counters.h"
#include "gcompile/ir/Tg.h"
#include "gcompile/passes/Passes.h"

namespace gcompile {
#define GEN_PASS_DEF_REPORTPASS
#include "gcompile/passes/Passes.h.inc"

namespace {

struct ReportPass : impl::ReportPassBase<ReportPass> {
  void runOnOperation() override {
    for (const auto &[name, value] : counters(&getContext()))
      llvm::errs() << name << ": " << value << "\n";
    markAllAnalysesPreserved();
  }
};

} // namespace
} // namespace gcompile
