//===- RoutineTesting.h - library calls on random tensors -----------------===//
#pragma once
#include "gcompile/base/Half.h"
#include "gcompile/base/Tensor.h"
#include "gcompile/cpu/Routine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <map>
#include <numeric>
#include <random>

namespace gcompile::testing {

using Complex = std::complex<double>;

/// How the elements of a test tensor lie in memory.
enum class Layout { Dense, Transposed, Gaps, Reversed };
inline constexpr Layout kAllLayouts[] = {Layout::Dense, Layout::Transposed,
                                         Layout::Gaps, Layout::Reversed};

/// A view over memory of its own, and access to its elements as numbers.
class TestTensor {
public:
  TestTensor(DType dtype, std::vector<int64_t> sizes,
             Layout layout = Layout::Dense) {
    ref.dtype = dtype;
    ref.sizes = std::move(sizes);
    const size_t rank = ref.sizes.size();
    ref.strides.resize(rank);
    int64_t stride = layout == Layout::Gaps ? 2 : 1;
    std::vector<size_t> order(rank);
    std::iota(order.begin(), order.end(), size_t{0});
    if (layout != Layout::Transposed)
      std::reverse(order.begin(), order.end());
    for (size_t d : order) { // innermost first
      ref.strides[d] = stride;
      stride *=
          std::max<int64_t>(ref.sizes[d], 1) + (layout == Layout::Gaps ? 3 : 0);
    }
    if (layout == Layout::Reversed)
      for (size_t d = 0; d < rank; ++d) {
        ref.offset += std::max<int64_t>(ref.sizes[d] - 1, 0) * ref.strides[d];
        ref.strides[d] = -ref.strides[d];
      }
    storage =
        Storage::allocate(static_cast<size_t>((stride + 1) * byteWidth(dtype)));
    std::memset(storage->mutableData(), 0xab, storage->numBytes());
  }

  int64_t size() const {
    return std::accumulate(ref.sizes.begin(), ref.sizes.end(), int64_t{1},
                           std::multiplies<>());
  }

  std::byte *addressOf(std::span<const int64_t> index) const {
    int64_t offset = ref.offset;
    for (size_t d = 0; d < index.size(); ++d)
      offset += index[d] * ref.strides[d];
    return storage->mutableData() + offset * byteWidth(ref.dtype);
  }
  std::byte *addressOf(std::initializer_list<int64_t> index) const {
    return addressOf(std::span(index.begin(), index.size()));
  }

  /// The index of the i-th element in row-major order.
  std::vector<int64_t> indexOf(int64_t i) const {
    std::vector<int64_t> index(ref.sizes.size());
    for (size_t d = index.size(); d-- > 0; i /= ref.sizes[d])
      index[d] = i % ref.sizes[d];
    return index;
  }

  template <typename Index>
  Complex get(const Index &index) const {
    Complex value = 0;
    visit([&]<typename S>(S) {
      S element;
      std::memcpy(&element, addressOf(index), sizeof(S));
      if constexpr (std::is_same_v<S, Float16> || std::is_same_v<S, BFloat16>)
        value = static_cast<double>(static_cast<float>(element));
      else if constexpr (std::is_arithmetic_v<S>)
        value = static_cast<double>(element);
      else
        value = Complex(element);
    });
    return value;
  }
  Complex get(std::initializer_list<int64_t> index) const {
    return get(std::vector<int64_t>(index));
  }
  double real(const std::vector<int64_t> &index) const {
    return get(index).real();
  }
  /// Elements in row-major order.
  std::vector<Complex> elements() const {
    std::vector<Complex> result;
    for (int64_t i = 0; i < size(); ++i)
      result.push_back(get(indexOf(i)));
    return result;
  }
  /// Their real parts.
  std::vector<double> values() const {
    std::vector<double> result;
    for (const Complex &element : elements())
      result.push_back(element.real());
    return result;
  }

  void set(std::span<const int64_t> index, Complex value) {
    visit([&]<typename S>(S) {
      S element;
      if constexpr (std::is_same_v<S, Float16> || std::is_same_v<S, BFloat16>)
        element = S(value.real());
      else if constexpr (std::is_integral_v<S>)
        element = static_cast<S>(static_cast<int64_t>(value.real()));
      else if constexpr (std::is_arithmetic_v<S>)
        element = static_cast<S>(value.real());
      else
        element = S(value);
      std::memcpy(addressOf(index), &element, sizeof(S));
    });
  }
  void assign(const std::vector<double> &values) {
    ASSERT_EQ(static_cast<int64_t>(values.size()), size());
    for (int64_t i = 0; i < size(); ++i)
      set(indexOf(i), values[static_cast<size_t>(i)]);
  }

