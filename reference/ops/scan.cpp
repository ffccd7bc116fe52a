#include <fmt/format.h>

#include <algorithm>

#include "reference/arguments.hpp"
#include "reference/axis_map.hpp"
#include "reference/shape_rules.hpp"
#include "reference/subgraph.hpp"

namespace assay::reference {
namespace {

constexpr std::int64_t kBatchedVersion = 8;  // Scan-8: first axis the batch, second the sequence

/// One of the attributes that hold an axis or a direction for each scanned value; zeros where it is left out.
Result<std::vector<std::int64_t>> per_value(const Node& node, std::string_view attribute, std::size_t count) {
  const std::vector<std::int64_t> list = node.ints_or(attribute, std::vector<std::int64_t>(count, 0));
  if (list.size() == count) return list;
  return op_error(fmt::format("{} has {} entries for {} values", attribute, list.size(), count));
}

/// A Scan over sequences without batch: body(state…, one element of each sequence…) → (state…, scanned…).
struct Plan {
  model::GraphPtr body_graph;
  std::vector<std::int64_t> input_axes, input_directions, output_axes, output_directions;

  [[nodiscard]] std::size_t sequences() const { return input_axes.size(); }
  [[nodiscard]] std::size_t states() const { return body_graph->inputs.size() - sequences(); }
};

struct Scanner : Plan {
  const OpCall& call;
  const model::Graph& body;

  Scanner(Plan plan, const OpCall& of) : Plan(std::move(plan)), call(of), body(*body_graph) {}

  /// The extent that all sequences share.
  Result<std::int64_t> length(const std::vector<Tensor>& inputs) const {
    std::int64_t shared = -1;
    for (std::size_t i = 0; i < sequences(); ++i) {
      const Tensor& sequence = inputs[states() + i];
      const auto axis = checked_axis(input_axes[i], sequence.rank());
      if (!axis) return axis.error();
      const std::int64_t extent = sequence.shape()[at(*axis)];
      if (shared >= 0 && extent != shared) {
        return op_error(fmt::format("sequences of {} and {} elements; expected one length", shared, extent));
      }
      shared = extent;
    }
    return std::max<std::int64_t>(shared, 0);
  }

  Result<Tensor> element(const Tensor& sequence, std::size_t number, std::int64_t step, std::int64_t length) const {
    const std::int64_t axis = input_axes[number] < 0 ? input_axes[number] + sequence.rank() : input_axes[number];
    auto slice = take_range(sequence, axis, input_directions[number] != 0 ? length - 1 - step : step, 1);
    if (!slice) return slice.error();
    Shape shape = slice->shape();
    shape.erase(shape.begin() + axis);
    return std::move(*slice).reshaped(std::move(shape));
  }

