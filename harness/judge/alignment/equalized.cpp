#include "harness/judge/alignment/equalized.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Graph;
using model::Model;
using model::Node;

bool multiplies(const Node& node) { return traits_of(node).formula == Formula::product && node.outputs.size() == 1; }

bool multiplies_by_constant(const Node& node, const Graph& graph) {
  return multiplies(node) && std::ranges::any_of(node.inputs, [&](const std::string& input) {
           return graph.initializer(input) != nullptr;
         });
}

/// Is there anything to look for? A view takes longer.
bool has_own_factor(const Graph& artifact, const Graph& original) {
  const model::Wiring wiring(original);
  return std::ranges::any_of(artifact.nodes, [&](const Node& node) {
    return multiplies_by_constant(node, artifact) && !wiring.producer(node.outputs.front());
  });
}

/// The axis of its constant weight that `product` sums over, which has to be the one that `values` lie along.
std::optional<std::size_t> summed_axis(const Graph& graph, const Node& product, const Tensor& values) {
  const Tensor* weight = graph.initializer(product.input(1));
  const Product kind = traits_of(product).product;
  const bool convolves = kind == Product::convolution && product.int_or("group", 1) == 1;
  if (weight == nullptr || !weight->is_real() || weight->rank() < 2 || reads_transposed(product, 0) ||
      (!is_matrix_product(kind) && !convolves)) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(weight->rank());
  const std::size_t axis = convolves || reads_transposed(product, 1) ? 1 : rank - 2;
  if (values.size() == 1) return axis;
  const core::Shape& shape = values.shape();
  // Of what is read the channels lie last, and behind the batch where it is convolved.
  const std::size_t from_end = convolves ? rank - 1 : 1;
  const bool along = shape.size() >= from_end && shape[shape.size() - from_end] == values.size();
  return along && values.size() == weight->shape()[axis] ? std::optional(axis) : std::nullopt;
}

/// Gives the product its weight with `change`(w, f) for each element of the channel that f of `factors` belongs to.
void change_weight(Graph& graph, std::size_t index, const Tensor& factors, double (*change)(double, double),
                   std::string_view suffix) {
  Node& product = graph.nodes[index];
  Tensor weight = *graph.initializer(product.inputs[1]);
  const auto inner = static_cast<std::size_t>(
      core::element_count(std::span(weight.shape()).subspan(*summed_axis(graph, product, factors) + 1)));
  // Not rounded to float32: that is the converter's doing, within what the audit of codes allows.
  const std::span<double> values = weight.reals();
  const std::span<const double> channels = factors.reals();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = change(values[i], channels[i / inner % channels.size()]);
  const std::string name = model::fresh_name(graph, product.inputs[1] + std::string(suffix));
  graph.initializers[name] = std::make_shared<const Tensor>(std::move(weight));
  product.inputs[1] = name;
}

bool is_usable(const TensorPtr& factors) {
  return factors != nullptr && factors->is_real() && factors->size() > 0 &&
         std::ranges::all_of(factors->reals(), [](double v) { return std::isfinite(v) && v != 0; });
}

/// A Mul of the artifact's own.
struct Factor {
  const Node* node = nullptr;
  std::string source;                ///< tensor of the original that it multiplies
  TensorPtr values;                  ///< the constant
  std::vector<std::size_t> readers;  ///< products of the original that read what it makes
};

class Equalization {
 public:
  Equalization(Model original, const ArtifactView& view)
      : view_(view), artifact_(view.artifact().graph), wiring_(artifact_), model_(std::move(original)) {}

  std::shared_ptr<const OriginalForm> run() {
    std::vector<Factor> factors;
    for (const ArtifactNode& made : view_.nodes()) {
      if (auto factor = factor_of(made)) factors.push_back(*std::move(factor));
    }
    if (factors.empty()) return nullptr;
    for (const Factor& factor : factors) divide_weights(factor);
    // From behind, so that the indices in front stay what they are.
    std::ranges::sort(factors, std::greater(), [](const Factor& factor) { return factor.readers.front(); });
    for (const Factor& factor : factors) insert(factor);
    return std::make_shared<const OriginalForm>(OriginalForm{std::move(model_)});
  }

 private:
  std::optional<Factor> factor_of(const ArtifactNode& made) const {
    const Node& node = artifact_.nodes[made.index];
    if (made.original || !multiplies(node) || made.inputs.size() != 2) return std::nullopt;
    const std::size_t constant = made.inputs[1].constant_values != nullptr ? 1 : 0;
    Factor factor{&node, made.inputs[1 - constant].original, made.inputs[constant].constant_values, {}};
    const bool usable = is_usable(factor.values) && !factor.source.empty();
    if (!usable || wiring_.is_output(node.outputs.front()) || !collect_readers(node.outputs.front(), factor)) {
      return std::nullopt;
    }
    std::ranges::sort(factor.readers);
    factor.readers.erase(std::unique(factor.readers.begin(), factor.readers.end()), factor.readers.end());
    return factor.readers.empty() ? std::nullopt : std::optional(std::move(factor));
  }

