#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX BitwiseNot-18: every bit of an integer turned over, in its type.
Result<std::vector<Tensor>> run_bitwise_not(const OpCall& call) {
  return map_integers(call, [](std::int64_t x) { return ~x; });
}

}  // namespace

const OpDef& op_bitwise_not() {
  static const OpDef def{
      .name = "BitwiseNot", .first_opset = 18, .run = &run_bitwise_not, .infer = &infer_same_integer};
  return def;
}

}  // namespace assay::reference
