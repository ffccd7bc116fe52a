#include <fmt/format.h>

#include "reference/op_checks.hpp"
#include "reference/pooling.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX AveragePool-19: the sum of each window over the number of its elements inside x, or, with count_include_pad,
/// inside x and its padding (what ceil_mode adds beyond the padding never counts).
Result<std::vector<Tensor>> run(const OpCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  const Tensor& x = call.in(0);
  const Result<Windows> windows = pool_windows(call);
  if (!windows) {
    return windows.error();
  }
  const bool include_padding = call.node.int_or("count_include_pad", 0) != 0;
  const std::int64_t planes = x.shape()[0] * x.shape()[1];
  const std::int64_t out_plane = volume(windows->output);
  std::vector<double> y(at(planes * out_plane));
  const auto views = axis_views(*windows);
  for (std::int64_t plane = 0; plane < planes; ++plane) {
    const double* in = x.reals().data() + plane * volume(windows->input);
    for_each_window(views, [&](std::int64_t position, const WindowView& window) {
      double sum = 0.0;
      std::int64_t inside = 0;
      for_each_element(*windows, window, [&](std::int64_t offset) {
        sum += in[offset];
        ++inside;
      });
      const std::int64_t count =
          include_padding ? window[0].padded_taps * window[1].padded_taps * window[2].padded_taps : inside;
      // A window wholly in the padding holds nothing but zeros.
      y[at(plane * out_plane + position)] = count == 0 ? 0.0 : sum / static_cast<double>(count);
    });
  }
  return std::vector{Tensor(x.type(), windows->output_shape(x.shape()[0], x.shape()[1]), std::move(y))};
}

Result<Facts> infer(const ShapeCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  return infer_pool(call);
}

}  // namespace

const OpDef& op_average_pool() {
  static const OpDef def{.name = "AveragePool", .first_opset = 7, .run = &run, .infer = &infer};
  return def;
}

}  // namespace assay::reference
