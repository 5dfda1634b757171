//===- Driver.h - libcuda, opened when it is first used -------------------===//
// The functions that we use, declared as cuda.h does.
#pragma once
#include "gcompile/cuda/Device.h"

#include <cstddef>
#include <string_view>

using CUcontext = struct CUctx_st *;
using CUmodule = struct CUmod_st *;
using CUgraph = struct CUgraph_st *;
using CUdeviceptr = unsigned long long;

namespace gcompile::cuda {

/// The driver's functions. Thread-safe, as they are.
struct Driver {
  /// Returns a CUresult: 0, or what went wrong.
  template <typename... Arguments>
  using Function = int(Arguments...);

  Function<unsigned> *init;
  Function<int, const char **> *getErrorName, *getErrorString;
  Function<int *> *driverGetVersion, *deviceGetCount;
  Function<int *, int> *deviceGet;
  Function<char *, int, int> *deviceGetName;
  Function<int *, int, int> *deviceGetAttribute;
  Function<CUcontext *, int> *devicePrimaryCtxRetain;
  Function<int> *devicePrimaryCtxRelease;
  Function<CUcontext> *ctxPushCurrent;
  Function<CUcontext *> *ctxPopCurrent;

  Function<CUmodule *, const void *> *moduleLoadData;
  Function<CUmodule> *moduleUnload;
  Function<CUfunction *, CUmodule, const char *> *moduleGetFunction;
  Function<CUfunction, int, int> *funcSetAttribute;
  Function<CUfunction, unsigned, unsigned, unsigned, unsigned, unsigned,
           unsigned, unsigned, CUstream, void **, void **> *launchKernel;

  Function<CUdeviceptr *, size_t> *memAlloc;
  Function<CUdeviceptr> *memFree;
  Function<size_t *, size_t *> *memGetInfo;
  Function<void **, size_t, unsigned> *memHostAlloc;
  Function<void *> *memFreeHost;
  Function<CUdeviceptr, const void *, size_t, CUstream> *memcpyHtoDAsync;
  Function<void *, CUdeviceptr, size_t, CUstream> *memcpyDtoHAsync;
  Function<CUdeviceptr, CUdeviceptr, size_t, CUstream> *memcpyDtoDAsync;
  Function<CUdeviceptr, unsigned char, size_t, CUstream> *memsetD8Async;
  Function<CUdeviceptr, unsigned, size_t, CUstream> *memsetD32Async;

  Function<CUstream *, unsigned> *streamCreate;
  Function<CUstream> *streamDestroy, *streamSynchronize;
  Function<CUstream, int> *streamBeginCapture;
  Function<CUstream, CUgraph *> *streamEndCapture;
  Function<CUgraphExec *, CUgraph, unsigned long long> *graphInstantiate;
  Function<CUgraphExec, CUstream> *graphUpload, *graphLaunch;
  Function<CUgraph> *graphDestroy;
  Function<CUgraphExec> *graphExecDestroy;

  Function<CUevent *, unsigned> *eventCreate;
  Function<CUevent> *eventDestroy, *eventSynchronize;
  Function<CUevent, CUstream> *eventRecord;
  Function<float *, CUevent, CUevent> *eventElapsedTime;
};

/// The driver, initialised. Throws an ErrorException that says what is missing
/// and what to do where there is none, or no GPU.
const Driver &driver();

/// Throws an ErrorException of code Device unless `result` is 0: "cannot WHAT",
/// with the driver's own text.
void check(int result, std::string_view what);

} // namespace gcompile::cuda
