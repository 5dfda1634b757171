#include "gcompile/plan/CallReading.h"

#include <fmt/format.h>

namespace gcompile::plan {

void failCall(const LibraryCall &call, std::string_view problem) {
  throwError(ErrorCode::Internal,
             fmt::format("library call '{}': {}", call.op, problem));
}

void expectOperands(const LibraryCall &call, size_t minInputs, size_t maxInputs,
                    size_t minOutputs, size_t maxOutputs) {
  if (call.inputs.size() < minInputs || call.inputs.size() > maxInputs ||
      call.outputs.size() < minOutputs || call.outputs.size() > maxOutputs)
    failCall(call, fmt::format("{} inputs and {} outputs", call.inputs.size(),
                               call.outputs.size()));
}

namespace {

/// The attribute as a T, where `isOne` says that the JSON is one.
template <typename T>
T attribute(const LibraryCall &call, const char *name,
            bool (nlohmann::json::*isOne)() const noexcept) {
  auto it = call.attributes.is_object() ? call.attributes.find(name)
                                        : call.attributes.end();
  if (it == call.attributes.end())
    failCall(call, fmt::format("attribute '{}' is missing", name));
  if (!((*it).*isOne)())
    failCall(call, fmt::format("attribute '{}' is {}", name, it->dump()));
  return it->get<T>();
}

} // namespace

int64_t integerAttribute(const LibraryCall &call, const char *name) {
  return attribute<int64_t>(call, name, &nlohmann::json::is_number_integer);
}

bool boolAttribute(const LibraryCall &call, const char *name) {
  return attribute<bool>(call, name, &nlohmann::json::is_boolean);
}

double numberAttribute(const LibraryCall &call, const char *name) {
  return attribute<double>(call, name, &nlohmann::json::is_number);
}

std::string stringAttribute(const LibraryCall &call, const char *name) {
  return attribute<std::string>(call, name, &nlohmann::json::is_string);
}

std::vector<int64_t> integersAttribute(const LibraryCall &call,
                                       const char *name, size_t count) {
  auto values =
      attribute<std::vector<int64_t>>(call, name, &nlohmann::json::is_array);
  if (values.size() != count)
    failCall(call, fmt::format("attribute '{}' has {} entries instead of {}",
                               name, values.size(), count));
  return values;
}

size_t dimAttribute(const LibraryCall &call) {
  const int64_t dim = integerAttribute(call, "dim");
  if (dim < 0 || dim >= static_cast<int64_t>(call.inputs[0].sizes.size()))
    failCall(call, fmt::format("dimension {} of a tensor of rank {}", dim,
                               call.inputs[0].sizes.size()));
  return static_cast<size_t>(dim);
}

DType orderedType(const LibraryCall &call) {
  const DType dtype = call.inputs[0].dtype;
  if (!boolAttribute(call, "is_unsigned"))
    return dtype;
  switch (dtype) {
  case DType::Int8:
    return DType::UInt8;
  case DType::Int16:
    return DType::UInt16;
  case DType::Int32:
    return DType::UInt32;
  case DType::Int64:
    return DType::UInt64;
  default:
    return dtype;
  }
}

Lines::Lines(const TensorRef &ref, size_t dim)
    : length(ref.sizes[dim]), stride(ref.strides[dim]) {
  for (size_t d = 0; d < ref.sizes.size(); ++d)
    if (d != dim) {
      sizes.push_back(ref.sizes[d]);
      strides.push_back(ref.strides[d]);
      numLines *= ref.sizes[d];
    }
}

int64_t Lines::offset(int64_t line) const {
  int64_t offset = 0;
  for (size_t d = sizes.size(); d-- > 0; line /= sizes[d])
    offset += line % sizes[d] * strides[d];
  return offset;
}

int64_t numElements(const TensorRef &ref) {
  int64_t count = 1;
  for (int64_t size : ref.sizes)
    count *= size;
  return count;
}

} // namespace gcompile::plan
