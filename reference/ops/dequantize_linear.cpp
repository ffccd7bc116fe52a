#include <array>

#include "reference/arguments.hpp"
#include "reference/quant.hpp"
#include "reference/quant_inputs.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::array kCodeTypes{DType::int8, DType::uint8, DType::int16, DType::uint16, DType::int32};

/// ONNX DequantizeLinear-10, -13 (axis), -21 (16 bits), -23 (output_dtype). The result has the scale's type, or the one
/// that output_dtype names.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (call.node.int_or("block_size", 0) != 0) {
    return op_unsupported("blocked quantization (block_size)");
  }
  core::Status status = require_type(call, 0, kCodeTypes);
  status = status ? require_same_type(call, 0, 2) : status;
  if (!status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<AxisSplit> split = quantization_axis(call, x.shape(), 1);
  if (!split) {
    return split.error();
  }
  const Result<QuantInputs> quant = read_quant_inputs(call, 1, 2, split->extent);
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
  for (std::int64_t block = 0; block < split->outer * split->extent; ++block) {
    const std::int64_t index = block % split->extent;
    const std::size_t first = at(block * split->inner);
    dequantize(x.integers().subspan(first, at(split->inner)), quant->scale_at(index), quant->zero_point_at(index),
               std::span(values).subspan(first, at(split->inner)));
  }
  return single_output(Tensor(*type, x.shape(), std::move(values)));
}

Result<Facts> infer(const ShapeCall& call) {
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
  static const OpDef def{
      .name = "DequantizeLinear", .first_opset = 10, .min_inputs = 2, .max_inputs = 3, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
