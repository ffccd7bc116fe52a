// MatMul and Gemm on codes. The product is computed transposed, so that a weight on the right, with its scale per
// column, is the operand that is packed by rows.
#include <fmt/format.h>

#include <memory>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/matrix.hpp"
#include "converters/embedded/engine/product.hpp"

namespace assay::embedded::engine {
namespace {

struct PreparedMatMul {
  bool is_gemm = false;
  GemmAttributes attributes;
  std::optional<CodeRows> right;  // a constant right matrix, its columns as rows
  std::optional<CodeRows> left;   // a constant left matrix with a scale per row
  std::int16_t left_zero_point = 0;
  std::int16_t right_zero_point = 0;
  CodeTile tile = nullptr;
  std::optional<Requantizer> requantizer;
  OutputCodes out;
  std::int64_t bias_columns = 1;            // 1 serves any number
  std::optional<std::int64_t> longest_sum;  // where the weights are not known before the run
};

template <typename Code>
MatrixView<Code> matrix_at(const Buffer& buffer, std::int64_t index, std::int64_t rows, std::int64_t columns) {
  return {buffer.data<Code>() + index * rows * columns, rows, columns, columns, 1};
}

/// left as it lies [rows, depth]; `right` packed as [columns, depth].
/// `Out` is a byte for codes, float where the result is left in float.
template <typename Code, typename Out>
void multiply_by_columns(const PreparedMatMul& p, const MatrixView<Code>& left, const CodeRows& right, Out* out) {
  const std::int64_t columns = right.rows();
  std::vector<Out> column_results;
  multiply_codes<Code>(right, left.transposed(), left.rows, p.left_zero_point, p.tile,
                       [&](std::int64_t column, std::int64_t count, std::int64_t first, std::int64_t rows,
                           const std::int32_t* sums, std::int64_t stride) {
                         column_results.resize(static_cast<std::size_t>(rows));
                         for (std::int64_t c = 0; c < count; ++c) {
                           p.requantizer->row(sums + c * stride, rows, column + c, column_results.data());
                           for (std::int64_t r = 0; r < rows; ++r) {
                             out[(first + r) * columns + column + c] = column_results[static_cast<std::size_t>(r)];
                           }
                         }
                       });
}

template <typename Code, typename Out>
void multiply_by_rows(const PreparedMatMul& p, const CodeRows& left, const MatrixView<Code>& right, Out* out) {
  multiply_codes<Code>(left, right, right.columns, p.right_zero_point, p.tile,
                       [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                           const std::int32_t* sums, std::int64_t stride) {
                         for (std::int64_t r = 0; r < rows; ++r) {
                           p.requantizer->row(sums + r * stride, count, row + r,
                                              out + (row + r) * right.columns + first);
                         }
                       });
}

/// Whether no codes of `x` can make a sum of products with the weight, one channel for each index along `axis`, leave
/// 32 bits.
bool sums_fit(const Buffer& weight, std::size_t axis, const std::vector<std::int16_t>& zero_points, const Operand& x,
              std::int64_t x_zero_point, std::span<const std::int32_t> biases) {
  const std::int64_t columns = weight.shape()[1];
  AccumulatorBounds bounds(zero_points.size());
  with_code_type(weight.type(), [&](auto code) {
    const auto* codes = weight.data<decltype(code)>();
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      const auto channel = static_cast<std::size_t>(axis == 0 ? i / columns : i % columns);
      bounds.add(channel, codes[i] - zero_points[channel]);
    }
  });
  return bounds.fit(x.params.type, x_zero_point, biases);
}

/// The longest sum of products of any two codes that surely fits 32 bits with every bias.
std::int64_t longest_sum(const Operand& a, const Operand& b, std::span<const std::int32_t> biases) {
  const auto farthest = [](const Operand& x) {
    const core::IntegerLimits codes = core::integer_limits(x.params.type);
    return std::max(codes.high - x.zero_point(), x.zero_point() - codes.low);
  };
  std::int64_t bias = 0;
  for (const std::int32_t code : biases) bias = std::max(bias, std::abs(std::int64_t{code}));
  return (core::integer_limits(DType::int32).high - bias) / (farthest(a) * farthest(b));
}

CodeRows pack_columns(const Buffer& right, std::int64_t index, std::int64_t depth, std::int64_t columns,
                      bool transposed, std::vector<std::int16_t> zero_points) {
  return with_code_type(right.type(), [&](auto code) {
    using Code = decltype(code);
    return transposed ? CodeRows(matrix_at<Code>(right, index, columns, depth), std::move(zero_points))
                      : CodeRows(matrix_at<Code>(right, index, depth, columns).transposed(), std::move(zero_points));
  });
}

template <typename Out>
void run_batches(const PreparedMatMul& p, const MatMulShape& shape, const Buffer& a, const Buffer& b, Out* out) {
  for (std::size_t i = 0; i < shape.left_batch.size(); ++i) {
    Out* target = out + static_cast<std::int64_t>(i) * shape.rows * shape.columns;
    if (p.left) {
      with_code_type(b.type(), [&](auto code) {
        multiply_by_rows(p, *p.left, matrix_at<decltype(code)>(b, shape.right_batch[i], shape.depth, shape.columns),
                         target);
      });
      continue;
    }
    std::optional<CodeRows> packed;
    if (!p.right) {
      packed = pack_columns(b, shape.right_batch[i], shape.depth, shape.columns, p.attributes.right_transposed,
                            {p.right_zero_point});
    }
    with_code_type(a.type(), [&](auto code) {
      using Code = decltype(code);
      const auto left = p.attributes.left_transposed
                            ? matrix_at<Code>(a, shape.left_batch[i], shape.depth, shape.rows).transposed()
                            : matrix_at<Code>(a, shape.left_batch[i], shape.rows, shape.depth);
      multiply_by_columns(p, left, p.right ? *p.right : *packed, target);
    });
  }
}

Status run(const PreparedMatMul& p, const Call& call) {
  const Buffer& a = call.input(0);
  const Buffer& b = call.input(1);
  auto shape = p.is_gemm ? bind_gemm(p.attributes, a.shape(), b.shape()) : bind_matmul(a.shape(), b.shape());
  if (!shape) return shape.error();
  if (p.bias_columns != 1 && p.bias_columns != shape->columns) {
    return invalid_data(fmt::format("a bias of {} does not fit {} columns", p.bias_columns, shape->columns));
  }
  if (p.longest_sum && shape->depth > *p.longest_sum) {
    return unsupported(fmt::format("sums of {} products of codes may exceed 32 bits; at most {} are safe", shape->depth,
                                   *p.longest_sum));
  }
  call.outputs[0] = Buffer(p.out.type, shape->out);
  with_result(call.outputs[0], [&](auto* out) { run_batches(p, *shape, a, b, out); });
  return core::success();
}

Kernel finish(std::shared_ptr<PreparedMatMul> p) {
  return [p = std::shared_ptr<const PreparedMatMul>(std::move(p))](const Call& call) { return run(*p, call); };
}

/// A constant matrix on the left with one scale per row (axis last but one).
Result<Kernel> make_left_weight(const IntegerBinding& binding, const std::shared_ptr<PreparedMatMul>& p) {
  const Operand& weight = binding.operand(0);
  const Operand& x = binding.operand(1);
  if (!weight.is_codes() || weight.constant == nullptr || weight.constant->rank() != 2 || !x.is_per_tensor()) {
    return Kernel();
  }
  const Shape& shape = weight.constant->shape();
  const auto params = channel_params(weight, 0, 2, shape[0], binding.policy);
  if (!params || shape[0] == 0) return Kernel();
  std::vector<double> in_scales;
  for (const double scale : params->scale) in_scales.push_back(x.scale() * scale);
  p->right_zero_point = subtracted_zero_point(x, binding.policy);
  if (!sums_fit(*weight.constant, 0, params->zero_point, x, p->right_zero_point, {})) return Kernel();
  p->left = with_code_type(weight.constant->type(), [&](auto code) {
    return CodeRows(matrix_at<decltype(code)>(*weight.constant, 0, shape[0], shape[1]), params->zero_point);
  });
  p->requantizer.emplace(binding.policy, p->out, in_scales);
  return finish(p);
}

Result<Kernel> make_product(const IntegerBinding& binding, bool is_gemm) {
  const Operand& a = binding.operand(0);
  const Operand& b = binding.operand(1);
  auto p = std::make_shared<PreparedMatMul>();
  p->is_gemm = is_gemm;
  if (is_gemm) p->attributes = read_gemm_attributes(binding.node);
  p->tile = code_tile(binding.policy.accumulator);
  p->out = binding.outputs[0];
  if (!a.is_codes() || !b.is_codes()) return Kernel();
  if (!is_gemm && a.constant != nullptr && a.constant->rank() == 2 && b.constant == nullptr && b.is_per_tensor()) {
    return make_left_weight(binding, p);
  }
  if (!a.is_per_tensor() || !(p->attributes.alpha > 0)) return Kernel();
  p->left_zero_point = subtracted_zero_point(a, binding.policy);
  std::vector<double> in_scales;
  std::vector<std::int16_t> zero_points;
  std::int64_t channels = 1;
  if (b.constant != nullptr && b.constant->rank() == 2) {
    const std::int64_t axis = p->attributes.right_transposed ? 0 : 1;
    channels = b.constant->shape()[static_cast<std::size_t>(axis)];
    const std::int64_t depth = b.constant->shape()[static_cast<std::size_t>(1 - axis)];
    const auto params = channel_params(b, axis, 2, channels, binding.policy);
    if (!params || channels == 0) return Kernel();
    for (const double scale : params->scale) in_scales.push_back(p->attributes.alpha * a.scale() * scale);
    zero_points = params->zero_point;
    p->right = pack_columns(*b.constant, 0, depth, channels, p->attributes.right_transposed, params->zero_point);
  } else {
    if (!b.is_per_tensor()) return Kernel();
    in_scales.push_back(p->attributes.alpha * a.scale() * b.scale());
    p->right_zero_point = subtracted_zero_point(b, binding.policy);
  }
  ChannelBias bias;
  if (is_gemm && binding.has(2)) {
    const Operand& c = binding.operand(2);
    // Only a bias per column; one per row or a whole matrix stays in float.
    if (c.constant == nullptr || (c.constant->rank() == 2 && c.constant->shape()[0] != 1)) return Kernel();
    if (!p->right) channels = p->bias_columns = c.constant->size();
    if (!(p->attributes.beta > 0)) return Kernel();
    auto read = channel_bias(c, in_scales, channels, p->attributes.beta);
    if (!read) return Kernel();
    bias = std::move(*read);
  }
  if (p->right &&
      !sums_fit(*b.constant, p->attributes.right_transposed ? 0 : 1, zero_points, a, p->left_zero_point, bias.codes)) {
    return Kernel();
  }
  if (!p->right) p->longest_sum = longest_sum(a, b, bias.codes);
  p->requantizer.emplace(binding.policy, p->out, in_scales, bias.codes, bias.addends);
  return finish(p);
}

Result<Kernel> make_matmul(const IntegerBinding& binding) { return make_product(binding, false); }
Result<Kernel> make_gemm(const IntegerBinding& binding) { return make_product(binding, true); }

}  // namespace

void add_integer_matmul_makers(IntegerMakerTable& table) {
  table["MatMul"] = &make_matmul;
  table["Gemm"] = &make_gemm;
}

}  // namespace assay::embedded::engine
