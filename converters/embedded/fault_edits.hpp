#pragma once

#include <functional>
#include <string_view>

#include "converters/embedded/faults.hpp"

namespace assay::embedded {

/// What the rows of the fault table are made of: edits of the state between two passes, and ways to put them there.
using Edit = Status (*)(State& state);

void insert_before(Machine& machine, std::string_view stage, Edit edit);
void insert_after(Machine& machine, std::string_view stage, Edit edit);
/// Replaces a pass by `wrap(pass, state)`; the stage "*" stands for every pass.
using Wrap = Status (*)(const Pass& pass, State& state);
void wrap_pass(Machine& machine, std::string_view stage, Wrap wrap);

namespace edits {

// Wraps.
Status look_up_unchecked(const Pass& pass, State& state);
Status hide_place(const Pass& pass, State& state);
Status swallow_bad_ranges(const Pass& pass, State& state);
Status ignore_failure(const Pass& pass, State& state);

// The feed and the cache.
Status bind_inputs_by_position(State& state);
Status fill_missing_inputs(State& state);
Status forget_feed_problem(State& state);
Status zero_bad_values(State& state);
Status repeat_last_batch(State& state);
Status renew_cache_fingerprint(State& state);
Status write_early(State& state);

// The float graph.
Status first_channel_normalization(State& state);
Status squared_normalization(State& state);
Status unshifted_normalization(State& state);
Status drop_output_padding(State& state);
Status demand_kernel_shape(State& state);
Status move_imported_axis(State& state);
Status share_fused_relu(State& state);
Status bypass_pointwise_codes(State& state);
Status bypass_residual_codes(State& state);

// The plan.
Status leave_pointwise_in_float(State& state);
Status leave_weighted_in_float(State& state);
Status leave_outputs_in_float(State& state);
Status leave_residual_operand(State& state);
Status deconvolution_axis_zero(State& state);
Status matmul_axis_first(State& state);
Status gemm_axis_one(State& state);
Status no_weight_axis(State& state);
Status quantize_shape_concat(State& state);

// Ranges.
Status narrow_concat(State& state);
Status first_range_for_concat(State& state);
Status first_range_for_inputs(State& state);
Status overwrite_float_ranges(State& state);
Status cut_outliers(State& state);

// Parameters.
Status drop_concat_scale(State& state);
Status deconvolution_count_cin(State& state);
Status saturate_bias(State& state);
Status next_zero_point(State& state);
Status divisor_128(State& state);
Status double_scales(State& state);
Status merge_like_names(State& state);
Status first_group_scale(State& state);

// Codes.
Status roll_scales(State& state);
Status reverse_scales(State& state);
Status zero_bias(State& state);
Status bias_in_output_steps(State& state);
Status truncate_weights(State& state);
Status zero_scale_for_zero_range(State& state);
Status share_bias_codes(State& state);

// The artifact and the report.
Status requantize_residual(State& state);
Status freeze_batch(State& state);
Status claim_int8(State& state);

}  // namespace edits
}  // namespace assay::embedded
