#include "gcompile/cpu/CpuJit.h"

#include "gcompile/base/Half.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <fstream>
#include <sys/wait.h>
#include <thread>
#include <unistd.h>

using namespace gcompile;
using namespace gcompile::cpu;
using testing::HasSubstr;

namespace {

/// out[i] = f(in[i]) with an LLVM function of floats.
plan::Kernel pointwise(const std::string &symbol, const std::string &function,
                       const std::string &type = "float") {
  std::string source = R"(
define void @SYMBOL(ptr %buffers, i64 %begin, i64 %end, ptr %scratch) {
entry:
  %in = load ptr, ptr %buffers
  %out.slot = getelementptr ptr, ptr %buffers, i64 1
  %out = load ptr, ptr %out.slot
  br label %head
head:
  %i = phi i64 [ %begin, %entry ], [ %next, %body ]
  %more = icmp slt i64 %i, %end
  br i1 %more, label %body, label %exit
body:
  %from = getelementptr TYPE, ptr %in, i64 %i
  %x = load TYPE, ptr %from
  %y = call TYPE @FUNCTION(TYPE %x)
  %to = getelementptr TYPE, ptr %out, i64 %i
  store TYPE %y, ptr %to
  %next = add i64 %i, 1
  br label %head
exit:
  ret void
}
declare TYPE @FUNCTION(TYPE)
)";
  auto replace = [&](const std::string &what, const std::string &with) {
    for (size_t at; (at = source.find(what)) != std::string::npos;)
      source.replace(at, what.size(), with);
  };
  replace("SYMBOL", symbol);
  replace("FUNCTION", function);
  replace("TYPE", type);
  return {symbol, "llvm", source};
}

class CpuJitTest : public testing::Test {
protected:
  void SetUp() override {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "gcompile-jit-XXXXXX");
    ASSERT_NE(::mkdtemp(pattern.data()), nullptr);
    directory = pattern;
  }
  void TearDown() override { std::filesystem::remove_all(directory); }

  std::shared_ptr<CpuJit> makeJit() {
    CpuJitOptions options;
    options.cacheDirectory = directory;
    return CpuJit::create(options).valueOrThrow();
  }

  /// Compiles and runs a pointwise float kernel over one value.
  float evaluate(CpuJit &jit, const plan::Kernel &kernel, float x) {
    KernelFunction function =
        jit.compile(std::span(&kernel, 1), pool).valueOrThrow()[0];
    float y = 0;
    void *buffers[] = {&x, &y};
    function(buffers, 0, 1, nullptr);
    return y;
  }

  std::vector<std::filesystem::path> cachedFiles() {
    std::vector<std::filesystem::path> files;
    for (const auto &file : std::filesystem::directory_iterator(directory))
      files.push_back(file.path());
    return files;
  }

  ThreadPool pool{2};
  std::string directory;
};

TEST_F(CpuJitTest, vectorised_mathematics_agrees_with_the_c_library) {
  struct Case {
    const char *function;
    double (*expected)(double);
    float low, high;
  };
  const Case cases[] = {
      {"llvm.exp.f32", std::exp, -80, 80}, {"llvm.log.f32", std::log, 0.01f, 9},
      {"llvm.sin.f32", std::sin, -9, 9},   {"llvm.cos.f32", std::cos, -9, 9},
      {"llvm.tanh.f32", std::tanh, -9, 9}, {"tanhf", std::tanh, -9, 9},
      {"erff", std::erf, -4, 4},           {"expm1f", std::expm1, -2, 2},
      {"log1pf", std::log1p, -0.9f, 9},    {"atanf", std::atan, -9, 9}};
  std::vector<plan::Kernel> kernels;
  for (const Case &c : cases)
    kernels.push_back(pointwise("k", c.function));
  auto jit = makeJit();
  auto functions = jit->compile(kernels, pool).valueOrThrow();
  constexpr int n = 1003;
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::vector<float> in(n), out(n);
    for (int i = 0; i < n; ++i)
      in[i] = cases[k].low + (cases[k].high - cases[k].low) * i / n;
    void *buffers[] = {in.data(), out.data()};
    functions[k](buffers, 0, n, nullptr);
    for (int i = 0; i < n; ++i) {
      double expected = cases[k].expected(in[i]);
      ASSERT_NEAR(out[i], expected, std::abs(expected) * 6e-7 + 1e-30)
          << cases[k].function << "(" << in[i] << ")";
    }
  }
}

