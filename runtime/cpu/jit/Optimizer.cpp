#include "Optimizer.h"

#include <llvm/Analysis/TargetLibraryInfo.h>
#include <llvm/AsmParser/Parser.h>
#include <llvm/Config/llvm-config.h>
#include <llvm/ExecutionEngine/Orc/JITTargetMachineBuilder.h>
#include <llvm/IR/LLVMContext.h>
#include <llvm/IR/LegacyPassManager.h>
#include <llvm/IR/Module.h>
#include <llvm/IR/Verifier.h>
#include <llvm/Passes/PassBuilder.h>
#include <llvm/Support/SourceMgr.h>
#include <llvm/Support/raw_ostream.h>

#include <deque>
#include <dlfcn.h>
#include <fmt/format.h>

namespace gcompile::cpu {
namespace {

/// Changes whenever the pipeline below makes other code of the same IR.
constexpr int kPipelineVersion = 1;

//===----------------------------------------------------------------------===//
// Vector versions of mathematical functions
//===----------------------------------------------------------------------===//

/// glibc's libmvec, in all the widths it has: LLVM's own table knows five of
/// its functions and no 512-bit ones. Holds the strings that llvm::VecDesc
/// refers to.
class VectorLibrary {
public:
  VectorLibrary() {
#if defined(__x86_64__)
    if (void *library = ::dlopen("libmvec.so.1", RTLD_NOW | RTLD_LOCAL))
      for (const Function &function : kFunctions)
        for (bool isDouble : {false, true})
          add(library, function, isDouble);
#endif
  }

  const std::vector<llvm::VecDesc> &functions() const { return descriptions; }

private:
  struct Function {
    const char *name;
    unsigned numArguments;
    bool isIntrinsic; ///< LLVM has an intrinsic of the name, too
  };
  static constexpr Function kFunctions[] = {
      {"sin", 1, true},    {"cos", 1, true},    {"tan", 1, true},
      {"asin", 1, true},   {"acos", 1, true},   {"atan", 1, true},
      {"sinh", 1, true},   {"cosh", 1, true},   {"tanh", 1, true},
      {"asinh", 1, false}, {"acosh", 1, false}, {"atanh", 1, false},
      {"exp", 1, true},    {"exp2", 1, true},   {"exp10", 1, true},
      {"expm1", 1, false}, {"log", 1, true},    {"log2", 1, true},
      {"log10", 1, true},  {"log1p", 1, false}, {"erf", 1, false},
      {"erfc", 1, false},  {"cbrt", 1, false},  {"pow", 2, true},
      {"atan2", 2, false}, {"hypot", 2, false},
  };

  /// The letters by which the vector ABI names SSE4, AVX2 and AVX-512.
  struct Isa {
    char letter;
    unsigned bits;
  };
  static constexpr Isa kIsas[] = {{'b', 128}, {'d', 256}, {'e', 512}};

  void add(void *library, const Function &function, bool isDouble) {
    const std::string arguments(function.numArguments, 'v');
    const std::string scalar =
        std::string(function.name) + (isDouble ? "" : "f");
    for (const Isa &isa : kIsas) {
      unsigned lanes = isa.bits / (isDouble ? 64 : 32);
      std::string vector =
          fmt::format("_ZGV{}N{}{}_{}", isa.letter, lanes, arguments, scalar);
      if (!::dlsym(library, vector.c_str()))
        continue;
      std::string prefix = fmt::format("_ZGV_LLVM_N{}{}", lanes, arguments);
      describe(scalar, vector, lanes, prefix);
      if (function.isIntrinsic)
        describe(fmt::format("llvm.{}.f{}", function.name, isDouble ? 64 : 32),
                 vector, lanes, prefix);
    }
  }

  void describe(const std::string &scalar, const std::string &vector,
                unsigned lanes, const std::string &prefix) {
    auto keep = [&](const std::string &text) {
      return llvm::StringRef(strings.emplace_back(text));
    };
    descriptions.emplace_back(keep(scalar), keep(vector),
                              llvm::ElementCount::getFixed(lanes),
                              /*Masked=*/false, keep(prefix));
  }

  std::deque<std::string> strings;
  std::vector<llvm::VecDesc> descriptions;
};

const VectorLibrary &vectorLibrary() {
  static const VectorLibrary library;
  return library;
}

Error internalError(std::string message) {
  return {ErrorCode::Internal, std::move(message), {}, {}};
}

} // namespace

//===----------------------------------------------------------------------===//
// Optimizer
//===----------------------------------------------------------------------===//

struct Optimizer::Impl {
  llvm::orc::JITTargetMachineBuilder machine;
  int vectorBits;

