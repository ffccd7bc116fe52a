#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "harness/core/process.hpp"

namespace assay::test {

/// What one call of the program gave.
struct Call {
  int code = -1;  ///< exit code; -1 when it was killed
  std::string out, err;
  [[nodiscard]] nlohmann::json json() const { return nlohmann::json::parse(out, nullptr, false); }
};

/// Runs a program without input to its end; one that takes over five minutes counts as killed.
Call finished(const core::SpawnOptions& options);

/// Runs the built program with these arguments, in `folder`.
Call assay(const std::vector<std::string>& arguments, const std::filesystem::path& folder = {},
           const std::map<std::string, std::string>& environment = {});

}  // namespace assay::test
