#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/attention.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kQuery, kKey, kValue, kPastState, kDecay, kBeta };

struct Rule {
  bool gated, delta;
};

Result<Rule> rule_of(const OpCall& call) {
  const std::string name = call.node.string_or("update_rule", "gated_delta");
  if (name != "linear" && name != "gated" && name != "delta" && name != "gated_delta") {
    return op_error(fmt::format("update_rule is \"{}\", expected linear, gated, delta or gated_delta", name));
  }
  const Rule rule{name.starts_with("gated"), name.ends_with("delta")};
  if ((rule.gated && !call.has_input(kDecay)) || (rule.delta && !call.has_input(kBeta))) {
    return op_error(fmt::format("update_rule {} needs decay (gated) and beta (delta)", name));
  }
  return rule;
}

/// Input `index` [batch, steps, n] by batch, step, head and element: n is `heads` times `width`, or less and repeated.
struct PerHead {
  const Tensor* values;
  std::int64_t steps, heads, per_head, width;

  static Result<PerHead> of(const OpCall& call, std::size_t index, std::int64_t heads) {
    const Tensor& x = call.in(index);
    const Shape& q = call.in(kQuery).shape();
    if (!x.is_real() || x.rank() != 3 || x.shape()[0] != q[0] || x.shape()[1] != q[1]) {
      return op_error(fmt::format("{} is {}, expected [batch, length, …]", input_text(call, index), tensor_text(x)));
    }
    const std::int64_t width = x.shape()[2];
    if (width != 1 && width % heads != 0) {
      return op_error(
          fmt::format("{} is {}, which doesn't divide into {} heads", input_text(call, index), tensor_text(x), heads));
    }
    return PerHead{&x, q[1], heads, width == 1 ? 0 : width / heads, width};
  }
  [[nodiscard]] double at_element(std::int64_t b, std::int64_t t, std::int64_t h, std::int64_t i) const {
    return values->reals()[at((b * steps + t) * width + h * per_head + (per_head > 1 ? i : 0))];
  }
};

// ONNX LinearAttention-27, for each batch and key head, with a state S [d_k, d_v], over the steps t:
//   gated: S = exp(g_t) * S;   delta: S += β_t k_t ⊗ (v_t - Sᵀ k_t), else S += k_t ⊗ v_t;   o_t = scale * q_tᵀ S
// chunk_size changes no result.
Result<std::vector<Tensor>> run_linear_attention(const OpCall& call) {
  const auto rule = rule_of(call);
  if (!rule) return rule.error();
  const std::int64_t q_heads = call.node.int_or("q_num_heads", 0);
  const std::int64_t heads = call.node.int_or("kv_num_heads", 0);
  auto q = split_heads(call.in(kQuery), q_heads);
  if (!q) return q.error();
  auto k = split_heads(call.in(kKey), heads);
  if (!k) return k.error();
  auto v = split_heads(call.in(kValue), heads);
  if (!v) return v.error();
  AttentionHeads all{std::move(*q), std::move(*k), std::move(*v)};
  if (const auto fit = check_heads(all); !fit) return fit.error();
  const std::int64_t steps = all.q_length();
  const std::int64_t d_k = all.k.shape()[3];
  const std::int64_t d_v = all.v.shape()[3];
  if (all.kv_length() != steps) return op_error(fmt::format("{} queries and {} keys", steps, all.kv_length()));
  const auto decay = rule->gated ? PerHead::of(call, kDecay, heads) : PerHead{};
  if (!decay) return decay.error();
  const auto beta = rule->delta ? PerHead::of(call, kBeta, heads) : PerHead{};
  if (!beta) return beta.error();
  const Shape state_shape{all.batch(), heads, d_k, d_v};
  const DType state_type = call.has_input(kPastState) ? call.in(kPastState).type() : all.q.type();
  if (call.has_input(kPastState) && call.in(kPastState).shape() != state_shape) {
    return op_error(
        fmt::format("past_state is {}, expected {}", tensor_text(call.in(kPastState)), core::shape_text(state_shape)));
  }
  std::vector<double> state = call.has_input(kPastState)
                                  ? call.in(kPastState).to_reals()
                                  : std::vector<double>(at(core::element_count(state_shape)), 0.0);
  const double given = call.node.float_or("scale", 0.0);
  const double scale = given == 0.0 ? 1.0 / std::sqrt(static_cast<double>(d_k)) : given;
  const std::int64_t group = q_heads / heads;
  std::vector<double> y(at(all.batch() * steps * q_heads * d_v), 0.0);
  for (std::int64_t b = 0; b < all.batch(); ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      double* s = state.data() + (b * heads + h) * d_k * d_v;
      for (std::int64_t t = 0; t < steps; ++t) {
        const double* key = all.k.reals().data() + ((b * heads + h) * steps + t) * d_k;
        const double* value = all.v.reals().data() + ((b * heads + h) * steps + t) * d_v;
        for (std::int64_t i = 0; rule->gated && i < d_k; ++i) {
          for (std::int64_t j = 0; j < d_v; ++j) s[i * d_v + j] *= std::exp(decay->at_element(b, t, h, i));
        }
        for (std::int64_t j = 0; j < d_v; ++j) {
          double update = value[j];
          for (std::int64_t i = 0; rule->delta && i < d_k; ++i) update -= s[i * d_v + j] * key[i];
          if (rule->delta) update *= beta->at_element(b, t, h, 0);
          for (std::int64_t i = 0; i < d_k; ++i) s[i * d_v + j] += key[i] * update;
        }
        for (std::int64_t head = h * group; head < (h + 1) * group; ++head) {
          const double* query = all.q.reals().data() + ((b * q_heads + head) * steps + t) * d_k;
          double* out = y.data() + ((b * steps + t) * q_heads + head) * d_v;
          for (std::int64_t i = 0; i < d_k; ++i) {
            for (std::int64_t j = 0; j < d_v; ++j) out[j] += scale * query[i] * s[i * d_v + j];
          }
        }
      }
    }
  }
  return std::vector{Tensor(all.q.type(), {all.batch(), steps, q_heads * d_v}, std::move(y)),
                     Tensor(state_type, state_shape, std::move(state))};
}

Result<Facts> infer_linear_attention(const ShapeCall& call) {
  for (const std::size_t i : {kQuery, kKey, kValue}) {
    if (const auto rank = require_rank(call, i, 3); !rank) return rank.error();
  }
  const std::int64_t heads = call.node.int_or("kv_num_heads", 0);
  const auto key_size = divided(extent_of(call.in(kKey), 2), heads, "kv_num_heads");
  if (!key_size) return key_size.error();
  const auto value_size = divided(extent_of(call.in(kValue), 2), heads, "kv_num_heads");
  if (!value_size) return value_size.error();
  const TensorFacts& q = call.in(kQuery);
  const std::array width{known(call.node.int_or("q_num_heads", 0)), *value_size};
  const DType state = call.has_input(kPastState) ? call.in(kPastState).type : q.type;
  return Facts{typed(q.type, Dims{extent_of(q, 0), extent_of(q, 1), product(width)}),
               typed(state, Dims{extent_of(q, 0), known(heads), *key_size, *value_size})};
}

}  // namespace

const OpDef& op_linear_attention() {
  static const OpDef def{.name = "LinearAttention",
                         .first_opset = 27,
                         .min_inputs = 3,
                         .max_inputs = 6,
                         .run = &run_linear_attention,
                         .infer = &infer_linear_attention};
  return def;
}

}  // namespace assay::reference
