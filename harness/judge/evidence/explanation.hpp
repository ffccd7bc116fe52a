#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/tensor.hpp"
#include "harness/judge/evidence/verdict.hpp"

namespace assay::judge {

/// L0: a declared number beside what the audit allows.
struct ParameterDerivation {
  std::string what;     ///< "activation scale", "weight scale", "weight code", "bias"
  std::string tensor;   ///< with the index of the element or channel, where it has several
  std::string range;    ///< the values that the number follows from
  std::string formula;  ///< how the expected number is made and how far from it the declared one may lie
  std::string expected, actual;
  double distance = 0, limit = 0;
  [[nodiscard]] double margin() const;
};

/// One product of a sum: elements of the two operands, as reals and, where an artifact tells them, as codes.
struct Tap {
  std::string x_index, w_index;
  double x = 0, w = 0;
  std::optional<std::int64_t> x_code, w_code;
};

/// What an engine in integers computes one element of a sum of products from.
struct Accumulation {
  double x_scale = 0, w_scale = 0;  ///< of the element's channel
  std::int64_t x_zero_point = 0, w_zero_point = 0;
  std::optional<std::int64_t> bias_code;
  std::int64_t accumulator = 0;  ///< Σ (q_x − z_x)(q_w − z_w) + q_b
  std::optional<core::QuantParams> output;
  /// s_x·s_w ÷ s_y; ÷ 1 where the output is left in float.
  [[nodiscard]] double multiplier() const {
    return x_scale * w_scale / (output && !output->scale.empty() ? output->scale.front() : 1);
  }
};

/// L1: one element of the artifact's own graph in exact arithmetic. A wrong one where there is one; else the one whose
/// value lies nearest to a tie, where rounding decides.
struct IntegerDerivation {
  std::optional<StyleName> style;
  bool wrong = false;
  std::string node, op, tensor, index, data_set;
  double low = 0, high = 0, actual = 0;  ///< admissible and got: codes, or reals of an output left in float
  std::optional<double> quotient;        ///< what is rounded, before zero_point is added
  std::vector<Tap> taps;
  std::optional<Accumulation> accumulation;
};

/// What one source of error adds to the bound of one element; negative where a further argument takes away.
struct BoundTerm {
  std::string source;
  double value = 0;
};

/// L2: the element that comes nearest to its limit, or lies furthest beyond.
struct BoundDerivation {
  bool end_to_end = false;
  std::string node, op, tensor, index, data_set;
  double expected = 0, actual = 0;
  double limit = 0, margin = 0;  ///< as the judge compared them
  bool vacuous = false;          ///< the limit is no less than the extent of the tensor's own values
  std::vector<BoundTerm> terms;  ///< they add up to the limit
  /// Of the tensor's own rounding, as granted: step, and values of the first and the last code. 0 where it has none.
  double step = 0, bottom = 0, top = 0;
  std::vector<Tap> taps;
  std::optional<double> bias;
  std::optional<Accumulation> accumulation;
};

/// What holds for every input within its codes' range, of a product by a constant weight (certificate.hpp).
struct Certificate {
  std::string node, op, tensor;
  double error = 0;        ///< the largest |quantized − float| of an output that isn't clipped
  double step = 0;         ///< of the output; 0: it is left in float
  double clipped = 0;      ///< how far beyond the output's codes the float values may reach
  double accumulator = 0;  ///< the largest |sum| of products of codes and bias, in units of 2³¹
};

/// A tensor's parameters: those that the judge expects (of activations; of a weight where its scales are fixed), and
/// those that the artifact or the converter's table declares.
struct TensorParameters {
  std::string tensor;
  std::optional<core::QuantParams> expected;
  std::vector<core::QuantParams> declared;
};

/// Why a verdict is what it is, in numbers, written by the layers while they judge.
struct Explanation {
  std::vector<TensorParameters> tensors;  ///< all that have parameters, by name
  /// Of each kind the one that comes nearest to its limit, or lies furthest beyond.
  std::vector<ParameterDerivation> parameters;
  std::vector<Certificate> certificates;  ///< by node, where an artifact tells
  std::optional<IntegerDerivation> integers;
  std::optional<BoundDerivation> local, end_to_end;

  /// Whether a number of this kind with this margin would be kept.
  [[nodiscard]] bool nears(std::string_view what, double margin) const;
  /// Keeps `parameter` if it is nearer to its limit than the one of its kind so far.
  void note(ParameterDerivation parameter);
};

/// "[1,0,3]": the indices of element `flat` of a row-major tensor, as messages show them.
[[nodiscard]] std::string index_text(std::int64_t flat, const core::Shape& shape);

}  // namespace assay::judge
