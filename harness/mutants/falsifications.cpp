#include "harness/mutants/falsifications.hpp"

#include <fmt/format.h>

#include <memory>
#include <numeric>

#include "reference/executor.hpp"

namespace assay::mutants {
namespace {

using core::Tensor;
using model::Node;

double factor_of(Falsification falsification) {
  constexpr double kScaled = 1.25;
  switch (falsification) {
    case Falsification::negated:
      return -1;
    case Falsification::zeroed:
      return 0;
    case Falsification::scaled:
      return kScaled;
    case Falsification::channels_swapped:
      break;
  }
  return 1;
}

/// The axis whose first two indices are swapped: the channels', which come after the batch; the last one or the first
/// where there are no two.
std::optional<std::int64_t> swapped_axis(const core::Shape& shape) {
  const auto rank = static_cast<std::int64_t>(shape.size());
  for (const std::int64_t axis : {std::int64_t{1}, rank - 1, std::int64_t{0}}) {
    if (axis >= 0 && axis < rank && shape[static_cast<std::size_t>(axis)] >= 2) return axis;
  }
  return std::nullopt;
}

bool applies(const TensorFacts& facts, Falsification falsification) {
  if (core::element_count(facts.shape) == 0) return false;
  return falsification == Falsification::channels_swapped ? swapped_axis(facts.shape).has_value()
                                                          : core::is_real(facts.type);
}

/// The node that falsifies, and the constant it reads as its second input.
struct Inserted {
  Node node;
  Tensor constant;
};

Inserted inserted_node(const TensorFacts& facts, Falsification falsification) {
  Inserted inserted;
  if (falsification != Falsification::channels_swapped) {
    inserted.node.op_type = "Mul";
    inserted.constant = Tensor::scalar(facts.type, factor_of(falsification));
    return inserted;
  }
  const std::int64_t axis = *swapped_axis(facts.shape);
  std::vector<std::int64_t> order(static_cast<std::size_t>(facts.shape[static_cast<std::size_t>(axis)]));
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[0], order[1]);
  inserted.node.op_type = "Gather";
  inserted.node.attributes["axis"] = axis;
  const auto count = static_cast<std::int64_t>(order.size());
  inserted.constant = Tensor(core::DType::int64, {count}, std::move(order));
  return inserted;
}

}  // namespace

std::string_view falsification_name(Falsification falsification) {
  constexpr std::array<std::string_view, kFalsifications.size()> kNames{"times -1", "times 0", "times 1.25",
                                                                        "two channels swapped"};
  return kNames[static_cast<std::size_t>(falsification)];
}

std::vector<FalsifiedPlace> falsified_places(const std::vector<ArtifactGraph>& graphs) {
  std::vector<FalsifiedPlace> places;
  for (std::size_t g = 0; g < graphs.size(); ++g) {
    for (std::size_t n = 0; n < graphs[g].graph->nodes.size(); ++n) {
      const Node& node = graphs[g].graph->nodes[n];
      for (std::size_t o = 0; o < node.outputs.size(); ++o) {
        const auto facts = graphs[g].tensors.find(node.outputs[o]);
        if (node.outputs[o].empty() || facts == graphs[g].tensors.end()) continue;
        for (const Falsification falsification : kFalsifications) {
          if (applies(facts->second, falsification)) places.push_back({g, n, o, falsification});
        }
      }
    }
  }
  return places;
}

model::Model falsified(const model::Model& artifact, const std::vector<ArtifactGraph>& graphs,
                       const FalsifiedPlace& place) {
  const ArtifactGraph& where = graphs[place.graph];
  const std::string& tensor = where.graph->nodes[place.node].outputs[place.output];
  Inserted inserted = inserted_node(where.tensors.at(tensor), place.falsification);
  return edited(artifact, where.path, [&](model::Graph& graph) {
    const std::string before = model::fresh_name(graph, tensor + "_before");
    const std::string constant = model::fresh_name(graph, tensor + "_operand");
    graph.nodes[place.node].outputs[place.output] = before;
    inserted.node.name = model::fresh_name(graph, tensor + "_falsified");
    inserted.node.inputs = {before, constant};
    inserted.node.outputs = {tensor};
    graph.initializers[constant] = std::make_shared<const Tensor>(std::move(inserted.constant));
    graph.nodes.insert(graph.nodes.begin() + static_cast<std::ptrdiff_t>(place.node) + 1, std::move(inserted.node));
  });
}

std::optional<Tensor> falsified(const Tensor& tensor, Falsification falsification) {
  const TensorFacts facts{tensor.type(), tensor.shape()};
  if (!applies(facts, falsification)) return std::nullopt;
  if (falsification != Falsification::channels_swapped) {
    Tensor product = tensor;
    for (double& value : product.reals()) value *= factor_of(falsification);
    return core::rounded_to_type(std::move(product));
  }
  const Inserted gather = inserted_node(facts, falsification);
  constexpr std::int64_t kOpset = 13;
  const std::vector<const Tensor*> inputs{&tensor, &gather.constant};
  core::Result<std::vector<Tensor>> swapped = reference::execute_node(gather.node, kOpset, inputs);
  if (!swapped) return std::nullopt;
  return std::move(swapped->front());
}

}  // namespace assay::mutants
