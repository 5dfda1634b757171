//===- cuda_on_cpu.h - CUDA C++ for a C++ compiler ------------------------===//
// Gives CUDA's keywords and built-ins their meaning, so that the very source of
// a kernel runs on the CPU. CpuKernelRunner compiles sources with it; by hand:
//
//   c++ -std=c++20 -O1 -shared -fPIC -I runtime/cuda/device
//       -include tests/cuda/cuda_on_cpu.h -x c++ kernel.cu -o kernel.so
//
// The threads of a block are fibers of one system thread. Each runs until it
// waits (at a barrier or for its warp) and then the next one does; blocks run
// one after another, in order. So
// - atomics are plain operations, and what a block writes the next one sees: a
//   wait for an earlier block ends, one for a later block never does;
// - a thread must not spin on what another thread of its block will write;
// - data races are not found, but uninitialised shared memory is: it is filled
//   with 0xff bytes (NaN, -1) where it is dynamic.
// Threads that end while others wait for them, and lanes that do not all come
// to the warp's operation that names them, are reported: hardware may let such
// kernels pass. Inline assembly is for #ifdef __CUDA_ARCH__, which is not
// defined here.
//
// `extern __shared__ T name[];` cannot be had by macros: CpuKernelRunner turns
// it into CUDA_ON_CPU_DYNAMIC_SHARED(T, name).
#pragma once
#include <algorithm>
#include <bit>
#include <cassert>
#include <cmath>
#include <csetjmp>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>
#include <sys/mman.h>
#include <type_traits>
#include <ucontext.h>
#include <vector>

//===--- Types and built-in variables
//--------------------------------------===//
struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};
#define CUDA_ON_CPU_VECTORS(T, NAME)                                           \
  struct alignas(2 * sizeof(T)) NAME##2 { T x, y; };                           \
  struct alignas(4 * sizeof(T) > 16 ? 16 : 4 * sizeof(T)) NAME##4 {            \
    T x, y, z, w;                                                              \
  };                                                                           \
  inline NAME##2 make_##NAME##2(T x, T y) { return {x, y}; }                   \
  inline NAME##4 make_##NAME##4(T x, T y, T z, T w) { return {x, y, z, w}; }
CUDA_ON_CPU_VECTORS(signed char, char)
CUDA_ON_CPU_VECTORS(unsigned char, uchar)
CUDA_ON_CPU_VECTORS(short, short)
CUDA_ON_CPU_VECTORS(unsigned short, ushort)
CUDA_ON_CPU_VECTORS(int, int)
CUDA_ON_CPU_VECTORS(unsigned, uint)
CUDA_ON_CPU_VECTORS(long long, longlong)
CUDA_ON_CPU_VECTORS(unsigned long long, ulonglong)
CUDA_ON_CPU_VECTORS(float, float)
CUDA_ON_CPU_VECTORS(double, double)
#undef CUDA_ON_CPU_VECTORS

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;
inline constexpr int warpSize = 32;

//===--- Fibers
//------------------------------------------------------------===//
namespace cuda_on_cpu {

constexpr size_t kStackBytes = 256 << 10;
constexpr size_t kMaxSharedBytes = 256 << 10;
alignas(1024) inline unsigned char dynamicShared[kMaxSharedBytes];

/// What a thread waits for. Lanes that meet must wait for the same.
enum class Wait { None, Barrier, WarpBarrier, Shuffle, Ballot, Match, Ended };

inline const char *describe(Wait wait) {
  constexpr const char *names[] = {"runs",
                                   "waits at __syncthreads",
                                   "waits at __syncwarp",
                                   "waits at a shuffle",
                                   "waits at a vote",
                                   "waits at a match",
                                   "has ended"};
  return names[static_cast<int>(wait)];
}

struct Fiber {
  ucontext_t start;
  jmp_buf position;
  bool isStarted = false;
  uint3 index{};
  Wait wait = Wait::None;
  unsigned mask = 0;       ///< lanes it waits for
  uint64_t value = 0;      ///< what it brings
  unsigned sourceLane = 0; ///< whose value a shuffle gives it
  uint64_t result = 0;     ///< what it gets
};

class Block {
public:
  Block(std::function<void()> body, unsigned numThreads)
      : body(std::move(body)), fibers(numThreads) {
    stacks = static_cast<unsigned char *>(
        mmap(nullptr, numThreads * kStackBytes, PROT_READ | PROT_WRITE,
             MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0));
    if (stacks == MAP_FAILED)
      std::abort();
  }
  ~Block() { munmap(stacks, fibers.size() * kStackBytes); }

