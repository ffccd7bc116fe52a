#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <span>
#include <string>
#include <unordered_set>

#include "harness/core/text.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/evidence/precision.hpp"

namespace assay::judge {
namespace {

std::string single_params_text(const core::QuantParams& params) {
  return fmt::format("scale {}, zero_point {}", core::exact_text(static_cast<float>(params.scale.front())),
                     params.zero_point.front());
}

/// What the converter states of itself against its own artifact. What it leaves unsaid contradicts nothing. (Divisor,
/// floor, powers of two, fixed ranges and averaging enter the audit of every scale; rounding that of every weight.)
class PolicyAudit {
 public:
  explicit PolicyAudit(const LayerContext& context)
      : context_(context),
        policy_(context.evidence.converter.policy),
        view_(*context.artifact),
        original_(context.evidence.model->graph),
        artifact_(view_.artifact().graph),
        wiring_(original_),
        made_(artifact_) {
    if (policy_.gates_in_float) gates_ = squeeze_gates(original_);
    for (const model::Node& node : original_.nodes) named_.insert(node.name);
    for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) told_.insert(tensor.name);
  }

  std::vector<Finding> run() {
    for (const ArtifactNode& node : view_.nodes()) {
      check_shares(node);
      check_bias(node);
      // What is said of activations holds of those that were calibrated.
      if (!context_.evidence.options.calibrates()) continue;
      check_read(node);
      check_whole_tensors(node);
      check_float_read(node);
      check_written(node);
    }
    if (context_.evidence.options.calibrates()) check_outputs();
    for (std::size_t i = 0; i < original_.nodes.size(); ++i) {
      const auto follower = sole_reader(original_.nodes[i]);
      if (!follower) continue;
      check_fusion(i, *follower);
      check_folding(i, *follower);
    }
    return std::move(findings_);
  }

 private:
  /// The index of the one node that reads `node`'s only output, which nobody else sees.
  std::optional<std::size_t> sole_reader(const model::Node& node) const {
    if (node.outputs.size() != 1 || wiring_.is_output(node.outputs.front())) return std::nullopt;
    const auto& readers = wiring_.consumers(node.outputs.front());
    return readers.size() == 1 ? std::optional(readers.front()) : std::nullopt;
  }

  void check_shares(const ArtifactNode& node) {
    // What computes needs a range.
    const bool stated =
        !computes_by_attributes(artifact_.nodes[node.index]) && policy_.shares && lists(*policy_.shares, node.op);
    // What several inputs share is the audit of ranges' question.
    if (!stated || node.inputs.empty() || data_input_count(node.op, node.inputs.size()) != 1) return;
    if (asked_in_float(node)) return;  // it has parameters of its own behind it
    const Operand& input = node.inputs.front();
    if (!input.quantized() || input.constant_codes != nullptr || input.params->scale.size() != 1) return;
    for (const std::string& output : artifact_.nodes[node.index].outputs) {
      for (const Quantizer* quantizer : view_.quantizers_from(output)) {
        if (quantizer->params.scale.size() != 1 || quantizer->params == *input.params) continue;
        add(quantizer->original, node.original,
            fmt::format("the policy says that {} shares its input's parameters, but \"{}\" goes in with {} and comes "
                        "out with {}",
                        node.op, input.original, single_params_text(*input.params),
                        single_params_text(quantizer->params)));
      }
    }
  }

  void check_bias(const ArtifactNode& node) {
    if (policy_.bias != converters::BiasRounding::stays_float || node.inputs.size() < 3 || !node.inputs[2].quantized())
      return;
    if (!takes_bias(traits_of(node.op).product)) return;
    add(node.inputs[2].original, node.original,
        fmt::format("the policy says that the bias stays in float, but it is quantized with scale {}",
                    core::exact_text(static_cast<float>(node.inputs[2].params->scale.front()))));
  }

  [[nodiscard]] static bool lists(const std::vector<std::string>& operators, const std::string& op) {
    return std::ranges::find(operators, op) != operators.end();
  }

  /// The precision map calls this very node INT8. Of several nodes of one name nobody knows which is meant.
  [[nodiscard]] bool is_reported_int8(const ArtifactNode& node) const {
    if (!node.original || node.fused) return false;
    const std::string& name = original_.nodes[*node.original].name;
    const converters::NodePrecision* reported = reported_precision(context_.evidence, name);
    return reported != nullptr && ran_in_int8(*reported) && named_.count(name) == 1;
  }

