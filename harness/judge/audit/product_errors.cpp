#include "harness/judge/audit/product_errors.hpp"

#include <array>
#include <cmath>
#include <optional>
#include <set>
#include <utility>

#include "harness/judge/alignment/artifact_in_float.hpp"
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

/// Adds what the products lose on one of so many batches: `actual` against `expected`, by the names in `products`.
void add_errors(ProductErrors::Table& sums, const TensorMap& actual, const TensorMap& expected,
                const std::vector<Watched>& products, double batches) {
  for (const Watched& product : products) {
    const auto a = actual.find(product.made);
    const auto b = expected.find(product.original);
    if (a == actual.end() || b == expected.end() || a->second.shape() != b->second.shape() || !a->second.is_real() ||
        a->second.shape().size() <= kChannelAxis || a->second.size() == 0) {
      continue;
    }
    Tensor difference = a->second;
    double squares = 0;
    for (std::size_t i = 0; i < difference.reals().size(); ++i) {
      difference.reals()[i] -= b->second.reals()[i];
      squares += difference.reals()[i] * difference.reals()[i];
    }
    ProductErrors::Errors& sum = sums[product.made];
    const std::vector<double> means = means_along(difference, kChannelAxis);
    sum.mean.resize(means.size());
    for (std::size_t c = 0; c < means.size(); ++c) sum.mean[c] += means[c] / batches;
    sum.rms += squares / static_cast<double>(difference.size()) / batches;
  }
}

/// Of each of `made`, which are the artifact or have its tensors; nothing of one that can't be run.
using Both = std::array<ProductErrors::Table, 2>;
Both errors_of(const std::array<const model::Model*, 2>& made, const Evidence& evidence,
               const std::vector<Watched>& products) {
  std::set<std::string> theirs, originals;
  for (const Watched& product : products) {
    theirs.insert(product.made);
    originals.insert(product.original);
  }
  Both all;
  std::array<bool, 2> runs{true, true};
  for (const TensorMap& batch : *evidence.calibration) {
    const auto expected = watch(*evidence.model, batch, originals);
    if (!expected) return {};
    for (std::size_t i = 0; i < made.size(); ++i) {
      const auto actual = runs.at(i) ? watch(*made.at(i), batch, theirs) : std::nullopt;
      runs.at(i) = actual.has_value();
      if (actual) {
        add_errors(all.at(i), *actual, *expected, products, static_cast<double>(evidence.calibration->size()));
      }
    }
  }
  for (std::size_t i = 0; i < made.size(); ++i) {
    if (!runs.at(i)) all.at(i).clear();
    for (auto& [name, sum] : all.at(i)) sum.rms = std::sqrt(sum.rms);
  }
  return all;
}

}  // namespace

ProductErrors::ProductErrors(const LayerContext& context) {
  const Evidence& evidence = context.evidence;
  if (evidence.converter.policy.bias != converters::BiasRounding::corrected || context.artifact == nullptr ||
      evidence.calibration == nullptr || evidence.calibration->empty()) {
    return;
  }
  const std::vector<Watched> products = products_of(*context.artifact);
  const model::Model in_float = artifact_in_float(*context.artifact);
  Both both = errors_of({&context.artifact->artifact(), &in_float}, evidence, products);
  errors_ = std::move(both.front());
  of_weights_ = std::move(both.back());
}

}  // namespace assay::judge
