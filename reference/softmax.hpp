#pragma once

#include "reference/op.hpp"

namespace assay::reference {

/// The lines that Softmax and LogSoftmax normalize: along `axis` (default -1) from opset 13 on; before, all axes from
/// `axis` (default 1) on are one line.
[[nodiscard]] Result<std::vector<Tensor>> softmax_lines(const OpCall& call, bool logarithm);

/// The rule of all: as the input, where attribute axis names one of its axes.
[[nodiscard]] Result<std::vector<TensorFacts>> infer_softmax(const ShapeCall& call);

}  // namespace assay::reference
