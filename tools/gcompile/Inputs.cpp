#include "Inputs.h"

#include "gcompile/frontend/Readers.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::tool {
namespace {

using frontend::InputSpec;
using frontend::Program;
using frontend::ValueKind;
using frontend::ValueRef;

uint16_t toFloat16(float value) {
  // Random numbers are finite and of order one; subnormals flush to zero.
  uint32_t bits = std::bit_cast<uint32_t>(value);
  int exponent = static_cast<int>((bits >> 23) & 255) - 127 + 15;
  if (exponent <= 0)
    return static_cast<uint16_t>((bits >> 16) & 0x8000);
  return static_cast<uint16_t>(((bits >> 16) & 0x8000) |
                               (static_cast<uint32_t>(exponent) << 10) |
                               ((bits >> 13) & 1023));
}

void storeFloat(Tensor &tensor, int64_t index, double value) {
  std::byte *target = tensor.mutableData() + index * byteWidth(tensor.dtype);
  auto narrow = static_cast<float>(value);
  switch (tensor.dtype) {
  case DType::Float64:
    std::memcpy(target, &value, 8);
    return;
  case DType::Float32:
    std::memcpy(target, &narrow, 4);
    return;
  case DType::BFloat16: {
    auto bits = static_cast<uint16_t>(std::bit_cast<uint32_t>(narrow) >> 16);
    std::memcpy(target, &bits, 2);
    return;
  }
  case DType::Float16: {
    uint16_t bits = toFloat16(narrow);
    std::memcpy(target, &bits, 2);
    return;
  }
  default:
    throwError(
        ErrorCode::Unsupported,
        fmt::format("cannot make random numbers of {}", name(tensor.dtype)),
        "give the tensor in a safetensors file");
  }
}

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number
/// generators", 2014), seeded by a name. Fast: models have 10^8 weights.
class RandomBits {
public:
  RandomBits(uint64_t seed, const std::string &name) : state(seed) {
    // FNV-1a: std::hash may differ between libraries.
    uint64_t hash = 1469598103934665603ull;
    for (char c : name)
      hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ull;
    state ^= hash;
  }
  uint64_t operator()() {
    uint64_t z = state += 0x9e3779b97f4a7c15ull;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
  }
  /// Mean 0, deviation 1, within ±3.5: the sum of four uniform numbers.
  double normal() {
    uint64_t bits = (*this)();
    auto part = [&](int shift) {
      return static_cast<double>((bits >> shift) & 0xffff);
    };
    double sum = (part(0) + part(16) + part(32) + part(48)) / 65536.0;
    return (sum - 2) * 1.7320508075688772;
  }

private:
  uint64_t state;
};

int64_t pickSize(const frontend::SymInt &size, const Program &program) {
  if (size.isStatic())
    return size.value;
  if (size.hint)
    return *size.hint;
  if (size.expr->kind == frontend::SymExpr::Kind::Symbol) {
    auto range = program.symbolRanges.find(size.expr->name);
    if (range != program.symbolRanges.end()) {
      int64_t low = std::max<int64_t>(range->second.min.value_or(2), 2);
      return std::min(low, range->second.max.value_or(low));
    }
    return 2;
  }
  throwError(ErrorCode::InvalidArgument,
             fmt::format("no concrete value for the size {}", size.expr->str()),
             "give the inputs with --inputs");
}

std::string describeSizes(const std::vector<frontend::SymInt> &sizes) {
  std::vector<std::string> parts;
  for (const frontend::SymInt &size : sizes)
    parts.push_back(size.isStatic() ? std::to_string(size.value)
                                    : size.expr->str());
  return fmt::format("[{}]", fmt::join(parts, ", "));
}

void checkInput(const UserInput &input, size_t position, const Tensor &tensor) {
  auto wrong = [&](const std::string &what) {
    throwError(
        ErrorCode::InvalidArgument,
        fmt::format("input {} ('{}') {}", position, input.userName, what),
        "see the signature the model was exported with",
        {fmt::format("expected {}{}", shortName(input.dtype),
                     describeSizes(input.sizes)),
         fmt::format("found    {}", tensor.describe())});
  };
  if (tensor.dtype != input.dtype)
    wrong("has the wrong dtype");
  if (tensor.sizes.size() != input.sizes.size())
    wrong("has the wrong rank");
  for (size_t d = 0; d < input.sizes.size(); ++d)
    if (input.sizes[d].isStatic() && input.sizes[d].value != tensor.sizes[d])
      wrong(fmt::format("has the wrong size in dimension {}", d));
}

} // namespace

std::vector<UserInput> userInputs(const Program &program) {
  std::vector<UserInput> inputs;
  size_t position = 0;
  for (const InputSpec &spec : program.inputs) {
    if (spec.kind != InputSpec::Kind::UserInput)
      continue;
    size_t leaf = position++;
    if (spec.name.empty())
      continue; // a literal that the export specialised
    auto meta = program.graph.values.find(spec.name);
    if (meta == program.graph.values.end())
      throwError(
          ErrorCode::InvalidArgument,
          fmt::format("the shape of input '{}' is not recorded", spec.name),
          "use a dump with annotations, or export the model again");
    if (meta->second.kind != ValueKind::Tensor)
      continue; // a symbolic scalar, bound by the tensors' sizes
    UserInput input;
    input.placeholder = spec.name;
    input.userName = leaf < program.userInputNames.size()
                         ? program.userInputNames[leaf]
                         : spec.name;
    input.dtype = meta->second.dtype;
    input.sizes = meta->second.sizes;
    inputs.push_back(std::move(input));
  }
  return inputs;
}

