#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>

#include "harness/judge/alignment/layers.hpp"
#include "harness/judge/enclosures/artifact_walk.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/integers/overflow.hpp"
#include "reference/executor.hpp"

// L0, overflow: an engine that computes on codes sums their products in 32 bits.
namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using core::TensorPtr;

/// The first magnitude that 32 bits with a sign can't hold.
constexpr double kTooLarge = 0x1p31;

/// The largest magnitude of a code less its zero_point.
double farthest_code(const core::QuantParams& params) {
  const core::IntegerLimits limits = core::integer_limits(params.type);
  double farthest = 0;
  for (const std::int64_t zero_point : params.zero_point) {
    farthest = std::max(
        {farthest, static_cast<double>(limits.high - zero_point), static_cast<double>(zero_point - limits.low)});
  }
  return farthest;
}

/// Codes less their zero_points, as reals of which the reference makes exact sums.
TensorPtr centred(const Tensor& codes, const core::QuantParams& params) {
  const Result<ChannelIndex> index = ChannelIndex::make(codes.shape(), params);
  if (!index) {
    return nullptr;
  }
  std::vector<double> values(static_cast<std::size_t>(codes.size()));
  const std::span<const std::int64_t> integers = codes.integers();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = static_cast<double>(integers[i] - params.zero_point[index->channel(i)]);
  }
  return std::make_shared<const Tensor>(core::DType::float64, codes.shape(), std::move(values));
}

class OverflowCheck {
 public:
  OverflowCheck(const LayerContext& context, const PreparedArtifact* prepared, Judgement& out)
      : context_(context), prepared_(prepared), out_(out) {}

  std::vector<Finding> run() {
    const Evidence& evidence = context_.evidence;
    if (context_.artifact == nullptr ||
        evidence.converter.policy.arithmetic == converters::EngineArithmetic::floating) {
      return {};
    }
    for (const ArtifactNode& node : context_.artifact->nodes()) {
      if (sums_products(node.op) && node.inputs.size() > 1 && node.inputs[0].quantized() &&
          node.inputs[1].quantized() && node.quantized_inputs && node.in_bytes() &&
          !reported_in_float(evidence, name_of(node)) && worst_case(node) >= kTooLarge) {
        suspects_.push_back(&node);
        out_.metrics.push_back({name_of(node), "", "accumulator_worst", worst_case(node) / kTooLarge});
      }
    }
    if (suspects_.empty()) {
      return {};
    }
    for (const Execution& execution : evidence.executions) {
      if (prepared_ != nullptr && execution.reply.outcome == converters::Outcome::ok) {
        check(*prepared_, execution);
      }
    }
    return std::move(findings_);
  }

 private:
  [[nodiscard]] const std::string& name_of(const ArtifactNode& node) const {
    return node.original ? context_.evidence.model->graph.nodes[*node.original].name
                         : context_.artifact->artifact().graph.nodes[node.index].name;
  }

  /// Σ|w|·max|x| + |b| of the worst channel where the weight is known, else an estimate by the length of the sums.
  [[nodiscard]] double worst_case(const ArtifactNode& node) const {
    const bool left_weight = traits_of(node.op).product == Product::matmul && node.inputs[0].constant_codes != nullptr;
    const Operand& weight = node.inputs[left_weight ? 0 : 1];
    const Operand& x = node.inputs[left_weight ? 1 : 0];
    if (weight.constant_codes == nullptr) {
      return longest_sum(x) * farthest_code(*x.params) * farthest_code(*weight.params);
    }
    const TensorPtr w = centred(*weight.constant_codes, *weight.params);
    if (w == nullptr || w->rank() < 2) {
      return 0;
    }
    double bias = 0;
    if (node.inputs.size() > 2 && node.inputs[2].constant_codes != nullptr) {
      for (const std::int64_t code : node.inputs[2].constant_codes->integers()) {
        bias = std::max(bias, std::fabs(static_cast<double>(code)));
      }
    }
    return largest_sum(node, *w, left_weight) * farthest_code(*x.params) + bias;
  }

