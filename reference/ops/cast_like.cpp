#include "reference/arguments.hpp"
#include "reference/cast.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX CastLike-25: Cast to the type of the second input, whose values do not matter.
Result<std::vector<Tensor>> run_cast_like(const OpCall& call) {
  const auto rules = cast_rules(call);
  if (!rules) return rules.error();
  return single_output(cast(call.in(0), call.in(1).type(), *rules));
}

Result<Facts> infer_cast_like(const ShapeCall& call) { return one(call.in(1).type, call.in(0).shape); }

}  // namespace

const OpDef& op_cast_like() {
  static const OpDef def{.name = "CastLike",
                         .first_opset = 15,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_cast_like,
                         .infer = &infer_cast_like,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
