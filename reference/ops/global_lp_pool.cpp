#include <cmath>

#include "reference/arguments.hpp"
#include "reference/pooling.hpp"

namespace assay::reference {
namespace {

// ONNX GlobalLpPool-22: (Σ |x|^p)^(1/p) over each channel's plane of x [N, C, spatial…].
Result<std::vector<Tensor>> run_global_lp_pool(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  if (const auto axes = require_spatial_axes(call); !axes) return axes.error();
  const Tensor& x = call.in(0);
  const auto p = static_cast<double>(call.node.int_or("p", 2));
  if (!(p >= 1.0)) return op_error("p must be at least 1");
  const AxisSplit split = split_at_axis(x.shape(), 1);
  std::vector<double> y(at(split.outer * split.extent), 0.0);
  for (std::int64_t i = 0; i < x.size(); ++i) y[at(i / split.inner)] += std::pow(std::abs(x.reals()[at(i)]), p);
  for (double& value : y) value = std::pow(value, 1.0 / p);
  Shape shape(x.shape().size(), 1);
  std::copy_n(x.shape().begin(), 2, shape.begin());
  return single_output(Tensor(x.type(), shape, std::move(y)));
}

}  // namespace

const OpDef& op_global_lp_pool() {
  static const OpDef def{
      .name = "GlobalLpPool", .first_opset = 2, .run = &run_global_lp_pool, .infer = &infer_global_pool};
  return def;
}

}  // namespace assay::reference
