#pragma once

#include "reference/op.hpp"
#include "reference/op_checks.hpp"

namespace assay::reference {

/// The lines of Softmax, LogSoftmax and Hardmax: along `axis` (default -1) from opset 13 on; before, all axes from
/// `axis` (default 1) on are one line.
[[nodiscard]] Result<AxisSplit> softmax_axis(const OpCall& call);

/// The whole of Softmax and LogSoftmax.
[[nodiscard]] Result<std::vector<Tensor>> softmax_lines(const OpCall& call, bool logarithm);

/// The rule of all: as the input, where attribute axis names one of its axes.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_softmax(const ShapeCall& call);

/// exp(x) / Σ exp(x) over each line of real `x`, or its logarithm. The largest value is taken off first, so that
/// nothing overflows; a line of minus infinities is NaN.
[[nodiscard]] Tensor softmax_of(const Tensor& x, const AxisSplit& lines, bool logarithm);

}  // namespace assay::reference
