#pragma once

#include <string>
#include <string_view>

namespace assay::core {

/// Version `a` comes before `b`: parts between dots by their leading numbers ("1.9" before "1.10"), then by what
/// follows, where a pre-release ("0rc1", "0b2") comes before the plain number. A version is none before itself.
[[nodiscard]] bool version_less(std::string_view a, std::string_view b);

/// version_less as the order of a container.
struct VersionLess {
  using is_transparent = void;
  bool operator()(std::string_view a, std::string_view b) const { return version_less(a, b); }
};

/// `version` is among `ranges`: alternatives between commas, each a pattern ("1.16.*") or conditions between spaces
/// that all hold (">=1.15 <1.19"). Empty ranges hold every version.
[[nodiscard]] bool version_within(std::string_view ranges, std::string_view version);

/// Why `ranges` is none, in words; empty where it is one.
[[nodiscard]] std::string version_ranges_fault(std::string_view ranges);

}  // namespace assay::core
