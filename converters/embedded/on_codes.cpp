#include "converters/embedded/on_codes.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "converters/embedded/edit.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {
namespace {

using core::DType;
using model::Node;

constexpr std::string_view kMicrosoft = "com.microsoft";

/// An operator on values, and how the one on codes that stands for it lists its inputs. Each operand is three inputs:
/// codes, scale and zero point; the result's scale and zero point stand behind them.
struct Row {
  std::string_view op, on_codes, domain;
  std::size_t operands = 1;         ///< 0: any number
  bool bias = false;                ///< may have an int32 bias, whose scale is the product of the operands' scales
  bool bias_before_result = false;  ///< the bias, or an empty name, stands before the result's scale
  bool result_first = false;        ///< the result's scale and zero point stand before the operands
};
constexpr auto kRows = std::to_array<Row>({
    {"Add", "QLinearAdd", kMicrosoft, 2},
    {"AveragePool", "QLinearAveragePool", kMicrosoft},
    {"Concat", "QLinearConcat", kMicrosoft, 0, false, false, true},
    {"Conv", "QLinearConv", "", 2, true},
    {"Gemm", "QGemm", kMicrosoft, 2, true, true},
    {"GlobalAveragePool", "QLinearGlobalAveragePool", kMicrosoft},
    {"LeakyRelu", "QLinearLeakyRelu", kMicrosoft},
    {"MatMul", "QLinearMatMul", "", 2},
    {"Mul", "QLinearMul", kMicrosoft, 2},
    {"ReduceMean", "QLinearReduceMean", kMicrosoft},
    {"Sigmoid", "QLinearSigmoid", kMicrosoft},
    {"Softmax", "QLinearSoftmax", kMicrosoft},
});
/// Take codes of any type as their first input and give them out.
constexpr auto kMoves = std::to_array<std::string_view>(
    {"Flatten", "Gather", "MaxPool", "Reshape", "Slice", "Squeeze", "Tile", "Transpose", "Unsqueeze"});

class CodesWriter {
 public:
  explicit CodesWriter(const model::Model& artifact)
      : graph_(artifact.graph), wiring_(artifact.graph), result_(artifact) {}

  model::Model run() {
    std::vector<bool> gone(graph_.nodes.size(), false);
    std::vector<std::optional<Node>> packed(graph_.nodes.size());
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      packed[i] = in_its_place(i, gone);
    }
    result_.graph.nodes.clear();
    for (std::size_t i = 0; i < graph_.nodes.size(); ++i) {
      if (packed[i]) {
        if (!packed[i]->domain.empty()) result_.opsets[packed[i]->domain] = 1;
        result_.graph.nodes.push_back(*std::move(packed[i]));
      } else if (!gone[i]) {
        result_.graph.nodes.push_back(graph_.nodes[i]);
      }
    }
    remove_dead(result_.graph);
    return std::move(result_);
  }

 private:
  /// The node on codes that takes the place of node `index` and of what stands between it and its codes.
  std::optional<Node> in_its_place(std::size_t index, std::vector<bool>& gone) const {
    const Node& node = graph_.nodes[index];
    if (!node.domain.empty() || node.outputs.size() != 1) return std::nullopt;
    const auto* row = std::ranges::find(kRows, node.op_type, &Row::op);
    const bool moves = std::ranges::find(kMoves, node.op_type) != kMoves.end();
    if (row == kRows.end() && !moves) return std::nullopt;
    std::vector<std::size_t> behind;  // up to the QuantizeLinear
    if (!find_quantizer(index, behind)) return std::nullopt;
    const Node& quantizer = graph_.nodes[behind.back()];
    std::optional<Node> made = moves ? moving(node, quantizer) : computing(node, *row, quantizer);
    if (!made || (moves && behind.size() > 1)) return std::nullopt;
    made->outputs = quantizer.outputs;
    for (const std::size_t i : behind) gone[i] = true;
    return made;
  }

