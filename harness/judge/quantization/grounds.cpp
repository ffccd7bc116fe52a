#include "harness/judge/quantization/grounds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using model::Node;

/// More data sets than a case has; those with NaN among their values equal nothing and would pile up.
constexpr std::size_t kMostWalks = 32;

}  // namespace

Evidence without_outputs(const Evidence& evidence) {
  Evidence copy;
  copy.test_case = evidence.test_case;
  copy.options = evidence.options;
  copy.converter = evidence.converter;
  copy.model = evidence.model;
  copy.calibration = evidence.calibration;
  copy.conversion.tensors = evidence.conversion.tensors;
  copy.conversion.precision = evidence.conversion.precision;
  copy.precision_index = evidence.precision_index;
  copy.method_stated = evidence.method_stated;
  copy.first_batch_bins = evidence.first_batch_bins;
  return copy;
}

Grounds::Grounds(const LayerContext& context)
    : evidence_(without_outputs(context.evidence)),
      context_{.evidence = evidence_,
               .artifact = context.artifact,
               .alignment = context.alignment,
               .reference = {},
               .ranges = context.ranges,
               .audited = context.audited,
               .calibration = context.calibration,
               .open_ranges = context.open_ranges},
      plan_(context_) {}

bool Grounds::serve(const LayerContext& context) const {
  const Evidence& asked = context.evidence;
  return context.artifact == context_.artifact && context.calibration != nullptr &&
         context.calibration == context_.calibration && asked.test_case == evidence_.test_case &&
         asked.model == evidence_.model && asked.calibration == evidence_.calibration &&
         asked.method_stated == evidence_.method_stated && asked.first_batch_bins == evidence_.first_batch_bins &&
         asked.options == evidence_.options && asked.converter.policy == evidence_.converter.policy &&
         asked.conversion.tensors == evidence_.conversion.tensors &&
         asked.conversion.precision == evidence_.conversion.precision;
}

Grounds::EndToEnd& Grounds::end_to_end(const core::TensorMap& inputs, bool typical, EngineRoundings engine,
                                       bool keeps_signs) {
  const auto found = std::ranges::find_if(walks_, [&](const Walk& walk) {
    return walk.typical == typical && walk.engine == engine && walk.keeps_signs == keeps_signs && walk.inputs == inputs;
  });
  if (found != walks_.end()) return found->result;
  if (walks_.size() == kMostWalks) walks_.pop_front();
  // The walk keeps tensors that point into its inputs: they are its own.
  walks_.push_back({inputs, typical, keeps_signs, engine, EndToEnd{{}, {}, {}, {}, {plan_, engine.twice}}});
  Walk& walk = walks_.back();
  run(walk);
  return walk.result;
}

void Grounds::run(Walk& walk) {
  EndToEnd& result = walk.result;
  if (walk.typical && single_operator() && !clips(walk.inputs)) result.noise = noise(walk.inputs, Steps::coarsest);
  BoundWalk bounds(plan_, walk.inputs, {}, walk.engine);
  if (walk.keeps_signs) {
    bounds.observe_nodes(
        [&](std::size_t entry, const std::string& tensor, const auto& before, const auto& read,
            const Enclosure& output) { result.correlated.record(entry, tensor, before, read, output); });
  }
  const model::Graph& graph = evidence_.model->graph;
  std::multimap<std::string_view, const Alignment::Operation*> rankings;  // those that give positions out, by operand
  for (const Alignment::Operation& reader : plan_.alignment().operations) {
    const std::optional<std::size_t> positions = traits_of(reader.node).ranking;
    if (positions && *positions < reader.node.outputs.size() && !reader.node.inputs.empty() &&
        graph.find_output(reader.node.outputs[*positions]) != nullptr) {
      rankings.emplace(reader.node.inputs[0], &reader);
    }
  }
  bounds.run([&](const Alignment::Operation* entry, const std::string& tensor, const Enclosure& carried) {
    const auto [first, last] = rankings.equal_range(tensor);
    for (auto it = first; it != last; ++it) {
      const Alignment::Operation& reader = *it->second;
      result.rankings.push_back(
          {&reader, reader.node.outputs[*traits_of(reader.node).ranking], bounds.rounded(tensor, carried)});
    }
    if (entry != nullptr && carried.centre->is_real() && graph.find_output(tensor) != nullptr) {
      result.outputs.push_back({entry, tensor, carried});
    }
  });
  const Constants& constants = plan_.alignment().constants;
  for (const Node& node : graph.nodes) {
    if (node.op_type != "QuantizeLinear" || graph.find_output(node.outputs[0]) == nullptr) continue;
    const auto value = constants.find(node.input(0));
    if (value == constants.end() || !value->second->is_real()) continue;
    const Enclosure exact = exact_enclosure(value->second);
    const std::vector<const Enclosure*> inputs{&exact};
    auto codes = bounds.enclose(node, inputs);
    if (codes) result.constant_codes[node.outputs[0]] = std::move(codes->front());
  }
}

