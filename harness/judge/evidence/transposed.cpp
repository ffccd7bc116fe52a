#include "harness/judge/evidence/transposed.hpp"

#include "harness/judge/evidence/operators.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Tensor;
using model::Node;

/// The transposed convolution of a convolution, and the other way round: the weight stays as it is.
std::optional<Node> transposed_convolution(const Node& node, const core::Shape& x, const core::Shape& w,
                                           const core::Shape& y) {
  if (node.string_or("auto_pad", "NOTSET") != "NOTSET" || node.has("output_shape") || x.size() < 3) {
    return std::nullopt;
  }
  Node back = node;
  back.attributes.erase("output_padding");
  if (traits_of(node).product == Product::transposed_convolution) {
    back.op_type = "Conv";
    return back;
  }
  back.op_type = "ConvTranspose";
  const std::size_t dims = x.size() - 2;
  const auto at = [&](const char* name, std::size_t d, std::int64_t usual) {
    const std::vector<std::int64_t> values = node.ints_or(name);
    return d < values.size() ? values[d] : usual;
  };
  std::vector<std::int64_t> padding;
  for (std::size_t d = 0; d < dims; ++d) {
    const std::int64_t reach = (w[d + 2] - 1) * at("dilations", d, 1) + 1;
    padding.push_back(x[d + 2] -
                      ((y[d + 2] - 1) * at("strides", d, 1) - at("pads", d, 0) - at("pads", d + dims, 0) + reach));
  }
  back.attributes["output_padding"] = padding;
  return back;
}

Tensor transposed_matrix(const Tensor& matrix) {
  const std::int64_t rows = matrix.shape()[0], columns = matrix.shape()[1];
  Tensor turned = Tensor::zeros(core::DType::float64, {columns, rows});
  for (std::int64_t i = 0; i < rows * columns; ++i) {
    turned.reals()[static_cast<std::size_t>(i % columns * rows + i / columns)] =
        matrix.reals()[static_cast<std::size_t>(i)];
  }
  return turned;
}

}  // namespace

Tensor like(const Tensor& shape, std::vector<double> values) {
  return {core::DType::float64, shape.shape(), std::move(values)};
}

std::optional<Tensor> run_one(const Node& node, std::int64_t opset, const std::vector<const Tensor*>& inputs,
                              std::size_t position) {
  auto outputs = reference::execute_node(node, opset, inputs);
  if (!outputs || position >= outputs->size() || !(*outputs)[position].is_real()) {
    return std::nullopt;
  }
  return std::move((*outputs)[position]);
}

std::optional<std::vector<double>> through_product(const Node& node, std::int64_t opset, const core::Shape& data,
                                                   const Tensor& constant, const Tensor& row) {
  const Tensor weight = like(constant, constant.to_reals());
  std::optional<Tensor> result;
  if (is_convolution(traits_of(node).product)) {
    const auto back = transposed_convolution(node, data, weight.shape(), row.shape());
    result = back ? run_one(*back, opset, {&row, &weight}) : std::nullopt;
  } else if (weight.rank() == 2 && !reads_transposed(node, 0)) {
    Node back;
    back.op_type = "MatMul";
    back.outputs = {"back"};
    const Tensor turned = !reads_transposed(node, 1) ? transposed_matrix(weight) : weight;
    result = run_one(back, opset, {&row, &turned});
    if (result) {
      for (double& value : result->reals()) {
        value *= alpha_of(node);
      }
    }
  }
  if (!result || result->size() != core::element_count(data)) {
    return std::nullopt;
  }
  return result->to_reals();
}

}  // namespace assay::judge