  [[nodiscard]] bool is_reported_in_float(const ArtifactNode& node) const {
    return node.original && reported_in_float(context_.evidence, original_.nodes[*node.original].name);
  }

  /// The converter reports a scale for this tensor.
  [[nodiscard]] bool has_reported_scale(const std::string& tensor) const {
    return lists_scales(context_.evidence) && told_.contains(tensor);
  }

  /// By the policy both are computed together, and nobody else reads what is between them.
  [[nodiscard]] bool is_fused_with(const ArtifactNode& maker, const ArtifactNode& node,
                                   const std::string& between) const {
    return policy_.fusions && made_.consumers(between).size() == 1 && lists(*policy_.fusions, maker.op + "+" + node.op);
  }

  /// An operator that reads quantized values, by the policy or by what is reported, with a quantizer left out before
  /// it.
  void check_read(const ArtifactNode& node) {
    const bool listed = lists(policy_.quantizes, node.op) || lists(policy_.reads_quantized, node.op);
    const bool whole = policy_.whole_products && has_quantized_weight(node);
    const bool even = policy_.reads_evenly && reads_quantized_activation(node);
    const bool apart = !is_part_of_its_maker(node);
    if (!(listed || whole || even || (apart && is_reported_int8(node))) || asked_in_float(node) || is_gate(node))
      return;
    const std::string why =
        listed  ? fmt::format("the policy says that {} always reads quantized values", node.op)
        : whole ? fmt::format("the policy says that {} with a quantized weight reads quantized data", node.op)
        : even  ? "the policy says that a node reads quantized values at all of its inputs or at none"
                : "the precision map says int8";
    for (const Operand& input : data_inputs(node)) {
      if (input.name.empty() || holds_quantized(input) || !is_real(input)) continue;
      if (input.constant_values != nullptr && !lists(policy_.quantizes, node.op)) continue;
      const auto producer = made_.producer(input.name);
      const ArtifactNode* maker = producer ? view_.find(*producer) : nullptr;
      if (maker != nullptr && (asked_in_float(*maker) || is_fused_with(*maker, node, input.name))) continue;
      add_unquantized(node, why,
                      fmt::format("it reads \"{}\" as it is", input.original.empty() ? input.name : input.original));
      return;
    }
  }

  void check_whole_tensors(const ArtifactNode& node) {
    if (!policy_.whole_tensors.value_or(false) || asked_in_float(node)) return;
    for (const Operand& input : data_inputs(node)) {
      const auto quantizes = [&](const Quantizer* quantizer) {
        return !quantizer->constant && quantizer->index != node.index;
      };
      if (input.name.empty() || holds_quantized(input) ||
          std::ranges::none_of(view_.quantizers_from(input.name), quantizes)) {
        continue;
      }
      add_unquantized(node, "the policy says that who reads a tensor that is quantized reads its quantized values",
                      fmt::format("it reads \"{}\" as it is", input.original.empty() ? input.name : input.original));
      return;
    }
  }

  /// A value that the data decide, no constant.
  [[nodiscard]] bool reads_quantized_activation(const ArtifactNode& node) const {
    return std::ranges::any_of(data_inputs(node), [&](const Operand& input) {
      const bool constant = input.constant_codes != nullptr || input.constant_values != nullptr;
      return !input.name.empty() && !constant && holds_quantized(input);
    });
  }

  [[nodiscard]] bool is_gate(const ArtifactNode& node) const {
    return node.original && gates_.contains(&original_.nodes[*node.original]);
  }

  /// An activation and a product's bias are parts of the node before them, and where nobody states what is fused so may
  /// any function of what a product makes for it alone.
  [[nodiscard]] bool is_part_of_its_maker(const ArtifactNode& node) const {
    if (!node.original || traits_of(node.op).clamp != Clamp::none) return true;
    if (context_.alignment->bias_behind_product(*node.original)) return true;
    if (policy_.fusions || data_input_count(node.op, node.inputs.size()) != 1) return false;
    const std::string& input = node.inputs.front().name;
    const auto producer = made_.producer(input);
    const ArtifactNode* maker = producer ? view_.find(*producer) : nullptr;
    return maker != nullptr && maker->quantized_inputs && sums_products(maker->op) &&
           made_.consumers(input).size() == 1;
  }

