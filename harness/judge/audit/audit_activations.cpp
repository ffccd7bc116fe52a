#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <utility>
#include <vector>

#include "harness/core/text.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/audit/range_cost.hpp"
#include "harness/judge/evidence/derived_params.hpp"
#include "harness/judge/evidence/measured_limits.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;

std::string params_text(const QuantParams& params) {
  if (params.scale.empty()) return "no scale";
  return fmt::format("scale {}, zero_point {}, {}", core::exact_text(static_cast<float>(params.scale.front())),
                     params.zero_point.empty() ? 0 : params.zero_point.front(), core::dtype_name(params.type));
}

class ActivationAudit {
 public:
  ActivationAudit(const LayerContext& context, const CalibrationRanges& calibration)
      : context_(context), calibration_(calibration), legal_(context, calibration), given_(context.alignment->given) {}

  std::vector<Finding> run() {
    if (context_.evidence.calibration == nullptr) {  // no ranges to hold them against
      if (context_.artifact != nullptr && !context_.evidence.options.calibrates() && given_.empty()) {
        for (const Quantizer& quantizer : context_.artifact->quantizers()) {
          const std::string& tensor = quantizer.original.empty() ? quantizer.float_name : quantizer.original;
          if (!quantizer.constant) add_unasked(tensor, quantizer.params);
        }
      }
      return std::move(findings_);
    }
    if (context_.artifact != nullptr) {
      for (const Quantizer& quantizer : context_.artifact->quantizers()) check_quantizer(quantizer);
      check_given_kept();
    } else {
      check_reported();
    }
    return std::move(findings_);
  }

 private:
  void check_quantizer(const Quantizer& quantizer) {
    const bool own = quantizer.original.empty();
    if (own && (quantizer.constant || !calibration_.ranges.contains(quantizer.float_name))) return;
    if (quantizer.params.scale.empty() || is_weight(quantizer)) return;
    check(own ? quantizer.float_name : quantizer.original, quantizer.params, quantizer.constant);
  }

  void add_unasked(const std::string& tensor, const QuantParams& params) {
    add(Facet::precision, tensor, 0,
        fmt::format("activation \"{}\" is quantized{}: {}", tensor,
                    context_.evidence.options.dynamic ? " once for all, though each inference is to find its range"
                                                      : ", though weights alone are to be",
                    params_text(params)));
  }

  /// Constants that a weighted operator multiplies with have rules of their own.
  bool is_weight(const Quantizer& quantizer) const {
    if (!quantizer.constant) return false;
    return std::ranges::any_of(context_.artifact->nodes(), [&](const ArtifactNode& node) {
      return sums_products(node.op) &&
             std::ranges::any_of(node.inputs, [&](const Operand& input) { return input.codes == quantizer.codes; });
    });
  }

  /// Tensors that the converter made itself (a folded weight, a bias) are nobody's to calibrate.
  void check_reported() {
    const model::Graph& graph = context_.evidence.model->graph;
    const model::Wiring wiring(graph);
    const auto constants = constants_of(graph);
    for (const converters::TensorScale& tensor : context_.evidence.conversion.tensors) {
      const auto producer = wiring.producer(tensor.name);
      const model::Node* made_by = producer ? &graph.nodes[*producer] : nullptr;
      const bool computed =  // of constants: a weight, say, or one that comes as codes
          made_by != nullptr && made_by->op_type != "Constant" &&
          (constants.contains(tensor.name) ||
           (made_by->op_type == "DequantizeLinear" && constants.contains(made_by->inputs[0])));
      const bool activation = !computed && (producer || graph.find_input(tensor.name) != nullptr);
      if (activation && !tensor.params.scale.empty()) {
        check(tensor.name, tensor.params, false);
      }
    }
  }

  bool is_given(const std::string& tensor, const QuantParams& params) const {
    const auto found = given_.find(tensor);
    return found != given_.end() && std::ranges::find(found->second, params) != found->second.end();
  }

