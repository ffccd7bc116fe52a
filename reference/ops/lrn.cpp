#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX LRN-13: x / (bias + alpha / size * sum of squares)^beta over the `size` channels around each one.
Result<std::vector<Tensor>> run_lrn(const OpCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const std::int64_t size = call.node.int_or("size", 0);
  if (x.rank() < 3 || size < 1) {
    return op_error(fmt::format("{} has shape {} and size is {}, expected at least one spatial axis and channel",
                                input_text(call, 0), core::shape_text(x.shape()), size));
  }
  const double alpha = call.node.float_or("alpha", static_cast<double>(1e-4F));
  const double beta = call.node.float_or("beta", 0.75);
  const double bias = call.node.float_or("bias", 1.0);
  const AxisSplit split = split_at_axis(x.shape(), 1);
  const std::span<const double> values = x.reals();
  std::vector<double> y(values.size());
  for (std::int64_t block = 0; block < split.outer * split.extent; ++block) {
    const std::int64_t channel = block % split.extent;
    const std::int64_t first = std::max<std::int64_t>(0, channel - (size - 1) / 2);
    const std::int64_t last = std::min(split.extent - 1, channel + size / 2);  // size / 2 is ceil((size - 1) / 2)
    for (std::int64_t i = 0; i < split.inner; ++i) {
      double square_sum = 0.0;
      for (std::int64_t other = first; other <= last; ++other) {
        const double value = values[at((block - channel + other) * split.inner + i)];
        square_sum += value * value;
      }
      const std::size_t index = at(block * split.inner + i);
      y[index] = values[index] / std::pow(bias + alpha / static_cast<double>(size) * square_sum, beta);
    }
  }
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

Result<Facts> infer_lrn(const ShapeCall& call) {
  if (const core::Status status = require_least_rank(call, 0, 3); !status) {
    return status.error();
  }
  return infer_same_real(call);
}

}  // namespace

const OpDef& op_lrn() {
  static const OpDef def{.name = "LRN", .run = &run_lrn, .infer = &infer_lrn};
  return def;
}

}  // namespace assay::reference