  void check_float_read(const ArtifactNode& node) {
    if (!lists(policy_.reads_float, node.op)) return;
    const auto quantized = std::ranges::find_if(
        node.inputs, [](const Operand& input) { return input.quantized() && input.constant_codes == nullptr; });
    if (quantized == node.inputs.end()) return;
    const model::Node& made = artifact_.nodes[node.index];
    add("", node.original,
        fmt::format("the policy says that {} reads no quantized values, but \"{}\" is quantized before it", node.op,
                    quantized->original.empty() ? quantized->name : quantized->original),
        fmt::format("node \"{}\" ({})", made.name, node.op), Facet::precision);
  }

  [[nodiscard]] static bool has_quantized_weight(const ArtifactNode& node) {
    return sums_products(node.op) && std::ranges::any_of(node.inputs, [](const Operand& input) {
             return input.quantized() && input.constant_codes != nullptr && input.params->type != core::DType::int32;
           });
  }

  /// What a MaxPool or a Concat of quantized values gives lies among these, and so does what a Cast of reals gives.
  [[nodiscard]] bool is_made_of_quantized(const std::string& tensor) const {
    const auto producer = made_.producer(tensor);
    const ArtifactNode* node = producer ? view_.find(*producer) : nullptr;
    if (node == nullptr) return false;
    const OperatorTraits& traits = traits_of(node->op);
    const bool casts = traits.enclosing == Enclosing::step && traits.leap == Leap::none;
    if (traits.movement == Movement::none && !casts) return false;
    return std::ranges::all_of(data_inputs(*node), [&](const Operand& input) { return holds_quantized(input); });
  }

  [[nodiscard]] bool holds_quantized(const Operand& operand) const {
    return operand.quantized() || is_made_of_quantized(operand.name);
  }

  [[nodiscard]] static std::span<const Operand> data_inputs(const ArtifactNode& node) {
    return std::span(node.inputs).first(data_input_count(node.op, node.inputs.size()));
  }

  /// An operator that runs between quantizers, by the policy or by the scale that is reported of its result, with one
  /// left out behind it.
  void check_written(const ArtifactNode& node) {
    const bool always = lists(policy_.quantizes, node.op) || lists(policy_.writes_quantized, node.op);
    const bool kept = lists(policy_.keeps_quantized, node.op) && reads_only_quantized(node);
    const bool listed = always || kept;
    if (!(listed || is_reported_int8(node)) || asked_in_float(node) || is_gate(node) || !writes_reals(node)) return;
    for (const std::string& output : artifact_.nodes[node.index].outputs) {
      const std::string tensor = view_.original_tensor(output);
      if (!listed && (!has_reported_scale(tensor) || is_quantized_for_some(tensor))) continue;
      // A node of the converter's own behind it makes the tensor: the scale is of what that gives.
      if (!listed && tensor != output && made_.producer(tensor)) continue;
      // Of a tensor that others read quantized, or of a Conv whose Relu has the quantizer, the graph may give the real
      // values all the same: check_outputs() knows where it doesn't.
      const bool outputs = lists(policy_.quantizes, node.op)
                               ? policy_.outputs != converters::GraphOutputs::stay_float
                               : !listed && policy_.outputs == converters::GraphOutputs::quantized;
      const std::string reader = reader_of_reals(output, outputs);
      if (reader.empty()) continue;
      add_unquantized(node,
                      always ? fmt::format("the policy says that {} always writes quantized values", node.op)
                      : kept
                          ? fmt::format("the policy says that {} writes quantized values where it reads them", node.op)
                          : fmt::format("a scale of \"{}\" is reported", tensor),
                      fmt::format("{} takes its result as it is", reader));
      return;
    }
  }

  /// The reported scale is that of a quantizer which one reader has, and the policy says that others need none.
  [[nodiscard]] bool is_quantized_for_some(const std::string& tensor) const {
    return policy_.whole_tensors == false && !view_.quantizers_of(tensor).empty();
  }

  [[nodiscard]] bool reads_only_quantized(const ArtifactNode& node) const {
    return std::ranges::all_of(data_inputs(node), [&](const Operand& input) {
      return input.name.empty() || holds_quantized(input) || !is_real(input);
    });
  }

