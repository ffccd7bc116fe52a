#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Greater-13.
Result<std::vector<Tensor>> run_greater(const OpCall& call) {
  return compare(call, [](auto a, auto b) { return a > b; });
}

}  // namespace

const OpDef& op_greater() {
  static const OpDef def{.name = "Greater",
                         .first_opset = 7,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_greater,
                         .infer = &infer_compare,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
