// Compiling for a GPU needs none: these run wherever NVRTC is installed.
#include "CubinCache.h"
#include "KernelPrograms.h"
#include "gcompile/cuda/CompileService.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gcompile;
using namespace gcompile::cuda;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

std::string addKernel(const std::string &symbol, int value) {
  return R"(#include "gcompile.cuh"
__device__ f32 shifted(f32 x) { return x + )" +
         std::to_string(value) + R"(; }
extern "C" __global__ void )" +
         symbol + R"((const f32 *x, f32 *y) {
  y[threadIdx.x] = shifted(x[threadIdx.x]);
}
)";
}

/// `count` kernels that differ.
KernelRequests manyKernels(int count, int first = 0) {
  KernelRequests requests;
  for (int i = first; i < first + count; ++i) {
    std::string symbol = "add_" + std::to_string(i);
    requests.add(symbol, addKernel(symbol, i));
  }
  return requests;
}

bool isCubinWith(const std::shared_ptr<const std::string> &cubin,
                 const std::string &symbol) {
  return cubin &&
         cubin->starts_with("\x7f"
                            "ELF") &&
         cubin->find(".text." + symbol) != std::string::npos;
}

class CompileServiceTest : public testing::Test {
protected:
  void SetUp() override {
    auto service = CompileService::create();
    if (!service.ok())
      GTEST_SKIP() << service.error().render();
    folder = fs::path(testing::TempDir()) /
             ("gcompile-cubin-" + std::to_string(::getpid()));
    fs::remove_all(folder);
  }
  void TearDown() override {
    if (!folder.empty())
      fs::remove_all(folder);
  }

  std::shared_ptr<CompileService> create(int numProcesses = 2) {
    CompileOptions options;
    options.cacheDirectory = folder.string();
    options.numProcesses = numProcesses;
    return CompileService::create(options).valueOrThrow();
  }

  fs::path folder;
};

TEST_F(CompileServiceTest, kernels_are_compiled_once_and_then_read) {
  KernelRequests requests = manyKernels(5);
  auto first = create();
  auto cubins = first->compile(requests.requests(), "sm_90a").valueOrThrow();
  ASSERT_EQ(cubins.size(), 5u);
  for (size_t i = 0; i < 5; ++i)
    EXPECT_TRUE(isCubinWith(cubins[i], requests.requests()[i].symbol));
  CompileStatistics statistics = first->statistics();
  EXPECT_EQ(statistics.numCompiled, 5);
  EXPECT_EQ(statistics.numFromDisk, 0);
  EXPECT_EQ(statistics.numPrograms, 2);
  EXPECT_EQ(statistics.cacheProblem, "");
  EXPECT_EQ(statistics.workerProblem, "");

  auto second = create();
  auto again = second->compile(requests.requests(), "sm_90a").valueOrThrow();
  EXPECT_EQ(second->statistics().numCompiled, 0);
  EXPECT_EQ(second->statistics().numFromDisk, 5);
  std::set<const std::string *> distinct;
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(*again[i], *cubins[i]);
    distinct.insert(again[i].get());
  }
  EXPECT_EQ(distinct.size(), 2u); // one a program
}

TEST_F(CompileServiceTest, models_share_kernels) {
  auto service = create();
  KernelRequests one = manyKernels(4), other = manyKernels(4, 2);
  ASSERT_TRUE(service->compile(one.requests(), "sm_90a").ok());
  auto cubins = service->compile(other.requests(), "sm_90a").valueOrThrow();
  EXPECT_EQ(service->statistics().numCompiled, 6);
  EXPECT_EQ(service->statistics().numFromDisk, 2);
  for (size_t i = 0; i < 4; ++i)
    EXPECT_TRUE(isCubinWith(cubins[i], other.requests()[i].symbol));
}

TEST_F(CompileServiceTest, architectures_are_kept_apart) {
  auto service = create();
  KernelRequests requests = manyKernels(1);
  auto old = service->compile(requests.requests(), "sm_80").valueOrThrow();
  auto recent = service->compile(requests.requests(), "sm_90a").valueOrThrow();
  EXPECT_EQ(service->statistics().numCompiled, 2);
  EXPECT_NE(*old[0], *recent[0]);
}