  /// Runs the block blockIdx. Empty, or what went wrong.
  std::string run() {
    for (size_t i = 0; i < fibers.size(); ++i) {
      const auto at = static_cast<unsigned>(i);
      fibers[i] = {};
      fibers[i].index = {at % blockDim.x, at / blockDim.x % blockDim.y,
                         at / blockDim.x / blockDim.y};
    }
    for (;;) {
      for (Fiber &fiber : fibers)
        if (fiber.wait == Wait::None) {
          resume(fiber);
          if (!problem.empty())
            return problem;
        }
      if (std::all_of(fibers.begin(), fibers.end(),
                      [](auto &f) { return f.wait == Wait::Ended; }))
        return {};
      if (!releaseBarrier() && !releaseWarps())
        return describeDeadlock();
      if (!problem.empty())
        return problem;
    }
  }

  /// Called by a fiber: lets others run until it is released.
  uint64_t waitFor(Wait wait, unsigned mask, uint64_t value,
                   unsigned sourceLane = 0) {
    Fiber &fiber = *current;
    fiber.wait = wait;
    fiber.mask = mask;
    fiber.value = value;
    fiber.sourceLane = sourceLane;
    if (wait != Wait::Barrier && !(mask >> lane() & 1))
      fail("its mask does not name the calling lane");
    leave();
    return fiber.result;
  }

  unsigned lane() const {
    return static_cast<unsigned>(current - fibers.data()) % 32;
  }

  /// Ends the block from within a fiber.
  [[noreturn]] void fail(const std::string &what) {
    problem = at(*current) + " " + describe(current->wait) + ": " + what;
    _longjmp(scheduler, 1);
  }

  static inline Block *running = nullptr;

private:
  static void enter() {
    running->body();
    running->current->wait = Wait::Ended;
    _longjmp(running->scheduler, 1);
  }

  void leave() {
    if (!_setjmp(current->position))
      _longjmp(scheduler, 1);
  }

  void resume(Fiber &fiber) {
    current = &fiber;
    threadIdx = fiber.index;
    if (_setjmp(scheduler))
      return;
    if (fiber.isStarted)
      _longjmp(fiber.position, 1);
    fiber.isStarted = true;
    getcontext(&fiber.start);
    fiber.start.uc_stack.ss_sp =
        stacks + static_cast<size_t>(&fiber - fibers.data()) * kStackBytes;
    fiber.start.uc_stack.ss_size = kStackBytes;
    fiber.start.uc_link = nullptr;
    makecontext(&fiber.start, enter, 0);
    setcontext(&fiber.start);
  }

  bool releaseBarrier() {
    uint64_t count = 0;
    for (Fiber &fiber : fibers) {
      if (fiber.wait != Wait::Barrier)
        return false;
      count += fiber.value;
    }
    for (Fiber &fiber : fibers) {
      fiber.result = count;
      fiber.wait = Wait::None;
    }
    return true;
  }

  bool releaseWarps() {
    bool isAnyReleased = false;
    for (size_t first = 0; first < fibers.size(); first += 32) {
      const size_t count = std::min<size_t>(32, fibers.size() - first);
      for (size_t i = 0; i < count; ++i)
        isAnyReleased |= releaseLanes(&fibers[first], count, i);
    }
    return isAnyReleased;
  }

