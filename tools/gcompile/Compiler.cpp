//===- Compiler.cpp - from a program to a plan ----------------------------===//
#include "Compiler.h"

#include "gcompile/codegen/BuildPlan.h"
#include "gcompile/frontend/ProgramImporter.h"
#include "gcompile/ir/OperatorTable.h"
#include "gcompile/passes/Passes.h"
#include "gcompile/passes/Pipelines.h"

#include "mlir/Pass/PassManager.h"
#include "llvm/Support/raw_ostream.h"

#include <filesystem>
#include <fmt/format.h>

using namespace mlir;

namespace gcompile::tool {
namespace {

/// What to tell the user of a diagnostic's place: the node and its source line.
void describePlace(Location loc, std::string &node, std::string &source) {
  if (auto named = dyn_cast<NameLoc>(loc)) {
    if (node.empty())
      node = named.getName().str();
    describePlace(named.getChildLoc(), node, source);
  } else if (auto fused = dyn_cast<FusedLoc>(loc)) {
    if (auto text = dyn_cast_or_null<StringAttr>(fused.getMetadata());
        text && source.empty())
      source = text.str();
    for (Location part : fused.getLocations())
      describePlace(part, node, source);
  } else if (auto file = dyn_cast<FileLineColLoc>(loc)) {
    if (source.empty())
      source = fmt::format("{}:{}", file.getFilename().str(), file.getLine());
  }
}

/// Collects the errors that MLIR reports, to be one Error of ours.
class DiagnosticCollector {
public:
  explicit DiagnosticCollector(MLIRContext &context)
      : handler(&context, [this](Diagnostic &diagnostic) {
          return collect(diagnostic);
        }) {}

  /// The errors so far as one; `fallback` says what failed if nothing was said.
  Error error(const std::string &model, const std::string &fallback) {
    if (errors.empty())
      return Error{
          ErrorCode::Internal, model + ": " + fallback, {}, reportHelp};
    Error first = errors.front();
    first.message = model + ": " + first.message;
    for (size_t i = 1; i < errors.size(); ++i) {
      if (i == maxShown) {
        first.notes.push_back(
            fmt::format("and {} more errors", errors.size() - maxShown));
        break;
      }
      first.notes.push_back(errors[i].message);
      for (const std::string &note : errors[i].notes)
        first.notes.push_back("  " + note);
    }
    return first;
  }

private:
  static constexpr size_t maxShown = 20;
  static constexpr const char *reportHelp =
      "this is a fault of gcompile: please report it with the model's graph";

  LogicalResult collect(Diagnostic &diagnostic) {
    if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
      return success();
    std::string node, source;
    describePlace(diagnostic.getLocation(), node, source);
    Error error;
    error.message = diagnostic.str();
    if (!node.empty() &&
        error.message.find("'" + node + "'") == std::string::npos)
      error.message = fmt::format("node '{}': {}", node, error.message);
    if (!source.empty())
      error.notes.push_back("from  " + source);
    for (Diagnostic &note : diagnostic.getNotes())
      error.notes.push_back(note.str());
    if (error.message.find("unsupported") != std::string::npos) {
      error.code = ErrorCode::Unsupported;
      error.help = "--triage lists all that this model needs and gcompile does "
                   "not know";
    } else if (error.message.find("internal error") != std::string::npos) {
      error.code = ErrorCode::Internal;
      error.help = reportHelp;
    } else {
      error.code = ErrorCode::InvalidArgument;
    }
    errors.push_back(std::move(error));
    return success();
  }

