#include "harness/judge/audit/audit_reported.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/core/text.hpp"
#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/weight_policy.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;
using model::Node;

/// Roundings of a folded weight and of its scale.
constexpr double kReportedFoldRoundings = 8;
constexpr std::size_t kShownChannels = 10;

/// One value that the reported weight may have been quantized from.
struct Form {
  core::TensorPtr weight;
  bool folded = false;
  std::vector<double> bias;
};

class ReportedWeightAudit {
 public:
  explicit ReportedWeightAudit(const LayerContext& context)
      : context_(context),
        graph_(context.evidence.model->graph),
        wiring_(graph_),
        constants_(constants_of(graph_)),
        model_(*context.alignment),
        policy_(context.evidence) {
    for (const Node& node : graph_.nodes) ++named_[node.name];
  }

  std::vector<Finding> run() {
    // A model that is quantized already gives its weights itself.
    if (!context_.alignment->given.empty()) return {};
    for (const Alignment::Operation& entry : model_.operations) {
      const Node& node = graph_.nodes[entry.original];
      const auto slots = weight_slots(entry.node, model_.constants);
      if (!slots || runs_in_float(node) || is_ambiguous(node)) continue;
      // One entry can't say what several readers are given, each along its own axis.
      if (wiring_.consumers(node.input(slots->weight)).size() > 1) continue;
      const converters::TensorScale* told = reported(node.input(slots->weight));
      if (told != nullptr && is_sane(told->params)) check(entry, node, *slots, *told);
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] bool runs_in_float(const Node& node) const {
    return asked_in_float(context_.evidence, node) || reported_in_float(context_.evidence, node.name);
  }

  /// What is reported of several nodes of one name may be of any.
  [[nodiscard]] bool is_ambiguous(const Node& node) const { return named_.find(node.name)->second > 1; }

  [[nodiscard]] const converters::TensorScale* reported(std::string_view name) const {
    const auto& told = context_.evidence.conversion.tensors;
    const auto found = std::ranges::find(told, name, &converters::TensorScale::name);
    return found == told.end() ? nullptr : &*found;
  }

  /// The same, or of the tensor whose elements it has where nothing is reported of it.
  [[nodiscard]] const converters::TensorScale* reported_or_moved(std::string_view name) const {
    for (;;) {
      const converters::TensorScale* told = reported(name);
      const auto producer = wiring_.producer(name);
      if (told != nullptr || !producer || !only_moves(graph_.nodes[*producer], constants_)) return told;
      name = graph_.nodes[*producer].input(0);
    }
  }

  /// What isn't is the structure's finding.
  static bool is_sane(const QuantParams& params) {
    return !params.scale.empty() && params.scale.size() == params.zero_point.size() &&
           std::ranges::all_of(params.scale, [](double s) { return std::isfinite(s) && s > 0; });
  }

  void add(const Node& node, const std::string& tensor, Facet facet, const std::string& message, double margin = 0) {
    Finding finding = audit_finding(
        facet, tensor,
        fmt::format("node \"{}\" ({}), weight \"{}\", as reported: {}", node.name, node.op_type, tensor, message),
        margin);
    finding.node = node.name;
    finding.op = node.op_type;
    findings_.push_back(std::move(finding));
  }

  void check(const Alignment::Operation& entry, const Node& node, const WeightSlots& slots,
             const converters::TensorScale& told) {
    const QuantParams& params = told.params;
    const converters::Options& options = context_.evidence.options;
    const auto found = model_.constants.find(entry.node.inputs[slots.weight]);
    if (found == model_.constants.end() || !found->second->is_real() || found->second->rank() < 2) return;
    // A constant on the left is data as well as a weight, and one type may serve both.
    const bool data = slots.weight == 0 && params.type == options.activation;
    if (params.type != options.weight && !data) {
      add(node, told.name, Facet::dtype,
          fmt::format("expected codes of type {}, actual {}", core::dtype_name(options.weight),
                      core::dtype_name(params.type)));
    }
    if (!check_zero_points(node, told)) return;
    if (!check_axis(node, slots, *found->second, told)) return;
    if (context_.evidence.converter.policy.weights == converters::WeightRounding::adapted || takes_in_factors(node))
      return;
    check_scales(entry, node, slots, told);
  }

  bool check_zero_points(const Node& node, const converters::TensorScale& told) {
    const auto limits = core::integer_limits(told.params.type);
    const auto outside =
        std::ranges::find_if(told.params.zero_point, [&](std::int64_t z) { return z < limits.low || z > limits.high; });
    if (outside == told.params.zero_point.end()) return true;
    add(node, told.name, Facet::zero_point,
        fmt::format("zero_point {} lies outside {}", *outside, core::dtype_name(told.params.type)));
    return false;
  }

  /// False where the declared layout makes the other checks meaningless.
  bool check_axis(const Node& node, const WeightSlots& slots, const Tensor& weight,
                  const converters::TensorScale& told) {
    const QuantParams& params = told.params;
    const std::int64_t extent = slots.axis < 0 ? 1 : weight.shape()[static_cast<std::size_t>(slots.axis)];
    const auto count = static_cast<std::int64_t>(params.scale.size());
    const bool per_axis = policy_.per_axis(node.op_type);
    if (count == 1) {
      const bool asked = per_axis && extent > 1 && slots.weight == 1 && !slots.batched;
      if (asked) {
        add(node, told.name, Facet::count,
            fmt::format("expected {} scales along axis {}, actual one for all", extent, slots.axis));
      }
      return !asked;
    }
    std::int64_t axis = params.axis.value_or(slots.axis);
    if (axis < 0) axis += weight.rank();
    if (axis != slots.axis) {
      add(node, told.name, Facet::axis,
          fmt::format("expected {} scales along axis {} (shape {}), actual {} along axis {}", extent, slots.axis,
                      core::shape_text(weight.shape()), count, axis));
      return false;
    }
    if (count != extent || !per_axis) {
      add(node, told.name, Facet::count,
          fmt::format("expected {} along axis {}, actual {}", per_axis ? fmt::format("{} scales", extent) : "one scale",
                      slots.axis, count));
      return count == extent;
    }
    return true;
  }

  /// A constant that is multiplied with what the node makes may have gone into its weights: nobody knows.
  [[nodiscard]] bool takes_in_factors(const Node& node) const {
    std::string tensor = node.outputs.front();
    while (!wiring_.is_output(tensor) && wiring_.consumers(tensor).size() == 1) {
      const Node& next = graph_.nodes[wiring_.consumers(tensor).front()];
      const OperatorTraits& traits = traits_of(next);
      if (traits.formula == Formula::product || traits.formula == Formula::quotient) {
        return constants_.contains(next.input(0)) || constants_.contains(next.input(1));
      }
      const bool affine = traits.formula == Formula::sum || traits.formula == Formula::difference ||
                          traits.normalization == Normalization::given_moments;
      if (!affine || next.outputs.empty()) return false;
      tensor = next.outputs.front();
    }
    return false;
  }

  /// Every value that a correct converter may have quantized: what the policy says, or each where it says nothing.
  [[nodiscard]] std::vector<Form> forms(const Alignment::Operation& entry, const Node& node,
                                        const WeightSlots& slots) const {
    std::vector<Form> all;
    const auto bias_of = [&](const std::string& name) {
      const auto bias = model_.constants.find(name);
      return bias == model_.constants.end() || !bias->second->is_real() ? std::vector<double>()
                                                                        : bias->second->to_reals();
    };
    const bool has_bias = slots.has_bias_slot && entry.node.inputs.size() > 2;
    const std::string& name = entry.node.inputs[slots.weight];
    all.push_back({model_.constants.find(name)->second, entry.last != entry.original,
                   has_bias ? bias_of(entry.node.inputs[2]) : std::vector<double>()});
    for (const Alignment::Folded& folded : model_.folded_further(entry)) {
      all.push_back({folded.weight, true, folded.bias->to_reals()});
    }
    // Gemm's factors may have stayed where they are.
    const auto plain = constants_.find(node.input(slots.weight));
    if (traits_of(node).product == Product::gemm && plain != constants_.end()) {
      std::vector<double> bias = bias_of(std::string(node.input(2)));
      for (double& value : bias) value *= beta_of(node) / alpha_of(node);  // in steps of the unscaled product
      all.push_back({plain->second, false, std::move(bias)});
    }
    return all;
  }

  void check_scales(const Alignment::Operation& entry, const Node& node, const WeightSlots& slots,
                    const converters::TensorScale& told) {
    std::vector<std::string> first;
    std::size_t wrong = 0;
    double worst = 0;
    Facet facet = Facet::scale;
    for (const Form& form : forms(entry, node, slots)) {
      std::vector<std::string> lines;
      std::size_t faults = 0;
      double margin = 0;
      std::optional<Facet> kind;
      for_each_fault(form, node, slots, told, [&](std::size_t channel, const ParamFault& fault) {
        ++faults;
        margin = std::max(margin, fault.margin);
        kind = kind.value_or(fault.facet);
        if (lines.size() < kShownChannels) {
          lines.push_back(fmt::format("\n  channel {}: expected {}, actual {}", channel, fault.expected, fault.actual));
        }
      });
      if (faults == 0) return;
      if (first.empty()) {
        first = std::move(lines);
        wrong = faults;
        worst = margin;
        facet = *kind;
      }
    }
    add(node, told.name, facet,
        fmt::format("{} of {} {}s differ{}", wrong, told.params.scale.size(), facet_name(facet), fmt::join(first, "")),
        worst);
  }

  template <typename Report>
  void for_each_fault(const Form& form, const Node& node, const WeightSlots& slots, const converters::TensorScale& told,
                      Report report) const {
    const QuantParams& params = told.params;
    QuantParams layout = params;
    if (params.scale.size() > 1) layout.axis = slots.axis;
    const auto channels = ChannelIndex::make(form.weight->shape(), layout);
    if (!channels) return;
    std::vector<double> low(params.scale.size(), 0), high(params.scale.size(), 0);
    const std::span<const double> weights = form.weight->reals();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const std::size_t c = channels->channel(i);
      low[c] = std::min(low[c], weights[i]);
      high[c] = std::max(high[c], weights[i]);
    }
    policy_.widen(low, high);
    for (std::size_t c = 0; c < params.scale.size(); ++c) {
      const auto fault = fault_of(form, node, slots, told, c, low[c], high[c]);
      if (fault) report(c, *fault);
    }
  }