  /// Releases the lanes that lane `i` waits for, if all of them are there.
  bool releaseLanes(Fiber *warp, size_t count, size_t i) {
    const Wait wait = warp[i].wait;
    const unsigned mask = warp[i].mask;
    if (wait == Wait::None || wait == Wait::Barrier || wait == Wait::Ended ||
        (count < 32 && mask >> count))
      return false;
    uint64_t ballot = 0;
    for (size_t j = 0; j < count; ++j) {
      if (!(mask >> j & 1))
        continue;
      if (warp[j].wait != wait || warp[j].mask != mask)
        return false;
      ballot |= uint64_t{warp[j].value != 0} << j;
    }
    for (size_t j = 0; j < count; ++j) {
      if (!(mask >> j & 1))
        continue;
      if (wait == Wait::Shuffle && !(mask >> warp[j].sourceLane & 1))
        problem = at(warp[j]) + " reads lane " +
                  std::to_string(warp[j].sourceLane) +
                  ", which takes no part in the shuffle";
      warp[j].result = wait == Wait::Shuffle && problem.empty()
                           ? warp[warp[j].sourceLane].value
                       : wait == Wait::Match ? equalLanes(warp, mask, j)
                                             : ballot;
    }
    for (size_t j = 0; j < count; ++j)
      if (mask >> j & 1)
        warp[j].wait = Wait::None;
    return true;
  }

  static uint64_t equalLanes(const Fiber *warp, unsigned mask, size_t lane) {
    uint64_t result = 0;
    for (size_t j = 0; j < 32; ++j)
      if ((mask >> j & 1) && warp[j].value == warp[lane].value)
        result |= uint64_t{1} << j;
    return result;
  }

  static std::string at(const Fiber &fiber) {
    char text[128];
    std::snprintf(text, sizeof text,
                  "thread (%u, %u, %u) of block (%u, %u, %u)", fiber.index.x,
                  fiber.index.y, fiber.index.z, blockIdx.x, blockIdx.y,
                  blockIdx.z);
    return text;
  }

  /// The first thread in each state, and how many there are.
  std::string describeDeadlock() const {
    std::string text = "deadlock: ";
    for (Wait wait : {Wait::Barrier, Wait::WarpBarrier, Wait::Shuffle,
                      Wait::Ballot, Wait::Match, Wait::Ended}) {
      const Fiber *first = nullptr;
      int count = 0;
      for (const Fiber &fiber : fibers)
        if (fiber.wait == wait && ++count == 1)
          first = &fiber;
      if (!first)
        continue;
      char mask[32] = "";
      if (wait != Wait::Barrier && wait != Wait::Ended)
        std::snprintf(mask, sizeof mask, " with mask 0x%08x", first->mask);
      text += at(*first) + " " + describe(wait) + mask + " (" +
              std::to_string(count) + " do); ";
    }
    return text.substr(0, text.size() - 2);
  }

  std::function<void()> body;
  std::vector<Fiber> fibers;
  unsigned char *stacks;
  Fiber *current = nullptr;
  jmp_buf scheduler;
  std::string problem;
};

inline uint64_t barrier(uint64_t value) {
  return Block::running->waitFor(Wait::Barrier, 0, value);
}

template <typename T>
uint64_t toBits(T value) {
  static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= 8);
  uint64_t bits = 0;
  std::memcpy(&bits, &value, sizeof value);
  return bits;
}

/// The value of lane `source`; its own where that is not `isInside`.
template <typename T>
T shuffle(unsigned mask, T value, int source, bool isInside) {
  Block &block = *Block::running;
  const uint64_t bits =
      block.waitFor(Wait::Shuffle, mask, toBits(value),
                    isInside ? static_cast<unsigned>(source) : block.lane());
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

inline int lane() { return static_cast<int>(Block::running->lane()); }

template <typename T, typename Update>
T exchange(T *address, Update update) {
  T old = *address;
  *address = static_cast<T>(update(old));
  return old;
}

/// `arguments` as passed to a function of 32 pointers: what a kernel does not
/// take it does not see, in the calling conventions of x86-64 and AArch64.
template <size_t... I>
void call(void *kernel, void *const *arguments, std::index_sequence<I...>) {
  using Function = void (*)(decltype((void)I, static_cast<void *>(nullptr))...);
  reinterpret_cast<Function>(kernel)(arguments[I]...);
}
constexpr size_t kMaxArguments = 32;

} // namespace cuda_on_cpu

