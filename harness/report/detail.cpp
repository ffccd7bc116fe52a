#include "harness/report/detail.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <variant>

#include "harness/core/text.hpp"
#include "harness/judge/artifact/artifact_view.hpp"
#include "harness/judge/evidence/operators.hpp"
#include "harness/report/explanation.hpp"
#include "harness/report/follows.hpp"
#include "harness/run/result_row.hpp"

namespace assay::report {
namespace {

using nlohmann::ordered_json;

/// Graphs, weights and channels beyond these are left out, so that a database of large models stays small.
constexpr std::size_t kMostNodes = 600, kMostWeights = 24, kMostChannels = 512;
constexpr std::size_t kLongestValue = 60, kLongestExplanation = 20000;

template <typename... Visitors>
struct Visits : Visitors... {
  using Visitors::operator()...;
};
template <typename... Visitors>
Visits(Visitors...) -> Visits<Visitors...>;

std::string attribute_text(const model::Attribute& attribute) {
  std::string text = std::visit(
      Visits{[](const std::string& value) { return value; },
             [](const core::TensorPtr& tensor) { return "tensor " + core::shape_text(tensor->shape()); },
             [](const model::GraphPtr& /*graph*/) { return std::string("graph"); },
             [](const std::vector<std::string>& values) { return "[" + core::join(values, ",") + "]"; },
             [](const std::vector<std::int64_t>& values) { return fmt::format("[{}]", fmt::join(values, ",")); },
             [](const std::vector<double>& values) { return fmt::format("[{:.6g}]", fmt::join(values, ",")); },
             [](std::int64_t value) { return std::to_string(value); },
             [](double value) { return fmt::format("{:.6g}", value); }},
      attribute);
  if (text.size() > kLongestValue) text = text.substr(0, kLongestValue) + "…";
  return text;
}

std::string attributes_text(const model::Node& node) {
  std::string text;
  for (const auto& [name, value] : node.attributes) {
    text += fmt::format("{}{} = {}", text.empty() ? "" : ", ", name, attribute_text(value));
  }
  return text;
}

std::string shape_text(const model::ValueInfo& value) {
  if (!value.shape) return std::string(core::dtype_name(value.type));
  std::vector<std::string> extents;
  for (const model::Dimension& dimension : *value.shape) {
    extents.push_back(dimension.value ? std::to_string(*dimension.value)
                                      : (dimension.symbol.empty() ? "?" : dimension.symbol));
  }
  return fmt::format("{}[{}]", core::dtype_name(value.type), core::join(extents, ","));
}

ordered_json graph_json(const model::Graph& graph) {
  ordered_json json{{"nodes", ordered_json::array()}, {"shapes", ordered_json::object()}};
  for (std::size_t i = 0; i < std::min(kMostNodes, graph.nodes.size()); ++i) {
    const model::Node& node = graph.nodes[i];
    json["nodes"].push_back({node.name, node.op_type, node.inputs, node.outputs, attributes_text(node)});
    for (const auto* names : {&node.inputs, &node.outputs}) {
      for (const std::string& name : *names) {
        if (const core::Tensor* constant = graph.initializer(name)) {
          json["shapes"][name] =
              fmt::format("constant {}{}", core::dtype_name(constant->type()), core::shape_text(constant->shape()));
        }
      }
    }
  }
  for (const auto* values : {&graph.value_info, &graph.inputs, &graph.outputs}) {
    for (const model::ValueInfo& value : *values) {
      if (json["shapes"].size() < 2 * kMostNodes) json["shapes"][value.name] = shape_text(value);
    }
  }
  return json;
}

ordered_json params_json(const core::QuantParams& params) {
  const std::size_t count = std::min(kMostChannels, params.scale.size());
  ordered_json json{{"type", core::dtype_name(params.type)},
                    {"axis", params.axis ? ordered_json(*params.axis) : ordered_json(nullptr)}};
  if (params.block != 0) json["block_size"] = params.block;
  if (params.scale_type != core::DType::float32) json["scale_type"] = core::dtype_name(params.scale_type);
  json["scale"] = ordered_json::array();
  for (std::size_t i = 0; i < count; ++i) {
    // JSON has no infinities.
    json["scale"].push_back(std::isfinite(params.scale[i]) ? ordered_json(params.scale[i]) : ordered_json(nullptr));
  }
  json["zero_point"] =
      std::vector(params.zero_point.begin(),
                  params.zero_point.begin() + static_cast<std::ptrdiff_t>(std::min(count, params.zero_point.size())));
  return json;
}

/// Largest magnitude of a constant in each channel: along the scales' axis, else along the output channels.
std::optional<std::vector<double>> channel_extents(const core::Tensor& weight, const core::QuantParams& params,
                                                   const model::Node& node, std::size_t operand) {
  std::vector<double> extents;
  const auto note = [&](std::size_t channel, double value) {
    if (channel >= extents.size()) extents.resize(channel + 1, 0);
    extents[channel] = std::max(extents[channel], std::fabs(value));
  };
  if (params.scale.size() > 1) {
    const auto channels = judge::ChannelIndex::make(weight.shape(), params);
    if (!channels) return std::nullopt;
    for (std::int64_t i = 0; i < weight.size(); ++i) {
      note(channels->channel(static_cast<std::size_t>(i)), weight.as_real(i));
    }
    return extents;
  }
  const judge::WeightLayout layout = judge::weight_layout(node, weight.rank(), operand);
  if (layout.axis < 0 || layout.axis >= weight.rank()) return std::nullopt;
  for (std::int64_t i = 0; i < weight.size(); ++i) {
    note(layout.channel(weight.shape(), static_cast<std::size_t>(i)), weight.as_real(i));
  }
  return extents;
}

/// Whether a red finding is about the node: it names it, or a tensor that it reads as a constant or makes.
bool is_at_fault(const model::Node& node, const model::Graph& graph, const judge::Judgement& judgement) {
  return std::ranges::any_of(judgement.findings, [&](const judge::Finding& finding) {
    if (finding.amber) return false;
    const bool reads = std::ranges::find(node.inputs, finding.tensor) != node.inputs.end();
    return (!node.name.empty() && finding.node == node.name) ||
           std::ranges::find(node.outputs, finding.node) != node.outputs.end() ||
           (reads && graph.initializer(finding.tensor) != nullptr);
  });
}

/// The first kMostWeights; those of nodes that are at fault come first.
ordered_json weights_json(const judge::ArtifactView& view, const model::Model& original,
                          const judge::Judgement& judgement) {
  ordered_json json = ordered_json::array();
  std::vector<const judge::ArtifactNode*> nodes;
  for (const judge::ArtifactNode& node : view.nodes()) {
    if (node.original) nodes.push_back(&node);
  }
  std::stable_partition(nodes.begin(), nodes.end(), [&](const judge::ArtifactNode* node) {
    return is_at_fault(original.graph.nodes[*node->original], original.graph, judgement);
  });
  for (const judge::ArtifactNode* made : nodes) {
    const judge::ArtifactNode& node = *made;
    const model::Node& own = original.graph.nodes[*node.original];
    if (!judge::sums_products(own)) continue;
    for (std::size_t i = 0; i < std::min<std::size_t>(judge::kBias, node.inputs.size()); ++i) {
      const judge::Operand& operand = node.inputs[i];
      const core::Tensor* weight = original.graph.initializer(own.input(i));
      if (json.size() == kMostWeights || weight == nullptr || !operand.params || operand.params->scale.empty())
        continue;
      auto extents = channel_extents(*weight, *operand.params, own, i);
      if (!extents || extents->size() < 2) continue;
      extents->resize(std::min(kMostChannels, extents->size()));
      const auto zero = operand.params->zero_point.empty() ? 0 : operand.params->zero_point.front();
      ordered_json entry = params_json(*operand.params);
      entry["tensor"] = std::string(own.input(i));
      entry["largest"] = *extents;
      entry["ends"] = core::integer_limits(operand.params->type).high - zero;
      json.push_back(std::move(entry));
    }
  }
  return json;
}

bool alike(const core::QuantParams& a, const core::QuantParams& b) {
  constexpr double kFloat32 = 1e-6;
  return a.zero_point == b.zero_point && std::ranges::equal(a.scale, b.scale, [](double x, double y) {
           return std::fabs(x - y) <= kFloat32 * std::max(std::fabs(x), std::fabs(y));
         });
}

/// Where a tensor has other parameters than its own data give: the tensor whose data give them, as where both share a
/// range. Empty where there is none.
std::string same_as(const judge::TensorParameters& tensor, const std::vector<judge::TensorParameters>& all) {
  if (!tensor.expected || tensor.declared.empty() || alike(tensor.declared.front(), *tensor.expected)) return {};
  const auto owner = std::ranges::find_if(all, [&](const judge::TensorParameters& other) {
    return other.expected && alike(tensor.declared.front(), *other.expected);
  });
  return owner == all.end() ? "" : owner->tensor;
}

/// Which findings may follow from the one that is the headline, by their numbers.
ordered_json followers(const model::Graph& graph, const judge::Judgement& judgement) {
  ordered_json numbers = ordered_json::array();
  const auto& findings = judgement.findings;
  const auto headline = std::ranges::find(findings, judgement.reason, &judge::Finding::message);
  if (headline == findings.end()) return numbers;
  const results::FindingRow cause = run::finding_row(*headline);
  for (std::size_t i = 0; i < findings.size(); ++i) {
    if (findings[i].amber || &findings[i] == &*headline) continue;
    if (may_follow(graph, cause, run::finding_row(findings[i]))) numbers.push_back(i);
  }
  return numbers;
}

}  // namespace

std::string detail_json(const run::Trial& trial, const judge::Explained& explained) {
  const judge::Evidence& evidence = trial.evidence;
  if (evidence.model == nullptr) return {};
  ordered_json json;
  json["original"] = graph_json(evidence.model->graph);
  json["artifact"] = evidence.artifact == nullptr ? ordered_json(nullptr) : graph_json(evidence.artifact->graph);
  json["made"] = ordered_json::array();
  json["weights"] = ordered_json::array();
  if (evidence.artifact != nullptr) {
    if (const auto view = judge::ArtifactView::build(evidence.artifact, *evidence.model)) {
      for (std::size_t i = 0; i < std::min(kMostNodes, evidence.model->graph.nodes.size()); ++i) {
        const judge::ArtifactNode* made = view->find_original(i);
        const bool shown = made != nullptr && made->index < kMostNodes;
        json["made"].push_back(shown ? static_cast<std::int64_t>(made->index) : -1);
      }
      json["artifact"] = graph_json(view->artifact().graph);  // with operators on codes written out
      json["weights"] = weights_json(*view, *evidence.model, explained.judgement);
    }
  }
  json["judged"] = ordered_json::array();
  for (const judge::Coverage::Node& node : explained.judgement.coverage.nodes) {
    if (json["judged"].size() < kMostNodes) json["judged"].push_back({node.node, node.op, node.layer, node.reason});
  }
  json["tensors"] = ordered_json::array();
  for (const judge::TensorParameters& tensor : explained.explanation.tensors) {
    if (json["tensors"].size() == kMostNodes) break;
    ordered_json declared = ordered_json::array();
    for (const core::QuantParams& params : tensor.declared) declared.push_back(params_json(params));
    json["tensors"].push_back({{"tensor", tensor.tensor},
                               {"expected", tensor.expected ? params_json(*tensor.expected) : ordered_json(nullptr)},
                               {"declared", std::move(declared)},
                               {"same_as", same_as(tensor, explained.explanation.tensors)}});
  }
  json["follows"] = followers(evidence.model->graph, explained.judgement);
  if (!trial.settled) {
    const run::ExplainedVerdict verdict{evidence.test_case->name, {},
                                        evidence.converter.name,  evidence.converter.version,
                                        trial.artifact_kind,      explained.judgement,
                                        explained.explanation};
    const std::string text = explanation_text(verdict);
    // The head names what the page names already.
    const std::size_t layers = text.find("\nL0 ");
    json["explanation"] = text.substr(layers == std::string::npos ? 0 : layers + 1, kLongestExplanation);
  }
  const std::size_t nodes = std::max(evidence.model->graph.nodes.size(),
                                     evidence.artifact == nullptr ? 0 : evidence.artifact->graph.nodes.size());
  if (nodes > kMostNodes) json["cut"] = fmt::format("The first {} of {} nodes are drawn.", kMostNodes, nodes);
  return json.dump(-1, ' ', false, ordered_json::error_handler_t::replace);
}

run::DetailKept kept_detail(bool of_all) { return {&detail_json, of_all}; }

}  // namespace assay::report