TEST_F(CompileServiceTest, workers_take_their_share) {
  CompileOptions options;
  options.cacheDirectory = "";
  options.numProcesses = 3;
  auto service = CompileService::create(options).valueOrThrow();
  KernelRequests requests = manyKernels(64);
  ASSERT_TRUE(service->compile(requests.requests(), "sm_90a").ok());
  EXPECT_EQ(service->statistics().workerProblem, "");
  EXPECT_EQ(service->statistics().numPrograms, 4);
  EXPECT_GE(service->statistics().numInWorkers, 1);
  EXPECT_EQ(service->cacheDirectory(), "");
  EXPECT_EQ(service->statistics().numFromDisk, 0);
}

TEST_F(CompileServiceTest, without_a_worker_it_compiles_here_and_says_so) {
  KernelRequests requests = manyKernels(3);
  CompileOptions options;
  options.cacheDirectory = "";
  options.numProcesses = 2;
  for (const auto &[worker, problem] :
       std::vector<std::pair<std::string, std::string>>{
           {"", "there is no gcompile-nvrtc-worker"},
           {"/nonexistent/worker", "No such file"},
           {"/bin/true", "'/bin/true' is of no use: it ended"}}) {
    options.worker = worker;
    auto service = CompileService::create(options).valueOrThrow();
    auto cubins =
        service->compile(requests.requests(), "sm_90a").valueOrThrow();
    for (size_t i = 0; i < 3; ++i)
      EXPECT_TRUE(isCubinWith(cubins[i], requests.requests()[i].symbol));
    EXPECT_THAT(service->statistics().workerProblem, HasSubstr(problem));
    EXPECT_EQ(service->statistics().numInWorkers, 0);
  }
}

TEST_F(CompileServiceTest, corrupt_entries_are_compiled_again) {
  KernelRequests requests = manyKernels(3);
  auto first = create(1);
  auto cubins = first->compile(requests.requests(), "sm_90a").valueOrThrow();
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder))
    files.push_back(entry.path());
  ASSERT_EQ(files.size(), 3u);
  // A file of its own, since its siblings are links to the same.
  fs::remove(files[0]);
  std::ofstream(files[0], std::ios::binary) << "gcompile cubin 1\nnothing";
  auto second = create(1);
  auto again = second->compile(requests.requests(), "sm_90a").valueOrThrow();
  EXPECT_EQ(second->statistics().numCorrupt, 1);
  EXPECT_EQ(second->statistics().numCompiled, 1);
  EXPECT_EQ(second->statistics().numFromDisk, 2);
  for (size_t i = 0; i < 3; ++i)
    EXPECT_TRUE(isCubinWith(again[i], requests.requests()[i].symbol));

  fs::resize_file(files[1], fs::file_size(files[1]) - 1); // two of the links
  auto third = create(1);
  ASSERT_TRUE(third->compile(requests.requests(), "sm_90a").ok());
  EXPECT_EQ(third->statistics().numCorrupt, 2);
  auto fourth = create(1);
  ASSERT_TRUE(fourth->compile(requests.requests(), "sm_90a").ok());
  EXPECT_EQ(fourth->statistics().numFromDisk, 3);
}

TEST_F(CompileServiceTest, processes_may_share_the_folder) {
  constexpr int numProcesses = 4;
  std::vector<pid_t> processes;
  for (int i = 0; i < numProcesses; ++i) {
    pid_t process = ::fork();
    if (process == 0) {
      KernelRequests requests = manyKernels(8, i);
      auto cubins = create(2)->compile(requests.requests(), "sm_90a");
      bool isGood = cubins.ok();
      for (size_t k = 0; isGood && k < 8; ++k)
        isGood = isCubinWith((*cubins)[k], requests.requests()[k].symbol);
      ::_exit(isGood ? 0 : 1);
    }
    processes.push_back(process);
  }
  for (pid_t process : processes) {
    int status = -1;
    ASSERT_EQ(::waitpid(process, &status, 0), process);
    EXPECT_EQ(status, 0);
  }
  KernelRequests all = manyKernels(8 + numProcesses - 1);
  auto service = create();
  ASSERT_TRUE(service->compile(all.requests(), "sm_90a").ok());
  EXPECT_EQ(service->statistics().numFromDisk, 11);
  EXPECT_EQ(service->statistics().numCorrupt, 0);
  for (const auto &entry : fs::directory_iterator(folder))
    EXPECT_EQ(entry.path().extension(), ".cubin");
}

