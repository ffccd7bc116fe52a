#include "harness/judge/facets/hints.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/judge/alignment/effective_linear.hpp"
#include "harness/judge/evidence/operators.hpp"

namespace assay::judge {
namespace {

using core::Shape;
using model::Node;

/// A rearrangement of a tensor: where each element comes from, and what that is in words.
struct Rearranged {
  std::string words;
  std::vector<std::size_t> source;
};

/// The channels of a weight, in words: which axis is which.
std::string axis_words(const WeightLayout& layout, std::size_t axis) {
  if (static_cast<std::int64_t>(axis) == layout.axis) return "output channels";
  return axis < 2 ? "input channels" : fmt::format("kernel's axis {}", axis);
}

/// Element `flat` of `shape` with its index along `axis` changed by `change`.
template <typename Change>
std::size_t moved(const Shape& shape, std::size_t flat, std::size_t axis, const Change& change) {
  const auto inner = static_cast<std::size_t>(core::element_count(std::span(shape).subspan(axis + 1)));
  const auto extent = static_cast<std::size_t>(shape[axis]);
  const std::size_t index = flat / inner % extent;
  return flat + (change(index, extent) * inner) - index * inner;
}

std::vector<Rearranged> rearrangements(const Shape& shape, const WeightLayout& layout) {
  const auto size = static_cast<std::size_t>(core::element_count(shape));
  std::vector<Rearranged> all;
  const auto add = [&](std::string words, const auto& source_of) {
    Rearranged each{std::move(words), std::vector<std::size_t>(size)};
    for (std::size_t i = 0; i < size; ++i) each.source[i] = source_of(i);
    all.push_back(std::move(each));
  };
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    if (shape[axis] < 2) continue;
    const std::string name = axis_words(layout, axis);
    for (const std::size_t by : {std::size_t{1}, std::size_t{2}}) {
      if (by >= static_cast<std::size_t>(shape[axis])) continue;
      add(fmt::format("the {} are rolled by {}: at {} stands what belongs to 0", name, by, by), [&](std::size_t i) {
        return moved(shape, i, axis, [&](std::size_t at, std::size_t extent) { return (at + extent - by) % extent; });
      });
      if (shape[axis] == 2) continue;
      add(fmt::format("the {} are rolled by -{}: at 0 stands what belongs to {}", name, by, by), [&](std::size_t i) {
        return moved(shape, i, axis, [&](std::size_t at, std::size_t extent) { return (at + by) % extent; });
      });
    }
    add(fmt::format("the {} stand in reverse order", name), [&](std::size_t i) {
      return moved(shape, i, axis, [](std::size_t at, std::size_t extent) { return extent - 1 - at; });
    });
    add(fmt::format("the {} are all the first one", name),
        [&](std::size_t i) { return moved(shape, i, axis, [](std::size_t, std::size_t) { return std::size_t{0}; }); });
    for (std::size_t other = axis + 1; other < shape.size(); ++other) {
      if (shape[other] != shape[axis]) continue;
      add(fmt::format("axes {} and {} have changed places", axis, other), [&](std::size_t i) {
        std::size_t a = 0, b = 0;
        moved(shape, i, axis, [&](std::size_t at, std::size_t) { return a = at; });
        moved(shape, i, other, [&](std::size_t at, std::size_t) { return b = at; });
        const std::size_t half = moved(shape, i, axis, [&](std::size_t, std::size_t) { return b; });
        return moved(shape, half, other, [&](std::size_t, std::size_t) { return a; });
      });
    }
  }
  return all;
}

/// Nearly all of `count` elements.
template <typename Fits>
bool nearly_all(std::size_t count, const Fits& fits) {
  constexpr double kShare = 0.97;
  std::size_t good = 0, bad = 0;
  for (std::size_t i = 0; i < count; ++i) {
    if (fits(i)) {
      ++good;
    } else if (++bad > static_cast<std::size_t>((1 - kShare) * static_cast<double>(count))) {
      return false;
    }
  }
  return good > 0;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-5 * std::max(std::abs(a), std::abs(b)); }

bool are_near(const std::vector<double>& actual, const std::vector<double>& wanted) {
  return wanted.size() == actual.size() &&
         nearly_all(actual.size(), [&](std::size_t i) { return near(actual[i], wanted[i]); });
}

/// Roundings of a weight other than to the nearest.
struct Rounding {
  std::string_view words;
  double (*rule)(double);
};
constexpr std::array kRoundings{
    Rounding{"all are rounded towards zero: the fraction is cut off", [](double value) { return std::trunc(value); }},
    Rounding{"all are rounded down", [](double value) { return std::floor(value); }},
    Rounding{"all are rounded up", [](double value) { return std::ceil(value); }},
    Rounding{"all are rounded away from zero",
             [](double value) { return std::copysign(std::ceil(std::abs(value)), value); }}};

/// Whether `rule` makes `code` of `value`: a quotient of float32 numbers may lie a hair to either side of an integer.
bool makes(double (*rule)(double), double value, double code) {
  constexpr double kHair = 1e-4;
  return code == rule(value - kHair) || code == rule(value + kHair);
}

/// What is said of a finding, and whether that says all that its list of differences does.
struct Hint {
  std::string text;
  bool replaces_list = false;
  std::string follows = {};  ///< Finding::follows
};

class Hints {
 public:
  explicit Hints(const LayerContext& context) : context_(context), original_(context.evidence.model->graph) {}

