#pragma once

#include <filesystem>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"

namespace assay::model {

/// One array of a NumPy `.npy` file (format 1 to 3): little-endian or one-byte elements, row or column order.
/// Errors   invalid_data, naming the file, for anything else and for a length that does not fit the declared shape.
[[nodiscard]] core::Result<core::Tensor> load_npy(const std::filesystem::path& path);

/// The arrays of a NumPy `.npz` archive by name, stored or deflated.
/// Errors   as load_npy; also for an archive that is damaged or unpacks to more than 2 GiB.
[[nodiscard]] core::Result<core::TensorMap> load_npz(const std::filesystem::path& path);

}  // namespace assay::model
