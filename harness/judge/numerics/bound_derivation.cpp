#include "harness/judge/numerics/bound_derivation.hpp"

#include <algorithm>
#include <cmath>
#include <map>

#include "harness/judge/evidence/operators.hpp"
#include "harness/judge/numerics/bound_terms.hpp"

namespace assay::judge {
namespace {

using core::TensorPtr;
using Walked = NearestElement::Walked;
using Candidate = NearestElement::Candidate;

/// What a walk makes of `tensor` with `sources`; empty where it can't.
std::optional<Enclosure> carried(const Walked& walked, const std::string& tensor, EngineRoundings roundings,
                                 const ErrorSources& sources) {
  std::optional<Enclosure> found;
  BoundWalk walk(walked.plan, walked.execution.inputs, walked.known, roundings, sources);
  walk.run([&](const Alignment::Operation*, const std::string& name, const Enclosure& value) {
    if (name == tensor) {
      found = value;
    }
  });
  return found;
}

std::vector<BoundTerm> terms_of(const Walked& walked, const Candidate& nearest) {
  const Excess& excess = nearest.excess;
  BoundTerms terms(excess.worst, excess.actual < excess.expected);
  for (const auto& [name, sources] : growing_sources()) {
    if (const auto value = carried(walked, nearest.tensor, {.bias = walked.roundings.bias}, sources)) {
      terms.next(name, *value);
    }
  }
  if (walked.roundings.twice) {
    if (const auto value = carried(walked, nearest.tensor, walked.roundings, {})) {
      terms.next("second rounding of engines that shift", *value);
    }
  }
  for (const auto& [name, enclosure] : nearest.stages) {
    terms.next(name, enclosure);
  }
  terms.add("storage as float32", storage_error(excess.expected));
  return terms.take();
}

/// The values that the element's node reads: constants, and what the artifact's tensors hold or, end to end, the
/// reference's own.
std::vector<TensorPtr> operands_of(const Walked& walked, std::size_t entry) {
  const model::Node& node = walked.plan.alignment().operations[entry].node;
  std::map<std::string, TensorPtr> values;
  BoundWalk walk(walked.plan, walked.execution.inputs, walked.known, walked.roundings);
  walk.run([&](const Alignment::Operation*, const std::string& name, const Enclosure& value) {
    if (std::ranges::find(node.inputs, name) != node.inputs.end()) {
      values[name] = value.centre;
    }
  });
  std::vector<TensorPtr> operands;
  for (std::size_t k = 0; k < node.inputs.size(); ++k) {
    const auto& constants = walked.plan.constants(entry).inputs;
    if (const auto constant = constants.find(k); constant != constants.end()) {
      operands.push_back(constant->second.centre);
      continue;
    }
    TensorPtr held;
    if (walked.known) {
      const std::string codes = walked.plan.alignment().codes_read(entry, k);
      held = codes.empty() ? nullptr : walked.known(codes);
    }
    operands.push_back(held != nullptr ? held : values[node.inputs[k]]);
  }
  return operands;
}

/// The products behind the element, where they really add up to it: what is shown is what was judged.
void add_taps(const Walked& walked, const Candidate& nearest, BoundDerivation& out) {
  const Alignment& model = walked.plan.alignment();
  const auto entry = static_cast<std::size_t>(nearest.entry - model.operations.data());
  const model::Node& node = nearest.entry->node;
  if (!sums_products(node)) {
    return;
  }
  const std::vector<TensorPtr> operands = operands_of(walked, entry);
  if (operands.size() < 2 || operands[0] == nullptr || operands[1] == nullptr) {
    return;
  }
  const TensorPtr bias = operands.size() > 2 ? operands[2] : nullptr;
  const auto sum = SumOfProducts::of(node, model.opset(node.domain), operands[0]->shape(), operands[1]->shape(),
                                     bias == nullptr ? nullptr : &bias->shape(), nearest.excess.worst);
  if (!sum) {
    return;
  }
  std::vector<Tap> taps = sum->taps(*operands[0], *operands[1]);
  const double added = sum->bias ? bias->as_real(*sum->bias) : 0;
  double value = added, magnitude = std::fabs(added);
  for (const Tap& tap : taps) {
    value += tap.x * tap.w;
    magnitude += std::fabs(tap.x * tap.w);
  }
  if (std::fabs(value - nearest.excess.expected) >
      gamma(static_cast<double>(taps.size()) + 2, 2 * kDoubleUnit) * magnitude) {
    return;
  }
  if (sum->bias) {
    out.bias = added;
  }
  const ArtifactView* artifact = walked.context.artifact;
  const ArtifactNode* made = nearest.entry->made;
  if (made != nullptr && walked.codes) {
    out.accumulation = accumulate(artifact->artifact().graph.nodes[made->index], *made, walked.codes, *sum, taps);
  }
  out.taps = std::move(taps);
}

}  // namespace

void NearestElement::see(Candidate candidate) {
  // A graph input has no other limit than its own rounding, and ties reach it: it counts where it is wrong.
  if (candidate.entry == nullptr && candidate.excess.wrong == 0) {
    return;
  }
  if (candidate.centre->size() == 0) return;  // none of no elements is the nearest
  if (!nearest_ || candidate.excess.margin > nearest_->excess.margin) {
    nearest_ = std::move(candidate);
  }
}

void NearestElement::derive(const Walked& walked) {
  const std::optional<Candidate> nearest = std::exchange(nearest_, std::nullopt);
  if (!nearest || walked.context.explanation == nullptr) {
    return;
  }
  const bool end_to_end = !walked.known;
  std::optional<BoundDerivation>& kept =
      end_to_end ? walked.context.explanation->end_to_end : walked.context.explanation->local;
  const Excess& excess = nearest->excess;
  if (kept && excess.margin <= kept->margin) {
    return;
  }
  BoundDerivation out;
  out.end_to_end = end_to_end;
  out.tensor = nearest->tensor;
  out.index = index_text(excess.worst, nearest->centre->shape());
  out.data_set = walked.execution.data_set;
  out.expected = excess.expected;
  out.actual = excess.actual;
  out.limit = excess.limit;
  out.margin = excess.margin;
  out.vacuous = excess.worst_vacuous;
  out.terms = terms_of(walked, *nearest);
  for (const QuantizationPlan::Rounding& rounding : walked.plan.roundings(nearest->tensor)) {
    if (rounding.span && rounding.span->step >= out.step) {
      out.step = rounding.span->step;
      out.bottom = rounding.span->bottom.low;
      out.top = rounding.span->top.high;
    }
  }
  if (nearest->entry != nullptr) {
    const model::Node& node = walked.context.evidence.model->graph.nodes[nearest->entry->last];
    out.node = node.name;
    out.op = node.op_type;
    add_taps(walked, *nearest, out);
  }
  kept = std::move(out);
}

}  // namespace assay::judge
