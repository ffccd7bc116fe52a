#include "harness/run/made_by.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string_view>
#include <tuple>

#include "harness/core/counted.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/artifact/decompressed.hpp"
#include "harness/judge/artifact/evident_options.hpp"
#include "harness/judge/artifact/written_out.hpp"
#include "harness/judge/audit/range_cost.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/reference_cache.hpp"
#include "harness/run/settled_maker.hpp"
#include "reference/quantized_form.hpp"

namespace assay::run {
namespace {

using converters::Method;
using converters::Options;
using converters::Policy;
using judge::Facet;
using judge::Finding;

/// Of the method entropy: which few values an end may have.
bool knows_search(const Policy& policy) {
  return policy.histogram == converters::HistogramBins::whole_range ||
         policy.histogram == converters::HistogramBins::magnitudes;
}

/// How much a policy allows beyond one plain choice for each number, less what it says besides and can be held to.
int width(const Policy& policy, const Options& options) {
  constexpr int kInterval = 16;  // any value in an interval: more than all words of one value each
  int relaxed = 0;
  const auto add = [&](bool allows, int weight) { relaxed += allows ? weight : 0; };
  add(policy.weights == converters::WeightRounding::adapted, kInterval);
  add(policy.bias == converters::BiasRounding::mean_corrected, 1);
  add(policy.bias == converters::BiasRounding::corrected, kInterval);
  add(policy.averaging == converters::Averaging::per_sample || policy.averaging == converters::Averaging::ema,
      kInterval);
  add(policy.averaging == converters::Averaging::batch_mean || policy.averaging == converters::Averaging::batch_ends ||
          policy.averaging == converters::Averaging::widened_batch_mean ||
          policy.averaging == converters::Averaging::batch_quantiles,
      1);
  add(policy.unsigned_codes != converters::UnsignedCodes::asked, 1);
  add(policy.power_of_two, 4);
  add(policy.has_floor(), 1);
  add(!policy.whole_weights.empty(), 1);
  add(policy.depthwise_channels, 1);
  add(policy.first_divisor > 0, 1);
  add(policy.channel_floor > 0, 1);
  add(policy.gates_in_float, 1);
  add(policy.chooses_int8, 1);
  add(policy.symmetric_products, 1);
  add(policy.equalizes, 2);
  add(options.method == Method::percentile, kInterval);
  add(options.method == Method::entropy, knows_search(policy) ? 2 : 2 * kInterval);
  add(options.method == Method::mse, 3 * kInterval);
  add(policy.folds_bn.has_value(), -1);
  add(policy.shares.has_value(), -1);
  add(!policy.quantizes.empty(), -1);
  add(!policy.reads_float.empty(), -1);
  add(policy.whole_products, -1);
  add(policy.reads_evenly, -1);
  add(!policy.writes_quantized.empty(), -1);
  add(!policy.keeps_quantized.empty(), -1);
  add(policy.outputs != converters::GraphOutputs::either, -1);
  add(!policy.fixed_ranges.empty(), -1);
  return relaxed;
}

bool has_qoperators(const model::Graph& artifact) {
  return std::ranges::any_of(artifact.nodes, [](const model::Node& node) {
    const auto* form = reference::quantized_form(node);
    return form != nullptr && form->unpack == nullptr;
  });
}

/// All scales of all quantizers.
bool has_powers_of_two(const model::Graph& artifact) {
  const auto constants = judge::constants_of(artifact);
  bool any = false;
  for (const model::Node& node : artifact.nodes) {
    if (!model::is_quantizer(node)) continue;
    const auto scale = constants.find(node.input(1));
    if (scale == constants.end() || !scale->second->is_real()) return false;
    for (const double value : scale->second->reals()) {
      int exponent = 0;
      if (std::frexp(value, &exponent) != 0.5) return false;
      any = true;
    }
  }
  return any;
}

/// What of a policy the artifact's numbers come from; how it is executed and whether twice alike are the executor's.
Policy executed_by(Policy stated, const Policy& executor) {
  stated.arithmetic = executor.arithmetic;
  stated.dequantize = executor.dequantize;
  stated.deterministic = executor.deterministic;
  return stated;
}

/// Do options that the user states contradict those that a policy is about?
bool contradicts(const std::string& user_options, const std::string& own) {
  const auto user = core::json_or_discarded<nlohmann::json>(user_options);
  const auto fixed = core::json_or_discarded<nlohmann::json>(own);
  const bool given = user.is_object() && user.value("method", "") == converters::method_name(Method::given);
  return std::ranges::any_of(fixed.items(), [&](const auto& item) {
    if (given && (item.key() == "method" || item.key() == "percentile")) return false;  // none was needed
    return user.is_object() && user.contains(item.key()) && user[item.key()] != item.value();
  });
}

struct Candidate {
  std::string label, plain;  ///< with the settings and without
  Policy policy;
  Options options;
  bool general = false;  ///< of no converter: what holds for all
  std::string limit = "";
  bool audited = false;
  std::vector<Finding> red = {};  ///< once it was audited

