#include <fmt/format.h>

#include <numeric>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

// ONNX CenterCropPad-18: each of `axes` (default all) cut or padded with zeros to the extent in input 1, around the
// center. Of an odd difference, the smaller part is cut or added in front.
Result<std::vector<Tensor>> run_center_crop_pad(const OpCall& call) {
  const Tensor& x = call.in(0);
  const auto extents = integer_list(call, 1);
  if (!extents) return extents.error();
  std::vector<std::int64_t> all(at(x.rank()));
  std::iota(all.begin(), all.end(), 0);
  const auto axes = checked_axes(call.node.ints_or("axes", all), x.rank());
  if (!axes) return axes.error();
  if (axes->size() != extents->size()) {
    return op_error(fmt::format("{} extents for {} axes", extents->size(), axes->size()));
  }
  Shape shape = x.shape();
  for (std::size_t i = 0; i < axes->size(); ++i) shape[at((*axes)[i])] = (*extents)[i];
  if (const auto count = checked_count(shape); !count) return count.error();
  AxisMap map = AxisMap::identity(x.shape());
  for (std::size_t i = 0; i < axes->size(); ++i) {
    std::vector<std::int64_t>& table = map.axes[at((*axes)[i])];
    const auto extent = static_cast<std::int64_t>(table.size());
    const std::int64_t target = (*extents)[i];
    const std::int64_t first = target <= extent ? (extent - target) / 2 : -((target - extent) / 2);
    std::vector<std::int64_t> centered;
    for (std::int64_t k = first; k < first + target; ++k) {
      centered.push_back(k >= 0 && k < extent ? table[at(k)] : AxisMap::kOutside);
    }
    table = std::move(centered);
  }
  return single_output(take(x, map));
}

Result<Facts> infer_center_crop_pad(const ShapeCall& call) {
  const TensorFacts& x = call.in(0);
  const auto extents = extents_argument(call, 1);
  if (!extents) return extents.error();
  if (!x.shape) return one(x.type, std::nullopt);
  Dims shape = *x.shape;
  std::vector<std::int64_t> all(shape.size());
  std::iota(all.begin(), all.end(), 0);
  const auto axes = checked_axes(call.node.ints_or("axes", all), *x.rank());
  if (!axes) return axes.error();
  if (*extents && (*extents)->size() != axes->size()) {
    return op_error(fmt::format("{} extents for {} axes", (*extents)->size(), axes->size()));
  }
  for (std::size_t i = 0; i < axes->size(); ++i) shape[at((*axes)[i])] = *extents ? (**extents)[i] : Dimension();
  return one(x.type, std::move(shape));
}

}  // namespace

const OpDef& op_center_crop_pad() {
  static const OpDef def{.name = "CenterCropPad",
                         .first_opset = 18,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_center_crop_pad,
                         .infer = &infer_center_crop_pad};
  return def;
}

}  // namespace assay::reference
