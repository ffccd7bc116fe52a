#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kAttributes{AttributeVersion{"axis", 13}, AttributeVersion{"saturate", 19},
                                 AttributeVersion{"block_size", 21}, AttributeVersion{"output_dtype", 21},
                                 AttributeVersion{"precision", 23}};

constexpr std::array kQuantizedTypes{
    DType::int8,           DType::uint8,          DType::int16,     DType::uint16,       DType::int4,
    DType::uint4,          DType::int2,           DType::uint2,     DType::float8e4m3fn, DType::float8e5m2,
    DType::float8e4m3fnuz, DType::float8e5m2fnuz, DType::float4e2m1};

/// The output's type: that of y_zero_point, else attribute output_dtype (opset 21), else uint8.
template <typename Call>
Result<DType> output_type(const Call& call) {
  Result<DType> wanted = DType::undefined;
  if (call.node.int_or("output_dtype", 0) != 0) {
    wanted = type_argument(call, "output_dtype", DType::undefined);
    if (!wanted) {
      return wanted;
    }
  }
  if (!call.has_input(2)) {
    *wanted = *wanted == DType::undefined ? DType::uint8 : *wanted;
  } else if (const DType type = input_type(call, 2); *wanted == DType::undefined || *wanted == type) {
    *wanted = type;
  } else if (type != DType::undefined) {
    return op_error(fmt::format("output_dtype is {}, but {} has type {}", core::dtype_name(*wanted),
                                input_text(call, 2), core::dtype_name(type)));
  }
  const bool known = *wanted != DType::undefined;
  if (known && std::find(kQuantizedTypes.begin(), kQuantizedTypes.end(), *wanted) == kQuantizedTypes.end()) {
    return op_unsupported(fmt::format("quantizing to {}, which is no type of codes", core::dtype_name(*wanted)));
  }
  return wanted;
}

template <typename Call>
core::Status check_input(const Call& call) {
  return input_type(call, 0) == DType::int32 ? core::success() : require_real(call, 0);
}

/// ONNX QuantizeLinear-10, -13 (axis), -19 (float8, saturate), -21 (output_dtype; 16, 4 bits; blocks), -23 (float4),
/// -25 (2 bits). The division is exact but for float64's rounding: attribute precision, which names a type for it, and
/// the scale's type do not change it.
Result<std::vector<Tensor>> run_quantize_linear(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (const core::Status status = check_input(call); !status) {
    return status.error();
  }
  const Result<DType> type = output_type(call);
  if (!type) {
    return type.error();
  }
  const Result<QuantLayout> layout = quant_layout(call, x.shape(), 1);
  if (!layout) {
    return layout.error();
  }
  const Result<QuantInputs> quant = read_quant_inputs(call, 1, 2, layout->count());
  if (!quant) {
    return quant.error();
  }
  const Result<CastRules> rules = cast_rules(call);
  if (!rules) {
    return rules.error();
  }
  const std::vector<double> values = x.to_reals();
  const auto nan = std::find_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  if (nan != values.end()) {
    return op_error(
        fmt::format("{} holds NaN at element {}, which has no code", input_text(call, 0), nan - values.begin()));
  }
  if (core::is_real(*type)) {
    std::vector<double> codes(values.size());
    layout->for_each_run([&](std::int64_t first, std::int64_t count, std::int64_t index) {
      std::transform(values.begin() + first, values.begin() + first + count, codes.begin() + first,
                     [&](double value) { return cast_real(value / quant->scale_at(index), *type, *rules); });
    });
    return single_output(Tensor(*type, x.shape(), std::move(codes)));
  }
  std::vector<std::int64_t> codes(values.size());
  layout->for_each_run([&](std::int64_t first, std::int64_t count, std::int64_t index) {
    quantize(std::span(values).subspan(at(first), at(count)), quant->scale_at(index), quant->zero_point_at(index),
             *type, std::span(codes).subspan(at(first), at(count)));
  });
  return single_output(Tensor(*type, x.shape(), std::move(codes)));
}

Result<Facts> infer_quantize_linear(const ShapeCall& call) {
  core::Status status = check_input(call);
  status = status ? check_scales(call) : status;
  if (!status) {
    return status.error();
  }
  const Result<DType> type = output_type(call);
  if (!type) {
    return type.error();
  }
  return one(*type, call.in(0).shape);
}

}  // namespace

const OpDef& op_quantize_linear() {
  static const OpDef def{.name = "QuantizeLinear",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_quantize_linear,
                         .infer = &infer_quantize_linear,
                         .types = kQuantizerTypes,
                         .attributes = kAttributes};
  return def;
}

}  // namespace assay::reference
