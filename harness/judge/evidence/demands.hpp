#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string_view>

#include "harness/judge/evidence/evidence.hpp"
#include "harness/judge/evidence/precision.hpp"

namespace assay::judge {

/// What is asked of one node of the original, and who asks.
struct Demand {
  Precision precision = Precision::int8;
  bool stated = false;  ///< by the case or the options; otherwise the default for weighted operators
};
[[nodiscard]] std::optional<Demand> demanded_precision(const Evidence& evidence, const model::Node& node);
/// It is asked for in a float type.
[[nodiscard]] bool asked_in_float(const Evidence& evidence, const model::Node& node);

/// What the converter's precision map says of the node of this name; null where it says nothing.
[[nodiscard]] const converters::NodePrecision* reported_precision(const Evidence& evidence, std::string_view node);
/// Makes that quick while it lives, in which conversion.precision stays as it is.
class Indexed {
 public:
  explicit Indexed(Evidence& evidence);
  Indexed(const Indexed&) = delete;
  Indexed& operator=(const Indexed&) = delete;
  ~Indexed();

 private:
  Evidence& evidence_;
};
/// The converter says itself that the node runs in a float type.
[[nodiscard]] bool reported_in_float(const Evidence& evidence, std::string_view node);
/// By the converter's precision map; where that says nothing of the node, by what is asked.
[[nodiscard]] bool runs_in_float(const Evidence& evidence, const model::Node& node);

/// Its weight stays real: where weights alone are quantized nothing runs on codes, and what is asked counts.
[[nodiscard]] bool keeps_weight(const Evidence& evidence, const model::Node& node);
/// The form in which the weight of a node of the original is to be, by the options or by what the artifact shows:
/// blocks are asked for of matrices that are multiplied, `rank` being the weight's.
[[nodiscard]] WeightForm weight_form(const Evidence& evidence, std::optional<std::size_t> node, std::string_view op,
                                     std::int64_t rank);

/// The converter told its scales, and not those of graph inputs alone: a tensor that isn't listed has none.
[[nodiscard]] bool lists_scales(const Evidence& evidence);
/// It told those of constants, too: one that isn't listed has none.
[[nodiscard]] bool lists_constants(const Evidence& evidence);
/// Whether a Pad or a Resize may compute on a range of its own: no scales are listed that would tell.
[[nodiscard]] bool leaves_own_ranges_open(const Evidence& evidence);
/// Whether anything around a node may be rounded or not: somebody asks for it in float, and no scales are listed.
[[nodiscard]] bool leaves_float_surroundings_open(const Evidence& evidence);
/// Activations are rounded on ranges of the calibration data: not on those of each inference, and not left real.
[[nodiscard]] bool has_calibrated_ranges(const Evidence& evidence);

/// The nodes of squeeze-and-excite blocks: what is averaged of a tensor, goes through operators of one activation each,
/// and is multiplied with that tensor.
[[nodiscard]] std::set<const model::Node*> squeeze_gates(const model::Graph& graph);

}  // namespace assay::judge