  [[nodiscard]] std::optional<ParamFault> fault_of(const Form& form, const Node& node, const WeightSlots& slots,
                                                   const converters::TensorScale& told, std::size_t channel, double low,
                                                   double high) const {
    const converters::Policy& policy = policy_.of(static_cast<std::size_t>(&node - graph_.nodes.data()));
    AllowedRange allowed;
    allowed.low = {low, low};
    allowed.high = {high, high};
    allowed.slack = computing_error(told.name);
    const double folding = rounding_gamma(kReportedFoldRoundings) + kReportedFoldRoundings * told.params.unit;
    if (form.folded) allowed.slack += folding * std::max(-low, high);
    if (context_.evidence.options.method == converters::Method::mse) allowed.low.high = allowed.high.low = 0;
    QuantParams one{{told.params.scale[channel]}, {told.params.zero_point[channel]}, told.params.type, {}};
    one.unit = told.params.unit;
    const auto limits = core::integer_limits(one.type);
    const bool symmetric = is_centre(one.zero_point.front(), one.type);
    if (symmetric && one.zero_point.front() != centre_of(one.type)) --allowed.unsigned_center;
    auto fault = check_params(one, allowed, symmetric, policy);
    if (fault && symmetric && limits.low == 0 && !check_params(one, allowed, false, policy)) fault.reset();
    if (fault && raised_for_bias(form, node, slots, channel, told.params.scale.size(), one.scale.front()))
      fault.reset();
    return fault;
  }

