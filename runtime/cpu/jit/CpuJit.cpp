#include "gcompile/cpu/CpuJit.h"

#include "ObjectCache.h"
#include "Optimizer.h"
#include "SoftFloat.h"

#include <llvm/ExecutionEngine/Orc/ExecutionUtils.h>
#include <llvm/ExecutionEngine/Orc/LLJIT.h>
#include <llvm/ExecutionEngine/Orc/ObjectLinkingLayer.h>
#include <llvm/Support/TargetSelect.h>

#include <chrono>
#include <fmt/format.h>
#include <mutex>
#include <unordered_map>

namespace gcompile::cpu {
namespace {

using llvm::orc::ExecutionSession;
using llvm::orc::JITDylib;

std::string defaultCacheDirectory() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string root = variable("GCOMPILE_CACHE_DIR"); !root.empty())
    return root + "/cpu";
  if (std::string root = variable("XDG_CACHE_HOME"); !root.empty())
    return root + "/gcompile/cpu";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/gcompile/cpu";
  return {};
}

Error toError(llvm::Error error) {
  return {ErrorCode::Internal, llvm::toString(std::move(error)), {}, {}};
}

template <typename T>
T take(llvm::Expected<T> value) {
  if (!value)
    throw ErrorException(toError(value.takeError()));
  return static_cast<T &&>(*value);
}

void check(llvm::Error error) {
  if (error)
    throw ErrorException(toError(std::move(error)));
}

} // namespace

struct CpuJit::Impl {
  /// A kernel that is being compiled or has been.
  struct Entry {
    std::once_flag once;
    KernelFunction function = nullptr;
    std::optional<Error> error;
  };

  std::unique_ptr<Optimizer> optimizer;
  std::string configuration;
  std::optional<ObjectCache> cache;
  mutable std::mutex mutex;              ///< guards the three below
  std::vector<std::string> linkProblems; ///< not yet reported
  std::unordered_map<std::string, std::shared_ptr<Entry>> entries;
  CpuJitStatistics statistics;
  std::unique_ptr<llvm::orc::LLJIT> jit; ///< last: reports to the above

  void createLinker();
  KernelFunction get(const plan::Kernel &kernel);
  std::string objectOf(const plan::Kernel &kernel, const std::string &key);
  KernelFunction link(const plan::Kernel &kernel, const std::string &key,
                      std::string object);
};

CpuJit::CpuJit() : impl(std::make_unique<Impl>()) {}
CpuJit::~CpuJit() = default;

Result<std::shared_ptr<CpuJit>> CpuJit::create(CpuJitOptions options) {
  static const bool initialized = [] {
    return !llvm::InitializeNativeTarget() &&
           !llvm::InitializeNativeTargetAsmPrinter();
  }();
  return catchErrors<Result<std::shared_ptr<CpuJit>>>(
      [&]() -> Result<std::shared_ptr<CpuJit>> {
        if (!initialized)
          throwError(ErrorCode::Device,
                     "LLVM was built without this machine's processor");
        std::shared_ptr<CpuJit> jit(new CpuJit());
        jit->impl->optimizer =
            Optimizer::create(options.vectorBits).valueOrThrow();
        jit->impl->configuration = jit->impl->optimizer->configuration();
        std::string directory =
            options.cacheDirectory.value_or(defaultCacheDirectory());
        if (!directory.empty())
          jit->impl->cache.emplace(std::move(directory));
        jit->impl->createLinker();
        return jit;
      });
}

void CpuJit::Impl::createLinker() {
  llvm::orc::LLJITBuilder builder;
  // Kernels have no static constructors, thread-local variables or unwinding:
  // a bare linking layer starts fastest.
  builder.setPlatformSetUp(llvm::orc::setUpInactivePlatform);
  builder.setObjectLinkingLayerCreator(
      [](ExecutionSession &session, const llvm::Triple &)
          -> llvm::Expected<std::unique_ptr<llvm::orc::ObjectLayer>> {
        return std::make_unique<llvm::orc::ObjectLinkingLayer>(session);
      });
  jit = take(builder.create());
  // Where a symbol is missing, only the session hears of which.
  jit->getExecutionSession().setErrorReporter([this](llvm::Error error) {
    std::lock_guard lock(mutex);
    linkProblems.push_back(llvm::toString(std::move(error)));
  });
  JITDylib &process = *jit->getProcessSymbolsJITDylib();
  const char prefix = jit->getDataLayout().getGlobalPrefix();
  for (const char *name : {"libm.so.6", "libmvec.so.1"}) {
    auto library = llvm::orc::DynamicLibrarySearchGenerator::Load(name, prefix);
    if (library)
      process.addGenerator(std::move(*library));
    else // not glibc: its mathematics is then among the process's own symbols
      llvm::consumeError(library.takeError());
  }
  llvm::orc::SymbolMap softFloat;
  for (const SoftFloatFunction &function : softFloatFunctions())
    softFloat[jit->mangleAndIntern(function.name)] = {
        llvm::orc::ExecutorAddr::fromPtr(function.address),
        llvm::JITSymbolFlags::Exported | llvm::JITSymbolFlags::Callable};
  check(process.define(llvm::orc::absoluteSymbols(std::move(softFloat))));
}

