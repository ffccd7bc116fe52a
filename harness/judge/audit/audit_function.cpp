#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/alignment/original_form.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

// Whether the artifact without its quantizers is the float model's function. What quantization adds hides a node that
// is left out, done twice or wired to another tensor where that moves little; here it hides nothing.
namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorMap;
using core::TensorPtr;
using model::Node;

/// What constants stored in float32, and other orders of the same operations, leave, relative to the largest value; a
/// thousandth of an 8-bit step.
constexpr double kSame = 0x1p-18;
/// Constants stored in 16 bits leave that much more, a few roundings' worth.
constexpr double kHalfRoundings = 8;

/// The first element that is further off than `same` of the largest expected value; no value is as far off as one
/// that should be finite. Nothing of tensors that can't be compared.
std::optional<std::size_t> first_unlike(const Tensor& expected, const Tensor& actual, double same) {
  if (!expected.is_real() || !actual.is_real() || expected.shape() != actual.shape()) return std::nullopt;
  double largest = 0;
  for (const double value : expected.reals()) largest = std::max(largest, std::isfinite(value) ? std::fabs(value) : 0);
  const double limit = std::max(same * largest, 0x1p-126);
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    const double want = expected.reals()[i], got = actual.reals()[i];
    if (std::isfinite(want) && !(std::fabs(want - got) <= limit)) return i;
  }
  return std::nullopt;
}

class FunctionAudit {
 public:
  explicit FunctionAudit(const LayerContext& context)
      : context_(context),
        alignment_(*context.alignment),
        view_(*context.artifact),
        original_(context.evidence.model->graph),
        artifact_(view_.artifact()),
        wiring_(artifact_.graph),
        same_(std::max(kSame, kHalfRoundings * view_.largest_unit())) {
    for (const Alignment::Operation& operation : alignment_.operations) {
      if (operation.made != nullptr) made_[operation.made->index] = &operation;
    }
  }

  std::vector<Finding> run() {
    if (!is_rewired()) return {};
    for (const auto& reference : context_.reference) {
      if (reference == nullptr) continue;
      reference_ = reference.get();
      if (auto finding = run_once()) return {std::move(*finding)};
    }
    return {};
  }

 private:
  struct Value {
    TensorPtr tensor;      ///< null where it isn't known
    bool expected = true;  ///< it is the float model's own, or taken for that
    std::string name;      ///< then: of which tensor
  };
  struct Difference {
    std::size_t node = 0;  ///< of the artifact
    std::string tensor, text;
  };

  /// An artifact whose every node is the model's own and reads what it reads there has nothing to compare.
  [[nodiscard]] bool is_rewired() const {
    return std::ranges::any_of(view_.nodes(), [&](const ArtifactNode& made) {
      if (!made.original || !model::captured_names(artifact_.graph.nodes[made.index]).empty()) return true;
      const Node& node = original_.nodes[*made.original];
      for (std::size_t i = 0; i < std::min(made.inputs.size(), node.inputs.size()); ++i) {
        const Operand& input = made.inputs[i];
        if (input.constant_codes != nullptr || input.constant_values != nullptr) continue;
        const std::string made_tensor = made_of(input.name);
        const std::array read = {made_tensor, alignment_.after_removed_activation(made_tensor)};
        if (!input.name.empty() && std::ranges::find_first_of(node.inputs, read) == node.inputs.end()) return true;
      }
      return false;
    });
  }

  /// What makes the value that `name` carries, through quantizers and copies; `name` becomes its output, or the graph's
  /// input that stands there.
  [[nodiscard]] std::optional<std::size_t> maker_of(std::string& name) const {
    while (const auto producer = wiring_.producer(name)) {
      const Node& node = artifact_.graph.nodes[*producer];
      if (!model::is_quantizer(node) && node.op_type != "Identity") return producer;
      name = node.input(0);
    }
    return std::nullopt;
  }

