//===- ReadModel.cpp - models and weights in any format -------------------===//
#include "Detect.h"
#include "ExportJsonReader.h"
#include "FxJsonReader.h"
#include "FxTextReader.h"
#include "Pt2Archive.h"
#include "Safetensors.h"
#include "TorchSave.h"
#include "gcompile/frontend/Readers.h"

#include <fmt/format.h>

namespace gcompile::frontend {
namespace {

[[noreturn]] void fail(const std::string &path, const char *what,
                       const char *help) {
  throwError(ErrorCode::InvalidArgument, fmt::format("{}: {}", path, what),
             help);
}

constexpr const char *kExportHelp =
    "export the model with torch.export.export and save it with "
    "torch.export.save";
constexpr const char *kWeightsHelp =
    "weights are a safetensors file, a .pt2 archive, or a state_dict() saved "
    "with torch.save";

Model readJsonModel(const std::string &path, std::string_view text) {
  JsonDocument document(text, path);
  Json root = document.root();
  Model model;
  model.path = path;
  if (isFxJson(root)) {
    model.format = Format::FxJson;
    model.program = readFxJson(root);
    return model;
  }
  if (!root.find("graph_module"))
    fail(path, "JSON, but not of a program", kExportHelp);
  model.format = Format::ExportJson;
  model.program = readExportJson(root);
  return model;
}

Model readAnyModel(const std::string &path, const ReadOptions &options) {
  auto file = MappedFile::open(path).valueOrThrow();
  switch (detectContent(file->bytes())) {
  case Content::Zip: {
    ZipReader archive({file->bytes(), file}, path);
    if (isPt2Archive(archive))
      return readPt2Archive(archive, options);
    fail(path,
         isTorchSave(archive) ? "a torch.save file, which holds weights but no "
                                "program"
                              : "a zip archive, but not a .pt2",
         kExportHelp);
  }
  case Content::Json:
    return readJsonModel(path, asText(file->bytes()));
  case Content::Safetensors:
    fail(path, "a safetensors file, which holds weights but no program",
         kExportHelp);
  case Content::LegacyTorchSave:
    fail(path, "a pickle, which holds no program", kExportHelp);
  case Content::Text:
    return readFxText(asText(file->bytes()), path, options);
  case Content::Unknown:
    break;
  }
  fail(path, "not a model in a format that gcompile knows", kExportHelp);
}

WeightStore readAnyWeights(const std::string &path) {
  auto file = MappedFile::open(path).valueOrThrow();
  switch (detectContent(file->bytes())) {
  case Content::Zip: {
    ZipReader archive({file->bytes(), file}, path);
    if (isPt2Archive(archive))
      return readPt2Weights(archive);
    if (!isTorchSave(archive))
      fail(path, "a zip archive without weights", kWeightsHelp);
    WeightStore store = TorchSave(archive).stateDict();
    if (store.tensors.empty() && !store.absent.empty())
      fail(path, "a dict without tensors, perhaps a whole checkpoint",
           kWeightsHelp);
    return store;
  }
  case Content::Json: {
    JsonDocument document(asText(file->bytes()), path);
    if (document.root().find("weight_map"))
      return readShardedSafetensors(path, document.root());
    fail(path, "JSON without weights", kWeightsHelp);
  }
  case Content::Safetensors:
    return readSafetensorsStore(path, file);
  case Content::LegacyTorchSave:
    fail(path, "a pickle of before torch 1.6, or no file of torch.save",
         "load and save it again with torch.save");
  case Content::Text:
  case Content::Unknown:
    break;
  }
  fail(path, "not a file of weights in a format that gcompile knows",
       kWeightsHelp);
}

} // namespace

Result<Model> readModel(const std::string &path, const ReadOptions &options) {
  return catchErrors<Result<Model>>(
      [&]() -> Result<Model> { return readAnyModel(path, options); });
}

Result<WeightStore> readWeights(const std::string &path) {
  return catchErrors<Result<WeightStore>>(
      [&]() -> Result<WeightStore> { return readAnyWeights(path); });
}

} // namespace gcompile::frontend