TEST_F(CompileServiceTest, threads_may_share_the_service) {
  auto service = create();
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 3; ++i)
      threads.emplace_back([&, i] {
        KernelRequests requests = manyKernels(4, 2 * i);
        EXPECT_TRUE(service->compile(requests.requests(), "sm_90a").ok());
      });
  }
  KernelRequests all = manyKernels(8);
  const int64_t before = service->statistics().numFromDisk;
  ASSERT_TRUE(service->compile(all.requests(), "sm_90a").ok());
  EXPECT_EQ(service->statistics().numFromDisk - before, 8);
}

TEST_F(CompileServiceTest, errors_name_the_kernel_and_the_line) {
  KernelRequests requests = manyKernels(2);
  requests.add("wrong", "#include \"gcompile.cuh\"\n"
                        "extern \"C\" __global__ void wrong(f32 *y) {\n"
                        "  y[0] = missing(3);\n"
                        "}\n");
  requests.add("worse", "extern \"C\" __global__ void worse( {}\n");
  auto service = create(1);
  auto result = service->compile(requests.requests(), "sm_90a");
  ASSERT_FALSE(result.ok());
  std::string text = result.error().render();
  EXPECT_THAT(text, HasSubstr("the kernel 'wrong' for sm_90a"));
  EXPECT_THAT(text, HasSubstr("wrong.cu(3): error: identifier \"missing\" is "
                              "undefined"));
  EXPECT_THAT(text, HasSubstr("y[0] = missing(3);"));
  EXPECT_THAT(text, HasSubstr("nor do these compile: worse"));
  EXPECT_EQ(service->statistics().numDivided, 1);
  EXPECT_EQ(service->statistics().numCompiled, 2); // the others are kept
  EXPECT_FALSE(service->compile(requests.requests(), "sm_1").ok());
}

TEST_F(CompileServiceTest, sources_do_not_see_one_another) {
  KernelRequests requests;
  // Functions of one name, shared arrays of one name, macros.
  for (const char *type : {"f32", "f64", "i32"}) {
    std::string symbol = std::string("sum_") + type;
    requests.add(symbol, std::string("#include \"gcompile.cuh\"\n"
                                     "using T = ") +
                             type +
                             ";\n__device__ T twice(T x) { return x + x; }\n"
                             "extern \"C\" __global__ void " +
                             symbol +
                             "(T *y) {\n"
                             "  extern __shared__ T scratch[];\n"
                             "  scratch[threadIdx.x] = twice(y[0]);\n"
                             "  y[0] = scratch[threadIdx.x ^ 1];\n}\n");
  }
  requests.add("defines", "#define twice 2\n"
                          "extern \"C\" __global__ void defines(int *y) "
                          "{ *y = twice; } // no newline");
  auto service = create(1);
  auto cubins = service->compile(requests.requests(), "sm_80");
  ASSERT_TRUE(cubins.ok()) << cubins.error().render();
  EXPECT_EQ(service->statistics().numDivided, 0);
  EXPECT_EQ(service->statistics().numPrograms, 4);
}

TEST_F(CompileServiceTest, one_shared_array_of_one_type_is_for_all) {
  KernelRequests requests;
  for (const char *symbol : {"first", "second"})
    requests.add(symbol, std::string("#include \"gcompile.cuh\"\n"
                                     "extern \"C\" __global__ void ") +
                             symbol +
                             "(f32 *y) {\n"
                             "  extern __shared__ __align__(16) f32 part [ ];\n"
                             "  part[threadIdx.x] = y[0];\n"
                             "  y[0] = part[threadIdx.x ^ 1];\n}\n");
  auto service = create(1);
  ASSERT_TRUE(service->compile(requests.requests(), "sm_80").ok());
  EXPECT_EQ(service->statistics().numDivided, 0);
  EXPECT_EQ(service->statistics().numPrograms, 1);
}

