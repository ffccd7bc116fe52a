#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <variant>

#include "harness/metamorphic/twin_makers.hpp"

namespace assay::metamorphic {
namespace {

using core::Tensor;
using core::TensorMap;
using model::Model;
using model::Node;

/// Row `index` of every tensor, as a batch of one.
TensorMap row(const TensorMap& tensors, std::int64_t index) {
  TensorMap rows;
  for (const auto& [name, tensor] : tensors) {
    core::Shape shape = tensor.shape();
    const std::int64_t size = tensor.size() / shape[0];
    shape[0] = 1;
    const auto cut = [&, type = tensor.type()](const auto& values) {
      const auto begin = values.begin() + index * size;
      return Tensor(type, shape, std::vector(begin, begin + size));
    };
    rows.emplace(name, tensor.is_real() ? cut(tensor.reals()) : cut(tensor.integers()));
  }
  return rows;
}

std::optional<std::int64_t> common_batch(const TensorMap& tensors) {
  std::optional<std::int64_t> batch;
  for (const auto& [name, tensor] : tensors) {
    if (tensor.rank() == 0 || (batch && *batch != tensor.shape()[0])) {
      return std::nullopt;
    }
    batch = tensor.shape()[0];
  }
  return batch;
}

/// A power of two scales every float32 without a rounding, unless it leaves the normal range.
constexpr int kScaleExponent = 3;

Tensor scaled(const Tensor& tensor) {
  Tensor copy = tensor;
  for (double& value : copy.reals()) {
    value = std::ldexp(value, kScaleExponent);
  }
  return copy;
}

TensorMap scaled(const TensorMap& tensors) {
  TensorMap copies;
  for (const auto& [name, tensor] : tensors) {
    copies.emplace(name, tensor.is_real() ? scaled(tensor) : tensor);
  }
  return copies;
}

/// Indices of the inputs of `node` that are values of the network and no factors: they scale with its inputs.
std::vector<std::size_t> additive_inputs(const Node& node) {
  if (node.op_type == "Conv" || node.op_type == "ConvTranspose" || node.op_type == "Gemm") {
    return {2};
  }
  if (node.op_type == "Add" || node.op_type == "Sub" || node.op_type == "Sum" || node.op_type == "Concat" ||
      node.op_type == "Min" || node.op_type == "Max") {
    std::vector<std::size_t> all(node.inputs.size());
    std::iota(all.begin(), all.end(), std::size_t{0});
    return all;
  }
  if (node.op_type == "BatchNormalization") {
    return {2, 3};  // bias and mean
  }
  if (node.op_type == "Clip") {
    return {1, 2};
  }
  return {};
}

/// Largest magnitude of each real tensor that depends on data, over all batches.
core::Result<std::map<std::string, double>> extremes(const Model& model, const Batches& calibration) {
  std::map<std::string, double> extremes;
  for (const TensorMap& batch : calibration) {
    const core::Result<TensorMap> tensors = real_tensors(model, batch);
    if (!tensors) {
      return tensors.error();
    }
    for (const auto& [name, tensor] : *tensors) {
      if (model.graph.initializer(name) == nullptr) {
        double& extreme = extremes[name];
        for (const double value : tensor.reals()) {
          extreme = std::max(extreme, std::abs(value));
        }
      }
    }
  }
  return extremes;
}

/// Smallest magnitude of the real initializers, zeros left out; 1 at most.
double least_factor(const model::Graph& graph) {
  double least = 1;
  for (const auto& [name, value] : graph.initializers) {
    for (const double element : value->is_real() ? value->reals() : std::span<const double>()) {
      least = element != 0 ? std::min(least, std::abs(element)) : least;
    }
  }
  return least;
}

}  // namespace

core::Result<Twin> split_batch(const Model& model, const Batches& calibration) {
  for (const TensorMap& batch : calibration) {
    if (common_batch(batch).value_or(1) < 2) {
      return not_applicable("the inputs have no batch of two or more in common");
    }
  }
  const auto split = [](const TensorMap& tensors) {
    Batches rows;
    for (std::int64_t index = 0; index < common_batch(tensors).value_or(0); ++index) {
      rows.push_back(row(tensors, index));
    }
    return rows;
  };
  Twin twin{model, split, split, {}};
  twin.model.graph.value_info.clear();
  for (std::vector<model::ValueInfo>* list : {&twin.model.graph.inputs, &twin.model.graph.outputs}) {
    for (model::ValueInfo& info : *list) {
      if (info.shape && !info.shape->empty() && info.shape->front().value) {
        info.shape->front().value = 1;
      }
    }
  }
  return twin;
}

core::Result<Twin> scale_values(const Model& model, const Batches& calibration) {
  const auto holds_graph = [](const auto& attribute) {
    return std::holds_alternative<model::GraphPtr>(attribute.second);
  };
  for (const Node& node : model.graph.nodes) {
    if (std::ranges::any_of(node.attributes, holds_graph)) {
      return not_applicable(
          fmt::format("the subgraphs of \"{}\" ({}) may add what isn't scaled", node.name, node.op_type));
    }
  }
  const core::Result<std::map<std::string, double>> ranges = extremes(model, calibration);
  if (!ranges) {
    return ranges.error();
  }
  // Scales, and products of a tensor's scale with a weight's, must be normal float32 on both sides. Any positive scale
  // is right for a tensor that is zero throughout, so that nothing exact follows from it.
  constexpr double kCodes = 255;
  constexpr double kLeastFloat = 0x1p-126;
  constexpr double kLargestFloat = 0x1p127;
  const double least = least_factor(model.graph) / (kCodes * kCodes);
  for (const auto& [name, extreme] : *ranges) {
    if (extreme * least < kLeastFloat || std::ldexp(extreme, kScaleExponent) > kLargestFloat) {
      return not_applicable(
          fmt::format("tensor \"{}\" reaches {} at most, where float32 does not scale exactly", name, extreme));
    }
  }
  const auto scale = [](const TensorMap& tensors) { return Batches{scaled(tensors)}; };
  Twin twin{model, scale, scale, {}};
  model::Graph& graph = twin.model.graph;
  for (Node& node : graph.nodes) {
    for (const std::size_t index : additive_inputs(node)) {
      const Tensor* constant = model.graph.initializer(node.input(index));
      if (constant == nullptr || !constant->is_real()) {
        continue;
      }
      // A copy of its own: the same constant may be a factor elsewhere.
      const std::string copy = model::fresh_name(graph, node.inputs[index] + "_scaled");
      graph.initializers.emplace(copy, std::make_shared<const Tensor>(scaled(*constant)));
      node.inputs[index] = copy;
    }
  }
  return twin;
}

}  // namespace assay::metamorphic
