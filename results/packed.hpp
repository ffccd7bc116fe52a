#pragma once

#include <string>
#include <string_view>

#include "harness/core/result.hpp"

namespace assay::results {

/// `bytes` as a zlib stream. Errors   internal, where zlib fails.
[[nodiscard]] core::Result<std::string> pack(std::string_view bytes);
/// The `size` bytes that were packed. Errors   invalid_data, where the stream is damaged or holds another number.
[[nodiscard]] core::Result<std::string> unpack(std::string_view stream, std::size_t size);

}  // namespace assay::results
