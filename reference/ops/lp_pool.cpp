#include <fmt/format.h>

#include <cmath>

#include "reference/op_checks.hpp"
#include "reference/pooling.hpp"

namespace assay::reference {
namespace {

/// ONNX LpPool-22 (-18: dilations, ceil_mode): (Σ |x|^p)^(1/p) of each window; padding counts as zero.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<Windows> windows = pool_windows(call);
  if (!windows) {
    return windows.error();
  }
  const auto p = static_cast<double>(call.node.int_or("p", 2));
  if (!(p >= 1.0)) {
    return op_error(fmt::format("p is {}, expected at least 1", p));
  }
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  std::vector<double> y;
  const auto views = axis_views(*windows);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const double* in = x.reals().data() + plane * volume(windows->input);
    for_each_window(views, [&](std::int64_t /*position*/, const WindowView& window) {
      double sum = 0.0;
      for_each_element(*windows, window, [&](std::int64_t offset) { sum += std::pow(std::abs(in[offset]), p); });
      y.push_back(std::pow(sum, 1.0 / p));
    });
  }
  return std::vector{Tensor(x.type(), windows->output_shape(x.shape()[0], x.shape()[1]), std::move(y))};
}

}  // namespace

const OpDef& op_lp_pool() {
  static const OpDef def{.name = "LpPool", .first_opset = 2, .run = &run, .infer = &infer_pool};
  return def;
}

}  // namespace assay::reference