  /// The largest Σ|w| that one output element may meet.
  [[nodiscard]] double largest_sum(const ArtifactNode& node, const Tensor& w, bool left_weight) const {
    const model::Node& made = context_.artifact->artifact().graph.nodes[node.index];
    const bool matrix = is_matrix_product(traits_of(node.op).product);
    // A matrix may be one of a batch; a kernel has taps behind its first two axes.
    const auto rank = static_cast<std::size_t>(w.rank());
    const std::int64_t rows = w.shape()[matrix ? rank - 2 : 0];
    const std::int64_t columns = w.shape()[matrix ? rank - 1 : 1];
    const std::int64_t taps = matrix || w.size() == 0 ? 1 : w.size() / (rows * columns);
    const WeightLayout layout = weight_layout(made, w.rank(), left_weight ? 0 : 1);
    const bool by_row = layout.axis == (matrix ? w.rank() - 2 : 0);
    const std::int64_t groups = layout.groups;
    std::map<std::int64_t, double> sums;
    const std::span<const double> values = w.reals();
    for (std::size_t i = 0; i < values.size(); ++i) {
      const auto flat = static_cast<std::int64_t>(i) / taps;
      const std::int64_t row = flat / columns % rows;
      const std::int64_t part = flat / (rows * columns) * groups + row * groups / rows;
      sums[by_row ? flat / columns : part * columns + flat % columns] += std::fabs(values[i]);
    }
    double largest = 0;
    for (const auto& [channel, sum] : sums) {
      largest = std::max(largest, sum);
    }
    return largest;
  }

  /// Extent of the axis that a product of two activations sums over.
  [[nodiscard]] double longest_sum(const Operand& x) const {
    double longest = 0;
    for (const auto& tensors : context_.reference) {
      const auto found = tensors == nullptr ? core::TensorMap::const_iterator() : tensors->find(x.original);
      if (tensors != nullptr && found != tensors->end() && found->second.rank() > 0) {
        longest = std::max(longest, static_cast<double>(found->second.shape().back()));
      }
    }
    return longest;
  }

  /// The sums that the case's own data give.
  void check(const PreparedArtifact& prepared, const Execution& execution) {
    static const Style kExact{.name = StyleName::exact, .arithmetic = {}};
    ArtifactWalk walk(prepared, execution, kExact);
    std::set<std::string> kept;
    for (const ArtifactNode* node : suspects_) {
      for (const Operand& operand : node->inputs) {
        kept.insert(operand.codes);
      }
    }
    walk.keep(std::move(kept));
    walk.run(nullptr);
    for (const ArtifactNode* node : suspects_) {
      if (reported_.contains(node)) {
        continue;
      }
      if (const auto sums = accumulators(prepared, *node, walk)) {
        compare(*node, *sums, execution);
      }
    }
  }

  [[nodiscard]] static std::optional<Tensor> accumulators(const PreparedArtifact& prepared, const ArtifactNode& node,
                                                          const ArtifactWalk& walk) {
    std::vector<TensorPtr> values;
    std::vector<const Tensor*> inputs;
    for (const Operand& operand : node.inputs) {
      const Enclosure* codes = operand.codes.empty() ? nullptr : walk.find(operand.codes);
      const bool known = codes != nullptr && operand.params && !codes->centre->is_real();
      values.push_back(known ? centred(*codes->centre, *operand.params) : nullptr);
      inputs.push_back(values.back().get());
    }
    if (inputs.size() < 2 || inputs[0] == nullptr || inputs[1] == nullptr) {
      return std::nullopt;
    }
    model::Node sum = prepared.graph().nodes[node.index];
    model::set_operator(sum, node.op);
    sum.attributes.erase("alpha");
    sum.attributes.erase("beta");
    auto outputs = reference::execute_node(sum, prepared.opset(""), inputs);
    if (!outputs || outputs->empty() || !outputs->front().is_real()) {
      return std::nullopt;
    }
    return std::move(outputs->front());
  }

  void compare(const ArtifactNode& node, const Tensor& sums, const Execution& execution) {
    const std::span<const double> values = sums.reals();
    std::size_t worst = 0;
    std::int64_t beyond = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
      beyond += values[i] >= kTooLarge || values[i] < -kTooLarge ? 1 : 0;
      worst = std::fabs(values[i]) > std::fabs(values[worst]) ? i : worst;
    }
    if (beyond == 0) {
      return;
    }
    reported_.insert(&node);
    Finding finding;
    finding.stage = Stage::artifact;
    finding.facet = Facet::integers;
    finding.node = name_of(node);
    finding.op = node.op;
    finding.data_set = execution.data_set;
    finding.layer = "L0";
    finding.margin = std::fabs(values[worst]) / kTooLarge;
    finding.message = fmt::format(
        "node \"{}\" ({}), data set \"{}\": {} of {} sums of products leave 32 bits, the farthest is {:.0f} "
        "(element {})\n  expected scales under which |sum| stays below 2147483648, or the node in float",
        finding.node, node.op, execution.data_set, beyond, values.size(), values[worst], worst);
    findings_.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const PreparedArtifact* prepared_;  ///< null where there is none
  Judgement& out_;
  std::vector<const ArtifactNode*> suspects_;
  std::set<const ArtifactNode*> reported_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> check_overflow(const LayerContext& context, const PreparedArtifact* prepared, Judgement& out) {
  return OverflowCheck(context, prepared, out).run();
}

}  // namespace assay::judge
