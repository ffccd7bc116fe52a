#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "harness/core/text.hpp"
#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/enclosure_rules.hpp"
#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/numerics/bound_compare.hpp"
#include "harness/judge/numerics/bound_derivation.hpp"
#include "harness/judge/numerics/bounds.hpp"
#include "harness/judge/numerics/finding_list.hpp"
#include "harness/judge/numerics/moment_check.hpp"
#include "harness/judge/numerics/ranking.hpp"
#include "harness/judge/quantization/bound_walk.hpp"
#include "harness/judge/quantization/grounds.hpp"

// L2: bounds on what correct quantization does to the float64 reference. Each term is derived in
// docs/oracle_numerics.md.
namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using core::TensorPtr;
using model::Node;
using Rounding = QuantizationPlan::Rounding;

const Style kExact{.name = StyleName::exact, .arithmetic = {}};

std::string number(double value) { return core::exact_text(static_cast<float>(value)); }

class BoundsCheck {
 public:
  BoundsCheck(const LayerContext& context, Grounds& grounds, const PreparedArtifact* prepared,
              const CertainCodes& certain_codes, Judgement& out)
      : context_(context),
        grounds_(grounds),
        prepared_(prepared),
        certain_codes_(certain_codes),
        out_(out),
        plan_(grounds.plan()) {
    if (context.artifact == nullptr) {
      return;
    }
    for (const Quantizer& quantizer : context.artifact->quantizers()) {
      if (!quantizer.constant) {
        quantizers_[quantizer.codes] = &quantizer;
      }
    }
  }

  std::vector<Finding> run() {
    for (std::size_t i = 0; i < context_.evidence.executions.size() && !settled(); ++i) {
      const Execution& execution = context_.evidence.executions[i];
      if (execution.reply.outcome != converters::Outcome::ok) {
        continue;
      }
      // Deep networks: the worst case from end to end is far beyond any output there, and one data set shows what is
      // wrong with a node's constants, so that is what the time goes to.
      const bool large = context_.large;
      if (prepared_ != nullptr && (!large || i == 0)) {
        check_locally(*prepared_, execution, held_codes(*prepared_, i));
      }
      if (!large && !settled() && !plan_.has_inner_roundings() &&
          (!is_explained() || execution.data_set == "typical" || i == 0)) {
        check_end_to_end(execution);
      }
    }
    if (applied_) {
      out_.layers.emplace_back("L2");
    }
    cover_locally();
    if (largest_) out_.metrics.push_back(*largest_);
    for (const auto& [tensor, local] : local_) {
      out_.metrics.push_back({tensor, local.data_set, "local_margin", local.margin});
      out_.metrics.push_back({tensor, local.data_set, "local_sqnr_db", local.sqnr_db});
    }
    return findings_.take(out_);
  }

 private:
  /// L1 has found the outputs to be what the artifact says, and every node lies within its own limit: then so does what
  /// they amount to, and one data set is enough for the margin.
  [[nodiscard]] bool is_explained() const { return out_.style.has_value() && findings_.empty(); }

  [[nodiscard]] bool settled() const { return context_.depth == Depth::gate && !findings_.empty(); }

  /// What the artifact's quantizers gave on data set `index`: what L1 has found out, else what exact arithmetic gives.
  [[nodiscard]] CodeTensors held_codes(const PreparedArtifact& prepared, std::size_t index) const {
    if (index < certain_codes_.size() && !certain_codes_[index].empty()) {
      return certain_codes_[index];
    }
    ArtifactWalk walk(prepared, context_.evidence.executions[index], kExact);
    const std::set<std::string> codes = context_.artifact->computed_codes();
    walk.keep(codes);
    walk.run(nullptr);
    return walk.codes_of(codes);
  }

  /// Every node of the original on the values that the artifact's tensors hold.
  void check_locally(const PreparedArtifact& prepared, const Execution& execution, const CodeTensors& held) {
    std::map<std::string, TensorPtr, std::less<>> dequantized;  // each is asked for by its maker and its readers
    const BoundWalk::Known known = [&](const std::string& name) -> TensorPtr {
      if (const auto found = dequantized.find(name); found != dequantized.end()) {
        return found->second;
      }
      const auto codes = held.find(name);
      if (codes == held.end()) {
        return nullptr;
      }
      const Result<Enclosure> value =
          dequantize_enclosure(exact_enclosure(codes->second), quantizers_.at(name)->params, kExact);
      return dequantized[name] = value ? value->centre : nullptr;
    };
    extra_ = inner_roundings(prepared, execution, held);
    BoundWalk bounds(plan_, execution.inputs, known, engine());
    bounds.run([&](const Alignment::Operation* entry, const std::string& tensor, const Enclosure& expected) {
      if (expected.centre->is_real()) {
        check_tensor(bounds, entry, tensor, expected, known, execution);
      }
    });
    const CodeLookup codes = [&](const std::string& name) {
      const auto found = held.find(name);
      const auto constant = prepared.constants().find(name);
      return found != held.end()                      ? found->second
             : constant != prepared.constants().end() ? constant->second.centre
                                                      : nullptr;
    };
    nearest_.derive({context_, plan_, execution, known, codes, engine()});
  }

