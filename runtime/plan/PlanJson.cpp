//===- PlanJson.cpp - plans as JSON ---------------------------------------===//
// Fields that have their default value are left out: most buffers and steps use
// few of theirs, and a plan is read by people.
#include "gcompile/plan/Plan.h"

#include <array>
#include <fmt/format.h>

namespace gcompile::plan {
namespace {

using nlohmann::json;

constexpr std::array kAllKinds = {BufferKind::Input,    BufferKind::Output,
                                  BufferKind::Weight,   BufferKind::State,
                                  BufferKind::Constant, BufferKind::Prepared,
                                  BufferKind::Arena};

constexpr std::string_view kBase64Digits =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

std::string encodeBase64(const std::vector<uint8_t> &bytes) {
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? bytes[i + j] : 0u);
    for (size_t j = 0; j < 4; ++j)
      text += j <= count ? kBase64Digits[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

std::optional<std::vector<uint8_t>> decodeBase64(std::string_view text) {
  if (text.size() % 4 != 0)
    return std::nullopt;
  while (text.ends_with('='))
    text.remove_suffix(1);
  std::vector<uint8_t> bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t bits = 0;
  int numBits = 0;
  for (char c : text) {
    size_t digit = kBase64Digits.find(c);
    if (digit == std::string_view::npos)
      return std::nullopt;
    bits = bits << 6 | static_cast<uint32_t>(digit);
    numBits += 6;
    if (numBits >= 8) {
      numBits -= 8;
      bytes.push_back(static_cast<uint8_t>(bits >> numBits));
    }
  }
  return bytes;
}

//===----------------------------------------------------------------------===//
// Writing
//===----------------------------------------------------------------------===//

/// Sets a field unless it has the value that its absence means.
template <typename T>
void put(json &object, const char *key, const T &value, const T &absent = {}) {
  if (value != absent)
    object[key] = value;
}

json write(const Buffer &buffer) {
  json object = {{"name", buffer.name},
                 {"kind", name(buffer.kind)},
                 {"dtype", name(buffer.dtype)},
                 {"sizes", buffer.sizes},
                 {"bytes", buffer.numBytes}};
  put(object, "index", buffer.index, int64_t{-1});
  put(object, "weight", buffer.weight);
  put(object, "offset", buffer.offset, int64_t{-1});
  if (!buffer.data.empty())
    object["data"] = encodeBase64(buffer.data);
  if (buffer.kind == BufferKind::Arena)
    object["live"] = {buffer.liveBegin, buffer.liveEnd};
  return object;
}

json write(const TensorRef &ref) {
  json object = {{"buffer", ref.buffer},
                 {"dtype", name(ref.dtype)},
                 {"sizes", ref.sizes},
                 {"strides", ref.strides}};
  put(object, "offset", ref.offset);
  return object;
}

json write(const Kernel &kernel);
json write(const Step &step);
json write(const InputBinding &input);
json write(const OutputBinding &output);
json write(const Mutation &mutation);

template <typename T>
json writeList(const std::vector<T> &values) {
  json list = json::array();
  for (const T &value : values)
    list.push_back(write(value));
  return list;
}

json write(const Kernel &kernel) {
  return {{"symbol", kernel.symbol},
          {"language", kernel.language},
          {"source", kernel.source}};
}

json write(const Step &step) {
  json object = {{"name", step.name}};
  put(object, "nodes", step.nodes);
  put(object, "reason", step.reason);
  if (step.library)
    object["library"] = {{"op", step.library->op},
                         {"attributes", step.library->attributes},
                         {"inputs", writeList(step.library->inputs)},
                         {"outputs", writeList(step.library->outputs)}};
  if (step.launch) {
    json launch = {{"kernel", step.launch->kernel},
                   {"arguments", step.launch->arguments},
                   {"extent", step.launch->extent}};
    put(launch, "elements_per_iteration", step.launch->elementsPerIteration,
        int64_t{1});
    put(launch, "scratch_bytes", step.launch->scratchBytes);
    put(launch, "grid", step.launch->grid, {1, 1, 1});
    put(launch, "block_threads", step.launch->blockThreads);
    put(launch, "shared_bytes", step.launch->sharedBytes);
    object["launch"] = std::move(launch);
  }
  if (!step.control.empty()) {
    json branches = json::array();
    for (const std::vector<Step> &branch : step.branches)
      branches.push_back(writeList(branch));
    object["control"] = step.control;
    object["predicate"] = step.predicate;
    object["branches"] = std::move(branches);
  }
  put(object, "floor_bytes", step.floorBytes);
  put(object, "floor_flops", step.floorFlops);
  return object;
}

json write(const Entry &entry) {
  return {{"steps", writeList(entry.steps)},
          {"arena_bytes", entry.arenaBytes},
          {"arena_lower_bound", entry.arenaLowerBound}};
}

json write(const InputBinding &input) {
  return {{"name", input.name},
          {"buffer", input.buffer},
          {"dtype", name(input.dtype)},
          {"sizes", input.sizes}};
}

json write(const OutputBinding &output) {
  return {{"name", output.name},
          {"buffer", output.buffer},
          {"dtype", name(output.dtype)},
          {"sizes", output.sizes},
          {"strides", output.strides}};
}

json write(const Mutation &mutation) {
  return {{"source", mutation.source}, {"target", mutation.target}};
}

//===----------------------------------------------------------------------===//
// Reading
//===----------------------------------------------------------------------===//

/// A JSON value and the way to it, for messages: "forward.steps[3].launch".
class Field {
public:
  Field(const json &value, std::string path)
      : value(value), path(std::move(path)) {}

  [[noreturn]] void fail(std::string_view expected) const {
    throwError(ErrorCode::InvalidArgument,
               fmt::format("plan: {} is not {}",
                           path.empty() ? "the document" : path, expected));
  }

  bool has(const char *key) const {
    return value.is_object() && value.contains(key);
  }

  Field at(const char *key) const {
    std::string inner = path.empty() ? key : path + "." + key;
    if (!value.is_object())
      fail("an object");
    auto it = value.find(key);
    if (it == value.end())
      throwError(ErrorCode::InvalidArgument,
                 fmt::format("plan: {} is missing", inner));
    return {*it, std::move(inner)};
  }

  int64_t integer() const {
    if (value.is_number_unsigned() &&
        value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX))
      fail("a 64-bit integer");
    if (!value.is_number_integer())
      fail("an integer");
    return value.get<int64_t>();
  }

  std::string string() const {
    if (!value.is_string())
      fail("a string");
    return value.get<std::string>();
  }

  DType dtype() const {
    std::optional<DType> dtype = dtypeFromName(string());
    if (!dtype)
      fail("an element type");
    return *dtype;
  }

  template <typename Read>
  auto list(Read &&read) const {
    if (!value.is_array())
      fail("a list");
    std::vector<decltype(read(*this))> values;
    values.reserve(value.size());
    for (size_t i = 0; i < value.size(); ++i)
      values.push_back(read(Field(value[i], fmt::format("{}[{}]", path, i))));
    return values;
  }

  std::vector<int64_t> integers() const {
    return list([](const Field &field) { return field.integer(); });
  }

  const json &value;
  const std::string path;
};

/// Reads a field that may be absent into `target`, which has its default.
void readOptional(const Field &object, const char *key, int64_t &target) {
  if (object.has(key))
    target = object.at(key).integer();
}
void readOptional(const Field &object, const char *key, std::string &target) {
  if (object.has(key))
    target = object.at(key).string();
}

Buffer readBuffer(const Field &field) {
  Buffer buffer;
  buffer.name = field.at("name").string();
  std::string kind = field.at("kind").string();
  const auto *found = std::find_if(
      kAllKinds.begin(), kAllKinds.end(),
      [&](BufferKind candidate) { return name(candidate) == kind; });
  if (found == kAllKinds.end())
    field.at("kind").fail("a kind of buffer");
  buffer.kind = *found;
  buffer.dtype = field.at("dtype").dtype();
  buffer.sizes = field.at("sizes").integers();
  buffer.numBytes = field.at("bytes").integer();
  readOptional(field, "index", buffer.index);
  readOptional(field, "weight", buffer.weight);
  readOptional(field, "offset", buffer.offset);
  if (field.has("data")) {
    auto data = decodeBase64(field.at("data").string());
    if (!data)
      field.at("data").fail("base64");
    buffer.data = std::move(*data);
  }
  if (buffer.kind == BufferKind::Arena) {
    std::vector<int64_t> live = field.at("live").integers();
    if (live.size() != 2)
      field.at("live").fail("a pair");
    buffer.liveBegin = live[0];
    buffer.liveEnd = live[1];
  }
  return buffer;
}

TensorRef readRef(const Field &field) {
  TensorRef ref;
  ref.buffer = field.at("buffer").integer();
  ref.dtype = field.at("dtype").dtype();
  ref.sizes = field.at("sizes").integers();
  ref.strides = field.at("strides").integers();
  readOptional(field, "offset", ref.offset);
  return ref;
}

Launch readLaunch(const Field &field) {
  Launch launch;
  launch.kernel = field.at("kernel").integer();
  launch.arguments = field.at("arguments").integers();
  launch.extent = field.at("extent").integer();
  readOptional(field, "elements_per_iteration", launch.elementsPerIteration);
  readOptional(field, "scratch_bytes", launch.scratchBytes);
  if (field.has("grid")) {
    std::vector<int64_t> grid = field.at("grid").integers();
    if (grid.size() != launch.grid.size())
      field.at("grid").fail("three integers");
    std::copy(grid.begin(), grid.end(), launch.grid.begin());
  }
  readOptional(field, "block_threads", launch.blockThreads);
  readOptional(field, "shared_bytes", launch.sharedBytes);
  return launch;
}

Step readStep(const Field &field) {
  Step step;
  step.name = field.at("name").string();
  if (field.has("nodes"))
    step.nodes =
        field.at("nodes").list([](const Field &node) { return node.string(); });
  readOptional(field, "reason", step.reason);
  if (field.has("library")) {
    Field library = field.at("library");
    step.library =
        LibraryCall{library.at("op").string(), library.at("attributes").value,
                    library.at("inputs").list(readRef),
                    library.at("outputs").list(readRef)};
  }
  if (field.has("launch"))
    step.launch = readLaunch(field.at("launch"));
  if (field.has("control")) {
    step.control = field.at("control").string();
    step.predicate = field.at("predicate").integer();
    step.branches = field.at("branches").list([](const Field &branch) {
      return branch.list(readStep);
    });
  }
  readOptional(field, "floor_bytes", step.floorBytes);
  readOptional(field, "floor_flops", step.floorFlops);
  return step;
}

Entry readEntry(const Field &field) {
  return {field.at("steps").list(readStep), field.at("arena_bytes").integer(),
          field.at("arena_lower_bound").integer()};
}

Plan readPlan(const Field &field) {
  int64_t version = field.at("version").integer();
  if (version != Plan::kVersion)
    throwError(ErrorCode::InvalidArgument,
               fmt::format("plan: version {}, but this gcompile reads {}",
                           version, Plan::kVersion),
               "compile the model again");
  Plan plan;
  plan.target = field.at("target").string();
  plan.modelName = field.at("model").string();
  plan.buffers = field.at("buffers").list(readBuffer);
  plan.kernels = field.at("kernels").list([](const Field &kernel) {
    return Kernel{kernel.at("symbol").string(), kernel.at("language").string(),
                  kernel.at("source").string()};
  });
  plan.forward = readEntry(field.at("forward"));
  plan.prepare = readEntry(field.at("prepare"));
  plan.preparedBytes = field.at("prepared_bytes").integer();
  plan.inputs = field.at("inputs").list([](const Field &input) {
    return InputBinding{input.at("name").string(), input.at("buffer").integer(),
                        input.at("dtype").dtype(),
                        input.at("sizes").integers()};
  });
  plan.outputs = field.at("outputs").list([](const Field &output) {
    return OutputBinding{
        output.at("name").string(), output.at("buffer").integer(),
        output.at("dtype").dtype(), output.at("sizes").integers(),
        output.at("strides").integers()};
  });
  plan.mutations = field.at("mutations").list([](const Field &mutation) {
    return Mutation{mutation.at("source").integer(),
                    mutation.at("target").integer()};
  });
  return plan;
}

} // namespace

json toJson(const Plan &plan) {
  return {{"version", Plan::kVersion},
          {"target", plan.target},
          {"model", plan.modelName},
          {"buffers", writeList(plan.buffers)},
          {"kernels", writeList(plan.kernels)},
          {"forward", write(plan.forward)},
          {"prepare", write(plan.prepare)},
          {"prepared_bytes", plan.preparedBytes},
          {"inputs", writeList(plan.inputs)},
          {"outputs", writeList(plan.outputs)},
          {"mutations", writeList(plan.mutations)}};
}

Result<Plan> fromJson(const json &document) {
  return catchErrors<Result<Plan>>([&]() -> Result<Plan> {
    Plan plan = readPlan(Field(document, ""));
    checkPlan(plan).orThrow();
    return plan;
  });
}

} // namespace gcompile::plan
