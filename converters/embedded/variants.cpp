#include "converters/embedded/faults.hpp"

namespace assay::embedded {
namespace {

using engine::ArithmeticPolicy;

/// Differs by its options alone.
void as_asked(ArithmeticPolicy&) {}

}  // namespace

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
      {{"qoperator", "the artifact in QOperator format", R"({"format": "qoperator"})"}, &as_asked},
      {{"qoperator_uint8", "the same with unsigned activations", R"({"format": "qoperator", "activation": "uint8"})"},
       &as_asked},
      {{"gemm_in_float", "Gemm stays in float, as asked and declared", R"({"precision": {"Gemm": "fp32"}})"},
       &as_asked},
  };
  return table;
}

std::span<const VariantInfo> variant_table() {
  static const std::vector<VariantInfo> infos = [] {
    std::vector<VariantInfo> all;
    for (const auto& variant : variants()) all.push_back(variant.info);
    return all;
  }();
  return infos;
}

}  // namespace assay::embedded
