#include <numeric>

#include "reference/arguments.hpp"
#include "reference/pooling.hpp"

namespace assay::reference {
namespace {

/// ONNX GlobalAveragePool-1: the mean of each channel's plane.
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
    y.push_back(std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(pool->plane_size));
  }
  return single_output(Tensor(call.in(0).type(), pool->output, std::move(y)));
}

}  // namespace

const OpDef& op_global_average_pool() {
  static const OpDef def{.name = "GlobalAveragePool", .run = &run};
  return def;
}

}  // namespace assay::reference
