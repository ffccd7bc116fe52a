#include <numeric>

#include "reference/pooling.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

double mean(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// ONNX GlobalAveragePool-1: the mean of each channel's plane.
Result<std::vector<Tensor>> run_global_average_pool(const OpCall& call) { return run_global_pool(call, &mean); }

}  // namespace

const OpDef& op_global_average_pool() {
  static const OpDef def{.name = "GlobalAveragePool", .run = &run_global_average_pool, .infer = &infer_global_pool};
  return def;
}

}  // namespace assay::reference
