#include "Axis.h"

namespace gcompile::cpu {

Axis::Axis(std::span<const int64_t> sizes, std::span<const int64_t> strides) {
  for (size_t d = 0; d < sizes.size(); ++d) {
    count *= sizes[d];
    if (sizes[d] == 1)
      continue;
    if (!dims.empty() && dims.back().stride == sizes[d] * strides[d])
      dims.back() = {dims.back().size * sizes[d], strides[d]};
    else
      dims.push_back({sizes[d], strides[d]});
  }
  if (dims.empty())
    dims.push_back({1, 1});
}

} // namespace gcompile::cpu
