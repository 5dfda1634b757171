// The kernels of whole models: that every one compiles for a GPU, and that
// those of small models compute what PyTorch recorded, run on the CPU.
#include "Compare.h"
#include "CpuPlanRunner.h"
#include "CudaPlanTesting.h"

#include "gcompile/cuda/CompileService.h"

#include <gtest/gtest.h>

#include <filesystem>

using namespace gcompile;
using namespace gcompile::testing;
namespace fs = std::filesystem;

namespace {

/// What each fixture of the test data is compiled from.
std::vector<fs::path> fixtures() {
  std::vector<fs::path> paths;
  for (const char *folder : {"models", "graphs"})
    for (const auto &entry :
         fs::directory_iterator(fs::path(GCOMPILE_DATA) / folder))
      if (fs::exists(entry.path() / "model.json"))
        paths.push_back(entry.path() / "model.json");
  std::sort(paths.begin(), paths.end());
  return paths;
}

/// Inputs that exist for their sizes.
std::vector<Tensor> exampleInputs(const frontend::Model &model) {
  tool::Options options;
  return tool::loadInputs(options, model).tensors;
}

TEST(CudaModels, every_kernel_compiles) {
  cuda::CompileOptions options;
  options.worker = GCOMPILE_NVRTC_WORKER;
  auto service = cuda::CompileService::create(options);
  if (!service)
    GTEST_SKIP() << "no kernel was compiled: " << service.error().render();
  cuda::KernelRequests requests;
  std::vector<fs::path> paths = fixtures();
  ASSERT_GE(paths.size(), 20u);
  for (const fs::path &path : paths) {
    SCOPED_TRACE(path);
    frontend::Model model = frontend::readModel(path).valueOrThrow();
    plan::Plan plan = planOf(model, exampleInputs(model), TargetDevice::Cuda);
    for (const plan::Kernel &kernel : plan.kernels)
      requests.add(kernel.symbol, kernel.source);
  }
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    auto cubins = (*service)->compile(requests.requests(), architecture);
    EXPECT_TRUE(cubins) << architecture << ": " << cubins.error().render();
  }
  RecordProperty("kernels", static_cast<int>(requests.requests().size()));
}

class SmallModels : public ::testing::TestWithParam<const char *> {};

TEST_P(SmallModels, compute_what_pytorch_recorded) {
  const fs::path folder = fs::path(GCOMPILE_DATA) / "models" / GetParam();
  frontend::Model model =
      frontend::readModel(folder / "model.pt2").valueOrThrow();
  tool::Options options;
  options.inputs = folder / "inputs.safetensors";
  std::vector<Tensor> inputs = tool::loadInputs(options, model).tensors;
  plan::Plan plan = planOf(model, inputs, TargetDevice::Cuda);
  auto outputs = runCudaPlan(plan, inputs, resolverOf(model.weights));
  ASSERT_TRUE(outputs) << outputs.error().render();
  auto expected =
      frontend::readSafetensors(folder / "outputs.safetensors").valueOrThrow();
  size_t numCompared = 0;
  for (size_t i = 0; i < outputs->size(); ++i) {
    auto found = expected.find(plan.outputs[i].name);
    if (found == expected.end())
      continue;
    EXPECT_EQ(tool::compareTensors((*outputs)[i], found->second, {}).message,
              "")
        << plan.outputs[i].name;
    ++numCompared;
  }
  EXPECT_EQ(numCompared, expected.size());
}

INSTANTIATE_TEST_SUITE_P(Models, SmallModels,
                         ::testing::Values("lstm", "misc_ops", "mlp",
                                           "simplenet", "tiny_bert",
                                           "tiny_llama_bf16", "train_cnn",
                                           "train_encoder", "train_mlp"),
                         [](const auto &info) {
                           return std::string(info.param);
                         });

} // namespace
