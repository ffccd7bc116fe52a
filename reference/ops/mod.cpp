#include <algorithm>
#include <cmath>

#include "reference/elementwise.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kRealsAreFloored = 28;

/// The remainder with the sign of the divisor.
std::int64_t floored_remainder(std::int64_t a, std::int64_t b) {
  const std::int64_t rest = remainder(a, b);
  return rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
}

/// The same for reals: exact, but that adding the divisor rounds. The remainder of an infinity or by zero is NaN.
double floored_remainder(double a, double b) {
  const double rest = std::fmod(a, b);
  return rest == 0.0 ? std::copysign(rest, b) : (rest < 0.0) != (b < 0.0) ? rest + b : rest;
}

// ONNX Mod-28: fmod=1 takes the sign of the dividend as C's fmod does, fmod=0 that of the divisor (before opset 28 for
// integers only).
Result<std::vector<Tensor>> run_mod(const OpCall& call) {
  const bool truncated = call.node.int_or("fmod", 0) != 0;
  const Tensor& divisor = call.in(1);
  if (divisor.is_real()) {
    if (!truncated && call.opset < kRealsAreFloored) {
      return op_error("before opset 28 floating-point inputs need fmod=1, found fmod=0");
    }
    return binary(call, [truncated](auto a, auto b) {
      const auto dividend = static_cast<double>(a);
      const auto by = static_cast<double>(b);
      return static_cast<decltype(a)>(truncated ? std::fmod(dividend, by) : floored_remainder(dividend, by));
    });
  }
  if (std::ranges::find(divisor.integers(), 0) != divisor.integers().end()) {
    return op_error(input_text(call, 1) + " divides integers and has a zero");
  }
  return binary(call, [truncated](auto a, auto b) {
    const auto dividend = static_cast<std::int64_t>(a);
    const auto by = static_cast<std::int64_t>(b);
    return static_cast<decltype(a)>(truncated ? remainder(dividend, by) : floored_remainder(dividend, by));
  });
}

}  // namespace

const OpDef& op_mod() {
  static const OpDef def{.name = "Mod",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_mod,
                         .infer = &infer_binary,
                         .data = DataFlow::elementwise};
  return def;
}

}  // namespace assay::reference
