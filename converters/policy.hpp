#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/core/words.hpp"

namespace assay::converters {

/// How the codes of weights are found.
enum class WeightRounding { nearest, adapted };
constexpr auto words(WeightRounding /*of*/) {
  using enum WeightRounding;
  return core::word_table<WeightRounding>({{nearest, "nearest"}, {adapted, "adapted"}});
}

enum class BiasRounding {
  nearest,
  corrected,       ///< moved by what the converter found best
  mean_corrected,  ///< moved by what the quantized weights miss of the mean result for the mean input, or kept
  stays_float,
  own_scale,  ///< codes of the weights' type, with one scale from its own largest magnitude
};
constexpr auto words(BiasRounding /*of*/) {
  using enum BiasRounding;
  return core::word_table<BiasRounding>({{nearest, "nearest"},
                                         {corrected, "corrected"},
                                         {mean_corrected, "mean_corrected"},
                                         {stays_float, "float"},
                                         {own_scale, "own_scale"}});
}

/// How the ranges of several batches become one.
enum class Averaging {
  none,
  per_sample,
  ema,
  batch_mean,          ///< the mean of the batches' extremes, or where codes lie around zero of their magnitudes
  batch_ends,          ///< the mean of the batches' lower ends and that of the upper ones, for all codes
  widened_batch_mean,  ///< the mean of the batches' ranges, each of which is widened to zero first, and no other
  batch_quantiles,     ///< method percentile: the mean of the batches' own quantiles, and no other
};
constexpr auto words(Averaging /*of*/) {
  using enum Averaging;
  return core::word_table<Averaging>({{none, "none"},
                                      {per_sample, "per_sample"},
                                      {ema, "ema"},
                                      {batch_mean, "batch_mean"},
                                      {batch_ends, "batch_ends"},
                                      {widened_batch_mean, "widened_batch_mean"},
                                      {batch_quantiles, "batch_quantiles"}});
}

enum class ZeroRule {
  rounded,
  exact,  ///< a range is widened until zero_point needs no rounding
};
constexpr auto words(ZeroRule /*of*/) {
  using enum ZeroRule;
  return core::word_table<ZeroRule>({{rounded, "rounded"}, {exact, "exact"}});
}

/// Which ranges get unsigned codes.
enum class UnsignedCodes {
  asked,
  nonnegative,  ///< ranges without a negative end, and no others
};
constexpr auto words(UnsignedCodes /*of*/) {
  using enum UnsignedCodes;
  return core::word_table<UnsignedCodes>({{asked, "asked"}, {nonnegative, "nonnegative"}});
}

enum class GraphOutputs {
  either,
  stay_float,  ///< they are never quantized
  quantized,   ///< real ones always are
};
constexpr auto words(GraphOutputs /*of*/) {
  using enum GraphOutputs;
  return core::word_table<GraphOutputs>({{either, "either"}, {stay_float, "float"}, {quantized, "quantized"}});
}

enum class DequantizeForm {
  product,
  affine,  ///< levels are ol + q·(oh − ol)/(levels − 1) in float32
};
constexpr auto words(DequantizeForm /*of*/) {
  using enum DequantizeForm;
  return core::word_table<DequantizeForm>({{product, "product"}, {affine, "affine"}});
}

/// The histogram that the method entropy searches, as far as that is known.
enum class HistogramBins {
  unknown,
  first_batch,  ///< its bins divide the first batch's largest magnitude
  whole_range,  ///< it has as many bins as codes, over all data at once: nothing to search, the range is that of the
                ///< data
  as_levels,    ///< the same for the first batch, and of the bins that later batches add some may be cut off
  magnitudes,   ///< 4096 bins of the magnitudes of all data, of which every multiple of 128 is tried
};
constexpr auto words(HistogramBins /*of*/) {
  using enum HistogramBins;
  return core::word_table<HistogramBins>({{unknown, "unknown"},
                                          {first_batch, "first_batch"},
                                          {whole_range, "whole_range"},
                                          {as_levels, "as_levels"},
                                          {magnitudes, "magnitudes"}});
}

/// The network whose values are observed: with constants as they are, or with those of their codes.
enum class CalibratedNetwork { float_network, quantized_weights, quantized_constants };
constexpr auto words(CalibratedNetwork /*of*/) {
  using enum CalibratedNetwork;
  return core::word_table<CalibratedNetwork>({{float_network, "float_network"},
                                              {quantized_weights, "quantized_weights"},
                                              {quantized_constants, "quantized_constants"}});
}

/// In what an engine sums products of codes.
enum class EngineArithmetic { unknown, integer, floating };
constexpr auto words(EngineArithmetic /*of*/) {
  using enum EngineArithmetic;
  return core::word_table<EngineArithmetic>({{unknown, "unknown"}, {integer, "integer"}, {floating, "float"}});
}

/// How a converter chooses its numbers (docs/protocol.md, `policy`). What a protocol calls each field stands in
/// converters/protocol/policy_fields.hpp.
struct Policy {
  WeightRounding weights = WeightRounding::nearest;
  BiasRounding bias = BiasRounding::nearest;
  double divisor = 127;
  double scale_floor = 0;
  double range_floor = 0;  ///< a narrower range has its upper end this far above the lower one
  bool power_of_two = false;
  Averaging averaging = Averaging::none;
  ZeroRule zero = ZeroRule::rounded;
  UnsignedCodes unsigned_codes = UnsignedCodes::asked;
  GraphOutputs outputs = GraphOutputs::either;
  DequantizeForm dequantize = DequantizeForm::product;
  HistogramBins histogram = HistogramBins::unknown;
  CalibratedNetwork calibrates = CalibratedNetwork::float_network;
  bool narrow_range = false;        ///< the least code of int8 stays unused
  bool full_range = false;          ///< a symmetric range's negative end has the least code: max(hi/127, -lo/128)
  bool symmetric_products = false;  ///< what a product of two activations reads has codes around zero
  bool depthwise_channels = false;  ///< what a depthwise Conv reads has one scale for each channel
  bool signed_scales = false;   ///< of weights: negative where the largest magnitude is positive: it has the least code
  double weight_divisor = 0;    ///< of weights; 0: as `divisor`
  double first_divisor = 0;     ///< of the weights of the first Convs; 0: as of other weights
  double channel_floor = 0;     ///< a channel's range is at least this share of the widest channel's
  double search_beyond = 0;     ///< a search (mse) may end this share of the largest magnitude outside the data
  bool one_threshold = false;   ///< entropy ends at one magnitude on both sides, cut where the data end before it
  bool whole_products = false;  ///< a product with a quantized weight reads quantized data
  bool gates_in_float = false;  ///< products between an average of a tensor and the Mul with it stay in float
  std::vector<std::string> whole_weights;  ///< operators whose weights have one scale, whatever is asked for
  bool chooses_int8 = false;               ///< it decides itself what runs in INT8: nobody can demand it of a node
  bool equalizes = false;                  ///< layers are multiplied by channel, and the next ones divided by the same
  bool folds_scales = false;  ///< a Conv's weights take in the unlike scales of what a Concat before it joins
  bool reads_evenly = false;  ///< a node reads quantized values at all of its real inputs or at none
  std::map<std::string, std::pair<double, double>> fixed_ranges;
  std::vector<std::string> reads_quantized;  ///< operators that always read quantized values where these are real
  std::vector<std::string> reads_float;      ///< operators that never read quantized values
  std::vector<std::string> quantizes;  ///< operators that always read and write quantized values where these are real
  std::vector<std::string> writes_quantized;  ///< operators that always write quantized values where these are real
  std::vector<std::string> keeps_quantized;   ///< operators that write quantized values wherever they read such
  /// Who reads a tensor that is quantized reads its quantized values; false: a quantizer is one reader's, and others
  /// may read the real values.
  std::optional<bool> whole_tensors;
  std::vector<std::string> aligns;      ///< operators whose inputs have one range, that of the widest
  std::vector<std::string> own_ranges;  ///< operators whose inputs and output each have a range of their own
  std::optional<std::vector<std::string>> shares;
  std::optional<std::vector<std::string>> fusions;
  std::optional<bool> folds_bn;
  EngineArithmetic arithmetic = EngineArithmetic::unknown;
  bool deterministic = true;

  [[nodiscard]] double divisor_of_weights() const { return weight_divisor > 0 ? weight_divisor : divisor; }
  /// Scales don't all follow the data.
  [[nodiscard]] bool has_floor() const { return scale_floor > 0 || range_floor > 0; }
  /// A floor relaxes the audit of scales, never the numbers (docs/protocol.md): what it costs is not granted.
  [[nodiscard]] Policy without_floor() const {
    Policy plain = *this;
    plain.scale_floor = plain.range_floor = 0;
    return plain;
  }
  /// Biases are other values than the model's.
  [[nodiscard]] bool corrects_biases() const {
    return bias == BiasRounding::corrected || bias == BiasRounding::mean_corrected;
  }

  friend bool operator==(const Policy&, const Policy&) = default;
};

}  // namespace assay::converters
