#include "harness/judge/alignment/folded_forward.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "harness/judge/alignment/alignment.hpp"
#include "harness/judge/alignment/forward_error.hpp"
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

constexpr std::size_t kWeight = 1, kBias = 2;
constexpr double kWeightFoldRoundings = 4;  ///< sum, root, quotient, product

/// Whether every value that the layer multiplies is one of its input's.
bool pads_nothing(const Node& node) {
  const std::string mode = node.string_or("auto_pad", "NOTSET");
  const std::vector<std::int64_t> pads = node.ints_or("pads", {});
  return mode == "VALID" || (mode == "NOTSET" && std::ranges::all_of(pads, [](std::int64_t pad) { return pad == 0; }));
}

/// Which input and which output channel an element of the layer's weight belongs to.
struct Place {
  std::size_t input = 0, output = 0;
};
class Layout {
 public:
  Layout(const Node& node, const core::Shape& weight) : transposed_(node.int_or("transB", 0) != 0) {
    for (const std::int64_t extent : weight) shape_.push_back(static_cast<std::size_t>(extent));
    if (node.op_type != "Conv") return;
    groups_ = static_cast<std::size_t>(std::max<std::int64_t>(node.int_or("group", 1), 1));
    for (std::size_t axis = 2; axis < shape_.size(); ++axis) kernel_ *= shape_[axis];
  }
  [[nodiscard]] Place operator()(std::size_t element) const {
    const std::size_t first = element / kernel_ / shape_[1], second = element / kernel_ % shape_[1];
    if (shape_.size() == 2) return transposed_ ? Place{second, first} : Place{first, second};
    return {first / (shape_[0] / groups_) * shape_[1] + second, first};
  }
  [[nodiscard]] std::size_t inputs() const {
    return shape_.size() == 2 ? shape_[transposed_ ? 1 : 0] : shape_[1] * groups_;
  }
  [[nodiscard]] std::size_t outputs() const { return shape_.size() == 2 ? shape_[transposed_ ? 0 : 1] : shape_[0]; }
  [[nodiscard]] bool fits() const {
    return std::ranges::find(shape_, 0U) == shape_.end() && (shape_.size() == 2 || shape_[0] % groups_ == 0);
  }

 private:
  bool transposed_;
  std::vector<std::size_t> shape_;
  std::size_t groups_ = 1, kernel_ = 1;
};

/// A BatchNormalization and the layer that alone reads it, by index.
struct Pair {
  std::size_t normalization = 0, layer = 0;
  GainAndShift affine;
  TensorPtr weight;
};

class ForwardFold {
 public:
  ForwardFold(const model::Model& original, const ArtifactView& view) : aligned_(original, &view) {}

  std::shared_ptr<const OriginalForm> run() {
    std::vector<Pair> pairs;
    for (std::size_t i = 0; i < nodes().size(); ++i) {
      if (auto pair = pair_at(i); pair && is_in_the_layer(*pair)) pairs.push_back(*std::move(pair));
    }
    if (pairs.empty()) return nullptr;
    auto form = std::make_shared<OriginalForm>(OriginalForm{*aligned_.original});
    for (const Pair& pair : pairs) fold(pair, *form);
    std::erase_if(form->model.graph.nodes, [](const Node& node) { return node.outputs.empty(); });
    return model::normalize(form->model.graph) ? form : nullptr;
  }

 private:
  [[nodiscard]] const std::vector<Node>& nodes() const { return aligned_.original->graph.nodes; }

  [[nodiscard]] TensorPtr constant(std::string_view tensor) const {
    return find_real_constant(aligned_.constants, tensor);
  }

  [[nodiscard]] std::optional<Pair> pair_at(std::size_t index) const {
    const Node& node = nodes()[index];
    if (!normalizes_by_constants(node) || node.outputs.empty() || !aligned_.is_gone(index)) return std::nullopt;
    const std::string& normalized = node.outputs.front();
    const auto& readers = aligned_.wiring.consumers(normalized);
    if (readers.size() != 1 || aligned_.wiring.is_output(normalized)) return std::nullopt;
    const Node& layer = nodes()[readers.front()];
    const bool convolves = layer.op_type == "Conv" && pads_nothing(layer);
    const bool multiplies = layer.op_type == "Gemm" && layer.int_or("transA", 0) == 0 && beta_of(layer) != 0;
    if (!(convolves || multiplies) || layer.input(0) != normalized) return std::nullopt;
    auto affine = read_batch_normalization(node, aligned_.constants);
    TensorPtr weight = constant(layer.input(kWeight));
    if (!affine || weight == nullptr || weight->rank() < 2) return std::nullopt;
    const Layout layout(layer, weight->shape());
    if (!layout.fits() || layout.inputs() != affine->gain.size()) return std::nullopt;
    const std::string bias(layer.input(kBias));
    const TensorPtr values = bias.empty() ? nullptr : constant(bias);
    if (!bias.empty() && (values == nullptr || static_cast<std::size_t>(values->size()) != layout.outputs()))
      return std::nullopt;
    return Pair{index, readers.front(), *std::move(affine), std::move(weight)};
  }

