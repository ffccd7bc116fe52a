#include "results/gzip.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>

namespace assay::results {

std::string unpack_blocks(gzFile_s* in, std::uintmax_t limit_bytes,
                          const std::function<void(std::string_view block)>& take) {
  constexpr std::size_t kBlockBytes = std::size_t{1} << 18U;
  std::string block(kBlockBytes, '\0');
  std::uintmax_t total = 0;
  for (int count = 1; count > 0;) {
    count = gzread(in, block.data(), static_cast<unsigned>(block.size()));
    total += static_cast<std::uintmax_t>(std::max(count, 0));
    if (count > 0) take(std::string_view(block).substr(0, static_cast<std::size_t>(count)));
    if (total > limit_bytes) return fmt::format("unpacks to more than {} bytes", limit_bytes);
  }
  // A file that ends too early is told by the error alone.
  int state = Z_OK;
  const char* message = gzerror(in, &state);
  return state != Z_OK && state != Z_STREAM_END ? fmt::format("is damaged ({})", message) : "";
}

}  // namespace assay::results
