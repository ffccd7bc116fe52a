#include "harness/mutants/artifact_visibility.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <optional>
#include <set>

#include "harness/core/rng.hpp"
#include "harness/mutants/artifact_graphs.hpp"

namespace assay::mutants {
namespace {

using core::Tensor;
using model::Graph;
using model::Node;

constexpr std::size_t kScaleInput = 1;

double least_scale(const Graph& graph, const Node& dequantizer) {
  const core::TensorPtr scales = constant_of(graph, dequantizer.input(kScaleInput));
  if (scales == nullptr || !scales->is_real() || scales->size() == 0) return 0;
  return std::ranges::min(scales->reals());
}

/// The DequantizeLinears that `output` is made from without another one between: those of activations, or of constants
/// where there are no others.
std::vector<std::size_t> last_dequantizers(const Graph& graph, const std::string& output) {
  const model::Wiring wiring(graph);
  std::set<std::size_t> seen, activations, constants;
  std::vector<std::string> open{output};
  while (!open.empty()) {
    const std::string tensor = std::move(open.back());
    open.pop_back();
    const auto producer = wiring.producer(tensor);
    if (!producer || !seen.insert(*producer).second) continue;
    const Node& node = graph.nodes[*producer];
    if (node.op_type == "DequantizeLinear") {
      (constant_of(graph, node.input(0)) != nullptr ? constants : activations).insert(*producer);
      continue;
    }
    open.insert(open.end(), node.inputs.begin(), node.inputs.end());
    const std::vector<std::string> captured = model::captured_names(node);
    open.insert(open.end(), captured.begin(), captured.end());
  }
  const std::set<std::size_t>& found = activations.empty() ? constants : activations;
  return {found.begin(), found.end()};
}

/// The artifact with each of those tensors moved by a step, element by element up or down.
std::optional<model::Model> moved(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                                  const std::vector<std::size_t>& dequantizers) {
  model::Model changed = artifact;
  Graph& graph = changed.graph;
  // From behind, so that the indices before stay what they are.
  for (auto index = dequantizers.rbegin(); index != dequantizers.rend(); ++index) {
    const std::string tensor = graph.nodes[*index].outputs.front();
    const auto facts = graphs.front().tensors.find(tensor);
    if (facts == graphs.front().tensors.end()) return std::nullopt;
    const double step = least_scale(graph, graph.nodes[*index]);
    core::Rng rng(1, tensor);
    std::vector<double> steps(static_cast<std::size_t>(core::element_count(facts->second.shape)));
    for (double& each : steps) each = rng.uniform() < 1.0 / 2 ? -step : step;
    const std::string before = model::fresh_name(graph, tensor + "_before");
    const std::string operand = model::fresh_name(graph, tensor + "_steps");
    graph.initializers[operand] = std::make_shared<const Tensor>(
        core::rounded_to_type(Tensor(facts->second.type, facts->second.shape, std::move(steps))));
    graph.nodes[*index].outputs.front() = before;
    Node add{model::fresh_name(graph, tensor + "_moved"), "Add", "", {before, operand}, {tensor}, {}};
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(*index) + 1, std::move(add));
  }
  return changed;
}

/// Of all data sets the largest root mean square of what `output` has moved by.
double largest_move(const std::vector<core::TensorMap>& plain, const std::vector<core::TensorMap>& changed,
                    const std::string& output) {
  double largest = 0;
  for (std::size_t i = 0; i < plain.size() && i < changed.size(); ++i) {
    const auto x = plain[i].find(output), y = changed[i].find(output);
    if (x == plain[i].end() || y == changed[i].end() || x->second.shape() != y->second.shape()) continue;
    double sum = 0;
    std::int64_t count = 0;
    for (std::size_t k = 0; k < x->second.reals().size(); ++k) {
      const double difference = y->second.reals()[k] - x->second.reals()[k];
      if (!std::isfinite(difference)) continue;
      sum += difference * difference;
      ++count;
    }
    if (count > 0) largest = std::max(largest, std::sqrt(sum / static_cast<double>(count)));
  }
  return largest;
}

/// What float32 may make of a sum in another order: two executions of one float model differ by as much.
double float_noise(const std::vector<core::TensorMap>& plain, const std::string& name) {
  constexpr double kShare = 0x1p-18;
  double largest = 0;
  for (const core::TensorMap& outputs : plain) {
    for (const double value : outputs.at(name).reals()) {
      if (std::isfinite(value)) largest = std::max(largest, std::fabs(value));
    }
  }
  return kShare * largest;
}

bool moves(const Tensor& plain, const Tensor& changed, double half_step) {
  if (plain.type() != changed.type() || plain.shape() != changed.shape()) return true;
  for (std::int64_t i = 0; i < plain.size(); ++i) {
    const double x = plain.as_real(i), y = changed.as_real(i);
    if (x == y || (std::isnan(x) && std::isnan(y))) continue;
    if (!(std::fabs(x - y) < half_step)) return true;
  }
  return false;
}

}  // namespace

std::map<std::string, double> output_steps(ArtifactBench& bench, const Baseline& plain) {
  const Graph& graph = bench.artifact().graph;
  const std::vector<ArtifactGraph> graphs = artifact_graphs(bench.artifact(), bench.data().inputs.front());
  const model::Wiring wiring(graph);
  std::map<std::string, double> steps;
  for (const auto& [name, value] : plain.outputs.front()) {
    if (!value.is_real()) {
      steps[name] = 1;
      continue;
    }
    const auto producer = wiring.producer(name);
    if (producer && graph.nodes[*producer].op_type == "DequantizeLinear") {
      steps[name] = least_scale(graph, graph.nodes[*producer]);
      continue;
    }
    const std::optional<model::Model> changed = moved(bench.artifact(), graphs, last_dequantizers(graph, name));
    std::optional<ArtifactBench::Executed> executed = changed ? bench.execute(*changed) : std::nullopt;
    steps[name] = std::max(executed ? largest_move(executed->plain->outputs, executed->outputs, name) : 0,
                           float_noise(plain.outputs, name));
    if (executed) bench.discard(*executed);
  }
  return steps;
}

bool is_visible(const std::vector<core::TensorMap>& plain, const std::vector<core::TensorMap>& changed,
                const std::map<std::string, double>& steps) {
  if (plain.size() != changed.size()) return true;
  for (std::size_t i = 0; i < plain.size(); ++i) {
    if (plain[i].size() != changed[i].size()) return true;
    for (const auto& [name, value] : plain[i]) {
      const auto other = changed[i].find(name);
      const auto step = steps.find(name);
      if (other == changed[i].end() || moves(value, other->second, step == steps.end() ? 0 : step->second / 2)) {
        return true;
      }
    }
  }
  return false;
}

}  // namespace assay::mutants
