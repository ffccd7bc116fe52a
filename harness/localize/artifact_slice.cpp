#include "harness/localize/artifact_slice.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>
#include <vector>

#include "harness/model/onnx_io.hpp"

namespace assay::localize {
namespace {

using core::Tensor;
using model::Node;

bool is(const Node& node, std::string_view op) { return node.op_type == op; }

void rename(std::vector<std::string>& names, const std::map<std::string, std::string>& to) {
  for (std::string& name : names) {
    if (const auto found = to.find(name); found != to.end()) name = found->second;
  }
}

/// Adds QuantizeLinear(input) → codes with constant parameters of its own, of `shape`.
void add_quantizer(model::Graph& graph, const std::string& input, const std::string& codes,
                   const core::QuantParams& params, const core::Shape& shape) {
  const std::string scale = codes + "_scale_of_input", zero_point = codes + "_zero_point_of_input";
  graph.initializers[scale] = std::make_shared<const Tensor>(core::DType::float32, shape, params.scale);
  graph.initializers[zero_point] = std::make_shared<const Tensor>(params.type, shape, params.zero_point);
  Node node{codes + "_of_input", "QuantizeLinear", "", {input, scale, zero_point}, {codes}, {}};
  if (params.axis) node.attributes["axis"] = *params.axis;
  if (params.block != 0) node.attributes["block_size"] = params.block;
  graph.nodes.push_back(std::move(node));
}

}  // namespace

ArtifactSlicer::ArtifactSlicer(std::shared_ptr<const model::Model> artifact, const model::Model& original,
                               judge::ArtifactView view)
    : artifact_(std::move(artifact)),
      original_(&original),
      view_(std::move(view)),
      wiring_(artifact_->graph),
      original_wiring_(original.graph) {}

core::Result<ArtifactSlicer> ArtifactSlicer::make(std::shared_ptr<const model::Model> artifact,
                                                  const model::Model& original) {
  core::Result<judge::ArtifactView> view = judge::ArtifactView::build(artifact, original);
  if (!view) return view.error();
  return ArtifactSlicer(std::move(artifact), original, *std::move(view));
}

std::string ArtifactSlicer::stand_in(std::string tensor) const {
  for (;;) {
    const auto producer = original_wiring_.producer(tensor);
    if (!producer || view_.find_original(*producer) != nullptr || !view_.quantizers_of(tensor).empty()) return tensor;
    const Node& node = original_->graph.nodes[*producer];
    const bool clamps = is(node, "Relu") || is(node, "Clip");
    if (!clamps || original_wiring_.consumers(node.inputs.front()).size() != 1) return tensor;
    tensor = node.inputs.front();
  }
}

std::string ArtifactSlicer::read_for(const std::string& tensor) const {
  const model::Graph& graph = artifact_->graph;
  if (graph.find_output(tensor) != nullptr) return tensor;
  const std::string name = stand_in(tensor);
  for (const judge::Quantizer* quantizer : view_.quantizers_of(name)) {
    if (quantizer->constant) continue;
    for (const std::size_t reader : wiring_.consumers(quantizer->codes)) {
      if (is(graph.nodes[reader], "DequantizeLinear")) return graph.nodes[reader].outputs.front();
    }
  }
  for (const Node& node : graph.nodes) {
    for (const std::string& output : node.outputs) {
      if (!output.empty() && view_.original_tensor(output) == name) return output;
    }
  }
  return "";
}

std::optional<model::Model> ArtifactSlicer::slice(const model::Graph& part) const {
  const model::Graph& whole = artifact_->graph;
  std::map<std::string, std::string> inputs;  // the name that the artifact has it under, to the part's
  for (const model::ValueInfo& input : part.inputs) inputs[stand_in(input.name)] = input.name;

  model::Model made;
  made.opsets = artifact_->opsets;
  made.ir_version = artifact_->ir_version;
  made.graph.name = "g";
  made.graph.inputs = part.inputs;
  made.graph.outputs = part.outputs;
  std::map<std::string, std::string> renamed;
  std::vector<std::string> wanted;
  for (const model::ValueInfo& output : part.outputs) {
    const std::string tensor = read_for(output.name);
    if (tensor.empty()) return std::nullopt;
    renamed[tensor] = output.name;
    wanted.push_back(tensor);
  }
  std::set<std::string> seen, fed;
  std::set<std::size_t> nodes;
  while (!wanted.empty()) {
    const std::string tensor = std::move(wanted.back());
    wanted.pop_back();
    if (tensor.empty() || !seen.insert(tensor).second) continue;
    if (const auto constant = whole.initializers.find(tensor); constant != whole.initializers.end()) {
      made.graph.initializers.insert(*constant);
      continue;
    }
    const auto producer = wiring_.producer(tensor);
    const bool dequantized = producer && is(whole.nodes[*producer], "DequantizeLinear");
    const bool quantized = producer && is(whole.nodes[*producer], "QuantizeLinear");
    const std::string name = view_.original_tensor(tensor);
    const auto input = view_.constant(tensor) == nullptr ? inputs.find(name) : inputs.end();
    if (input != inputs.end() && !dequantized && !quantized) {
      fed.insert(input->second);
      const auto codes = std::ranges::find(view_.quantizers(), tensor, &judge::Quantizer::codes);
      if (codes != view_.quantizers().end()) {
        const core::TensorPtr scale = view_.constant(view_.artifact().graph.nodes[codes->index].input(1));
        add_quantizer(made.graph, input->second, tensor, codes->params,
                      codes->params.axis ? scale->shape() : core::Shape{});
      } else if (!renamed.emplace(tensor, input->second).second) {
        return std::nullopt;  // an input that is an output as well
      }
      continue;
    }
    if (!name.empty() && part.initializers.contains(name) && view_.constant(tensor) == nullptr && !dequantized &&
        !quantized) {
      made.graph.initializers[tensor] = part.initializers.at(name);  // the same for all data: a shape
      continue;
    }
    if (!producer) return std::nullopt;  // an input of the whole model that the part doesn't have
    const Node& node = whole.nodes[*producer];
    if (!model::captured_names(node).empty()) return std::nullopt;
    nodes.insert(*producer);
    wanted.insert(wanted.end(), node.inputs.begin(), node.inputs.end());
  }
  if (fed.size() != part.inputs.size()) return std::nullopt;  // it computes the same from something else
  for (const std::size_t index : nodes) made.graph.nodes.push_back(whole.nodes[index]);
  // A tensor inside may have the name that the dequantized one gets: the one in front of its quantizer.
  std::set<std::string> taken;
  for (const auto& [from, to] : renamed) {
    if (from != to) taken.insert(to);
  }
  for (const std::string& tensor : seen) {
    if (taken.contains(tensor) && !renamed.contains(tensor)) renamed[tensor] = tensor + "_QuantizeLinear_Input";
  }
  for (Node& node : made.graph.nodes) {
    rename(node.inputs, renamed);
    rename(node.outputs, renamed);
  }
  if (!model::normalize(made.graph) || !model::check_model(made)) return std::nullopt;
  return made;
}

void ArtifactSlicer::align_calibration(Candidate& part) const {
  constexpr double kFloat32Computed = 1e-5;  // more than that is a finding, and stays one
  for (const model::ValueInfo& input : part.model.graph.inputs) {
    if (original_->graph.find_input(input.name) != nullptr) continue;
    const auto quantizers = view_.quantizers_of(stand_in(input.name));
    if (quantizers.empty() || quantizers.front()->params.scale.size() != 1) continue;
    double low = 0, high = 0;
    for (const core::TensorMap& batch : part.calibration) {
      const auto found = batch.find(input.name);
      if (found == batch.end() || !found->second.is_real()) continue;
      for (const double value : found->second.reals()) {
        low = std::min(low, value);
        high = std::max(high, value);
      }
    }
    // By any of the rules: the whole range in 255 or 254 steps, the larger side in 127, 127.5 or 128.
    const double scale = quantizers.front()->params.scale.front(), side = std::max(-low, high);
    const std::vector<double> expected{(high - low) / 255, (high - low) / 254, side / 127, side / 127.5, side / 128};
    for (const double each : expected) {
      const double factor = scale / each;
      if (!(std::fabs(factor - 1) <= kFloat32Computed) || factor == 1) continue;
      for (core::TensorMap& batch : part.calibration) {
        for (double& value : batch.at(input.name).reals()) value = static_cast<float>(value * factor);
      }
      break;
    }
  }
}

}  // namespace assay::localize
