#include "harness/judge/alignment/effective_linear.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/artifact/in_halves.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using model::Graph;
using model::Node;

Tensor transposed(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  std::vector<double> values(static_cast<std::size_t>(rows * columns));
  for (std::int64_t r = 0; r < rows; ++r) {
    for (std::int64_t c = 0; c < columns; ++c)
      values[static_cast<std::size_t>(c * rows + r)] = matrix.as_real(r * columns + c);
  }
  return Tensor(core::DType::float64, {columns, rows}, std::move(values));
}

class LinearReader {
 public:
  LinearReader(const LayerContext& context, const ArtifactNode& node)
      : context_(context),
        original_(context.evidence.model->graph),
        constants_(context.alignment->constants),
        wiring_(context.alignment->wiring),
        made_(node),
        artifact_node_(context.artifact->artifact().graph.nodes[node.index]) {}

  std::optional<EffectiveLinear> read() {
    if (!sums_products(made_.op) || !made_.original || made_.inputs.size() < 2) return std::nullopt;
    const Node& node = original_.nodes[*made_.original];
    if (!take_weight(node) || !take_bias(node) || folds_before(node)) return std::nullopt;
    if (!follow(node)) return std::nullopt;
    return std::move(out_);
  }

 private:
  /// Is the tensor made from constants alone? Exporters reshape or transpose weights and biases in the graph.
  bool is_computed_constant(std::string_view name) const {
    std::vector<std::string_view> open{name};
    std::set<std::size_t> seen;
    while (!open.empty()) {
      const std::string_view tensor = open.back();
      open.pop_back();
      if (tensor.empty() || constants_.contains(tensor)) continue;
      const auto producer = wiring_.producer(tensor);
      if (!producer) return false;
      if (!seen.insert(*producer).second) continue;
      const Node& node = original_.nodes[*producer];
      if (!captured_names(node).empty()) return false;
      open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    }
    return true;
  }

  /// A value of the original that doesn't depend on its inputs; a computed one comes from the reference's run.
  std::optional<Tensor> constant(std::string_view name) const {
    const auto found = constants_.find(name);
    if (found != constants_.end()) return *found->second;
    if (context_.reference.empty() || context_.reference.front() == nullptr || !is_computed_constant(name))
      return std::nullopt;
    const auto computed = context_.reference.front()->find(std::string(name));
    if (computed == context_.reference.front()->end()) return std::nullopt;
    return computed->second;
  }

  bool take_weight(const Node& node) {
    const auto known = [&](std::size_t i) {
      const Operand& operand = made_.inputs[i];
      return operand.quantized() ? operand.constant_codes != nullptr
                                 : operand.constant_values != nullptr && operand.constant_values->is_real();
    };
    const bool matrix = is_matrix_product(traits_of(made_.op).product);
    out_.operand = !known(1) && matrix && known(0) ? 0 : 1;
    if (!known(out_.operand)) return false;
    auto weight = constant(node.input(out_.operand));
    if (!weight || !weight->is_real() || weight->rank() < 2) return false;
    out_.unit = half_unit(weight->type());
    const bool alike = reads_transposed(artifact_node_, out_.operand) == reads_transposed(node, out_.operand);
    out_.weight = alike ? std::move(*weight) : transposed(*weight);
    const Operand& made = made_.inputs[out_.operand];
    const core::TensorPtr& values = made.quantized() ? made.constant_codes : made.constant_values;
    if (out_.weight.shape() != values->shape()) return false;
    set_axis();
    const double ratio = alpha_of(node) / alpha_of(artifact_node_);
    if (ratio != 1) scale_weight(std::vector<double>(static_cast<std::size_t>(out_.channels), ratio));
    take_given(node.input(out_.operand));
    return true;
  }

  void set_axis() {
    layout_ = weight_layout(artifact_node_, out_.weight.rank(), out_.operand);
    out_.axis = layout_.axis;
    out_.channels = layout_.channels(out_.weight.shape());
    out_.bias.assign(static_cast<std::size_t>(out_.channels), 0);
    out_.bias_slack = out_.bias;
  }

  void scale_weight(const std::vector<double>& factors) {
    std::vector<double> values = out_.weight.to_reals();
    for (std::size_t i = 0; i < values.size(); ++i) values[i] *= factors[layout_.channel(out_.weight.shape(), i)];
    out_.weight = Tensor(core::DType::float64, out_.weight.shape(), std::move(values));
    out_.folded = true;
  }

  void take_given(std::string_view weight) {
    const auto producer = wiring_.producer(weight);
    if (!producer || original_.nodes[*producer].op_type != "DequantizeLinear") return;
    if (auto params = read_quant_params(original_.nodes[*producer], constants_)) out_.given = std::move(*params);
  }

  /// Adds `values` (one, or one per channel) times `factor` to the bias. False for any other form.
  bool add_bias(const Tensor& values, double factor) {
    const std::int64_t size = values.size();
    const bool per_channel =
        size == out_.channels && (values.rank() == 0 || size == 1 || fits_channels(values.shape()));
    if (size != 1 && !per_channel) return false;
    for (std::size_t c = 0; c < out_.bias.size(); ++c) {
      out_.bias[c] += factor * values.as_real(size == 1 ? 0 : static_cast<std::int64_t>(c));
    }
    return true;
  }