/// Runs a kernel with `kMaxArguments` arguments, pointers or integers, of which
/// it may take fewer. Null, or what went wrong, which stays until the next run.
extern "C" inline __attribute__((used)) const char *
cuda_on_cpu_launch(void *kernel, const unsigned *grid, const unsigned *block,
                   size_t sharedBytes, void *const *arguments) {
  static std::string problem;
  using namespace cuda_on_cpu;
  gridDim = {grid[0], grid[1], grid[2]};
  blockDim = {block[0], block[1], block[2]};
  if (sharedBytes > kMaxSharedBytes)
    return "more shared memory than there is";
  Block all(
      [&] {
        call(kernel, arguments, std::make_index_sequence<kMaxArguments>());
      },
      blockDim.x * blockDim.y * blockDim.z);
  Block::running = &all;
  for (unsigned z = 0; z < gridDim.z; ++z)
    for (unsigned y = 0; y < gridDim.y; ++y)
      for (unsigned x = 0; x < gridDim.x; ++x) {
        blockIdx = {x, y, z};
        std::memset(dynamicShared, 0xff, sharedBytes);
        problem = all.run();
        if (!problem.empty())
          return problem.c_str();
      }
  return nullptr;
}

//===--- Keywords
//----------------------------------------------------------===//
#define __global__
#define __device__
#define __host__
#define __constant__ static
#define __shared__ static
#define __forceinline__
#define __noinline__
#define __grid_constant__
#define __launch_bounds__(...)
#define __align__(n) alignas(n)
#define CUDA_ON_CPU_DYNAMIC_SHARED(T, name)                                    \
  static T *const name = reinterpret_cast<T *>(cuda_on_cpu::dynamicShared)

//===--- Barriers, fences, votes and shuffles
//------------------------------===//
inline void __syncthreads() { cuda_on_cpu::barrier(0); }
inline int __syncthreads_count(int p) {
  return static_cast<int>(cuda_on_cpu::barrier(p != 0));
}
inline int __syncthreads_or(int p) { return __syncthreads_count(p) != 0; }
inline int __syncthreads_and(int p) { return __syncthreads_count(!p) == 0; }
inline void __threadfence() {}
inline void __threadfence_block() {}
inline void __threadfence_system() {}
inline void __nanosleep(unsigned) {}

