#include <fmt/format.h>

#include <cmath>

#include "reference/pooling.hpp"

namespace assay::reference {
namespace {

/// ONNX LpPool-22 (-18: dilations, ceil_mode): (Σ |x|^p)^(1/p) of each window; padding counts as zero.
Result<std::vector<Tensor>> run_lp_pool(const OpCall& call) {
  const auto p = static_cast<double>(call.node.int_or("p", 2));
  if (!(p >= 1.0)) {
    return op_error(fmt::format("p is {}, expected at least 1", p));
  }
  return run_real_pool(call, [p](const double* in, const Windows& windows, const WindowView& window) {
    double sum = 0.0;
    for_each_element(windows, window, [&](std::int64_t offset) { sum += std::pow(std::abs(in[offset]), p); });
    return std::pow(sum, 1.0 / p);
  });
}

}  // namespace

const OpDef& op_lp_pool() {
  static const OpDef def{.name = "LpPool", .first_opset = 2, .run = &run_lp_pool, .infer = &infer_pool};
  return def;
}

}  // namespace assay::reference
