#include "reference/arguments.hpp"
#include "reference/cast.hpp"

namespace assay::reference {
namespace {

// ONNX CastLike-15: Cast to the type of the second input, whose values do not matter.
Result<std::vector<Tensor>> run(const OpCall& call) { return single_output(cast(call.in(0), call.in(1).type())); }

}  // namespace

const OpDef& op_cast_like() {
  static const OpDef def{.name = "CastLike", .first_opset = 15, .min_inputs = 2, .max_inputs = 2, .run = &run};
  return def;
}

}  // namespace assay::reference
