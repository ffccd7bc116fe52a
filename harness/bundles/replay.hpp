#pragma once

#include <optional>
#include <string>
#include <vector>

#include "harness/bundles/bundle.hpp"
#include "harness/core/result.hpp"
#include "harness/programs/converter_spec.hpp"
#include "results/store.hpp"

namespace assay::bundles {

/// One fact of a verdict that is not as recorded.
struct Difference {
  std::string what;  ///< key of the verdict, as `--json` has it
  std::string recorded, replayed;
  bool decides = true;  ///< the verdict is another; false: measured anew, only worth knowing
};

struct Replayed {
  results::ResultRow row;
  std::vector<Difference> differences;
  [[nodiscard]] bool same() const;
};

/// Judges the stored artifact and outputs again. Everything has to be as recorded.
[[nodiscard]] core::Result<Replayed> replay(const Bundle& bundle);

/// Converts and executes with `converter`. The verdict, its gate and where it stands have to be as recorded; what is
/// measured may differ.
/// Errors   usage, where the converter can't be asked.
[[nodiscard]] core::Result<Replayed> convert_again(const Bundle& bundle, const programs::ConverterSpec& converter,
                                                   double timeout_s);

/// What differs between two verdicts as `--json` shows them. Folders in front of a file's name don't count.
[[nodiscard]] std::vector<Difference> differences(const nlohmann::ordered_json& recorded,
                                                  const nlohmann::ordered_json& replayed, bool measured_anew);

}  // namespace assay::bundles
