#pragma once

namespace assay::judge {

// Written by bench/measure_limits.py, which says how; do not edit, run it again.
// This time rows that gate no longer (matmul_bias, double_rounding, R of denormals and of other methods) were taken out
// of the databases by hand; to be measured afresh.
// 35802 verdicts on correct variants, 18 runs of suite default.
// prediction_deviation_db: 26700 judgements, worst 0.02878 dB, mean excess 0.00365 dB, probability 4.2e-11 each.
// channel_deviation_db: 26700 judgements, worst 1.647 dB, mean excess 0.487 dB, probability 4.2e-11 each.
// weight_deviation_db: 10305 judgements, worst 0.01915 dB, mean excess 0.0057 dB, probability 1.1e-10 each.
// noise_ratio: 18087 judgements, worst 0.8578 dB, mean excess 0.429 dB, probability 6.2e-11 each.

/// Largest loss against the predicted SQNR, in dB, of a tensor.
inline constexpr double kPredictionLossDb = 0.0666;
/// The same of an output channel.
inline constexpr double kChannelLossDb = 8.81;
/// The same of a weight's channel, the layer's own output left in float.
inline constexpr double kWeightLossDb = 0.1;
/// Below this share of the noise that INT8 must leave, outputs were computed in float.
inline constexpr double kFloatNoiseRatio = 0.16;

}  // namespace assay::judge
