#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Equal-13.
Result<std::vector<Tensor>> run_equal(const OpCall& call) {
  return compare(call, [](auto a, auto b) { return a == b; });
}

}  // namespace

const OpDef& op_equal() {
  static const OpDef def{.name = "Equal",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_equal,
                         .infer = &infer_compare,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