  Hint of(const Finding& finding) const {
    const auto index = node_named(finding.node);
    const ArtifactNode* made = index ? context_.alignment->made(*index) : nullptr;
    const bool weighted = made != nullptr && original_.initializer(finding.tensor) != nullptr;
    if (finding.facet == Facet::bias && made != nullptr) {
      if (std::string scale = about_bias_scale(*made); !scale.empty())
        return {std::move(scale), false, made->inputs[0].original};
      return {about_bias_values(*made)};
    }
    if (finding.facet == Facet::weight && weighted) {
      if (fit_right_scales(*made))
        return {"they are the nearest for the scales that the weight gives: only its scales are wrong", true};
      return {about_weights(*made)};
    }
    return {in_words(finding, index, made, weighted)};
  }

 private:
  std::string in_words(const Finding& finding, const std::optional<std::size_t>& index, const ArtifactNode* made,
                       bool weighted) const {
    if (finding.facet == Facet::scale && weighted) return about_weight_scales(*made);
    if (finding.facet == Facet::scale || finding.facet == Facet::zero_point) return about_parameters(finding.tensor);
    if (finding.facet == Facet::numerics && made != nullptr) return about_node(*made, original_.nodes[*index]);
    return "";
  }

  std::optional<std::size_t> node_named(const std::string& name) const {
    const auto found = std::ranges::find(original_.nodes, name, &Node::name);
    if (name.empty() || found == original_.nodes.end()) return std::nullopt;
    return static_cast<std::size_t>(found - original_.nodes.begin());
  }

  WeightLayout layout_of(const ArtifactNode& made, const EffectiveLinear& linear) const {
    return weight_layout(context_.artifact->artifact().graph.nodes[made.index], linear.weight.rank(), linear.operand);
  }

