#include <numeric>

#include "reference/arithmetic.hpp"
#include "reference/pooling.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

double largest(std::span<const double> values) {
  return std::accumulate(values.begin(), values.end(), values.front(),
                         [](double best, double value) { return larger(best, value); });
}

/// ONNX GlobalMaxPool-1: the largest value of each channel's plane; NaN where there is one.
Result<std::vector<Tensor>> run_global_max_pool(const OpCall& call) { return run_global_pool(call, &largest); }

}  // namespace

const OpDef& op_global_max_pool() {
  static const OpDef def{.name = "GlobalMaxPool", .run = &run_global_max_pool, .infer = &infer_global_pool};
  return def;
}

}  // namespace assay::reference
