//===- GeneratedRoutineTesting.h - the GPU's routines, run on the CPU -----===//
#pragma once
#include "../runtime/RoutineTesting.h"
#include "CpuKernelRunner.h"
#include "GeneratedRoutine.h"
#include "gcompile/cuda/CompileService.h"
#include "gcompile/cuda/Device.h"

namespace gcompile::testing {

/// The GPU's routine of a call, with the kernels it asked for.
struct BoundRoutine {
  cuda::DeviceInfo device;
  cuda::KernelRequests kernels;
  std::unique_ptr<cuda::Routine> routine;
  std::string problem; ///< of binding
};

inline BoundRoutine bindCudaCall(const std::string &op,
                                 nlohmann::json attributes,
                                 const std::vector<TestTensor *> &inputs,
                                 const std::vector<TestTensor *> &outputs) {
  plan::LibraryCall call{op, std::move(attributes), {}, {}};
  int64_t index = 0;
  for (TestTensor *tensor : inputs) {
    tensor->ref.buffer = index++;
    call.inputs.push_back(tensor->ref);
  }
  for (TestTensor *tensor : outputs) {
    tensor->ref.buffer = index++;
    call.outputs.push_back(tensor->ref);
  }
  BoundRoutine bound;
  auto routine =
      cuda::bindRoutine(call, {bound.device, bound.kernels, nullptr});
  if (routine.ok())
    bound.routine = std::move(*routine);
  else
    bound.problem = routine.error().render();
  return bound;
}

/// Runs the launches of a generated routine on the CPU.
inline void runOnCpu(const BoundRoutine &bound,
                     const std::vector<TestTensor *> &inputs,
                     const std::vector<TestTensor *> &outputs,
                     uint64_t seed = 0) {
  ASSERT_TRUE(bound.routine) << bound.problem;
  auto &routine = dynamic_cast<cuda::GeneratedRoutine &>(*bound.routine);
  std::vector<void *> buffers;
  for (TestTensor *tensor : inputs)
    buffers.push_back(tensor->storage->mutableData());
  for (TestTensor *tensor : outputs)
    buffers.push_back(tensor->storage->mutableData());
  auto workspace =
      Storage::allocate(static_cast<size_t>(routine.workspaceBytes()));
  std::memset(workspace->mutableData(), 0xff, workspace->numBytes());
  const cuda::RoutineContext context{buffers.data(), nullptr,
                                     workspace->mutableData(), &seed};
  for (const cuda::KernelLaunch &launch : routine.launches()) {
    std::vector<void *> arguments;
    for (const cuda::KernelArgument &argument : launch.arguments)
      arguments.push_back(argument.resolve(context));
    for (const auto &request : bound.kernels.requests())
      if (request.entry == launch.kernel)
        CpuKernelRunner(request.symbol, request.source)
            .run(launch.grid, launch.block, launch.sharedBytes, arguments);
  }
}

/// Runs a routine on the device.
inline void runOnDevice(const BoundRoutine &bound,
                        const cuda::DevicePointer &device,
                        const std::vector<TestTensor *> &inputs,
                        const std::vector<TestTensor *> &outputs,
                        uint64_t seed) {
  static auto service = cuda::CompileService::create().valueOrThrow();
  const auto code =
      service->compile(bound.kernels.requests(), device->info().architecture())
          .valueOrThrow();
  cuda::loadKernels(bound.kernels, code, device);
  cuda::Device::Scope scope(*device);
  cuda::Stream stream(device);
  std::vector<TestTensor *> all = inputs;
  all.insert(all.end(), outputs.begin(), outputs.end());
  std::vector<cuda::DeviceMemory> memory;
  std::vector<void *> buffers;
  auto upload = [&](const void *data, size_t numBytes) {
    const auto bytes = static_cast<int64_t>(numBytes);
    memory.emplace_back(device, bytes);
    cuda::copyToDevice(memory.back().data(), data, bytes, stream.get());
    return memory.back().data();
  };
  for (TestTensor *tensor : all)
    buffers.push_back(
        upload(tensor->storage->data(), tensor->storage->numBytes()));
  const std::byte *seedWord = upload(&seed, sizeof seed);
  cuda::DeviceMemory workspace(device, bound.routine->workspaceBytes());
  bound.routine->enqueue({buffers.data(), stream.get(), workspace.data(),
                          reinterpret_cast<const uint64_t *>(seedWord)});
  for (size_t i = inputs.size(); i < all.size(); ++i)
    cuda::copyToHost(all[i]->storage->mutableData(), buffers[i],
                     static_cast<int64_t>(all[i]->storage->numBytes()),
                     stream.get());
  stream.synchronize("a routine");
}

/// Expects the GPU's routine to do what the CPU's does, bit for bit or, with a
/// tolerance, nearly; and to write nothing else. Its kernels run on the CPU
/// and, where there is a GPU, there too.
inline void expectSameAsCpu(const std::string &op,
                            const nlohmann::json &attributes,
                            const std::vector<TestTensor *> &inputs,
                            const std::vector<TestTensor *> &outputs,
                            double tolerance = 0, uint64_t seed = 0) {
  auto clearOutputs = [&] {
    for (TestTensor *output : outputs)
      std::memset(output->storage->mutableData(), 0xab,
                  output->storage->numBytes());
  };
  clearOutputs();
  runCall(op, attributes, inputs, outputs, 1, seed);
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::vector<Complex>> elements;
  for (TestTensor *output : outputs) {
    const std::byte *data = output->storage->data();
    bytes.emplace_back(data, data + output->storage->numBytes());
    elements.push_back(output->elements());
  }
  auto compare = [&](const char *where) {
    SCOPED_TRACE(where);
    for (size_t i = 0; i < outputs.size(); ++i) {
      if (tolerance > 0) {
        expectNear(*outputs[i], elements[i], tolerance);
        continue;
      }
      ASSERT_EQ(std::memcmp(bytes[i].data(), outputs[i]->storage->data(),
                            bytes[i].size()),
                0)
          << "output " << i << " has other bytes\nfound "
          << ::testing::PrintToString(outputs[i]->values()) << "\nfor "
          << ::testing::PrintToString(elements[i]);
    }
  };
  BoundRoutine bound = bindCudaCall(op, attributes, inputs, outputs);
  clearOutputs();
  ASSERT_NO_FATAL_FAILURE(runOnCpu(bound, inputs, outputs, seed));
  compare("kernels run on the CPU");
  static auto device = cuda::Device::open();
  if (!device.ok())
    return;
  clearOutputs();
  ASSERT_NO_THROW(runOnDevice(bound, *device, inputs, outputs, seed));
  compare("kernels run on the GPU");
}

/// Expects the kernels of a call to compile for GPUs, where NVRTC is there.
inline void expectCompiles(const std::string &op,
                           const nlohmann::json &attributes,
                           const std::vector<TestTensor *> &inputs,
                           const std::vector<TestTensor *> &outputs) {
  cuda::CompileOptions options;
  options.cacheDirectory = ""; // nowhere
  options.numProcesses = 1;
  auto service = cuda::CompileService::create(options);
  if (!service.ok())
    GTEST_SKIP() << service.error().render();
  BoundRoutine bound = bindCudaCall(op, attributes, inputs, outputs);
  ASSERT_TRUE(bound.routine) << bound.problem;
  for (const char *architecture : {"sm_80", "sm_90a"}) {
    auto code = (*service)->compile(bound.kernels.requests(), architecture);
    ASSERT_TRUE(code.ok()) << code.error().render();
  }
}

} // namespace gcompile::testing
