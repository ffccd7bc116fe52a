#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kCodeTypes{DType::int8, DType::uint8, DType::int16, DType::uint16};

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
  if (known && std::find(kCodeTypes.begin(), kCodeTypes.end(), *wanted) == kCodeTypes.end()) {
    return op_unsupported(
        fmt::format("quantizing to {}; the reference knows int8, uint8, int16 and uint16", core::dtype_name(*wanted)));
  }
  return wanted;
}

template <typename Call>
core::Status check_input(const Call& call) {
  return input_type(call, 0) == DType::int32 ? core::success() : require_real(call, 0);
}

/// ONNX QuantizeLinear-10, -13 (axis), -21 (output_dtype; 16 bits).
Result<std::vector<Tensor>> run(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (call.node.int_or("block_size", 0) != 0) {
    return op_unsupported("blocked quantization (block_size)");
  }
  if (const core::Status status = check_input(call); !status) {
    return status.error();
  }
  const Result<DType> type = output_type(call);
  if (!type) {
    return type.error();
  }
  const Result<AxisSplit> split = quantization_axis(call, x.shape(), 1);
  if (!split) {
    return split.error();
  }
  const Result<QuantInputs> quant = read_quant_inputs(call, 1, 2, split->extent);
  if (!quant) {
    return quant.error();
  }
  const std::vector<double> values = x.to_reals();
  const auto nan = std::find_if(values.begin(), values.end(), [](double value) { return std::isnan(value); });
  if (nan != values.end()) {
    return op_error(
        fmt::format("{} holds NaN at element {}, which has no code", input_text(call, 0), nan - values.begin()));
  }
  std::vector<std::int64_t> codes(values.size());
  for (std::int64_t block = 0; block < split->outer * split->extent; ++block) {
    const std::int64_t index = block % split->extent;
    const std::size_t first = at(block * split->inner);
    quantize(std::span(values).subspan(first, at(split->inner)), quant->scale_at(index), quant->zero_point_at(index),
             *type, std::span(codes).subspan(first, at(split->inner)));
  }
  return single_output(Tensor(*type, x.shape(), std::move(codes)));
}

Result<Facts> infer(const ShapeCall& call) {
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
  static const OpDef def{
      .name = "QuantizeLinear", .first_opset = 10, .min_inputs = 2, .max_inputs = 3, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
