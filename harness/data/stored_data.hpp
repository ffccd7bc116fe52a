#pragma once

#include <filesystem>

#include "harness/core/result.hpp"
#include "harness/data/user_data.hpp"

namespace assay::data {

/// Data in ONNX's test layout: `test_data_set_0/input_0.pb` … are the data sets; `calibration/0000/input_0.pb` …, where
/// it is there, the calibration batches, else the data sets serve as these too.
/// Errors   as load_user_data; invalid_data, where the folder holds no data set.
[[nodiscard]] core::Result<UserData> load_stored_data(const std::filesystem::path& folder, const model::Model& model);

/// Writes `data` in that layout.
[[nodiscard]] core::Status save_stored_data(const UserData& data, const std::filesystem::path& folder);

}  // namespace assay::data
