#include "harness/judge/integers/certificate.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <span>

#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::QuantParams;
using core::Tensor;

/// The reals between which all codes of a tensor lie.
struct Reach {
  double low = 0, high = 0;
};

/// Nothing where the parameters are none of one scale of an integer type.
std::optional<Reach> reach_of(const QuantParams& params) {
  if (params.scale.size() != 1 || params.zero_point.size() != 1 || !core::is_integer(params.type)) return std::nullopt;
  const core::IntegerLimits limits = core::integer_limits(params.type);
  return Reach{static_cast<double>(limits.low - params.zero_point[0]) * params.scale[0],
               static_cast<double>(limits.high - params.zero_point[0]) * params.scale[0]};
}

/// Of one output channel.
struct Channel {
  double magnitude = 0;  ///< Σ|ŵ|
  double off = 0;        ///< Σ|ŵ − w|
  double low = 0, high = 0;
  double codes = 0;  ///< Σ|q_w − z_w|
};

class Certifier {
 public:
  Certifier(const LayerContext& context, const ArtifactNode& made)
      : made_(made),
        node_(context.evidence.model->graph.nodes[*made.original]),
        graph_(context.evidence.model->graph) {}

  [[nodiscard]] std::optional<Certificate> certify(const ArtifactView& view) const {
    const model::Node& written = view.artifact().graph.nodes[made_.index];
    if (node_.outputs.size() != 1 || view.original_tensor(written.outputs.front()) != node_.outputs.front()) return {};
    if (node_.float_or("alpha", 1) != 1 || node_.float_or("beta", 1) != 1) return {};
    const std::size_t operand = made_.inputs[1].constant_codes != nullptr ? 1 : 0;
    const Operand& weight = made_.inputs[operand];
    const Operand& x = made_.inputs[1 - operand];
    const Tensor* original = graph_.initializer(node_.input(operand));
    if (weight.constant_codes == nullptr || !weight.params || !x.params || original == nullptr) return {};
    const std::optional<Reach> reach = reach_of(*x.params);
    if (!reach || original->shape() != weight.constant_codes->shape() || !original->is_real()) return {};
    const bool matrix = is_matrix_product(traits_of(made_.op).product);
    if (matrix && original->rank() != 2) return {};
    const std::optional<std::vector<Channel>> channels = sums(*original, weight, operand, *reach);
    if (!channels) return {};

    Certificate out;
    out.node = node_.name;
    out.op = node_.op_type;
    out.tensor = node_.outputs.front();
    const std::optional<QuantParams>& y = made_.outputs.front();
    const std::optional<Reach> room = y ? reach_of(*y) : std::nullopt;
    if (y && !room) return {};
    out.step = y ? y->scale[0] : 0;
    const double x_step = x.params->scale[0];
    const double most_x = std::max(std::fabs(reach->low), std::fabs(reach->high));
    for (std::size_t c = 0; c < channels->size(); ++c) {
      const Channel& channel = (*channels)[c];
      const std::optional<Bias> bias = bias_at(c, channels->size());
      if (!bias) return {};
      out.error = std::max(out.error, channel.magnitude * x_step / 2 + channel.off * most_x +
                                          std::fabs(bias->quantized - bias->original) + out.step / 2);
      out.accumulator = std::max(out.accumulator, (channel.codes * most_x / x_step + std::fabs(bias->code)) / 0x1p31);
      if (!room) continue;
      out.clipped =
          std::max({out.clipped, channel.high + bias->original - room->high, room->low - channel.low - bias->original});
    }
    return out;
  }

 private:
  struct Bias {
    double original = 0, quantized = 0, code = 0;
  };

  [[nodiscard]] std::optional<Bias> bias_at(std::size_t channel, std::size_t channels) const {
    Bias bias;
    const auto value = [&](const Tensor& tensor) -> std::optional<double> {
      const std::size_t count = static_cast<std::size_t>(tensor.size());
      if (count != 1 && count != channels) return std::nullopt;
      return tensor.as_real(static_cast<std::int64_t>(count == 1 ? 0 : channel));
    };
    if (node_.input(2).empty() && (made_.inputs.size() < 3 || made_.inputs[2].name.empty())) return bias;
    const Tensor* original = graph_.initializer(node_.input(2));
    if (original == nullptr || made_.inputs.size() < 3) return std::nullopt;
    const Operand& own = made_.inputs[2];
    const std::optional<double> real = value(*original);
    if (!real) return std::nullopt;
    bias.original = *real;
    if (own.constant_values != nullptr) {
      const std::optional<double> kept = value(*own.constant_values);
      if (!kept) return std::nullopt;
      bias.quantized = *kept;
      return bias;
    }
    if (own.constant_codes == nullptr || !own.params) return std::nullopt;
    const std::optional<double> code = value(*own.constant_codes);
    const std::size_t scale = own.params->scale.size() == 1 ? 0 : channel;
    if (!code || scale >= own.params->scale.size()) return std::nullopt;
    const std::size_t zero = own.params->zero_point.size() == 1 ? 0 : channel;
    bias.code = *code;
    if (zero < own.params->zero_point.size()) bias.code -= static_cast<double>(own.params->zero_point[zero]);
    bias.quantized = bias.code * own.params->scale[scale];
    return bias;
  }

  [[nodiscard]] std::optional<std::vector<Channel>> sums(const Tensor& original, const Operand& weight,
                                                         std::size_t operand, const Reach& x) const {
    const core::Result<ChannelIndex> index = ChannelIndex::make(original.shape(), *weight.params);
    if (!index) return std::nullopt;
    const WeightLayout layout = weight_layout(node_, original.rank(), operand);
    std::vector<Channel> channels(static_cast<std::size_t>(layout.channels(original.shape())));
    const std::span<const double> reals = original.reals();
    const std::span<const std::int64_t> codes = weight.constant_codes->integers();
    for (std::size_t i = 0; i < reals.size(); ++i) {
      const std::size_t own = index->channel(i);
      const double code = static_cast<double>(codes[i] - weight.params->zero_point[own]);
      const double scale = weight.params->scale[own];
      if (std::fabs(code * scale - reals[i]) > scale) return std::nullopt;  // not this weight
      Channel& channel = channels[layout.channel(original.shape(), i)];
      channel.magnitude += std::fabs(code * scale);
      channel.off += std::fabs(code * scale - reals[i]);
      channel.codes += std::fabs(code);
      channel.low += std::min(reals[i] * x.low, reals[i] * x.high);
      channel.high += std::max(reals[i] * x.low, reals[i] * x.high);
    }
    return channels;
  }

  const ArtifactNode& made_;
  const model::Node& node_;
  const model::Graph& graph_;
};

}  // namespace

std::vector<Certificate> certify(const LayerContext& context) {
  std::vector<Certificate> all;
  if (context.artifact == nullptr) return all;
  for (const ArtifactNode& made : context.artifact->nodes()) {
    if (!made.original || made.inputs.size() < 2 || made.outputs.empty() || !sums_products(made.op) ||
        !made.inputs[0].quantized() || !made.inputs[1].quantized() || !made.quantized_inputs) {
      continue;
    }
    if (auto certificate = Certifier(context, made).certify(*context.artifact)) all.push_back(*std::move(certificate));
  }
  return all;
}

}  // namespace assay::judge
