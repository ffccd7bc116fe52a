#include "harness/judge/alignment/original_form.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <utility>

#include "harness/judge/artifact/artifact_params.hpp"

namespace assay::judge {

void replace_constant(model::Graph& graph, const model::Wiring& wiring, model::Node& node, std::size_t input,
                      model::TensorPtr values, std::string_view suffix) {
  std::string& name = node.inputs[input];
  const bool own = wiring.consumers(name).size() <= 1 && graph.initializer(name) != nullptr;
  if (!own) name = model::fresh_name(graph, name + std::string(suffix));
  graph.initializers[name] = std::move(values);
}

core::TensorPtr find_real_constant(const Constants& constants, std::string_view tensor) {
  core::TensorPtr found = find_constant(constants, tensor);
  return found == nullptr || !found->is_real() ? nullptr : found;
}

double largest_magnitude(std::span<const double> values) {
  double most = 0;
  for (const double value : values) most = std::max(most, std::abs(value));
  return most;
}

bool MultipliedWeight::compare(const core::Tensor& weight, const ArtifactNode* made,
                               const std::function<double(std::size_t)>& gain) {
  const core::TensorPtr theirs = made == nullptr || made->inputs.size() < 2 ? nullptr : constant_value(made->inputs[1]);
  if (theirs == nullptr || !theirs->is_real() || theirs->shape() != weight.shape()) return false;
  for (std::size_t i = 0; i < weight.reals().size(); ++i) {
    as_it_was_ += std::pow(theirs->reals()[i] - weight.reals()[i], 2);
    multiplied_ += std::pow(theirs->reals()[i] - weight.reals()[i] * gain(i), 2);
  }
  return true;
}

}  // namespace assay::judge