  /// What quantizers inside a decomposed operator (HardSwish as HardSigmoid and Mul) may add to the next tensor that
  /// the original knows: their codes are left open, every other starts from what the artifact holds. By name of the
  /// codes.
  [[nodiscard]] std::map<std::string, std::vector<double>> inner_roundings(const PreparedArtifact& prepared,
                                                                           const Execution& execution,
                                                                           const CodeTensors& held) const {
    std::set<std::string> inner;
    for (const auto& [codes, quantizer] : quantizers_) {
      if (quantizer->original.empty()) {
        inner.insert(codes);
      }
    }
    std::map<std::string, std::vector<double>> radius;
    if (inner.empty()) {
      return radius;
    }
    Execution traced;
    traced.inputs = execution.inputs;
    for (const auto& [codes, quantizer] : quantizers_) {
      const auto found = held.find(codes);
      if (!inner.contains(codes) && found != held.end()) {
        traced.trace[codes] = *found->second;
      }
    }
    ArtifactWalk open(prepared, traced, kExact);
    open.leave_open(std::move(inner));
    open.run([&](const std::string& codes, std::size_t, const Enclosure& expected, const Tensor& actual) {
      const Quantizer& quantizer = *quantizers_.find(codes)->second;  // only these were traced
      if (!expected.is_point() && quantizer.params.scale.size() == 1) {
        std::vector<double>& r = radius[codes];
        for (std::int64_t i = 0; i < actual.size(); ++i) {
          const double low = actual.as_real(i) - expected.low->as_real(i);
          const double high = expected.high->as_real(i) - actual.as_real(i);
          const double steps = std::max({low, high, 0.0});
          r.push_back((steps > 0 ? steps + 1 : 0) * quantizer.params.scale[0]);  // codes hide up to half a step an end
        }
      }
      return true;
    });
    return radius;
  }

  void check_tensor(const BoundWalk& bounds, const Alignment::Operation* entry, const std::string& tensor,
                    const Enclosure& expected, const BoundWalk::Known& known, const Execution& execution) {
    for (const Rounding& rounding : plan_.roundings(tensor)) {
      const TensorPtr value = known(rounding.codes);
      if (value == nullptr || value->shape() != expected.centre->shape()) {
        continue;
      }
      Enclosure ends = bounds.quantized(bounds.before(tensor, rounding, expected), rounding);
      const Enclosure own = ends;
      if (const auto extra = extra_.find(rounding.codes); extra != extra_.end()) {
        rules::widen(ends, extra->second);
      }
      applied_ = true;
      const Excess excess = compare_bounds(ends, value->reals());
      note_reach(tensor, excess);
      if (context_.depth == Depth::every_node) {
        note_locally(tensor, execution.data_set, excess.margin, measure_deviation(*expected.centre, *value).sqnr_db());
      }
      if (context_.evidence.model->graph.find_output(tensor) != nullptr) {
        raise_margin(excess.margin, tensor, execution.data_set);
      }
      if (context_.explanation != nullptr) {
        nearest_.see({entry,
                      tensor,
                      excess,
                      expected.centre,
                      {{"rounding and clipping of the tensor itself", own},
                       {"quantizers that the original does not have", ends}}});
      }
      if (excess.wrong > 0) {
        report(entry, tensor, execution.data_set, *expected.centre, excess,
               "on the values that the artifact's own tensors hold before it");
      }
    }
  }

  /// Limits that let through an output of zeros, or one that is a quarter too large, judge nothing.
  static double share_reached(const Excess& excess) {
    if (excess.elements == 0) return 1;
    if (!excess.rules_out_nothing || !excess.rules_out_more) return 0;
    return 1 - static_cast<double>(excess.vacuous) / static_cast<double>(excess.elements);
  }

  void note_reach(const std::string& tensor, const Excess& excess) {
    double& known = reached_locally_[tensor];
    known = std::max(known, share_reached(excess));
  }