  /// Codes that a constant was given and that were only moved since, as by a Gather from a table of weights: they keep
  /// the constant's type.
  bool are_moved_from_a_constant(const std::string& tensor, const QuantParams& params) const {
    if (context_.artifact == nullptr) return false;
    const model::Graph& graph = context_.evidence.model->graph;
    const model::Wiring wiring(graph);
    std::string moved = tensor;
    while (const auto producer = wiring.producer(moved)) {
      const ArtifactNode* node = context_.alignment->made(*producer);
      if (node == nullptr || node->inputs.empty() || !only_moves(graph.nodes[*producer])) return false;
      const Operand& source = node->inputs.front();
      if (source.constant_codes != nullptr) return source.params == params;
      moved = graph.nodes[*producer].input(0);
    }
    return false;
  }

  /// Does a Conv read the tensor that keeps its channels apart?
  bool feeds_depthwise(const std::string& tensor) const {
    const model::Graph& graph = context_.evidence.model->graph;
    return std::ranges::any_of(graph.nodes, [&](const model::Node& node) {
      const core::Tensor* weight =
          traits_of(node).product == Product::convolution ? graph.initializer(node.input(1)) : nullptr;
      return weight != nullptr && node.input(0) == tensor && node.int_or("group", 1) > 1 && weight->shape()[1] == 1;
    });
  }

  /// One scale for each index along axis 1, from the extremes over all batches.
  void check_channels(const std::string& tensor, const QuantParams& params) {
    const Evidence& evidence = context_.evidence;
    const auto found = calibration_.channels.find(tensor);
    if (found == calibration_.channels.end() || params.axis.value_or(1) != 1 ||
        found->second.size() != params.scale.size()) {
      add(Facet::count, tensor, 0,
          fmt::format("activation \"{}\": expected one scale, or one for each of {} channels along axis 1; actual {} "
                      "along axis {}",
                      tensor, found == calibration_.channels.end() ? 0 : found->second.size(), params.scale.size(),
                      params.axis.value_or(0)));
      return;
    }
    const auto& range = calibration_.ranges.at(tensor);
    check_each(tensor, params, found->second, evidence.options.symmetric, evidence.converter.policy.channel_floor,
               range.is_input ? 0 : range.slack);
  }

