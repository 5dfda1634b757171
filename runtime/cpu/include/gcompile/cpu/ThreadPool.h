//===- ThreadPool.h - loops over several threads --------------------------===//
#pragma once
#include <cstdint>
#include <memory>
#include <type_traits>

namespace gcompile::cpu {

/// A fixed set of threads that run parallel loops; the caller takes part.
/// Several threads may call parallelFor at once: one gets the pool, the others
/// run their loops alone, as do loops inside a loop.
class ThreadPool {
public:
  /// With `numThreads` threads, the caller counted; 0 for
  /// $GCOMPILE_NUM_THREADS, or the number of processors if that is not set.
  explicit ThreadPool(int numThreads = 0);
  ~ThreadPool();
  ThreadPool(const ThreadPool &) = delete;
  ThreadPool &operator=(const ThreadPool &) = delete;

  int numThreads() const { return threadCount; }

  /// Runs `body(begin, end, thread)` over ranges that together are [0, extent),
  /// each of at least `grain` iterations but the last. `thread` is in
  /// [0, numThreads()) and belongs to one running body of this loop at a time.
  /// Returns when all are done; an exception of a body is thrown here.
  template <typename Body>
  void parallelFor(int64_t extent, int64_t grain, Body &&body) {
    using BodyT = std::remove_reference_t<Body>;
    run(
        extent, grain,
        [](void *context, int64_t begin, int64_t end, int thread) {
          (*static_cast<BodyT *>(context))(begin, end, thread);
        },
        const_cast<void *>(static_cast<const void *>(std::addressof(body))));
  }

private:
  using Invoke = void (*)(void *context, int64_t begin, int64_t end,
                          int thread);
  void run(int64_t extent, int64_t grain, Invoke invoke, void *context);

  struct Workers;
  int threadCount;
  std::unique_ptr<Workers> workers;
};

} // namespace gcompile::cpu