  std::string about_weights(const ArtifactNode& made) const {
    const auto linear = effective_linear(context_, made);
    if (!linear || !made.inputs[linear->operand].quantized()) return "";
    const Operand& operand = made.inputs[linear->operand];
    const auto channels = ChannelIndex::make(linear->weight.shape(), *operand.params);
    if (!channels || operand.constant_codes->is_real()) return "";
    const auto codes = operand.constant_codes->integers();
    const std::vector<double> wanted = linear->weight.to_reals();
    const auto scale = [&](std::size_t i) { return operand.params->scale[channels->channel(i)]; };
    const auto code = [&](std::size_t i) {
      return static_cast<double>(codes[i] - operand.params->zero_point[channels->channel(i)]);
    };
    constexpr double kOneStep = 1;
    // Moved before they were rounded, or the quantized values themselves.
    const auto fits = [&](const auto& value_at, const auto& scale_at) {
      return nearly_all(codes.size(),
                        [&](std::size_t i) { return std::abs(code(i) - value_at(i) / scale_at(i)) <= kOneStep; });
    };
    const auto rounds_by = [&](double (*rule)(double)) {
      return nearly_all(codes.size(), [&](std::size_t i) { return makes(rule, wanted[i] / scale(i), code(i)); });
    };
    for (const auto& [words, rule] : kRoundings) {
      if (rounds_by(rule)) return std::string(words);
    }
    for (const Rearranged& each : rearrangements(linear->weight.shape(), layout_of(made, *linear))) {
      const auto value = [&](std::size_t i) { return wanted[each.source[i]]; };
      if (fits(value, scale) || fits(value, [&](std::size_t i) { return scale(each.source[i]); })) return each.words;
    }
    if (fits([&](std::size_t i) { return -wanted[i]; }, scale)) return "all have the opposite sign";
    for (const auto& [name, tensor] : original_.initializers) {
      const bool alike = tensor->is_real() && tensor->shape() == linear->weight.shape() && tensor->size() > 1;
      const bool own = name == original_.nodes[*made.original].input(linear->operand);
      if (alike && !own && fits([values = tensor->reals()](std::size_t i) { return values[i]; }, scale)) {
        return fmt::format("these are the values of \"{}\"", name);
      }
    }
    return "";
  }

  static std::vector<double> largest_along(const core::Tensor& weight, const WeightLayout& layout) {
    std::vector<double> largest(static_cast<std::size_t>(layout.channels(weight.shape())), 0);
    for (std::size_t i = 0; i < static_cast<std::size_t>(weight.size()); ++i) {
      double& most = largest[layout.channel(weight.shape(), i)];
      most = std::max(most, std::abs(weight.as_real(static_cast<std::int64_t>(i))));
    }
    return largest;
  }

  /// The scales that a weight's own values give, by channel.
  std::vector<double> scales_of(const core::Tensor& weight, const WeightLayout& along) const {
    std::vector<double> all = largest_along(weight, along);
    for (double& each : all) each /= context_.evidence.converter.policy.divisor_of_weights();
    return all;
  }

  /// Whether the quantized values are right and only the scales beside them are not.
  bool fit_right_scales(const ArtifactNode& made) const {
    const auto linear = effective_linear(context_, made);
    if (!linear || !made.inputs[linear->operand].quantized()) return false;
    const Operand& operand = made.inputs[linear->operand];
    const auto channels = ChannelIndex::make(linear->weight.shape(), *operand.params);
    if (!channels || operand.constant_codes->is_real()) return false;
    std::vector<double> right = scales_of(linear->weight, layout_of(made, *linear));
    const std::vector<double>& actual = operand.params->scale;
    if (actual.size() == 1) right = {*std::ranges::max_element(right)};
    if (right.size() != actual.size() || are_near(actual, right)) return false;
    const auto codes = operand.constant_codes->integers();
    const std::vector<double> wanted = linear->weight.to_reals();
    return nearly_all(codes.size(), [&](std::size_t i) {
      constexpr double kNearest = 0.501;
      const std::size_t c = channels->channel(i);
      const auto code = static_cast<double>(codes[i] - operand.params->zero_point[c]);
      return std::abs(code - wanted[i] / right[c]) <= kNearest;
    });
  }

  std::string about_weight_scales(const ArtifactNode& made) const {
    const auto linear = effective_linear(context_, made);
    if (!linear || !made.inputs[linear->operand].quantized()) return "";
    const std::vector<double>& actual = made.inputs[linear->operand].params->scale;
    const WeightLayout layout = layout_of(made, *linear);
    const auto scales = [&](const core::Tensor& weight, const WeightLayout& along) { return scales_of(weight, along); };
    const auto are = [&](const std::vector<double>& wanted) { return are_near(actual, wanted); };
    if (actual.size() < 2) return whose_scale(made, actual, scales);
    const std::vector<double> wanted = scales(linear->weight, layout);
    const Shape shape{static_cast<std::int64_t>(wanted.size())};
    for (const Rearranged& each : rearrangements(shape, {.axis = 0, .groups = 1})) {
      std::vector<double> rearranged;
      for (const std::size_t source : each.source) rearranged.push_back(wanted[source]);
      if (are(rearranged)) return "of the right scales, " + each.words;
    }
    if (are(std::vector<double>(actual.size(), *std::ranges::max_element(wanted)))) {
      return "all are the scale of the whole tensor";
    }
    for (std::int64_t axis = 0; axis < linear->weight.rank(); ++axis) {
      if (axis != layout.axis && are(scales(linear->weight, {.axis = axis, .groups = 1}))) {
        return fmt::format("these are the scales along axis {}", axis);
      }
    }
    return whose_scale(made, actual, scales);
  }