/// One operator with weights that reads the graph's inputs, and behind it nothing that is rounded once more: then every
/// rounding is an independent draw and none is left out of the prediction.
bool Grounds::single_operator() const {
  const Alignment& model = plan_.alignment();
  if (model.operations.empty() || !weight_slots(model.operations[0].node, model.constants) ||
      !plan_.constants(0).independent) {
    return false;
  }
  return std::all_of(model.operations.begin() + 1, model.operations.end(), [&](const Alignment::Operation& entry) {
    const OperatorTraits& traits = traits_of(entry.node);
    // The prediction is of the operator's own result: what comes out has its elements in the same order.
    const bool silent =
        traits.clamp == Clamp::at_zero || traits.movement == Movement::copies || traits.movement == Movement::reshapes;
    return silent && plan_.roundings(entry.node.inputs[0]).empty();
  });
}

/// Whether an input lies beyond its codes: what is cut off there is no uniform draw.
bool Grounds::clips(const core::TensorMap& inputs) const {
  for (const auto& [name, tensor] : inputs) {
    for (const QuantizationPlan::Rounding& rounding : plan_.roundings(name)) {
      if (!rounding.span || !tensor.is_real()) continue;
      const CodeSpan& span = *rounding.span;
      const auto outside = [&](double v) {
        return v < span.bottom.high - span.half(v) || v > span.top.low + span.half(v);
      };
      if (std::ranges::any_of(tensor.reals(), outside)) return true;
    }
  }
  return false;
}

const std::optional<NoisePrediction>& Grounds::noise(const core::TensorMap& inputs, Steps steps) {
  const auto found =
      std::ranges::find_if(noises_, [&](const Noise& noise) { return noise.steps == steps && noise.inputs == inputs; });
  if (found != noises_.end()) return found->result;
  if (noises_.size() == kMostWalks) noises_.pop_front();
  noises_.push_back({inputs, steps, predict_noise(plan_, inputs, steps)});
  return noises_.back().result;
}

const FakeQuantization& Grounds::prediction() {
  if (!prediction_) prediction_.emplace(context_, plan_);
  return *prediction_;
}

const FakeQuantization* Grounds::prediction(const core::TensorMap& inputs) {
  (void)prediction();
  if (!predicted_on_ || *predicted_on_ != inputs) {
    predicted_on_ = inputs;
    predicted_ = prediction_->run(*predicted_on_).ok();
  }
  return predicted_ ? &*prediction_ : nullptr;
}

const std::vector<const Way*>& Grounds::other_ways(const core::TensorMap& inputs) {
  if (!ways_) ways_ = judge::other_ways(context_, plan_, prediction());
  if (!ways_->empty() && (!ways_on_ || *ways_on_ != inputs)) {
    ways_on_ = inputs;
    ways_run_.clear();
    for (const std::unique_ptr<Way>& way : *ways_) {
      if (way->run(*ways_on_)) ways_run_.push_back(way.get());
    }
  }
  return ways_run_;
}

const FakeQuantization* Grounds::narrowest(const core::TensorMap& inputs) {
  if (!context_.open_ranges) return nullptr;
  if (narrowest_ == nullptr) {
    Supposed supposed;
    supposed.narrowest_ranges = true;
    narrowest_ = std::make_unique<Way>(context_, std::set<std::string>{}, supposed);
  }
  if (!narrowest_on_ || *narrowest_on_ != inputs) {
    narrowest_on_ = inputs;
    narrowest_runs_ = narrowest_->run(*narrowest_on_);
  }
  return narrowest_runs_ ? &narrowest_->prediction() : nullptr;
}

const core::Result<NoiseByOutput>& Grounds::draws(const core::TensorMap& inputs, const core::TensorMap& expected,
                                                  std::uint64_t count) {
  const auto found =
      std::ranges::find_if(draws_, [&](const Draws& made) { return made.count == count && made.inputs == inputs; });
  if (found != draws_.end()) return found->result;
  if (draws_.size() == kMostWalks) draws_.pop_front();
  draws_.push_back({inputs, count, draw_from_policy(context_, plan_, inputs, expected, count)});
  return draws_.back().result;
}

std::shared_ptr<Grounds> GroundsCache::get(const LayerContext& context) {
  const auto found =
      std::ranges::find_if(kept_, [&](const std::shared_ptr<Grounds>& grounds) { return grounds->serve(context); });
  if (found != kept_.end()) {
    kept_.splice(kept_.begin(), kept_, found);
    return kept_.front();
  }
  auto grounds = std::make_shared<Grounds>(context);
  if (context.artifact != nullptr || context.large) return grounds;
  kept_.push_front(grounds);
  if (kept_.size() > kKept) kept_.pop_back();
  return grounds;
}

}  // namespace assay::judge
