#include "converters/embedded/faults.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/fault_scope.hpp"
#include "harness/core/text.hpp"

namespace assay::embedded {
namespace {

using engine::ArithmeticPolicy;

struct Variant {
  VariantInfo info;
  void (*apply)(ArithmeticPolicy& policy);
};

/// Differs by its options alone.
void as_asked(ArithmeticPolicy&) {}

const std::vector<Variant>& variants() {
  static const std::vector<Variant> table{
      {{"round_half_away", "rounds ties away from zero"},
       [](ArithmeticPolicy& p) { p.rounding = engine::Rounding::half_away; }},
      {{"round_half_up", "rounds ties towards plus infinity"},
       [](ArithmeticPolicy& p) { p.rounding = engine::Rounding::half_up; }},
      {{"multiplier_31", "requantizes with a 31-bit multiplier and a rounding shift"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::fixed_point; }},
      {{"double_rounding", "requantizes with a rounding doubling high multiply and a rounding shift"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::double_rounding; }},
      {{"reciprocal_scale", "multiplies with the float32 reciprocal of the output's scale"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::reciprocal; }},
      {{"float_multiply", "requantizes with one float32 multiplication"},
       [](ArithmeticPolicy& p) { p.requantization = engine::Requantization::float32_multiply; }},
      {{"per_tensor", "one scale for each weight", R"({"per_axis": false})"}, &as_asked},
      {{"uint8", "unsigned activations", R"({"activation": "uint8"})"}, &as_asked},
      {{"int8_symmetric", "signed activations without zero_point", R"({"symmetric": true})"}, &as_asked},
      {{"uint8_symmetric", "unsigned activations around 128", R"({"activation": "uint8", "symmetric": true})"},
       &as_asked},
      {{"percentile", "percentile calibration", R"({"method": "percentile"})"}, &as_asked},
      {{"entropy", "entropy calibration", R"({"method": "entropy"})"}, &as_asked},
      {{"mse", "calibration by least squared error", R"({"method": "mse"})"}, &as_asked},
      {{"gemm_in_float", "Gemm stays in float, as asked and declared", R"({"precision": {"Gemm": "fp32"}})"},
       &as_asked},
  };
  return table;
}

struct Fault {
  FaultInfo info;
  void (*apply)(Machine& machine);
};

const std::vector<Fault>& faults() {
  static const std::vector<Fault> table{
      {{"unchecked_lookup", "https://github.com/pytorch/TensorRT/issues/2782", "plan",
        "dies in a look-up where an operator has no INT8 form"},
       [](Machine& m) { wrap_pass(m, "plan", &edits::look_up_unchecked); }},
      {{"partial_output_written", "https://github.com/pytorch/TensorRT/issues/2782", "load",
        "writes its artifact before it knows whether the model can be converted"},
       [](Machine& m) { insert_before(m, "load", &edits::write_early); }},
      {{"error_without_node", "https://github.com/pytorch/TensorRT/issues/2782", "load",
        "fails with a message that names neither node nor tensor"},
       [](Machine& m) { wrap_pass(m, "*", &edits::hide_place); }},
      {{"float_stage_skipped", "https://github.com/pytorch/TensorRT/issues/2782", "float",
        "goes on to quantize a model that does not run in float"},
       [](Machine& m) { wrap_pass(m, "float", &edits::ignore_failure); }},
      {{"concat_scale_missing", "https://github.com/NVIDIA/TensorRT/issues/3837", "assign",
        "Concat's output gets no scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::drop_concat_scale); }},
      {{"concat_range_narrow", "https://github.com/NVIDIA/TensorRT/issues/3837", "calibrate",
        "Concat's output gets a narrower range than its branches"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::narrow_concat); }},
      {{"concat_first_scale", "https://github.com/alibaba/TinyNeuralNetwork/issues/221", "calibrate",
        "Concat's output gets its first operand's range"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::first_range_for_concat); }},
      {{"concat_requantize_omitted", "https://github.com/alibaba/TinyNeuralNetwork/issues/354", "engine",
        "codes of Concat's branches are copied without requantization"},
       [](Machine& m) { m.policy.moved_codes = engine::MovedCodes::copy; }},
      {{"second_phase_overwrites", "https://github.com/NVIDIA/TensorRT/issues/3837", "calibrate",
        "rebuilding from the cache overwrites the ranges of the nodes left in float"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::overwrite_float_ranges); }},
      {{"bn_first_channel_only", "https://github.com/NVIDIA/TensorRT/issues/2163", "simplify",
        "BatchNormalization's first channel is folded into every channel"},
       [](Machine& m) { insert_before(m, "simplify", &edits::first_channel_normalization); }},
      {{"bn_folded_twice", "https://github.com/NVIDIA/TensorRT/issues/2163", "simplify",
        "BatchNormalization is folded into Conv twice"},
       [](Machine& m) { insert_before(m, "simplify", &edits::squared_normalization); }},
      {{"bn_bias_dropped", "https://github.com/alibaba/TinyNeuralNetwork/issues/79", "simplify",
        "folding loses BatchNormalization's shift"},
       [](Machine& m) { insert_before(m, "simplify", &edits::unshifted_normalization); }},
      {{"residual_quantizer_missing", "https://github.com/NVIDIA/TensorRT/issues/1992", "plan",
        "the second operand of a residual Add (Sub, Mul) stays without quantizer"},
       [](Machine& m) {
         insert_after(m, "plan", &edits::leave_residual_operand);
         insert_after(m, "simplify", &edits::bypass_residual_codes);
       }},
      {{"residual_quantizer_doubled", "https://github.com/NVIDIA/TensorRT/issues/3270", "emit",
        "the second operand of a residual Add (Sub, Mul) is quantized twice, the second time to the sum's scale"},
       [](Machine& m) { insert_after(m, "emit", &edits::requantize_residual); }},
      {{"pointwise_skips_qdq", "https://github.com/NVIDIA/TensorRT/issues/2163", "plan",
        "1x1 convolutions skip their Q/DQ"},
       [](Machine& m) {
         insert_after(m, "plan", &edits::leave_pointwise_in_float);
         insert_after(m, "simplify", &edits::bypass_pointwise_codes);
       }},
      {{"deconv_axis_zero", "https://github.com/pytorch/TensorRT/issues/2723", "plan",
        "ConvTranspose weights are quantized along axis 0, their input channels"},
       [](Machine& m) { insert_after(m, "plan", &edits::deconvolution_axis_zero); }},
      {{"deconv_scale_count_cin", "https://github.com/pytorch/TensorRT/issues/2723", "assign",
        "ConvTranspose gets as many weight scales as input channels"},
       [](Machine& m) { insert_after(m, "assign", &edits::deconvolution_count_cin); }},
      {{"per_axis_rolled", "https://github.com/pytorch/TensorRT/issues/2723", "encode",
        "per-axis scales are shifted by one channel"},
       [](Machine& m) { insert_after(m, "encode", &edits::roll_scales); }},
      {{"per_axis_reversed", "https://github.com/apache/tvm/issues/16646", "encode",
        "per-axis scales stand in reverse order"},
       [](Machine& m) { insert_after(m, "encode", &edits::reverse_scales); }},
      {{"one_scale_for_all", "https://github.com/microsoft/onnxruntime/pull/13038", "plan",
        "weights get one scale though per-axis was asked"},
       [](Machine& m) { insert_after(m, "plan", &edits::no_weight_axis); }},
      {{"output_left_float", "https://github.com/microsoft/onnxruntime/issues/13328", "plan",
        "the graph's outputs are not quantized"},
       [](Machine& m) { insert_after(m, "plan", &edits::leave_outputs_in_float); }},
      {{"deconv_output_padding_ignored",
        "https://github.com/SonySemiconductorSolutions/mct-model-optimization/issues/1116", "simplify",
        "ConvTranspose's output_padding is lost"},
       [](Machine& m) { insert_before(m, "simplify", &edits::drop_output_padding); }},
      {{"inputs_by_position", "https://github.com/pytorch/TensorRT/pull/1191", "calibrate",
        "calibration data are bound by the order of their files"},
       [](Machine& m) { insert_before(m, "feed", &edits::bind_inputs_by_position); }},
      {{"first_input_range_for_all", "https://github.com/NVIDIA/TensorRT/issues/3823", "calibrate",
        "every graph input gets the first one's range"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::first_range_for_inputs); }},
      {{"last_batch_reused", "https://github.com/NVIDIA/TensorRT/issues/3823", "calibrate",
        "all batches read the last one's buffer"},
       [](Machine& m) { insert_after(m, "feed", &edits::repeat_last_batch); }},
      {{"stale_cache_accepted", "https://github.com/NVIDIA/TensorRT/issues/3823", "cache",
        "a calibration cache of another model or other data is accepted"},
       [](Machine& m) { insert_before(m, "calibrate", &edits::renew_cache_fingerprint); }},
      {{"aborted_feed_swallowed", "https://github.com/NVIDIA/TensorRT/issues/3823", "calibrate",
        "a feed that breaks off counts as complete"},
       [](Machine& m) { insert_before(m, "feed", &edits::forget_feed_problem); }},
      {{"missing_input_swallowed", "https://github.com/NVIDIA/TensorRT/issues/3823", "calibrate",
        "an input that the feed leaves out is calibrated with zeros"},
       [](Machine& m) { insert_before(m, "feed", &edits::fill_missing_inputs); }},
      {{"bias_dropped", "https://github.com/llvm/torch-mlir/pull/4645", "encode", "biases are zero"},
       [](Machine& m) { insert_after(m, "encode", &edits::zero_bias); }},
      {{"bias_scale_of_output", "https://github.com/pytorch/pytorch/pull/107810", "encode",
        "biases are encoded in steps of the output"},
       [](Machine& m) { insert_after(m, "encode", &edits::bias_in_output_steps); }},
      {{"bias_saturated", "https://github.com/microsoft/onnxruntime/pull/22020", "assign",
        "a bias beyond 32 bits is saturated instead of raising the weight's scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::saturate_bias); }},
      {{"pad_with_raw_zero", "https://github.com/apache/tvm/issues/13364", "engine",
        "convolutions pad with the code 0 instead of the zero_point"},
       [](Machine& m) { m.policy.pad = engine::PadCode::zero; }},
      {{"relu_clamps_at_code_zero", "https://github.com/microsoft/onnxruntime/issues/11660", "engine",
        "a fused Relu cuts at the code 0 instead of the zero_point"},
       [](Machine& m) { m.policy.relu_floor = engine::ReluFloor::zero; }},
      {{"saturation_wraps", "https://github.com/onnx/onnx/issues/7835", "engine", "values beyond the type wrap around"},
       [](Machine& m) { m.policy.saturation = engine::Saturation::wrap; }},
      {{"rounding_truncates", "https://github.com/tenstorrent/tt-metal/issues/26414", "engine",
        "codes are truncated instead of rounded"},
       [](Machine& m) { m.policy.rounding = engine::Rounding::truncate; }},
      {{"zero_point_added_before_rounding", "https://github.com/Xilinx/onnx-mlir/pull/138", "engine",
        "the zero_point is added before rounding, QuantizeLinear's too"},
       [](Machine& m) { m.policy.zero_point_order = engine::ZeroPointOrder::before_rounding; }},
      {{"zero_point_ignored", "https://github.com/iree-org/iree/issues/24583", "engine",
        "products forget the activation's zero_point"},
       [](Machine& m) { m.policy.activation_zero_points = engine::ZeroPoints::ignore; }},
      {{"zero_point_off_by_one", "https://github.com/microsoft/onnxruntime/issues/25823", "assign",
        "zero_points are one too large"},
       [](Machine& m) { insert_after(m, "assign", &edits::next_zero_point); }},
      {{"divisor_128", "https://github.com/onnx/tensorflow-onnx/issues/1713", "assign",
        "scales are range / 128 (256) instead of 127 (255)"},
       [](Machine& m) { insert_after(m, "assign", &edits::divisor_128); }},
      {{"scale_doubled", "https://github.com/NVIDIA/TensorRT/issues/2958", "assign",
        "activation scales are twice what they should be"},
       [](Machine& m) { insert_after(m, "assign", &edits::double_scales); }},
      {{"weights_truncated", "https://github.com/Samsung/ONE/issues/6970", "encode",
        "weights are truncated towards zero"},
       [](Machine& m) { insert_after(m, "encode", &edits::truncate_weights); }},
      {{"accumulator_16_bit", "https://github.com/microsoft/onnxruntime/issues/16105", "engine",
        "products are summed in 16 bits"},
       [](Machine& m) { m.policy.accumulator = engine::Accumulator::int16; }},
      {{"int8_float_shortcut", "https://github.com/NVIDIA/TensorRT/issues/1992", "report",
        "nodes with weights stay in float and are reported as INT8"},
       [](Machine& m) {
         insert_after(m, "plan", &edits::leave_weighted_in_float);
         insert_after(m, "report", &edits::claim_int8);
       }},
      {{"nan_ignored", "https://github.com/NVIDIA/TensorRT/issues/3112", "calibrate",
        "NaN and infinity in calibration data count as zero"},
       [](Machine& m) {
         insert_before(m, "feed", &edits::zero_bad_values);
         wrap_pass(m, "calibrate", &edits::swallow_bad_ranges);
       }},
      {{"zero_range_scale_zero", "https://github.com/NVIDIA/TensorRT/issues/2498", "encode",
        "a range without extent gets the scale 0"},
       [](Machine& m) { insert_after(m, "encode", &edits::zero_scale_for_zero_range); }},
      {{"matmul_axis_first", "https://github.com/onnxsim/onnxsim/issues/749", "plan",
        "MatMul weights are quantized along their first axis"},
       [](Machine& m) { insert_after(m, "plan", &edits::matmul_axis_first); }},
      {{"gemm_transb_ignored", "https://github.com/Xilinx/onnx-mlir/pull/635", "plan",
        "Gemm's weight scales lie along axis 1 whatever transB says"},
       [](Machine& m) { insert_after(m, "plan", &edits::gemm_axis_one); }},
      {{"depthwise_group_scale", "https://github.com/iree-org/iree/issues/18200", "assign",
        "a grouped Conv gets its first channel's scale for all channels"},
       [](Machine& m) { insert_after(m, "assign", &edits::first_group_scale); }},
      {{"outlier_clipped", "https://github.com/NVIDIA/TensorRT/issues/2757", "calibrate",
        "min-max leaves out the outermost percent"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::cut_outliers); }},
      {{"kernel_shape_required", "https://github.com/NVIDIA/TensorRT/issues/2163", "load",
        "refuses a Q/DQ model whose Conv leaves out the optional kernel_shape"},
       [](Machine& m) { insert_after(m, "load", &edits::demand_kernel_shape); }},
      {{"qdq_axis_as_output", "https://github.com/NVIDIA/TensorRT/issues/2380", "simplify",
        "ConvTranspose weights that come quantized along axis 0 are taken to lie along the output channels"},
       [](Machine& m) { insert_after(m, "simplify", &edits::move_imported_axis); }},
      {{"axis_checked_without_need", "https://github.com/NVIDIA/TensorRT/issues/1362", "load",
        "refuses a quantizer with a single scale for an axis that it has no use for"},
       [](Machine& m) { insert_after(m, "load", &edits::check_axis_of_single_scale); }},
      {{"deconv_scales_counted_on_axis_zero", "https://github.com/NVIDIA/TensorRT/issues/1519", "load",
        "refuses ConvTranspose weights that come with other than C_in scales"},
       [](Machine& m) { insert_after(m, "load", &edits::count_deconvolution_scales_on_axis_zero); }},
      {{"shared_dequantizer_loses_axis", "https://github.com/microsoft/onnxruntime/issues/17718", "engine",
        "a weight's DequantizeLinear is copied for each reader, its axis is not"},
       [](Machine& m) { m.misreadings.push_back(&edits::lose_axis_of_shared); }},
      {{"moved_weight_keeps_axis", "https://github.com/microsoft/onnxruntime/issues/12800", "engine",
        "what moves a weight is put in front of its DequantizeLinear, whose axis stays"},
       [](Machine& m) { m.misreadings.push_back(&edits::move_before_dequantizer); }},
      {{"first_scale_dequantizes", "https://github.com/sonos/tract/pull/2849", "engine",
        "DequantizeLinear reads the first scale and zero_point alone"},
       [](Machine& m) { m.misreadings.push_back(&edits::read_first_scale); }},
      {{"channel_table_of_256", "https://github.com/tensorflow/tensorflow/pull/43486", "engine",
        "scales of weights are looked up modulo 256"},
       [](Machine& m) { m.misreadings.push_back(&edits::wrap_channel_index); }},
      {{"requantization_skipped", "https://github.com/pytorch/executorch/issues/18999", "engine",
        "codes that are dequantized and quantized to another scale stay as they are"},
       [](Machine& m) { m.misreadings.push_back(&edits::skip_second_pair); }},
      {{"scale_ratio_of_8_bits", "https://github.com/tensorflow/tensorflow/issues/42648", "engine",
        "the ratio of two scales between which codes are requantized has 8 bits"},
       [](Machine& m) { m.misreadings.push_back(&edits::round_ratio_of_scales); }},
      {{"unit_interval_assumed", "https://github.com/onnxruntime/onnxruntime-qnn/pull/473", "engine",
        "Softmax and HardSigmoid write codes in steps of 1/256 whatever their scale says"},
       [](Machine& m) { m.misreadings.push_back(&edits::assume_unit_interval); }},
      {{"constant_takes_concat_scale", "https://github.com/Samsung/ONE/pull/5888", "assign",
        "a constant that a Concat reads is quantized in place with the Concat's parameters"},
       [](Machine& m) { insert_after(m, "assign", &edits::constants_take_concat_scale); }},
      {{"scale_one_by_default", "https://github.com/NVIDIA/TensorRT/issues/3599", "assign",
        "results of element-wise operators with a constant get the scale 1"},
       [](Machine& m) { insert_after(m, "assign", &edits::scale_one_by_default); }},
      {{"passing_input_without_scale", "https://github.com/espressif/esp-dl/issues/251", "assign",
        "an input that is only moved gets no scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::drop_passing_input_scale); }},
      {{"old_opset_kept", "https://github.com/openvinotoolkit/nncf/pull/1537", "emit",
        "an old model keeps its opset, though its quantizers got what only newer ones have"},
       [](Machine& m) { insert_after(m, "emit", &edits::keep_old_opset); }},
      {{"avgpool_counts_pad", "https://github.com/VeriSilicon/TIM-VX/issues/272", "engine",
        "AveragePool divides by the whole kernel at the border"},
       [](Machine& m) { m.policy.average_divisor = engine::AverageDivisor::kernel; }},
      {{"duplicate_name_merged", "https://github.com/microsoft/onnxruntime/issues/24705", "assign",
        "tensors and nodes whose names become alike when cleaned, cut or stripped of suffixes share one scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::merge_like_names); }},
      {{"shape_concat_quantized", "https://github.com/NVIDIA/TensorRT/issues/3837", "plan",
        "a Concat of shape values is asked for a scale"},
       [](Machine& m) { insert_after(m, "plan", &edits::quantize_shape_concat); }},
      {{"dynamic_batch_frozen", "https://github.com/NVIDIA/TensorRT/issues/289", "emit",
        "free extents are fixed to those of the calibration data"},
       [](Machine& m) { insert_after(m, "emit", &edits::freeze_batch); }},
      {{"shared_bias_quantized_once", "https://github.com/onnxruntime/onnxruntime-qnn/pull/739", "encode",
        "nodes that share a bias share its codes, whatever their scales"},
       [](Machine& m) { insert_after(m, "encode", &edits::share_bias_codes); }},
      {{"mid_relu_output_clipped", "https://github.com/microsoft/onnxruntime/pull/28814", "simplify",
        "a Relu or Clip is fused though its operand has other readers, who get the cut values"},
       [](Machine& m) { insert_after(m, "simplify", &edits::share_fused_relu); }},
      {{"first_batch_only", "https://github.com/NVIDIA/Model-Optimizer/issues/619", "calibrate",
        "ranges come from the first batch alone"},
       [](Machine& m) { wrap_pass(m, "calibrate", &edits::first_batch_only); }},
      {{"first_sample_only", "https://github.com/rmccorm4/tensorrt-utils/issues/29", "calibrate",
        "of every batch only the first sample is looked at"},
       [](Machine& m) { wrap_pass(m, "calibrate", &edits::first_sample_only); }},
      {{"batches_averaged", "https://github.com/NVIDIA/TensorRT/issues/3436", "calibrate",
        "ranges are the mean over the batches, and nobody says so"},
       [](Machine& m) { wrap_pass(m, "calibrate", &edits::average_batches); }},
      {{"negative_end_forgotten", "https://github.com/intel/neural-compressor/issues/1533", "calibrate",
        "symmetric ranges follow the largest value, not the largest magnitude"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::forget_negative_end); }},
      {{"histogram_range_doubled", "https://github.com/ultralytics/ultralytics/pull/10165", "calibrate",
        "a histogram that was widened for a new maximum keeps its doubled range"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::double_histogram_range); }},
      {{"percentile_one_sided", "https://github.com/microsoft/onnxruntime/issues/10571", "calibrate",
        "percentile ranges have one side only"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::cut_one_side); }},
      {{"output_range_missing", "https://github.com/microsoft/onnxruntime/issues/11928", "calibrate",
        "histogram methods leave the graph's outputs without a range"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::forget_output_ranges); }},
      {{"softmax_range_fixed", "https://github.com/onnxruntime/onnxruntime-qnn/pull/558", "calibrate",
        "Softmax's output spans 0 to 1 whatever was calibrated, and nobody says so"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::fix_softmax_range); }},
      {{"cached_ranges_mirrored", "https://github.com/NVIDIA/TensorRT/issues/10", "cache",
        "ranges that were read back from the cache have lost their asymmetry"},
       [](Machine& m) { insert_after(m, "calibrate", &edits::mirror_cached_ranges); }},
      {{"zero_left_out", "https://github.com/onnx/onnx-mlir/pull/2535", "assign",
        "a range that does not hold zero is not widened to hold it"},
       [](Machine& m) { insert_after(m, "assign", &edits::leave_zero_out); }},
      {{"scales_power_of_two", "https://github.com/Xilinx/Vitis-AI/issues/1368", "assign",
        "scales are rounded up to powers of two, and nobody says so"},
       [](Machine& m) { insert_after(m, "assign", &edits::scales_to_powers_of_two); }},
      {{"scales_in_float16", "https://github.com/NVIDIA/TensorRT-Incubator/issues/392", "assign",
        "scales pass through float16"},
       [](Machine& m) { insert_after(m, "assign", &edits::scales_to_float16); }},
      {{"scales_in_six_digits", "https://github.com/Tencent/ncnn/issues/1336", "assign",
        "scales pass through a table of six digits"},
       [](Machine& m) { insert_after(m, "assign", &edits::scales_to_six_digits); }},
      {{"weights_7_bit", "https://github.com/uxlfoundation/oneDNN/issues/375", "assign",
        "weights use half of their codes"},
       [](Machine& m) { insert_after(m, "assign", &edits::weights_to_seven_bits); }},
      {{"one_scale_per_group", "https://github.com/Tencent/ncnn/issues/1304", "assign",
        "the output channels of a group of a grouped Conv share one scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::one_scale_per_group); }},
      {{"deconv_first_group_decides", "https://github.com/OpenPPL/ppq/issues/173", "assign",
        "a grouped ConvTranspose's scales come from its first group alone"},
       [](Machine& m) { insert_after(m, "assign", &edits::first_group_decides); }},
      {{"mean_keeps_input_scale", "https://github.com/tensorflow/model-optimization/issues/805", "assign",
        "averages keep their input's scale"},
       [](Machine& m) { insert_after(m, "assign", &edits::means_keep_scale); }},
      {{"scale_shared_backwards", "https://github.com/Samsung/ONE/pull/7215", "assign",
        "an operator that moves codes gives its input its output's own parameters"},
       [](Machine& m) { insert_after(m, "assign", &edits::share_backwards); }},
      {{"bias_first_channel_scale", "https://github.com/ROCm/AMDMIGraphX/pull/4521", "encode",
        "biases are encoded in steps of the first channel"},
       [](Machine& m) { insert_after(m, "encode", &edits::bias_of_first_channel); }},
      {{"bias_before_propagation", "https://github.com/Samsung/ONE/issues/8385", "encode",
        "biases are encoded before their input takes over the scale that it shares"},
       [](Machine& m) { insert_after(m, "encode", &edits::bias_before_sharing); }},
      {{"gemm_alpha_scales_bias", "https://github.com/microsoft/onnxruntime/issues/28130", "simplify",
        "Gemm's alpha multiplies the bias too"},
       [](Machine& m) { insert_before(m, "simplify", &edits::alpha_scales_bias); }},
      {{"bn_epsilon_left_out", "https://github.com/microsoft/onnxruntime/pull/17981", "simplify",
        "folding leaves out BatchNormalization's epsilon"},
       [](Machine& m) { insert_before(m, "simplify", &edits::forget_epsilon); }},
      {{"bn_conv_bias_unscaled", "https://github.com/OpenPPL/ppq/issues/337", "simplify",
        "folding does not scale the bias that the convolution had"},
       [](Machine& m) { insert_before(m, "simplify", &edits::leave_bias_unscaled); }},
      {{"bn_groups_interleaved", "https://github.com/SonySemiconductorSolutions/mct-model-optimization/pull/907",
        "simplify", "folding into a grouped ConvTranspose mixes up the order of groups and channels"},
       [](Machine& m) { insert_before(m, "simplify", &edits::interleave_groups); }},
      {{"weight_codes_folded", "https://github.com/onnxsim/onnxsim/issues/216", "emit",
        "DequantizeLinear of weights is folded into float constants"},
       [](Machine& m) { insert_after(m, "emit", &edits::fold_weight_codes); }},
      {{"outputs_swapped", "https://github.com/PINTO0309/onnx2tf/pull/651", "emit",
        "two outputs of one shape change places"},
       [](Machine& m) { insert_after(m, "emit", &edits::swap_outputs); }},
      {{"output_renamed", "https://github.com/microsoft/Olive/pull/2539", "emit", "quantized outputs get longer names"},
       [](Machine& m) { insert_after(m, "emit", &edits::rename_quantized_outputs); }},
      {{"output_left_as_codes", "https://github.com/microsoft/onnxruntime/pull/3329", "emit",
        "outputs are not dequantized"},
       [](Machine& m) { insert_after(m, "emit", &edits::leave_outputs_as_codes); }},
      {{"float_wish_ignored", "https://github.com/NVIDIA/TensorRT/issues/1437", "plan",
        "nodes that were asked for in float are quantized"},
       [](Machine& m) { wrap_pass(m, "plan", &edits::ignore_float_wishes); }},
      {{"float_spreads", "https://github.com/NVIDIA/TensorRT/issues/2080", "plan",
        "what reads a node left in float is left in float too"},
       [](Machine& m) { insert_after(m, "plan", &edits::spread_float); }},
      {{"concat_default_axis", "https://github.com/apache/mxnet/pull/20383", "simplify", "Concat's axis is not read"},
       [](Machine& m) { insert_before(m, "simplify", &edits::concat_along_default_axis); }},
      {{"opset_only_renumbered", "https://github.com/microsoft/onnxruntime/issues/1950", "load",
        "an old model gets a newer opset number without a change to its nodes"},
       [](Machine& m) { insert_before(m, "load", &edits::raise_opset); }},
      {{"first_channel_scale_for_all", "https://github.com/sonos/tract/pull/2849", "engine",
        "products of every channel are scaled with the first channel's scale"},
       [](Machine& m) { m.policy.channel_scales = engine::ChannelScales::first; }},
      {{"sum_with_first_scale", "https://github.com/microsoft/onnxruntime/pull/18332", "engine",
        "both operands of Add and Sub are taken to have the first one's scale"},
       [](Machine& m) { m.policy.operand_scales = engine::OperandScales::first; }},
      {{"weight_zero_point_ignored", "https://github.com/openvinotoolkit/openvino/pull/26536", "engine",
        "products forget the weight's zero_point"},
       [](Machine& m) { m.policy.weight_zero_points = engine::ZeroPoints::ignore; }},
      {{"pairs_saturate", "https://github.com/openvinotoolkit/openvino/issues/25342", "engine",
        "pairs of products saturate at 16 bits"},
       [](Machine& m) { m.policy.accumulator = engine::Accumulator::int16_pairs; }},
      {{"bias_skipped", "https://github.com/microsoft/onnxruntime/issues/11532", "engine",
        "the engine leaves out the bias"},
       [](Machine& m) { m.policy.bias = engine::BiasUse::drop; }},
      {{"multiplier_8_bits", "https://github.com/tensorflow/tensorflow/issues/42648", "engine",
        "the multiplier of requantization has 8 bits"},
       [](Machine& m) {
         m.policy.requantization = engine::Requantization::fixed_point;
         m.policy.multiplier_bits = 8;
       }},
      {{"requantizes_by_shift", "https://github.com/espressif/esp-dl/issues/249", "engine",
        "requantization only shifts"},
       [](Machine& m) {
         m.policy.requantization = engine::Requantization::fixed_point;
         m.policy.multiplier_bits = 1;
       }},
      {{"requantizes_in_float16", "https://github.com/pytorch/pytorch/issues/37343", "engine",
        "requantization rounds to float16 on its way"},
       [](Machine& m) { m.policy.requantization = engine::Requantization::float16_multiply; }},
      {{"rounds_down", "https://github.com/microsoft/onnxruntime/issues/32132", "engine", "codes are rounded down"},
       [](Machine& m) { m.policy.rounding = engine::Rounding::floor; }},
      {{"mean_truncates", "https://github.com/Xilinx/brevitas/issues/176", "engine", "averages are truncated"},
       [](Machine& m) { m.policy.mean_rounding = engine::Rounding::truncate; }},
      {{"resize_truncates", "https://github.com/microsoft/onnxruntime/pull/22476", "engine",
        "Resize truncates what it interpolates between codes"},
       [](Machine& m) { m.policy.interpolation_rounding = engine::Rounding::truncate; }},
      {{"lowest_code_unused", "https://github.com/microsoft/onnxruntime/issues/3442", "engine",
        "int8 codes stop at -127"},
       [](Machine& m) { m.policy.saturation = engine::Saturation::narrow; }},
      {{"saturates_before_zero_point", "https://github.com/Xilinx/onnx-mlir/pull/96", "engine",
        "values are cut to the type before the zero_point is added"},
       [](Machine& m) { m.policy.saturation = engine::Saturation::before_zero_point; }},
      {{"pads_swapped", "https://github.com/opencv/opencv/pull/21991", "engine", "unlike paddings change ends"},
       [](Machine& m) { m.misreadings.push_back(&edits::swap_pads); }},
      {{"same_lower_pads_upper", "https://github.com/pytorch/executorch/issues/20517", "engine",
        "SAME_LOWER pads like SAME_UPPER"},
       [](Machine& m) { m.misreadings.push_back(&edits::pad_upper); }},
      {{"pad_value_lost", "https://github.com/microsoft/onnxruntime/issues/17760", "engine",
        "Pad fills with zero whatever value it was given"},
       [](Machine& m) { m.misreadings.push_back(&edits::forget_pad_value); }},
      {{"clip_is_relu6", "https://github.com/OAID/Tengine/issues/1100", "engine",
        "every Clip is taken for one from 0 to 6"},
       [](Machine& m) { m.misreadings.push_back(&edits::clip_to_six); }},
      {{"relu_left_to_saturation", "https://github.com/onnxruntime/onnxruntime-qnn/pull/478", "engine",
        "a Relu before a quantizer is left to saturation, wherever the zero_point lies"},
       [](Machine& m) { m.misreadings.push_back(&edits::leave_relu_to_saturation); }},
      {{"leaky_relu_keeps_scale", "https://github.com/tensorflow/tensorflow/pull/37279", "engine",
        "LeakyRelu writes codes of its input's scale"},
       [](Machine& m) { m.misreadings.push_back(&edits::copy_leaky_codes); }},
      {{"max_pool_keeps_scale", "https://github.com/pytorch/glow/issues/5920", "engine",
        "MaxPool has parameters of its own and copies its input's codes"},
       [](Machine& m) {
         insert_after(m, "assign", &edits::recalibrate_pools);
         m.misreadings.push_back(&edits::copy_pool_codes);
       }},
      {{"prelu_first_slope", "https://github.com/OAID/Tengine/pull/1393", "engine",
        "every channel of a PRelu has the first one's slope"},
       [](Machine& m) { m.misreadings.push_back(&edits::first_slope_for_all); }},
      {{"hard_swish_is_sigmoid", "https://github.com/onnxruntime/onnxruntime-qnn/pull/392", "engine",
        "HardSwish computes a HardSigmoid"},
       [](Machine& m) { m.misreadings.push_back(&edits::sigmoid_for_swish); }},
      {{"authored_left_float", "https://github.com/NVIDIA/TensorRT/issues/1864", "emit",
        "products between the model's own Q/DQ nodes run in float"},
       [](Machine& m) { insert_after(m, "emit", &edits::keep_authored_in_float); }},
      {{"first_reader_of_codes_only", "https://github.com/ROCm/AMDMIGraphX/pull/2528", "simplify",
        "of the nodes that read one tensor's codes only the first gets them, the others read the float tensor"},
       [](Machine& m) { insert_after(m, "simplify", &edits::bypass_shared_codes); }},
      {{"float_readers_get_codes", "https://github.com/ROCm/AMDMIGraphX/issues/2949", "emit",
        "nodes left in float read the dequantized codes of a tensor that others read quantized"},
       [](Machine& m) { insert_after(m, "emit", &edits::give_codes_to_float_readers); }},
      {{"later_operands_left_float", "https://github.com/tensorflow/tensorflow/pull/34484", "plan",
        "only the first operand of Max, Min and Concat is quantized"},
       [](Machine& m) { insert_after(m, "plan", &edits::leave_later_operands); }},
      {{"integer_tensor_quantized", "https://github.com/NVIDIA/TensorRT/issues/4058", "plan",
        "tensors of indices and extents are asked for a scale"},
       [](Machine& m) { insert_after(m, "plan", &edits::quantize_integer_tensors); }},
      {{"resize_scales_quantized", "https://github.com/microsoft/onnxruntime/issues/25113", "simplify",
        "Resize's scales pass through 8 bits"},
       [](Machine& m) { insert_after(m, "simplify", &edits::quantize_resize_scales); }},
      {{"optional_input_assumed", "https://github.com/intel/neural-compressor/pull/1686", "load",
        "dies where Split, Pad, Resize, ConvTranspose or QuantizeLinear leaves out an optional input"},
       [](Machine& m) { insert_before(m, "load", &edits::demand_optional_inputs); }},
      {{"plain_parameters_required", "https://github.com/nod-ai/AMD-SHARK-ModelDev/issues/556", "load",
        "refuses a Q/DQ model whose scales or zero_points come from nodes or are vectors of one element"},
       [](Machine& m) { insert_after(m, "load", &edits::demand_plain_parameters); }},
      {{"quantized_unsigned_behind_reshape", "https://github.com/microsoft/onnxruntime/issues/27845", "emit",
        "a constant's codes get an unsigned quantizer of their scale behind Reshape and Transpose"},
       [](Machine& m) { insert_after(m, "emit", &edits::quantize_behind_reshape); }},
      {{"input_renamed", "https://github.com/tensorflow/tensorflow/issues/4847", "emit",
        "quantized inputs get longer names"},
       [](Machine& m) { insert_after(m, "emit", &edits::rename_quantized_inputs); }},
      {{"dequantizes_in_8_bits", "https://github.com/microsoft/onnxruntime/issues/32578", "engine",
        "DequantizeLinear takes the zero_point off in the codes' own type"},
       [](Machine& m) { m.policy.code_difference = engine::CodeDifference::own_type; }},
      {{"unsigned_codes_cut_at_127", "https://github.com/ROCm/rocMLIR/pull/1694", "engine",
        "unsigned codes saturate at 127"},
       [](Machine& m) { m.policy.saturation = engine::Saturation::signed_high; }},
  };
  return table;
}

template <typename Row>
Result<const Row*> find_row(const std::vector<Row>& table, const std::string& name, std::string_view what) {
  const auto found = std::ranges::find_if(table, [&](const Row& row) { return row.info.name == name; });
  if (found != table.end()) return &*found;
  std::vector<std::string> names;
  names.reserve(table.size());
  for (const auto& row : table) names.emplace_back(row.info.name);
  return Error{
      ErrorKind::usage,
      fmt::format("there is no {} \"{}\"; nearest: {}", what, name, core::join(core::nearest(name, names), ", ")), "",
      "", ""};
}

}  // namespace

std::span<const FaultInfo> fault_table() {
  static const std::vector<FaultInfo> infos = [] {
    std::vector<FaultInfo> all;
    for (const auto& fault : faults()) all.push_back(fault.info);
    return all;
  }();
  return infos;
}

bool changes_execution(std::string_view fault) {
  const auto machine = build_machine({std::string(fault)}, "");
  return machine && (machine->policy != ArithmeticPolicy{} || !machine->misreadings.empty());
}

std::span<const VariantInfo> variant_table() {
  static const std::vector<VariantInfo> infos = [] {
    std::vector<VariantInfo> all;
    for (const auto& variant : variants()) all.push_back(variant.info);
    return all;
  }();
  return infos;
}

Result<Machine> build_machine(const std::vector<std::string>& names, const std::string& variant) {
  Machine machine;
  if (!variant.empty()) {
    const auto row = find_row(variants(), variant, "variant");
    if (!row) return row.error();
    (*row)->apply(machine.policy);
  }
  for (const auto& text : names) {
    const std::size_t at = text.find('@');
    const std::string name = text.substr(0, at);
    const auto row = find_row(faults(), name, "fault");
    if (!row) return row.error();
    if (at == std::string::npos) {
      (*row)->apply(machine);
      continue;
    }
    if (names.size() > 1) {
      return Error{ErrorKind::usage, fmt::format("\"{}\" is confined to a node: it can't stand beside others", text),
                   "", "", ""};
    }
    (*row)->apply(machine);
    if (const Status confined = confine(machine, name, text.substr(at + 1)); !confined) return confined.error();
  }
  return machine;
}

}  // namespace assay::embedded