TEST_F(CpuJitTest, half_precision_conversions_need_no_instructions) {
  // Calls them by name, as code for a processor without the instructions does.
  struct Case {
    const char *function, *type;
    float in;
    uint16_t expected;
  };
  for (const Case &c : {Case{"__truncsfhf2", "half", 1.0009766f, 0x3c01},
                        Case{"__truncsfbf2", "bfloat", 1.00390625f, 0x3f80}}) {
    std::string source =
        std::string("declare ") + c.type + " @" + c.function + "(float)\n" +
        "define void @k(ptr %b, i64 %begin, i64 %end, ptr %s) {\n" +
        "  %in = load ptr, ptr %b\n  %o = getelementptr ptr, ptr %b, i64 1\n" +
        "  %out = load ptr, ptr %o\n  %x = load float, ptr %in\n" +
        "  %y = call " + c.type + " @" + c.function + "(float %x)\n" +
        "  store " + c.type + " %y, ptr %out\n  ret void\n}\n";
    plan::Kernel kernel{"k", "llvm", source};
    auto jit = makeJit();
    KernelFunction function =
        jit->compile(std::span(&kernel, 1), pool).valueOrThrow()[0];
    uint16_t out = 0;
    float in = c.in;
    void *buffers[] = {&in, &out};
    function(buffers, 0, 1, nullptr);
    EXPECT_EQ(out, c.expected) << c.function;
  }
}

TEST_F(CpuJitTest, second_compile_in_a_process_is_shared) {
  auto jit = makeJit();
  EXPECT_EQ(evaluate(*jit, pointwise("k", "llvm.fabs.f32"), -2), 2);
  EXPECT_EQ(evaluate(*jit, pointwise("k", "llvm.fabs.f32"), -3), 3);
  // Another function under the same symbol is another kernel.
  EXPECT_EQ(evaluate(*jit, pointwise("k", "llvm.floor.f32"), 2.5f), 2);
  EXPECT_EQ(jit->statistics().numCompiled, 2);
  EXPECT_EQ(jit->statistics().numShared, 1);
}

TEST_F(CpuJitTest, second_jit_reads_the_object_from_disk) {
  EXPECT_EQ(evaluate(*makeJit(), pointwise("k", "llvm.fabs.f32"), -2), 2);
  EXPECT_EQ(cachedFiles().size(), 1u);
  auto jit = makeJit();
  EXPECT_EQ(evaluate(*jit, pointwise("k", "llvm.fabs.f32"), -2), 2);
  EXPECT_EQ(jit->statistics().numCompiled, 0);
  EXPECT_EQ(jit->statistics().numFromDisk, 1);
}

TEST_F(CpuJitTest, objects_for_other_vector_widths_are_other_objects) {
  evaluate(*makeJit(), pointwise("k", "llvm.fabs.f32"), -2);
  CpuJitOptions options;
  options.cacheDirectory = directory;
  options.vectorBits = 128;
  auto jit = CpuJit::create(options).valueOrThrow();
  evaluate(*jit, pointwise("k", "llvm.fabs.f32"), -2);
  EXPECT_EQ(jit->statistics().numFromDisk, 0);
  EXPECT_EQ(cachedFiles().size(), 2u);
}

