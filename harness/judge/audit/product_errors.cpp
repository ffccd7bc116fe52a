#include "harness/judge/audit/product_errors.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorMap;

/// The channels of what takes a bias, [N, C, …] or [N, C].
constexpr std::size_t kChannelAxis = 1;

struct Watched {
  std::string made, original;  ///< a product's output in both models
};

std::vector<Watched> products_of(const ArtifactView& view) {
  std::vector<Watched> products;
  for (const ArtifactNode& node : view.nodes()) {
    if (!takes_bias(traits_of(node.op).product)) continue;
    const std::string& made = view.artifact().graph.nodes[node.index].outputs.front();
    const std::string original = view.original_tensor(made);
    if (!original.empty()) products.push_back({made, original});
  }
  return products;
}

/// The named tensors of one run; nothing where it fails.
std::optional<TensorMap> watch(const model::Model& model, const TensorMap& inputs, const std::set<std::string>& names) {
  TensorMap seen;
  reference::RunOptions options;
  options.observe = [&](const std::string& name, const Tensor& value) {
    if (names.contains(name)) seen.insert_or_assign(name, value);
  };
  if (!reference::execute(model, inputs, options)) return std::nullopt;
  return seen;
}

}  // namespace

ProductErrors::ProductErrors(const LayerContext& context) {
  const Evidence& evidence = context.evidence;
  if (evidence.converter.policy.bias != converters::BiasRounding::corrected || context.artifact == nullptr ||
      evidence.calibration == nullptr || evidence.calibration->empty()) {
    return;
  }
  const std::vector<Watched> products = products_of(*context.artifact);
  std::set<std::string> made, original;
  for (const Watched& product : products) {
    made.insert(product.made);
    original.insert(product.original);
  }
  std::map<std::string, Errors> sums;
  for (const TensorMap& batch : *evidence.calibration) {
    const auto actual = watch(context.artifact->artifact(), batch, made);
    const auto expected = watch(*evidence.model, batch, original);
    if (!actual || !expected) return;
    for (const Watched& product : products) {
      const auto a = actual->find(product.made);
      const auto b = expected->find(product.original);
      if (a == actual->end() || b == expected->end() || a->second.shape() != b->second.shape() ||
          !a->second.is_real() || a->second.shape().size() <= kChannelAxis || a->second.size() == 0) {
        continue;
      }
      Tensor difference = a->second;
      double squares = 0;
      for (std::size_t i = 0; i < difference.reals().size(); ++i) {
        difference.reals()[i] -= b->second.reals()[i];
        squares += difference.reals()[i] * difference.reals()[i];
      }
      const auto batches = static_cast<double>(evidence.calibration->size());
      Errors& sum = sums[product.made];
      const std::vector<double> means = means_along(difference, kChannelAxis);
      sum.mean.resize(means.size());
      for (std::size_t c = 0; c < means.size(); ++c) sum.mean[c] += means[c] / batches;
      sum.rms += squares / static_cast<double>(difference.size()) / batches;
    }
  }
  for (auto& [name, sum] : sums) sum.rms = std::sqrt(sum.rms);
  errors_ = std::move(sums);
}

const ProductErrors::Errors* ProductErrors::of(const std::string& tensor) const {
  const auto found = errors_.find(tensor);
  return found == errors_.end() ? nullptr : &found->second;
}

}  // namespace assay::judge
