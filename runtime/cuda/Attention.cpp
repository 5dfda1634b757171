//===- Attention.cpp - scaled dot-product attention -----------------------===//
#include "GeneratedRoutine.h"

#include <algorithm>
#include <fmt/format.h>

namespace gcompile::cuda {
namespace {

constexpr int64_t kThreads = 128;

/// Pointer offset of head `item` (a position in batch x heads) of a view whose
/// heads each serve `share` heads of the query.
std::string headFunction(std::string_view name, const plan::TensorRef &ref,
                         const plan::TensorRef &query, int64_t share) {
  const size_t batchRank = query.sizes.size() - 3;
  std::string text =
      fmt::format("__device__ inline i64 {}(i64 item) {{\n"
                  "  i64 offset = item % {} / {} * {}ll;\n  item /= {};\n",
                  name, query.sizes[batchRank], share, ref.strides[batchRank],
                  query.sizes[batchRank]);
  for (size_t d = batchRank; d-- > 0;)
    text += fmt::format("  offset += item % {} * {}ll;\n  item /= {};\n",
                        query.sizes[d], ref.strides[d], query.sizes[d]);
  return text + "  return offset;\n}\n";
}

void checkCall(const plan::LibraryCall &call) {
  plan::expectOperands(call, 3, 4, 1, 2);
  const plan::TensorRef &query = call.inputs[0], &key = call.inputs[1];
  const plan::TensorRef &value = call.inputs[2], &result = call.outputs[0];
  const size_t rank = query.sizes.size();
  if (rank < 3 || key.sizes.size() != rank || value.sizes.size() != rank ||
      result.sizes.size() != rank)
    plan::failCall(call, "ranks differ or are below 3");
  const int64_t heads = query.sizes[rank - 3], keyHeads = key.sizes[rank - 3];
  if (keyHeads == 0 ? heads != 0 : heads % keyHeads != 0)
    plan::failCall(call,
                   "the heads of the query are not a multiple of the key's");
  auto shape = [&](std::initializer_list<int64_t> tail) {
    std::vector<int64_t> sizes(query.sizes.begin(), query.sizes.end() - 3);
    sizes.insert(sizes.end(), tail);
    return sizes;
  };
  const int64_t queries = query.sizes[rank - 2], keys = key.sizes[rank - 2];
  if (key.sizes != shape({keyHeads, keys, query.sizes[rank - 1]}) ||
      value.sizes != shape({keyHeads, keys, value.sizes[rank - 1]}) ||
      result.sizes != shape({heads, queries, value.sizes[rank - 1]}) ||
      (call.inputs.size() > 3 &&
       call.inputs[3].sizes != shape({heads, queries, keys})) ||
      (call.outputs.size() > 1 &&
       call.outputs[1].sizes != shape({heads, queries})))
    plan::failCall(call, "shapes do not agree");
  if (key.dtype != query.dtype || value.dtype != query.dtype ||
      result.dtype != query.dtype)
    plan::failCall(call, "types do not agree");
}

} // namespace

std::unique_ptr<Routine> bindAttention(const plan::LibraryCall &call,
                                       const RoutineEnvironment &environment) {
  checkCall(call);
  const plan::TensorRef &query = call.inputs[0], &key = call.inputs[1];
  const plan::TensorRef &value = call.inputs[2], &result = call.outputs[0];
  const plan::TensorRef *mask =
      call.inputs.size() > 3 ? &call.inputs[3] : nullptr;
  const plan::TensorRef *logsumexp =
      call.outputs.size() > 1 ? &call.outputs[1] : nullptr;
  if (!isFloatingPoint(query.dtype))
    failDType(call, query.dtype);
  const std::string_view type = elementType(query.dtype);
  const std::string_view sum = query.dtype == DType::Float64 ? "f64" : "f32";
  const size_t rank = query.sizes.size();
  const int64_t heads = query.sizes[rank - 3], queries = query.sizes[rank - 2];
  const int64_t keys = key.sizes[rank - 2];
  const int64_t share =
      std::max<int64_t>(1, heads / std::max<int64_t>(1, key.sizes[rank - 3]));
  int64_t rows = queries;
  for (size_t d = 0; d + 2 < rank; ++d)
    rows *= query.sizes[d];
  if (rows == 0)
    return std::make_unique<GeneratedRoutine>(std::vector<KernelLaunch>{});

  std::string source = "#include \"attention.cuh\"\n";
  source += headFunction("query_head", query, query, 1) +
            headFunction("key_head", key, query, share) +
            headFunction("value_head", value, query, share) +
            headFunction("result_head", result, query, 1);
  std::string parameters = fmt::format(
      "const {0} *query, const {0} *key, const {0} *value, {0} *result", type);
  std::string addMask = "score";
  if (mask) {
    source += headFunction("mask_head", *mask, query, 1);
    parameters += fmt::format(", const {} *mask", elementType(mask->dtype));
    const std::string element =
        fmt::format("mask[k * {}ll]", mask->strides[rank - 1]);
    addMask =
        mask->dtype == DType::Bool
            ? fmt::format("{} ? score : -{}(__uint_as_float(0x7f800000u))",
                          element, sum)
            : fmt::format("score + to_sum<{}>({})", sum, element);
  }
  std::string sums = "nullptr";
  if (logsumexp) {
    source += headFunction("logsumexp_head", *logsumexp, query, 1);
    parameters += fmt::format(", {} *logsumexp", sum);
    sums = fmt::format("logsumexp + logsumexp_head(item) + row * {}ll",
                       logsumexp->strides[rank - 2]);
  }
  source += fmt::format(
      R"(
extern "C" __global__ void __launch_bounds__({threads}) KERNEL({parameters}) {{
  const i64 item = blockIdx.x / {queries}, row = blockIdx.x % {queries};
  const i64 keys = {keys};
{enterMask}  attend<{sum}, {depth}, {valueDepth}>(
      query + query_head(item) + row * {queryRow}ll, {queryStride},
      key + key_head(item), {keyRow}, {keyStride},
      value + value_head(item), {valueRow}, {valueStride},
      result + result_head(item) + row * {resultRow}ll, {resultStride}, keys,
      {sum}({scale:.17g}), [=](i64 k, {sum} score) -> {sum} {{ return {addMask}; }},
      {sums});
}}
)",
      fmt::arg("threads", kThreads), fmt::arg("parameters", parameters),
      fmt::arg("queries", queries),
      fmt::arg("keys", plan::boolAttribute(call, "causal")
                           ? fmt::format("smaller(row + 1, i64({}))", keys)
                           : std::to_string(keys)),
      fmt::arg("enterMask", mask ? fmt::format("  mask += mask_head(item) "
                                               "+ row * {}ll;\n",
                                               mask->strides[rank - 2])
                                 : ""),
      fmt::arg("sum", sum), fmt::arg("depth", query.sizes[rank - 1]),
      fmt::arg("valueDepth", value.sizes[rank - 1]),
      fmt::arg("queryRow", query.strides[rank - 2]),
      fmt::arg("queryStride", query.strides[rank - 1]),
      fmt::arg("keyRow", key.strides[rank - 2]),
      fmt::arg("keyStride", key.strides[rank - 1]),
      fmt::arg("valueRow", value.strides[rank - 2]),
      fmt::arg("valueStride", value.strides[rank - 1]),
      fmt::arg("resultRow", result.strides[rank - 2]),
      fmt::arg("resultStride", result.strides[rank - 1]),
      fmt::arg("scale", plan::numberAttribute(call, "scale")),
      fmt::arg("addMask", addMask), fmt::arg("sums", sums));
  KernelLaunch launch{addKernel(environment, "attention", source),
                      gridFor(rows, 1),
                      {static_cast<unsigned>(kThreads), 1, 1}};
  for (const plan::TensorRef *ref : {&query, &key, &value, &result})
    launch.arguments.push_back(KernelArgument::view(*ref));
  if (mask)
    launch.arguments.push_back(KernelArgument::view(*mask));
  if (logsumexp)
    launch.arguments.push_back(KernelArgument::view(*logsumexp));
  std::vector<KernelLaunch> launches;
  launches.push_back(std::move(launch));
  return std::make_unique<GeneratedRoutine>(std::move(launches));
}

} // namespace gcompile::cuda
