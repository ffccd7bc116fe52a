#include "reference/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/broadcast.hpp"
#include "reference/shape_rules.hpp"
#include "reference/softmax.hpp"

namespace assay::reference {
namespace {

enum Input : std::size_t { kQ, kK, kV, kMask, kPastKey, kPastValue, kNonpad };

constexpr double kForbidden = -std::numeric_limits<double>::infinity();

/// `past` followed by `x` along the sequence; `x` alone where there is no past.
Result<Tensor> after(const Tensor* past, Tensor x) {
  if (past == nullptr) return x;
  if (past->rank() != 4 || x.rank() != 4)
    return op_error(fmt::format("the past {} has not rank 4", tensor_text(*past)));
  return concatenated({past, &x}, 2);
}

Result<AttentionHeads> heads_of(const OpCall& call) {
  if (call.has_input(kPastKey) != call.has_input(kPastValue)) return op_error("past_key and past_value go together");
  const std::int64_t kv_heads = call.node.int_or("kv_num_heads", 0);
  auto q = split_heads(call.in(kQ), call.node.int_or("q_num_heads", 0));
  if (!q) return q.error();
  auto k = split_heads(call.in(kK), kv_heads);
  if (!k) return k.error();
  auto v = split_heads(call.in(kV), kv_heads);
  if (!v) return v.error();
  k = after(call.optional_in(kPastKey), std::move(*k));
  if (!k) return k.error();
  v = after(call.optional_in(kPastValue), std::move(*v));
  if (!v) return v.error();
  AttentionHeads heads{std::move(*q), std::move(*k), std::move(*v)};
  if (const auto fit = check_heads(heads); !fit) return fit.error();
  return heads;
}

/// What is added to the scores: -infinity where a query may not see a key, else what the mask says.
class Bias {
 public:
  static Result<Bias> of(const OpCall& call, const AttentionHeads& heads) {
    Bias bias(call);
    bias.lengths_.assign(at(heads.batch()), heads.kv_length());
    if (call.has_input(kNonpad)) {
      const auto lengths = integer_list(call, kNonpad);
      if (!lengths) return lengths.error();
      if (static_cast<std::int64_t>(lengths->size()) != heads.batch()) {
        return op_error(
            fmt::format("{} lengths in nonpad_kv_seqlen for a batch of {}", lengths->size(), heads.batch()));
      }
      bias.lengths_ = *lengths;
    }
    // The number of keys before the first query: those of the past, or what an outside cache holds beyond the queries.
    const std::int64_t past = call.has_input(kPastKey) ? call.in(kPastKey).shape()[2] : 0;
    for (const std::int64_t length : bias.lengths_) {
      bias.offsets_.push_back(call.has_input(kNonpad) && past == 0 ? length - heads.q_length() : past);
    }
    if (!call.has_input(kMask)) return bias;
    const Tensor& mask = call.in(kMask);
    if (mask.rank() == 0) return op_error("attn_mask is a scalar");
    bias.mask_ = &mask;
    bias.mask_width_ = mask.shape().back() == 1 ? heads.kv_length() : mask.shape().back();
    Shape covered = heads.score_shape();
    covered.back() = bias.mask_width_;
    const auto joint = broadcast_shape(mask.shape(), covered);
    if (!joint || *joint != covered || bias.mask_width_ > heads.kv_length()) {
      return op_error(fmt::format("attn_mask {} doesn't broadcast to {}", tensor_text(mask),
                                  core::shape_text(heads.score_shape())));
    }
    bias.mask_strides_ = broadcast_strides(mask.shape(), covered);
    return bias;
  }

  [[nodiscard]] double operator()(std::int64_t b, std::int64_t h, std::int64_t query, std::int64_t key) const {
    const std::int64_t position = offsets_[at(b)] + query;
    if (key >= lengths_[at(b)] || (causal_ && key > position)) return kForbidden;
    if (left_ >= 0 && key < position - left_) return kForbidden;
    if (right_ >= 0 && key > position + right_) return kForbidden;
    if (mask_ == nullptr) return 0.0;
    if (key >= mask_width_) return kForbidden;  // a shorter mask is continued by -infinity
    const std::size_t from =
        at(b * mask_strides_[0] + h * mask_strides_[1] + query * mask_strides_[2] + key * mask_strides_[3]);
    if (mask_->is_real()) return mask_->reals()[from];
    return mask_->integers()[from] != 0 ? 0.0 : kForbidden;
  }

 private:
  explicit Bias(const OpCall& call)
      : causal_(call.node.int_or("is_causal", 0) != 0),
        left_(call.node.int_or("left_window_size", -1)),
        right_(call.node.int_or("right_window_size", -1)) {}