  /// The model's tensor that stands behind a name of the artifact, by what makes it alone; "" where the model has none.
  [[nodiscard]] std::string made_of(std::string name) const {
    const auto maker = maker_of(name);
    if (!maker) return name;
    const auto& outputs = artifact_.graph.nodes[*maker].outputs;
    const auto at = std::ranges::find(outputs, name) - outputs.begin();
    return made_.contains(*maker) ? made_tensor(*maker, static_cast<std::size_t>(at)) : "";
  }

  std::optional<Finding> run_once() {
    values_.clear();
    first_.reset();
    for (const model::ValueInfo& input : artifact_.graph.inputs) assume(input.name, input.name);
    for (std::size_t i = 0; i < artifact_.graph.nodes.size(); ++i) {
      const Node& node = artifact_.graph.nodes[i];
      if (model::is_quantizer(node)) {
        pass(node);
      } else if (auto finding = compute(i)) {
        return finding;
      }
    }
    for (const model::ValueInfo& output : original_.outputs) {
      const Value value = value_of(output.name);
      const Tensor* expected = known(output.name);
      if (value.tensor == nullptr || value.expected || expected == nullptr) continue;
      if (const auto at = first_unlike(*expected, *value.tensor, same_)) {
        return report(wiring_.producer(output.name), output.name, *expected, *value.tensor, *at);
      }
    }
    return std::nullopt;
  }

  /// The float model's values of `tensor`; null where they aren't known.
  [[nodiscard]] const Tensor* known(const std::string& tensor) const {
    const auto found = tensor.empty() ? reference_->end() : reference_->find(tensor);
    return found == reference_->end() ? nullptr : &found->second;
  }

  /// Of the reference or the model, which outlive the run.
  [[nodiscard]] static TensorPtr borrowed(const Tensor* tensor) { return {TensorPtr(), tensor}; }

  void assume(const std::string& name, const std::string& tensor) {
    const Tensor* expected = known(tensor);
    values_[name] = {borrowed(expected), true, tensor};
  }

  [[nodiscard]] Value value_of(const std::string& name) const {
    if (const auto found = values_.find(name); found != values_.end()) return found->second;
    return {view_.constant(name), true, ""};
  }

  /// Who reads quantized values reads the real ones that they came from. Where a Relu or Clip lives on in the clamping
  /// of the codes these stand for another tensor; a constant's codes for the model's constant.
  void pass(const Node& node) {
    if (node.inputs.empty() || node.outputs.empty()) return;
    const Value value = value_of(std::string(node.input(0)));
    const std::string carried = view_.original_tensor(node.outputs[0]);
    const bool constant = value.tensor != nullptr && !value.tensor->is_real();
    if (constant) {
      assume(node.outputs[0], original_.initializer(carried) == nullptr ? "" : carried);
    } else if (value.tensor == nullptr) {
      assume(node.outputs[0], carried);
    } else if (!value.name.empty()) {
      assume(node.outputs[0], alignment_.after_removed_activation(value.name));
    } else {
      values_[node.outputs[0]] = value;
    }
  }

  /// Sums with a weight, and what may be put into one: their constants are rounded, folded and corrected, which other
  /// audits know. What goes in is compared, what comes out taken for right.
  [[nodiscard]] static bool has_adapted_constants(const Node& node, const ArtifactNode* made) {
    const OperatorTraits& traits = traits_of(node);
    const auto constant = [](const Operand& input) {
      return input.constant_codes != nullptr || input.constant_values != nullptr;
    };
    return made == nullptr || traits.random || traits.normalization == Normalization::given_moments ||
           (traits.product != Product::none && std::ranges::any_of(made->inputs, constant));
  }