  /// Whether the artifact's weight of this layer is nearer to the multiplied one than to the one that it was.
  [[nodiscard]] bool is_in_the_layer(const Pair& pair) const {
    const Layout layout(nodes()[pair.layer], pair.weight->shape());
    MultipliedWeight weights;
    return weights.compare(*pair.weight, aligned_.made(pair.layer), [&](std::size_t i) {
      return pair.affine.gain[layout(i).input];
    }) && weights.is_nearer();
  }

  void fold(const Pair& pair, OriginalForm& form) const {
    model::Graph& graph = form.model.graph;
    Node& layer = graph.nodes[pair.layer];
    const Layout layout(layer, pair.weight->shape());
    const TensorPtr bias = constant(layer.input(kBias));
    const double share = layer.op_type == "Gemm" ? alpha_of(layer) / beta_of(layer) : 1;
    Tensor weight = *pair.weight;
    std::vector<double> sums(layout.outputs(), 0.0), terms(layout.outputs(), 0.0);
    for (std::size_t i = 0; i < weight.reals().size(); ++i) {
      const auto [input, output] = layout(i);
      const double added = share * weight.reals()[i] * pair.affine.shift[input];
      sums[output] += added;
      terms[output] += std::abs(added);
      weight.reals()[i] *= pair.affine.gain[input];
    }
    for (std::size_t c = 0; bias != nullptr && c < sums.size(); ++c) {
      sums[c] += bias->reals()[c];
      terms[c] += std::abs(bias->reals()[c]);
    }
    const double error =
        rounding_gamma(kBiasFoldRoundings + static_cast<double>(weight.size()) / static_cast<double>(sums.size())) *
        largest_magnitude(terms);
    const double offset = largest_magnitude(sums);
    const core::Shape shape = bias == nullptr ? core::Shape{static_cast<std::int64_t>(sums.size())} : bias->shape();
    auto folded = std::make_shared<const Tensor>(pair.weight->type(), shape, std::move(sums));
    replace_constant(graph, aligned_.wiring, layer, kWeight, std::make_shared<const Tensor>(std::move(weight)),
                     "_normalized");
    if (bias == nullptr) {
      layer.inputs.resize(kBias + 1);
      layer.inputs[kBias] = model::fresh_name(graph, layer.inputs[kWeight] + "_bias");
      graph.initializers[layer.inputs[kBias]] = std::move(folded);
    } else {
      replace_constant(graph, aligned_.wiring, layer, kBias, std::move(folded), "_normalized");
    }
    form.uncertainty[layer.inputs[kWeight]] = rounding_gamma(kWeightFoldRoundings);
    if (offset > 0) form.uncertainty[layer.inputs[kBias]] = error / offset;
    Node& normalization = graph.nodes[pair.normalization];
    layer.inputs.front() = normalization.inputs.front();
    normalization.outputs.clear();
  }

  Alignment aligned_;
};

}  // namespace

std::shared_ptr<const OriginalForm> folded_forward(const model::Model& model,
                                                   const std::shared_ptr<const model::Model>& artifact) {
  const model::Wiring wiring(model.graph);
  const bool any = std::ranges::any_of(model.graph.nodes, [&](const Node& node) {
    if (!normalizes_by_constants(node) || node.outputs.empty()) return false;
    const auto& readers = wiring.consumers(node.outputs.front());
    return readers.size() == 1 && traits_of(model.graph.nodes[readers.front()]).product != Product::none;
  });
  if (!any) return nullptr;
  const auto view = ArtifactView::build(artifact, model);
  return view ? ForwardFold(model, *view).run() : nullptr;
}

}  // namespace assay::judge
