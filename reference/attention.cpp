#include "reference/attention.hpp"

#include <fmt/format.h>

#include <cmath>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"

namespace assay::reference {
namespace {

/// The position of row (b, h, i) of a tensor [batch, heads, length, size].
std::int64_t row_of(const Tensor& x, std::int64_t b, std::int64_t h, std::int64_t i) {
  return ((b * x.shape()[1] + h) * x.shape()[2] + i) * x.shape()[3];
}

}  // namespace

Result<Tensor> split_heads(const Tensor& x, std::int64_t heads) {
  if (!x.is_real()) return op_error(fmt::format("{}, expected a floating-point type", tensor_text(x)));
  if (x.rank() == 4) return x;
  if (x.rank() != 3 || heads < 1 || x.shape()[2] % heads != 0) {
    return op_error(fmt::format("{} doesn't divide into {} heads", tensor_text(x), heads));
  }
  return transposed(x.reshaped({x.shape()[0], x.shape()[1], heads, x.shape()[2] / heads}), {0, 2, 1, 3});
}

core::Status check_heads(const AttentionHeads& heads) {
  const Shape& q = heads.q.shape();
  const Shape& k = heads.k.shape();
  const Shape& v = heads.v.shape();
  const bool rank = q.size() == 4 && k.size() == 4 && v.size() == 4;
  if (rank && q[0] == k[0] && k[0] == v[0] && k[1] == v[1] && k[1] > 0 && q[1] % k[1] == 0 && k[2] == v[2] &&
      q[3] == k[3]) {
    const auto count = checked_count(heads.score_shape());
    return count ? core::success() : core::Status(count.error());
  }
  return op_error(fmt::format("Q {}, K {} and V {} don't fit each other as [batch, heads, length, size]",
                              tensor_text(heads.q), tensor_text(heads.k), tensor_text(heads.v)));
}

double attention_scale(const OpCall& call, const AttentionHeads& heads) {
  return call.node.float_or("scale", 1.0 / std::sqrt(static_cast<double>(heads.q.shape()[3])));
}

Tensor attention_scores(const AttentionHeads& heads, double scale) {
  const std::int64_t group = heads.q_heads() / heads.k.shape()[1];
  const std::int64_t size = heads.q.shape()[3];
  std::vector<double> scores;
  for (std::int64_t b = 0; b < heads.batch(); ++b) {
    for (std::int64_t h = 0; h < heads.q_heads(); ++h) {
      for (std::int64_t i = 0; i < heads.q_length(); ++i) {
        const double* q = heads.q.reals().data() + row_of(heads.q, b, h, i);
        for (std::int64_t j = 0; j < heads.kv_length(); ++j) {
          const double* k = heads.k.reals().data() + row_of(heads.k, b, h / group, j);
          double sum = 0.0;
          for (std::int64_t d = 0; d < size; ++d) sum += q[d] * k[d];
          scores.push_back(sum * scale);
        }
      }
    }
  }
  return {heads.q.type(), heads.score_shape(), std::move(scores)};
}

Tensor attention_output(const AttentionHeads& heads, const Tensor& probabilities) {
  const std::int64_t group = heads.q_heads() / heads.v.shape()[1];
  const std::int64_t size = heads.v.shape()[3];
  std::vector<double> y(at(heads.batch() * heads.q_heads() * heads.q_length() * size), 0.0);
  for (std::int64_t b = 0; b < heads.batch(); ++b) {
    for (std::int64_t h = 0; h < heads.q_heads(); ++h) {
      for (std::int64_t i = 0; i < heads.q_length(); ++i) {
        const std::int64_t row = (b * heads.q_heads() + h) * heads.q_length() + i;
        const double* p = probabilities.reals().data() + row * heads.kv_length();
        for (std::int64_t j = 0; j < heads.kv_length(); ++j) {
          const double* v = heads.v.reals().data() + row_of(heads.v, b, h / group, j);
          for (std::int64_t d = 0; d < size; ++d) y[at(row * size + d)] += p[j] * v[d];
        }
      }
    }
  }
  return {heads.q.type(), {heads.batch(), heads.q_heads(), heads.q_length(), size}, std::move(y)};
}

}  // namespace assay::reference