  /// A Concat of extents writes none, nor does what moves codes. What the original doesn't have is real where something
  /// real goes in.
  [[nodiscard]] bool writes_reals(const ArtifactNode& node) const {
    if (node.on_codes()) return false;
    const auto has_own_range = [&](const std::string& output) { return has_range(view_.original_tensor(output)); };
    const auto is_data = [&](const Operand& input) { return input.quantized() || is_real(input); };
    return std::ranges::any_of(artifact_.nodes[node.index].outputs, has_own_range) ||
           std::ranges::any_of(node.inputs, is_data);
  }

  /// Somebody asked for it in float; what the converter put in of itself goes by its operator.
  bool asked_in_float(const ArtifactNode& node) const {
    if (node.original) return judge::asked_in_float(context_.evidence, original_.nodes[*node.original]);
    const auto& asked = context_.evidence.options.precision;
    const auto by_type = asked.find(node.op);
    return by_type != asked.end() && by_type->second == core::word_of(Precision::fp32);
  }

  /// Integers and truth values have no quantizer. What the original doesn't have follows a sum of products.
  bool is_real(const Operand& operand) const {
    if (operand.constant_values != nullptr) return operand.constant_values->is_real();
    return has_range(operand.original);
  }

  [[nodiscard]] bool has_range(const std::string& tensor) const {
    return context_.ranges != nullptr && context_.ranges->contains(tensor);
  }

  /// Who takes `tensor` of the artifact without a quantizer before it, the graph with `outputs`; a Relu or Clip in
  /// front of one belongs to it.
  std::string reader_of_reals(const std::string& tensor, bool outputs) const {
    if (made_.is_output(tensor) && outputs) return "the graph's output";
    for (const std::size_t index : made_.consumers(tensor)) {
      const model::Node& reader = artifact_.nodes[index];
      const OperatorTraits& traits = traits_of(reader);
      const ArtifactNode* node = view_.find(index);
      // What a subgraph captures is read inside it, and what is dequantized are codes.
      if (model::is_quantizer(reader) || traits.shape_only || !captured_names(reader).empty() ||
          (node != nullptr && asked_in_float(*node)))
        continue;
      std::string behind = traits.clamp == Clamp::none ? fmt::format("node \"{}\" ({})", reader.name, reader.op_type)
                                                       : reader_of_reals(reader.outputs.front(), outputs);
      if (!behind.empty()) return behind;
    }
    return "";
  }

  void add_unquantized(const ArtifactNode& node, const std::string& stated, const std::string& what) {
    const model::Node& made = artifact_.nodes[node.index];
    add("", node.original, fmt::format("{}, but {}", stated, what), fmt::format("node \"{}\" ({})", made.name, node.op),
        Facet::precision, true);
  }

  /// What somebody inside the graph reads too may be quantized for that reader, and what is only moved behind its codes
  /// had them before.
  void check_outputs() {
    if (policy_.outputs == converters::GraphOutputs::quantized) check_outputs_quantized();
    if (policy_.outputs != converters::GraphOutputs::stay_float) return;
    for (const model::ValueInfo& output : original_.outputs) {
      const auto producer = made_.producer(output.name);
      const auto quantizers = view_.quantizers_of(output.name);
      if (!producer || artifact_.nodes[*producer].op_type != "DequantizeLinear" || quantizers.empty() ||
          !wiring_.consumers(output.name).empty()) {
        continue;
      }
      add(output.name, wiring_.producer(output.name),
          fmt::format("the policy says that graph outputs stay in float, but \"{}\" is quantized with {}", output.name,
                      single_params_text(quantizers.front()->params)),
          fmt::format("tensor \"{}\"", output.name), Facet::scale, true);
    }
  }

  /// The artifact's node whose result `tensor` is, also as a copy.
  [[nodiscard]] std::optional<std::size_t> maker_of(const std::string& tensor) const {
    auto producer = made_.producer(tensor);
    while (producer && artifact_.nodes[*producer].op_type == "Identity")
      producer = made_.producer(artifact_.nodes[*producer].input(0));
    return producer;
  }

