#include "reference/nll.hpp"

#include <fmt/format.h>

#include <optional>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

core::Status check_inputs(const OpCall& call, const Tensor& log_prob) {
  if (auto integer = require_integer(call, 1); !integer) return integer;
  const Tensor& labels = call.in(1);
  Shape expected = log_prob.shape();
  if (log_prob.rank() < 2) return op_error(fmt::format("scores are {}, expected [N, C, …]", tensor_text(log_prob)));
  const std::int64_t classes = expected[1];
  expected.erase(expected.begin() + 1);
  if (labels.shape() != expected) {
    return op_error(fmt::format("{} is {}, expected the shape {}", input_text(call, 1), tensor_text(labels),
                                core::shape_text(expected)));
  }
  if (!call.has_input(2)) return core::success();
  if (auto real = require_real(call, 2); !real) return real;
  if (call.in(2).shape() != Shape{classes}) {
    return op_error(fmt::format("{} is {}, expected a weight for each of {} classes", input_text(call, 2),
                                tensor_text(call.in(2)), classes));
  }
  return core::success();
}

}  // namespace

Result<Tensor> negative_log_likelihood(const OpCall& call, const Tensor& log_prob) {
  if (const auto inputs = check_inputs(call, log_prob); !inputs) return inputs.error();
  const std::string reduction = call.node.string_or("reduction", "mean");
  if (reduction != "none" && reduction != "mean" && reduction != "sum") {
    return op_error(fmt::format("reduction is \"{}\", expected none, mean or sum", reduction));
  }
  const std::optional<std::int64_t> ignored =
      call.node.has("ignore_index") ? std::optional(call.node.int_or("ignore_index", 0)) : std::nullopt;
  const Tensor& labels = call.in(1);
  const Tensor* weights = call.optional_in(2);
  const AxisSplit split = split_at_axis(log_prob.shape(), 1);
  std::vector<double> losses(at(labels.size()), 0.0);
  double sum = 0.0;
  double weight_sum = 0.0;
  for (std::int64_t i = 0; i < labels.size(); ++i) {
    const std::int64_t label = labels.integers()[at(i)];
    if (label == ignored) continue;
    if (label < 0 || label >= split.extent) {
      return op_error(
          fmt::format("{} names class {} at element {}, there are {}", input_text(call, 1), label, i, split.extent));
    }
    const std::int64_t n = i / split.inner;
    const double weight = weights == nullptr ? 1.0 : weights->reals()[at(label)];
    losses[at(i)] = -log_prob.reals()[at((n * split.extent + label) * split.inner + i % split.inner)] * weight;
    sum += losses[at(i)];
    weight_sum += weight;
  }
  if (reduction == "none") return Tensor(log_prob.type(), labels.shape(), std::move(losses));
  return Tensor(log_prob.type(), {}, std::vector{reduction == "sum" ? sum : sum / weight_sum});
}

Result<Facts> infer_nll(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  if (const auto rank = require_least_rank(call, 0, 2); !rank) return rank.error();
  const TensorFacts& scores = call.in(0);
  if (call.node.string_or("reduction", "mean") != "none") return one(scores.type, Dims{});
  if (!scores.shape) return one(scores.type, call.in(1).shape);
  Dims shape = *scores.shape;
  shape.erase(shape.begin() + 1);
  if (const auto labels = require_shape(call, 1, shape); !labels) return labels.error();
  return one(scores.type, std::move(shape));
}

}  // namespace assay::reference
