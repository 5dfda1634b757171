#include "Detect.h"

#include <cstdint>

namespace gcompile::frontend {

Content detectContent(std::span<const std::byte> bytes) {
  std::string_view text = asText(bytes);
  if (text.starts_with("PK\x03\x04") || text.starts_with("PK\x05\x06"))
    return Content::Zip;
  // Before JSON: the length's first byte may well be a '{'. Lengths have zero
  // bytes, which no text has.
  if (text.size() > 8 && text[8] == '{') {
    uint64_t headerBytes = 0;
    for (size_t i = 8; i-- > 0;)
      headerBytes = headerBytes << 8 | std::to_integer<uint8_t>(bytes[i]);
    if (headerBytes <= text.size() - 8)
      return Content::Safetensors;
  }
  size_t first = text.find_first_not_of(" \t\r\n");
  if (first != text.npos && text[first] == '{')
    return Content::Json;
  if (text.starts_with('\x80'))
    return Content::LegacyTorchSave;
  return text.substr(0, 4096).find('\0') == text.npos ? Content::Text
                                                      : Content::Unknown;
}

} // namespace gcompile::frontend