inline void __syncwarp(unsigned mask = 0xffffffff) {
  using namespace cuda_on_cpu;
  Block::running->waitFor(Wait::WarpBarrier, mask, 0);
}
inline unsigned __ballot_sync(unsigned mask, int p) {
  using namespace cuda_on_cpu;
  return static_cast<unsigned>(
      Block::running->waitFor(Wait::Ballot, mask, p != 0));
}
inline int __any_sync(unsigned mask, int p) {
  return __ballot_sync(mask, p) != 0;
}
inline int __all_sync(unsigned mask, int p) {
  return __ballot_sync(mask, p) == mask;
}
template <typename T>
unsigned __match_any_sync(unsigned mask, T value) {
  using namespace cuda_on_cpu;
  return static_cast<unsigned>(
      Block::running->waitFor(Wait::Match, mask, toBits(value)));
}
template <typename T>
T __shfl_sync(unsigned mask, T value, int source, int width = 32) {
  const int first = cuda_on_cpu::lane() / width * width;
  return cuda_on_cpu::shuffle(mask, value, first + (source & (width - 1)),
                              true);
}
template <typename T>
T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32) {
  const int lane = cuda_on_cpu::lane(), source = lane ^ bits;
  return cuda_on_cpu::shuffle(mask, value, source,
                              source < (lane / width + 1) * width);
}
template <typename T>
T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = cuda_on_cpu::lane(), source = lane - static_cast<int>(delta);
  return cuda_on_cpu::shuffle(mask, value, source,
                              source >= lane / width * width);
}
template <typename T>
T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32) {
  const int lane = cuda_on_cpu::lane(), source = lane + static_cast<int>(delta);
  return cuda_on_cpu::shuffle(mask, value, source,
                              source < (lane / width + 1) * width);
}
template <typename T>
T cuda_on_cpu_reduce(unsigned mask, T value, T (*combine)(T, T)) {
  T result = value;
  for (int lane = 0, isFirst = 1; lane < 32; ++lane)
    if (mask >> lane & 1) {
      const T other = __shfl_sync(mask, value, lane);
      result = isFirst ? other : combine(result, other);
      isFirst = 0;
    }
  return result;
}
template <typename T>
T __reduce_add_sync(unsigned mask, T value) {
  return cuda_on_cpu_reduce<T>(mask, value, [](T a, T b) { return T(a + b); });
}
template <typename T>
T __reduce_max_sync(unsigned mask, T value) {
  return cuda_on_cpu_reduce<T>(mask, value,
                               [](T a, T b) { return a < b ? b : a; });
}
template <typename T>
T __reduce_min_sync(unsigned mask, T value) {
  return cuda_on_cpu_reduce<T>(mask, value,
                               [](T a, T b) { return b < a ? b : a; });
}

//===--- Atomics
//-----------------------------------------------------------===//
#define CUDA_ON_CPU_ATOMIC(NAME, NEW)                                          \
  template <typename T>                                                        \
  T NAME(T *address, std::type_identity_t<T> value) {                          \
    return cuda_on_cpu::exchange(address, [&](T old) { return NEW; });         \
  }
CUDA_ON_CPU_ATOMIC(atomicAdd, old + value)
CUDA_ON_CPU_ATOMIC(atomicSub, old - value)
CUDA_ON_CPU_ATOMIC(atomicMax, old < value ? value : old)
CUDA_ON_CPU_ATOMIC(atomicMin, value < old ? value : old)
CUDA_ON_CPU_ATOMIC(atomicAnd, old &value)
CUDA_ON_CPU_ATOMIC(atomicOr, old | value)
CUDA_ON_CPU_ATOMIC(atomicXor, old ^ value)
CUDA_ON_CPU_ATOMIC(atomicExch, (static_cast<void>(old), value))
CUDA_ON_CPU_ATOMIC(atomicInc, old >= value ? 0 : old + 1)
#undef CUDA_ON_CPU_ATOMIC
template <typename T>
T atomicCAS(T *address, std::type_identity_t<T> expected,
            std::type_identity_t<T> value) {
  return cuda_on_cpu::exchange(
      address, [&](T old) { return old == expected ? value : old; });
}

//===--- Loads and stores
//--------------------------------------------------===//
#define CUDA_ON_CPU_LOAD(NAME)                                                 \
  template <typename T>                                                        \
  T NAME(const T *address) {                                                   \
    return *address;                                                           \
  }
CUDA_ON_CPU_LOAD(__ldg)
CUDA_ON_CPU_LOAD(__ldcg)
CUDA_ON_CPU_LOAD(__ldcs)
CUDA_ON_CPU_LOAD(__ldca)
CUDA_ON_CPU_LOAD(__ldcv)
#undef CUDA_ON_CPU_LOAD
#define CUDA_ON_CPU_STORE(NAME)                                                \
  template <typename T>                                                        \
  void NAME(T *address, std::type_identity_t<T> value) {                       \
    *address = value;                                                          \
  }
