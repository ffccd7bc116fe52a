#include "reference/arguments.hpp"
#include "reference/softmax.hpp"

namespace assay::reference {
namespace {

// ONNX Hardmax-13: 1 at the first largest value along `axis` (default -1), 0 elsewhere. Before opset 13 all axes from
// `axis` (default 1) on are one line.
Result<std::vector<Tensor>> run_hardmax(const OpCall& call) {
  if (const auto real = require_real(call, 0); !real) return real.error();
  const auto lines = softmax_axis(call);
  if (!lines) return lines.error();
  const Tensor& x = call.in(0);
  std::vector<double> y(at(x.size()), 0.0);
  for (std::int64_t line = 0; line < lines->outer * lines->inner && lines->extent > 0; ++line) {
    const std::int64_t first = line / lines->inner * lines->extent * lines->inner + line % lines->inner;
    std::int64_t best = first;
    for (std::int64_t i = 1; i < lines->extent; ++i) {
      const std::int64_t next = first + i * lines->inner;
      if (x.reals()[at(next)] > x.reals()[at(best)]) best = next;
    }
    y[at(best)] = 1.0;
  }
  return single_output(Tensor(x.type(), x.shape(), std::move(y)));
}

}  // namespace

const OpDef& op_hardmax() {
  static const OpDef def{.name = "Hardmax", .run = &run_hardmax, .infer = &infer_softmax};
  return def;
}

}  // namespace assay::reference