  /// What made a tensor whose values were bounded from values that the artifact holds before it was judged by that.
  void cover_locally() {
    constexpr double kLeastShare = 0.99;
    std::vector<std::string> open;
    for (const auto& [tensor, share] : reached_locally_) {
      if (share >= kLeastShare) open.push_back(tensor);
    }
    std::map<std::string, const Alignment::Operation*, std::less<>> makers;
    for (const Alignment::Operation& entry : plan_.alignment().operations) {
      for (const std::string& output : entry.node.outputs) makers[output] = &entry;
    }
    while (!open.empty()) {
      const auto maker = makers.find(open.back());
      open.pop_back();
      if (maker == makers.end()) continue;
      const Alignment::Operation& entry = *maker->second;
      if (!out_.coverage.locally.insert(entry.original).second) continue;
      out_.coverage.locally.insert(entry.last);
      for (const std::string& input : entry.node.inputs) {
        if (!reached_locally_.contains(input)) open.push_back(input);
      }
    }
  }

  /// The worst data set counts.
  void note_locally(const std::string& tensor, const std::string& data_set, double margin, double sqnr_db) {
    const auto [known, added] = local_.try_emplace(tensor, Local{data_set, margin, sqnr_db});
    if (!added && margin > known->second.margin) {
      known->second = {data_set, margin, sqnr_db};
    }
  }

  /// The executor's outputs against the float64 reference.
  void check_end_to_end(const Execution& execution) {
    const bool typical = execution.data_set == "typical";
    const bool keeps_signs = plan_.alignment().operations.size() > 1 && typical && !is_explained();
    Grounds::EndToEnd& walk = grounds_.end_to_end(execution.inputs, typical, engine(), keeps_signs);
    for (const Grounds::EndToEnd::Output& output : walk.outputs) {
      const auto actual = execution.outputs.find(output.tensor);
      if (actual != execution.outputs.end() && actual->second.is_real() &&
          actual->second.shape() == output.carried.centre->shape()) {
        check_output(walk, output, actual->second, execution);
      }
    }
    for (const Grounds::EndToEnd::Ranking& ranking : walk.rankings) {
      const auto actual = execution.outputs.find(ranking.tensor);
      if (actual != execution.outputs.end()) check_ranking(ranking, actual->second, execution.data_set);
    }
    for (const auto& [tensor, codes] : walk.constant_codes) {
      const auto actual = execution.outputs.find(tensor);
      if (actual != execution.outputs.end()) check_constant_codes(tensor, codes, actual->second, execution.data_set);
    }
    nearest_.derive({context_, plan_, execution, {}, {}, engine()});
  }

  /// Positions of the largest or least elements, by what bounds leave of those.
  void check_ranking(const Grounds::EndToEnd::Ranking& ranking, const Tensor& actual, const std::string& data_set) {
    const RankingExcess excess = compare_ranking(ranking.entry->node, ranking.ranked, actual);
    if (excess.elements == 0) return;
    applied_ = true;
    raise_margin(excess.margin, ranking.tensor, data_set);
    const double open = static_cast<double>(excess.open) / static_cast<double>(excess.elements);
    if (open < 1) out_.coverage.reach(ranking.tensor, 1 - open);
    if (excess.wrong == 0) return;
    add(&context_.evidence.model->graph.nodes[ranking.entry->original], ranking.tensor, data_set, Facet::numerics,
        excess.margin,
        fmt::format("{} of {} positions that no correct quantization gives, end to end\n  worst {}{}: expected {}, "
                    "actual {}; {}",
                    excess.wrong, excess.elements, ranking.tensor, index_text(excess.worst, actual.shape()),
                    excess.expected, excess.actual,
                    std::isinf(excess.margin)
                        ? "no position along the axis, or one that is there twice"
                        : fmt::format("the elements there are {} apart, limit {} ({} times)", number(excess.apart),
                                      number(excess.limit), number(excess.margin))));
  }

  /// Codes of a constant that are given out: the model's own quantizer makes them, whoever converts.
  void check_constant_codes(const std::string& tensor, const Enclosure& codes, const Tensor& actual,
                            const std::string& data_set) {
    if (actual.is_real() || actual.shape() != codes.centre->shape()) return;
    applied_ = true;
    const auto as_real = [](const Tensor& integers) {
      return std::make_shared<const Tensor>(core::DType::float32, integers.shape(), integers.to_reals());
    };
    Enclosure ends = exact_enclosure(as_real(*codes.centre));
    ends.low = as_real(codes.low_or_centre());
    ends.high = as_real(codes.high_or_centre());
    const Excess excess = compare_bounds(ends, actual.to_reals());
    out_.coverage.reach(tensor, 1);
    if (excess.wrong > 0) report(nullptr, tensor, data_set, *ends.centre, excess, "as a constant");
  }

