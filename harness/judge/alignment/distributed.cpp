#include "harness/judge/alignment/distributed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/original_form.hpp"
#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;

constexpr std::size_t kNumbers = 4;  // gamma, beta, mean, variance: the inputs from the second on

/// A BatchNormalization, the Concat in front of it, and the layers that this joins, by index.
struct Chain {
  std::size_t normalization = 0, join = 0;
  std::vector<std::size_t> layers;
  std::vector<std::int64_t> channels;  ///< of each layer
};

class Distribution {
 public:
  Distribution(const model::Model& original, const ArtifactView& view) : aligned_(original, &view), view_(view) {}

  std::shared_ptr<const OriginalForm> run() {
    std::vector<Chain> chains;
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      if (auto chain = chain_at(i); chain && is_in_the_layers(*chain)) chains.push_back(*std::move(chain));
    }
    if (chains.empty()) return nullptr;
    auto form = std::make_shared<OriginalForm>(OriginalForm{*aligned_.original});
    for (const Chain& chain : chains) distribute(chain, form->model.graph);
    std::vector<Node>& rest = form->model.graph.nodes;
    std::erase_if(rest, [](const Node& node) { return node.outputs.empty(); });
    return model::normalize(form->model.graph) ? form : nullptr;
  }

 private:
  [[nodiscard]] const std::vector<Node>& nodes() const { return aligned_.original->graph.nodes; }

  [[nodiscard]] TensorPtr constant(std::string_view tensor) const {
    return find_real_constant(aligned_.constants, tensor);
  }

  /// The node that makes `tensor`, where it alone is read, once, and isn't given out.
  [[nodiscard]] std::optional<std::size_t> sole_maker(std::string_view tensor) const {
    const bool alone = aligned_.wiring.consumers(tensor).size() == 1 && !aligned_.wiring.is_output(tensor);
    return alone ? aligned_.wiring.producer(tensor) : std::nullopt;
  }

  /// What may have been folded into layers: the artifact has no BatchNormalization and nothing else in its place.
  [[nodiscard]] std::optional<Chain> chain_at(std::size_t index) const {
    const Node& node = nodes()[index];
    if (!normalizes_by_constants(node) || !aligned_.is_gone(index) || is_another_operator(node)) return std::nullopt;
    const auto join = sole_maker(node.input(0));
    if (!join || nodes()[*join].op_type != "Concat" || nodes()[*join].int_or("axis", 0) != 1) return std::nullopt;
    Chain chain{index, *join, {}, {}};
    std::int64_t all = 0;
    for (const std::string& input : nodes()[*join].inputs) {
      const auto layer = sole_maker(input);
      const TensorPtr weight =
          layer && is_convolution(traits_of(nodes()[*layer]).product) ? constant(nodes()[*layer].input(1)) : nullptr;
      if (weight == nullptr || weight->rank() < 3) return std::nullopt;
      chain.layers.push_back(*layer);
      chain.channels.push_back(weight_layout(nodes()[*layer], weight->rank()).channels(weight->shape()));
      all += chain.channels.back();
    }
    for (std::size_t i = 1; i <= kNumbers; ++i) {
      const TensorPtr numbers = constant(node.input(i));
      if (numbers == nullptr || numbers->size() != all) return std::nullopt;
    }
    return chain;
  }

  /// A Conv by the BatchNormalization's name, for instance.
  [[nodiscard]] bool is_another_operator(const Node& node) const {
    return std::ranges::any_of(view_.nodes(), [&](const ArtifactNode& made) {
      const Node& theirs = view_.artifact().graph.nodes[made.index];
      return theirs.name == node.name && theirs.op_type != "Concat";
    });
  }

  /// Whether the artifact's weights of these layers are nearer to the multiplied ones than to those that they were.
  [[nodiscard]] bool is_in_the_layers(const Chain& chain) const {
    const auto affine = read_batch_normalization(nodes()[chain.normalization], aligned_.constants);
    if (!affine) return false;
    MultipliedWeight weights;
    std::size_t first = 0;
    for (std::size_t l = 0; l < chain.layers.size(); ++l) {
      const Node& layer = nodes()[chain.layers[l]];
      const TensorPtr weight = constant(layer.input(1));
      const WeightLayout layout = weight_layout(layer, weight->rank());
      const auto gain = [&](std::size_t i) { return affine->gain[first + layout.channel(weight->shape(), i)]; };
      if (!weights.compare(*weight, aligned_.made(chain.layers[l]), gain)) return false;
      first += static_cast<std::size_t>(chain.channels[l]);
    }
    return weights.is_nearer();
  }

  /// Each layer's tensor keeps its name, for what it is behind its part of the BatchNormalization.
  void distribute(const Chain& chain, model::Graph& graph) const {
    const Node whole = graph.nodes[chain.normalization];
    std::size_t first = 0;
    for (std::size_t l = 0; l < chain.layers.size(); ++l) {
      std::string& output = graph.nodes[chain.layers[l]].outputs.front();
      Node part = whole;
      part.outputs = {output};
      output = model::fresh_name(graph, output + "_unnormalized");
      part.inputs[0] = output;
      const auto count = static_cast<std::size_t>(chain.channels[l]);
      for (std::size_t i = 1; i <= kNumbers; ++i) {
        const TensorPtr numbers = constant(whole.input(i));
        const auto own = numbers->reals().subspan(first, count);
        part.inputs[i] = model::fresh_name(graph, whole.inputs[i] + "_part");
        graph.initializers[part.inputs[i]] = std::make_shared<const Tensor>(
            numbers->type(), core::Shape{chain.channels[l]}, std::vector<double>(own.begin(), own.end()));
      }
      first += count;
      graph.nodes.push_back(std::move(part));
    }
    // What the Concat makes is what the BatchNormalization made, by the name that the artifact has for it.
    const std::string joined = graph.nodes[chain.join].outputs.front(), normalized = whole.outputs.front();
    if (aligned_.wiring.is_output(normalized) || !view_.quantizers_of(normalized).empty()) {
      graph.nodes[chain.join].outputs = {normalized};
    } else {
      for (Node& node : graph.nodes) std::ranges::replace(node.inputs, normalized, joined);
    }
    graph.nodes[chain.normalization].outputs.clear();
  }

  Alignment aligned_;
  const ArtifactView& view_;
};

}  // namespace

std::shared_ptr<const OriginalForm> distributed(const model::Model& model,
                                                const std::shared_ptr<const model::Model>& artifact) {
  const model::Wiring wiring(model.graph);
  const bool any = std::ranges::any_of(model.graph.nodes, [&](const Node& node) {
    const auto maker = normalizes_by_constants(node) ? wiring.producer(node.input(0)) : std::nullopt;
    return maker && model.graph.nodes[*maker].op_type == "Concat";
  });
  if (!any) return nullptr;
  const auto view = ArtifactView::build(artifact, model);
  return view ? Distribution(model, *view).run() : nullptr;
}

}  // namespace assay::judge