  void check_outputs_quantized() {
    for (const model::ValueInfo& output : original_.outputs) {
      const auto producer = maker_of(output.name);
      const ArtifactNode* node = producer ? view_.find(*producer) : nullptr;
      // An output that a quantizer makes has no node in the view; what is only moved was quantized before.
      if (node == nullptr || asked_in_float(*node) || is_reported_in_float(*node) || !has_range(output.name)) continue;
      // What goes on inside the graph may be taken in there; what reads nothing quantized isn't meant.
      if (!wiring_.consumers(output.name).empty() || !node->quantized_inputs) continue;
      if (is_made_of_quantized(artifact_.nodes[*producer].outputs.front())) continue;
      add(output.name, wiring_.producer(output.name),
          fmt::format("the policy says that graph outputs are quantized, but node \"{}\" ({}) gives it as it is",
                      artifact_.nodes[*producer].name, node->op),
          fmt::format("graph output \"{}\"", output.name), Facet::precision, true);
    }
  }

  void check_fusion(std::size_t index, std::size_t follower) {
    const model::Node& node = original_.nodes[index];
    const model::Node& next = original_.nodes[follower];
    // Only an activation can always be taken in: an Add is a bias just where it fits one.
    if (traits_of(next).clamp == Clamp::none) return;
    // What somebody asked for in float takes nothing in.
    if (judge::asked_in_float(context_.evidence, node) || judge::asked_in_float(context_.evidence, next)) return;
    if (!policy_.fusions || !context_.alignment->has_weight_in_codes(index)) return;
    const std::string pair = model::operator_name(node) + "+" + model::operator_name(next);
    if (std::ranges::find(*policy_.fusions, pair) == policy_.fusions->end()) return;
    const ArtifactNode* reader = context_.alignment->made(follower);
    if (reader == nullptr || reader->inputs.empty() || !reader->inputs.front().quantized()) return;
    // Between the two stands a quantization of the first one's output.
    for (const Quantizer* quantizer : view_.quantizers_of(node.outputs.front())) {
      if (quantizer->codes != reader->inputs.front().codes) continue;
      add(node.outputs.front(), follower,
          fmt::format("the policy says that {} are fused, but \"{}\" is quantized between them with {}", pair,
                      node.outputs.front(), single_params_text(quantizer->params)));
    }
  }

  void check_folding(std::size_t index, std::size_t follower) {
    const model::Node& node = original_.nodes[index];
    const model::Node& next = original_.nodes[follower];
    // A statement about Conv alone: released optimizers fold into Conv and leave ConvTranspose.
    const bool folds = traits_of(node).product == Product::convolution && normalizes_by_constants(next);
    if (!policy_.folds_bn || !folds) return;
    if (!context_.alignment->has_weight_in_codes(index)) return;  // what stays in float need not be folded
    if (judge::asked_in_float(context_.evidence, next)) return;
    const bool stays = !context_.alignment->is_gone(follower);
    if (stays != *policy_.folds_bn) return;
    add(node.outputs.front(), index,
        fmt::format("the policy says that BatchNormalization is {}, but \"{}\" {}",
                    *policy_.folds_bn ? "folded" : "not folded", next.name,
                    stays ? "stands in the artifact" : "doesn't stand in the artifact"));
  }

  void add(const std::string& tensor, std::optional<std::size_t> node, const std::string& message) {
    add(tensor, node, message, fmt::format("tensor \"{}\"", tensor), Facet::scale);
  }

  void add(const std::string& tensor, std::optional<std::size_t> node, const std::string& message,
           const std::string& about, Facet facet, bool placement = false) {
    Finding finding = audit_finding(facet, tensor, fmt::format("{}: {}", about, message));
    finding.placement = placement;
    if (node) {
      finding.node = original_.nodes[*node].name;
      finding.op = original_.nodes[*node].op_type;
    }
    findings_.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const converters::Policy& policy_;
  const ArtifactView& view_;
  const model::Graph& original_;
  const model::Graph& artifact_;
  model::Wiring wiring_, made_;                 ///< of the original, of the artifact
  std::set<const model::Node*> gates_;          ///< that stay in float
  std::unordered_multiset<std::string> named_;  ///< the original's nodes
  std::unordered_set<std::string> told_;        ///< the tensors whose scales the converter reports
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_policy(const LayerContext& context) {
  // A model that is quantized already keeps its own parameters, whatever the converter does with others.
  const bool judged = context.artifact != nullptr && context.alignment->given.empty();
  return judged ? PolicyAudit(context).run() : std::vector<Finding>{};
}

}  // namespace assay::judge
