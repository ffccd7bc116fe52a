#pragma once

namespace assay::judge {

// Written by bench/measure_limits.py, which says how; do not edit, run it again.
// 35802 verdicts on correct variants, 18 runs of suite default.
// prediction_deviation_db: 22170 judgements, worst 0.02878 dB, mean excess 0.00312 dB, probability 5.1e-11 each.
// channel_deviation_db: 22170 judgements, worst 1.647 dB, mean excess 0.487 dB, probability 5.1e-11 each.
// weight_deviation_db: 10335 judgements, worst 0.01915 dB, mean excess 0.0057 dB, probability 1.1e-10 each.
// drawn_deviation_db: 16319 judgements of 17 runs, worst 0.0867 dB, mean excess 0.00704 dB, probability 5.2e-11 each.
// noise_ratio: 18396 judgements, worst 0.8578 dB, mean excess 0.429 dB, probability 6.1e-11 each.

/// Largest loss against the predicted SQNR, in dB, of a tensor.
inline constexpr double kPredictionLossDb = 0.0583;
/// The same of an output channel.
inline constexpr double kChannelLossDb = 8.81;
/// The same of a weight's channel, the layer's own output left in float.
inline constexpr double kWeightLossDb = 0.1;
/// Largest loss beyond what draws of an output's roundings may leave, in dB: 0.126 by the above, 1.43 in 12,000 graphs
/// of the fuzzer, and as much again.
inline constexpr double kDrawnLossDb = 3;
/// Noise of a model that holds all its quantizers beside what these, drawn at random, may make: dB that it adds. 0.0346
/// by the same way (1,800 judgements, worst 0.0057); the rest is for ties that no draw meets.
inline constexpr double kSettledLossDb = 0.25;
/// Below this share of the noise that INT8 must leave, outputs were computed in float.
inline constexpr double kFloatNoiseRatio = 0.16;

}  // namespace assay::judge
