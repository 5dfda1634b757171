//===- Detect.h - tell file formats apart by their first bytes ------------===//
#pragma once
#include <cstddef>
#include <span>
#include <string_view>

namespace gcompile::frontend {

enum class Content {
  Zip, ///< a .pt2 archive or a torch.save file
  Safetensors,
  Json,
  LegacyTorchSave, ///< the non-zip torch.save of before 1.6
  Text,
  Unknown, ///< binary, none of the above
};

Content detectContent(std::span<const std::byte> bytes);

inline std::string_view asText(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char *>(bytes.data()), bytes.size()};
}

} // namespace gcompile::frontend
