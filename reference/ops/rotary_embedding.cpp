#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// X as [batch, heads, sequence, head size] or, of rank 3, [batch, sequence, heads * head size].
struct Layout {
  std::int64_t batch, heads, sequence, head_size;
  bool heads_inside;  ///< rank 3

  [[nodiscard]] std::int64_t first(std::int64_t b, std::int64_t h, std::int64_t s) const {
    return (heads_inside ? (b * sequence + s) * heads + h : (b * heads + h) * sequence + s) * head_size;
  }
};

Result<Layout> layout_of(const OpCall& call) {
  const Shape& shape = call.in(0).shape();
  if (shape.size() == 4) return Layout{shape[0], shape[1], shape[2], shape[3], false};
  const std::int64_t heads = call.node.int_or("num_heads", 0);
  if (shape.size() == 3 && heads > 0 && shape[2] % heads == 0) {
    return Layout{shape[0], heads, shape[1], shape[2] / heads, true};
  }
  return op_error(fmt::format("{} with num_heads {}; expected rank 4, or rank 3 that divides into heads",
                              tensor_text(call.in(0)), heads));
}

/// Which row of the caches a position takes: the one that position_ids names, or its own.
Result<std::vector<std::int64_t>> cache_rows(const OpCall& call, const Layout& x, std::int64_t half) {
  const std::int64_t positions = x.batch * x.sequence;
  for (std::size_t i = 1; i <= 2; ++i) {
    if (const auto real = require_real(call, i); !real) return real.error();
    const bool fits = call.in(i).rank() > 0 && call.in(i).shape().back() == half &&
                      call.in(i).shape() == call.in(1).shape() &&
                      (call.has_input(3) || call.in(i).size() == positions * half);
    if (!fits) {
      return op_error(fmt::format("{} is {}, expected rows of {}", input_text(call, i), tensor_text(call.in(i)), half));
    }
  }
  std::vector<std::int64_t> rows(at(positions));
  for (std::int64_t i = 0; i < positions; ++i) rows[at(i)] = i;
  if (!call.has_input(3)) return rows;
  const Tensor& ids = call.in(3);
  if (ids.is_real() || ids.size() != positions) {
    return op_error(fmt::format("position_ids are {} for {} positions", tensor_text(ids), positions));
  }
  for (std::int64_t i = 0; i < positions; ++i) {
    rows[at(i)] = ids.integers()[at(i)];
    if (rows[at(i)] < 0 || (rows[at(i)] + 1) * half > call.in(1).size()) {
      return op_error(fmt::format("position {} is outside of the caches {}", rows[at(i)], tensor_text(call.in(1))));
    }
  }
  return rows;
}

// ONNX RotaryEmbedding-23: the first rotary_embedding_dim (0: all) elements of each head are pairs (a, b), each rotated
// by an angle: (a cos - b sin, a sin + b cos). Pairs are neighbours with `interleaved`, else a in the first half and b
// in the second. Angles by position and pair: cos_cache, sin_cache [max position, pairs] with position_ids, or
// [batch, sequence, pairs].
Result<std::vector<Tensor>> run_rotary_embedding(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const auto x = layout_of(call);
  if (!x) return x.error();
  const std::int64_t wanted = call.node.int_or("rotary_embedding_dim", 0);
  const std::int64_t rotated = wanted == 0 ? x->head_size : wanted;
  if (rotated < 0 || rotated > x->head_size || rotated % 2 != 0) {
    return op_error(fmt::format("{} elements of a head of {} can't be rotated in pairs", rotated, x->head_size));
  }
  const std::int64_t half = rotated / 2;
  const auto rows = cache_rows(call, *x, half);
  if (!rows) return rows.error();
  const bool interleaved = call.node.int_or("interleaved", 0) != 0;
  std::vector<double> y = call.in(0).to_reals();
  for (std::int64_t b = 0; b < x->batch; ++b) {
    for (std::int64_t h = 0; h < x->heads; ++h) {
      for (std::int64_t s = 0; s < x->sequence; ++s) {
        const std::int64_t row = (*rows)[at(b * x->sequence + s)];
        for (std::int64_t pair = 0; pair < half; ++pair) {
          const double cosine = call.in(1).reals()[at(row * half + pair)];
          const double sine = call.in(2).reals()[at(row * half + pair)];
          double& first = y[at(x->first(b, h, s) + (interleaved ? 2 * pair : pair))];
          double& second = y[at(x->first(b, h, s) + (interleaved ? 2 * pair + 1 : half + pair))];
          const double real = first * cosine - second * sine;
          second = first * sine + second * cosine;
          first = real;
        }
      }
    }
  }
  return single_output(Tensor(call.in(0).type(), call.in(0).shape(), std::move(y)));
}

}  // namespace

const OpDef& op_rotary_embedding() {
  static const OpDef def{.name = "RotaryEmbedding",
                         .first_opset = 23,
                         .min_inputs = 3,
                         .max_inputs = 4,
                         .run = &run_rotary_embedding,
                         .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