  /// Multiples of 1/8 in [-2, 2]; small integers where the type has no
  /// fractions. Products and their sums are exact in every type but the halves.
  void randomize(std::mt19937 &random) {
    std::uniform_int_distribution<int> distribution(-16, 16);
    const bool hasFractions =
        isFloatingPoint(ref.dtype) || isComplex(ref.dtype);
    for (int64_t i = 0; i < size(); ++i) {
      auto draw = [&] {
        int value = distribution(random);
        return hasFractions            ? value / 8.0
               : isUnsigned(ref.dtype) ? value + 16
                                       : value;
      };
      double re = draw();
      set(indexOf(i), isComplex(ref.dtype) ? Complex(re, draw()) : re);
    }
  }

  plan::TensorRef ref;
  std::shared_ptr<Storage> storage;

private:
  template <typename Visit>
  void visit(Visit &&visit) const {
    switch (ref.dtype) {
    case DType::Bool:
    case DType::UInt8:
      return visit(uint8_t{});
    case DType::Int8:
      return visit(int8_t{});
    case DType::UInt16:
      return visit(uint16_t{});
    case DType::Int16:
      return visit(int16_t{});
    case DType::UInt32:
      return visit(uint32_t{});
    case DType::Int32:
      return visit(int32_t{});
    case DType::UInt64:
      return visit(uint64_t{});
    case DType::Int64:
      return visit(int64_t{});
    case DType::Float16:
      return visit(Float16{});
    case DType::BFloat16:
      return visit(BFloat16{});
    case DType::Float32:
      return visit(float{});
    case DType::Float64:
      return visit(double{});
    case DType::Complex64:
      return visit(std::complex<float>{});
    case DType::Complex128:
      return visit(std::complex<double>{});
    default:
      FAIL() << "no test elements of " << name(ref.dtype);
    }
  }
};

/// The routine of a call over these tensors, or its error.
inline Result<std::unique_ptr<cpu::Routine>>
bindCall(const std::string &op, nlohmann::json attributes,
         std::vector<TestTensor *> inputs, std::vector<TestTensor *> outputs) {
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
  return cpu::bindRoutine(call);
}

/// Binds and runs a call. The workspace is filled with NaN before.
inline void runCall(const std::string &op, nlohmann::json attributes,
                    std::vector<TestTensor *> inputs,
                    std::vector<TestTensor *> outputs, int numThreads = 2,
                    uint64_t seed = 0) {
  auto routine = bindCall(op, std::move(attributes), inputs, outputs);
  ASSERT_TRUE(routine.ok()) << routine.error().render();
  std::vector<void *> buffers;
  for (TestTensor *tensor : inputs)
    buffers.push_back(tensor->storage->mutableData());
  for (TestTensor *tensor : outputs)
    buffers.push_back(tensor->storage->mutableData());
  static std::map<int, std::unique_ptr<cpu::ThreadPool>> pools;
  auto &pool = pools[numThreads];
  if (!pool)
    pool = std::make_unique<cpu::ThreadPool>(numThreads);
  auto workspace = Storage::allocate(
      static_cast<size_t>((*routine)->workspaceBytes(numThreads)));
  std::memset(workspace->mutableData(), 0xff, workspace->numBytes());
  (*routine)->run({buffers.data(), *pool, workspace->mutableData(), seed});
}

/// Expects each element of `actual` to be near that of `expected`, row-major.
inline void expectNear(const TestTensor &actual,
                       const std::vector<Complex> &expected, double tolerance) {
  ASSERT_EQ(static_cast<int64_t>(expected.size()), actual.size());
  for (int64_t i = 0; i < actual.size(); ++i) {
    Complex wanted = expected[static_cast<size_t>(i)];
    Complex found = actual.get(actual.indexOf(i));
    ASSERT_LE(std::abs(found - wanted), tolerance * (1 + std::abs(wanted)))
        << "at " << ::testing::PrintToString(actual.indexOf(i)) << ": " << found
        << " instead of " << wanted;
  }
}

/// Expects each element of `actual` to be near `expected(index)`.
template <typename Expected>
void expectElements(const TestTensor &actual, double tolerance,
                    Expected &&expected) {
  std::vector<Complex> all;
  for (int64_t i = 0; i < actual.size(); ++i)
    all.push_back(expected(actual.indexOf(i)));
  expectNear(actual, all, tolerance);
}

} // namespace gcompile::testing
