#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Xor-7.
Result<std::vector<Tensor>> run_xor(const OpCall& call) {
  return logical(call, [](auto a, auto b) { return (a != 0) != (b != 0); });
}

}  // namespace

const OpDef& op_xor() {
  static const OpDef def{
      .name = "Xor", .first_opset = 7, .min_inputs = 2, .max_inputs = 2, .run = &run_xor, .infer = &infer_logical};
  return def;
}

}  // namespace assay::reference
