#pragma once

#include <string_view>

namespace assay::core {

/// Version `a` comes before `b`: parts between dots by their leading numbers ("1.9" before "1.10"), then by what
/// follows, where a pre-release ("0rc1", "0b2") comes before the plain number. A version is none before itself.
[[nodiscard]] bool version_less(std::string_view a, std::string_view b);

}  // namespace assay::core
