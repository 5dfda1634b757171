#include "Pt2Archive.h"
#include "Detect.h"
#include "ExportJsonReader.h"
#include "TorchSave.h"

#include <algorithm>
#include <fmt/format.h>
#include <fmt/ranges.h>

namespace gcompile::frontend {
namespace {

constexpr std::string_view kProgramA = "serialized_exported_program.json";

/// Where the parts of one model are. Empty: not in the archive.
struct Parts {
  std::string program;
  /// Each a torch.save file, or a table (".json") of raw records.
  std::string weights, constants;
  std::string exampleInputs;
};

/// The first of `candidates` that the archive has; empty if none.
std::string firstRecord(const ZipReader &archive,
                        std::initializer_list<std::string> candidates) {
  for (const std::string &candidate : candidates)
    if (archive.contains(candidate))
      return candidate;
  return {};
}

Parts partsOfLayoutA(const ZipReader &archive) {
  return {std::string(kProgramA),
          // Old files call their torch.save blobs .json.
          firstRecord(archive, {"serialized_state_dict.pt",
                                "serialized_state_dict.json"}),
          firstRecord(archive,
                      {"serialized_constants.pt", "serialized_constants.json"}),
          firstRecord(archive, {"serialized_example_inputs.pt"})};
}

std::vector<std::string> modelNames(const ZipReader &archive,
                                    const std::string &root) {
  std::string prefix = root + "/models/";
  constexpr std::string_view suffix = ".json";
  std::vector<std::string> names;
  for (const auto &[record, entry] : archive.records())
    if (record.starts_with(prefix) && record.ends_with(suffix) &&
        record.size() > prefix.size() + suffix.size())
      names.push_back(record.substr(
          prefix.size(), record.size() - prefix.size() - suffix.size()));
  return names;
}

Parts partsOfLayoutB(const ZipReader &archive, const std::string &root,
                     const std::string &wanted) {
  std::string versionRecord = root + "/archive_version";
  if (archive.contains(versionRecord)) {
    SharedBytes version = archive.read(versionRecord);
    if (asText(version.bytes) != "0")
      throwError(ErrorCode::Unsupported,
                 fmt::format("{}: unknown archive version '{}'", archive.name(),
                             asText(version.bytes)));
  }
  checkByteOrder(archive, root);

  std::vector<std::string> models = modelNames(archive, root);
  auto fail = [&](std::string what, std::string help) {
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: {}", archive.name(), what), std::move(help));
  };
  if (models.empty())
    fail("the archive has no model", "save the program with torch.export.save");
  if (wanted.empty() && models.size() > 1)
    fail(fmt::format("the archive has {} models: {}", models.size(),
                     fmt::join(models, ", ")),
         "choose one of them");
  if (!wanted.empty() && std::ranges::find(models, wanted) == models.end())
    fail(fmt::format("the archive has no model '{}', but {}", wanted,
                     fmt::join(models, ", ")),
         "choose one of them");
  const std::string &model = wanted.empty() ? models[0] : wanted;

  std::string weights = root + "/data/weights/" + model;
  std::string constants = root + "/data/constants/" + model;
  return {
      fmt::format("{}/models/{}.json", root, model),
      firstRecord(archive, {weights + ".pt", weights + "_weights_config.json",
                            weights + "_model_param_config.json"}),
      firstRecord(archive,
                  {constants + ".pt", constants + "_constants_config.json",
                   constants + "_model_constants_config.json"}),
      firstRecord(archive,
                  {fmt::format("{}/data/sample_inputs/{}.pt", root, model)})};
}

Parts findParts(const ZipReader &archive, const std::string &wanted) {
  if (archive.contains(kProgramA))
    return partsOfLayoutA(archive);
  return partsOfLayoutB(archive, archive.rootFolder(), wanted);
}

TorchSave openTorchSave(const ZipReader &archive, const std::string &record) {
  return TorchSave(ZipReader(archive.map(record),
                             fmt::format("{}: {}", archive.name(), record)));
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// Reads the tables of raw records ("PayloadConfig"). Entries may share one.
class PayloadReader {
public:
  PayloadReader(const ZipReader &archive, const std::string &table)
      : archive(archive), folder(table.substr(0, table.rfind('/') + 1)),
        bytes(archive.read(table)),
        document(asText(bytes.bytes),
                 fmt::format("{}: {}", archive.name(), table)) {}

  WeightStore read() {
    WeightStore store;
    for (Json entry : document.root().at("config").members())
      readEntry(entry, store);
    return store;
  }

private:
  void readEntry(Json entry, WeightStore &store) {
    std::string name(entry.key());
    Json pathJson = entry.at("path_name");
    std::string path(pathJson.asString());
    if (path.empty() || path.find('/') != path.npos)
      pathJson.fail("expected the name of one record");
    std::string record = folder + path;
    std::optional<Json> metaJson = entry.find("tensor_meta");
    if (!metaJson) {
      store.absent.emplace(name,
                           "a script object, which gcompile does not load");
      return;
    }
    if (!archive.contains(record))
      pathJson.fail(fmt::format("record '{}' is missing", record));
    if (entry.at("use_pickle").asBool()) {
      TorchSave saved = openTorchSave(archive, record);
      if (saved.root().is(PickleValue::Kind::Tensor))
        store.tensors.emplace(name, *saved.root().tensor);
      else
        store.absent.emplace(name, "not a plain tensor");
      return;
    }

    ValueMeta meta = readTensorMeta(*metaJson);
    Tensor tensor;
    tensor.dtype = meta.dtype;
    tensor.sizes = concrete(*metaJson, meta.sizes);
    tensor.strides = concrete(*metaJson, meta.strides);
    tensor.storageOffset = concrete(*metaJson, {meta.storageOffset})[0];
    tensor.storage = storageOf(record);
    size_t storageBytes = tensor.storage->numBytes();
    bool isEmpty = std::ranges::count(tensor.sizes, 0) > 0;
    if (storageBytes == 0 && !isEmpty) {
      store.absent.emplace(name, "exported from fake tensors, without data");
      return;
    }
    if (std::string complaint = complainAboutTensor(tensor);
        !complaint.empty()) {
      // Weights on other devices are copied to the CPU before they are written,
      // which closes gaps that the recorded strides still have.
      Tensor dense = tensor;
      dense.strides = contiguousStrides(tensor.sizes);
      dense.storageOffset = 0;
      bool isCompacted = complainAboutTensor(dense).empty() &&
                         static_cast<size_t>(dense.numBytes()) == storageBytes;
      entry.fail(complaint,
                 isCompacted
                     ? "PyTorch wrote a view of a larger weight on another "
                       "device without its gaps; export the model on the CPU"
                     : "the file is damaged; export the model again");
    }
    store.tensors.emplace(name, std::move(tensor));
  }

  std::vector<int64_t> concrete(Json json, const std::vector<SymInt> &values) {
    std::vector<int64_t> numbers;
    for (const SymInt &value : values) {
      if (!value.isStatic())
        json.fail("a weight of symbolic size");
      numbers.push_back(value.value);
    }
    return numbers;
  }

  std::shared_ptr<Storage> storageOf(const std::string &record) {
    std::shared_ptr<Storage> &storage = storages[record];
    // Entries of any element type may share the record.
    constexpr size_t alignment = 8;
    if (!storage)
      storage = mapStorage(archive.map(record), alignment);
    return storage;
  }

  const ZipReader &archive;
  std::string folder;
  SharedBytes bytes;
  JsonDocument document;
  std::map<std::string, std::shared_ptr<Storage>> storages;
};

WeightStore readStore(const ZipReader &archive, const std::string &record) {
  // Empty records are empty dicts.
  if (record.empty() || archive.numBytes(record) == 0)
    return {};
  SharedBytes content = archive.map(record);
  if (detectContent(content.bytes) != Content::Zip)
    return PayloadReader(archive, record).read();
  return openTorchSave(archive, record).stateDict();
}

WeightStore readStores(const ZipReader &archive, const Parts &parts) {
  WeightStore store = readStore(archive, parts.weights);
  WeightStore constants = readStore(archive, parts.constants);
  store.tensors.merge(constants.tensors);
  store.absent.merge(constants.absent);
  // What merge() leaves behind was there already.
  for (const auto &[name, tensor] : constants.tensors)
    archive.fail(fmt::format("'{}' is both a weight and a constant", name));
  return store;
}

/// Compares the weights that the program names with what it says of them.
void checkWeights(const std::string &archiveName, const Program &program,
                  WeightStore &store) {
  for (const InputSpec &input : program.inputs) {
    bool isTensor = input.kind == InputSpec::Kind::Parameter ||
                    input.kind == InputSpec::Kind::Buffer ||
                    input.kind == InputSpec::Kind::Constant;
    if (!isTensor)
      continue;
    auto found = store.tensors.find(input.target);
    if (found == store.tensors.end()) {
      store.absent.emplace(input.target, "not in the archive");
      continue;
    }
    auto value = program.graph.values.find(input.name);
    if (value == program.graph.values.end())
      continue;
    const Tensor &tensor = found->second;
    const ValueMeta &meta = value->second;
    bool isEqual =
        meta.dtype == tensor.dtype && meta.sizes.size() == tensor.sizes.size();
    for (size_t i = 0; isEqual && i < meta.sizes.size(); ++i)
      isEqual =
          !meta.sizes[i].isStatic() || meta.sizes[i].value == tensor.sizes[i];
    if (isEqual)
      continue;
    std::vector<std::string> sizes;
    for (const SymInt &size : meta.sizes)
      sizes.push_back(size.expr ? size.expr->str()
                                : fmt::format("{}", size.value));
    throwError(ErrorCode::InvalidArgument,
               fmt::format("{}: weight '{}' is {}, but the program expects "
                           "{}[{}]",
                           archiveName, input.target, tensor.describe(),
                           shortName(meta.dtype), fmt::join(sizes, ", ")),
               "the archive mixes two exports; export the model again");
  }
}

//===----------------------------------------------------------------------===//
// Example inputs
//===----------------------------------------------------------------------===//

std::vector<std::optional<Tensor>> readExampleInputs(const ZipReader &archive,
                                                     const std::string &record,
                                                     const Program &program) {
  auto expected = static_cast<size_t>(std::ranges::count(
      program.inputs, InputSpec::Kind::UserInput, &InputSpec::kind));
  if (record.empty() || archive.numBytes(record) == 0)
    return {};
  std::vector<std::optional<Tensor>> inputs;
  try {
    inputs = openTorchSave(archive, record).leaves(expected);
  } catch (const ErrorException &) {
    // Only hints, which may hold any Python object.
    return {};
  }
  if (inputs.size() != expected)
    inputs.clear();
  return inputs;
}

} // namespace

bool isPt2Archive(const ZipReader &archive) {
  if (archive.contains(kProgramA))
    return true;
  std::string record = archive.rootFolder() + "/archive_format";
  return archive.contains(record) &&
         asText(archive.read(record).bytes) == "pt2";
}

Model readPt2Archive(const ZipReader &archive, const ReadOptions &options) {
  Parts parts = findParts(archive, options.model);
  Model model;
  model.format = Format::Pt2Archive;
  model.path = archive.name();
  SharedBytes text = archive.read(parts.program);
  JsonDocument document(asText(text.bytes),
                        fmt::format("{}: {}", archive.name(), parts.program));
  model.program = readExportJson(document.root());
  model.weights = readStores(archive, parts);
  checkWeights(archive.name(), model.program, model.weights);
  model.exampleInputs =
      readExampleInputs(archive, parts.exampleInputs, model.program);
  return model;
}

WeightStore readPt2Weights(const ZipReader &archive) {
  return readStores(archive, findParts(archive, ""));
}

} // namespace gcompile::frontend
