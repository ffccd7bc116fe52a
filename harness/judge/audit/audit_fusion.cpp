#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

/// The codes of the bounds of what is let through.
std::pair<std::int64_t, std::int64_t> bound_codes(const core::QuantParams& params, const Alignment::Passed& passed) {
  const auto limits = core::integer_limits(params.type);
  const auto code = [&](double bound) {
    if (std::isinf(bound)) return bound < 0 ? limits.low : limits.high;
    return reference::quantize(bound, params.scale.front(), params.zero_point.front(), params.type);
  };
  return {code(passed.low), code(passed.high)};
}

/// A Relu or Clip that vanished into the operator before it, or into a second quantizer behind that: the quantization
/// itself has to clip as it would have. That is so where no code lies beyond the code of the bound; for a Relu, where
/// zero_point is the least code.
class FusionAudit {
 public:
  explicit FusionAudit(const LayerContext& context)
      : alignment_(*context.alignment),
        view_(*context.artifact),
        original_(context.evidence.model->graph),
        artifact_(view_.artifact().graph),
        original_wiring_(original_),
        artifact_wiring_(artifact_) {}

  std::vector<Finding> run() {
    for (std::size_t i = 0; i < original_.nodes.size(); ++i) {
      const model::Node& node = original_.nodes[i];
      const auto passed = alignment_.passed_by(node);
      if (!passed || !alignment_.is_gone(i) || node.outputs.empty()) continue;
      if (never_outside(std::string(node.input(0)), *passed)) continue;
      for (const Quantizer* quantizer : view_.quantizers_of(node.outputs.front())) {
        if (absorbs(*quantizer, node, *passed)) check(*quantizer, node, *passed);
      }
    }
    return std::move(findings_);
  }

 private:
  /// The quantizer reads what the operator before the activation makes, as it is or through quantizers of which none
  /// cuts it like the activation.
  bool absorbs(const Quantizer& quantizer, const model::Node& node, const Alignment::Passed& passed) const {
    auto made = artifact_wiring_.producer(quantizer.float_name);
    while (made && view_.find(*made) == nullptr) {  // an Identity, QuantizeLinear or DequantizeLinear
      const Quantizer* before = view_.quantizer_of_codes(artifact_.nodes[*made].outputs.front());
      if (before != nullptr && cuts_like(before->params, passed)) return false;
      made = artifact_wiring_.producer(artifact_.nodes[*made].input(0));
    }
    auto before = original_wiring_.producer(node.input(0));
    while (before && original_.nodes[*before].op_type == "Identity")
      before = original_wiring_.producer(original_.nodes[*before].input(0));
    if (!made || !before || quantizer.params.scale.size() != 1) return false;
    return view_.find(*made)->original == before;
  }

  /// Operators whose values can't lie outside, whatever their inputs: the activation does nothing there.
  bool never_outside(const std::string& tensor, const Alignment::Passed& passed, int depth = 0) const {
    constexpr int kDeepest = 16;
    const auto producer = original_wiring_.producer(tensor);
    if (!producer || depth > kDeepest) return false;
    const model::Node& node = original_.nodes[*producer];
    const auto within = [&](double low, double high) { return low >= passed.low && high <= passed.high; };
    if (const auto inner = alignment_.passed_by(node)) return within(inner->low, inner->high);
    const OperatorTraits& traits = traits_of(node);
    if (within(traits.least, traits.most)) return true;
    return always_moves(traits) && never_outside(std::string(node.input(0)), passed, depth + 1);
  }

  void check(const Quantizer& quantizer, const model::Node& node, const Alignment::Passed& passed) {
    const core::QuantParams& params = quantizer.params;
    const double scale = params.scale.front();
    const std::int64_t z = params.zero_point.front();
    if (!std::isfinite(scale) || !(scale > 0)) return;  // the structure audit says it
    const auto limits = core::integer_limits(params.type);
    if (cuts_like(params, passed)) return;
    const auto [low, high] = bound_codes(params, passed);
    const std::string& tensor = node.outputs.front();
    const bool below = low != limits.low;
    Finding finding = audit_finding(
        Facet::zero_point, tensor,
        fmt::format("node \"{}\" ({}) was fused away, but its output \"{}\" has codes for values {} {}: scale {}, "
                    "zero_point {}; {} lets through values down to code {} and up to code {}, {} has [{}, {}]",
                    node.name, node.op_type, tensor, below ? "below" : "above",
                    core::exact_text64(below ? passed.low : passed.high), core::exact_text(static_cast<float>(scale)),
                    z, node.op_type, low, high, core::dtype_name(params.type), limits.low, limits.high));
    finding.node = node.name;
    finding.op = node.op_type;
    findings_.push_back(std::move(finding));
  }

  const Alignment& alignment_;
  const ArtifactView& view_;
  const model::Graph& original_;
  const model::Graph& artifact_;
  model::Wiring original_wiring_, artifact_wiring_;
  std::vector<Finding> findings_;
};

}  // namespace

bool cuts_like(const core::QuantParams& params, const Alignment::Passed& passed) {
  const bool usable = params.scale.size() == 1 && std::isfinite(params.scale.front()) && params.scale.front() > 0;
  const auto limits = core::integer_limits(params.type);
  return usable && bound_codes(params, passed) == std::pair(limits.low, limits.high);
}

std::vector<Finding> audit_fusions(const LayerContext& context) {
  return context.artifact == nullptr ? std::vector<Finding>{} : FusionAudit(context).run();
}

}  // namespace assay::judge
