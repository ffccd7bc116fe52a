#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace assay::core {

/// "1 node", "3 nodes"; `many` where the plural isn't `one` with an s: counted(2, "batch", "batches").
[[nodiscard]] std::string counted(std::uint64_t count, std::string_view one, std::string_view many = {});

}  // namespace assay::core
