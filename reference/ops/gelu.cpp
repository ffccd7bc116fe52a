#include <fmt/format.h>

#include <cmath>
#include <numbers>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX Gelu-20: x / 2 * (1 + erf(x / √2)), or, where attribute approximate is "tanh",
/// x / 2 * (1 + tanh(√(2/π) * (x + 0.044715 x³))).
Result<std::vector<Tensor>> run_gelu(const OpCall& call) {
  const std::string approximate = call.node.string_or("approximate", "none");
  if (approximate == "none") {
    return map_reals(call, [](double x) { return 0.5 * x * (1.0 + std::erf(x / std::numbers::sqrt2)); });
  }
  if (approximate == "tanh") {
    static const double factor = std::sqrt(2.0 / std::numbers::pi);
    return map_reals(call, [](double x) { return 0.5 * x * (1.0 + std::tanh(factor * (x + 0.044715 * x * x * x))); });
  }
  return op_error(fmt::format("approximate is \"{}\", expected \"none\" or \"tanh\"", approximate));
}

}  // namespace

const OpDef& op_gelu() {
  static const OpDef def{.name = "Gelu", .first_opset = 20, .run = &run_gelu, .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