TEST_F(CompileServiceTest, a_program_that_fails_is_divided) {
  KernelRequests requests = manyKernels(2);
  requests.add("global", "__device__ int three() { return 3; }\n"
                         "extern \"C\" __global__ void global(int *y) "
                         "{ *y = ::three(); }\n");
  auto service = create(1);
  auto cubins = service->compile(requests.requests(), "sm_90a");
  ASSERT_TRUE(cubins.ok()) << cubins.error().render();
  EXPECT_EQ(service->statistics().numDivided, 1);
  EXPECT_EQ(service->statistics().numCompiled, 3);
}

//===----------------------------------------------------------------------===//
// Without NVRTC
//===----------------------------------------------------------------------===//

std::vector<size_t> sizesOf(const std::vector<KernelProgram> &programs) {
  std::vector<size_t> sizes;
  for (const KernelProgram &program : programs)
    sizes.push_back(program.kernels.size());
  return sizes;
}

std::vector<size_t> range(size_t count) {
  std::vector<size_t> all(count);
  for (size_t i = 0; i < count; ++i)
    all[i] = i;
  return all;
}

TEST(KernelPrograms, kernels_are_divided_evenly) {
  KernelRequests requests = manyKernels(10);
  auto divide = [&](size_t count, size_t numPrograms) {
    return sizesOf(
        divideKernels(requests.requests(), range(count), numPrograms));
  };
  EXPECT_THAT(divide(10, 1), ElementsAre(10));
  EXPECT_THAT(divide(10, 3), ElementsAre(4, 3, 3));
  EXPECT_THAT(divide(2, 8), ElementsAre(1, 1));
  EXPECT_THAT(divide(0, 8), ElementsAre());
  KernelRequests many = manyKernels(40);
  EXPECT_THAT(sizesOf(divideKernels(many.requests(), range(40), 1)),
              ElementsAre(16, 16, 8));
}

TEST(KernelPrograms, one_symbol_in_two_meanings_takes_two_programs) {
  KernelRequests requests;
  requests.add("k", addKernel("k", 1));
  requests.add("k", addKernel("k", 2));
  requests.add("l", addKernel("l", 2));
  EXPECT_EQ(divideKernels(requests.requests(), range(3), 1).size(), 2u);
}

TEST(KernelPrograms, headers_come_before_the_namespaces) {
  KernelRequests requests = manyKernels(2);
  std::string text = programText(requests.requests(), {{0, 1}});
  EXPECT_TRUE(text.starts_with("#include \"gcompile.cuh\"\nnamespace kernel0 "
                               "{\n#line 1 \"add_0.cu\"\n"));
  EXPECT_THAT(programText(requests.requests(), {{1}}),
              Not(HasSubstr("namespace")));
}

TEST(KernelRequests, equal_requests_are_one) {
  KernelRequests requests;
  KernelHandle first = requests.add("k", "source", 16);
  EXPECT_EQ(requests.add("k", "source", 48), first);
  EXPECT_EQ(requests.requests()[0].sharedBytes, 48);
  EXPECT_NE(requests.add("k", "other source"), first);
  EXPECT_NE(requests.add("l", "source"), first);
  EXPECT_EQ(requests.requests().size(), 3u);
}

TEST(DeviceInfo, architectures_with_instructions_of_their_own_end_in_a) {
  DeviceInfo info;
  EXPECT_EQ(info.architecture(), "sm_90a");
  info.major = 8;
  EXPECT_EQ(info.architecture(), "sm_80");
  info.minor = 9;
  EXPECT_EQ(info.architecture(), "sm_89");
  info.major = 12;
  info.minor = 0;
  EXPECT_EQ(info.architecture(), "sm_120a");
}

TEST(CubinCache, what_cannot_be_kept_is_reported) {
  CubinCache cache("/dev/null/folder");
  EXPECT_THAT(cache.store(std::vector<std::string>{"key"}, "code"),
              HasSubstr("cannot create '/dev/null/folder'"));
  auto found = cache.load(std::vector<std::string>{"key"});
  EXPECT_EQ(found[0].state, CubinCache::State::Absent);
}

} // namespace