  template <typename Scales>
  std::string whose_scale(const ArtifactNode& made, const std::vector<double>& actual, const Scales& scales) const {
    for (const Node& node : original_.nodes) {
      const core::Tensor* weight = original_.initializer(node.input(1));
      if (weight == nullptr || !weight->is_real() || weight->rank() < 2 || !sums_products(node)) continue;
      if (&node == &original_.nodes[*made.original]) continue;
      std::vector<double> wanted = scales(*weight, weight_layout(node, weight->rank()));
      if (actual.size() == 1) wanted = {*std::ranges::max_element(wanted)};
      if (are_near(actual, wanted)) {
        return fmt::format("{} of \"{}\"", actual.size() == 1 ? "this is the scale" : "these are the scales",
                           node.input(1));
      }
    }
    return "";
  }

  /// The scale of a sum's bias is that of the input times the weight's: which of the three doesn't go with the others?
  std::string about_bias_scale(const ArtifactNode& made) const {
    if (made.inputs.size() <= kBias || !made.inputs[0].quantized() || !made.inputs[1].quantized()) return "";
    const Operand &x = made.inputs[0], &w = made.inputs[1], &bias = made.inputs[kBias];
    if (!bias.quantized() || x.params->scale.size() != 1 || w.params->scale.empty() || bias.params->scale.empty())
      return "";
    const double actual = bias.params->scale.front() / w.params->scale.front();
    const auto audited = context_.audited.find(x.original);
    if (audited == context_.audited.end() || audited->second.scale.size() != 1) return "";
    const double calibrated = audited->second.scale.front();
    if (near(actual, x.params->scale.front()) || !near(actual, calibrated)) return "";
    return fmt::format("the bias goes with {}, the scale of \"{}\" on the calibration data; \"{}\" has {}",
                       core::exact_text(static_cast<float>(calibrated)), x.original, x.original,
                       core::exact_text(static_cast<float>(x.params->scale.front())));
  }

  /// The bias in another order: its values, or its quantized values beside scales that stand where they should.
  std::string about_bias_values(const ArtifactNode& made) const {
    const auto linear = effective_linear(context_, made);
    const core::TensorPtr actual = made.inputs.size() > kBias ? constant_value(made.inputs[kBias]) : nullptr;
    const std::size_t channels = linear ? linear->bias.size() : 0;
    if (actual == nullptr || !actual->is_real() || channels < 2 || actual->reals().size() != channels) return "";
    const auto& params = made.inputs[kBias].params;
    const auto step = [&](std::size_t c) {
      return !params ? 0.0 : params->scale.size() == channels ? params->scale[c] : params->scale.front();
    };
    const auto fits = [&](const auto& value) {
      return nearly_all(channels, [&](std::size_t c) {
        const double off = std::abs(actual->reals()[c] - value(c));
        return off <= step(c) || near(actual->reals()[c], value(c));
      });
    };
    const std::vector<double>& wanted = linear->bias;
    for (const Rearranged& each : rearrangements({actual->size()}, {.axis = 0, .groups = 1})) {
      if (fits([&](std::size_t c) { return wanted[each.source[c]]; })) return "of its values, " + each.words;
      if (params && fits([&](std::size_t c) { return wanted[each.source[c]] / step(each.source[c]) * step(c); }))
        return "of its quantized values, " + each.words;
    }
    return fits([&](std::size_t c) { return -wanted[c]; }) ? "all have the opposite sign" : "";
  }

