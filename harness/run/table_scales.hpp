#pragma once

#include <string>
#include <vector>

#include "converters/calibration_table.hpp"
#include "converters/converter.hpp"
#include "harness/model/graph.hpp"

namespace assay::run {

/// The converter that a table speaks for: artifact kind "scales", with what the form tells of its policy.
[[nodiscard]] converters::Description table_description(const converters::CalibrationTable& table);

/// What the table states of the options it was made under. Without a method: mse, whose interval is the widest.
[[nodiscard]] converters::Options table_options(const converters::CalibrationTable& table);

/// Do these options name a method?
[[nodiscard]] bool states_method(const std::string& options_json);

/// The table's ranges as scales and zero points, by the formulas of L0 (docs/oracle.md) under options and policy.
[[nodiscard]] std::vector<converters::TensorScale> table_scales(const converters::CalibrationTable& table,
                                                                const converters::Options& options,
                                                                const converters::Policy& policy);

/// Does `table` belong to `model`? Entries that the model doesn't have are fine: converters number what they add.
/// Errors   invalid_data: no entry is a tensor of the model, or the table says that another model made it.
[[nodiscard]] core::Status check_table(const converters::CalibrationTable& table, const model::Model& model);

}  // namespace assay::run
