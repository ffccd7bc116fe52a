#include "harness/judge/quantization/ways.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/quantization/open_choices.hpp"

namespace assay::judge {
namespace {

using model::Node;

LayerContext folded(const LayerContext& context, const std::set<std::string>& folds_into) {
  LayerContext way = context;
  way.alignment = align(context.evidence, nullptr,
                        [&](const Node& product) { return folds_into.contains(model::operator_name(product)); });
  return way;
}

/// Every choice of `types`.
std::vector<std::set<std::string>> subsets(const std::set<std::string>& types) {
  std::vector<std::set<std::string>> all{{}};
  for (const std::string& type : types) {
    std::vector<std::set<std::string>> with = all;
    for (auto& subset : with) subset.insert(type);
    std::ranges::move(with, std::back_inserter(all));
  }
  return all;
}

}  // namespace

Way::Way(const LayerContext& context, const std::set<std::string>& folds_into, Supposed supposed)
    : context_(folded(context, folds_into)),
      plan_(context_),
      folds_(!folds_into.empty()),
      supposed_(std::move(supposed)),
      prediction_(context_, plan_, supposed_) {}

std::vector<std::unique_ptr<Way>> other_ways(const LayerContext& context, const QuantizationPlan& plan,
                                             const FakeQuantization& plain) {
  std::vector<std::unique_ptr<Way>> ways;
  if (context.artifact != nullptr || !plan.alignment().given.empty() || !has_calibrated_ranges(context.evidence))
    return ways;
  std::set<std::string> folds;
  for (const Alignment::Operation& entry : plan.alignment().operations)
    if (entry.maybe_folded && !entry.behind_addends) folds.insert(model::operator_name(entry.node));
  const std::vector<Supposed> all = combined_choices(context, plan, plain);
  const std::vector<std::set<std::string>> folded = subsets(folds);
  for (std::size_t i = 0; i < folded.size() * all.size(); ++i) {
    if (i > 0) ways.push_back(std::make_unique<Way>(context, folded[i / all.size()], all[i % all.size()]));
  }
  return ways;
}

}  // namespace assay::judge
