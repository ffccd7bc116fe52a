#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX EyeLike-9: ones where column - row = k.
Result<std::vector<Tensor>> run_eye_like(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.rank() != 2) return op_error(fmt::format("input is {}, expected a matrix", tensor_text(x)));
  const auto type = type_argument(call, "dtype", x.type());
  if (!type) return type.error();
  const std::int64_t diagonal = call.node.int_or("k", 0);
  Tensor eye = Tensor::zeros(DType::int64, x.shape());
  const std::int64_t columns = x.shape()[1];
  for (std::int64_t i = 0; i < eye.size(); ++i) {
    if (i % columns - i / columns == diagonal) eye.integers()[at(i)] = 1;
  }
  return single_output(cast(eye, *type));
}

Result<Facts> infer_eye_like(const ShapeCall& call) {
  if (const auto rank = require_rank(call, 0, 2); !rank) return rank.error();
  const auto type = type_argument(call, "dtype", call.in(0).type);
  if (!type) return type.error();
  return one(*type, call.in(0).shape.value_or(unknown_dims(2)));
}

}  // namespace

const OpDef& op_eye_like() {
  static const OpDef def{.name = "EyeLike", .first_opset = 9, .run = &run_eye_like, .infer = &infer_eye_like};
  return def;
}

}  // namespace assay::reference