  /// Float32's error in a weight that the graph computes from constants.
  [[nodiscard]] double computing_error(const std::string& weight) const {
    if (context_.ranges == nullptr) return 0;
    const auto range = context_.ranges->find(weight);
    return range == context_.ranges->end() ? 0 : range->second.slack;
  }

  /// A bias beyond 2³¹ steps makes a correct converter raise the weight's scale until it fits.
  [[nodiscard]] bool raised_for_bias(const Form& form, const Node& node, const WeightSlots& slots, std::size_t channel,
                                     std::size_t count, double scale) const {
    const converters::TensorScale* data = reported_or_moved(node.input(slots.weight == 0 ? 1 : 0));
    if (data == nullptr || data->params.scale.size() != 1 || form.bias.empty()) return false;
    double needed = 0;
    // ConvTranspose's groups share their scales, and every channel a bias of one value.
    const std::size_t stride = form.bias.size() == 1 ? 1 : std::max<std::size_t>(count, 1);
    for (std::size_t c = stride == 1 ? 0 : channel; c < form.bias.size(); c += stride) {
      needed = std::max(needed, std::abs(form.bias[c]) / (0x1p31 * data->params.scale.front()));
    }
    return is_raised_for_bias(scale, needed);
  }

  const LayerContext& context_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  Constants constants_;
  const Alignment& model_;
  WeightPolicy policy_;
  std::map<std::string, std::size_t> named_;  ///< how many nodes have each name
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_reported_weights(const LayerContext& context) { return ReportedWeightAudit(context).run(); }

}  // namespace assay::judge
