#include <algorithm>
#include <cmath>

#include "harness/judge/facets.hpp"
#include "reference/quant.hpp"

namespace assay::judge {
namespace {

using core::Tensor;

/// SQNR, cosine and largest error of `actual` against `expected`; nothing where the shapes differ. SQNR is left out
/// where it isn't a number: no error at all, or no signal.
void compare(const Tensor& expected, const Tensor& actual, const std::string& tensor, const std::string& data_set,
             std::vector<Metric>& metrics) {
  if (expected.shape() != actual.shape() || expected.size() == 0) return;
  double signal = 0, noise = 0, energy = 0, product = 0, largest = 0;
  const std::vector<double> want = expected.to_reals(), got = actual.to_reals();
  for (std::size_t i = 0; i < want.size(); ++i) {
    const double e = want[i], a = got[i];
    signal += e * e;
    energy += a * a;
    product += e * a;
    noise += (e - a) * (e - a);
    largest = std::max(largest, std::abs(e - a));
  }
  if (!std::isfinite(signal) || !std::isfinite(noise)) return;
  metrics.push_back({tensor, data_set, "max_error", largest});
  if (noise > 0 && signal > 0) metrics.push_back({tensor, data_set, "sqnr_db", 10 * std::log10(signal / noise)});
  if (energy > 0 && signal > 0) metrics.push_back({tensor, data_set, "cosine", product / std::sqrt(signal * energy)});
}

/// Real values of codes; nothing where the parameters don't fit them.
std::optional<Tensor> dequantized(const Tensor& codes, const core::QuantParams& params) {
  const auto channels = ChannelIndex::make(codes.shape(), params);
  if (!channels || codes.is_real()) return std::nullopt;
  const auto integers = codes.integers();
  std::vector<double> values(integers.size());
  channels->for_each_run(values.size(), [&](std::size_t first, std::size_t length, std::size_t c) {
    reference::dequantize(integers.subspan(first, length), params.scale[c], params.zero_point[c],
                          std::span(values).subspan(first, length));
  });
  return Tensor(core::DType::float32, codes.shape(), std::move(values));
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
      if (const auto values = dequantized(codes->second, quantizer.params)) {
        compare(expected->second, *values, quantizer.original, execution.data_set, metrics);
      }
    }
  }
  return metrics;
}

}  // namespace assay::judge