  void check_output(Grounds::EndToEnd& walk, const Grounds::EndToEnd::Output& output, const Tensor& actual,
                    const Execution& execution) {
    applied_ = true;
    const BoundWalk bounds(plan_, execution.inputs, {}, engine());
    const std::string& tensor = output.tensor;
    const core::TensorPtr& centre = output.carried.centre;
    const Enclosure carried = walk.noise ? narrowed(*walk.noise, output.carried) : output.carried;
    const auto handed_out = [&](const Enclosure& value) {
      Enclosure stored = bounds.rounded(tensor, value);
      stored.relative += plan_.half_unit_of(tensor);
      return stored;
    };
    const Enclosure plain = handed_out(carried);
    Excess excess = compare_bounds(plain, actual.reals());
    std::optional<Enclosure> with_kept_signs;
    if (context_.depth != Depth::gate || excess.wrong == 0) {  // else it is red already
      with_kept_signs = with_signs(walk.correlated, tensor, carried, plain, actual);
    }
    const Enclosure ends = with_kept_signs ? handed_out(*with_kept_signs) : plain;
    if (with_kept_signs) {
      excess = compare_bounds(ends, actual.reals());
    }
    raise_margin(excess.margin, tensor, execution.data_set);
    if (context_.explanation != nullptr) {
      nearest_.see({output.entry,
                    tensor,
                    excess,
                    centre,
                    {{"random roundings add up to no more than t·σ", carried},
                     {"what one source sends along several paths cancels", with_kept_signs.value_or(carried)},
                     {"rounding and clipping of the tensor itself", ends}}});
    }
    const auto elements = static_cast<double>(std::max<std::int64_t>(excess.elements, 1));
    out_.metrics.push_back({tensor, execution.data_set, "l2_vacuous", static_cast<double>(excess.vacuous) / elements});
    if (const double share = share_reached(excess); share > 0) out_.coverage.reach(tensor, share);
    if (excess.wrong > 0) {
      report(output.entry, tensor, execution.data_set, *centre, excess, "end to end");
    }
  }

  /// min(B, t·σ) for what is carried; its own rounding comes on top. What stands behind the operator keeps the
  /// elements' order and moves no further than its input does.
  [[nodiscard]] Enclosure narrowed(const NoisePrediction& noise, const Enclosure& carried) const {
    const auto found = noise.variance.find(plan_.alignment().operations[0].node.outputs[0]);
    Enclosure result = with_explicit_ends(carried);
    const std::span<const double> centre = result.centre->reals();
    if (found == noise.variance.end() || found->second.size() != centre.size()) {
      return carried;
    }
    const double t = context_.threshold();
    Tensor low = result.low_or_centre(), high = result.high_or_centre();
    for (std::size_t i = 0; i < centre.size(); ++i) {
      if (found->second[i] == 0) {
        continue;  // nothing is quantized on the way: what is carried is float32's own rounding, no draw
      }
      const double spread = t * std::sqrt(found->second[i]);
      low.reals()[i] = std::max(low.reals()[i], centre[i] - spread);
      high.reals()[i] = std::min(high.reals()[i], centre[i] + spread);
    }
    result.low = std::make_shared<const Tensor>(std::move(low));
    result.high = std::make_shared<const Tensor>(std::move(high));
    return result;
  }

  /// The few elements that come nearest to their plain limit, bounded once more with the signs inside kept: a row of
  /// the Jacobian costs as much as running the network, so not every element gets one. Nothing where that bounds none.
  [[nodiscard]] static std::optional<Enclosure> with_signs(CorrelatedBound& correlated, const std::string& tensor,
                                                           const Enclosure& carried, const Enclosure& plain,
                                                           const Tensor& actual) {
    constexpr std::size_t kRows = 2;
    if (correlated.empty()) {
      return std::nullopt;
    }
    const std::span<const double> centre = plain.centre->reals(), is = actual.reals();
    const std::vector<double> limit = radius_of(plain);  // of the wider side: zero and what is cut off say nothing
    std::vector<std::pair<double, std::size_t>> nearest;
    for (std::size_t i = 0; i < centre.size(); ++i) {
      nearest.emplace_back(-std::fabs(is[i] - centre[i]) / (limit[i] + storage_error(centre[i])), i);
    }
    const std::size_t count = std::min(kRows, nearest.size());
    std::partial_sort(nearest.begin(), nearest.begin() + static_cast<std::ptrdiff_t>(count), nearest.end());
    Enclosure result = with_explicit_ends(carried);
    Tensor low = result.low_or_centre(), high = result.high_or_centre();
    bool narrower = false;
    for (std::size_t k = 0; k < count; ++k) {
      const std::size_t i = nearest[k].second;
      if (const auto radius = correlated.radius(tensor, i)) {
        narrower = narrower || low.reals()[i] < centre[i] - *radius || high.reals()[i] > centre[i] + *radius;
        low.reals()[i] = std::max(low.reals()[i], centre[i] - *radius);
        high.reals()[i] = std::min(high.reals()[i], centre[i] + *radius);
      }
    }
    if (!narrower) {
      return std::nullopt;
    }
    result.low = std::make_shared<const Tensor>(std::move(low));
    result.high = std::make_shared<const Tensor>(std::move(high));
    return result;
  }

