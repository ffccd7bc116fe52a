#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::conformance {

/// Inputs and the outputs that they must give.
struct StoredData {
  std::string name;  ///< "test_data_set_0"
  core::TensorMap inputs, outputs;
};

/// One folder in ONNX's own test layout: model.onnx and test_data_set_N/{input,output}_K.pb.
struct StoredCase {
  model::Model model;
  std::vector<StoredData> data;  ///< at least one
};

/// Reads a case. Files stand for the model's inputs and outputs by their number, since old ones carry no name; bfloat16
/// may be stored as the uint16 of its bits; models before opset 7 come as opset 7 (old_forms.hpp).
/// Errors   those of load_model and load_tensor; invalid_data for data of other types than declared, or none.
[[nodiscard]] core::Result<StoredCase> load_stored_case(const std::filesystem::path& folder);

}  // namespace assay::conformance