  /// Whether the node's output goes into one QuantizeLinear alone, over at most a Relu whose values below zero have no
  /// code.
  bool find_quantizer(std::size_t index, std::vector<std::size_t>& behind) const {
    auto reader = only_reader(graph_, wiring_, graph_.nodes[index].outputs.front());
    const bool relu = reader && is_op(graph_.nodes[*reader], "Relu");
    if (relu) {
      behind.push_back(*reader);
      reader = only_reader(graph_, wiring_, graph_.nodes[*reader].outputs.front());
    }
    if (!reader || !is_op(graph_.nodes[*reader], "QuantizeLinear")) return false;
    behind.push_back(*reader);
    const auto params = declared_params(graph_, graph_.nodes[*reader]);
    if (!params || params->scale.size() != 1 || !has_byte_codes(*params)) return false;
    return !relu || params->zero_point.front() == core::integer_limits(params->type).low;
  }

  static bool has_byte_codes(const core::QuantParams& params) {
    return params.type == DType::int8 || params.type == DType::uint8;
  }

  /// The DequantizeLinear that makes `tensor`.
  const Node* dequantizer(std::string_view tensor) const {
    const auto made = wiring_.producer(tensor);
    return made && is_op(graph_.nodes[*made], "DequantizeLinear") ? &graph_.nodes[*made] : nullptr;
  }

  std::optional<Node> moving(const Node& node, const Node& quantizer) const {
    const Node* dequantizes = dequantizer(node.input(0));
    if (dequantizes == nullptr) return std::nullopt;
    const auto from = declared_params(graph_, *dequantizes);
    if (!from || from != declared_params(graph_, quantizer)) return std::nullopt;
    Node made = node;
    made.inputs.front() = dequantizes->inputs.front();
    return made;
  }

  std::optional<Node> computing(const Node& node, const Row& row, const Node& quantizer) const {
    if (!fits(node)) return std::nullopt;
    const std::size_t operands = row.operands == 0 ? node.inputs.size() : row.operands;
    std::vector<std::string> inputs, result{quantizer.inputs[1], quantizer.inputs[2]};
    for (std::size_t i = 0; i < operands; ++i) {
      const Node* dequantizes = dequantizer(node.input(i));
      if (dequantizes == nullptr || dequantizes->inputs.size() != 3) return std::nullopt;
      const auto params = declared_params(graph_, *dequantizes);
      if (!params || !has_byte_codes(*params)) return std::nullopt;
      // A scale for each channel is the weight's, and of a matrix that one of each column.
      const bool channels = params->scale.size() > 1;
      if (channels && !(i == 1 && (row.bias || is_matrix(dequantizes->inputs.front())))) return std::nullopt;
      inputs.insert(inputs.end(), dequantizes->inputs.begin(), dequantizes->inputs.end());
    }
    std::string bias;
    if (node.inputs.size() > operands) {
      const Node* dequantizes = row.bias ? dequantizer(node.input(operands)) : nullptr;
      const auto* codes = dequantizes == nullptr ? nullptr : graph_.initializer(dequantizes->inputs.front());
      if (codes == nullptr || codes->type() != DType::int32) return std::nullopt;
      bias = dequantizes->inputs.front();
    }
    if (row.bias_before_result) inputs.push_back(bias);
    inputs.insert(row.result_first ? inputs.begin() : inputs.end(), result.begin(), result.end());
    if (row.bias && !row.bias_before_result && !bias.empty()) inputs.push_back(bias);

    Node made = node;
    made.op_type = row.on_codes;
    made.domain = row.domain;
    made.inputs = std::move(inputs);
    made.attributes.erase("beta");
    if (row.op == "Softmax") made.attributes["opset"] = std::int64_t{13};
    return made;
  }

  bool is_matrix(std::string_view codes) const {
    const auto* tensor = graph_.initializer(codes);
    return tensor != nullptr && tensor->rank() == 2;
  }

  /// The operators on codes lack what later versions of those on values have, and QGemm multiplies its bias by alpha.
  static bool fits(const Node& node) {
    if (node.op_type == "Gemm") return node.float_or("alpha", 1) == 1 && node.float_or("beta", 1) == 1;
    if (node.op_type == "AveragePool") return !node.has("dilations");
    return node.op_type != "ReduceMean" || node.inputs.size() == 1;
  }

  const model::Graph& graph_;
  model::Wiring wiring_;
  model::Model result_;
};

}  // namespace

model::Model on_codes(const model::Model& artifact) { return CodesWriter(artifact).run(); }

}  // namespace assay::embedded
