#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/arithmetic.hpp"
#include "reference/pooling.hpp"

namespace assay::reference {
namespace {

/// ONNX GlobalMaxPool-1: the largest value of each channel's plane; NaN where there is one.
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Result<GlobalPool> pool = global_pool(call);
  if (!pool) {
    return pool.error();
  }
  const std::span<const double> x = call.in(0).reals();
  std::vector<double> y;
  for (std::int64_t plane = 0; plane < pool->planes; ++plane) {
    const auto values = x.subspan(at(plane * pool->plane_size), at(pool->plane_size));
    double largest = values.front();
    for (const double value : values) {
      largest = larger(largest, value);
    }
    y.push_back(largest);
  }
  return single_output(Tensor(call.in(0).type(), pool->output, std::move(y)));
}

}  // namespace

const OpDef& op_global_max_pool() {
  static const OpDef def{.name = "GlobalMaxPool", .run = &run};
  return def;
}

}  // namespace assay::reference