  [[nodiscard]] bool same_rules(const Candidate& other) const {
    return policy == other.policy && options == other.options;
  }
  [[nodiscard]] bool faults(const Finding& finding) const {
    return std::ranges::any_of(
        red, [&](const Finding& own) { return own.tensor == finding.tensor && own.node == finding.node; });
  }
};

/// The options that an artifact may have been made with under a policy: those that it shows, with what the policy's
/// settings fix and what the user states. Asymmetric codes may lie around zero by chance.
std::vector<Options> possible_options(const judge::Evidence& evidence, const programs::StatedPolicy& stated) {
  const Options shown = judge::evident_options(evidence.artifact, *evidence.model, evidence.options, stated.policy);
  std::vector<Options> all;
  for (const bool symmetric : {shown.symmetric, false}) {
    Options base = shown;
    base.symmetric = symmetric;
    auto options = converters::options_from_json(stated.options_json, base);
    if (options) options = converters::options_from_json(evidence.stated_options.value_or("{}"), Options(*options));
    if (options && std::ranges::find(all, *options) == all.end()) {
      all.push_back(*options);
    }
  }
  return all;
}

std::vector<Candidate> candidates_for(const judge::Evidence& evidence, const MadeBy& made_by) {
  std::vector<Candidate> all;
  // A model without a quantizer is nobody's: settings in which INT8 is no more than allowed would explain any.
  const model::Graph& made = evidence.artifact->graph;
  const bool quantized =
      judge::casts_constant_codes(made) || std::ranges::any_of(made.nodes, [](const auto& node) {
        return model::is_quantizer(node) || node.op_type == "DynamicQuantizeLinear" || judge::is_on_codes(node);
      });
  // Who signs what it writes is looked for among those alone who sign so.
  const auto signs = [&](const programs::StatedPolicy& stated) {
    return !stated.producer.empty() && stated.producer == evidence.artifact->producer;
  };
  const bool is_signed = !made_by.stated && std::ranges::any_of(made_by.candidates, signs);
  for (const programs::StatedPolicy& stated : made_by.candidates) {
    if (!quantized && !made_by.stated) break;
    if (is_signed && !signs(stated)) continue;
    // Learned weights would explain any wrong ones: who has them says so.
    if (!made_by.stated && stated.policy.weights == converters::WeightRounding::adapted) continue;
    if (contradicts(evidence.stated_options.value_or("{}"), stated.options_json)) continue;
    if (stated.qoperator && !has_qoperators(evidence.artifact->graph)) continue;
    const Policy policy = executed_by(stated.policy, evidence.converter.policy);
    for (const Options& options : possible_options(evidence, stated)) {
      all.push_back({stated.label(), stated.plain_label(), policy, options, false, stated.limit});
    }
  }
  // Ranges on the artifact's own codes take another run over the calibration data.
  std::ranges::stable_sort(all, {}, [](const Candidate& each) {
    return std::tuple(each.policy.calibrates != converters::CalibratedNetwork::float_network,
                      width(each.policy, each.options));
  });
  if (!made_by.stated && !made_by.candidates.empty()) {
    const programs::StatedPolicy general{"", "", "", evidence.converter.policy, "{}"};
    for (const Options& options : possible_options(evidence, general)) {
      all.push_back({"the general rules", "the general rules", evidence.converter.policy, options, true});
    }
  }
  return all;
}

std::vector<Finding> red_findings(judge::Evidence evidence, judge::ReferenceCache& cache, const Candidate& candidate) {
  evidence.converter.policy = candidate.policy;
  evidence.options = candidate.options;
  evidence.executions.clear();
  judge::Judgement judgement = judge::audit(evidence, cache, 1);
  std::erase_if(judgement.findings, [](const Finding& finding) { return finding.amber; });
  return std::move(judgement.findings);
}

/// The same, worked out once.
const std::vector<Finding>& audited(Candidate& candidate, const judge::Evidence& evidence,
                                    judge::ReferenceCache& cache) {
  if (!candidate.audited) candidate.red = red_findings(evidence, cache, candidate);
  candidate.audited = true;
  return candidate.red;
}

/// What a finding is about, of what candidates leave free to one another.
enum class Kind { range, bias, structure, other };
Kind kind_of(const Finding& finding, const model::Graph& original) {
  const bool constant = original.initializer(finding.tensor) != nullptr;
  if (finding.facet == Facet::bias || (finding.facet == Facet::weight && finding.op == "Add" && constant))
    return Kind::bias;
  if ((finding.facet == Facet::scale || finding.facet == Facet::zero_point) && !constant) return Kind::range;
  return finding.facet == Facet::precision ? Kind::structure : Kind::other;
}

/// How many tensors of the artifact a facet speaks of: activations or weights.
class Counts {
 public:
  explicit Counts(const model::Graph& artifact) {
    std::set<std::string> quantized;
    for (const model::Node& node : artifact.nodes) {
      const bool constant = artifact.initializer(node.input(0)) != nullptr;
      if (node.op_type == "QuantizeLinear" && !constant) {
        ++activations_;
      }
      if (node.op_type == "DequantizeLinear" && constant) {
        quantized.insert(node.outputs.begin(), node.outputs.end());
      }
    }
    for (const model::Node& node : artifact.nodes) {
      nodes_ += node.op_type != "QuantizeLinear" && node.op_type != "DequantizeLinear" ? 1U : 0U;
      weighted_ += quantized.contains(std::string(node.input(1))) ? 1U : 0U;
    }
  }
  /// Nearly everywhere, that is: in more than half, and more than once where there are several.
  [[nodiscard]] bool nearly_all(std::size_t found, bool of_weights) const {
    const std::size_t all = of_weights ? weighted_ : activations_;
    return 2 * found > all && (found > 1 || all == 1);
  }
  /// So few that the others can't have come out as they are by chance. Of 210 artifacts of released converters whose
  /// ranges were searched for, those in which the search ended beside min-max anywhere had at least a seventh of their
  /// ranges there, and two where there were five or more.
  [[nodiscard]] bool a_few(std::size_t found, Kind kind) const {
    constexpr std::size_t kFew = 8, kLeastRanges = 5;
    const std::size_t all = kind == Kind::range ? activations_ : nodes_;
    const std::size_t least = kind == Kind::range ? kLeastRanges : kFew;
    return found == 0 || kFew * found < all || (found == 1 && all >= least);
  }

