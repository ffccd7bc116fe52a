#include "tests/mutants/small_artifact.hpp"

#include <memory>
#include <stdexcept>
#include <utility>

#include "harness/core/rng.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::mutants::test {
namespace {

using core::DType;
using core::Tensor;

model::Model parsed(const std::string& text) {
  auto model = model::parse_graph_text(text, {{"", 13}});
  if (!model) throw std::runtime_error(model.error().message);
  return *std::move(model);
}

void give(model::Model& model, const std::string& name, Tensor value) {
  model.graph.initializers[name] = std::make_shared<const Tensor>(std::move(value));
}

Tensor scale(double value) { return Tensor::scalar(DType::float32, value); }
Tensor code(std::int64_t value) { return Tensor(DType::int8, {}, std::vector<std::int64_t>{value}); }

std::vector<std::int64_t> weight_codes() {
  core::Rng rng(1);
  std::vector<std::int64_t> codes(36);
  for (std::int64_t& each : codes) each = rng.integer(-100, 100);
  return codes;
}

const std::vector<double> kWeightScales{0.0078125, 0.00390625};
const std::vector<std::int64_t> kBiasCodes{40, -64};
constexpr double kInputScale = 0.03125;

void give_layout(model::Model& model) {
  give(model, "factor", Tensor(DType::float32, {1}, std::vector<double>{1.5}));
  give(model, "padding", Tensor(DType::int64, {8}, std::vector<std::int64_t>{0, 0, 0, 1, 0, 0, 0, 1}));
}

}  // namespace

model::Model small_artifact() {
  model::Model model = parsed(R"(agraph (float[1,2,4,4] x) => (float[1,2,6,4] y) {
    x_q = QuantizeLinear (x, x_scale, x_zero)
    x_dq = DequantizeLinear (x_q, x_scale, x_zero)
    w = DequantizeLinear <axis=0> (w_q, w_scale, w_zero)
    b = DequantizeLinear <axis=0> (b_q, b_scale)
    c = Conv <pads=[1,1,1,1]> (x_dq, w, b)
    l = LeakyRelu <alpha=0.25> (c)
    l_q = QuantizeLinear (l, l_scale, l_zero)
    l_dq = DequantizeLinear (l_q, l_scale, l_zero)
    m = Sub (l_dq, x_dq)
    m_q = QuantizeLinear (m, m_scale, m_zero)
    m_dq = DequantizeLinear (m_q, m_scale, m_zero)
    k = Mul (m_dq, factor)
    p = Pad <mode="edge"> (k, padding)
    t = Transpose <perm=[0,1,3,2]> (p)
    y = Softmax <axis=1> (t)
  })");
  give(model, "x_scale", scale(kInputScale));
  give(model, "x_zero", code(0));
  give(model, "w_q", Tensor(DType::int8, {2, 2, 3, 3}, weight_codes()));
  give(model, "w_scale", Tensor(DType::float32, {2}, kWeightScales));
  give(model, "w_zero", Tensor(DType::int8, {2}, std::vector<std::int64_t>{0, 0}));
  give(model, "b_q", Tensor(DType::int32, {2}, kBiasCodes));
  give(
      model, "b_scale",
      Tensor(DType::float32, {2}, std::vector<double>{kInputScale * kWeightScales[0], kInputScale * kWeightScales[1]}));
  give(model, "l_scale", scale(0.0625));
  give(model, "l_zero", code(-10));
  give(model, "m_scale", scale(0.125));
  give(model, "m_zero", code(-4));
  give_layout(model);
  return model;
}

model::Model small_original() {
  model::Model model = parsed(R"(agraph (float[1,2,4,4] x) => (float[1,2,6,4] y) {
    c = Conv <pads=[1,1,1,1]> (x, w, b)
    l = LeakyRelu <alpha=0.25> (c)
    m = Sub (l, x)
    k = Mul (m, factor)
    p = Pad <mode="edge"> (k, padding)
    t = Transpose <perm=[0,1,3,2]> (p)
    y = Softmax <axis=1> (t)
  })");
  std::vector<double> weights, biases;
  const std::vector<std::int64_t> codes = weight_codes();
  for (std::size_t i = 0; i < codes.size(); ++i) {
    weights.push_back(static_cast<double>(codes[i]) * kWeightScales[i / (codes.size() / 2)]);
  }
  for (std::size_t i = 0; i < kBiasCodes.size(); ++i) {
    biases.push_back(static_cast<double>(kBiasCodes[i]) * kInputScale * kWeightScales[i]);
  }
  give(model, "w", Tensor(DType::float32, {2, 2, 3, 3}, std::move(weights)));
  give(model, "b", Tensor(DType::float32, {2}, std::move(biases)));
  give_layout(model);
  return model;
}

model::Model model_with_branches() {
  model::Model model = parsed(R"(agraph (float[2,3] x, bool c) => (float[2,3] y) {
    r = Relu (x)
    y = If (c) <then_branch = g1 () => (float[2,3] a) { a = Neg (r) },
                else_branch = g2 () => (float[2,3] b) { b = Add (r, r) }>
  })");
  return model;
}

}  // namespace assay::mutants::test
