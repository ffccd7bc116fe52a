#pragma once

#include <string>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/corpus/case.hpp"

namespace assay::corpus {

/// One graph input as the generators see it.
struct InputPlan {
  std::string name;
  core::DType type = core::DType::float32;
  core::Shape shape;
  const InputSpec* spec = nullptr;
  std::vector<double> factors;  ///< magnitude of each channel (axis 1), empty without spread
};

/// The plan of every input of the case, in the graph's order.
[[nodiscard]] core::Result<std::vector<InputPlan>> input_plans(const Case& test_case);

/// The data sets of a model of which nobody says anything: beyond the calibrated ranges, too, where an input has one.
[[nodiscard]] std::vector<std::string> usual_data_sets(const model::Graph& graph);

/// Values the way calibration sees them: `spread_out` between 0 and 1 of the range's width around its middle.
[[nodiscard]] std::vector<double> draw_usual(const InputPlan& plan, double spread_out, core::Rng& rng);

/// Factor of element `index`: 1 without spread.
[[nodiscard]] double factor_at(const InputPlan& plan, std::size_t index);

}  // namespace assay::corpus
