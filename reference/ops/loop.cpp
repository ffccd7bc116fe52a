#include <fmt/format.h>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"
#include "reference/subgraph.hpp"

namespace assay::reference {
namespace {

/// A trip count that would keep us for hours is refused.
constexpr std::int64_t kIterationLimit = std::int64_t{1} << 24U;

/// Loop's inputs: trip count, condition (each may be left out), then the carried values.
constexpr std::size_t kFirstCarried = 2;

/// The body, whose inputs and outputs fit the node's carried values.
template <typename Call>
Result<model::GraphPtr> body_of(const Call& call, bool runs) {
  const auto body = call.node.graph("body");
  if (!body || !runs) return op_error("body is missing");
  const std::size_t carried_count = call.inputs.size() > kFirstCarried ? call.inputs.size() - kFirstCarried : 0;
  if (body->inputs.size() != carried_count + 2 || body->outputs.size() < carried_count + 1) {
    return op_error(fmt::format("body has {} inputs and {} outputs for {} carried values", body->inputs.size(),
                                body->outputs.size(), carried_count));
  }
  return body;
}

/// ONNX wants scalars as the iteration number and the condition; bodies that declare them with one axis exist
/// (PaddlePaddle's exporter), and ONNX Runtime gives each the rank that its body declares.
bool has_an_axis(const model::ValueInfo& declared) { return declared.shape && declared.shape->size() == 1; }

Tensor counted(const model::ValueInfo& declared, DType type, std::int64_t value) {
  return {type, has_an_axis(declared) ? Shape{1} : Shape{}, std::vector<std::int64_t>{value}};
}

TensorFacts counted_facts(const model::ValueInfo& declared, DType type) {
  return typed(type, has_an_axis(declared) ? Dims{Dimension{.value = 1, .symbol = ""}} : Dims());
}

// ONNX Loop-16: body(iteration, condition, carried…) → (condition, carried…, scanned…), while the condition holds.
Result<std::vector<Tensor>> run_loop(const OpCall& call) {
  const auto found = body_of(call, call.run_subgraph != nullptr);
  if (!found) return found.error();
  const model::GraphPtr& body = *found;
  const std::size_t carried_count = call.inputs.size() > kFirstCarried ? call.inputs.size() - kFirstCarried : 0;
  auto trips = call.has_input(0) ? integer_scalar(call, 0) : Result<std::int64_t>(kIterationLimit + 1);
  if (!trips) return trips.error();
  auto condition = call.has_input(1) ? integer_scalar(call, 1) : Result<std::int64_t>(std::int64_t{1});
  if (!condition) return condition.error();

  std::vector<Tensor> carried;
  for (std::size_t i = 0; i < carried_count; ++i) {
    if (!call.has_input(kFirstCarried + i)) return op_error(input_text(call, kFirstCarried + i) + " is left out");
    carried.push_back(call.in(kFirstCarried + i));
  }
  std::vector<Stack> scanned(body->outputs.size() - carried_count - 1);
  for (std::int64_t iteration = 0; iteration < *trips && *condition != 0; ++iteration) {
    if (iteration == kIterationLimit) return op_error(fmt::format("runs longer than {} iterations", kIterationLimit));
    TensorMap bound;
    bound.emplace(body->inputs[0].name, counted(body->inputs[0], DType::int64, iteration));
    bound.emplace(body->inputs[1].name, counted(body->inputs[1], DType::boolean, *condition));
    for (std::size_t i = 0; i < carried_count; ++i) bound.emplace(body->inputs[i + 2].name, std::move(carried[i]));
    auto outputs = (*call.run_subgraph)(*body, bound);
    if (!outputs) return outputs.error().within(fmt::format("iteration {}", iteration));
    const Tensor& goes_on = outputs->front();
    if (goes_on.type() != DType::boolean || goes_on.size() != 1) {
      return op_error(fmt::format("body's condition is {}, expected one bool", tensor_text(goes_on)));
    }
    condition = goes_on.integers()[0];
    for (std::size_t i = 0; i < carried_count; ++i) carried[i] = std::move((*outputs)[i + 1]);
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      const core::Status added = scanned[i].add(std::move((*outputs)[carried_count + 1 + i]));
      if (!added) return added.error().within(fmt::format("iteration {}", iteration));
    }
  }
  std::vector<Tensor> results = std::move(carried);
  for (std::size_t i = 0; i < scanned.size(); ++i) {
    auto stacked = scanned[i].joined(0, body->outputs[carried_count + 1 + i]);
    if (!stacked) return stacked.error();
    results.push_back(std::move(*stacked));
  }
  return results;
}

Result<Facts> infer_loop(const ShapeCall& call) {
  const auto body = body_of(call, call.infer_subgraph != nullptr);
  if (!body) return body.error();
  if (const auto single = require_single(call, 0); !single) return single.error();
  if (const auto single = require_single(call, 1); !single) return single.error();
  Facts carried;
  for (std::size_t i = kFirstCarried; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
    carried.push_back(call.in(i));
  }
  const auto iterated = infer_iterations(std::move(carried), 1, [&](const Facts& states) {
    std::map<std::string, TensorFacts> bound{
        {(*body)->inputs[0].name, counted_facts((*body)->inputs[0], DType::int64)},
        {(*body)->inputs[1].name, counted_facts((*body)->inputs[1], DType::boolean)}};
    for (std::size_t i = 0; i < states.size(); ++i) bound.emplace((*body)->inputs[i + 2].name, states[i]);
    return (*call.infer_subgraph)(**body, bound);
  });
  if (!iterated) return iterated.error().within("body");
  Facts outputs = iterated->states;
  for (std::size_t i = iterated->states.size() + 1; i < iterated->outputs.size(); ++i) {
    auto scanned = stacked(iterated->outputs[i], 0, Dimension());
    if (!scanned) return scanned.error();
    outputs.push_back(std::move(*scanned));
  }
  return outputs;
}

}  // namespace

const OpDef& op_loop() {
  static const OpDef def{
      .name = "Loop", .min_inputs = 0, .max_inputs = kAnyNumber, .run = &run_loop, .infer = &infer_loop};
  return def;
}

}  // namespace assay::reference