  void prepare(llvm::Module &module, const llvm::TargetMachine &target) const;
  void optimize(llvm::Module &module, llvm::TargetMachine &target) const;
};

Optimizer::Optimizer() = default;
Optimizer::~Optimizer() = default;

Result<std::unique_ptr<Optimizer>> Optimizer::create(int vectorBits) {
  auto machine = llvm::orc::JITTargetMachineBuilder::detectHost();
  if (!machine)
    return Error{ErrorCode::Device,
                 "cannot compile for this processor: " +
                     llvm::toString(machine.takeError()),
                 {},
                 {}};
  machine->setCodeGenOptLevel(llvm::CodeGenOptLevel::Aggressive);
  std::unique_ptr<Optimizer> optimizer(new Optimizer());
  optimizer->impl.reset(new Impl{std::move(*machine), vectorBits});
  return optimizer;
}

std::string Optimizer::configuration() const {
  std::string features = impl->machine.getFeatures().getString();
  std::string text = fmt::format(
      "gcompile {} pipeline {} llvm {} {} cpu {} features {} vectors {}\n",
      GCOMPILE_VERSION, kPipelineVersion, LLVM_VERSION_STRING,
      impl->machine.getTargetTriple().str(), impl->machine.getCPU(), features,
      impl->vectorBits);
  for (const llvm::VecDesc &function : vectorLibrary().functions())
    text += function.getVectorFnName().str() + "\n";
  return text;
}

/// States what holds of every kernel and what its producer need not know.
void Optimizer::Impl::prepare(llvm::Module &module,
                              const llvm::TargetMachine &target) const {
  module.setTargetTriple(target.getTargetTriple().str());
  module.setDataLayout(target.createDataLayout());
  for (llvm::Function &function : module) {
    function.setDoesNotThrow();
    if (function.isDeclaration())
      continue;
    function.addFnAttr("target-cpu", target.getTargetCPU());
    function.addFnAttr("target-features", target.getTargetFeatureString());
    function.addFnAttr("prefer-vector-width", std::to_string(vectorBits));
  }
  // Nothing reads errno, so calls of the C library's functions are pure;
  // without this, a loop with one in it is not vectorised.
  for (const llvm::VecDesc &description : vectorLibrary().functions())
    if (llvm::Function *function =
            module.getFunction(description.getScalarFnName());
        function && !function->isIntrinsic()) {
      function->setDoesNotAccessMemory();
      function->setWillReturn();
    }
}

void Optimizer::Impl::optimize(llvm::Module &module,
                               llvm::TargetMachine &target) const {
  llvm::PipelineTuningOptions tuning;
  tuning.LoopVectorization = true;
  tuning.SLPVectorization = true;
  tuning.LoopInterleaving = true;
  tuning.LoopUnrolling = true;
  llvm::PassBuilder builder(&target, tuning);
  llvm::LoopAnalysisManager loops;
  llvm::FunctionAnalysisManager functions;
  llvm::CGSCCAnalysisManager callGraph;
  llvm::ModuleAnalysisManager modules;
  llvm::TargetLibraryInfoImpl library(target.getTargetTriple());
  library.addVectorizableFunctions(vectorLibrary().functions());
  functions.registerPass([&] { return llvm::TargetLibraryAnalysis(library); });
  builder.registerModuleAnalyses(modules);
  builder.registerCGSCCAnalyses(callGraph);
  builder.registerFunctionAnalyses(functions);
  builder.registerLoopAnalyses(loops);
  builder.crossRegisterProxies(loops, functions, callGraph, modules);
  builder.buildPerModuleDefaultPipeline(llvm::OptimizationLevel::O3)
      .run(module, modules);
}

Result<std::string> Optimizer::compile(const std::string &source,
                                       const std::string &name) const {
  llvm::LLVMContext context;
  llvm::SMDiagnostic diagnostic;
  std::unique_ptr<llvm::Module> module =
      llvm::parseAssemblyString(source, diagnostic, context);
  std::string details;
  llvm::raw_string_ostream stream(details);
  if (!module) {
    diagnostic.print(nullptr, stream, /*ShowColors=*/false);
    return internalError(
        fmt::format("kernel '{}' is not LLVM IR: {}", name, stream.str()));
  }
  if (llvm::verifyModule(*module, &stream))
    return internalError(
        fmt::format("kernel '{}' is not valid: {}", name, stream.str()));

  // createTargetMachine does not change the builder, but is not const.
  llvm::orc::JITTargetMachineBuilder machine = impl->machine;
  auto target = machine.createTargetMachine();
  if (!target)
    return internalError(llvm::toString(target.takeError()));
  impl->prepare(*module, **target);
  impl->optimize(*module, **target);

  llvm::SmallVector<char, 0> object;
  llvm::raw_svector_ostream objectStream(object);
  llvm::legacy::PassManager emission;
  if ((*target)->addPassesToEmitFile(emission, objectStream, nullptr,
                                     llvm::CodeGenFileType::ObjectFile))
    return internalError("the target cannot write objects");
  emission.run(*module);
  return std::string(object.data(), object.size());
}

} // namespace gcompile::cpu
