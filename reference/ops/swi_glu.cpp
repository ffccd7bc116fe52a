#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX SwiGLU-28: a * sigmoid(alpha * a) * b for two inputs of one shape.
Result<std::vector<Tensor>> run_swi_glu(const OpCall& call) {
  for (std::size_t i = 0; i < 2; ++i) {
    if (const auto real = require_real(call, i); !real) return real.error();
  }
  if (call.in(0).shape() != call.in(1).shape()) {
    return op_error(tensor_text(call.in(0)) + " and " + tensor_text(call.in(1)) + " must have one shape");
  }
  const double alpha = call.node.float_or("alpha", 1.0);
  return binary(call, [alpha](auto a, auto b) {
    return static_cast<decltype(a)>(static_cast<double>(a) / (1.0 + std::exp(-alpha * static_cast<double>(a))) *
                                    static_cast<double>(b));
  });
}

}  // namespace

const OpDef& op_swi_glu() {
  static const OpDef def{.name = "SwiGLU",
                         .first_opset = 28,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_swi_glu,
                         .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
