#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX Trilu-14: the upper (lower) triangle of each matrix, from (up to) the diagonal column - row = k.
Result<std::vector<Tensor>> run_trilu(const OpCall& call) {
  const Tensor& x = call.in(0);
  if (x.rank() < 2) return op_error(fmt::format("input is {}, expected matrices", tensor_text(x)));
  std::int64_t diagonal = 0;
  if (call.has_input(1)) {
    const auto k = integer_scalar(call, 1);
    if (!k) return k.error();
    diagonal = *k;
  }
  const bool upper = call.node.int_or("upper", 1) != 0;
  const std::int64_t columns = x.shape().back();
  const std::int64_t rows = x.shape()[x.shape().size() - 2];
  Tensor result = x;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const std::int64_t distance = i % columns - i / columns % rows;
    if (upper ? distance >= diagonal : distance <= diagonal) continue;
    if (x.is_real()) {
      result.reals()[at(i)] = 0.0;
    } else {
      result.integers()[at(i)] = 0;
    }
  }
  return single_output(std::move(result));
}

Result<Facts> infer_trilu(const ShapeCall& call) {
  if (const auto rank = require_least_rank(call, 0, 2); !rank) return rank.error();
  if (const auto diagonal = require_single(call, 1); !diagonal) return diagonal.error();
  return infer_same(call);
}

}  // namespace

const OpDef& op_trilu() {
  static const OpDef def{.name = "Trilu", .first_opset = 14, .max_inputs = 2, .run = &run_trilu, .infer = &infer_trilu};
  return def;
}

}  // namespace assay::reference
