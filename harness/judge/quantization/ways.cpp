#include "harness/judge/quantization/ways.hpp"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <utility>

#include "harness/judge/evidence/demands.hpp"
#include "harness/judge/evidence/operators.hpp"

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
      supposed_(std::move(supposed)),
      prediction_(context_, plan_, supposed_) {}

std::vector<std::unique_ptr<Way>> other_ways(const LayerContext& context, const QuantizationPlan& plan) {
  std::vector<std::unique_ptr<Way>> ways;
  if (context.artifact != nullptr || !plan.alignment().given.empty() || !has_calibrated_ranges(context.evidence))
    return ways;
  std::set<std::string> folds;
  bool groups = false;
  for (const Alignment::Operation& entry : plan.alignment().operations) {
    if (entry.maybe_folded && !entry.behind_addends) folds.insert(model::operator_name(entry.node));
    groups = groups || weight_layout(entry.node, 0).groups > 1;
  }
  const bool float_open = leaves_float_surroundings_open(context.evidence);
  for (const std::set<std::string>& folds_into : subsets(folds)) {
    for (const bool own : {false, true}) {
      for (const bool behind_float : {false, true}) {
        if ((folds_into.empty() && !own && !behind_float) || (own && !groups) || (behind_float && !float_open))
          continue;
        Supposed supposed;
        supposed.own_groups = own;
        supposed.rounds_behind_float = behind_float;
        ways.push_back(std::make_unique<Way>(context, folds_into, std::move(supposed)));
      }
    }
  }
  return ways;
}

}  // namespace assay::judge
