#include "harness/judge/alignment/decomposed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
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

/// A node of the artifact that adds or multiplies by a constant.
struct ByConstant {
  const ArtifactNode* made = nullptr;
  TensorPtr constant;        ///< as real values
  bool quantized = false;    ///< the constant is
  std::string_view operand;  ///< the other one
};

class Decomposition {
 public:
  Decomposition(const model::Model& original, const ArtifactView& view)
      : aligned_(original, &view), view_(view), wiring_(view.artifact().graph) {}

  std::shared_ptr<const OriginalForm> run() {
    for (const ArtifactNode& made : view_.nodes()) {
      const auto last = made.original ? std::nullopt : by_constant(made);
      if (!last) continue;
      const std::string tensor = view_.original_tensor(theirs(made).outputs.front());
      const auto index = aligned_.wiring.producer(tensor);
      if (!index || nodes()[*index].outputs.size() != 1) continue;
      const Node& node = nodes()[*index];
      const OperatorTraits& traits = traits_of(node);
      if (normalizes_by_constants(node)) {
        if (aligned_.is_gone(*index)) split_normalization(*index, *last);
      } else if (traits.product == Product::gemm) {
        split_gemm(*index, *last);
      } else if (aligned_.is_gone(*index) && traits.formula == Formula::quotient && made.op == "Mul") {
        replace(*index, *last, [](double value) { return 1 / value; });
      } else if (aligned_.is_gone(*index) && traits.formula == Formula::difference && made.op == "Add") {
        replace(*index, *last, [](double value) { return -value; });
      }
    }
    if (form_ == nullptr || !model::normalize(form_->model.graph)) return nullptr;
    return std::move(form_);
  }

 private:
  [[nodiscard]] const std::vector<Node>& nodes() const { return aligned_.original->graph.nodes; }
  [[nodiscard]] const Node& theirs(const ArtifactNode& made) const { return view_.artifact().graph.nodes[made.index]; }

  [[nodiscard]] std::optional<ByConstant> by_constant(const ArtifactNode& made) const {
    if ((made.op != "Add" && made.op != "Mul") || made.inputs.size() != 2 || theirs(made).outputs.size() != 1)
      return std::nullopt;
    for (const std::size_t i : {1U, 0U}) {
      TensorPtr constant = constant_value(made.inputs[i]);
      if (constant != nullptr && constant->is_real())
        return ByConstant{&made, std::move(constant), made.inputs[i].quantized(), made.inputs[1 - i].name};
    }
    return std::nullopt;
  }

  /// The node that makes what `tensor` of the artifact carries, through quantizers, where that is read there alone.
  [[nodiscard]] const ArtifactNode* sole_maker(std::string_view tensor) const {
    for (auto producer = wiring_.producer(tensor); producer; producer = wiring_.producer(tensor)) {
      if (wiring_.consumers(tensor).size() != 1 || wiring_.is_output(tensor)) return nullptr;
      const Node& node = view_.artifact().graph.nodes[*producer];
      if (!model::is_quantizer(node)) return view_.find(*producer);
      tensor = node.inputs.front();
    }
    return nullptr;
  }

  [[nodiscard]] TensorPtr constant(std::string_view tensor) const {
    return find_real_constant(aligned_.constants, tensor);
  }

  model::Graph& graph() {
    if (form_ == nullptr) form_ = std::make_shared<OriginalForm>(OriginalForm{*aligned_.original});
    return form_->model.graph;
  }

  /// A constant by the name of `like`, which is free in the original or gets a suffix. What float32 makes of `values`
  /// is as right as they are: the artifact's own, where those are real and as near as that.
  std::string add_constant(const std::string& like, const core::Shape& shape, std::vector<double> values,
                           const ByConstant& own, double largest) {
    constexpr double kRoundings = 8 * 0x1p-24;
    if (!own.quantized && own.constant->reals().size() == values.size()) {
      for (std::size_t i = 0; i < values.size(); ++i) {
        const double theirs = own.constant->reals()[i];
        if (std::fabs(theirs - values[i]) <= kRoundings * largest) values[i] = theirs;
      }
    }
    std::string name = model::fresh_name(graph(), like);
    graph().initializers[name] = std::make_shared<const Tensor>(core::DType::float32, shape, std::move(values));
    return name;
  }

  /// The artifact's name of what lies between, where the original has no tensor of that name.
  [[nodiscard]] std::optional<std::string> between(const ArtifactNode& first) const {
    const std::string& name = theirs(first).outputs.front();
    const model::Graph& now = form_ == nullptr ? aligned_.original->graph : form_->model.graph;
    const bool known =
        aligned_.wiring.producer(name) || now.find_input(name) != nullptr || now.initializer(name) != nullptr;
    return known ? std::nullopt : std::optional(name);
  }