 private:
  std::size_t activations_ = 0, weighted_ = 0, nodes_ = 0;
};

/// Does `nearest` place quantizers otherwise wherever the artifact could have them, behind more than half of the nodes
/// of an operator or of the graph's outputs? So places a maker its quantizers; a lost one is missing in one of several
/// places.
bool is_placed_alike(const Finding& finding, const std::vector<Finding>& nearest, const model::Graph& original) {
  if (!finding.placement) return false;
  const bool output = !finding.tensor.empty();
  const auto differ = static_cast<std::size_t>(std::ranges::count_if(nearest, [&](const Finding& each) {
    return each.placement && each.tensor.empty() != output && (output || each.op == finding.op);
  }));
  const auto places =
      output ? original.outputs.size()
             : static_cast<std::size_t>(std::ranges::count(original.nodes, finding.op, &model::Node::op_type));
  return 2 * differ > places;
}

/// What the nearest policy finds wrong nearly everywhere, and another stated one nowhere.
std::vector<judge::Grant> grants(const Candidate& nearest, const std::vector<Candidate>& all,
                                 const model::Graph& artifact, const model::Graph& original) {
  const auto of_weights = [&](const Finding& finding) {
    return finding.facet == Facet::bias || finding.facet == Facet::weight ||
           original.initializer(finding.tensor) != nullptr;
  };
  const auto kind = [&](const Finding& finding) { return std::pair(finding.facet, of_weights(finding)); };
  std::map<std::pair<Facet, bool>, std::size_t> found;
  for (const Finding& finding : nearest.red) {
    ++found[kind(finding)];
  }
  const Counts counts(artifact);
  std::vector<judge::Grant> granted;
  for (const Finding& finding : nearest.red) {
    const bool alike = finding.placement ? is_placed_alike(finding, nearest.red, original)
                                         : counts.nearly_all(found[kind(finding)], of_weights(finding));
    if (!alike) continue;
    const auto other = std::ranges::find_if(all, [&](const Candidate& each) { return !each.faults(finding); });
    if (other != all.end()) {
      granted.push_back({finding.facet, finding.tensor, finding.node, other->label});
    }
  }
  return granted;
}

/// One value follows from the data for each range and each bias, and not an interval of them.
bool gives_one_value(const Candidate& candidate) {
  const bool known = candidate.options.method == Method::minmax ||
                     (candidate.options.method == Method::entropy && knows_search(candidate.policy));
  return known && candidate.policy.bias != converters::BiasRounding::corrected &&
         (candidate.policy.averaging == converters::Averaging::none ||
          candidate.policy.averaging == converters::Averaging::batch_mean ||
          candidate.policy.averaging == converters::Averaging::batch_ends ||
          candidate.policy.averaging == converters::Averaging::widened_batch_mean);
}

/// Does what `nearest` faults lose so much that no search for a better range ends there?
class Costs {
 public:
  Costs(const judge::Evidence& evidence, judge::ReferenceCache& cache) {
    if (evidence.calibration == nullptr) return;
    const auto kept = cache.ranges(*evidence.model, judge::model_key(*evidence.model, "costs"), *evidence.calibration,
                                   {.values = true, .channels = false});
    if (kept) ranges_ = *kept;
    auto view = judge::ArtifactView::build(evidence.artifact, *evidence.model);
    if (view) view_.emplace(std::move(*view));
  }

