#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Shrink-9: x + bias below -lambd, x - bias above lambd, 0 between. Integers are shrunk as reals and truncated.
Result<std::vector<Tensor>> run_shrink(const OpCall& call) {
  const double lambd = call.node.float_or("lambd", 0.5);
  const double bias = call.node.float_or("bias", 0.0);
  const auto shrunk = [=](double x) { return x < -lambd ? x + bias : x > lambd ? x - bias : 0.0; };
  if (call.in(0).is_real()) return map_reals(call, shrunk);
  const DType type = call.in(0).type();
  return map_integers(call, [=](std::int64_t x) { return truncate_to(shrunk(static_cast<double>(x)), type); });
}

}  // namespace

const OpDef& op_shrink() {
  static const OpDef def{.name = "Shrink", .first_opset = 9, .run = &run_shrink, .infer = &infer_same};
  return def;
}

}  // namespace assay::reference