  /// Twice: ½·2⁻ⁿ of a step with n >= 1, what a first rounding before the shift may add, where the engine does that or
  /// may. Biases without an artifact are granted by the plan.
  [[nodiscard]] EngineRoundings engine() const {
    return {.twice = context_.artifact == nullptr || out_.style == StyleName::double_rounding,
            .bias = out_.style == StyleName::rounded_bias || out_.style == StyleName::double_rounding};
  }

  void raise_margin(double margin, const std::string& output, const std::string& data_set) {
    if (out_.margin && !(margin > *out_.margin)) return;
    out_.margin = std::max(0.0, margin);
    largest_ = Metric{output, data_set, "output_margin", *out_.margin};
  }

  void report(const Alignment::Operation* entry, const std::string& tensor, const std::string& data_set,
              const Tensor& expected, const Excess& excess, std::string_view how) {
    if (!reported_.insert(tensor).second) return;
    const Node* maker = nullptr;
    if (entry != nullptr) {
      maker = &context_.evidence.model->graph.nodes[context_.alignment->answers_for(entry->last, excess.actual)];
    }
    add(maker, tensor, data_set, excess.not_a_number ? Facet::nan : Facet::numerics, excess.margin,
        fmt::format("{} of {} elements outside the bound of correct quantization, {}\n  worst {}{}: expected {}, "
                    "actual {}, error {}, limit {}",
                    excess.wrong, excess.elements, how, tensor, index_text(excess.worst, expected.shape()),
                    number(excess.expected), number(excess.actual), number(std::fabs(excess.actual - excess.expected)),
                    is_zero_limit(excess.limit)
                        ? "0: nothing is rounded there"
                        : fmt::format("{} ({} times)", number(excess.limit), number(excess.margin))));
  }

  /// `maker`: null for a graph input.
  void add(const Node* maker, const std::string& tensor, const std::string& data_set, Facet facet, double margin,
           std::string_view what) {
    Finding finding;
    finding.facet = facet;
    if (maker != nullptr) {
      finding.node = maker->name;
      finding.op = maker->op_type;
    }
    finding.tensor = tensor;
    finding.data_set = data_set;
    finding.layer = "L2";
    finding.margin = margin;
    finding.message =
        fmt::format("{}, tensor \"{}\", data set \"{}\": {}",
                    maker == nullptr ? "graph input" : fmt::format("node \"{}\" ({})", maker->name, maker->op_type),
                    tensor, data_set, what);
    findings_.add(std::move(finding));
  }

  const LayerContext& context_;
  Grounds& grounds_;
  const PreparedArtifact* prepared_;  ///< null where there is none
  const CertainCodes& certain_codes_;
  Judgement& out_;
  const QuantizationPlan& plan_;
  std::map<std::string, const Quantizer*> quantizers_;
  std::map<std::string, std::vector<double>> extra_;
  NearestElement nearest_;
  FindingList findings_;
  std::set<std::string> reported_;  ///< tensors
  struct Local {
    std::string data_set;
    double margin, sqnr_db;
  };
  std::optional<Metric> largest_;                               ///< margin of the outputs, with where it is
  std::map<std::string, Local> local_;                          ///< by tensor
  std::map<std::string, double, std::less<>> reached_locally_;  ///< share of elements, by tensor
  bool applied_ = false;
};

}  // namespace

std::vector<Finding> check_bounds(const LayerContext& context, Grounds& grounds, const PreparedArtifact* prepared,
                                  const CertainCodes& certain_codes, Judgement& out) {
  return BoundsCheck(context, grounds, prepared, certain_codes, out).run();
}

}  // namespace assay::judge
