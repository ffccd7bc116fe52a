#include "reference/op_checks.hpp"
#include "reference/pooling.hpp"
#include "reference/shape_rules.hpp"

namespace assay::reference {
namespace {

/// ONNX AveragePool-19: the sum of each window over the number of its elements inside x, or, with count_include_pad,
/// inside x and its padding (what ceil_mode adds beyond the padding never counts).
Result<std::vector<Tensor>> run_average_pool(const OpCall& call) {
  const bool include_padding = call.node.int_or("count_include_pad", 0) != 0;
  return run_real_pool(call, [=](const double* in, const Windows& windows, const WindowView& window) {
    double sum = 0.0;
    std::int64_t inside = 0;
    for_each_element(windows, window, [&](std::int64_t offset) {
      sum += in[offset];
      ++inside;
    });
    const std::int64_t count =
        include_padding ? window[0].padded_taps * window[1].padded_taps * window[2].padded_taps : inside;
    // A window wholly in the padding holds nothing but zeros.
    return count == 0 ? 0.0 : sum / static_cast<double>(count);
  });
}

Result<Facts> infer_average_pool(const ShapeCall& call) {
  if (const core::Status status = require_real(call, 0); !status) {
    return status.error();
  }
  return infer_pool(call);
}

}  // namespace

const OpDef& op_average_pool() {
  static const OpDef def{
      .name = "AveragePool", .first_opset = 7, .run = &run_average_pool, .infer = &infer_average_pool};
  return def;
}

}  // namespace assay::reference
