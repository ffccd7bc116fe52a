// LSTM and GRU: whatever lies inside the inputs' intervals ends inside of those that follow.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "harness/core/rng.hpp"
#include "harness/judge/enclosures/enclosure.hpp"
#include "reference/executor.hpp"

namespace assay::judge::recurrent {
namespace {

using core::DType;
using core::Shape;
using core::Tensor;
using model::Node;

constexpr std::int64_t kSteps = 4, kBatch = 2, kInputs = 3, kHidden = 5;

Node layer(const std::string& op, const std::string& direction, bool linear) {
  Node node;
  node.name = node.op_type = op;
  node.inputs = {"x", "w", "r", "b", "", "h"};
  node.outputs = {"y", "yh"};
  node.attributes["hidden_size"] = kHidden;
  node.attributes["direction"] = direction;
  if (op == "LSTM") {
    node.inputs.emplace_back("c");
    node.outputs.emplace_back("yc");
  } else if (linear) {
    node.attributes["linear_before_reset"] = std::int64_t{1};
  }
  return node;
}

Tensor drawn(core::Rng& rng, const Shape& shape, double width) {
  std::vector<double> values(static_cast<std::size_t>(core::element_count(shape)));
  for (double& value : values) value = rng.uniform(-width, width);
  return core::rounded_to_type(Tensor(DType::float32, shape, std::move(values)));
}

/// The layer's operands: X, W, R, B and the states, the lengths left out.
std::vector<Tensor> operands(core::Rng& rng, const Node& node, double width) {
  const std::int64_t directions = node.string_or("direction", "") == "bidirectional" ? 2 : 1;
  const std::int64_t rows = (node.op_type == "LSTM" ? 4 : 3) * kHidden;
  std::vector<Tensor> all{drawn(rng, {kSteps, kBatch, kInputs}, 1), drawn(rng, {directions, rows, kInputs}, width),
                          drawn(rng, {directions, rows, kHidden}, width), drawn(rng, {directions, 2 * rows}, width)};
  const Shape state{directions, kBatch, kHidden};
  all.push_back(drawn(rng, state, 1));
  if (node.op_type == "LSTM") all.push_back(drawn(rng, state, 1));
  return all;
}

/// As the node's inputs: input 4, the lengths, is left out.
template <typename Value>
std::vector<const Value*> as_inputs(const std::vector<Value>& values) {
  std::vector<const Value*> inputs;
  for (const Value& value : values) {
    if (inputs.size() == 4) inputs.push_back(nullptr);
    inputs.push_back(&value);
  }
  return inputs;
}

/// X and the states get intervals of up to `width` to both sides, the weights are what they are.
std::vector<Enclosure> boxes(core::Rng& rng, const std::vector<Tensor>& all, double width) {
  std::vector<Enclosure> result;
  for (std::size_t i = 0; i < all.size(); ++i) {
    std::vector<double> radius(static_cast<std::size_t>(all[i].size()), 0.0);
    const bool weight = i >= 1 && i <= 3;
    for (double& value : radius) value = weight ? 0 : rng.uniform(0, width);
    const auto centre = std::make_shared<const Tensor>(all[i]);
    result.push_back(weight || width == 0 ? exact_enclosure(centre) : enclosure_around(centre, radius));
  }
  return result;
}

/// Some point of each box; every second one a corner.
std::vector<Tensor> point_of(core::Rng& rng, const std::vector<Enclosure>& all, bool corner) {
  std::vector<Tensor> point;
  for (const Enclosure& box : all) {
    Tensor value = *box.centre;
    for (std::int64_t i = 0; i < value.size(); ++i) {
      const double low = box.low_or_centre().as_real(i), high = box.high_or_centre().as_real(i);
      const double share = corner ? (rng.uniform(0, 1) < 0.5 ? 0 : 1) : rng.uniform(0, 1);
      value.reals()[static_cast<std::size_t>(i)] = low + share * (high - low);
    }
    point.push_back(std::move(value));
  }
  return point;
}

struct Form {
  const char* op;
  const char* direction;
  bool linear;
};
constexpr Form kForms[] = {{"LSTM", "forward", false},    {"LSTM", "reverse", false}, {"LSTM", "bidirectional", false},
                           {"GRU", "forward", false},     {"GRU", "reverse", true},   {"GRU", "bidirectional", false},
                           {"GRU", "bidirectional", true}};

TEST(EncloseRecurrent, HoldsEveryPointOfItsInputsIntervals) {
  core::Rng rng(11);
  std::size_t checked = 0;
  for (const Form& form : kForms) {
    const Node node = layer(form.op, form.direction, form.linear);
    for (const double width : {0.001, 0.1, 1.0}) {
      const std::vector<Enclosure> inputs = boxes(rng, operands(rng, node, 1.2), width);
      const auto enclosed = enclose_node(node, 14, as_inputs(inputs), Arithmetic{});
      ASSERT_TRUE(enclosed) << enclosed.error().message;
      ASSERT_EQ(enclosed->size(), node.outputs.size());
      for (int round = 0; round < 60; ++round) {
        const std::vector<Tensor> point = point_of(rng, inputs, round % 2 == 0);
        const auto values = reference::execute_node(node, 14, as_inputs(point));
        ASSERT_TRUE(values) << values.error().message;
        for (std::size_t k = 0; k < values->size(); ++k) {
          for (std::int64_t i = 0; i < (*values)[k].size(); ++i, ++checked) {
            ASSERT_GE((*values)[k].as_real(i), (*enclosed)[k].low_or_centre().as_real(i)) << form.op << " output " << k;
            ASSERT_LE((*values)[k].as_real(i), (*enclosed)[k].high_or_centre().as_real(i))
                << form.op << " output " << k;
          }
        }
      }
    }
  }
  EXPECT_GT(checked, 50000U);
}

float squashed(float x) { return 1.0F / (1.0F + std::exp(-x)); }

/// One forward LSTM or GRU in float32, every operation rounded; `joined` sums inputs, state and biases in one go.
std::vector<float> in_float32(const Node& node, const std::vector<Tensor>& all, bool joined) {
  const std::size_t gates = node.op_type == "LSTM" ? 4 : 3, hidden = kHidden, rows = gates * hidden;
  const bool linear = node.int_or("linear_before_reset", 0) != 0;
  const auto at = [&](std::size_t operand, std::size_t index) {
    return static_cast<float>(all[operand].as_real(static_cast<std::int64_t>(index)));
  };
  std::vector<float> y;
  for (std::size_t batch = 0; batch < kBatch; ++batch) {
    std::vector<float> h(hidden), c(hidden);
    for (std::size_t i = 0; i < hidden; ++i) {
      h[i] = at(4, batch * hidden + i);
      if (all.size() > 5) c[i] = at(5, batch * hidden + i);
    }
    for (std::size_t step = 0; step < kSteps; ++step) {
      const auto input = [&](std::size_t row, float start) {
        for (std::size_t k = 0; k < kInputs; ++k)
          start += at(1, row * kInputs + k) * at(0, (step * kBatch + batch) * kInputs + k);
        return start;
      };
      const auto state = [&](std::size_t row, const std::vector<float>& values, float start) {
        for (std::size_t k = 0; k < hidden; ++k) start += at(2, row * hidden + k) * values[k];
        return start;
      };
      const auto sum = [&](std::size_t gate, std::size_t i) {
        const std::size_t row = gate * hidden + i;
        return joined ? state(row, h, input(row, at(3, row) + at(3, rows + row)))
                      : (input(row, 0) + at(3, row)) + (state(row, h, 0) + at(3, rows + row));
      };
      std::vector<float> next(hidden), kept(hidden);
      for (std::size_t i = 0; i < hidden && gates == 3; ++i) kept[i] = squashed(sum(1, i)) * h[i];
      for (std::size_t i = 0; i < hidden; ++i) {
        if (gates == 4) {
          c[i] = squashed(sum(2, i)) * c[i] + squashed(sum(0, i)) * std::tanh(sum(3, i));
          next[i] = squashed(sum(1, i)) * std::tanh(c[i]);
          continue;
        }
        const std::size_t row = 2 * hidden + i;
        const float recurrent = linear ? squashed(sum(1, i)) * (state(row, h, 0) + at(3, rows + row))
                                       : state(row, kept, 0) + at(3, rows + row);
        const float fresh = std::tanh(input(row, at(3, row)) + recurrent);
        const float update = squashed(sum(0, i));
        next[i] = joined ? fresh + update * (h[i] - fresh) : (1.0F - update) * fresh + update * h[i];
      }
      h = next;
    }
    y.insert(y.end(), h.begin(), h.end());
  }
  return y;
}

TEST(EncloseRecurrent, HoldsFloat32InAnyOrderOfTheSums) {
  core::Rng rng(12);
  std::size_t checked = 0;
  for (const Form& form : kForms) {
    if (std::string(form.direction) == "bidirectional") continue;
    const Node node = layer(form.op, "forward", form.linear);
    for (int round = 0; round < 100; ++round) {
      const std::vector<Tensor> all = operands(rng, node, round % 2 == 0 ? 1 : 4);
      const std::vector<Enclosure> inputs = boxes(rng, all, 0);
      const auto enclosed = enclose_node(node, 14, as_inputs(inputs), {.float_unit = kFloatUnit});
      ASSERT_TRUE(enclosed) << enclosed.error().message;
      for (const bool joined : {false, true}) {
        const std::vector<float> last = in_float32(node, all, joined);
        const Enclosure& known = (*enclosed)[1];
        for (std::size_t i = 0; i < last.size(); ++i, ++checked) {
          const auto value = static_cast<double>(last[i]);
          ASSERT_GE(value, known.low_or_centre().reals()[i]) << form.op << " linear " << form.linear;
          ASSERT_LE(value, known.high_or_centre().reals()[i]) << form.op << " linear " << form.linear;
        }
      }
    }
  }
  EXPECT_GT(checked, 5000U);
}

TEST(EncloseRecurrent, OfCertainInputsIsNarrow) {
  core::Rng rng(13);
  for (const Form& form : kForms) {
    const Node node = layer(form.op, form.direction, form.linear);
    const std::vector<Enclosure> inputs = boxes(rng, operands(rng, node, 1), 0);
    const auto enclosed = enclose_node(node, 14, as_inputs(inputs), {.float_unit = kFloatUnit});
    ASSERT_TRUE(enclosed) << enclosed.error().message;
    for (const Enclosure& output : *enclosed) {
      for (const double radius : radius_of(output)) EXPECT_LT(radius, 1e-3) << form.op;
    }
  }
}

TEST(EncloseRecurrent, SaysWhatItDoesNotFollow) {
  core::Rng rng(14);
  Node node = layer("LSTM", "forward", false);
  const std::vector<Tensor> all = operands(rng, node, 1);
  std::vector<Enclosure> inputs = boxes(rng, all, 0.1);
  const auto refusal = [&] {
    const auto enclosed = enclose_node(node, 14, as_inputs(inputs), {.float_unit = kFloatUnit});
    return enclosed ? std::string("enclosed") : enclosed.error().message;
  };
  EXPECT_EQ(refusal(), "enclosed");
  node.attributes["clip"] = 3.0;
  EXPECT_NE(refusal().find("clip"), std::string::npos);
  node.attributes.erase("clip");
  inputs[1] = boxes(rng, {all[1]}, 0.1).front();
  EXPECT_NE(refusal().find("weights"), std::string::npos);
  inputs = boxes(rng, all, 0.1);
  Tensor high = *inputs[0].high;
  high.reals()[0] = std::numeric_limits<double>::infinity();
  inputs[0].high = std::make_shared<const Tensor>(std::move(high));
  EXPECT_NE(refusal().find("not finite"), std::string::npos);
}

}  // namespace
}  // namespace assay::judge::recurrent
