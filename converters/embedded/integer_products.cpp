#include "converters/embedded/integer_products.hpp"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "converters/embedded/edit.hpp"
#include "harness/core/tensor.hpp"

namespace assay::embedded {
namespace {

using core::Tensor;
using model::Node;

class ProductWriter {
 public:
  explicit ProductWriter(const model::Model& artifact)
      : graph_(artifact.graph), wiring_(artifact.graph), names_(artifact.graph), result_(artifact) {
    result_.graph.nodes.clear();
  }

  model::Model run() {
    for (const Node& node : graph_.nodes) {
      if (!write(node)) result_.graph.nodes.push_back(node);
    }
    remove_dead(result_.graph);
    return std::move(result_);
  }

 private:
  const Node* maker(std::string_view tensor, std::string_view op) const {
    const auto made = wiring_.producer(tensor);
    return made && is_op(graph_.nodes[*made], op) ? &graph_.nodes[*made] : nullptr;
  }

  static bool has_form(const Node& node) {
    if (node.op_type == "Gemm") {
      return node.int_or("transA", 0) == 0 && node.int_or("transB", 0) == 0 && node.float_or("alpha", 1) == 1 &&
             node.float_or("beta", 1) == 1;
    }
    return node.op_type == "MatMul" || node.op_type == "Conv";
  }

  bool write(const Node& node) {
    if (!node.domain.empty() || !has_form(node)) return false;
    const Node* left = maker(node.input(0), "DequantizeLinear");
    const Node* dynamic = left == nullptr ? nullptr : maker(left->input(0), "DynamicQuantizeLinear");
    const Node* right = maker(node.input(1), "DequantizeLinear");
    const Tensor* weight = right == nullptr ? nullptr : graph_.initializer(right->input(0));
    if (dynamic == nullptr || weight == nullptr || weight->rank() < 2) return false;
    const bool conv = node.op_type == "Conv";
    const std::string name = node.name;
    const std::string sums = names_.fresh(node.outputs[0] + "_sums"), real = names_.fresh(node.outputs[0] + "_real"),
                      scale = names_.fresh(node.outputs[0] + "_scale");
    Node product{name, conv ? "ConvInteger" : "MatMulInteger", "", {}, {sums}, {}};
    if (conv) product.attributes = node.attributes;
    product.inputs = {left->inputs[0], right->inputs[0], left->inputs[2], right->inputs[2]};
    const std::int64_t spatial = conv ? weight->rank() - 2 : 0;
    const bool adds = node.inputs.size() > 2 && !node.inputs[2].empty();
    const std::string scaled = adds ? names_.fresh(node.outputs[0] + "_scaled") : node.outputs[0];
    add(std::move(product));
    add({names_.fresh(name + "_Cast"), "Cast", "", {sums}, {real}, {{"to", std::int64_t{1}}}});
    add({names_.fresh(name + "_scales"), "Mul", "", {left->inputs[1], spread(right->inputs[1], spatial)}, {scale}, {}});
    add({names_.fresh(name + "_Mul"), "Mul", "", {real, scale}, {scaled}, {}});
    if (adds)
      add({names_.fresh(name + "_Add"), "Add", "", {scaled, spread(node.inputs[2], spatial)}, {node.outputs[0]}, {}});
    return true;
  }

  void add(Node node) { result_.graph.nodes.push_back(std::move(node)); }

  /// A constant of the output channels, with as many axes of extent 1 behind it as the result has.
  std::string spread(const std::string& name, std::int64_t axes) {
    const Tensor* constant = graph_.initializer(name);
    if (constant == nullptr || axes == 0 || constant->size() == 1) return name;
    core::Shape shape = constant->shape();
    shape.resize(shape.size() + static_cast<std::size_t>(axes), 1);
    return put(result_.graph, name, Tensor(constant->type(), shape, constant->to_reals()));
  }

  const model::Graph& graph_;
  model::Wiring wiring_;
  Names names_;
  model::Model result_;
};

}  // namespace

model::Model integer_products(const model::Model& artifact) { return ProductWriter(artifact).run(); }

}  // namespace assay::embedded
