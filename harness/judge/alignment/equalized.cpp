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
#include "harness/judge/alignment/original_form.hpp"
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

/// A product that reads what is multiplied.
struct Reader {
  std::size_t node = 0;
  std::size_t data = 0;  ///< input that is multiplied
  std::size_t weight() const { return 1 - data; }
};

/// The input by which `node` reads `tensor`, where it is one of its two operands and no other.
std::optional<std::size_t> operand(const Node& node, std::string_view tensor) {
  const auto found = std::ranges::find(node.inputs, tensor);
  const auto at = static_cast<std::size_t>(found - node.inputs.begin());
  const bool once = at < 2 && std::ranges::count(node.inputs, tensor) == 1;
  return once ? std::optional(at) : std::nullopt;
}

/// The axis of its constant weight that a product sums over, which has to be the one that `values` lie along.
std::optional<std::size_t> summed_axis(const Graph& graph, const Reader& reader, const Tensor& values) {
  const Node& product = graph.nodes[reader.node];
  const Tensor* weight = graph.initializer(product.input(reader.weight()));
  const Product kind = traits_of(product).product;
  const bool convolves = kind == Product::convolution && product.int_or("group", 1) == 1 && reader.data == 0;
  if (weight == nullptr || !weight->is_real() || weight->rank() < 2 || (!is_matrix_product(kind) && !convolves)) {
    return std::nullopt;
  }
  const auto rank = static_cast<std::size_t>(weight->rank());
  // Of the left operand of a matrix product its columns are summed over, of the right one its rows.
  const auto from_end = [&](std::size_t input) -> std::size_t {
    return (input == 0) != reads_transposed(product, input) ? 1 : 2;
  };
  const std::size_t axis = convolves ? 1 : rank - from_end(reader.weight());
  if (values.size() == 1) return axis;
  const core::Shape& shape = values.shape();
  // Of what is convolved the channels lie behind the batch.
  const std::size_t channels = convolves ? rank - 1 : from_end(reader.data);
  const bool along = shape.size() >= channels && shape[shape.size() - channels] == values.size();
  return along && values.size() == weight->shape()[axis] ? std::optional(axis) : std::nullopt;
}

/// Gives the product its weight with `change`(w, f) for each element of the channel that f of `factors` belongs to.
void change_weight(Graph& graph, const model::Wiring& wiring, const Reader& reader, const Tensor& factors,
                   double (*change)(double, double), std::string_view suffix) {
  Node& product = graph.nodes[reader.node];
  Tensor weight = *graph.initializer(product.inputs[reader.weight()]);
  const auto inner = static_cast<std::size_t>(
      core::element_count(std::span(weight.shape()).subspan(*summed_axis(graph, reader, factors) + 1)));
  // Not rounded to float32: that is the converter's doing, within what the audit of codes allows.
  const std::span<double> values = weight.reals();
  const std::span<const double> channels = factors.reals();
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = change(values[i], channels[i / inner % channels.size()]);
  replace_constant(graph, wiring, product, reader.weight(), std::make_shared<const Tensor>(std::move(weight)), suffix);
}

bool is_usable(const TensorPtr& factors) {
  return factors != nullptr && factors->is_real() && factors->size() > 0 &&
         std::ranges::all_of(factors->reals(), [](double v) { return std::isfinite(v) && v != 0; });
}

/// A Mul of the artifact's own.
struct Factor {
  const Node* node = nullptr;
  std::string source;           ///< tensor of the original that it multiplies
  TensorPtr values;             ///< the constant
  std::vector<Reader> readers;  ///< products of the original that read what it makes, in the order of nodes
};

class Equalization {
 public:
  Equalization(Model original, const ArtifactView& view)
      : view_(view),
        artifact_(view.artifact().graph),
        wiring_(artifact_),
        model_(std::move(original)),
        theirs_(model_.graph) {}

  std::shared_ptr<const OriginalForm> run() {
    std::vector<Factor> factors;
    for (const ArtifactNode& made : view_.nodes()) {
      if (auto factor = factor_of(made)) factors.push_back(*std::move(factor));
    }
    if (factors.empty()) return nullptr;
    for (const Factor& factor : factors) divide_weights(factor);
    // From behind, so that the indices in front stay what they are.
    std::ranges::sort(factors, std::greater(), [](const Factor& factor) { return factor.readers.front().node; });
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
    // One node of the original may have been written twice.
    std::ranges::sort(factor.readers, {}, &Reader::node);
    const auto same = [](const Reader& a, const Reader& b) { return a.node == b.node; };
    factor.readers.erase(std::unique(factor.readers.begin(), factor.readers.end(), same), factor.readers.end());
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
      const ArtifactNode* made = view_.find(index);
      const auto data = operand(node, tensor);
      if (made == nullptr || !made->original || !data) return false;
      const Reader reader{*made->original, *data};
      const std::string read(model_.graph.nodes[reader.node].input(*data));
      if (is_cast_of(read, factor.source)) factor.source = read;
      if (operand(model_.graph.nodes[reader.node], factor.source) != data ||
          !summed_axis(model_.graph, reader, *factor.values)) {
        return false;
      }
      factor.readers.push_back(reader);
    }
    return true;
  }

  /// Casts between floats aren't seen in the artifact (widened_halves).
  [[nodiscard]] bool is_cast_of(std::string tensor, std::string_view source) const {
    while (tensor != source) {
      const auto producer = theirs_.producer(tensor);
      if (!producer || model_.graph.nodes[*producer].op_type != "Cast") return false;
      tensor = model_.graph.nodes[*producer].inputs.front();
    }
    return true;
  }

  void divide_weights(const Factor& factor) {
    for (const Reader& reader : factor.readers)
      change_weight(
          model_.graph, theirs_, reader, *factor.values, [](double w, double f) { return w / f; }, "_divided");
  }

  void insert(const Factor& factor) {
    Node node = *factor.node;
    const std::string name = model::fresh_name(model_.graph, node.name + "_factor");
    model_.graph.initializers[name] = factor.values;
    node.inputs = {factor.source, name};
    for (const Reader& reader : factor.readers)
      model_.graph.nodes[reader.node].inputs[reader.data] = node.outputs.front();
    const auto first = static_cast<std::ptrdiff_t>(factor.readers.front().node);
    model_.graph.nodes.insert(model_.graph.nodes.begin() + first, std::move(node));
  }

  const ArtifactView& view_;
  const Graph& artifact_;
  model::Wiring wiring_;
  Model model_;
  model::Wiring theirs_;  ///< of the original as it came
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
    const std::vector<std::size_t>& consumers = aligned_.wiring.consumers(product);
    std::vector<Reader> readers;
    for (const std::size_t consumer : consumers) {
      const ArtifactNode* made = aligned_.made(consumer);
      const auto data = operand(model_.graph.nodes[consumer], product);
      if (made == nullptr || !data || *data >= made->inputs.size() || made->inputs[*data].original != source)
        return false;
      readers.push_back({consumer, *data});
      if (!summed_axis(model_.graph, readers.back(), *factors->second)) return false;
    }
    if (readers.empty()) return false;
    for (const Reader& reader : readers) {
      change_weight(
          model_.graph, aligned_.wiring, reader, *factors->second, [](double w, double f) { return w * f; },
          "_multiplied");
      model_.graph.nodes[reader.node].inputs[reader.data] = source;
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