  std::vector<Error> errors;
  ScopedDiagnosticHandler handler;
};

/// Writes the text of a form, to be read by people and by gcompile-opt.
void dump(const std::string &folder, const char *name, ModuleOp module) {
  if (folder.empty())
    return;
  std::filesystem::create_directories(folder);
  std::error_code failure;
  std::string path = folder + "/" + name;
  llvm::raw_fd_ostream stream(path, failure);
  if (failure)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("cannot write '{}': {}", path, failure.message()));
  OpPrintingFlags flags;
  flags.enableDebugInfo(true, false);
  module->print(stream, flags);
}

/// Operations that do work: not constants, empty tensors and views.
int64_t countOperations(ModuleOp module) {
  int64_t count = 0;
  module.walk([&](Operation *op) {
    count += isa<linalg::LinalgOp>(op) || tg::isStructuredOp(op);
  });
  return count;
}

KernelCounts countKernels(ModuleOp module) {
  KernelCounts counts;
  module.walk([&](tg::KernelOp kernel) {
    if (kernel->getParentOfType<func::FuncOp>().getName() == "prepare") {
      ++counts.prepare;
      return;
    }
    ++counts.steps;
    counts.anchored += kernel.getAnchor() != nullptr;
  });
  return counts;
}

/// One file a kernel, as it is handed to its compiler.
void dumpKernels(const std::string &dir, const plan::Plan &plan) {
  std::filesystem::create_directories(dir);
  for (const plan::Kernel &kernel : plan.kernels) {
    std::error_code failure;
    llvm::raw_fd_ostream stream(
        fmt::format("{}/{}.{}", dir, kernel.symbol,
                    kernel.language == "cuda" ? "cu" : "ll"),
        failure);
    stream << kernel.source;
  }
}

} // namespace

std::vector<std::string> knownOperators() {
  MLIRContext context;
  context.loadDialect<aten::AtenDialect>();
  return aten::supportedOperators(&context);
}

std::vector<std::string> unsupportedOperators(const frontend::Model &model) {
  MLIRContext context;
  context.loadDialect<aten::AtenDialect>();
  std::vector<std::string> lines;
  for (const auto &unknown :
       frontend::findUnknownOperators(context, model.program)) {
    std::string line =
        fmt::format("{}  ({} node{})", unknown.target, unknown.nodes.size(),
                    unknown.nodes.size() == 1 ? "" : "s");
    for (const frontend::Node *node : unknown.nodes) {
      std::string source = frontend::describeSource(node->location);
      line += fmt::format("\n    {}{}{}", node->name,
                          source.empty() ? "" : "  ", source);
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

Result<CompiledProgram> compileProgram(const CompileRequest &request,
                                       Progress &progress) {
  const std::string &name = request.model->path;
  MLIRContext context(MLIRContext::Threading::DISABLED);
  DiagnosticCollector diagnostics(context);

  progress.stage("import");
  OwningOpRef<ModuleOp> module =
      frontend::importProgram(context, request.model->program);
  if (!module)
    return diagnostics.error(name, "the program could not be imported");
  dump(request.dumpDir, "1-program.mlir", *module);

  progress.stage("passes");
  auto run = [&](auto build) {
    PassManager manager(&context);
    manager.enableVerifier(false);
    build(manager);
    return manager.run(*module);
  };
  PipelineOptions options;
  options.inputSizes = request.inputSizes;
  options.isReference = request.reference;
  if (failed(
          run([&](OpPassManager &pm) { buildLegalizePipeline(pm, options); })))
    return diagnostics.error(name, "the program could not be legalised");
  dump(request.dumpDir, "2-tensors.mlir", *module);
  CompiledProgram compiled;
  compiled.numOperations = countOperations(*module);
  if (failed(run([&](OpPassManager &pm) { buildFusePipeline(pm, options); })))
    return diagnostics.error(name, "the program could not be fused");
  dump(request.dumpDir, "3-kernels.mlir", *module);

  compiled.kernels = countKernels(*module);

  progress.stage("codegen");
  TargetOptions target;
  target.device = request.device;
  target.modelName = std::filesystem::path(name).stem().string();
  FailureOr<plan::Plan> plan = buildPlan(*module, target);
  if (failed(plan))
    return diagnostics.error(name, "no plan could be made of the kernels");
  compiled.plan = std::move(*plan);
  if (!request.dumpDir.empty()) {
    std::error_code failure;
    llvm::raw_fd_ostream stream(request.dumpDir + "/4-plan.json", failure);
    stream << plan::toJson(compiled.plan).dump(1) << "\n";
    dumpKernels(request.dumpDir + "/kernels", compiled.plan);
  }
  progress.stage("");
  return compiled;
}

} // namespace gcompile::tool