CUDA_ON_CPU_STORE(__stcg)
CUDA_ON_CPU_STORE(__stcs)
CUDA_ON_CPU_STORE(__stwb)
CUDA_ON_CPU_STORE(__stwt)
#undef CUDA_ON_CPU_STORE

//===--- Bits
//--------------------------------------------------------------===//
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline double __longlong_as_double(long long x) {
  return std::bit_cast<double>(x);
}
inline long long __double_as_longlong(double x) {
  return std::bit_cast<long long>(x);
}
inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __clzll(long long x) {
  return std::countl_zero(static_cast<unsigned long long>(x));
}
inline int __ffs(int x) { return __builtin_ffs(x); }
inline int __ffsll(long long x) { return __builtin_ffsll(x); }
inline unsigned __umulhi(unsigned a, unsigned b) {
  return static_cast<unsigned>(uint64_t{a} * b >> 32);
}
inline unsigned long long __umul64hi(unsigned long long a,
                                     unsigned long long b) {
  return static_cast<unsigned long long>(
      static_cast<unsigned __int128>(a) * b >> 64);
}
inline long long __mul64hi(long long a, long long b) {
  return static_cast<long long>(static_cast<__int128>(a) * b >> 64);
}
inline unsigned __brev(unsigned x) {
  unsigned result = 0;
  for (int i = 0; i < 32; ++i)
    result |= (x >> i & 1) << (31 - i);
  return result;
}
inline unsigned __funnelshift_l(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) << (shift & 31) >>
                               32);
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>((uint64_t{high} << 32 | low) >> (shift & 31));
}

//===--- Arithmetic
//--------------------------------------------------------===//
template <typename A, typename B>
  requires std::is_integral_v<A> && std::is_integral_v<B>
constexpr auto max(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(a) < static_cast<T>(b) ? static_cast<T>(b)
                                               : static_cast<T>(a);
}
template <typename A, typename B>
  requires std::is_integral_v<A> && std::is_integral_v<B>
constexpr auto min(A a, B b) {
  using T = std::common_type_t<A, B>;
  return static_cast<T>(b) < static_cast<T>(a) ? static_cast<T>(b)
                                               : static_cast<T>(a);
}
inline float max(float a, float b) { return std::fmax(a, b); }
inline float min(float a, float b) { return std::fmin(a, b); }
inline double max(double a, double b) { return std::fmax(a, b); }
inline double min(double a, double b) { return std::fmin(a, b); }
using std::isfinite;
using std::isinf;
using std::isnan;
using std::signbit;
inline float rsqrtf(float x) {
  return static_cast<float>(1 / std::sqrt(static_cast<double>(x)));
}
inline double rsqrt(double x) { return 1 / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __sinf(float x) { return std::sin(x); }
inline float __cosf(float x) { return std::cos(x); }
inline float __powf(float x, float y) { return std::pow(x, y); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1 / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline double __fma_rn(double x, double y, double z) {
  return std::fma(x, y, z);
}
inline float __saturatef(float x) { return x > 0 ? x < 1 ? x : 1 : 0; }
inline void sincospi(double x, double *sine, double *cosine) {
  *sine = std::sin(M_PI * x);
  *cosine = std::cos(M_PI * x);
}
inline int __float2int_rn(float x) {
  return static_cast<int>(std::nearbyint(x));
}

//===--- Half precision
//----------------------------------------------------===//
#include "gcompile.cuh"

/// Rounds to nearest, ties to even; NaN stays NaN.
inline bf16 to_bf16(float value) {
  const u32 x = __float_as_uint(value);
  if (value != value)
    return {static_cast<u16>(x >> 16 | 0x40)};
  return {static_cast<u16>((x + 0x7fff + (x >> 16 & 1)) >> 16)};
}
inline f16 to_f16(float value) {
  const _Float16 rounded = static_cast<_Float16>(value);
  return {std::bit_cast<u16>(rounded)};
}
inline float to_float(f16 value) {
  return static_cast<float>(std::bit_cast<_Float16>(value.bits));
}
