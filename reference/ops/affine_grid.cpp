#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// Point `i` of `extent` that divide -1 … 1: the ends included, or in the middles of equal parts.
double position(std::int64_t i, std::int64_t extent, bool align_corners) {
  const auto index = static_cast<double>(i);
  const auto count = static_cast<double>(extent);
  if (!align_corners) return (2.0 * index + 1.0) / count - 1.0;
  return extent == 1 ? -1.0 : 2.0 * index / (count - 1.0) - 1.0;
}

// ONNX AffineGrid-20: grid[n, (d,) h, w] = theta[n] · (x, y, (z,) 1) for evenly spaced points, x along the last axis of
// size (N, C, (D,) H, W). A single point with align_corners, of which the text does not speak, is -1, as NumPy's
// linspace begins.
Result<std::vector<Tensor>> run_affine_grid(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const Tensor& theta = call.in(0);
  const auto size = integer_list(call, 1);
  if (!size) return size.error();
  const auto axes = static_cast<std::int64_t>(size->size()) - 2;
  if ((axes != 2 && axes != 3) || theta.shape() != Shape{(*size)[0], axes, axes + 1}) {
    return op_error(
        fmt::format("theta {} and size {}; expected [N, 2, 3] and (N, C, H, W), or [N, 3, 4] and "
                    "(N, C, D, H, W)",
                    tensor_text(theta), core::shape_text(*size)));
  }
  Shape shape{(*size)[0]};
  shape.insert(shape.end(), size->begin() + 2, size->end());
  const std::int64_t points = core::element_count(std::span(shape).subspan(1));
  shape.push_back(axes);
  if (const auto count = checked_count(shape); !count) return count.error();
  const bool align_corners = call.node.int_or("align_corners", 0) != 0;
  std::vector<double> grid;
  for (std::int64_t n = 0; n < shape[0]; ++n) {
    for (std::int64_t point = 0; point < points; ++point) {
      std::vector<double> from;  // x first: the last axis varies fastest
      std::int64_t rest = point;
      for (std::int64_t axis = axes; axis >= 1; --axis) {
        from.push_back(position(rest % shape[at(axis)], shape[at(axis)], align_corners));
        rest /= shape[at(axis)];
      }
      from.push_back(1.0);
      for (std::int64_t row = 0; row < axes; ++row) {
        double sum = 0.0;
        for (std::int64_t k = 0; k <= axes; ++k) {
          sum += theta.reals()[at((n * axes + row) * (axes + 1) + k)] * from[at(k)];
        }
        grid.push_back(sum);
      }
    }
  }
  return single_output(Tensor(theta.type(), shape, std::move(grid)));
}

Result<Facts> infer_affine_grid(const ShapeCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const auto size = extents_argument(call, 1);
  if (!size) return size.error();
  if (!*size || (*size)->size() < 3) return one(call.in(0).type, std::nullopt);
  Dims shape{(**size)[0]};
  shape.insert(shape.end(), (*size)->begin() + 2, (*size)->end());
  shape.push_back(known(static_cast<std::int64_t>((*size)->size()) - 2));
  return one(call.in(0).type, std::move(shape));
}

}  // namespace

const OpDef& op_affine_grid() {
  static const OpDef def{.name = "AffineGrid",
                         .first_opset = 20,
                         .min_inputs = 2,
                         .max_inputs = 2,
                         .run = &run_affine_grid,
                         .infer = &infer_affine_grid};
  return def;
}

}  // namespace assay::reference