  std::optional<Finding> compute(std::size_t index) {
    const Node& node = artifact_.graph.nodes[index];
    const ArtifactNode* made = view_.find(index);
    if (node.op_type == "Identity" && node.domain.empty() && node.outputs.size() == 1) {
      values_[node.outputs[0]] = value_of(std::string(node.input(0)));
      return std::nullopt;
    }
    if (node.op_type == "Constant" && node.domain.empty()) return std::nullopt;
    if (has_adapted_constants(node, made)) {
      auto finding = made == nullptr ? std::nullopt : check_reads(*made);
      assume_outputs(index);
      return finding;
    }
    std::vector<TensorPtr> kept;
    std::vector<const Tensor*> inputs;
    bool expected = made->original.has_value();
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Value value = input_of(node, *made, i);
      if (value.tensor == nullptr && !node.inputs[i].empty()) {
        assume_outputs(index);
        return std::nullopt;
      }
      expected = expected && value.expected;
      kept.push_back(value.tensor);
      inputs.push_back(value.tensor.get());
    }
    const auto opset = artifact_.opsets.find(node.domain);
    if (opset == artifact_.opsets.end() || reads_quantized_inside(node)) {
      assume_outputs(index);
      return std::nullopt;
    }
    const auto outputs = reference::execute_node(node, opset->second, inputs,
                                                 [&](const std::string& name) { return value_of(name).tensor; });
    if (!outputs) {
      assume_outputs(index);
      return std::nullopt;
    }
    for (std::size_t k = 0; k < std::min(outputs->size(), node.outputs.size()); ++k) {
      keep(index, k, (*outputs)[k], expected);
    }
    return std::nullopt;
  }

  /// A constant that is the model's own is compared with it elsewhere; an operator of the converter's own reads what
  /// stands in the artifact.
  [[nodiscard]] Value input_of(const Node& node, const ArtifactNode& made, std::size_t index) const {
    const std::string name(node.inputs[index]);
    Value value = value_of(name);
    if (!made.original || values_.contains(name) || value.tensor == nullptr) return value;
    const Tensor* own = original_.initializer(view_.original_tensor(name));
    if (own != nullptr && own->shape() == value.tensor->shape()) value.tensor = borrowed(own);
    return value;
  }

  /// A body that holds quantizers of its own isn't exact, nor one that reads what isn't known.
  [[nodiscard]] bool reads_quantized_inside(const Node& node) const {
    const auto captured = model::captured_names(node);
    if (std::ranges::any_of(captured, [&](const std::string& name) { return value_of(name).tensor == nullptr; })) {
      return true;
    }
    return std::ranges::any_of(node.attributes, [](const auto& attribute) {
      const auto* body = std::get_if<model::GraphPtr>(&attribute.second);
      return body != nullptr && *body != nullptr && model::is_quantized(**body);
    });
  }

  /// The model's tensor that output `output` of node `index` is, before a Relu or Clip that is gone cuts it off. Into a
  /// sum with a weight what may be folded and is gone behind it was put.
  [[nodiscard]] std::string made_tensor(std::size_t index, std::size_t output) const {
    const Node& made = artifact_.graph.nodes[index];
    const auto found = made_.find(index);
    if (found == made_.end()) return view_.original_tensor(made.outputs[output]);
    const Node& node = original_.nodes[found->second->last];
    if (output >= node.outputs.size()) return "";
    std::string tensor = node.outputs[output];
    if (!has_adapted_constants(made, view_.find(index))) return tensor;
    while (true) {
      const auto& readers = alignment_.wiring.consumers(tensor);
      if (readers.size() != 1 || !alignment_.is_gone(readers.front())) break;
      const Node& reader = original_.nodes[readers.front()];
      if (!may_be_folded(reader)) break;
      tensor = reader.outputs.front();
    }
    return tensor;
  }

  /// An affine function by constants, which a weight and a bias can take in.
  [[nodiscard]] bool may_be_folded(const Node& node) const {
    const OperatorTraits& traits = traits_of(node);
    const bool affine = traits.formula == Formula::sum || traits.formula == Formula::difference ||
                        traits.formula == Formula::product || traits.formula == Formula::quotient;
    return traits.normalization == Normalization::given_moments || traits.movement == Movement::copies ||
           (affine && std::ranges::any_of(
                          node.inputs, [&](const std::string& input) { return alignment_.constants.contains(input); }));
  }

  void assume_outputs(std::size_t index) {
    const Node& node = artifact_.graph.nodes[index];
    for (std::size_t k = 0; k < node.outputs.size(); ++k) assume(node.outputs[k], made_tensor(index, k));
  }

  /// What node `index` made; `expected`: from the float model's own values alone, by its own operator.
  void keep(std::size_t index, std::size_t output, const Tensor& actual, bool expected) {
    const std::string& name = artifact_.graph.nodes[index].outputs[output];
    const std::string tensor = made_tensor(index, output);
    const Tensor* wanted = known(tensor);
    if (wanted == nullptr || !wanted->is_real() || wanted->shape() != actual.shape()) {
      values_[name] = {std::make_shared<const Tensor>(actual), expected, ""};
      return;
    }
    const auto at = first_unlike(*wanted, actual, same_);
    if (!at) {
      assume(name, tensor);
      return;
    }
    if (!first_) first_ = Difference{index, tensor, text_of(tensor, *wanted, actual, *at)};
    values_[name] = {std::make_shared<const Tensor>(actual), false, ""};
  }

  [[nodiscard]] static std::string text_of(const std::string& tensor, const Tensor& expected, const Tensor& actual,
                                           std::size_t at) {
    return fmt::format("{}{}: expected {}, actual {}", tensor,
                       index_text(static_cast<std::int64_t>(at), expected.shape()), expected.reals()[at],
                       actual.reals()[at]);
  }

  /// What a sum with a weight reads is what it reads in the model, or what something that was put into its weight read
  /// before it.
  std::optional<Finding> check_reads(const ArtifactNode& made) {
    if (!made.original) return std::nullopt;
    const Node& ours = original_.nodes[*made.original];
    for (std::size_t i = 0; i < std::min({std::size_t{2}, made.inputs.size(), ours.inputs.size()}); ++i) {
      const std::string& name = made.inputs[i].name;
      const Value value = value_of(name);
      if (value.tensor == nullptr || value.expected) continue;
      if (const auto factor = factor_of(name); factor && is_in_the_weight(made, i, *factor)) continue;
      std::optional<std::size_t> unlike;
      const Tensor* nearest = nullptr;
      bool fits = false;
      for (const std::string& tensor : readable(ours.inputs[i])) {
        const Tensor* expected = known(tensor);
        if (expected == nullptr || expected->shape() != value.tensor->shape()) {
          fits = fits || expected == nullptr;
          continue;
        }
        const auto at = first_unlike(*expected, *value.tensor, same_);
        fits = fits || !at;
        if (at && !unlike) {
          unlike = at;
          nearest = expected;
        }
      }
      if (!fits && unlike) return report(made.index, ours.inputs[i], *nearest, *value.tensor, *unlike);
    }
    return std::nullopt;
  }

  /// `tensor` of the model, and what the operators before it that are gone from the artifact read.
  [[nodiscard]] std::vector<std::string> readable(const std::string& tensor) const {
    std::vector<std::string> names{tensor};
    for (std::size_t i = 0; i < names.size(); ++i) {
      const auto producer = alignment_.wiring.producer(names[i]);
      if (!producer || !alignment_.is_gone(*producer)) continue;
      for (const std::string& input : original_.nodes[*producer].inputs) {
        if (!input.empty() && original_.initializer(input) == nullptr) names.push_back(input);
      }
    }
    return names;
  }

  /// A constant by which an operator of the converter's own multiplies or divides.
  struct Factor {
    TensorPtr values;
    bool divides = false;
  };
  /// That of the operator that makes `name`, if it is one; null values where they aren't known.
  [[nodiscard]] std::optional<Factor> factor_of(std::string name) const {
    const auto maker = maker_of(name);
    const ArtifactNode* made = maker ? view_.find(*maker) : nullptr;
    if (made == nullptr || made->original || made->inputs.size() != 2) return std::nullopt;
    const Formula formula = traits_of(artifact_.graph.nodes[*maker]).formula;
    if (formula != Formula::product && formula != Formula::quotient) return std::nullopt;
    TensorPtr values = constant_value(made->inputs[1]);
    if (values == nullptr && formula == Formula::product) values = constant_value(made->inputs[0]);
    return Factor{std::move(values), formula == Formula::quotient};
  }

  /// Whether the weight that multiplies what `factor` went into may have been divided by it: true too where nobody
  /// knows. One factor for all, or one for each input channel.
  [[nodiscard]] bool is_in_the_weight(const ArtifactNode& made, std::size_t data, const Factor& factor) const {
    const Node& node = original_.nodes[*made.original];
    const Tensor* weight = data == 0 ? original_.initializer(node.input(1)) : nullptr;
    const TensorPtr& factors = factor.values;
    if (weight == nullptr || !weight->is_real() || weight->rank() < 2 || factors == nullptr || !factors->is_real() ||
        factors->size() == 0) {
      return true;
    }
    const core::Shape& shape = weight->shape();
    const auto extent = [&](std::size_t axis) { return static_cast<std::size_t>(shape[axis]); };
    std::size_t inner = 1;
    for (std::size_t axis = 2; axis < shape.size(); ++axis) inner *= extent(axis);
    const auto groups = static_cast<std::size_t>(std::max<std::int64_t>(node.int_or("group", 1), 1));
    const Product product = traits_of(node).product;
    const auto input_channel = [&](std::size_t element) {
      const std::size_t first = element / inner / extent(1), second = element / inner % extent(1);
      if (product == Product::convolution)
        return first / std::max(extent(0) / groups, std::size_t{1}) * extent(1) + second;
      if (product == Product::transposed_convolution) return first;
      return reads_transposed(node, 1) ? second : first;
    };
    const bool matrix = shape.size() == 2 || is_convolution(product);
    const auto count = static_cast<std::size_t>(factors->size());
    MultipliedWeight divided;
    const auto gain = [&](std::size_t element) {
      const std::size_t at = count == 1 ? 0 : input_channel(element);
      if (at >= count) return 1.0;
      return factor.divides ? factors->reals()[at] : 1 / factors->reals()[at];
    };
    return (count > 1 && !matrix) || !divided.compare(*weight, &made, gain) || divided.is_nearer();
  }

  /// A difference that reached `tensor`, which node `index` of the artifact makes or reads; where it came from is said.
  [[nodiscard]] Finding report(std::optional<std::size_t> index, const std::string& tensor, const Tensor& expected,
                               const Tensor& actual, std::size_t at) const {
    const std::size_t where = first_ ? first_->node : index.value_or(0);
    const Node& node = artifact_.graph.nodes[where];
    const ArtifactNode* made = view_.find(where);
    const Node& named = made != nullptr && made->original ? original_.nodes[*made->original] : node;
    Finding finding = audit_finding(
        Facet::numerics, first_ ? first_->tensor : tensor,
        fmt::format("node \"{}\" ({}): without any quantizer the artifact computes something else than the float "
                    "model\n  {}\n  an operator, a constant or an operand was changed, left out or added at this node "
                    "or before it",
                    named.name, named.op_type, first_ ? first_->text : text_of(tensor, expected, actual, at)));
    finding.node = named.name;
    finding.op = named.op_type;
    return finding;
  }

  const LayerContext& context_;
  const Alignment& alignment_;
  const ArtifactView& view_;
  const model::Graph& original_;
  const model::Model& artifact_;
  model::Wiring wiring_;                                     ///< of the artifact
  double same_;                                              ///< relative to the largest value
  std::map<std::size_t, const Alignment::Operation*> made_;  ///< by the artifact's node
  const TensorMap* reference_ = nullptr;
  std::map<std::string, Value> values_;  ///< of the artifact's tensors
  std::optional<Difference> first_;      ///< where the artifact first departs from the model
};

}  // namespace

std::vector<Finding> audit_function(const LayerContext& context) {
  // A model that is quantized already rounds of itself.
  const bool judged = context.artifact != nullptr && !model::is_quantized(context.evidence.model->graph);
  return judged ? FunctionAudit(context).run() : std::vector<Finding>{};
}

}  // namespace assay::judge
