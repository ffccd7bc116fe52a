#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "harness/judge/audit/audit.hpp"
#include "harness/judge/facets/facets.hpp"
#include "harness/judge/reference_cache.hpp"
#include "tests/judge/numeric_fixture.hpp"

namespace assay::judge::testing {

/// "scale x" for each finding, in order: facet and tensor.
inline std::vector<std::string> brief(const std::vector<Finding>& findings) {
  std::vector<std::string> list;
  list.reserve(findings.size());
  for (const Finding& finding : findings) {
    list.push_back(std::string(facet_name(finding.facet)) + " " + finding.tensor + (finding.amber ? " (amber)" : ""));
  }
  return list;
}

/// y = Gemm(x, wᵀ) + b with numbers worked out by hand, its correct Q/DQ artifact, and everything a judge reads.
///
/// x spans [-1, 3]: scale 4/255, zero_point round(-128 + 63.75) = -64. w's rows have maxima 4 and 0.5: scales 4/127
/// and 0.5/127. y = {1.5, -2.125, 6.5, -1.125}: scale 8.625/255, zero_point round(-128 + 62.83) = -65.
struct GemmCase {
  std::map<std::string, Tensor> constants;  ///< of the artifact: change one to make a defect
  std::string artifact_text =
      "a (float[2,3] x) => (float[2,2] y) {"
      " xq = QuantizeLinear(x, xs, xz) xd = DequantizeLinear(xq, xs, xz)"
      " wd = DequantizeLinear<axis=0>(wq, ws, wz) bd = DequantizeLinear<axis=0>(bq, bs)"
      " y_float = Gemm<transB=1>(xd, wd, bd)"
      " yq = QuantizeLinear(y_float, ys, yz) y = DequantizeLinear(yq, ys, yz) }";
  std::int64_t artifact_opset = 13;
  std::string original_text = "g (float[2,3] x) => (float[2,2] y) { y = Gemm<transB=1>(x, w, b) }";
  std::map<std::string, Tensor> weights{{"w", reals({2, 3}, {1, 2, -4, 0.5, -0.25, 0.125})},
                                        {"b", reals({2}, {0.5, -1})}};
  std::vector<core::TensorMap> batches{{{"x", reals({2, 3}, {-1, 3, 1, 2, 0, -1})}}};
  corpus::Case test_case;
  Evidence evidence;
  model::Model original;
  ReferenceCache cache;
  std::optional<ArtifactView> view;
  std::shared_ptr<const CalibrationRanges> calibration;

  GemmCase() {
    const double xs = float32(4.0 / 255), w0 = float32(4.0 / 127), w1 = float32(0.5 / 127);
    constants = {{"xs", Tensor::scalar(DType::float32, xs)},
                 {"xz", codes(DType::int8, {}, {-64})},
                 {"ws", reals({2}, {w0, w1})},
                 {"wz", codes(DType::int8, {2}, {0, 0})},
                 {"wq", codes(DType::int8, {2, 3}, {32, 64, -127, 127, -64, 32})},
                 {"bs", reals({2}, {float32(xs * w0), float32(xs * w1)})},
                 {"bq", codes(DType::int32, {2}, {1012, -16192})},
                 {"ys", Tensor::scalar(DType::float32, float32(8.625 / 255))},
                 {"yz", codes(DType::int8, {}, {-65})}};
    test_case.name = "gemm";
    test_case.expect.status = "converts";
    evidence.test_case = &test_case;
    evidence.converter.name = "hand";
    evidence.conversion.outcome = converters::Outcome::ok;
  }

  /// Parses both models and runs the calibration.
  LayerContext context() {
    original = parse(original_text, weights);
    evidence.model = &original;
    evidence.calibration = &batches;
    model::Model made = parse(artifact_text, constants);
    made.opsets[""] = artifact_opset;
    evidence.artifact = std::make_shared<const model::Model>(std::move(made));
    auto built = ArtifactView::build(evidence.artifact, original);
    if (!built) throw std::runtime_error(built.error().message);
    view.emplace(std::move(*built));
    auto ranges = cache.ranges(original, model_key(original, ""), batches,
                               {.values = evidence.options.method == converters::Method::percentile ||
                                          evidence.options.method == converters::Method::given,
                                .channels = evidence.converter.policy.depthwise_channels,
                                .means = true});
    if (!ranges) throw std::runtime_error(ranges.error().message);
    calibration = *ranges;
    return LayerContext{evidence, &*view, align(evidence, &*view), {}, &calibration->ranges, {}, 1000, calibration};
  }

  /// The same where the converter shows no artifact.
  LayerContext without_artifact() {
    LayerContext layers = context();
    evidence.artifact = nullptr;
    layers.artifact = nullptr;
    layers.alignment = align(evidence, nullptr);
    return layers;
  }

  std::vector<Finding> audit() {
    const LayerContext layers = context();
    Judgement out;
    return audit_parameters(layers, *calibration, out);
  }
  std::vector<std::string> faults() { return brief(audit()); }
  void set_scalar(const std::string& name, double value) {
    constants[name] = Tensor::scalar(DType::float32, float32(value));
  }
};

}  // namespace assay::judge::testing
