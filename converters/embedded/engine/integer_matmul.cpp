// MatMul and Gemm on codes. The product is computed transposed, so that a weight on the right, with its scale per
// column, is the operand that is packed by rows.
#include <fmt/format.h>

#include <memory>

#include "converters/embedded/engine/integer_kernel.hpp"
#include "converters/embedded/engine/matrix.hpp"
#include "converters/embedded/engine/product.hpp"

namespace assay::embedded::engine {
namespace {

struct Prepared {
  bool is_gemm = false;
  GemmAttributes attributes;
  std::optional<CodeRows> right;  // a constant right matrix, its columns as rows
  std::optional<CodeRows> left;   // a constant left matrix with a scale per row
  std::int16_t left_zero_point = 0;
  std::int16_t right_zero_point = 0;
  CodeTile tile = nullptr;
  std::optional<Requantizer> requantizer;
  OutputCodes out;
  std::int64_t bias_columns = 1;  // 1 serves any number
};

template <typename Code>
MatrixView<Code> matrix_at(const Buffer& buffer, std::int64_t index, std::int64_t rows, std::int64_t columns) {
  return {buffer.data<Code>() + index * rows * columns, rows, columns, columns, 1};
}

/// left as it lies [rows, depth]; `right` packed as [columns, depth].
template <typename Code>
void multiply_by_columns(const Prepared& p, const MatrixView<Code>& left, const CodeRows& right, std::uint8_t* out) {
  const std::int64_t columns = right.rows();
  std::vector<std::uint8_t> codes;
  multiply_codes<Code>(right, left.transposed(), left.rows, p.left_zero_point, p.tile,
                       [&](std::int64_t column, std::int64_t count, std::int64_t first, std::int64_t rows,
                           const std::int32_t* sums, std::int64_t stride) {
                         codes.resize(static_cast<std::size_t>(rows));
                         for (std::int64_t c = 0; c < count; ++c) {
                           p.requantizer->row(sums + c * stride, rows, column + c, codes.data());
                           for (std::int64_t r = 0; r < rows; ++r) {
                             out[(first + r) * columns + column + c] = codes[static_cast<std::size_t>(r)];
                           }
                         }
                       });
}

template <typename Code>
void multiply_by_rows(const Prepared& p, const CodeRows& left, const MatrixView<Code>& right, std::uint8_t* out) {
  multiply_codes<Code>(left, right, right.columns, p.right_zero_point, p.tile,
                       [&](std::int64_t row, std::int64_t rows, std::int64_t first, std::int64_t count,
                           const std::int32_t* sums, std::int64_t stride) {
                         for (std::int64_t r = 0; r < rows; ++r) {
                           p.requantizer->row(sums + r * stride, count, row + r,
                                              out + (row + r) * right.columns + first);
                         }
                       });
}

CodeRows pack_columns(const Buffer& right, std::int64_t index, std::int64_t depth, std::int64_t columns,
                      bool transposed, std::vector<std::int16_t> zero_points) {
  return with_code_type(right.type(), [&](auto code) {
    using Code = decltype(code);
    return transposed ? CodeRows(matrix_at<Code>(right, index, columns, depth), std::move(zero_points))
                      : CodeRows(matrix_at<Code>(right, index, depth, columns).transposed(), std::move(zero_points));
  });
}

Status run(const Prepared& p, const Call& call) {
  const Buffer& a = call.input(0);
  const Buffer& b = call.input(1);
  auto shape = p.is_gemm ? bind_gemm(p.attributes, a.shape(), b.shape()) : bind_matmul(a.shape(), b.shape());
  if (!shape) return shape.error();
  if (p.bias_columns != 1 && p.bias_columns != shape->columns) {
    return invalid_data(fmt::format("a bias of {} does not fit {} columns", p.bias_columns, shape->columns));
  }
  call.outputs[0] = Buffer(p.out.type, shape->out);
  auto* out = call.outputs[0].data<std::uint8_t>();
  for (std::size_t i = 0; i < shape->left_batch.size(); ++i) {
    std::uint8_t* target = out + static_cast<std::int64_t>(i) * shape->rows * shape->columns;
    if (p.left) {
      with_code_type(b.type(), [&](auto code) {
        multiply_by_rows(p, *p.left, matrix_at<decltype(code)>(b, shape->right_batch[i], shape->depth, shape->columns),
                         target);
      });
      continue;
    }
    std::optional<CodeRows> packed;
    if (!p.right) {
      packed = pack_columns(b, shape->right_batch[i], shape->depth, shape->columns, p.attributes.right_transposed,
                            {p.right_zero_point});
    }
    with_code_type(a.type(), [&](auto code) {
      using Code = decltype(code);
      const auto left = p.attributes.left_transposed
                            ? matrix_at<Code>(a, shape->left_batch[i], shape->depth, shape->rows).transposed()
                            : matrix_at<Code>(a, shape->left_batch[i], shape->rows, shape->depth);
      multiply_by_columns(p, left, p.right ? *p.right : *packed, target);
    });
  }
  return core::success();
}

Kernel finish(std::shared_ptr<Prepared> p) {
  return [p = std::shared_ptr<const Prepared>(std::move(p))](const Call& call) { return run(*p, call); };
}

/// A constant matrix on the left with one scale per row (axis last but one).
Result<Kernel> make_left_weight(const IntegerBinding& binding, const std::shared_ptr<Prepared>& p) {
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
  p->left = with_code_type(weight.constant->type(), [&](auto code) {
    return CodeRows(matrix_at<decltype(code)>(*weight.constant, 0, shape[0], shape[1]), params->zero_point);
  });
  p->requantizer.emplace(binding.policy, p->out, in_scales);
  return finish(p);
}

Result<Kernel> make(const IntegerBinding& binding, bool is_gemm) {
  const Operand& a = binding.operand(0);
  const Operand& b = binding.operand(1);
  auto p = std::make_shared<Prepared>();
  p->is_gemm = is_gemm;
  if (is_gemm) p->attributes = read_gemm_attributes(binding.node);
  p->tile = code_tile(binding.policy.accumulator);
  p->out = binding.outputs[0];
  if (!a.is_codes() || !b.is_codes()) return Kernel();
  if (!is_gemm && a.constant != nullptr && b.constant == nullptr && b.is_per_tensor()) {
    return make_left_weight(binding, p);
  }
  if (!a.is_per_tensor() || !(p->attributes.alpha > 0)) return Kernel();
  p->left_zero_point = subtracted_zero_point(a, binding.policy);
  std::vector<double> in_scales;
  std::int64_t channels = 1;
  if (b.constant != nullptr && b.constant->rank() == 2) {
    const std::int64_t axis = p->attributes.right_transposed ? 0 : 1;
    channels = b.constant->shape()[static_cast<std::size_t>(axis)];
    const std::int64_t depth = b.constant->shape()[static_cast<std::size_t>(1 - axis)];
    const auto params = channel_params(b, axis, 2, channels, binding.policy);
    if (!params || channels == 0) return Kernel();
    for (const double scale : params->scale) in_scales.push_back(p->attributes.alpha * a.scale() * scale);
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
  p->requantizer.emplace(binding.policy, p->out, in_scales, bias.codes, bias.addends);
  return finish(p);
}

Result<Kernel> make_matmul(const IntegerBinding& binding) { return make(binding, false); }
Result<Kernel> make_gemm(const IntegerBinding& binding) { return make(binding, true); }

}  // namespace

void add_integer_matmul_makers(IntegerMakerTable& table) {
  table["MatMul"] = &make_matmul;
  table["Gemm"] = &make_gemm;
}

}  // namespace assay::embedded::engine
