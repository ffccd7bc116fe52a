#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string_view>

#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// Makes `values` the constant that input `input` of `node`, a node of `graph`, reads: under its name where it is an
/// initializer that nobody else reads by `wiring`, else under a new one that ends in `suffix`.
void replace_constant(model::Graph& graph, const model::Wiring& wiring, model::Node& node, std::size_t input,
                      model::TensorPtr values, std::string_view suffix);

/// Null where `tensor` is no constant of real numbers.
[[nodiscard]] core::TensorPtr find_real_constant(const Constants& constants, std::string_view tensor);

/// 0 of no values.
[[nodiscard]] double largest_magnitude(std::span<const double> values);

/// Whether the weights of an artifact are those of the original with a factor in them, or as they were: by the sums of
/// the squared differences to both, over all weights that are compared.
class MultipliedWeight {
 public:
  /// `gain` is the factor of an element. False, and nothing is compared, where `made` has no weight of this shape.
  [[nodiscard]] bool compare(const core::Tensor& weight, const ArtifactNode* made,
                             const std::function<double(std::size_t)>& gain);
  /// Whether they are nearer to the product.
  [[nodiscard]] bool is_nearer() const { return multiplied_ < as_it_was_; }

 private:
  double as_it_was_ = 0, multiplied_ = 0;
};

}  // namespace assay::judge
