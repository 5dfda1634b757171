#include "PlanRunner.h"
#include "gcompile/codegen/BuildPlan.h"
#include "gcompile/cpu/CpuJit.h"
#include "gcompile/executor/Executable.h"
#include "gcompile/ir/Dialects.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>
#include <random>

using namespace mlir;

namespace gcompile::test {

std::optional<plan::Plan> planOf(const std::string &program,
                                 std::string *error) {
  DialectRegistry registry;
  registerGcompileDialects(registry);
  MLIRContext context(registry, MLIRContext::Threading::DISABLED);
  std::string diagnostics;
  context.getDiagEngine().registerHandler(
      [&](Diagnostic &diagnostic) { diagnostics += diagnostic.str() + "\n"; });
  auto module = parseSourceString<ModuleOp>(program, &context);
  std::optional<plan::Plan> result;
  if (module)
    if (FailureOr<plan::Plan> plan = buildPlan(*module, {}); succeeded(plan))
      result = std::move(*plan);
  if (error)
    *error = diagnostics;
  else if (!result)
    ADD_FAILURE() << diagnostics;
  return result;
}

std::vector<Tensor> run(const plan::Plan &plan,
                        const std::vector<Tensor> &inputs,
                        std::map<std::string, Tensor> *weights) {
  cpu::CpuJitOptions options;
  options.cacheDirectory = "";
  auto jit = cpu::CpuJit::create(options);
  if (!jit) {
    ADD_FAILURE() << jit.error().render();
    return {};
  }
  LoadOptions load;
  load.pool = std::make_shared<cpu::ThreadPool>(2);
  load.compiler = *jit;
  load.poison = true;
  auto resolve = [&](const std::string &name) -> Result<Tensor> {
    if (weights && weights->count(name))
      return weights->at(name);
    return Error{ErrorCode::InvalidArgument, "no weight " + name};
  };
  auto executable = Executable::load(plan, resolve, load);
  if (!executable) {
    ADD_FAILURE() << executable.error().render();
    return {};
  }
  auto outputs = (*executable)->run(inputs);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().render();
    return {};
  }
  for (const plan::Buffer &buffer : plan.buffers)
    if (buffer.kind == plan::BufferKind::State)
      (*weights)[buffer.weight] =
          (*executable)->state(buffer.weight).value().contiguous();
  return *outputs;
}

std::vector<float> randomFloats(int64_t count, unsigned seed) {
  std::mt19937 engine(seed);
  std::uniform_real_distribution<float> uniform(-2, 2);
  std::vector<float> values(static_cast<size_t>(count));
  for (float &value : values)
    value = uniform(engine);
  return values;
}

} // namespace gcompile::test
