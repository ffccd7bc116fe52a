#include <algorithm>
#include <array>

#include "reference/arguments.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kAttributes{AttributeVersion{"axis", 13}, AttributeVersion{"block_size", 21},
                                 AttributeVersion{"output_dtype", 23}};

constexpr std::array kCodeTypes{DType::int8,           DType::uint8,        DType::int16,      DType::uint16,
                                DType::int32,          DType::int4,         DType::uint4,      DType::int2,
                                DType::uint2,          DType::float8e4m3fn, DType::float8e5m2, DType::float8e4m3fnuz,
                                DType::float8e5m2fnuz, DType::float4e2m1};

/// ONNX DequantizeLinear-10, -13 (axis), -19 (float8), -21 (16, 4 bits; blocks), -23 (output_dtype, float4), -25 (2
/// bits): (x - x_zero_point) * x_scale. The result has the scale's type, or the one that output_dtype names; it is
/// computed in float64, not in that type.
Result<std::vector<Tensor>> run_dequantize_linear(const OpCall& call) {
  core::Status status = require_type(call, 0, kCodeTypes);
  status = status ? require_same_type(call, 0, 2) : status;
  if (!status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<QuantLayout> layout = quant_layout(call, x.shape(), 1);
  if (!layout) {
    return layout.error();
  }
  // Symmetric quantizers of weights alone make negative scales.
  const Result<QuantInputs> quant = read_quant_inputs(call, 1, 2, layout->count(), ScaleSign::any);
  if (!quant) {
    return quant.error();
  }
  Result<DType> type = call.in(1).type();
  if (call.node.int_or("output_dtype", 0) != 0) {
    type = type_argument(call, "output_dtype", DType::float32);
  }
  if (!type) {
    return type.error();
  }
  if (!core::is_real(*type)) {
    return op_error("output_dtype must be a floating point type");
  }
  std::vector<double> values(at(x.size()));
  layout->for_each_run([&](std::int64_t first, std::int64_t count, std::int64_t index) {
    const auto run_of = [&](auto all) { return all.subspan(at(first), at(count)); };
    if (x.is_real()) {
      std::ranges::transform(run_of(x.reals()), values.begin() + first,
                             [&](double code) { return code * quant->scale_at(index); });
    } else {
      dequantize(run_of(x.integers()), quant->scale_at(index), quant->zero_point_at(index), run_of(std::span(values)));
    }
  });
  return single_output(Tensor(*type, x.shape(), std::move(values)));
}

Result<Facts> infer_dequantize_linear(const ShapeCall& call) {
  core::Status status = require_type(call, 0, kCodeTypes);
  status = status ? require_same_type(call, 0, 2) : status;
  status = status ? require_real(call, 1) : status;
  status = status ? check_scales(call) : status;
  if (!status) {
    return status.error();
  }
  const bool named = call.node.int_or("output_dtype", 0) != 0;
  const auto type = named ? type_argument(call, "output_dtype", DType::float32) : Result<DType>(call.in(1).type);
  if (!type) {
    return type.error();
  }
  return one(*type, call.in(0).shape);
}

}  // namespace

const OpDef& op_dequantize_linear() {
  static const OpDef def{.name = "DequantizeLinear",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_dequantize_linear,
                         .infer = &infer_dequantize_linear,
                         .types = kQuantizerTypes,
                         .attributes = kAttributes};
  return def;
}

}  // namespace assay::reference
