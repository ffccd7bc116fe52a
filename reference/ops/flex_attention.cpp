#include "reference/arguments.hpp"
#include "reference/attention.hpp"
#include "reference/shape_rules.hpp"
#include "reference/softmax.hpp"

namespace assay::reference {
namespace {

/// `x` through the subgraph that attribute `name` holds; `x` itself where there is none.
Result<Tensor> modified(const OpCall& call, std::string_view name, Tensor x) {
  const auto body = call.node.graph(name);
  if (!body) return x;
  if (body->inputs.size() != 1 || body->outputs.size() != 1 || call.run_subgraph == nullptr) {
    return op_error(std::string(name) + " must have one input and one output");
  }
  const Shape shape = x.shape();
  TensorMap bound;
  bound.emplace(body->inputs[0].name, std::move(x));
  auto outputs = (*call.run_subgraph)(*body, bound);
  if (!outputs) return outputs.error().within(std::string(name));
  if (!outputs->front().is_real() || outputs->front().shape() != shape) {
    return op_error(std::string(name) + " gives " + tensor_text(outputs->front()) + ", expected " +
                    core::shape_text(shape));
  }
  return std::move(outputs->front());
}

// ONNX's preview FlexAttention-1: prob_mod(softmax(score_mod(Q·Kᵀ * scale)))·V by heads. The subgraphs see the type
// that softmax_precision names, by default double for double and float otherwise.
Result<std::vector<Tensor>> run_flex_attention(const OpCall& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  const AttentionHeads heads{call.in(0), call.in(1), call.in(2)};
  if (const auto fit = check_heads(heads); !fit) return fit.error();
  const DType natural = heads.q.type() == DType::float64 ? DType::float64 : DType::float32;
  const auto type = type_argument(call, "softmax_precision", natural);
  if (!type) return type.error();
  if (!core::is_real(*type)) return op_error("softmax_precision must name a floating-point type");
  auto scores = modified(call, "score_mod", attention_scores(heads, attention_scale(call, heads)).relabeled(*type));
  if (!scores) return scores.error();
  const auto probabilities = modified(call, "prob_mod", softmax_of(*scores, split_at_axis(scores->shape(), 3), false));
  if (!probabilities) return probabilities.error();
  return single_output(attention_output(heads, *probabilities));
}

Result<Facts> infer_flex_attention(const ShapeCall& call) {
  for (std::size_t i = 0; i < 3; ++i) {
    if (const auto rank = require_rank(call, i, 4); !rank) return rank.error();
  }
  const TensorFacts& q = call.in(0);
  return one(q.type, Dims{extent_of(q, 0), extent_of(q, 1), extent_of(q, 2), extent_of(call.in(2), 3)});
}

}  // namespace

const OpDef& op_flex_attention() {
  static const OpDef def{.name = "FlexAttention",
                         .min_inputs = 3,
                         .max_inputs = 3,
                         .run = &run_flex_attention,
                         .infer = &infer_flex_attention,
                         .domain = "ai.onnx.preview"};
  return def;
}

}  // namespace assay::reference
