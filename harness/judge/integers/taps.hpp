#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/tensor.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/explanation.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// One element of the output of Conv, ConvTranspose, Gemm or MatMul: where in the first two inputs the factors of its
/// products lie, and where its bias.
struct SumOfProducts {
  struct Pair {
    std::int64_t x = 0, w = 0;
  };
  std::vector<Pair> pairs;  ///< in the reference's order, padding left out
  std::optional<std::int64_t> bias;

  /// Nothing for other operators, for shapes that don't fit, and where `flat` is no element of the output.
  [[nodiscard]] static std::optional<SumOfProducts> of(const model::Node& node, std::int64_t opset,
                                                       const core::Shape& x, const core::Shape& w,
                                                       const core::Shape* bias, std::int64_t flat);
  /// The factors with their indices.
  [[nodiscard]] std::vector<Tap> taps(const core::Tensor& x, const core::Tensor& w) const;
};

/// Codes of a tensor of an artifact by its name; null where nobody knows them.
using CodeLookup = std::function<core::TensorPtr(const std::string& codes)>;

/// What an engine in integers adds up for that element of `made`'s output; writes the codes into `taps`. Nothing where
/// an operand is not quantized, is laid out otherwise, or has several scales within the one sum.
[[nodiscard]] std::optional<Accumulation> accumulate(const model::Node& node, const ArtifactNode& made,
                                                     const CodeLookup& lookup, const SumOfProducts& sum,
                                                     std::vector<Tap>& taps);

}  // namespace assay::judge