  /// A constant that no product reads as it is, such as a table for a Gather, with scales along an axis.
  bool check_rows(const std::string& tensor, const QuantParams& params) {
    const auto constants = constants_of(context_.evidence.model->graph);
    const core::TensorPtr value = find_constant(constants, tensor);
    const auto axis = static_cast<std::size_t>(params.axis.value_or(1));
    if (value == nullptr || !value->is_real() || params.block != 0 || axis >= value->shape().size() ||
        value->shape()[axis] != static_cast<std::int64_t>(params.scale.size())) {
      return false;
    }
    const auto index = ChannelIndex::make(value->shape(), params);
    if (!index) return false;
    std::vector<std::pair<double, double>> extremes(params.scale.size());
    const std::span<const double> values = value->reals();
    index->for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t row) {
      for (const double each : values.subspan(first, length)) {
        extremes[row].first = std::min(extremes[row].first, each);
        extremes[row].second = std::max(extremes[row].second, each);
      }
    });
    const bool symmetric = std::ranges::all_of(params.zero_point, [](auto zero) { return zero == 0; });
    check_each(tensor, params, extremes, symmetric, 0, 0);
    return true;
  }

  /// Each scale and zero_point against the extremes of what it is for.
  void check_each(const std::string& tensor, const QuantParams& params,
                  const std::vector<std::pair<double, double>>& extremes, bool symmetric, double channel_floor,
                  double slack) {
    const Evidence& evidence = context_.evidence;
    double widest = 0, least = 0;
    for (const auto& [low, high] : extremes) {
      widest = std::max({widest, -low, high});
      least = std::min(least, low);
    }
    for (std::size_t c = 0; c < params.scale.size(); ++c) {
      const double magnitude = std::max({-extremes[c].first, extremes[c].second, widest * channel_floor});
      AllowedRange allowed;
      // Codes are signed for all channels where any is negative.
      const double low = symmetric ? least : std::min(extremes[c].first, 0.0);
      const double high = symmetric ? magnitude : std::max(extremes[c].second, 0.0);
      allowed.low = {std::max(low, -magnitude), std::max(low, -magnitude)};
      allowed.high = {high, high};
      allowed.slack = slack;
      const QuantParams one{{params.scale[c]}, {params.zero_point[c]}, params.type, std::nullopt};
      const auto fault = check_params(one, allowed, symmetric, evidence.converter.policy);
      if (!fault) continue;
      add(fault->facet, tensor, fault->margin,
          fmt::format("tensor \"{}\", channel {}: expected {} {}, actual {}", tensor, c, facet_name(fault->facet),
                      fault->expected, fault->actual));
      return;
    }
  }

  void check(const std::string& tensor, const QuantParams& params, bool constant) {
    const Evidence& evidence = context_.evidence;
    if (!given_.empty()) {
      if (is_given(tensor, params)) return;
      if (const auto found = given_.find(tensor); found != given_.end()) {
        add(Facet::scale, tensor, 0,
            fmt::format("tensor \"{}\": expected the given {}, actual {}", tensor, params_text(found->second.front()),
                        params_text(params)));
        return;
      }
      // What shares with a given tensor takes its parameters.
      if (std::ranges::any_of(given_, [&](const auto& entry) { return is_given(entry.first, params); })) return;
    }
    if (!evidence.options.calibrates() && !constant) {
      add_unasked(tensor, params);
      return;
    }
    if (params.scale.size() > 1 && context_.evidence.converter.policy.depthwise_channels && feeds_depthwise(tensor)) {
      check_channels(tensor, params);
      return;
    }
    if (params.scale.size() > 1 && constant && check_rows(tensor, params)) return;
    if (params.scale.size() > 1) {
      add(Facet::count, tensor, 0,
          fmt::format("activation \"{}\": expected one scale, actual {} along axis {}", tensor, params.scale.size(),
                      params.axis.value_or(0)));
      return;
    }
    const bool by_range = evidence.converter.policy.unsigned_codes !=
                          converters::UnsignedCodes::asked;  // the zero_point shows which fits
    const std::size_t bits = core::element_size_bits(params.type);
    const bool type_fits = params.type == evidence.options.activation || by_range || constant || !given_.empty() ||
                           !core::is_code_type(params.type) || bits < 8 || bits > 16 ||
                           are_moved_from_a_constant(tensor, params);
    if (!type_fits) {
      add(Facet::dtype, tensor, 0,
          fmt::format("activation \"{}\": expected codes of type {}, actual {}", tensor,
                      core::dtype_name(evidence.options.activation), core::dtype_name(params.type)));
    }
    if (evidence.options.method == converters::Method::given) {
      weigh(tensor, params);
      return;
    }
    ScaleMargin margin;
    const auto fault = legal_.check(tensor, params, constant, context_.explanation == nullptr ? nullptr : &margin);
    explain(tensor, margin);
    if (!fault) {
      check_search(tensor, params);
      return;
    }
    const auto ranges = legal_.of(tensor);
    add(fault->facet, tensor, fault->margin,
        fmt::format("tensor \"{}\": expected {} {}, actual {}\n"
                    "  the calibration data range over {} (method {}, {}); declared: {}",
                    tensor, facet_name(fault->facet), fault->expected, fault->actual,
                    ranges.empty() ? "nothing" : range_text(ranges.front()),
                    evidence.method_stated ? converters::method_name(evidence.options.method) : "not stated",
                    evidence.options.symmetric ? "symmetric" : "asymmetric", params_text(params)));
  }

  /// What holds values of its operand alone may have the operand's scale.
  [[nodiscard]] bool keeps_scale_of_its_input(const std::string& tensor) const {
    const auto producer = context_.alignment->wiring.producer(tensor);
    if (!producer) return false;
    const OperatorTraits& traits = traits_of(context_.evidence.model->graph.nodes[*producer]);
    return stays_in_range(traits) || traits.clamp != Clamp::none || traits.formula == Formula::maximum ||
           traits.formula == Formula::minimum;
  }

  /// Every search tries the whole range too: what it cuts off must not cost more than that saves, by its own estimate.
  /// Of tensors that share a range one may be cut for the others.
  void check_search(const std::string& tensor, const QuantParams& params) {
    const converters::Policy& policy = context_.evidence.converter.policy;
    const auto values = calibration_.sorted_values.find(tensor);
    if (keeps_scale_of_its_input(tensor)) return;
    if (values == calibration_.sorted_values.end() || core::is_real(params.type) ||
        policy.averaging != converters::Averaging::none || legal_.of(tensor).size() != 1) {
      return;
    }
    const auto cost = searched_cost(context_.evidence.options.method, policy, values->second);
    if (cost == nullptr) return;
    const QuantParams whole = derive_params(std::min(values->second.front(), 0.0), std::max(values->second.back(), 0.0),
                                            params.type, is_centre(params.zero_point.front(), params.type), policy);
    if (params.scale.front() >= whole.scale.front()) return;
    const double of_whole = cost->of(whole), most = cost->most(of_whole), actual = cost->of(params);
    if (!(actual > most) || !(most > 0)) return;
    add(Facet::scale, tensor, actual / most,
        fmt::format("tensor \"{}\": expected the whole range's {}, or a range that costs no more, actual {}\n"
                    "  its {} on the calibration data is {:.4g}, that of the whole range [{:.6g}, {:.6g}] {:.4g} and "
                    "a search ends with {:.4g} at most (method {}); declared: {}",
                    tensor, core::exact_text64(whole.scale.front()), core::exact_text64(params.scale.front()),
                    cost->name(), actual, values->second.front(), values->second.back(), of_whole, most,
                    converters::method_name(context_.evidence.options.method), params_text(params)));
  }

  /// A range that was learned is anybody's choice. What it costs on the data, against the best one for them, is a note
  /// where a prediction would call that much noise too much.
  void weigh(const std::string& tensor, const QuantParams& params) {
    const auto values = calibration_.sorted_values.find(tensor);
    if (values == calibration_.sorted_values.end() || values->second.empty()) return;
    const auto limits = core::integer_limits(params.type);
    const SquaredError cost(values->second);
    const double own = cost.of(params);
    const double least = cost.least(static_cast<double>(limits.high - limits.low), context_.evidence.options.symmetric);
    const double lost_db = 10 * std::log10(own / least);
    if (!(lost_db > kDrawnLossDb)) return;
    add(Facet::scale, tensor, lost_db / kDrawnLossDb,
        fmt::format("tensor \"{}\": the given {} costs {:.1f} dB on the calibration data against the best range for "
                    "them\n  they range over [{}, {}]",
                    tensor, params_text(params), lost_db, values->second.front(), values->second.back()),
        true);
  }

  void explain(const std::string& tensor, const ScaleMargin& margin) const {
    if (context_.explanation == nullptr || margin.expected.empty()) return;
    const char* formula =
        context_.evidence.options.symmetric
            ? "max(-lo', hi') ÷ divisor, within 2 ulp of float32 and the float32 error of an extreme ÷ divisor"
            : "(hi' − lo') ÷ (qmax − qmin), within 2 ulp of float32 and twice the float32 error of an "
              "extreme ÷ (qmax − qmin)";
    context_.explanation->note({"activation scale", tensor, margin.range, formula, margin.expected, margin.actual,
                                margin.distance, margin.limit});
  }

  /// Every quantizer that the original has stands in the artifact too.
  void check_given_kept() {
    for (const auto& [tensor, params] : given_) {
      if (tensor.empty() || !context_.artifact->quantizers_of(tensor).empty()) continue;
      add(Facet::scale, tensor, 0,
          fmt::format("tensor \"{}\": the model gives it {}, but the artifact doesn't quantize it", tensor,
                      params_text(params.front())));
    }
  }

  void add(Facet facet, const std::string& tensor, double margin, std::string message, bool amber = false) {
    if (!seen_.insert({facet, tensor}).second) return;
    Finding finding = audit_finding(facet, tensor, std::move(message), margin);
    finding.amber = amber;
    const model::Wiring wiring(context_.evidence.model->graph);
    if (const auto producer = wiring.producer(tensor)) {
      finding.node = context_.evidence.model->graph.nodes[*producer].name;
      finding.op = context_.evidence.model->graph.nodes[*producer].op_type;
    }
    findings_.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const CalibrationRanges& calibration_;
  LegalRanges legal_;
  const GivenParams& given_;
  std::set<std::pair<Facet, std::string>> seen_;
  std::vector<Finding> findings_;
};

}  // namespace

Finding audit_finding(Facet facet, std::string tensor, std::string message, double margin) {
  Finding finding;
  finding.stage = Stage::artifact;
  finding.facet = facet;
  finding.tensor = std::move(tensor);
  finding.layer = "L0";
  finding.message = std::move(message);
  finding.margin = margin;
  return finding;
}

std::vector<Finding> audit_activations(const LayerContext& context, const CalibrationRanges& calibration) {
  return ActivationAudit(context, calibration).run();
}

}  // namespace assay::judge
