#pragma once

#include "converters/policy.hpp"

namespace assay::protocol {

/// Calls `visit(key, field)` for every field of a policy, with its key in JSON. Reading, writing and the check for
/// unknown keys take the fields from here: a new field is a line here and a member of Policy. What is read or written
/// for a field follows from its type.
template <typename PolicyOrConst, typename Visit>
void visit_policy(PolicyOrConst&& policy, Visit visit) {
  visit("weights", policy.weights);
  visit("bias", policy.bias);
  visit("divisor", policy.divisor);
  visit("averaging", policy.averaging);
  visit("scale_floor", policy.scale_floor);
  visit("range_floor", policy.range_floor);
  visit("power_of_two", policy.power_of_two);
  visit("zero", policy.zero);
  visit("unsigned", policy.unsigned_codes);
  visit("outputs", policy.outputs);
  visit("dequantize", policy.dequantize);
  visit("histogram", policy.histogram);
  visit("calibrates", policy.calibrates);
  visit("narrow_range", policy.narrow_range);
  visit("full_range", policy.full_range);
  visit("symmetric_products", policy.symmetric_products);
  visit("depthwise_channels", policy.depthwise_channels);
  visit("weight_divisor", policy.weight_divisor);
  visit("signed_scales", policy.signed_scales);
  visit("first_divisor", policy.first_divisor);
  visit("channel_floor", policy.channel_floor);
  visit("search_beyond", policy.search_beyond);
  visit("one_threshold", policy.one_threshold);
  visit("whole_products", policy.whole_products);
  visit("gates_in_float", policy.gates_in_float);
  visit("whole_weights", policy.whole_weights);
  visit("chooses_int8", policy.chooses_int8);
  visit("equalizes", policy.equalizes);
  visit("folds_scales", policy.folds_scales);
  visit("fixed_ranges", policy.fixed_ranges);
  visit("reads_quantized", policy.reads_quantized);
  visit("reads_float", policy.reads_float);
  visit("quantizes", policy.quantizes);
  visit("writes_quantized", policy.writes_quantized);
  visit("keeps_quantized", policy.keeps_quantized);
  visit("reads_evenly", policy.reads_evenly);
  visit("whole_tensors", policy.whole_tensors);
  visit("aligns", policy.aligns);
  visit("own_ranges", policy.own_ranges);
  visit("shares", policy.shares);
  visit("fusions", policy.fusions);
  visit("folds_bn", policy.folds_bn);
  visit("arithmetic", policy.arithmetic);
  visit("deterministic", policy.deterministic);
}

}  // namespace assay::protocol
