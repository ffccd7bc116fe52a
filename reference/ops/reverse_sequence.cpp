#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX ReverseSequence-28: in each slice along batch_axis (default 1) the first sequence_lens elements along time_axis
// (default 0) in reverse order, the others as they are.
Result<std::vector<Tensor>> run_reverse_sequence(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto batch_axis = checked_axis(call.node.int_or("batch_axis", 1), x.rank());
  if (!batch_axis) return batch_axis.error();
  const auto time_axis = checked_axis(call.node.int_or("time_axis", 0), x.rank());
  if (!time_axis) return time_axis.error();
  const auto lengths = integer_list(call, 1);
  if (!lengths) return lengths.error();
  const std::int64_t batches = x.shape()[at(*batch_axis)];
  const std::int64_t steps = x.shape()[at(*time_axis)];
  if (static_cast<std::int64_t>(lengths->size()) != batches || *batch_axis == *time_axis) {
    return op_error(fmt::format("{} lengths for {} sequences along axis {}", lengths->size(), batches, *batch_axis));
  }
  for (const std::int64_t length : *lengths) {
    if (length < 0 || length > steps) return op_error(fmt::format("a sequence of {} in {} steps", length, steps));
  }
  const std::vector<std::int64_t> strides = row_major_strides(x.shape());
  std::vector<std::int64_t> from(at(x.size()));
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t batch = i / strides[at(*batch_axis)] % batches;
    const std::int64_t time = i / strides[at(*time_axis)] % steps;
    const std::int64_t length = (*lengths)[at(batch)];
    from[at(i)] = time < length ? i + (length - 1 - 2 * time) * strides[at(*time_axis)] : i;
  }
  return single_output(elements_at(x, from, x.shape()));
}

}  // namespace

const OpDef& op_reverse_sequence() {
  static const OpDef def{.name = "ReverseSequence",
                         .first_opset = 10,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_reverse_sequence,
                         .infer = &infer_same};
  return def;
}

}  // namespace assay::reference