  Result<std::vector<Tensor>> run(std::vector<Tensor> inputs) const {
    const auto steps = length(inputs);
    if (!steps) return steps.error();
    std::vector<Stack> scanned(body.outputs.size() - states());
    for (std::int64_t step = 0; step < *steps; ++step) {
      TensorMap bound;
      for (std::size_t i = 0; i < states(); ++i) bound.emplace(body.inputs[i].name, inputs[i]);
      for (std::size_t i = 0; i < sequences(); ++i) {
        auto value = element(inputs[states() + i], i, step, *steps);
        if (!value) return value.error();
        bound.emplace(body.inputs[states() + i].name, std::move(*value));
      }
      auto outputs = (*call.run_subgraph)(body, bound);
      if (!outputs) return outputs.error().within(fmt::format("step {}", step));
      for (std::size_t i = 0; i < states(); ++i) inputs[i] = std::move((*outputs)[i]);
      for (std::size_t i = 0; i < scanned.size(); ++i) {
        if (const auto added = scanned[i].add(std::move((*outputs)[states() + i])); !added) return added.error();
      }
    }
    inputs.resize(states());
    for (std::size_t i = 0; i < scanned.size(); ++i) {
      auto stacked = scanned[i].joined(output_axes[i], body.outputs[states() + i], output_directions[i] != 0);
      if (!stacked) return stacked.error();
      inputs.push_back(std::move(*stacked));
    }
    return inputs;
  }
};

/// How the node scans `inputs` values.
Result<Plan> plan_of(const Node& node, bool batched, std::size_t inputs) {
  const auto body = node.graph("body");
  if (!body) return op_error("body is missing");
  const std::int64_t sequences = node.int_or("num_scan_inputs", -1);
  if (sequences < 0 || sequences > static_cast<std::int64_t>(inputs) || body->inputs.size() != inputs ||
      body->outputs.size() + at(sequences) < inputs) {
    return op_error(fmt::format("num_scan_inputs is {}; the node has {} values, body {} inputs and {} outputs",
                                sequences, inputs, body->inputs.size(), body->outputs.size()));
  }
  const std::size_t scanned = body->outputs.size() + at(sequences) - inputs;
  const auto input_axes = per_value(node, "scan_input_axes", at(sequences));
  if (!input_axes) return input_axes.error();
  const auto input_directions = per_value(node, batched ? "directions" : "scan_input_directions", at(sequences));
  if (!input_directions) return input_directions.error();
  const auto output_axes = per_value(node, "scan_output_axes", scanned);
  if (!output_axes) return output_axes.error();
  const auto output_directions = per_value(node, "scan_output_directions", scanned);
  if (!output_directions) return output_directions.error();
  return Plan{body, *input_axes, *input_directions, *output_axes, *output_directions};
}

/// `plan` over inputs without a batch.
Result<Facts> infer_body(const ShapeCall& call, const Plan& plan, Facts inputs) {
  const model::Graph& body = *plan.body_graph;
  Dimension length;
  std::map<std::string, TensorFacts> elements;
  for (std::size_t i = 0; i < plan.sequences(); ++i) {
    TensorFacts element = typed(inputs[plan.states() + i].type, inputs[plan.states() + i].shape);
    if (element.shape) {
      const auto axis = checked_axis(plan.input_axes[i], *element.rank());
      if (!axis) return axis.error();
      const Dimension extent = (*element.shape)[at(*axis)];
      if (!may_equal(length, extent)) {
        return op_error(
            fmt::format("sequences of {} and {} elements; expected one length", dim_text(length), dim_text(extent)));
      }
      length = sharper(length, extent);
      element.shape->erase(element.shape->begin() + *axis);
    }
    elements.emplace(body.inputs[plan.states() + i].name, std::move(element));
  }
  inputs.resize(plan.states());
  const auto iterated = infer_iterations(std::move(inputs), 0, [&](const Facts& states) {
    std::map<std::string, TensorFacts> bound = elements;
    for (std::size_t i = 0; i < states.size(); ++i) bound.emplace(body.inputs[i].name, states[i]);
    return (*call.infer_subgraph)(body, bound);
  });
  if (!iterated) return iterated.error().within("body");
  Facts outputs = iterated->states;
  for (std::size_t i = 0; i < plan.output_axes.size(); ++i) {
    auto scanned = stacked(iterated->outputs[plan.states() + i], plan.output_axes[i], length);
    if (!scanned) return scanned.error();
    outputs.push_back(std::move(*scanned));
  }
  return outputs;
}

Result<Facts> infer_scan(const ShapeCall& call) {
  const bool batched = call.opset <= kBatchedVersion;
  const std::size_t first = batched ? 1 : 0;
  if (call.inputs.size() <= first || call.infer_subgraph == nullptr) return op_error("there is nothing to scan");
  const auto plan = plan_of(call.node, batched, call.inputs.size() - first);
  if (!plan) return plan.error();
  Facts inputs;
  Dimension batches;
  for (std::size_t i = first; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
    TensorFacts value = call.in(i);
    if (batched && value.shape) {
      if (const auto rank = require_least_rank(call, i, 1); !rank) return rank.error();
      batches = sharper(batches, value.shape->front());
      value.shape->erase(value.shape->begin());
    }
    inputs.push_back(std::move(value));
  }
  auto outputs = infer_body(call, *plan, std::move(inputs));
  if (!outputs || !batched) return outputs;
  for (TensorFacts& output : *outputs) {
    auto all = stacked(output, 0, batches);
    if (!all) return all.error();
    output = std::move(*all);
  }
  return outputs;
}

/// Scan-8: every value has a batch axis in front, and input 0 may hold the length of each sequence.
Result<std::vector<Tensor>> run_batched(const OpCall& call, const Scanner& scanner) {
  if (call.has_input(0)) return op_unsupported("sequence_lens of Scan-8 is not handled");
  const std::size_t count = call.inputs.size() - 1;
  std::int64_t batches = -1;
  for (std::size_t i = 1; i <= count; ++i) {
    const Tensor& value = call.in(i);
    if (value.rank() < 1 || (batches >= 0 && value.shape()[0] != batches)) {
      return op_error(fmt::format("{} is {}, expected {} batches", input_text(call, i), tensor_text(value), batches));
    }
    batches = value.shape()[0];
  }
  if (batches < 1) return op_error("there is no batch");
  std::vector<Stack> stacks(scanner.body.outputs.size());
  for (std::int64_t batch = 0; batch < batches; ++batch) {
    std::vector<Tensor> inputs;
    for (std::size_t i = 1; i <= count; ++i) {
      auto one = take_range(call.in(i), 0, batch, 1);
      if (!one) return one.error();
      inputs.push_back(std::move(*one).reshaped(Shape(call.in(i).shape().begin() + 1, call.in(i).shape().end())));
    }
    auto outputs = scanner.run(std::move(inputs));
    if (!outputs) return outputs.error().within(fmt::format("batch {}", batch));
    for (std::size_t i = 0; i < stacks.size(); ++i) {
      if (const auto added = stacks[i].add(std::move((*outputs)[i])); !added) return added.error();
    }
  }
  std::vector<Tensor> results;
  for (std::size_t i = 0; i < stacks.size(); ++i) {
    auto stacked = stacks[i].joined(0, scanner.body.outputs[i]);
    if (!stacked) return stacked.error();
    results.push_back(std::move(*stacked));
  }
  return results;
}

// ONNX Scan-16, and Scan-8.
Result<std::vector<Tensor>> run_scan(const OpCall& call) {
  if (call.run_subgraph == nullptr) return op_error("body is missing");
  const bool batched = call.opset <= kBatchedVersion;
  for (std::size_t i = batched ? 1 : 0; i < call.inputs.size(); ++i) {
    if (!call.has_input(i)) return op_error(input_text(call, i) + " is left out");
  }
  if (call.inputs.size() < (batched ? 2U : 1U)) return op_error("there is nothing to scan");
  const auto plan = plan_of(call.node, batched, call.inputs.size() - (batched ? 1 : 0));
  if (!plan) return plan.error();
  const Scanner scanner(*plan, call);
  if (batched) return run_batched(call, scanner);
  std::vector<Tensor> inputs;
  for (const Tensor* input : call.inputs) inputs.push_back(*input);
  return scanner.run(std::move(inputs));
}

}  // namespace

const OpDef& op_scan() {
  static const OpDef def{.name = "Scan",
                         .first_opset = 8,
                         .min_inputs = 0,
                         .max_inputs = kAnyNumber,
                         .run = &run_scan,
                         .infer = &infer_scan};
  return def;
}

}  // namespace assay::reference
