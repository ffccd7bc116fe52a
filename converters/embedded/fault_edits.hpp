#pragma once

#include <functional>
#include <string_view>

#include "converters/embedded/machine.hpp"

namespace assay::embedded {

/// What the rows of the fault table are made of: edits of the state between two passes, and ways to put them there.
using Edit = Status (*)(State& state);

void insert_before(Machine& machine, std::string_view stage, Edit edit);
void insert_after(Machine& machine, std::string_view stage, Edit edit);
/// Replaces a pass by `wrap(pass, state)`; the stage "*" stands for every pass.
using Wrap = Status (*)(const Pass& pass, State& state);
void wrap_pass(Machine& machine, std::string_view stage, Wrap wrap);

namespace edits {

/// The weight of node `index`, which the plan has found.
[[nodiscard]] const Tensor& weight_of(const State& state, std::size_t index);

// Wraps.
Status look_up_unchecked(const Pass& pass, State& state);
Status hide_place(const Pass& pass, State& state);
Status swallow_bad_ranges(const Pass& pass, State& state);
Status ignore_failure(const Pass& pass, State& state);
Status ignore_float_wishes(const Pass& pass, State& state);
Status first_batch_only(const Pass& pass, State& state);
Status first_sample_only(const Pass& pass, State& state);
Status average_batches(const Pass& pass, State& state);

// Weights in blocks.
Status centre_block_zero_points(State& state);
Status transpose_block_scales(State& state);
Status take_garbage_into_last_block(State& state);
Status hardcode_block(State& state);
Status negate_block_codes(State& state);
void interleave_blocks(model::Model& artifact);
void swap_half_bytes(model::Model& artifact);
void borrow_from_half_bytes(model::Model& artifact);
void lose_sign_of_half_bytes(model::Model& artifact);
void zero_long_blocks(model::Model& artifact);
Status encode_by_unrounded_scales(State& state);
Status take_powers_of_quotients(State& state);
void lose_step_of_scales(model::Model& artifact);
void read_powers_by_another_bias(model::Model& artifact);

// Codes of 16 bits.
Status give_softmax_steps_of_8_bits(State& state);
void hold_zero_points_in_float16(model::Model& artifact);

// Codes of float8.
void overflow_to_nan(model::Model& artifact);
void flush_subnormals(model::Model& artifact);
void read_with_another_bias(model::Model& artifact);

// Ranges that each inference finds.
void leave_zero_out_of_dynamic_ranges(model::Model& artifact);
void divide_by_empty_dynamic_ranges(model::Model& artifact);
void measure_first_row_alone(model::Model& artifact);
Status freeze_dynamic_ranges(State& state);
Status leave_dynamic_operands_in_float(State& state);

// The feed and the cache.
Status bind_inputs_by_position(State& state);
Status fill_missing_inputs(State& state);
Status forget_feed_problem(State& state);
Status zero_bad_values(State& state);
Status repeat_last_batch(State& state);
Status renew_cache_fingerprint(State& state);
Status leave_uncached_in_float(const Pass& pass, State& state);
Status write_early(State& state);
Status unit_ranges_without_data(State& state);
Status take_entries_in_order(State& state);
Status read_any_header(State& state);
Status forget_cache_problem(State& state);
Status read_feed_by_bytes(State& state);

// The float graph.
Status first_channel_normalization(State& state);
Status squared_normalization(State& state);
Status unshifted_normalization(State& state);
Status forget_epsilon(State& state);
Status leave_bias_unscaled(State& state);
Status interleave_groups(State& state);
Status alpha_scales_bias(State& state);
Status concat_along_default_axis(State& state);
Status raise_opset(State& state);
Status drop_output_padding(State& state);
Status demand_kernel_shape(State& state);
Status move_imported_axis(State& state);
Status share_fused_relu(State& state);
Status bypass_pointwise_codes(State& state);
Status bypass_residual_codes(State& state);
Status bypass_shared_codes(State& state);
Status demand_optional_inputs(State& state);
Status demand_plain_parameters(State& state);
Status quantize_resize_scales(State& state);
Status quantize_constant_indices(State& state);

// Quantizers that the model brings along.
Status check_axis_of_single_scale(State& state);
Status count_deconvolution_scales_on_axis_zero(State& state);
Status take_over_bias_codes(State& state);
Status refuse_bias_of_a_stack(State& state);

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
Status quantize_integer_tensors(State& state);
Status leave_later_operands(State& state);
Status spread_float(State& state);

// Ranges.
Status narrow_concat(State& state);
Status first_range_for_concat(State& state);
Status first_range_for_inputs(State& state);
Status overwrite_float_ranges(State& state);
Status cut_outliers(State& state);
Status forget_negative_end(State& state);
Status double_histogram_range(State& state);
Status cut_one_side(State& state);
Status forget_output_ranges(State& state);
Status fix_softmax_range(State& state);
Status mirror_cached_ranges(State& state);

// Parameters.
Status drop_concat_scale(State& state);
Status deconvolution_count_cin(State& state);
Status saturate_bias(State& state);
Status next_zero_point(State& state);
Status divisor_128(State& state);
Status double_scales(State& state);
Status merge_like_names(State& state);
Status first_group_scale(State& state);
Status leave_zero_out(State& state);
Status scales_to_powers_of_two(State& state);
Status scales_to_float16(State& state);
Status scales_to_six_digits(State& state);
Status weights_to_seven_bits(State& state);
Status one_scale_per_group(State& state);
Status first_group_decides(State& state);
Status means_keep_scale(State& state);
Status sigmoids_keep_scale(State& state);
Status branches_take_concat_scale(State& state);
Status share_backwards(State& state);
Status recalibrate_pools(State& state);
Status constants_take_concat_scale(State& state);
Status scale_one_by_default(State& state);
Status drop_passing_input_scale(State& state);

// Codes.
Status roll_scales(State& state);
Status reverse_scales(State& state);
Status zero_bias(State& state);
Status bias_in_output_steps(State& state);
Status truncate_weights(State& state);
Status zero_scale_for_zero_range(State& state);
Status share_bias_codes(State& state);
Status bias_of_first_channel(State& state);
Status bias_before_sharing(State& state);

// The artifact and the report.
Status requantize_residual(State& state);
Status freeze_batch(State& state);
Status claim_int8(State& state);
Status fold_weight_codes(State& state);
Status shape_scales_like_stacks(State& state);
Status swap_outputs(State& state);
Status take_names_in_use(State& state);
Status rename_quantized_outputs(State& state);
Status leave_outputs_as_codes(State& state);
Status rename_quantized_inputs(State& state);
Status give_codes_to_float_readers(State& state);
Status keep_authored_in_float(State& state);
Status quantize_behind_reshape(State& state);
Status keep_old_opset(State& state);
Status reverse_inputs(State& state);
Status leave_inputs_as_codes(State& state);
Status declare_calibrated_shapes(State& state);
Status let_branches_read_in_front(State& state);

// The artifact as the engine takes it.
void swap_pads(model::Model& artifact);
void pad_upper(model::Model& artifact);
void forget_pad_value(model::Model& artifact);
void clip_to_six(model::Model& artifact);
void leave_relu_to_saturation(model::Model& artifact);
void copy_leaky_codes(model::Model& artifact);
void copy_pool_codes(model::Model& artifact);
void first_slope_for_all(model::Model& artifact);
void sigmoid_for_swish(model::Model& artifact);
void take_negative_indices_as_zero(model::Model& artifact);
void pad_frames_to_power_of_two(model::Model& artifact);
void lose_axis_of_shared(model::Model& artifact);
void move_before_dequantizer(model::Model& artifact);
void assume_unit_interval(model::Model& artifact);
void normalize_in_whole_numbers(model::Model& artifact);
void round_ratio_of_scales(model::Model& artifact);
void skip_second_pair(model::Model& artifact);
void wrap_channel_index(model::Model& artifact);
void read_first_scale(model::Model& artifact);
void drop_rest_of_channels(model::Model& artifact);

}  // namespace edits
}  // namespace assay::embedded