Tensor randomTensor(DType dtype, const std::vector<int64_t> &sizes,
                    uint64_t seed, const std::string &name) {
  Tensor tensor = Tensor::empty(dtype, sizes);
  int64_t count = tensor.numElements();
  if (isFloatingPoint(dtype)) {
    RandomBits random(seed, name);
    for (int64_t i = 0; i < count; ++i)
      storeFloat(tensor, i, random.normal());
    return tensor;
  }
  RandomBits random(seed, name);
  int64_t width = byteWidth(dtype);
  if (isComplex(dtype))
    throwError(
        ErrorCode::Unsupported,
        fmt::format("cannot make random numbers of {}", gcompile::name(dtype)));
  for (int64_t i = 0; i < count; ++i) {
    // Small, so that they serve as token ids and class numbers.
    uint64_t value = random() % (dtype == DType::Bool ? 2 : 8);
    std::memcpy(tensor.mutableData() + i * width, &value,
                static_cast<size_t>(width));
  }
  return tensor;
}

Inputs loadInputs(const Options &options, const frontend::Model &model) {
  std::vector<UserInput> wanted = userInputs(model.program);
  Inputs inputs;
  if (!options.inputs.empty()) {
    inputs.source = options.inputs;
    auto tensors = frontend::readSafetensors(options.inputs).valueOrThrow();
    for (size_t i = 0; i < wanted.size(); ++i) {
      auto found = tensors.find(std::to_string(i));
      for (const std::string &name :
           {wanted[i].userName, wanted[i].placeholder})
        if (found == tensors.end())
          found = tensors.find(name);
      if (found == tensors.end())
        throwError(
            ErrorCode::InvalidArgument,
            fmt::format("'{}' has no tensor for input {} ('{}')",
                        options.inputs, i, wanted[i].userName),
            fmt::format("name it \"{}\" or \"{}\"", i, wanted[i].userName));
      checkInput(wanted[i], i, found->second);
      inputs.tensors.push_back(found->second);
      tensors.erase(found);
    }
    if (!tensors.empty())
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("'{}' has a tensor '{}' that is no input of the "
                             "model",
                             options.inputs, tensors.begin()->first));
    return inputs;
  }
  bool haveExamples =
      model.exampleInputs.size() == wanted.size() &&
      std::all_of(model.exampleInputs.begin(), model.exampleInputs.end(),
                  [](const auto &tensor) { return tensor.has_value(); });
  if (haveExamples && !wanted.empty()) {
    inputs.source = "the export's example inputs";
    for (size_t i = 0; i < wanted.size(); ++i) {
      checkInput(wanted[i], i, *model.exampleInputs[i]);
      inputs.tensors.push_back(*model.exampleInputs[i]);
    }
    return inputs;
  }
  inputs.source = fmt::format("random, seed {}", options.seed);
  for (const UserInput &input : wanted) {
    std::vector<int64_t> sizes;
    for (const frontend::SymInt &size : input.sizes)
      sizes.push_back(pickSize(size, model.program));
    inputs.tensors.push_back(
        randomTensor(input.dtype, sizes, options.seed, input.placeholder));
  }
  return inputs;
}

frontend::WeightStore randomWeights(const Program &program, uint64_t seed) {
  frontend::WeightStore store;
  for (const InputSpec &spec : program.inputs) {
    if (spec.kind != InputSpec::Kind::Parameter &&
        spec.kind != InputSpec::Kind::Buffer &&
        spec.kind != InputSpec::Kind::Constant)
      continue;
    auto meta = program.graph.values.find(spec.name);
    if (meta == program.graph.values.end())
      throwError(
          ErrorCode::InvalidArgument,
          fmt::format("the shape of weight '{}' is not recorded", spec.target));
    std::vector<int64_t> sizes;
    for (const frontend::SymInt &size : meta->second.sizes)
      sizes.push_back(pickSize(size, program));
    DType dtype = meta->second.dtype;
    if (!isFloatingPoint(dtype)) {
      store.tensors.emplace(spec.target,
                            randomTensor(dtype, sizes, seed, spec.target));
      continue;
    }
    // Keeps activations of order one through many layers: matrices by their
    // fan-in, vectors (scales, variances, biases) positive and near one.
    int64_t fanIn = 1;
    for (size_t d = 1; d < sizes.size(); ++d)
      fanIn *= sizes[d];
    double scale =
        1 / std::sqrt(static_cast<double>(std::max<int64_t>(fanIn, 1)));
    Tensor tensor = Tensor::empty(dtype, sizes);
    RandomBits random(seed, spec.target);
    for (int64_t i = 0, n = tensor.numElements(); i < n; ++i)
      storeFloat(tensor, i,
                 sizes.size() > 1 ? scale * random.normal()
                                  : 1 + 0.1 * random.normal());
    store.tensors.emplace(spec.target, std::move(tensor));
  }
  return store;
}

} // namespace gcompile::tool
