#include "gcompile/cuda/CompileService.h"

#include "ContentHash.h"
#include "CubinCache.h"
#include "DeviceHeaders.h"
#include "KernelPrograms.h"
#include "Nvrtc.h"
#include "WorkerProcess.h"

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <mutex>
#include <thread>

namespace gcompile::cuda {
namespace {

using Requests = std::span<const KernelRequests::Request>;

constexpr int kMaxProcesses = 16; // of some 200 MB each

std::string defaultCacheDirectory() {
  auto variable = [](const char *name) {
    const char *value = std::getenv(name);
    return std::string(value ? value : "");
  };
  if (std::string root = variable("GCOMPILE_CACHE_DIR"); !root.empty())
    return root + "/cubin";
  if (std::string root = variable("XDG_CACHE_HOME"); !root.empty())
    return root + "/gcompile/cubin";
  if (std::string home = variable("HOME"); !home.empty())
    return home + "/.cache/gcompile/cubin";
  return {};
}

/// Functions without annotation are for the device. Warnings about generated
/// code interest nobody.
std::vector<std::string> compilerOptions(const std::string &architecture) {
  return {"--gpu-architecture=" + architecture, "--std=c++17",
          "--device-as-default-execution-space", "--fmad=true",
          "--disable-warnings"};
}

std::vector<std::string_view> linesOf(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const size_t end = std::min(text.find('\n'), text.size());
    lines.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

/// The line of `source` that the first error of a log is about; empty where
/// the log says it already, or is about no line.
std::string offendingLine(const KernelRequests::Request &kernel,
                          const std::string &log) {
  const std::string prefix = kernel.symbol + ".cu(";
  const size_t at = log.find(prefix);
  if (at == std::string::npos)
    return {};
  size_t number = 0;
  std::from_chars(log.data() + at + prefix.size(), log.data() + log.size(),
                  number);
  std::vector<std::string_view> lines = linesOf(kernel.source);
  if (number < 1 || number > lines.size() ||
      log.find(lines[number - 1]) != std::string::npos)
    return {};
  return fmt::format("line {}: {}", number, lines[number - 1]);
}

/// About the first of the programs, each of one kernel, that do not compile.
Error describeFailures(Requests requests,
                       const std::vector<KernelProgram> &failed,
                       const NvrtcOutcome &first,
                       const std::string &architecture) {
  constexpr size_t maxLines = 40;
  const KernelRequests::Request &kernel =
      requests[failed.front().kernels.front()];
  Error error{ErrorCode::Internal,
              fmt::format("cannot compile the kernel '{}' for {}: {}",
                          kernel.symbol, architecture, first.problem),
              {},
              {}};
  if (std::string line = offendingLine(kernel, first.log); !line.empty())
    error.notes.push_back(std::move(line));
  for (std::string_view line : linesOf(first.log))
    if (!line.empty() && error.notes.size() < maxLines)
      error.notes.emplace_back(line);
  std::vector<std::string> others;
  for (size_t i = 1; i < failed.size(); ++i)
    others.push_back(requests[failed[i].kernels.front()].symbol);
  if (!others.empty())
    error.notes.push_back(
        fmt::format("nor do these compile: {}", fmt::join(others, ", ")));
  return error;
}

} // namespace

struct CompileService::Impl {
  const Nvrtc *nvrtc = nullptr;
  HeaderTexts headers;
  std::string headersHash;
  std::optional<CubinCache> cache;
  int numProcesses = 1;
  std::string worker; ///< path
  mutable std::mutex mutex;
  CompileStatistics statistics; ///< guarded by `mutex`