TEST_F(CpuJitTest, corrupt_objects_are_compiled_again_and_replaced) {
  plan::Kernel kernel = pointwise("k", "llvm.fabs.f32");
  evaluate(*makeJit(), kernel, -2);
  std::filesystem::path file = cachedFiles().at(0);
  auto size = static_cast<int64_t>(std::filesystem::file_size(file));
  // A truncated file, a changed byte in the header, the hash and the object.
  for (int64_t position : {int64_t{-1}, int64_t{0}, int64_t{20}, size / 2}) {
    if (position < 0) {
      std::filesystem::resize_file(file, static_cast<uintmax_t>(size / 2));
    } else {
      std::fstream stream(file,
                          std::ios::in | std::ios::out | std::ios::binary);
      stream.seekg(position);
      char byte = static_cast<char>(stream.get() ^ 0x40);
      stream.seekp(position);
      stream.put(byte);
    }
    auto jit = makeJit();
    EXPECT_EQ(evaluate(*jit, kernel, -2), 2);
    EXPECT_EQ(jit->statistics().numCorrupt, 1) << position;
    EXPECT_EQ(jit->statistics().numCompiled, 1);
    auto next = makeJit();
    EXPECT_EQ(evaluate(*next, kernel, -2), 2);
    EXPECT_EQ(next->statistics().numFromDisk, 1);
  }
}

TEST_F(CpuJitTest, a_folder_that_cannot_be_written_is_reported_not_fatal) {
  std::ofstream(directory + "/file") << "not a folder";
  CpuJitOptions options;
  options.cacheDirectory = directory + "/file/cpu";
  auto jit = CpuJit::create(options).valueOrThrow();
  EXPECT_EQ(evaluate(*jit, pointwise("k", "llvm.fabs.f32"), -2), 2);
  EXPECT_THAT(jit->statistics().cacheProblem, HasSubstr("cannot create"));
}

TEST_F(CpuJitTest, wrong_kernels_are_errors) {
  auto jit = makeJit();
  auto messageOf = [&](const plan::Kernel &kernel) {
    auto functions = jit->compile(std::span(&kernel, 1), pool);
    return functions.ok() ? "" : functions.error().render();
  };
  EXPECT_THAT(messageOf({"k", "llvm", "define void @k( {"}),
              HasSubstr("'k' is not LLVM IR"));
  EXPECT_THAT(messageOf({"k", "llvm", "define i64 @k() {\n ret void\n}"}),
              HasSubstr("'k' is not"));
  EXPECT_THAT(messageOf({"k", "llvm", "define void @j() {\n ret void\n}"}),
              HasSubstr("k"));
  EXPECT_THAT(messageOf({"k", "cuda", ""}), HasSubstr("language 'cuda'"));
  EXPECT_THAT(messageOf(pointwise("k", "no_such_function")),
              HasSubstr("no_such_function"));
}

TEST_F(CpuJitTest, threads_share_one_jit) {
  auto jit = makeJit();
  std::vector<std::thread> threads;
  std::vector<float> results(4);
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 6; ++i) {
        plan::Kernel kernel =
            pointwise("k" + std::to_string(i), "llvm.fabs.f32");
        results[t] += evaluate(*jit, kernel, -1);
      }
    });
  for (std::thread &thread : threads)
    thread.join();
  EXPECT_EQ(results, std::vector<float>(4, 6.0f));
  EXPECT_EQ(jit->statistics().numCompiled, 6);
}

TEST_F(CpuJitTest, processes_share_one_folder) {
  constexpr int numKernels = 4;
  std::vector<pid_t> children;
  for (int p = 0; p < 4; ++p) {
    pid_t child = ::fork();
    ASSERT_GE(child, 0);
    if (child == 0) {
      // The pool's threads are not in the child; it needs one of its own.
      ThreadPool own(1);
      auto jit = makeJit();
      bool good = true;
      for (int i = 0; i < numKernels; ++i) {
        plan::Kernel kernel =
            pointwise("k" + std::to_string(i), "llvm.fabs.f32");
        KernelFunction function =
            jit->compile(std::span(&kernel, 1), own).valueOrThrow()[0];
        float x = -3, y = 0;
        void *buffers[] = {&x, &y};
        function(buffers, 0, 1, nullptr);
        good &= y == 3;
      }
      ::_exit(good ? 0 : 1);
    }
    children.push_back(child);
  }
  for (pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    EXPECT_EQ(status, 0);
  }
  EXPECT_EQ(cachedFiles().size(), static_cast<size_t>(numKernels));
  auto jit = makeJit();
  for (int i = 0; i < numKernels; ++i)
    evaluate(*jit, pointwise("k" + std::to_string(i), "llvm.fabs.f32"), -1);
  EXPECT_EQ(jit->statistics().numFromDisk, numKernels);
}

} // namespace
