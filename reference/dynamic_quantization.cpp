#include "reference/dynamic_quantization.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/matrix_product.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"

namespace assay::reference {
namespace {

constexpr std::array kReal{DType::float32};
constexpr double kSteps = 255.0;

}  // namespace

Result<DynamicQuantization> quantize_dynamically(const OpCall& call, std::size_t index) {
  if (const core::Status status = require_type(call, index, kReal); !status) return status.error();
  const std::span<const double> x = call.in(index).reals();
  if (!std::ranges::all_of(x, [](double value) { return std::isfinite(value); }))
    return op_error(input_text(call, index) + " holds NaN or an infinity, which leaves no range to quantize");
  return quantize_dynamically(x);
}

DynamicQuantization quantize_dynamically(std::span<const double> x) {
  double low = 0.0;
  double high = 0.0;
  for (const double value : x) {
    low = std::min(low, value);
    high = std::max(high, value);
  }
  DynamicQuantization result;
  const double scale = core::round_to_type((high - low) / kSteps, DType::float32);
  if (scale > 0) result.scale = scale;
  result.zero_point = quantize(-low, result.scale, 0, DType::uint8);
  result.codes.resize(x.size());
  quantize(x, result.scale, result.zero_point, DType::uint8, result.codes);
  return result;
}

Result<std::vector<Tensor>> product_of_codes(const OpCall& call, const Tensor& a, double a_scale, std::size_t b,
                                             std::size_t b_scale, std::size_t b_zero_point, std::size_t bias) {
  const Tensor& codes = call.in(b);
  const Result<MatrixProduct> product = matrix_product(a.shape(), codes.shape());
  if (!product) return product.error();
  const Result<QuantInputs> quant = read_quant_inputs(call, b_scale, b_zero_point, product->columns);
  if (!quant) return quant.error();
  const std::vector<std::int64_t> sums =
      multiply(*product, a.integers(), without_zero_point(codes, codes.rank() - 1, quant->zero_point));
  if (const core::Status status = check_accumulators(sums); !status) return status.error();
  const Tensor* offsets = call.optional_in(bias);
  if (offsets != nullptr && (offsets->rank() != 1 || offsets->size() != product->columns)) {
    return op_error(input_text(call, bias) + " has shape " + core::shape_text(offsets->shape()) +
                    ", expected one value for each column");
  }
  std::vector<double> y(sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const std::int64_t column = static_cast<std::int64_t>(i) % product->columns;
    y[i] = static_cast<double>(sums[i]) * a_scale * quant->scale_at(column);
    if (offsets != nullptr) y[i] += offsets->reals()[at(column)];
  }
  return single_output(Tensor(call.in(b_scale).type(), product->output, std::move(y)));
}

}  // namespace assay::reference
