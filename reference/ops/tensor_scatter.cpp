#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/element_index.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX TensorScatter-24: `update` written into the cache (input 0) along `axis` (default -2), in each sample of the
// batch from its write index (input 2, default 0) on. Mode linear must fit, circular wraps around.
Result<std::vector<Tensor>> run_tensor_scatter(const OpCall& call) {
  const Tensor& cache = call.in(0);
  const Tensor& update = call.in(1);
  const auto axis = checked_axis(call.node.int_or("axis", -2), cache.rank());
  if (!axis) return axis.error();
  const std::string mode = call.node.string_or("mode", "linear");
  if (mode != "linear" && mode != "circular") {
    return op_error(fmt::format("mode is \"{}\", expected linear or circular", mode));
  }
  Shape expected = cache.shape();
  if (*axis == 0 || update.rank() != cache.rank()) {
    return op_error(fmt::format("axis {} of {} and {}; expected equal ranks and an axis behind the batch", *axis,
                                tensor_text(cache), tensor_text(update)));
  }
  const AxisSplit to = split_at_axis(cache.shape(), *axis);
  const std::int64_t length = update.shape()[at(*axis)];
  expected[at(*axis)] = length;
  if (update.shape() != expected || length > to.extent) {
    return op_error(
        fmt::format("{} doesn't fit into {} along axis {}", tensor_text(update), tensor_text(cache), *axis));
  }
  const std::int64_t batches = cache.shape()[0];
  std::vector<std::int64_t> first(at(batches), 0);
  if (call.has_input(2)) {
    const auto list = integer_list(call, 2);
    if (!list) return list.error();
    if (list->size() != first.size())
      return op_error(fmt::format("{} write indices for {} samples", list->size(), batches));
    first = *list;
  }
  std::vector<std::int64_t> positions;
  for (std::int64_t outer = 0; outer < to.outer; ++outer) {
    const std::int64_t begin = first[at(outer / (to.outer / batches))];
    if (begin < 0 || (mode == "linear" && begin + length > to.extent)) {
      return op_error(fmt::format("write index {} leaves no room for {} of {} elements", begin, length, to.extent));
    }
    for (std::int64_t i = 0; i < length; ++i) {
      const std::int64_t line = outer * to.extent + (begin + i) % to.extent;
      for (std::int64_t k = 0; k < to.inner; ++k) positions.push_back(line * to.inner + k);
    }
  }
  return single_output(scattered(cache, positions, update, "none"));
}

}  // namespace

const OpDef& op_tensor_scatter() {
  static const OpDef def{.name = "TensorScatter",
                         .first_opset = 24,
                         .min_inputs = 2,
                         .max_inputs = 3,
                         .run = &run_tensor_scatter,
                         .infer = &infer_same};
  return def;
}

}  // namespace assay::reference
