#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX NonZero-13: a column of coordinates for each element that is not zero, in row-major order.
Result<std::vector<Tensor>> run_non_zero(const OpCall& call) {
  const Tensor& x = call.in(0);
  std::vector<std::int64_t> found;
  for (std::int64_t i = 0; i < x.size(); ++i) {
    const bool zero = x.is_real() ? x.reals()[at(i)] == 0.0 : x.integers()[at(i)] == 0;
    if (!zero) found.push_back(i);
  }
  const std::vector<std::int64_t> strides = row_major_strides(x.shape());
  std::vector<std::int64_t> coordinates;
  for (std::size_t axis = 0; axis < strides.size(); ++axis) {
    for (const std::int64_t position : found) coordinates.push_back(position / strides[axis] % x.shape()[axis]);
  }
  return single_output(
      Tensor(DType::int64, {x.rank(), static_cast<std::int64_t>(found.size())}, std::move(coordinates)));
}

Result<Facts> infer_non_zero(const ShapeCall& call) {
  const auto rank = call.in(0).rank();
  return one(DType::int64, Dims{rank ? known(*rank) : Dimension(), Dimension()});
}

}  // namespace

const OpDef& op_non_zero() {
  static const OpDef def{.name = "NonZero", .first_opset = 9, .run = &run_non_zero, .infer = &infer_non_zero};
  return def;
}

}  // namespace assay::reference