  /// γ/√(σ² + ε) and β − μ·γ/√(σ² + ε) by channels, which in the artifact lie along the second axis: their shape has
  /// all of them first and ones behind.
  void split_normalization(std::size_t index, const ByConstant& sum) {
    const Node node = nodes()[index];
    const auto affine = read_batch_normalization(node, aligned_.constants);
    const ArtifactNode* maker = sum.made->op == "Add" ? sole_maker(sum.operand) : nullptr;
    const auto product = maker == nullptr || maker->original || maker->op != "Mul" ? std::nullopt : by_constant(*maker);
    if (!affine || !product) return;
    const std::size_t channels = affine->gain.size();
    const auto fits = [&](const Tensor& tensor) {
      core::Shape shape = tensor.shape();
      while (shape.size() > 1 && shape.front() == 1) shape.erase(shape.begin());
      return !shape.empty() && shape.front() == static_cast<std::int64_t>(channels) &&
             (shape.size() > 1 || reads_matrix(node)) &&
             std::all_of(shape.begin() + 1, shape.end(), [](std::int64_t extent) { return extent == 1; });
    };
    const auto name = between(*maker);
    if (!name || !fits(*sum.constant) || !fits(*product->constant)) return;
    double largest = 0;
    for (std::size_t i = 0; i < channels; ++i) {
      largest = std::max({largest, std::fabs(affine->shift[i]), std::fabs(constant(node.input(2))->reals()[i])});
    }
    const std::string gain = add_constant(node.name + "_gain", product->constant->shape(), affine->gain, *product,
                                          largest_magnitude(affine->gain));
    const std::string shift = add_constant(node.name + "_shift", sum.constant->shape(), affine->shift, sum, largest);
    put(index, make_node("Mul", theirs(*maker).name, {node.inputs[0], gain}, *name),
        make_node("Add", node.name, {*name, shift}, node.outputs.front()));
  }

  /// It normalizes the rows of a matrix product.
  [[nodiscard]] bool reads_matrix(const Node& node) const {
    const auto producer = aligned_.wiring.producer(node.input(0));
    return producer && traits_of(nodes()[*producer]).product == Product::gemm;
  }

  void split_gemm(std::size_t index, const ByConstant& sum) {
    const Node node = nodes()[index];
    const TensorPtr weight = constant(node.input(1)), bias = constant(node.input(2));
    const ArtifactNode* product = sum.made->op == "Add" ? sole_maker(sum.operand) : nullptr;
    const bool made =
        product != nullptr && product->op == "MatMul" && (!product->original || product->original == index);
    const ArtifactNode* own = aligned_.made(index);
    if (!made || (own != nullptr && own != product) || weight == nullptr || bias == nullptr || weight->rank() != 2 ||
        node.int_or("transA", 0) != 0) {
      return;
    }
    const auto name = between(*product);
    if (!name) return;
    const bool turned = node.int_or("transB", 0) != 0;
    const auto rows = static_cast<std::size_t>(weight->shape()[0]),
               columns = static_cast<std::size_t>(weight->shape()[1]);
    const double alpha = alpha_of(node), beta = beta_of(node);
    std::vector<double> weights(weight->reals().size()), added = bias->to_reals();
    for (std::size_t r = 0; r < rows; ++r) {
      for (std::size_t c = 0; c < columns; ++c)
        weights[turned ? c * rows + r : r * columns + c] = alpha * weight->reals()[r * columns + c];
    }
    for (double& value : added) value *= beta;
    std::string matrix = node.inputs[1], vector = node.inputs[2];
    if (turned || alpha != 1) {
      const core::Shape shape = turned ? core::Shape{weight->shape()[1], weight->shape()[0]} : weight->shape();
      matrix = model::fresh_name(graph(), matrix + "_read");
      graph().initializers[matrix] = std::make_shared<const Tensor>(weight->type(), shape, std::move(weights));
    }
    if (beta != 1) {
      vector = model::fresh_name(graph(), vector + "_read");
      graph().initializers[vector] = std::make_shared<const Tensor>(bias->type(), bias->shape(), std::move(added));
    }
    put(index, make_node("MatMul", node.name, {node.inputs[0], matrix}, *name),
        make_node("Add", theirs(*sum.made).name, {*name, vector}, node.outputs.front()));
  }

  /// `node` by a constant on its right, as another operator by `other` of that.
  template <typename Other>
  void replace(std::size_t index, const ByConstant& other, const Other& of) {
    const Node node = nodes()[index];
    const TensorPtr own = constant(node.input(1));
    if (own == nullptr || constant(node.input(0)) != nullptr) return;
    std::vector<double> values = own->to_reals();
    for (double& value : values) value = of(value);
    if (!std::ranges::all_of(values, [](double value) { return std::isfinite(value); })) return;
    const double largest = largest_magnitude(values);
    const std::string name = add_constant(node.inputs[1] + "_read", own->shape(), std::move(values), other, largest);
    put(index, make_node(std::string(other.made->op), node.name, {node.inputs[0], name}, node.outputs.front()));
  }

  static Node make_node(std::string op, std::string name, std::vector<std::string> inputs, std::string output) {
    Node node;
    node.op_type = std::move(op);
    node.name = std::move(name);
    node.inputs = std::move(inputs);
    node.outputs = {std::move(output)};
    return node;
  }

  void put(std::size_t index, Node first, std::optional<Node> second = std::nullopt) {
    graph().nodes[index] = std::move(first);
    if (second) graph().nodes.push_back(*std::move(second));
  }

  Alignment aligned_;
  const ArtifactView& view_;
  model::Wiring wiring_;  ///< of the artifact
  std::shared_ptr<OriginalForm> form_;
};

}  // namespace

std::shared_ptr<const OriginalForm> decomposed(const model::Model& model,
                                               const std::shared_ptr<const model::Model>& artifact) {
  const bool any = std::ranges::any_of(model.graph.nodes, [](const Node& node) {
    const OperatorTraits& traits = traits_of(node);
    return normalizes_by_constants(node) || traits.product == Product::gemm || traits.formula == Formula::quotient ||
           traits.formula == Formula::difference;
  });
  if (!any) return nullptr;
  const auto view = ArtifactView::build(artifact, model);
  return view ? Decomposition(model, *view).run() : nullptr;
}

}  // namespace assay::judge