  /// False where something reads it that isn't such a product.
  bool collect_readers(const std::string& tensor, Factor& factor) const {
    for (const std::size_t index : wiring_.consumers(tensor)) {
      const Node& node = artifact_.nodes[index];
      if (model::is_quantizer(node) || traits_of(node).movement == Movement::copies) {
        if (node.input(0) != tensor || !collect_readers(node.outputs.front(), factor)) return false;
        continue;
      }
      const ArtifactNode* reader = view_.find(index);
      if (reader == nullptr || !reader->original || node.input(0) != tensor) return false;
      const Node& theirs = model_.graph.nodes[*reader->original];
      if (theirs.input(0) != factor.source || !summed_axis(model_.graph, theirs, *factor.values)) return false;
      factor.readers.push_back(*reader->original);
    }
    return true;
  }

  void divide_weights(const Factor& factor) {
    for (const std::size_t index : factor.readers)
      change_weight(
          model_.graph, index, *factor.values, [](double w, double f) { return w / f; }, "_divided");
  }

  void insert(const Factor& factor) {
    Node node = *factor.node;
    const std::string name = model::fresh_name(model_.graph, node.name + "_factor");
    model_.graph.initializers[name] = factor.values;
    node.inputs = {factor.source, name};
    for (const std::size_t index : factor.readers) model_.graph.nodes[index].inputs[0] = node.outputs.front();
    const auto first = static_cast<std::ptrdiff_t>(factor.readers.front());
    model_.graph.nodes.insert(model_.graph.nodes.begin() + first, std::move(node));
  }

  const ArtifactView& view_;
  const Graph& artifact_;
  model::Wiring wiring_;
  Model model_;
};

/// The original's Muls that went into the weights behind them.
class Absorption {
 public:
  Absorption(const Model& original, const ArtifactView& view) : aligned_(original, &view), model_(original) {}

  std::shared_ptr<const OriginalForm> run() {
    std::vector<std::size_t> absorbed;
    for (std::size_t i = 0; i < model_.graph.nodes.size(); ++i) {
      if (absorb(i)) absorbed.push_back(i);
    }
    if (absorbed.empty()) return nullptr;
    for (auto index = absorbed.rbegin(); index != absorbed.rend(); ++index)
      model_.graph.nodes.erase(model_.graph.nodes.begin() + static_cast<std::ptrdiff_t>(*index));
    return std::make_shared<const OriginalForm>(OriginalForm{std::move(model_)});
  }

 private:
  bool absorb(std::size_t index) {
    const Node& node = model_.graph.nodes[index];
    if (!multiplies(node) || node.inputs.size() != 2 || !aligned_.is_gone(index)) return false;
    const std::size_t constant = aligned_.constants.contains(node.inputs[1]) ? 1 : 0;
    const auto factors = aligned_.constants.find(node.inputs[constant]);
    const std::string source = node.inputs[1 - constant], product = node.outputs.front();
    if (factors == aligned_.constants.end() || !is_usable(factors->second) || aligned_.wiring.is_output(product))
      return false;
    const std::vector<std::size_t>& readers = aligned_.wiring.consumers(product);
    const bool read_there = std::ranges::all_of(readers, [&](std::size_t reader) {
      const ArtifactNode* made = aligned_.made(reader);
      const Node& theirs = model_.graph.nodes[reader];
      return made != nullptr && !made->inputs.empty() && made->inputs[0].original == source &&
             theirs.input(0) == product && std::ranges::count(theirs.inputs, product) == 1 &&
             summed_axis(model_.graph, theirs, *factors->second);
    });
    if (readers.empty() || !read_there) return false;
    for (const std::size_t reader : readers) {
      change_weight(
          model_.graph, reader, *factors->second, [](double w, double f) { return w * f; }, "_multiplied");
      model_.graph.nodes[reader].inputs[0] = source;
    }
    return true;
  }

  Alignment aligned_;
  Model model_;
};

}  // namespace

std::shared_ptr<const OriginalForm> absorbed(const Model& original, const std::shared_ptr<const Model>& artifact) {
  const model::Wiring wiring(original.graph);
  const bool any = std::ranges::any_of(original.graph.nodes, [&](const Node& node) {
    if (!multiplies_by_constant(node, original.graph)) return false;
    const auto& readers = wiring.consumers(node.outputs.front());
    return !readers.empty() && std::ranges::all_of(readers, [&](std::size_t reader) {
      return traits_of(original.graph.nodes[reader]).product != Product::none;
    });
  });
  if (!any) return nullptr;
  const core::Result<ArtifactView> view = ArtifactView::build(artifact, original);
  return view ? Absorption(original, *view).run() : nullptr;
}

std::shared_ptr<const OriginalForm> equalized(const Model& original, const std::shared_ptr<const Model>& artifact) {
  if (!has_own_factor(artifact->graph, original.graph)) return nullptr;
  const core::Result<ArtifactView> view = ArtifactView::build(artifact, original);
  return view ? Equalization(original, *view).run() : nullptr;
}

}  // namespace assay::judge
