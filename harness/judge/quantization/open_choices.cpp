#include "harness/judge/quantization/open_choices.hpp"

#include <algorithm>
#include <initializer_list>
#include <utility>

#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Node;

/// Every combination of the choices that are added.
class Combinations {
 public:
  /// As it is, or with one of `values`.
  template <typename Member, typename Value = Member>
  void or_else(Member Supposed::*what, std::initializer_list<Value> values) {
    const std::size_t count = all_.size();
    for (const Value& value : values) {
      for (std::size_t i = 0; i < count; ++i) {
        all_.push_back(all_[i]);
        all_.back().*what = value;
      }
    }
  }
  void or_else(bool Supposed::*what) { or_else(what, {true}); }
  [[nodiscard]] std::vector<Supposed> take() { return std::move(all_); }

 private:
  std::vector<Supposed> all_{{}};
};

}  // namespace

std::vector<Supposed> combined_choices(const LayerContext& context, const QuantizationPlan& plan,
                                       const FakeQuantization& plain) {
  Combinations all;
  const auto has_groups = [](const Alignment::Operation& entry) { return weight_layout(entry.node, 0).groups > 1; };
  if (std::ranges::any_of(plan.alignment().operations, has_groups)) all.or_else(&Supposed::own_groups);
  if (leaves_float_surroundings_open(context.evidence)) all.or_else(&Supposed::rounds_around_float);
  if (plain.leaves_matrices_open()) all.or_else(&Supposed::matrices_by_channel);
  if (plain.leaves_bodies_open()) all.or_else(&Supposed::bodies_read_real);
  if (plain.leaves_matrix_biases_open()) all.or_else(&Supposed::matrix_bias_on_codes);
  if (!plain.leaves_constants_open()) return all.take();
  const ConstantForm usual = plain.usual_form_of_constants();
  const ConstantForm other = usual == ConstantForm::as_activations ? ConstantForm::real : ConstantForm::as_activations;
  if (context.evidence.options.symmetric) {  // activations are rounded as weights are
    all.or_else(&Supposed::constants, {other});
  } else {
    all.or_else(&Supposed::constants, {other, ConstantForm::as_weights});
  }
  return all.take();
}

std::vector<Supposed> single_choices(const Supposed& way, const LayerContext& context, bool rounds_twice) {
  std::vector<Supposed> all;
  const auto suppose = [&](bool Supposed::*what) {
    all.push_back(way);
    all.back().*what = true;
  };
  if (context.artifact != nullptr) {
    if (rounds_twice) suppose(&Supposed::rounds_twice);
    return all;
  }
  const Evidence& evidence = context.evidence;
  if (leaves_own_ranges_open(evidence)) suppose(&Supposed::own_ranges);
  suppose(&Supposed::real_outputs);
  const auto joins = [](const Node& node) { return traits_of(node).movement == Movement::joins; };
  const bool open_joins = !lists_scales(evidence) && std::ranges::any_of(evidence.model->graph.nodes, joins);
  if (open_joins && evidence.converter.policy.shares) suppose(&Supposed::joined_scales);
  if (open_joins && !context.open_ranges) suppose(&Supposed::covering_joins);
  if (evidence.converter.policy.arithmetic != converters::EngineArithmetic::floating) suppose(&Supposed::rounds_twice);
  return all;
}

std::vector<Supposed> choices_of_noise(const Evidence& evidence) {
  Combinations all;
  if (leaves_own_ranges_open(evidence)) all.or_else(&Supposed::own_ranges);
  std::vector<Supposed> choices = all.take();
  // All of what may be rounded makes the most noise.
  for (Supposed& supposed : choices) supposed.rounds_around_float = leaves_float_surroundings_open(evidence);
  return choices;
}

}  // namespace assay::judge
