#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

core::Error does_not_fit(const TensorFacts& x, const Dims& target) {
  return op_error(fmt::format("{} can't be given the shape {}", facts_text(x), dims_text(target)));
}

/// What `total` leaves beside `others`: factors that both have cancel out, the rest divides where it is known.
std::optional<Dimension> left_over(Dims total, Dims others) {
  for (auto other = others.begin(); other != others.end();) {
    const auto same = std::ranges::find_if(total, [&](const Dimension& dim) { return surely_equal(dim, *other); });
    const bool cancels = !other->value && same != total.end();  // numbers divide; a zero must not vanish
    if (cancels) total.erase(same);
    other = cancels ? others.erase(other) : other + 1;
  }
  const Dimension all = product(total);
  const Dimension part = product(others);
  if (part.value == 1) return all;
  if (!all.value || !part.value) return Dimension();
  // Beside a zero extent nothing tells what is left.
  if (*part.value == 0 || *all.value % *part.value != 0) return std::nullopt;
  return known(*all.value / *part.value);
}

// ONNX Reshape-19: 0 keeps the data's extent (unless allowzero), one -1 takes what is left.
Result<Facts> infer_reshape(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto target = extents_argument(call, 1, -1);
  if (!target) return target.error();
  if (!*target) return one(x.type, std::nullopt);
  const bool keep_zero = call.node.int_or("allowzero", 0) == 0;
  Dims shape = **target;
  std::vector<std::size_t> wildcards;
  std::vector<std::size_t> unknown;
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis].value == 0 && keep_zero) {
      if (x.shape && axis >= x.shape->size()) return does_not_fit(x, **target);
      shape[axis] = extent_of(x, axis);
    } else if (shape[axis].value == -1) {
      wildcards.push_back(axis);
      shape[axis] = {};
    } else if (!shape[axis].value && shape[axis].symbol.empty()) {
      unknown.push_back(axis);  // may turn out to be the -1
    }
  }
  if (wildcards.size() > 1) return op_error(fmt::format("shape {} has more than one -1", dims_text(**target)));
  if (!x.shape) return one(x.type, std::move(shape));
  const std::vector<std::size_t>& open = wildcards.empty() ? unknown : wildcards;
  if (open.empty()) {
    if (!may_equal(product(shape), x.size())) return does_not_fit(x, **target);
  } else if (open.size() == 1 && (wildcards.empty() || unknown.empty())) {
    Dims others = shape;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(open.front()));
    const auto extent = left_over(*x.shape, others);
    if (!extent) return does_not_fit(x, **target);
    shape[open.front()] = *extent;
  }
  return one(x.type, std::move(shape));
}

Result<std::vector<Tensor>> run_reshape(const OpCall& call) {
  const auto shape = ruled_shape(call, &infer_reshape);
  if (!shape) return shape.error();
  return single_output(call.in(0).reshaped(*shape));
}

}  // namespace

const OpDef& op_reshape() {
  static const OpDef def{.name = "Reshape",
                         .first_opset = 5,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_reshape,
                         .infer = &infer_reshape,
                         .data = DataFlow::moves_first};
  return def;
}

}  // namespace assay::reference
