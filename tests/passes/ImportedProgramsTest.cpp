// Every recorded program is imported, specialised and functionalised: its
// recorded types agree with the result rules, and what is left are pure calls.
#include "gcompile/frontend/ProgramImporter.h"
#include "gcompile/frontend/Readers.h"
#include "gcompile/ir/OperatorTable.h"
#include "gcompile/passes/Passes.h"

// The samples of PyTorch's operator database lie many in a file.
#include "ExportJsonReader.h"

#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"

#include <filesystem>
#include <fstream>
#include <gtest/gtest.h>
#include <sstream>

using namespace mlir;
using namespace gcompile;

namespace {

/// The name of a symbolic size and the number it had at export.
void addHints(const frontend::Program &program,
              std::vector<std::string> &sizes) {
  for (size_t i = 0; i < program.inputs.size(); ++i) {
    auto *value =
        std::get_if<frontend::ValueRef>(&program.graph.inputs[i].data);
    if (program.inputs[i].kind != frontend::InputSpec::Kind::UserInput ||
        !value)
      continue;
    auto meta = program.graph.values.find(value->name);
    if (meta == program.graph.values.end() ||
        meta->second.kind != frontend::ValueKind::Tensor)
      continue;
    std::string shape;
    for (const frontend::SymInt &size : meta->second.sizes)
      shape += (shape.empty() ? "" : "x") +
               std::to_string(size.expr ? size.hint.value_or(8) : size.value);
    sizes.push_back(shape);
  }
}

/// Empty if the program is fine, else what is wrong.
std::string check(const frontend::Program &program) {
  MLIRContext context(MLIRContext::Threading::DISABLED);
  std::string problems;
  ScopedDiagnosticHandler handler(&context, [&](Diagnostic &diagnostic) {
    problems += diagnostic.str() + "\n";
    return success();
  });
  OwningOpRef<ModuleOp> module = frontend::importProgram(context, program);
  if (!module || failed(verify(*module)))
    return "import: " + problems;
  SpecializePassOptions specialize;
  std::vector<std::string> sizes;
  addHints(program, sizes);
  specialize.sizes = sizes;
  PassManager manager(&context);
  manager.addPass(createSpecializePass(specialize));
  manager.addPass(createFunctionalizePass());
  if (failed(manager.run(*module)))
    return "passes: " + problems;
  module->walk([&](aten::CallOp call) {
    const aten::Schema &schema =
        aten::lookupOperator(&context, call.getCallee())->schema;
    if (schema.isInPlace())
      problems += "still there: " + schema.callee + "\n";
    // What functionalisation makes has the types that the rules say.
    if (!aten::canInferTypes(call))
      return;
    auto types = aten::inferResultTypes(call, [&] { return call.emitError(); });
    if (failed(types))
      return;
    for (auto [result, type] : llvm::zip(call.getResultTypes(), *types))
      if (result != type && !isa<NoneType>(result))
        problems += "type of: " + schema.callee + "\n";
  });
  return problems;
}

std::vector<std::string> programFiles() {
  std::vector<std::string> files;
  for (const auto &entry :
       std::filesystem::recursive_directory_iterator(GCOMPILE_UNPACKED_DATA)) {
    std::string name = entry.path().filename();
    if (name == "model.json" || name == "core.json" || name == "core.fx.txt" ||
        name.starts_with("fx_graph_"))
      files.push_back(entry.path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

TEST(ImportedProgramsTest, recorded_programs_become_pure_calls) {
  std::vector<std::string> files = programFiles();
  ASSERT_FALSE(files.empty());
  for (const std::string &file : files) {
    Result<frontend::Model> model = frontend::readModel(file);
    ASSERT_TRUE(model.ok()) << model.error().render();
    EXPECT_EQ(check(model->program), "") << file;
  }
}

TEST(ImportedProgramsTest, samples_of_the_operator_database_become_pure_calls) {
  size_t numCases = 0, numByData = 0;
  for (const auto &entry :
       std::filesystem::directory_iterator(GCOMPILE_UNPACKED_DATA "/ops")) {
    if (entry.path().extension() != ".json")
      continue;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    std::string content = text.str();
    frontend::JsonDocument document(content, entry.path().filename());
    for (frontend::Json sample : document.root().at("cases").elements()) {
      ++numCases;
      std::string problem =
          check(frontend::readExportJson(sample.at("program")));
      if (problem.ends_with("depends on data\n")) // nonzero and its kin
        ++numByData;
      else
        EXPECT_EQ(problem, "") << sample.where();
    }
  }
  EXPECT_EQ(numCases, 1219u);
  EXPECT_EQ(numByData, 20u);
}

} // namespace
