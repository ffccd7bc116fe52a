#include "harness/judge/artifact/written_out.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/judge/artifact/integer_product.hpp"
#include "harness/judge/artifact/rewriter.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "reference/quantized_form.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using core::TensorPtr;
using model::Node;
using reference::QuantizedForm;

class Writer : private Rewriter {
 public:
  Writer(const model::Model& artifact, const model::Graph& original) : Rewriter(artifact) {
    for (const Node& node : original.nodes) {
      if (node.op_type == "Gemm") gemms_.insert(node.outputs.begin(), node.outputs.end());
      if (node.op_type == "Add" || node.op_type == "Sub") others_.insert(node.outputs.begin(), node.outputs.end());
    }
    find_matrices(original);
    if (artifact.opset() < kPerAxisOpset && std::ranges::all_of(artifact.graph.nodes, reads_the_same_there)) {
      result_.opsets[""] = kPerAxisOpset;
    }
  }

  model::Model write() {
    find_products();
    result_.graph.nodes.clear();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (inside_products_.contains(i)) continue;
      if (const auto product = products_.find(i); product != products_.end()) {
        write_product(graph_.nodes[product->second.first], product->second.second);
        continue;
      }
      Node node = graph_.nodes[i];
      if (joins_bias(node)) continue;
      const QuantizedForm* form = reference::quantized_form(node);
      if (form != nullptr && form->unpack != nullptr) {
        if (auto blocks = constant_blocks(node, *form)) {
          write_blocks(node, *form, *std::move(blocks));
          continue;
        }
      } else if (form != nullptr && can_write(node, *form)) {
        write(node, *form);
        continue;
      }
      result_.graph.nodes.push_back(std::move(node));
    }
    if (!products_.empty()) drop_unread();  // a product of scales, a bias in another shape
    return std::move(result_);
  }

 private:
  static constexpr std::int64_t kPerAxisOpset = 13;  // before it a DequantizeLinear has one scale

  static bool reads_the_same_there(const Node& node) {
    const QuantizedForm* form = reference::quantized_form(node);
    if (form != nullptr) return form->fits(node, kPerAxisOpset);
    return model::is_quantizer(node) || traits_of(node).unchanged_since_7;
  }

  /// The original's tensors that are known to have two axes.
  void find_matrices(const model::Graph& original) {
    std::map<std::string, std::size_t, std::less<>> ranks;
    for (const model::ValueInfo& input : original.inputs) {
      if (input.shape) ranks[input.name] = input.shape->size();
    }
    for (const auto& [name, tensor] : original.initializers) ranks[name] = tensor->shape().size();
    for (const Node& node : original.nodes) {
      const auto first = ranks.find(node.input(0)), second = ranks.find(node.input(1));
      if (first == ranks.end() || node.outputs.empty()) continue;
      const bool product = node.op_type == "MatMul";
      const bool keeps = product || node.op_type == "BatchNormalization" || node.op_type == "Relu" ||
                         node.op_type == "Clip" || node.op_type == "Identity" || node.op_type == "Transpose";
      if (!keeps || (product && second == ranks.end())) continue;
      ranks[node.outputs.front()] = product ? std::max(first->second, second->second) : first->second;
    }
    for (const auto& [name, rank] : ranks) {
      if (rank == 2) matrices_.insert(name);
    }
  }

  [[nodiscard]] TensorPtr constant(std::string_view name) const {
    const auto found = constants_.find(name);
    return found == constants_.end() ? nullptr : found->second;
  }

  void find_products() {
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      auto product = integer_product(graph_, wiring_, constants_, i);
      if (!product) continue;
      inside_products_.insert(product->between.begin(), product->between.end());
      if (product->last != i) inside_products_.insert(i);
      const std::size_t last = product->last;
      products_.emplace(last, std::pair(i, *std::move(product)));
    }
  }

  /// DequantizeLinear of both operands, the operator on values, and an Add of what it adds itself.
  void write_product(const Node& node, const IntegerProduct& product) {
    const std::vector<std::string>& made = graph_.nodes[product.last].outputs;
    Node values{node.name, std::string(product.op), "", {}, made, {}};
    if (product.op == "Conv") values.attributes = node.attributes;
    std::array<std::string, 3> left{product.codes, product.scale, product.zero_point};
    if (product.left_scale != nullptr) left[1] = stored(product.codes + "_scale", *product.left_scale);
    if (!product.real.empty()) {
      for (std::string& name : left) name = names_.fresh(product.real + "_of_" + node.name);
      Node quantize{left[0], "DynamicQuantizeLinear", "", {product.real}, {left.begin(), left.end()}, {}};
      result_.graph.nodes.push_back(std::move(quantize));
    }
    const TensorPtr weight = constant(product.weight);
    const std::string scale = stored(product.weight + "_scale", *product.weight_scale);
    std::string zero_point = product.weight_zero_point;
    // Every channel's scale has a zero point of its own in ONNX.
    if (const TensorPtr zero = zero_point.empty() ? nullptr : constant(zero_point);
        zero != nullptr && zero->shape() != product.weight_scale->shape() && zero->size() == 1) {
      zero_point = stored(zero_point + "_each",
                          Tensor(zero->type(), product.weight_scale->shape(),
                                 std::vector<std::int64_t>(static_cast<std::size_t>(product.weight_scale->size()),
                                                           zero->integers().front())));
    }
    values.inputs = {
        dequantized(node, left[0], left[1], left[2], 0),
        dequantized(node, product.weight, scale, zero_point, product.op == "Conv" ? 0 : weight->rank() - 1)};
    if (product.mirrored) std::swap(values.inputs[0], values.inputs[1]);
    if (product.addend.empty()) {
      sums_[made.front()] = {result_.graph.nodes.size(), product.behind};
      result_.graph.nodes.push_back(std::move(values));
    } else {
      add_behind(std::move(values), product.addend);
    }
  }

  /// An Add of a constant to a product is its bias, but where the original has such an Add.
  bool joins_bias(const Node& node) {
    if (node.op_type != "Add" || node.inputs.size() != 2 || others_.contains(node.outputs.front())) return false;
    for (const std::size_t i : {0U, 1U}) {
      const auto sum = sums_.find(node.inputs[i]);
      const TensorPtr addend = constant(node.inputs[1 - i]);
      if (sum == sums_.end() || addend == nullptr || wiring_.consumers(node.inputs[i]).size() != 1 ||
          wiring_.is_output(node.inputs[i])) {
        continue;
      }
      Node& product = result_.graph.nodes[sum->second.index];
      std::string bias = node.inputs[1 - i];
      if (product.op_type == "Conv") {
        const core::Shape flat{addend->size()};
        if (!lies_along_channels(*addend, sum->second.behind)) continue;
        bias = stored(bias + "_flat", Tensor(addend->type(), flat, addend->to_reals()));
      } else if (gemms_.contains(node.outputs.front()) || matrices_.contains(node.outputs.front())) {
        product.op_type = "Gemm";
      } else {
        continue;  // of more axes than a Gemm has
      }
      product.inputs.push_back(bias);
      product.outputs = node.outputs;
      return true;
    }
    return false;
  }

  /// The operator's version is the one that the model's opset gives a node, and all parameters are constants.
  bool can_write(const Node& node, const QuantizedForm& form) const {
    if (node.int_or("channels_last", 0) != 0 || node.outputs.empty()) return false;
    if (!form.fits(node, result_.opset())) return false;
    const auto known = [&](std::size_t index) {
      return node.input(index).empty() || constant(node.input(index)) != nullptr;
    };
    const auto given = [&](std::size_t index) { return !node.input(index).empty() && known(index); };
    for (std::size_t i = 0; i < form.count(node.inputs.size()); ++i) {
      const std::size_t operand = form.operand(i);
      if (node.input(operand).empty() || !given(operand + 1) || !known(operand + 2)) return false;
      const bool per_tensor = constant(node.input(operand + 1))->size() == 1;
      // A QLinearMatMul may have one scale for each row.
      if (!per_tensor && (i != 1 || result_.opset() < kPerAxisOpset)) return false;
    }
    return known(form.output) && known(form.output + 1);
  }

  /// The operand in blocks, where all that it is made of is constant and its zero points are codes.
  std::optional<reference::BlockCodes> constant_blocks(const Node& node, const QuantizedForm& form) const {
    if (node.outputs.empty() || !form.fits(node, result_.opset())) return std::nullopt;
    std::vector<TensorPtr> held;
    std::vector<const Tensor*> inputs;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const bool other = i < form.plain || i == form.behind || i == form.addend;
      held.push_back(other ? nullptr : constant(node.inputs[i]));
      if (!other && held.back() == nullptr && !node.inputs[i].empty()) return std::nullopt;
      inputs.push_back(held.back().get());
    }
    if (form.operand(0) >= inputs.size() || inputs[form.operand(0)] == nullptr) return std::nullopt;
    auto blocks = form.unpack({.node = node, .opset = 1, .inputs = inputs});
    if (!blocks || blocks->zero_point.is_real()) return std::nullopt;
    return *std::move(blocks);
  }

  void write_blocks(const Node& node, const QuantizedForm& form, reference::BlockCodes blocks) {
    const std::string packed(node.input(form.operand(0)));
    Node dequantize;
    dequantize.op_type = "DequantizeLinear";
    dequantize.domain = node.domain;  // there the reference takes blocks whatever the opset
    dequantize.attributes["axis"] = blocks.axis;
    dequantize.attributes["block_size"] = blocks.block_size;
    // What is read of an artifact of 16-bit floats is in float32, but for the scales.
    dequantize.attributes["output_dtype"] = static_cast<std::int64_t>(core::DType::float32);
    dequantize.inputs = {stored(packed, std::move(blocks.codes)), stored(packed + "_scale", std::move(blocks.scale)),
                         stored(packed + "_zero_point", std::move(blocks.zero_point))};
    dequantize.outputs = {names_.fresh(packed + "_of_" + node.name)};
    dequantize.name = dequantize.outputs.front();
    Node values = reference::on_values(node, form);
    values.inputs[form.plain] = dequantize.outputs.front();
    result_.graph.nodes.push_back(std::move(dequantize));
    const std::string addend(form.addend ? node.input(*form.addend) : "");
    if (addend.empty()) {
      result_.graph.nodes.push_back(std::move(values));
      return;
    }
    add_behind(std::move(values), addend);
  }

  /// A MatMul and an Add, or the Gemm that the original has there.
  void add_behind(Node values, const std::string& addend) {
    if (values.op_type == "MatMul" && gemms_.contains(values.outputs.front())) {
      values.op_type = "Gemm";
      values.inputs.push_back(addend);
      result_.graph.nodes.push_back(std::move(values));
      return;
    }
    Node add;
    add.name = values.name + "_Add";
    add.op_type = "Add";
    add.outputs = std::exchange(values.outputs, {names_.fresh(values.outputs.front() + "_product")});
    add.inputs = {values.outputs.front(), addend};
    result_.graph.nodes.push_back(std::move(values));
    result_.graph.nodes.push_back(std::move(add));
  }

  /// The name of a constant: its own where it is one already.
  std::string stored(const std::string& name, Tensor tensor) {
    if (const TensorPtr own = constant(name); own != nullptr && *own == tensor) return name;
    std::string made = store(name, std::move(tensor));
    constants_.insert_or_assign(made, result_.graph.initializers.at(made));
    return made;
  }

  void write(const Node& node, const QuantizedForm& form) {
    const std::string made = node.outputs.front();
    Node values = reference::on_values(node, form);
    for (std::size_t i = 0; i < form.count(node.inputs.size()); ++i) {
      const std::size_t operand = form.operand(i);
      // Scales along an axis are those of the second operand, the weight.
      values.inputs[form.plain + i] =
          dequantized(node, std::string(node.input(operand)), std::string(node.input(operand + 1)),
                      std::string(node.input(operand + 2)), form.weight_axis(node));
    }
    if (form.bias && !node.input(*form.bias).empty()) {
      values.inputs.push_back(dequantized(node, std::string(node.input(*form.bias)), bias_scale(node, form), "", 0));
    }
    const bool quantized = !node.input(form.output).empty();
    if (quantized) values.outputs = {names_.fresh(made + "_value")};
    result_.graph.nodes.push_back(values);
    if (!quantized) return;
    Node quantize;
    quantize.name = node.name + "_QuantizeLinear";
    quantize.op_type = "QuantizeLinear";
    quantize.inputs = {values.outputs.front(), std::string(node.input(form.output))};
    if (!node.input(form.output + 1).empty()) quantize.inputs.emplace_back(node.input(form.output + 1));
    quantize.outputs = {made};
    result_.graph.nodes.push_back(std::move(quantize));
  }

  std::string dequantized(const Node& node, const std::string& codes, const std::string& scale,
                          const std::string& zero_point, std::int64_t axis) {
    Node dequantize;
    dequantize.op_type = "DequantizeLinear";
    dequantize.inputs = {codes, scale};
    if (!zero_point.empty()) dequantize.inputs.push_back(zero_point);
    dequantize.outputs = {names_.fresh(codes + "_of_" + node.name)};
    dequantize.name = dequantize.outputs.front();
    if (const TensorPtr scales = constant(scale); scales != nullptr && scales->size() > 1)
      dequantize.attributes["axis"] = axis;
    result_.graph.nodes.push_back(dequantize);
    return dequantize.outputs.front();
  }

  /// Of a bias: the product of the operands' scales.
  std::string bias_scale(const Node& node, const QuantizedForm& form) {
    const double x = constant(node.input(form.operand(0) + 1))->as_real(0);
    const TensorPtr weight = constant(node.input(form.operand(1) + 1));
    std::vector<double> scales = weight->to_reals();
    for (double& scale : scales) scale *= x;
    return stored(std::string(node.input(*form.bias)) + "_scale",
                  Tensor(weight->type(), weight->shape(), std::move(scales)));
  }

  std::set<std::string, std::less<>> gemms_, others_, matrices_;            // what the original's Gemms and sums make
  std::map<std::size_t, std::pair<std::size_t, IntegerProduct>> products_;  // by their last node, with their first
  std::set<std::size_t> inside_products_;
  struct Sum {
    std::size_t index = 0;    // in result_
    std::int64_t behind = 0;  // IntegerProduct::behind
  };
  std::map<std::string, Sum, std::less<>> sums_;  // products by what they make
};

}  // namespace

bool is_on_codes(const Node& node) {
  return reference::quantized_form(node) != nullptr || node.op_type == "MatMulInteger" ||
         node.op_type == "ConvInteger" || node.op_type == "MatMulIntegerToFloat" ||
         node.op_type == "DynamicQuantizeMatMul";
}

std::shared_ptr<const model::Model> written_out(std::shared_ptr<const model::Model> artifact,
                                                const model::Graph& original) {
  if (std::ranges::none_of(artifact->graph.nodes, is_on_codes)) return artifact;
  return std::make_shared<const model::Model>(Writer(*artifact, original).write());
}

}  // namespace assay::judge
