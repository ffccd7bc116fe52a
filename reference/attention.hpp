#pragma once

#include <cstdint>

#include "reference/op.hpp"

namespace assay::reference {

/// Q [batch, q heads, q length, size], K [batch, kv heads, kv length, size] and V [batch, kv heads, kv length, v size];
/// query head h shares key and value head h / (q heads / kv heads).
struct AttentionHeads {
  Tensor q, k, v;

  [[nodiscard]] std::int64_t batch() const { return q.shape()[0]; }
  [[nodiscard]] std::int64_t q_heads() const { return q.shape()[1]; }
  [[nodiscard]] std::int64_t q_length() const { return q.shape()[2]; }
  [[nodiscard]] std::int64_t kv_length() const { return k.shape()[2]; }
  /// Of scores and probabilities: [batch, q heads, q length, kv length].
  [[nodiscard]] Shape score_shape() const { return {batch(), q_heads(), q_length(), kv_length()}; }
};

/// `x` of rank 4 as it is; of rank 3, [batch, length, heads * size], as [batch, heads, length, size].
[[nodiscard]] Result<Tensor> split_heads(const Tensor& x, std::int64_t heads);

/// Errors   the first shape that doesn't fit the others.
[[nodiscard]] core::Status check_heads(const AttentionHeads& heads);

/// Attribute scale, or 1 / sqrt(size) where it is left out.
[[nodiscard]] double attention_scale(const OpCall& call, const AttentionHeads& heads);

/// Q·Kᵀ * scale.
[[nodiscard]] Tensor attention_scores(const AttentionHeads& heads, double scale);

/// probabilities·V as [batch, q heads, q length, v size], of Q's type.
[[nodiscard]] Tensor attention_output(const AttentionHeads& heads, const Tensor& probabilities);

}  // namespace assay::reference
