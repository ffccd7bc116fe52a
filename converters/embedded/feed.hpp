#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"

namespace assay::embedded {

/// Calibration batches as far as they can be read, and what ended them early.
struct Feed {
  std::vector<core::TensorMap> batches;
  std::vector<std::string> order;  ///< names of the first batch in the order of its files
  std::optional<core::Error> problem;
};

/// Reads `folder`/0000, 0001 … in order of their names, each a set of input_N.pb. A batch that can't be read ends the
/// feed: what came before is kept, `problem` names the batch.
[[nodiscard]] Feed read_feed(const std::filesystem::path& folder);

}  // namespace assay::embedded
