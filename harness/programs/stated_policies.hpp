#pragma once

#include <string>
#include <vector>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::programs {

/// One way in which a released converter chooses its numbers, out of the policies.json beside its adapter. The
/// converter need not be installed.
struct StatedPolicy {
  std::string converter;
  std::string version;  ///< as asked for, else the one that the policy was tried with
  std::string variant;  ///< the documented settings that it is about
  converters::Policy policy;
  std::string options_json;  ///< what these settings fix of the options; the artifact shows the rest
  std::string versions =
      "";                  ///< those that were judged and have this policy, "1.15.1 to 1.32.0"; "" where one was named
  bool qoperator = false;  ///< it is about artifacts in QOperator form alone
  std::string limit = "";  ///< what of these settings the judge doesn't follow; "" where it follows all
  std::string producer = "";  ///< what the converter writes as ModelProto.producer_name; "" where it writes none

  /// "nncf_onnx 3.4.0, preset mixed", with all versions that share the policy, and the method where it is not min-max.
  [[nodiscard]] std::string label() const;
  /// Without the settings.
  [[nodiscard]] std::string plain_label() const;
};

/// Those of every adapter that states some, by its name, then in the order of its file.
/// Errors   invalid_data: a file that isn't as the adapters' are, by its name.
[[nodiscard]] core::Result<std::vector<StatedPolicy>> list_stated_policies();

/// Those of "NAME[@VERSION][:SETTINGS]" alone: with a version, the variants that this version has; with settings, the
/// variant of that name, "modelopt:target_dla".
/// Errors   usage, for a name or settings that state none, listing those that do; as above.
[[nodiscard]] core::Result<std::vector<StatedPolicy>> stated_policies_of(const std::string& made_by);

}  // namespace assay::programs
