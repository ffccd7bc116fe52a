#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"

namespace assay::new_cases {

/// Input data as Polygraphy saves it (`--save-inputs`, read by `--load-inputs`): a JSON list with one object a batch,
/// from input names to arrays, each a NumPy `.npy` in base64 under "array". Errors   invalid_data, naming the file, the
/// batch and the input.
[[nodiscard]] core::Result<std::vector<core::TensorMap>> load_polygraphy_inputs(const std::filesystem::path& file);

/// The bytes that `text` stands for; nothing where it is no base64.
[[nodiscard]] std::optional<std::string> base64_decoded(std::string_view text);

}  // namespace assay::new_cases
