//===- GeneratedRoutine.h - routines that are launches of own kernels -----===//
#pragma once
#include "RoutineSupport.h"

#include <string>
#include <string_view>
#include <vector>

namespace gcompile::cuda {

/// A parameter of a generated kernel: a pointer that is known when it is run.
struct KernelArgument {
  enum class Base { Buffer, Workspace, Seed };
  Base base;
  int64_t buffer = -1; ///< index, of a Buffer
  int64_t offset = 0;  ///< bytes

  /// The first element of a view.
  static KernelArgument view(const plan::TensorRef &ref) {
    return {Base::Buffer, ref.buffer, ref.offset * byteWidth(ref.dtype)};
  }
  static KernelArgument workspace(int64_t offset) {
    return {Base::Workspace, -1, offset};
  }
  static KernelArgument seed() { return {Base::Seed}; }

  void *resolve(const RoutineContext &context) const;
};

struct KernelLaunch {
  KernelHandle kernel;
  Dim3 grid, block;
  int64_t sharedBytes = 0; ///< dynamic
  std::vector<KernelArgument> arguments;
};

/// Launches in order. None where there is nothing to compute.
class GeneratedRoutine : public Routine {
public:
  explicit GeneratedRoutine(std::vector<KernelLaunch> launches,
                            int64_t workspace = 0)
      : all(std::move(launches)), workspace(workspace) {}

  int64_t workspaceBytes() const override { return workspace; }
  void enqueue(const RoutineContext &context) const override;
  const std::vector<KernelLaunch> &launches() const { return all; }

private:
  const std::vector<KernelLaunch> all;
  const int64_t workspace;
};

/// Asks for the kernel of `source`, in which KERNEL stands for its name:
/// `purpose` and a hash of the source, so that kernels of one program differ.
KernelHandle addKernel(const RoutineEnvironment &environment,
                       std::string_view purpose, std::string source);

/// ceil(work / perBlock) blocks in x. Throws if there are more than a grid has.
Dim3 gridFor(int64_t work, int64_t perBlock);

/// The C++ type of elements in gcompile.cuh ("f32"); `c64` and `c128` are not.
std::string_view elementType(DType dtype);

/// A loop: elements between neighbours along it in each of the tensors.
struct StridedDim {
  int64_t size;
  std::vector<int64_t> strides;
};

/// Source of a function `NAME` that turns a row-major index over `dims` into
/// the offset in tensor number `tensor`, in 64 bits where 32 are too few for
/// either.
std::string offsetFunction(std::string_view name,
                           const std::vector<StridedDim> &dims, size_t tensor);

/// `dims` with those of size 1 dropped, and neighbours that are one run in all
/// tensors joined.
std::vector<StridedDim> joinDims(const std::vector<StridedDim> &dims);

/// The loops of views of one shape, joined.
std::vector<StridedDim>
dimsOf(const std::vector<const plan::TensorRef *> &views);
/// The same without dimension `dim`: the lines along it.
std::vector<StridedDim>
lineDimsOf(const std::vector<const plan::TensorRef *> &views, size_t dim);

int64_t numElements(const std::vector<StridedDim> &dims);

} // namespace gcompile::cuda
