#pragma once

#include <vector>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/quantization/grounds.hpp"

namespace assay::judge {

/// The outputs' noise on `typical` data against what the stated policy predicts (fake_quantization.hpp), as a whole and
/// in the worst output channel.
///
/// Metrics  by output: predicted_sqnr_db, prediction_deviation_db (actual minus predicted SQNR), channel_deviation_db
///          (the lowest of its channels); by weight of a Q/DQ artifact: channel_sqnr_db and weight_deviation_db (of
///          the channel that lies furthest below its prediction; the layer's own output is left in float).
///          By tensor between (full depth): predicted_sqnr_db, before its own rounding.
/// Gate     a deviation below what correct variants were measured to have (measured_limits.hpp), where the policy is
///          fully modelled (metric prediction_gates), and an output of which next to nothing is right, modelled or not
///          (lost_outputs.hpp): facet numerics, layer L2.
[[nodiscard]] std::vector<Finding> check_prediction(const LayerContext& context, Grounds& grounds, Judgement& out);

}  // namespace assay::judge