  /// Ten times the error of the whole range, the codes' own included.
  [[nodiscard]] bool loses(const Candidate& nearest, const std::string& tensor) const {
    constexpr double kMuch = 10;
    if (ranges_ == nullptr || !view_) return false;
    const auto values = ranges_->sorted_values.find(tensor);
    if (values == ranges_->sorted_values.end() || values->second.empty()) return false;
    const core::QuantParams whole =
        judge::derive_params(values->second.front(), values->second.back(), nearest.options.activation,
                             nearest.options.symmetric, nearest.policy);
    const judge::SquaredError cost(values->second);
    const double least = cost.of(whole);
    return std::ranges::any_of(view_->quantizers_of(tensor), [&](const judge::Quantizer* quantizer) {
      return quantizer->params.scale.size() == 1 && cost.of(quantizer->params) > kMuch * least;
    });
  }

 private:
  std::shared_ptr<const judge::CalibrationRanges> ranges_;
  std::optional<judge::ArtifactView> view_;
};

/// A method that searches for a range may end nearly anywhere inside the data, and explains any range that is too
/// narrow; a correction without a rule explains any bias. Where nearly all values are those of a policy that gives one
/// alone, the few others are wrong; so they are where most are, and the other ranges lose far more than by it. The
/// nearest such candidate before `explains`, else null.
const Candidate* refutes(std::vector<Candidate>& all, const Candidate& explains, const judge::Evidence& evidence,
                         judge::ReferenceCache& cache) {
  const Candidate* nearest = nullptr;
  for (const Candidate* each = all.data(); each != &explains; ++each) {
    if (!gives_one_value(*each) || each->general) continue;
    if (nearest == nullptr || each->red.size() < nearest->red.size()) nearest = each;
  }
  if (nearest == nullptr) return nullptr;
  const model::Graph& original = evidence.model->graph;
  std::map<Kind, std::size_t> found;
  std::vector<Finding> alone;  // what both fault tells them not apart
  std::ranges::copy_if(nearest->red, std::back_inserter(alone),
                       [&](const Finding& finding) { return !explains.faults(finding); });
  for (const Finding& finding : alone) {
    const Kind kind = kind_of(finding, original);
    // A bias is corrected as a whole: channels beside a wrong one have just the value that this policy gives them.
    constexpr double kMost = 0.5;
    if (kind == Kind::bias && finding.portion <= kMost) continue;
    ++found[kind == Kind::bias ? Kind::other : kind];
  }
  const Counts counts(evidence.artifact->graph);
  // Of what both fix, the wider can explain more of the structure alone.
  const bool structure_alone = gives_one_value(explains);
  if (structure_alone && all.back().general) {
    const std::vector<Finding>& general = audited(all.back(), evidence, cache);
    const auto placed = [&](const Finding& each) {
      const bool held_by_all =
          std::ranges::any_of(general, [&](const Finding& other) { return other.node == each.node; });
      return !held_by_all && is_placed_alike(each, nearest->red, original);
    };
    if (std::ranges::all_of(alone, placed)) return nullptr;
  }
  const auto few = [&](const auto& entry) {
    const auto [kind, count] = entry;
    return (structure_alone ? kind == Kind::structure : kind != Kind::other) && counts.a_few(count, kind);
  };
  if (std::ranges::all_of(found, few)) return nearest;
  if (structure_alone || found[Kind::range] != alone.size() || counts.nearly_all(alone.size(), false)) return nullptr;
  const Costs costs(evidence, cache);
  const bool lose =
      std::ranges::all_of(alone, [&](const Finding& finding) { return costs.loses(*nearest, finding.tensor); });
  return lose ? nearest : nullptr;
}

}  // namespace

core::Result<MadeBy> made_by(const std::string& converter) {
  const bool stated = !converter.empty();
  core::Result<std::vector<programs::StatedPolicy>> policies =
      stated ? programs::stated_policies_of(converter) : programs::list_stated_policies();
  if (!policies) return policies.error();
  return MadeBy{*std::move(policies), stated};
}

namespace {

/// What `chosen`, which explains the artifact, is called: with its settings where no other settings of the same
/// converter, that fix each value too, explain it as well.
std::string shown_label(const Candidate& chosen, std::vector<Candidate>& all, const judge::Evidence& evidence,
                        judge::ReferenceCache& cache) {
  const bool shared = std::ranges::any_of(all, [&](Candidate& other) {
    return other.plain == chosen.plain && other.label != chosen.label && gives_one_value(other) &&
           audited(other, evidence, cache).empty();
  });
  return shared ? chosen.plain : chosen.label;
}

std::string settle(judge::Evidence& evidence, judge::ReferenceCache& cache, const MadeBy& made_by) {
  std::vector<Candidate> all = candidates_for(evidence, made_by);
  if (all.empty()) {
    return "";
  }
  const auto take = [&](const Candidate& chosen) {
    evidence.converter.policy = chosen.policy;
    evidence.options = chosen.options;
  };
  for (Candidate& each : all) {
    if (!audited(each, evidence, cache).empty()) continue;
    if (const Candidate* narrower = refutes(all, each, evidence, cache)) {
      take(*narrower);
      const std::size_t others = narrower->red.size();
      return fmt::format("judged by the policy of {}: all but {} are as it makes them; {} could make {} too",
                         narrower->label, core::counted(others, "value"), each.label,
                         others == 1 ? "that one" : "those");
    }
    take(each);
    if (each.general) {
      return "no known converter makes such a model; judged by the rules that hold for all";
    }
    std::vector<std::string> names;
    for (const Candidate& other : all) {
      if (!other.same_rules(each)) continue;
      const std::string name = shown_label(other, all, evidence, cache);
      if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    }
    return "judged by the policy of " + core::join(names, " or ");
  }
  // What the settings are known by is there, and the rest isn't followed.
  const auto beyond_us = std::ranges::find_if(all, [&](const Candidate& each) {
    return !each.limit.empty() && each.policy.power_of_two && has_powers_of_two(evidence.artifact->graph);
  });
  if (beyond_us != all.end()) {
    take(*beyond_us);
    evidence.own_limit = core::Error{core::ErrorKind::unsupported,
                                     fmt::format("it looks like {}, and {}", beyond_us->label, beyond_us->limit),
                                     {},
                                     {},
                                     {}};
    return "judged by the policy of " + beyond_us->label;
  }
  // Of as many differences those of structure are the likelier: a layer that somebody left in float.
  const Candidate& least = *std::ranges::min_element(all, {}, [](const Candidate& each) {
    const auto numbers = std::ranges::count_if(
        each.red, [](const Finding& own) { return own.facet != Facet::precision || !own.tensor.empty(); });
    return std::pair(each.red.size(), numbers);
  });
  const Candidate* narrower = refutes(all, least, evidence, cache);
  const Candidate& nearest = narrower == nullptr ? least : *narrower;
  take(nearest);
  constexpr std::string_view kBelow = "it differs as listed below";
  if (made_by.stated) return fmt::format("judged by the policy of {}; {}", nearest.label, kBelow);
  evidence.granted = grants(nearest, all, evidence.artifact->graph, evidence.model->graph);
  return fmt::format("closest: {}; {}", nearest.label, kBelow);
}

/// What is to be said of an artifact that is judged by a method that searches for a range: where the user states it,
/// that the artifact shows no search; else which ranges only a search explains, since such a range may be a defect.
std::string method_note(const judge::Evidence& evidence, judge::ReferenceCache& cache) {
  const Method method = evidence.options.method;
  const bool whole_range = method == Method::percentile && evidence.options.percentile >= 100;
  if (evidence.calibration == nullptr || method == Method::minmax || method == Method::given || whole_range) return "";
  Candidate minmax{"", "", evidence.converter.policy, evidence.options};
  minmax.options.method = Method::minmax;
  std::set<std::string> other;
  for (const Finding& finding : red_findings(evidence, cache, minmax)) {
    if (kind_of(finding, evidence.model->graph) == Kind::range) other.insert(finding.tensor);
  }
  const auto stated = core::json_or_discarded<nlohmann::json>(evidence.stated_options.value_or("{}"));
  if (stated.contains("method")) {
    return other.empty() ? fmt::format("method {} is stated, and every range is exactly as minmax gives it",
                                       converters::method_name(method))
                         : "";
  }
  if (other.empty()) return "";
  return fmt::format("{} not min-max's (\"{}\"{}); if it was calibrated by min-max, add --options '{}'",
                     core::counted(other.size(), "range is", "ranges are"), *other.begin(),
                     other.size() == 1 ? "" : ", …", R"({"method":"minmax"})");
}

}  // namespace

std::string settle_maker(judge::Evidence& evidence, judge::ReferenceCache& cache, const MadeBy& made_by) {
  const std::string words = settle(evidence, cache, made_by);
  const std::string note = evidence.options.method == Method::given ? "ranges as given, judged by what they cost"
                                                                    : method_note(evidence, cache);
  return words + (words.empty() || note.empty() ? "" : "; ") + note;
}

std::string settled_maker(const judge::Evidence& evidence, const MadeBy& made_by) {
  const Policy& settled = evidence.converter.policy;
  const auto its = std::ranges::find_if(made_by.candidates, [&](const programs::StatedPolicy& stated) {
    return executed_by(stated.policy, settled) == settled;
  });
  return its == made_by.candidates.end() ? "" : its->converter + "@" + its->version;
}

}  // namespace assay::run
