//===- ContentHash.h - names for contents ---------------------------------===//
#pragma once
#include <string>
#include <string_view>

namespace gcompile::cuda {

/// 128 bits of XXH3 as 32 hexadecimal digits.
std::string contentHash(std::string_view bytes);

} // namespace gcompile::cuda
