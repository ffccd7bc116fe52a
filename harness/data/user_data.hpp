#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "harness/core/result.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/judge.hpp"
#include "harness/model/graph.hpp"

namespace assay::data {

/// A calibration feed: the folder that a converter is given, and the whole batches in it.
struct Feed {
  std::filesystem::path folder;
  std::vector<core::TensorMap> batches;
};
using Feeds = std::map<std::string, Feed>;  ///< by feed_key() of the step's

/// Data that replace a case's generated data.
struct UserData {
  std::vector<core::TensorMap> calibration;
  std::vector<core::TensorMap> inputs;
  bool calibrated = false;  ///< `calibration` was given as such, and does not merely stand in
  judge::DataSource inputs_source = judge::DataSource::given;
  std::vector<std::string> names;  ///< of `inputs` as data sets; empty: "typical", "inputs_1", …
  Feeds feeds;                     ///< ready ones, used as they lie instead of `calibration`
};

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

}  // namespace assay::data
