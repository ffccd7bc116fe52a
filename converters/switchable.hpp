#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::converters {

/// A converter whose faults can be switched on by name, and that has several correct ways to work: what Assay measures
/// itself with. The program hands one to harness/score, which knows no converter by itself.
struct Switchable {
  struct Fault {
    std::string name;
    bool changes_execution = true;  ///< false: the same artifact gives the same outputs
  };
  struct Variant {
    std::string name;
    std::string options_json = "{}";  ///< what the variant asks of the converter
  };
  /// Errors   usage, for an unknown name, listing the nearest.
  using Make = std::function<core::Result<std::unique_ptr<Converter>>(const std::vector<std::string>& faults,
                                                                      const std::string& variant)>;

  std::string name;
  std::vector<Fault> faults;      ///< in the table's order
  std::vector<Variant> variants;  ///< likewise
  /// Converters that come of one maker do their common work once.
  std::function<Make()> maker;
};

}  // namespace assay::converters
