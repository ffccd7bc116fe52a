#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <set>
#include <string>
#include <utility>

#include "harness/core/result.hpp"

namespace assay::model {

/// What a model file uses, read without decoding a tensor: also of models that load_model refuses.
struct ModelSurvey {
  std::map<std::string, std::int64_t> opsets;               ///< domain → version; "" is ONNX's own
  std::set<std::pair<std::string, std::string>> operators;  ///< domain and type; subgraphs and functions included
  bool has_strings = false;                                 ///< a string tensor among inputs, outputs or constants
  bool has_containers = false;                              ///< a sequence, optional or map among inputs or outputs
  bool has_sparse = false;                                  ///< sparse tensors
};

/// Errors   invalid_model for a file that is no ONNX model; io.
[[nodiscard]] core::Result<ModelSurvey> survey_model(const std::filesystem::path& path);

}  // namespace assay::model
