#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/new_cases/case_draft.hpp"

namespace assay::new_cases {

/// What is imported.
struct ImportRequest {
  /// A folder in ONNX's test layout (model.onnx, test_data_set_N), a folder of such folders, or a model file.
  std::filesystem::path path;
  std::filesystem::path inputs;          ///< for a model file: what Polygraphy saved; empty: data is generated
  std::filesystem::path float_original;  ///< for a Q/DQ model file
  std::string name;                      ///< of a single case; empty: that of the folder or file
};

/// One draft for each model, tagged "imported". Stored outputs are compared with the reference's.
/// Errors   invalid_data or invalid_model, naming the file: nothing to import, data that don't fit their model, stored
///          outputs that the model does not give.
[[nodiscard]] core::Result<std::vector<CaseDraft>> import_drafts(const ImportRequest& request);

}  // namespace assay::new_cases
