//===- ThreadPool.cpp - loops over several threads ------------------------===//
// A loop is an object on its caller's stack. Workers join it under a lock, so
// that the caller need only wait for those that did: a worker that wakes up
// late finds no loop and costs nobody time.
#include "gcompile/cpu/ThreadPool.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace gcompile::cpu {
namespace {

/// Chunks for each thread. More than one, so that a thread that the system has
/// paused does not hold up the others.
constexpr int64_t kChunksPerThread = 4;

/// How often a thread looks before it sleeps: about 20 microseconds, longer
/// than the pause between the steps of a plan, shorter than anyone would
/// notice.
constexpr int kSpins = 1000;

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::atomic_signal_fence(std::memory_order_seq_cst);
#endif
}

template <typename Predicate>
bool spinUntil(Predicate &&predicate) {
  for (int i = 0; i < kSpins; ++i) {
    if (predicate())
      return true;
    pause();
  }
  return predicate();
}

/// Set while this thread runs a loop's body.
thread_local bool insideLoop = false;

int defaultNumThreads() {
  if (const char *text = std::getenv("GCOMPILE_NUM_THREADS")) {
    int count = std::atoi(text);
    if (count > 0)
      return count;
  }
  return std::max(1u, std::thread::hardware_concurrency());
}

} // namespace

struct ThreadPool::Workers {
  struct Loop {
    Invoke invoke;
    void *context;
    int64_t extent, chunk;
    std::atomic<int64_t> next = 0;
    std::mutex failureMutex;
    std::exception_ptr failure;

    void runChunks(int thread) {
      insideLoop = true;
      try {
        for (int64_t begin; (begin = next.fetch_add(chunk)) < extent;)
          invoke(context, begin, std::min(begin + chunk, extent), thread);
      } catch (...) {
        next = extent;
        std::lock_guard lock(failureMutex);
        failure = std::current_exception();
      }
      insideLoop = false;
    }
  };

  explicit Workers(int count) {
    for (int i = 0; i < count; ++i)
      threads.emplace_back([this, i] { work(i + 1); });
  }

  ~Workers() {
    stopping = true;
    ++epoch;
    epoch.notify_all();
    for (std::thread &thread : threads)
      thread.join();
  }

  void work(int thread) {
    for (int seen = 0; !stopping;) {
      if (!spinUntil([&] { return epoch != seen; }))
        epoch.wait(seen);
      seen = epoch;
      Loop *loop = nullptr;
      {
        std::lock_guard lock(mutex);
        loop = current;
        if (!loop)
          continue;
        ++joined;
      }
      loop->runChunks(thread);
      if (--joined == 0) // the loop may be gone from here on
        joined.notify_one();
    }
  }

  void run(Loop &loop, int64_t numChunks) {
    {
      std::lock_guard lock(mutex);
      current = &loop;
    }
    ++epoch;
    if (numChunks - 1 < static_cast<int64_t>(threads.size()))
      for (int64_t i = 1; i < numChunks; ++i)
        epoch.notify_one();
    else
      epoch.notify_all();
    loop.runChunks(0);
    {
      std::lock_guard lock(mutex);
      current = nullptr;
    }
    if (!spinUntil([&] { return joined == 0; }))
      for (int count; (count = joined) != 0;)
        joined.wait(count);
  }

  std::mutex callerMutex; ///< held by the thread whose loop is running
  std::mutex mutex;       ///< guards `current` and joining it
  Loop *current = nullptr;
  std::atomic<int> joined = 0; ///< workers that run chunks of the loop
  std::atomic<int> epoch = 0;  ///< counts loops, for sleeping workers
  std::atomic<bool> stopping = false;
  std::vector<std::thread> threads;
};

ThreadPool::ThreadPool(int numThreads)
    : threadCount(numThreads > 0 ? numThreads : defaultNumThreads()),
      workers(std::make_unique<Workers>(threadCount - 1)) {}

ThreadPool::~ThreadPool() = default;

void ThreadPool::run(int64_t extent, int64_t grain, Invoke invoke,
                     void *context) {
  if (extent <= 0)
    return;
  int64_t numChunks = threadCount * kChunksPerThread;
  int64_t chunk =
      std::max({(extent + numChunks - 1) / numChunks, grain, int64_t{1}});
  if (chunk > 1024) // whole cache lines, and vectors without tails
    chunk = (chunk + 63) / 64 * 64;
  numChunks = (extent + chunk - 1) / chunk;
  if (numChunks == 1 || threadCount == 1 || insideLoop)
    return invoke(context, 0, extent, 0);
  std::unique_lock lock(workers->callerMutex, std::try_to_lock);
  if (!lock)
    return invoke(context, 0, extent, 0);
  Workers::Loop loop{
      .invoke = invoke, .context = context, .extent = extent, .chunk = chunk};
  workers->run(loop, numChunks);
  if (loop.failure)
    std::rethrow_exception(loop.failure);
}

} // namespace gcompile::cpu
