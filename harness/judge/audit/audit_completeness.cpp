#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

/// A table of scales is complete where every operator that runs on codes finds scales for what it reads.
class CompletenessAudit {
 public:
  explicit CompletenessAudit(const LayerContext& context)
      : context_(context), graph_(context.evidence.model->graph), wiring_(graph_), constants_(constants_of(graph_)) {
    for (const converters::TensorScale& tensor : context.evidence.conversion.tensors) listed_.insert(tensor.name);
  }

  std::vector<Finding> run() {
    if (!lists_scales(context_.evidence) || !context_.evidence.options.calibrates()) return {};
    for (const model::Node& node : graph_.nodes) {
      if (!runs_on_codes(node)) continue;
      const std::size_t data = data_input_count(node);
      for (std::size_t i = 0; i < data; ++i) check(node, node.inputs[i]);
    }
    return std::move(findings_);
  }

 private:
  /// Operators with a weight, by the converter's precision map where there is one, else by what is asked. What others
  /// read may have vanished in a fusion.
  bool runs_on_codes(const model::Node& node) const {
    if (!sums_products(node) || (!constants_.contains(node.input(1)) && !constants_.contains(node.input(0))))
      return false;
    if (!context_.evidence.conversion.precision.empty()) {
      const converters::NodePrecision* reported = reported_precision(context_.evidence, node.name);
      return reported != nullptr && ran_in_int8(*reported);
    }
    const auto demand = demanded_precision(context_.evidence, node);
    return demand && demand->precision == Precision::int8;
  }

  /// Listed itself, or a copy, piece or rearrangement of something that is.
  bool has_scale(const std::string& tensor, int depth = 0) const {
    constexpr int kDeepest = 64;
    if (listed_.contains(tensor)) return true;
    const auto producer = wiring_.producer(tensor);
    if (!producer || depth > kDeepest) return false;
    const model::Node& node = graph_.nodes[*producer];
    // A Concat of branches with unlike scales has to have one of its own.
    const bool carries =
        may_carry(node, context_.evidence.converter.policy) && traits_of(node).movement != Movement::joins;
    return carries && has_scale(std::string(node.input(0)), depth + 1);
  }

  /// What a Concat joins along the channels that a Conv sums over: its weights may take in scales that differ by
  /// channel.
  bool is_folded(const model::Node& reader, const std::string& tensor) const {
    const auto producer = wiring_.producer(tensor);
    const auto weight = constants_.find(reader.input(1));
    if (!context_.evidence.converter.policy.folds_scales || !producer || weight == constants_.end()) return false;
    const model::Node& node = graph_.nodes[*producer];
    const bool joins = traits_of(node).movement == Movement::joins;
    if (!joins || traits_of(reader).product != Product::convolution || reader.int_or("group", 1) != 1) return false;
    const std::int64_t axis = node.int_or("axis", 0);
    if ((axis < 0 ? axis + weight->second->rank() : axis) != 1) return false;
    return std::ranges::all_of(node.inputs, [&](const std::string& input) { return has_scale(input); });
  }

  void check(const model::Node& reader, const std::string& tensor) {
    const auto range = context_.ranges->find(tensor);
    const bool real = range != context_.ranges->end() && range->second.samples > 0;
    if (tensor.empty() || constants_.contains(tensor) || !real || has_scale(tensor) || is_folded(reader, tensor))
      return;
    if (!seen_.insert(tensor).second) return;
    const auto producer = wiring_.producer(tensor);
    Finding finding = audit_finding(
        Facet::scale, tensor,
        fmt::format("tensor \"{}\"{} has no entry among the {} scales, but node \"{}\" ({}) reads it on codes", tensor,
                    producer ? fmt::format(" (output of {})", graph_.nodes[*producer].op_type) : "", listed_.size(),
                    reader.name, reader.op_type));
    finding.node = producer ? graph_.nodes[*producer].name : reader.name;
    finding.op = producer ? graph_.nodes[*producer].op_type : reader.op_type;
    findings_.push_back(std::move(finding));
  }

  const LayerContext& context_;
  const model::Graph& graph_;
  model::Wiring wiring_;
  Constants constants_;
  std::set<std::string> listed_, seen_;
  std::vector<Finding> findings_;
};

}  // namespace

std::vector<Finding> audit_completeness(const LayerContext& context) { return CompletenessAudit(context).run(); }

}  // namespace assay::judge
