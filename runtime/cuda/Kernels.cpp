#include "gcompile/cuda/Kernels.h"

#include <algorithm>
#include <fmt/format.h>

namespace gcompile::cuda {

std::string DeviceInfo::architecture() const {
  return fmt::format("sm_{}{}{}", major, minor, major >= 9 ? "a" : "");
}

KernelHandle KernelRequests::add(const std::string &symbol,
                                 const std::string &source,
                                 int64_t sharedBytes) {
  for (Request &request : all)
    if (request.symbol == symbol && request.source == source) {
      request.sharedBytes = std::max(request.sharedBytes, sharedBytes);
      return request.entry;
    }
  all.push_back({symbol, source, std::make_shared<KernelEntry>(), sharedBytes});
  return all.back().entry;
}

} // namespace gcompile::cuda
