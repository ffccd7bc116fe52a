#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "harness/judge/artifact/artifact_params.hpp"
#include "harness/model/graph.hpp"

namespace assay::judge {

/// A product of codes with a constant operand, and all that stands between its int32 sums and their values:
/// MatMulInteger or ConvInteger, Cast, and Mul by the two scales; or `com.microsoft`'s MatMulIntegerToFloat and
/// DynamicQuantizeMatMul, which are all of that in one.
struct IntegerProduct {
  std::string_view op;                    ///< the operator on values: MatMul or Conv
  std::string codes, scale, zero_point;   ///< of the left operand; the scale may be `left_scale` instead
  core::TensorPtr left_scale;             ///< where no node makes it with the codes: the first constant factor
  std::string real;                       ///< the left operand, where the product quantizes it itself
  std::string addend;                     ///< what the product itself adds, or empty
  bool mirrored = false;                  ///< the constant is the left operand of a MatMul, and "left" the right one
  std::string weight, weight_zero_point;  ///< the right operand's; the zero point may be left out
  core::TensorPtr weight_scale;           ///< one, or one for each output channel, of rank 1
  std::int64_t behind = 0;                ///< how many axes of the result lie behind its output channels
  std::size_t last = 0;                   ///< node that gives the values out
  std::vector<std::size_t> between;       ///< nodes from the sums to there, that one left out
};

/// The tensor has one value for each output channel, which so many axes of the result lie behind.
[[nodiscard]] bool lies_along_channels(const core::Tensor& tensor, std::int64_t behind);

/// Reads the product that begins at node `index`; nothing where it is another node, its weight or that one's scale is
/// no constant, or somebody else reads what lies between.
[[nodiscard]] std::optional<IntegerProduct> integer_product(const model::Graph& graph, const model::Wiring& wiring,
                                                            const Constants& constants, std::size_t index);

}  // namespace assay::judge