  std::string keyOf(const KernelRequests::Request &request,
                    const std::vector<std::string> &options) const;
  std::vector<Cubin> compile(Requests requests,
                             const std::string &architecture);
  std::vector<size_t> fromDisk(const std::vector<std::string> &keys,
                               std::vector<Cubin> &cubins);
  void compileMissing(Requests requests, const std::vector<size_t> &missing,
                      const std::string &architecture,
                      const std::vector<std::string> &keys,
                      std::vector<Cubin> &cubins);
  std::vector<NvrtcOutcome>
  runPrograms(Requests requests, const std::vector<KernelProgram> &programs,
              const std::vector<std::string> &options);
  std::vector<KernelProgram>
  divided(const std::vector<KernelProgram> &programs);
  void noteWorkerProblem(const std::string &problem);
  void keep(const KernelProgram &program, const std::vector<std::string> &keys,
            const Cubin &cubin);
};

CompileService::CompileService() : impl(std::make_unique<Impl>()) {}
CompileService::~CompileService() = default;

Result<std::shared_ptr<CompileService>>
CompileService::create(CompileOptions options) {
  using ResultT = Result<std::shared_ptr<CompileService>>;
  return catchErrors<ResultT>([&]() -> ResultT {
    std::shared_ptr<CompileService> service(new CompileService());
    Impl &impl = *service->impl;
    impl.nvrtc = &Nvrtc::get();
    std::string all;
    for (const EmbeddedFile &header : deviceHeaders()) {
      impl.headers.emplace_back(header.name, header.text);
      all += fmt::format("{}\n{}\n", header.name, contentHash(header.text));
    }
    impl.headersHash = contentHash(all);
    std::string directory =
        options.cacheDirectory.value_or(defaultCacheDirectory());
    if (!directory.empty())
      impl.cache.emplace(std::move(directory));
    impl.numProcesses = options.numProcesses;
    if (impl.numProcesses <= 0)
      impl.numProcesses =
          std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1,
                     kMaxProcesses);
    impl.worker = options.worker.value_or(findWorker());
    return service;
  });
}

std::string
CompileService::Impl::keyOf(const KernelRequests::Request &request,
                            const std::vector<std::string> &options) const {
  return contentHash(fmt::format("{}\n{}\n{}\n{}\n{}", nvrtc->version(),
                                 fmt::join(options, " "), headersHash,
                                 request.symbol, request.source));
}

std::vector<Cubin>
CompileService::Impl::compile(Requests requests,
                              const std::string &architecture) {
  const std::vector<std::string> options = compilerOptions(architecture);
  std::vector<std::string> keys;
  keys.reserve(requests.size());
  for (const KernelRequests::Request &request : requests)
    keys.push_back(keyOf(request, options));
  std::vector<Cubin> cubins(requests.size());
  std::vector<size_t> missing = fromDisk(keys, cubins);
  if (missing.empty())
    return cubins;
  auto start = std::chrono::steady_clock::now();
  compileMissing(requests, missing, architecture, keys, cubins);
  std::chrono::duration<double> seconds =
      std::chrono::steady_clock::now() - start;
  std::lock_guard lock(mutex);
  statistics.compileSeconds += seconds.count();
  return cubins;
}

/// Fills in what is on disk; returns what is not.
std::vector<size_t>
CompileService::Impl::fromDisk(const std::vector<std::string> &keys,
                               std::vector<Cubin> &cubins) {
  std::vector<CubinCache::Found> found(keys.size());
  if (cache)
    found = cache->load(keys);
  std::vector<size_t> missing;
  std::lock_guard lock(mutex);
  for (size_t i = 0; i < keys.size(); ++i) {
    cubins[i] = std::move(found[i].cubin);
    if (!cubins[i])
      missing.push_back(i);
    statistics.numFromDisk += cubins[i] != nullptr;
    statistics.numCorrupt += found[i].state == CubinCache::State::Corrupt;
  }
  return missing;
}

void CompileService::Impl::compileMissing(Requests requests,
                                          const std::vector<size_t> &missing,
                                          const std::string &architecture,
                                          const std::vector<std::string> &keys,
                                          std::vector<Cubin> &cubins) {
  const std::vector<std::string> options = compilerOptions(architecture);
  std::vector<KernelProgram> failed;
  std::vector<NvrtcOutcome> failures;
  auto compileAll = [&](const std::vector<KernelProgram> &programs) {
    failed.clear();
    failures.clear();
    std::vector<NvrtcOutcome> outcomes =
        runPrograms(requests, programs, options);
    for (size_t i = 0; i < programs.size(); ++i) {
      if (!outcomes[i].problem.empty()) {
        failed.push_back(programs[i]);
        failures.push_back(std::move(outcomes[i]));
        continue;
      }
      auto cubin =
          std::make_shared<const std::string>(std::move(outcomes[i].cubin));
      for (size_t kernel : programs[i].kernels)
        cubins[kernel] = cubin;
      keep(programs[i], keys, cubin);
    }
  };
  compileAll(
      divideKernels(requests, missing, static_cast<size_t>(numProcesses)));
  // Where one kernel of a program is wrong, the others are not, and messages
  // are to be about that one.
  const std::vector<KernelProgram> singles = divided(failed);
  if (singles.size() > failed.size())
    compileAll(singles);
  if (!failed.empty())
    throw ErrorException(
        describeFailures(requests, failed, failures.front(), architecture));
}

/// Failed programs as programs of one kernel each.
std::vector<KernelProgram>
CompileService::Impl::divided(const std::vector<KernelProgram> &programs) {
  std::vector<KernelProgram> singles;
  std::lock_guard lock(mutex);
  for (const KernelProgram &program : programs) {
    statistics.numDivided += program.kernels.size() > 1;
    for (size_t kernel : program.kernels)
      singles.push_back({{kernel}});
  }
  return singles;
}

std::vector<NvrtcOutcome>
CompileService::Impl::runPrograms(Requests requests,
                                  const std::vector<KernelProgram> &programs,
                                  const std::vector<std::string> &options) {
  std::vector<NvrtcOutcome> outcomes(programs.size());
  std::atomic<size_t> next = 0;
  std::atomic<int64_t> numInWorkers = 0;
  auto forEachProgram = [&](auto &&compileOne) {
    for (size_t i; (i = next++) < programs.size();)
      outcomes[i] = compileOne(
          CompileRequest{programText(requests, programs[i]),
                         requests[programs[i].kernels.front()].symbol + ".cu",
                         options, headers});
  };
  auto compileHere = [&](const CompileRequest &request) {
    return nvrtc->compile(request.source, request.name, request.headers,
                          request.options);
  };
  auto compileInWorker = [&] {
    std::string problem;
    std::unique_ptr<WorkerProcess> process;
    forEachProgram([&](const CompileRequest &request) {
      if (problem.empty() && (!process || !process->isAlive()))
        process = WorkerProcess::start(worker, nvrtc->version(), problem);
      if (!process)
        return compileHere(request);
      ++numInWorkers;
      return process->compile(request);
    });
    noteWorkerProblem(problem);
  };
  const size_t numUsed =
      std::min(static_cast<size_t>(numProcesses), programs.size());
  if (worker.empty() && numUsed > 1)
    noteWorkerProblem("there is no gcompile-nvrtc-worker beside this program");
  {
    std::vector<std::jthread> threads;
    for (size_t i = 1; i < numUsed && !worker.empty(); ++i)
      threads.emplace_back(compileInWorker);
    forEachProgram(compileHere);
  }
  std::lock_guard lock(mutex);
  statistics.numPrograms += static_cast<int64_t>(programs.size());
  statistics.numInWorkers += numInWorkers;
  return outcomes;
}

void CompileService::Impl::noteWorkerProblem(const std::string &problem) {
  std::lock_guard lock(mutex);
  if (!problem.empty())
    statistics.workerProblem = problem;
}

void CompileService::Impl::keep(const KernelProgram &program,
                                const std::vector<std::string> &keys,
                                const Cubin &cubin) {
  std::string problem;
  if (cache) {
    std::vector<std::string> ownKeys;
    for (size_t kernel : program.kernels)
      ownKeys.push_back(keys[kernel]);
    problem = cache->store(ownKeys, *cubin);
  }
  std::lock_guard lock(mutex);
  statistics.numCompiled += static_cast<int64_t>(program.kernels.size());
  if (!problem.empty())
    statistics.cacheProblem = problem;
}

Result<std::vector<std::shared_ptr<const std::string>>>
CompileService::compile(Requests requests, const std::string &architecture) {
  using ResultT = Result<std::vector<std::shared_ptr<const std::string>>>;
  return catchErrors<ResultT>(
      [&]() -> ResultT { return impl->compile(requests, architecture); });
}

CompileStatistics CompileService::statistics() const {
  std::lock_guard lock(impl->mutex);
  return impl->statistics;
}

std::string CompileService::cacheDirectory() const {
  return impl->cache ? impl->cache->directory : "";
}

} // namespace gcompile::cuda
