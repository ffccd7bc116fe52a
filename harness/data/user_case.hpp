#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "harness/core/result.hpp"
#include "harness/corpus/case.hpp"
#include "harness/data/user_data.hpp"

namespace assay::data {

/// A model of the user's as a case of its own, with the general expectations.
struct UserCase {
  corpus::Case test_case;
  std::optional<UserData> data;  ///< what the user gave; generated data serve where it is empty

  /// Takes `given` instead of generated data: it is all there is.
  void give(UserData given);
};

/// The case of a model that is loaded already, called `name`, with generated data.
[[nodiscard]] UserCase user_case_of(std::shared_ptr<const model::Model> model, const std::string& name);

/// How many nodes quantize, dequantize or compute on quantized values.
[[nodiscard]] std::size_t quantized_nodes(const model::Graph& graph);

/// Loads `model` and the data. Where only one of calibration and inputs is given, it serves as the other too (at most
/// the first four batches as inputs). Without either, data is generated; a symbolic extent is then 1 on the first axis
/// and 32 elsewhere.
/// Errors   as model::load_model and load_user_data; invalid_model for a scale that is none; invalid_data where the
/// model
///          does not take the extents that were chosen for symbolic ones.
[[nodiscard]] core::Result<UserCase> make_user_case(const std::filesystem::path& model, const std::string& calibration,
                                                    const std::string& inputs);

}  // namespace assay::data
