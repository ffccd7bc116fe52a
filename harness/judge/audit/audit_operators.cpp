#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

/// A quarter of an 8-bit step over the largest value: less is an attribute's own rounding.
constexpr double kLeastShare = 0x1p-10;

struct Unlike {
  std::size_t element = 0;
  double expected = 0, actual = 0, margin = 0;
};

/// The element that differs most, where any does visibly; nothing for other shapes, which others judge.
std::optional<Unlike> most_unlike(const Tensor& expected, const Tensor& actual) {
  if (!expected.is_real() || !actual.is_real() || expected.shape() != actual.shape()) return std::nullopt;
  double largest = 0;
  for (const double value : expected.reals()) largest = std::max(largest, std::isfinite(value) ? std::fabs(value) : 0);
  const double limit = std::max(kLeastShare * largest, 0x1p-126);
  std::optional<Unlike> most;
  for (std::size_t i = 0; i < expected.reals().size(); ++i) {
    const double want = expected.reals()[i], got = actual.reals()[i], off = std::fabs(want - got);
    if (off > limit && (!most || off / limit > most->margin)) most = Unlike{i, want, got, off / limit};
  }
  return most;
}

/// Matrix products may be transposed with their weights, a BatchNormalization's numbers put into one another: the audit
/// of weights knows those. What else a node multiplies or compares with stands in its attributes.
bool may_be_rewritten(const Node& node) {
  const OperatorTraits& traits = traits_of(node);
  return is_matrix_product(traits.product) || traits.normalization == Normalization::given_moments || traits.random ||
         !model::captured_names(node).empty();
}

class OperatorAudit {
 public:
  explicit OperatorAudit(const LayerContext& context)
      : context_(context), alignment_(*context.alignment), artifact_(context.artifact->artifact()) {}

  std::vector<Finding> run() {
    if (context_.reference.empty() || context_.reference.front() == nullptr) return {};
    for (const Alignment::Operation& operation : alignment_.operations) {
      if (operation.made != nullptr) check(operation);
    }
    return std::move(findings_);
  }

 private:
  void check(const Alignment::Operation& operation) {
    const Node& ours = operation.node;
    const Node& theirs = artifact_.graph.nodes[operation.made->index];
    if (model::operator_name(ours) != model::operator_name(theirs) || ours.inputs.size() != theirs.inputs.size() ||
        ours.attributes == theirs.attributes || may_be_rewritten(ours)) {
      return;
    }
    if (std::ranges::any_of(theirs.inputs, [&](const std::string& input) { return comes_in_another_form(input); })) {
      return;
    }
    const auto inputs = inputs_of(ours);
    const auto opset = artifact_.opsets.find(theirs.domain);
    if (!inputs || opset == artifact_.opsets.end()) return;
    Node form = ours;
    form.attributes = theirs.attributes;
    const auto expected = reference::execute_node(ours, alignment_.opset(ours.domain), *inputs);
    const auto actual = reference::execute_node(form, opset->second, *inputs);
    if (!expected || !actual) return;
    for (std::size_t i = 0; i < std::min({ours.outputs.size(), expected->size(), actual->size()}); ++i) {
      if (const auto unlike = most_unlike((*expected)[i], (*actual)[i])) {
        report(ours, i, (*expected)[i], *unlike);
        return;
      }
    }
  }

  /// Is it what a Reshape, Transpose and the like of the converter's own gives? Then other attributes go with it.
  [[nodiscard]] bool comes_in_another_form(std::string name) const {
    while (const auto producer = wiring_.producer(name)) {
      const Node& node = artifact_.graph.nodes[*producer];
      const bool carries =
          node.op_type == "Identity" || node.op_type == "QuantizeLinear" || node.op_type == "DequantizeLinear";
      if (!carries) {
        const ArtifactNode* made = context_.artifact->find(*producer);
        return made != nullptr && !made->original && only_moves(node);
      }
      name = node.input(0);
    }
    return false;
  }

  /// The float model's own values; nothing where one isn't known.
  [[nodiscard]] std::optional<std::vector<const Tensor*>> inputs_of(const Node& node) const {
    std::vector<const Tensor*> inputs;
    for (const std::string& input : node.inputs) {
      const auto constant = alignment_.constants.find(input);
      const auto value = context_.reference.front()->find(input);
      if (input.empty()) {
        inputs.push_back(nullptr);
      } else if (constant != alignment_.constants.end()) {
        inputs.push_back(constant->second.get());
      } else if (value != context_.reference.front()->end()) {
        inputs.push_back(&value->second);
      } else {
        return std::nullopt;
      }
    }
    return inputs;
  }

  void report(const Node& node, std::size_t output, const Tensor& expected, const Unlike& unlike) {
    Finding finding = audit_finding(
        Facet::numerics, node.outputs[output],
        fmt::format("node \"{}\" ({}): with the attributes that it has in the artifact, the float model's own values "
                    "give another result\n  {}{}: expected {}, actual {}\n  an attribute was changed or left out",
                    node.name, node.op_type, node.outputs[output],
                    index_text(static_cast<std::int64_t>(unlike.element), expected.shape()), unlike.expected,
                    unlike.actual),
        unlike.margin);
    finding.node = node.name;
    finding.op = node.op_type;
    findings_.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const Alignment& alignment_;
  const model::Model& artifact_;
  model::Wiring wiring_{artifact_.graph};
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_operators(const LayerContext& context) {
  return context.artifact == nullptr ? std::vector<Finding>{} : OperatorAudit(context).run();
}

}  // namespace assay::judge
