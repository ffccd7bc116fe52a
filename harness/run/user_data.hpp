#pragma once

#include <filesystem>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/model/graph.hpp"

namespace assay::run {

/// What becomes of NaN and infinities in the data: nothing can be calibrated on them, but a model can run on them.
enum class NonFinite { refused, kept };

/// Reads calibration batches or inputs of the user's for `model`, bound by name.
///
/// A folder of `0000/input_0.pb …` is one batch per sub-folder, a folder of `input_0.pb …` one batch. An `.npz`'s keys
/// are input names and its first axis is the batch index; an `.npy` serves a model with one input in the same way.
/// Errors   invalid_data, naming tensor and batch: unknown or missing inputs, another type or shape than declared, NaN
///          or infinities where they are refused, arrays that disagree in the number of batches.
[[nodiscard]] core::Result<std::vector<core::TensorMap>> load_user_data(const std::filesystem::path& path,
                                                                        const model::Model& model,
                                                                        NonFinite non_finite = NonFinite::refused);

/// One batch of the user's, number `index`, as `model` declares its inputs. Errors   as load_user_data.
[[nodiscard]] core::Result<core::TensorMap> bind_user_data(core::TensorMap batch, const model::Model& model,
                                                           std::size_t index);

}  // namespace assay::run
