#include "converters/embedded/channels.hpp"

namespace assay::embedded {

bool has_weight(const model::Node& node) {
  return node.domain.empty() && (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm");
}

std::optional<WeightLayout> weight_layout(const model::Node& node, const core::Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  WeightLayout layout;
  std::int64_t groups = 1;
  if (node.op_type == "Conv") {
    if (rank < 3) return std::nullopt;
  } else if (node.op_type == "ConvTranspose") {
    groups = node.int_or("group", 1);
    if (rank < 3 || groups < 1 || shape[0] % groups != 0) return std::nullopt;
    layout.axis = 1;
  } else if (node.op_type == "Gemm") {
    if (rank != 2) return std::nullopt;
    layout.axis = node.int_or("transB", 0) != 0 ? 0 : 1;
  } else if (node.op_type == "MatMul") {
    if (rank < 2) return std::nullopt;
    layout.axis = rank - 1;
  } else {
    return std::nullopt;
  }
  const auto axis = static_cast<std::size_t>(layout.axis);
  for (const auto extent : shape) {
    if (extent <= 0) return std::nullopt;
  }
  layout.scales = static_cast<std::size_t>(shape[axis]);
  layout.channels = layout.scales * static_cast<std::size_t>(groups);
  for (auto i = axis + 1; i < shape.size(); ++i) layout.inner *= static_cast<std::size_t>(shape[i]);
  layout.groups_share = groups > 1;
  layout.outer_per_group = static_cast<std::size_t>(shape[0] / groups);
  return layout;
}

bool is_channel_bias(const core::Tensor& bias, std::size_t channels) {
  if (!bias.is_real()) return false;
  const auto size = static_cast<std::size_t>(bias.size());
  if (size == 1) return bias.rank() <= 2;
  // [N] or [1, N]: one value per column; [M, 1] is one per row.
  return size == channels && bias.shape().back() == bias.size();
}

}  // namespace assay::embedded