std::string CpuJit::Impl::objectOf(const plan::Kernel &kernel,
                                   const std::string &key) {
  ObjectCache::Found found;
  if (cache)
    found = cache->load(key);
  if (found.state == ObjectCache::State::Whole) {
    std::lock_guard lock(mutex);
    ++statistics.numFromDisk;
    return std::move(found.object);
  }
  auto start = std::chrono::steady_clock::now();
  std::string object =
      optimizer->compile(kernel.source, kernel.symbol).valueOrThrow();
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::string problem = cache ? cache->store(key, object) : "";
  std::lock_guard lock(mutex);
  ++statistics.numCompiled;
  statistics.numCorrupt += found.state == ObjectCache::State::Corrupt;
  statistics.compileSeconds += seconds.count();
  if (!problem.empty())
    statistics.cacheProblem = problem;
  return object;
}

KernelFunction CpuJit::Impl::link(const plan::Kernel &kernel,
                                  const std::string &key, std::string object) {
  // A library of its own for each kernel: symbols of different plans may agree.
  JITDylib &library = take(jit->createJITDylib(key));
  check(jit->addObjectFile(
      library, llvm::MemoryBuffer::getMemBufferCopy(object, kernel.symbol)));
  auto address = jit->lookup(library, kernel.symbol);
  if (address)
    return address->toPtr<KernelFunction>();
  Error error{ErrorCode::Internal,
              fmt::format("cannot link kernel '{}'", kernel.symbol),
              {llvm::toString(address.takeError())},
              {}};
  std::lock_guard lock(mutex);
  std::move(linkProblems.begin(), linkProblems.end(),
            std::back_inserter(error.notes));
  linkProblems.clear();
  throw ErrorException(std::move(error));
}

KernelFunction CpuJit::Impl::get(const plan::Kernel &kernel) {
  if (kernel.language != "llvm")
    throwError(ErrorCode::InvalidArgument,
               fmt::format("kernel '{}' is in language '{}', which the CPU "
                           "does not compile",
                           kernel.symbol, kernel.language));
  std::string key =
      contentHash(configuration + kernel.symbol + "\n" + kernel.source);
  std::shared_ptr<Entry> entry;
  {
    std::lock_guard lock(mutex);
    std::shared_ptr<Entry> &slot = entries[key];
    if (slot)
      ++statistics.numShared;
    else
      slot = std::make_shared<Entry>();
    entry = slot;
  }
  std::call_once(entry->once, [&] {
    try {
      entry->function = link(kernel, key, objectOf(kernel, key));
    } catch (const ErrorException &e) {
      entry->error = e.error;
    }
  });
  if (entry->error)
    throw ErrorException(*entry->error);
  return entry->function;
}

Result<std::vector<KernelFunction>>
CpuJit::compile(std::span<const plan::Kernel> kernels, ThreadPool &pool) {
  return catchErrors<Result<std::vector<KernelFunction>>>([&] {
    std::vector<KernelFunction> functions(kernels.size());
    pool.parallelFor(static_cast<int64_t>(kernels.size()), 1,
                     [&](int64_t begin, int64_t end, int) {
                       for (auto i = static_cast<size_t>(begin);
                            i < static_cast<size_t>(end); ++i)
                         functions[i] = impl->get(kernels[i]);
                     });
    return functions;
  });
}

CpuJitStatistics CpuJit::statistics() const {
  std::lock_guard lock(impl->mutex);
  return impl->statistics;
}

const std::string &CpuJit::cacheDirectory() const {
  static const std::string none;
  return impl->cache ? impl->cache->directory : none;
}

} // namespace gcompile::cpu