  /// The parameters that one other tensor should have.
  std::string about_parameters(const std::string& tensor) const {
    if (context_.artifact == nullptr) return "";
    const auto quantizers = context_.artifact->quantizers_of(tensor);
    if (quantizers.empty() || quantizers.front()->params.scale.size() != 1) return "";
    const core::QuantParams& actual = quantizers.front()->params;
    std::string found;
    for (const auto& [name, params] : context_.audited) {
      if (params.scale.size() != 1 || params.zero_point.size() != 1 || original_.initializer(name) != nullptr) continue;
      if (!near(params.scale.front(), actual.scale.front()) || params.zero_point != actual.zero_point) continue;
      if (name == tensor) return "";
      if (!found.empty()) return "";
      found = name;
    }
    return found.empty() ? "" : fmt::format("these are the scale and zero point of \"{}\"", found);
  }

  /// The tensor whose values `tensor` has, where what made it is gone from the artifact or copies.
  std::string base(std::string tensor) const {
    const model::Wiring& wiring = context_.alignment->wiring;
    for (std::size_t i = 0; i <= original_.nodes.size(); ++i) {
      const auto producer = wiring.producer(tensor);
      if (!producer) break;
      const OperatorTraits& traits = traits_of(original_.nodes[*producer]);
      const bool fuses = traits.vanishes || traits.normalization == Normalization::given_moments;
      const bool passes = traits.movement == Movement::copies || (fuses && context_.alignment->is_gone(*producer));
      if (!passes) break;
      tensor = original_.nodes[*producer].input(0);
    }
    return tensor;
  }

  std::string about_node(const ArtifactNode& made, const Node& node) const {
    if (context_.artifact == nullptr) return "";
    const Node& theirs = context_.artifact->artifact().graph.nodes[made.index];
    std::string text = about_operands(made, node);
    if (model::operator_name(theirs) != model::operator_name(node)) return text;
    for (const auto& [name, value] : node.attributes) {
      const auto other = theirs.attributes.find(name);
      if (other == theirs.attributes.end() || other->second == value || name.starts_with("trans")) continue;
      const std::string own = attribute_text(value), has = attribute_text(other->second);
      if (own.empty() || own == has) continue;
      text += fmt::format("{}its {} are {}, the model's {}", text.empty() ? "" : "\n  ", name, has, own);
    }
    return text;
  }

  std::string about_operands(const ArtifactNode& made, const Node& node) const {
    std::vector<std::string> wanted, read;
    const std::size_t count = std::min({data_input_count(node), node.inputs.size(), made.inputs.size()});
    for (std::size_t i = 0; i < count; ++i) {
      if (made.inputs[i].original.empty() || original_.initializer(node.inputs[i]) != nullptr) return "";
      wanted.push_back(base(node.inputs[i]));
      read.push_back(base(made.inputs[i].original));
    }
    if (commutes(node) && std::ranges::is_permutation(wanted, read)) return "";
    for (std::size_t i = 0; i < wanted.size(); ++i) {
      if (wanted[i] == read[i]) continue;
      return fmt::format("its input {} is \"{}\", the model's \"{}\"", i, made.inputs[i].original, node.inputs[i]);
    }
    return "";
  }

  static std::string attribute_text(const model::Attribute& value) {
    if (const auto* ints = std::get_if<std::vector<std::int64_t>>(&value)) return fmt::format("{}", *ints);
    if (const auto* one = std::get_if<std::int64_t>(&value)) return fmt::format("{}", *one);
    if (const auto* real = std::get_if<double>(&value)) return core::exact_text(static_cast<float>(*real));
    if (const auto* text = std::get_if<std::string>(&value)) return *text;
    return "";
  }

  const LayerContext& context_;
  const model::Graph& original_;
};

}  // namespace

void add_hints(const LayerContext& context, std::vector<Finding>& findings) {
  if (context.artifact == nullptr || context.alignment == nullptr) return;
  const Hints hints(context);
  for (Finding& finding : findings) {
    const Hint hint = hints.of(finding);
    if (hint.text.empty()) continue;
    const std::size_t list = std::min(finding.message.find('\n'), finding.message.size());
    if (hint.replaces_list) finding.message.resize(list);
    finding.message.insert(list, "\n  " + hint.text);
    finding.follows = hint.follows;
  }
}

}  // namespace assay::judge
