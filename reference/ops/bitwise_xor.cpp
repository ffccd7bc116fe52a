#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX BitwiseXor-18: exclusive or of the bits of two integers, broadcast.
Result<std::vector<Tensor>> run_bitwise_xor(const OpCall& call) {
  return bitwise(call, [](std::int64_t a, std::int64_t b) { return a ^ b; });
}

}  // namespace

const OpDef& op_bitwise_xor() {
  static const OpDef def{.name = "BitwiseXor",
                         .first_opset = 18,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_bitwise_xor,
                         .infer = &infer_binary};
  return def;
}

}  // namespace assay::reference
