// LSTM and GRU beyond ONNX's node data, which has neither both directions nor linear_before_reset.
#include "harness/core/rng.hpp"
#include "tests/embedded_engine/graphs.hpp"

namespace assay::embedded::engine::test {
namespace {

Tensor drawn(core::Rng& rng, const Shape& shape) {
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) value = rng.uniform(-1, 1);
  return core::rounded_to_type(floats(shape, std::move(values)));
}

/// The tensor's blocks of `size` elements in the reverse order.
Tensor reversed(const Tensor& tensor, std::int64_t size) {
  std::vector<double> values;
  for (std::int64_t first = tensor.size() - size; first >= 0; first -= size) {
    for (std::int64_t i = 0; i < size; ++i) values.push_back(tensor.as_real(first + i));
  }
  return floats(tensor.shape(), std::move(values));
}

Tensor twice(const Tensor& tensor) {
  std::vector<double> values = tensor.to_reals();
  values.insert(values.end(), values.begin(), values.begin() + tensor.size());
  Shape shape = tensor.shape();
  shape[0] = 2;
  return floats(shape, std::move(values));
}

Tensor run_layer(const std::string& node, const TensorMap& inputs, const std::map<std::string, Tensor>& weights) {
  const auto outputs =
      run_float(model_of("g (float[3,2,4] x) => (float[s,d,b,h] y) { y = " + node + " }", weights), inputs);
  EXPECT_TRUE(outputs) << (outputs ? "" : outputs.error().message);
  return outputs ? outputs->at("y") : Tensor();
}

TEST(Recurrent, TheSecondDirectionIsTheFirstOnTheReversedSequence) {
  core::Rng rng(3);
  constexpr std::int64_t kHidden = 5, kBatch = 2;
  const Tensor x = drawn(rng, {3, kBatch, 4});
  for (const auto& [op, gates] : {std::pair("LSTM", 4), std::pair("GRU", 3)}) {
    const std::map<std::string, Tensor> one{{"w", drawn(rng, {1, gates * kHidden, 4})},
                                            {"r", drawn(rng, {1, gates * kHidden, kHidden})},
                                            {"b", drawn(rng, {1, 2 * gates * kHidden})}};
    std::map<std::string, Tensor> both;
    for (const auto& [name, tensor] : one) both.emplace(name, twice(tensor));
    const std::string node = std::string(op) + "<hidden_size=5";
    const Tensor forward = run_layer(node + ">(x, w, r, b)", {{"x", x}}, one);
    const Tensor backward = run_layer(node + ", direction=\"reverse\">(x, w, r, b)", {{"x", x}}, one);
    EXPECT_EQ(backward,
              reversed(run_layer(node + ">(x, w, r, b)", {{"x", reversed(x, kBatch * 4)}}, one), kBatch * kHidden));
    const Tensor joined = run_layer(node + ", direction=\"bidirectional\">(x, w, r, b)", {{"x", x}}, both);
    ASSERT_EQ(joined.shape(), (Shape{3, 2, kBatch, kHidden}));
    for (std::int64_t step = 0; step < 3; ++step) {
      for (std::int64_t i = 0; i < kBatch * kHidden; ++i) {
        EXPECT_EQ(joined.as_real(2 * step * kBatch * kHidden + i), forward.as_real(step * kBatch * kHidden + i));
        EXPECT_EQ(joined.as_real((2 * step + 1) * kBatch * kHidden + i), backward.as_real(step * kBatch * kHidden + i));
      }
    }
  }
}

// A reset gate that is the same everywhere goes through the product: both forms agree, unless the product has a bias.
TEST(Recurrent, AUniformResetMayStandBeforeOrBehindTheProduct) {
  core::Rng rng(4);
  const Tensor x = drawn(rng, {3, 2, 4});
  std::map<std::string, Tensor> weights{
      {"w", drawn(rng, {1, 15, 4})}, {"r", drawn(rng, {1, 15, 5})}, {"b", drawn(rng, {1, 30})}};
  for (std::int64_t i = 5; i < 10; ++i) {
    for (std::int64_t k = 0; k < 4; ++k) weights["w"].reals()[static_cast<std::size_t>(i * 4 + k)] = 0;
    for (std::int64_t k = 0; k < 5; ++k) weights["r"].reals()[static_cast<std::size_t>(i * 5 + k)] = 0;
    weights["b"].reals()[static_cast<std::size_t>(i)] = 0.5;
    weights["b"].reals()[static_cast<std::size_t>(15 + i)] = 0;
  }
  const auto difference = [&] {
    const Tensor before = run_layer("GRU<hidden_size=5>(x, w, r, b)", {{"x", x}}, weights);
    const Tensor behind = run_layer("GRU<hidden_size=5, linear_before_reset=1>(x, w, r, b)", {{"x", x}}, weights);
    double most = 0;
    for (std::int64_t i = 0; i < before.size(); ++i) {
      most = std::max(most, std::abs(before.as_real(i) - behind.as_real(i)));
    }
    return most;
  };
  EXPECT_GT(difference(), 0.01) << "the reset takes the bias too where it stands behind";
  for (std::size_t i = 25; i < 30; ++i) weights["b"].reals()[i] = 0;
  EXPECT_LT(difference(), 1e-6);
}

TEST(Recurrent, WhatIsNotComputedIsRefused) {
  const auto outputs =
      run_float(model_of("g (float[3,2,4] x, float[1,20,4] w, float[1,20,5] r) => (float[s,d,b,h] y) { "
                         "y = LSTM<hidden_size=5, clip=1.0>(x, w, r) }"),
                {});
  ASSERT_FALSE(outputs);
  EXPECT_EQ(outputs.error().kind, core::ErrorKind::unsupported);
  EXPECT_NE(outputs.error().message.find("clip"), std::string::npos);
}

}  // namespace
}  // namespace assay::embedded::engine::test