  /// One value per channel: [C] or [1,C] after a matrix, [C] (a Conv's own bias), [C,1,1], [1,C,1,1] after a Conv.
  bool fits_channels(const core::Shape& shape) const {
    return std::ranges::count_if(shape, [](std::int64_t extent) { return extent != 1; }) <= 1;
  }

  bool take_bias(const Node& node) {
    if (!takes_bias(traits_of(node).product) || node.input(kBias).empty()) return true;
    const auto bias = constant(node.input(kBias));
    if (!bias) return false;
    const double unknown = context_.evidence.uncertainty_of(node.input(kBias));
    double largest = 0;
    for (const double value : bias->to_reals()) largest = std::max(largest, std::abs(value));
    for (double& slack : out_.bias_slack) slack += std::abs(beta_of(node)) * unknown * largest;
    return add_bias(*bias, beta_of(node));
  }

  /// A BatchNormalization in front that vanished was folded along the input channels, which isn't modelled.
  bool folds_before(const Node& node) const {
    const auto producer = wiring_.producer(node.input(0));
    if (!producer || !normalizes_by_constants(original_.nodes[*producer])) return false;
    const auto before = wiring_.producer(original_.nodes[*producer].input(0));
    const bool after_linear = before && sums_products(original_.nodes[*before]);
    return context_.alignment->is_gone(*producer) && !after_linear;
  }

  /// Walks the operators after `node` that vanished into it. False where one can't be modelled.
  bool follow(const Node& node) {
    std::string tensor = node.outputs.empty() ? "" : node.outputs.front();
    while (!wiring_.is_output(tensor) && wiring_.consumers(tensor).size() == 1) {
      const std::size_t index = wiring_.consumers(tensor).front();
      const Node& next = original_.nodes[index];
      if (!context_.alignment->is_gone(index) || next.outputs.empty()) return true;
      const OperatorTraits& traits = traits_of(next);
      if (traits.normalization == Normalization::given_moments) {
        if (!fold_normalization(next)) return false;
      } else if (traits.formula == Formula::sum || traits.formula == Formula::product) {
        // The sum of two activations is nothing that folds; a constant in a form not modelled could be.
        if (!fold_constant(next, tensor)) return !is_computed_constant(next.input(next.input(0) == tensor ? 1 : 0));
      } else if (traits.formula == Formula::difference || traits.formula == Formula::quotient) {
        return false;
      } else if (traits.movement != Movement::copies) {
        return true;
      }
      tensor = next.outputs.front();
    }
    return true;
  }

  bool fold_constant(const Node& next, const std::string& tensor) {
    const std::size_t other = next.input(0) == tensor ? 1 : 0;
    const auto operand = constant(next.input(other));
    if (!operand) return false;
    const Tensor& values = *operand;
    if (traits_of(next).formula == Formula::sum) return add_bias(values, 1);
    if (values.size() != 1 && (values.size() != out_.channels || !fits_channels(values.shape()))) return false;
    std::vector<double> factors(out_.bias.size());
    for (std::size_t c = 0; c < factors.size(); ++c) {
      factors[c] = values.as_real(values.size() == 1 ? 0 : static_cast<std::int64_t>(c));
      out_.bias[c] *= factors[c];
    }
    scale_weight(factors);
    return true;
  }

  bool fold_normalization(const Node& node) {
    std::vector<Tensor> parts;
    for (std::size_t i = 1; i <= 4; ++i) {
      auto part = constant(node.input(i));
      if (!part || part->size() != out_.channels) return false;
      parts.push_back(std::move(*part));
    }
    const double epsilon = node.float_or("epsilon", 1e-5);
    std::vector<double> factors(out_.bias.size());
    for (std::size_t c = 0; c < factors.size(); ++c) {
      const auto i = static_cast<std::int64_t>(c);
      const double gamma = parts[0].as_real(i), beta = parts[1].as_real(i), mean = parts[2].as_real(i);
      factors[c] = gamma / std::sqrt(parts[3].as_real(i) + epsilon);
      const double terms = std::abs(factors[c]) * (std::abs(out_.bias[c]) + std::abs(mean)) + std::abs(beta);
      out_.bias_slack[c] = std::abs(factors[c]) * out_.bias_slack[c] + out_.fold_error(kBiasFoldRoundings) * terms;
      out_.bias[c] = (out_.bias[c] - mean) * factors[c] + beta;
    }
    scale_weight(factors);
    return true;
  }

  const LayerContext& context_;
  const Graph& original_;
  const Constants& constants_;
  const model::Wiring& wiring_;
  const ArtifactNode& made_;
  const Node& artifact_node_;
  WeightLayout layout_;
  EffectiveLinear out_;
};

}  // namespace

double EffectiveLinear::fold_error(double roundings) const { return rounding_gamma(roundings) + roundings * unit; }

std::optional<EffectiveLinear> effective_linear(const LayerContext& context, const ArtifactNode& node) {
  if (context.artifact == nullptr) return std::nullopt;
  return LinearReader(context, node).read();
}

}  // namespace assay::judge
