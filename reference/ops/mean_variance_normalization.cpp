#include <cmath>

#include "reference/reduce.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX MeanVarianceNormalization-13: (x - E[x]) / (sqrt(E[(x - E[x])^2]) + 1e-9) with the moments over `axes`, by
// default [0, 2, 3]. The text leaves out the 1e-9 that the operator's function body adds.
Result<std::vector<Tensor>> run_mean_variance_normalization(const OpCall& call) {
  constexpr double kBodyEpsilon = 1e-9;
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& x = call.in(0);
  const auto axes = checked_axes(call.node.ints_or("axes", {0, 2, 3}), x.rank());
  if (!axes) return axes.error();
  Shape kept = x.shape();
  for (const std::int64_t axis : *axes) kept[at(axis)] = 1;
  const auto strides = broadcast_strides(kept, x.shape());
  const auto groups = at(core::element_count(kept));
  const double count = static_cast<double>(x.size()) / static_cast<double>(groups);
  const auto for_each = [&](auto visit) {
    for_each_broadcast<1>(x.shape(), {strides}, [&](std::int64_t i, const std::array<std::int64_t, 1>& group) {
      visit(at(i), at(group[0]));
    });
  };
  std::vector<double> mean(groups, 0.0);
  for_each([&](std::size_t i, std::size_t group) { mean[group] += x.reals()[i] / count; });
  std::vector<double> variance(groups, 0.0);
  for_each([&](std::size_t i, std::size_t group) {
    const double distance = x.reals()[i] - mean[group];
    variance[group] += distance * distance / count;
  });
  std::vector<double> y(at(x.size()));
  for_each([&](std::size_t i, std::size_t group) {
    y[i] = (x.reals()[i] - mean[group]) / (std::sqrt(variance[group]) + kBodyEpsilon);
  });
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

}  // namespace

const OpDef& op_mean_variance_normalization() {
  static const OpDef def{.name = "MeanVarianceNormalization",
                         .first_opset = 9,
                         .run = &run_mean_variance_normalization,
                         .infer = &infer_same_real};
  return def;
}

}  // namespace assay::reference
