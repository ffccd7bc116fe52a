#include "reference/cast.hpp"
#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Cast-28: to, saturate (opset 19), round_mode (opset 24).
Result<std::vector<Tensor>> run_cast(const OpCall& call) {
  const auto type = type_argument(call, "to", DType::undefined);
  if (!type) return type.error();
  const auto rules = cast_rules(call);
  if (!rules) return rules.error();
  return single_output(cast(call.in(0), *type, *rules));
}

Result<Facts> infer_cast(const ShapeCall& call) {
  const auto type = type_argument(call, "to", DType::undefined);
  if (!type) return type.error();
  return one(*type, call.in(0).shape);
}

}  // namespace

const OpDef& op_cast() {
  static const OpDef def{
      .name = "Cast", .first_opset = 6, .run = &run_cast, .infer = &infer_cast, .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