  bool causal_;
  std::int64_t left_, right_;
  std::vector<std::int64_t> lengths_, offsets_;  ///< of each sample
  const Tensor* mask_ = nullptr;
  std::int64_t mask_width_ = 0;
  std::vector<std::int64_t> mask_strides_;
};

/// The scores with `bias`, and their softmax: zeros where a query may see no key at all.
struct Probabilities {
  Tensor biased, values;
};

Probabilities probabilities_of(const AttentionHeads& heads, const Tensor& scores, const Bias& bias) {
  Tensor biased = scores;
  std::vector<bool> blind;
  std::size_t element = 0;
  for (std::int64_t b = 0; b < heads.batch(); ++b) {
    for (std::int64_t h = 0; h < heads.q_heads(); ++h) {
      for (std::int64_t query = 0; query < heads.q_length(); ++query) {
        bool sees_none = true;
        for (std::int64_t key = 0; key < heads.kv_length(); ++key) {
          const double added = bias(b, h, query, key);
          sees_none = sees_none && added == kForbidden;
          biased.reals()[element++] += added;
        }
        blind.push_back(sees_none);
      }
    }
  }
  Tensor values = softmax_of(biased, split_at_axis(biased.shape(), 3), false);
  for (std::size_t row = 0; row < blind.size(); ++row) {
    if (!blind[row]) continue;
    std::ranges::fill(values.reals().subspan(row * at(heads.kv_length()), at(heads.kv_length())), 0.0);
  }
  return {std::move(biased), std::move(values)};
}

// ONNX Attention-23, -24 (nonpad_kv_seqlen), -25 (windows): softmax(softcap(Q·Kᵀ * scale) + bias)·V by heads, the keys
// and values of the past in front. Causal: query i sees the keys up to offset + i (Bias). Outputs Y, present_key,
// present_value and what qk_matmul_output_mode names: 0 the scores, 1 after softcap, 2 with bias, 3 probabilities.
// softmax_precision changes nothing: that is float64 here.
Result<std::vector<Tensor>> run_attention(const OpCall& call) {
  const auto heads = heads_of(call);
  if (!heads) return heads.error();
  const auto bias = Bias::of(call, *heads);
  if (!bias) return bias.error();
  const Tensor scores = attention_scores(*heads, attention_scale(call, *heads));
  Tensor capped = scores;
  if (const double cap = call.node.float_or("softcap", 0.0); cap > 0.0) {
    for (double& score : capped.reals()) score = cap * std::tanh(score / cap);
  }
  Probabilities probabilities = probabilities_of(*heads, capped, *bias);
  Tensor y = attention_output(*heads, probabilities.values);
  if (call.in(kQ).rank() == 3) {
    auto moved = transposed(y, {0, 2, 1, 3});
    if (!moved) return moved.error();
    const std::int64_t width = y.shape()[1] * y.shape()[3];
    y = std::move(*moved).reshaped({heads->batch(), heads->q_length(), width});
  }
  const std::int64_t mode = call.node.int_or("qk_matmul_output_mode", 0);
  if (mode < 0 || mode > 3) return op_error(fmt::format("qk_matmul_output_mode is {}, expected 0 to 3", mode));
  const Tensor& shown = mode == 0   ? scores
                        : mode == 1 ? capped
                        : mode == 2 ? probabilities.biased
                                    : probabilities.values;
  return std::vector{std::move(y), heads->k, heads->v, shown};
}

/// Q, K or V as [batch, heads, length, size].
Result<Dims> head_dims(const ShapeCall& call, std::size_t index, std::string_view heads_attribute) {
  if (const auto real = require_real(call, index); !real) return real.error();
  if (!call.in(index).shape) return unknown_dims(4);
  const Dims& x = *call.in(index).shape;
  if (x.size() == 4) return x;
  const std::int64_t heads = call.node.int_or(heads_attribute, 0);
  if (x.size() != 3)
    return op_error(input_text(call, index) + " is " + facts_text(call.in(index)) + ", expected rank 3 or 4");
  const auto size = divided(x[2], heads, heads_attribute);
  if (!size) return size.error();
  return Dims{x[0], known(heads), x[1], *size};
}

Result<Facts> infer_attention(const ShapeCall& call) {
  const auto q = head_dims(call, kQ, "q_num_heads");
  if (!q) return q.error();
  auto k = head_dims(call, kK, "kv_num_heads");
  if (!k) return k.error();
  auto v = head_dims(call, kV, "kv_num_heads");
  if (!v) return v.error();
  if (call.has_input(kPastKey)) {
    const std::array lengths{extent_of(call.in(kPastKey), 2), (*k)[2]};
    (*k)[2] = (*v)[2] = sum(lengths);
  }
  const DType type = call.in(kQ).type;
  std::optional<Dims> y = Dims{(*q)[0], (*q)[1], (*q)[2], (*v)[3]};
  if (!call.in(kQ).shape) y = std::nullopt;
  if (y && call.in(kQ).shape->size() == 3) {
    const std::array width{(*q)[1], (*v)[3]};
    y = Dims{(*q)[0], (*q)[2], product(width)};
  }
  return Facts{typed(type, std::move(y)), typed(call.in(kK).type, *k), typed(call.in(kV).type, *v),
               typed(type, Dims{(*q)[0], (*q)[1], (*q)[2], (*k)[2]})};
}

}  // namespace

const OpDef& op_attention() {
  static const OpDef def{.name = "Attention",
                         .first_opset = 23,
                         .min_inputs = 3,
                         .max_inputs = 7,
                         .run = &run_attention,
                         .infer = &infer_attention};
  return def;
}

}  // namespace assay::reference
