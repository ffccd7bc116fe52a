#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX BitwiseAnd-18: and of the bits of two integers, broadcast.
Result<std::vector<Tensor>> run_bitwise_and(const OpCall& call) {
  return bitwise(call, [](std::int64_t a, std::int64_t b) { return a & b; });
}

}  // namespace

const OpDef& op_bitwise_and() {
  static const OpDef def{.name = "BitwiseAnd",
                         .first_opset = 18,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_bitwise_and,
                         .infer = &infer_binary};
  return def;
}

}  // namespace assay::reference
