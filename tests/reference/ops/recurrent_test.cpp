#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "tests/reference/op_case.hpp"

namespace assay::reference {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

// Affine with its default parameters is the identity: every value below is a sum or product of whole numbers.
const Attributes kLinear1{{"activations", std::vector<std::string>{"Affine"}}};
const Attributes kLinear2{{"activations", std::vector<std::string>{"Affine", "Affine"}}};
const Attributes kLinear3{{"activations", std::vector<std::string>{"Affine", "Affine", "Affine"}}};

Attributes with(Attributes attributes, const std::string& name, model::Attribute value) {
  attributes[name] = std::move(value);
  return attributes;
}

/// Output `index` of an operator whose inputs, all there but for null ones, are given.
Reals output_of(const std::string& op, const std::vector<const Tensor*>& inputs, const Attributes& attributes,
                std::size_t index) {
  const auto outputs = run_op(op, inputs, attributes, 22, 3);
  if (!outputs) {
    ADD_FAILURE() << outputs.error().message;
    return {};
  }
  return (*outputs)[index].to_reals();
}

TEST(RNN, CarriesItsStateFromStepToStep) {
  // h1 = 1 + 0.5 * 0, h2 = 2 + 0.5 * h1.
  const Tensor x = reals({2, 1, 1}, {1, 2});
  const Tensor w = reals({1, 1, 1}, {1});
  const Tensor r = reals({1, 1, 1}, {0.5});
  EXPECT_EQ(output_of("RNN", {&x, &w, &r}, kLinear1, 0), (Reals{1, 2.5}));
  EXPECT_EQ(output_of("RNN", {&x, &w, &r}, kLinear1, 1), Reals{2.5});
}

TEST(RNN, TakesTanhByDefault) {
  const Tensor x = reals({1, 1, 1}, {0.5});
  const Tensor one = reals({1, 1, 1}, {1});
  EXPECT_EQ(output_of("RNN", {&x, &one, &one}, {}, 0), Reals{std::tanh(0.5)});
}

TEST(RNN, AddsBothBiases) {
  const Tensor x = reals({1, 1, 1}, {1});
  const Tensor one = reals({1, 1, 1}, {1});
  const Tensor bias = reals({1, 2}, {10, 100});
  EXPECT_EQ(output_of("RNN", {&x, &one, &one, &bias}, kLinear1, 0), Reals{111});
}

TEST(RNN, ReverseStartsAtTheSequencesLastElement) {
  // Lengths 2 and 1 in three steps: sample 0 is 1, 2; sample 1 is 10. Beyond, Y is 0.
  const Tensor x = reals({3, 2, 1}, {1, 10, 2, 20, 4, 40});
  const Tensor w = reals({1, 1, 1}, {1});
  const Tensor lengths = codes(DType::int32, {2}, {2, 1});
  const Attributes reverse = with(kLinear1, "direction", std::string("reverse"));
  EXPECT_EQ(output_of("RNN", {&x, &w, &w, nullptr, &lengths}, reverse, 0), (Reals{3, 10, 2, 0, 0, 0}));
  EXPECT_EQ(output_of("RNN", {&x, &w, &w, nullptr, &lengths}, reverse, 1), (Reals{3, 10}));
}

TEST(RNN, BothDirectionsHaveTheirOwnWeights) {
  const Tensor x = reals({2, 1, 1}, {1, 2});
  const Tensor w = reals({2, 1, 1}, {1, 10});
  const Tensor r = reals({2, 1, 1}, {1, 1});
  const Attributes both{{"activations", std::vector<std::string>{"Affine", "Affine"}},
                        {"direction", std::string("bidirectional")}};
  // Y [steps, directions]: forward 1, 3; backward 20, 30 from the end.
  EXPECT_EQ(output_of("RNN", {&x, &w, &r}, both, 0), (Reals{1, 30, 3, 20}));
  EXPECT_EQ(output_of("RNN", {&x, &w, &r}, both, 1), (Reals{3, 30}));
}

TEST(RNN, LayoutOnePutsTheBatchInFront) {
  const Tensor x = reals({2, 2, 1}, {1, 2, 10, 20});  // [batch, steps, 1]
  const Tensor w = reals({1, 1, 1}, {1});
  const auto outputs = run_op("RNN", {&x, &w, &w}, with(kLinear1, "layout", std::int64_t{1}), 22, 2);
  ASSERT_TRUE(outputs) << outputs.error().message;
  EXPECT_EQ((*outputs)[0], reals({2, 2, 1, 1}, {1, 3, 10, 30}));
  EXPECT_EQ((*outputs)[1], reals({2, 1, 1}, {3, 30}));
}

TEST(RNN, ClipsTheInputsOfItsActivations) {
  const Tensor x = reals({1, 1, 1}, {7});
  const Tensor one = reals({1, 1, 1}, {1});
  EXPECT_EQ(output_of("RNN", {&x, &one, &one}, with(kLinear1, "clip", 2.0), 0), Reals{2});
}

TEST(RNN, NamesTheInputThatDoesNotFit) {
  const Tensor x = reals({1, 1, 2}, {7, 7});
  const Tensor one = reals({1, 1, 1}, {1});
  const auto outputs = run_op("RNN", {&x, &one, &one}, {}, 22);
  ASSERT_FALSE(outputs);
  EXPECT_THAT(outputs.error().message,
              HasSubstr("input 1 \"in1\" is float[1,1,1], expected real values of shape [1,1,2]"));
}

TEST(GRU, ResetsBeforeOrAfterTheLinearStep) {
  // z = 0.5 x, r = 2 x, recurrent weight of the hidden gate 1, Rbh 1; x = 1, h = 4.
  const Tensor x = reals({1, 1, 1}, {1});
  const Tensor w = reals({1, 3, 1}, {0.5, 2, 1});
  const Tensor r = reals({1, 3, 1}, {0, 0, 1});
  const Tensor bias = reals({1, 6}, {0, 0, 0, 0, 0, 1});
  const Tensor h = reals({1, 1, 1}, {4});
  // Before: g = 1 + (2 * 4) * 1 + 1 = 10; after: g = 1 + 2 * (4 * 1 + 1) = 11. Half of it and half of 4.
  EXPECT_EQ(output_of("GRU", {&x, &w, &r, &bias, nullptr, &h}, kLinear2, 1), Reals{7});
  EXPECT_EQ(
      output_of("GRU", {&x, &w, &r, &bias, nullptr, &h}, with(kLinear2, "linear_before_reset", std::int64_t{1}), 1),
      Reals{7.5});
}

TEST(LSTM, MixesItsGates) {
  // i, o, f, c = 1, 2, 3, 4; C = 3 * 2 + 1 * 4, H = 2 * C.
  const Tensor x = reals({1, 1, 1}, {1});
  const Tensor w = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor r = reals({1, 4, 1}, {0, 0, 0, 0});
  const Tensor h = reals({1, 1, 1}, {0});
  const Tensor c = reals({1, 1, 1}, {2});
  EXPECT_EQ(output_of("LSTM", {&x, &w, &r, nullptr, nullptr, &h, &c}, kLinear3, 1), Reals{20});
  EXPECT_EQ(output_of("LSTM", {&x, &w, &r, nullptr, nullptr, &h, &c}, kLinear3, 2), Reals{10});
  // input_forget: f = 1 - i = 0, so C = 4.
  EXPECT_EQ(
      output_of("LSTM", {&x, &w, &r, nullptr, nullptr, &h, &c}, with(kLinear3, "input_forget", std::int64_t{1}), 1),
      Reals{8});
}

TEST(LSTM, TheOutputGatesPeepholeSeesTheNewCell) {
  const Tensor x = reals({1, 1, 1}, {1});
  const Tensor w = reals({1, 4, 1}, {1, 2, 3, 4});
  const Tensor r = reals({1, 4, 1}, {0, 0, 0, 0});
  const Tensor h = reals({1, 1, 1}, {0});
  const Tensor c = reals({1, 1, 1}, {2});
  const Tensor peepholes = reals({1, 3}, {1, 1, 1});
  // i = 1 + 2, f = 3 + 2, C = 5 * 2 + 3 * 4 = 22, o = 2 + 22, H = 24 * 22.
  EXPECT_EQ(output_of("LSTM", {&x, &w, &r, nullptr, nullptr, &h, &c, &peepholes}, kLinear3, 1), Reals{528});
}

}  // namespace
}  // namespace assay::reference
