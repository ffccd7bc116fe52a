#include <cmath>

#include "harness/judge/evidence/deviation.hpp"
#include "harness/judge/numerics/metrics.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// SQNR, cosine and largest error of `actual` against `expected`; nothing where the shapes differ. SQNR is left out
/// where it isn't a number: no error at all, or no signal.
void compare(const Tensor& expected, const Tensor& actual, const std::string& tensor, const std::string& data_set,
             std::vector<Metric>& metrics) {
  if (expected.shape() != actual.shape() || expected.size() == 0) return;
  const Deviation deviation = measure_deviation(expected, actual);
  if (!std::isfinite(deviation.signal) || !std::isfinite(deviation.noise)) return;
  metrics.push_back({tensor, data_set, "max_error", deviation.largest});
  if (const double db = deviation.sqnr_db(); std::isfinite(db)) metrics.push_back({tensor, data_set, "sqnr_db", db});
  if (const double c = deviation.cosine(); std::isfinite(c)) metrics.push_back({tensor, data_set, "cosine", c});
}

}  // namespace

std::vector<Metric> measure(const LayerContext& context) {
  std::vector<Metric> metrics;
  const Evidence& evidence = context.evidence;
  for (std::size_t i = 0; i < evidence.executions.size() && i < context.reference.size(); ++i) {
    const Execution& execution = evidence.executions[i];
    if (context.reference[i] == nullptr) continue;
    const core::TensorMap& reference = *context.reference[i];
    for (const auto& [name, actual] : execution.outputs) {
      const auto expected = reference.find(name);
      if (expected != reference.end()) compare(expected->second, actual, name, execution.data_set, metrics);
    }
    if (context.artifact == nullptr) continue;
    for (const Quantizer& quantizer : context.artifact->quantizers()) {
      const auto codes = execution.trace.find(quantizer.codes);
      const auto expected = reference.find(quantizer.original);
      if (codes == execution.trace.end() || expected == reference.end() ||
          execution.outputs.contains(quantizer.original))
        continue;
      if (const auto values = dequantize_tensor(codes->second, quantizer.params)) {
        compare(expected->second, *values, quantizer.original, execution.data_set, metrics);
      }
    }
  }
  return metrics;
}

}  // namespace assay::judge
