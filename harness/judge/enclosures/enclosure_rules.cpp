#include "harness/judge/enclosures/enclosure_rules.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reference/executor.hpp"

namespace assay::judge::rules {

core::Error no_bound(const Node& node, std::string_view why) {
  return {.kind = core::ErrorKind::unsupported,
          .message = fmt::format("no sound bound is known for {}: {}", node.op_type, why),
          .node = node.name,
          .op = node.op_type,
          .tensor = {}};
}

Result<std::vector<Tensor>> run(const Call& call, std::span<const TensorPtr> inputs) {
  std::vector<const Tensor*> raw;
  raw.reserve(inputs.size());
  for (const TensorPtr& input : inputs) {
    raw.push_back(input.get());
  }
  return reference::execute_node(call.node, call.opset, raw);
}

TensorPtr magnitude_of(const Enclosure& e) {
  if (!e.centre->is_real()) {
    return e.centre;
  }
  Tensor magnitude = e.low_or_centre();
  const std::span<double> values = magnitude.reals();
  const std::span<const double> high = e.high_or_centre().reals();
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = std::max(std::fabs(values[i]), std::fabs(high[i]));
  }
  return std::make_shared<const Tensor>(std::move(magnitude));
}

bool all_points(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Enclosure* e) { return e == nullptr || e->is_point(); });
}
bool all_exact(const Call& call) {
  return std::all_of(call.inputs.begin(), call.inputs.end(),
                     [](const Enclosure* e) { return e == nullptr || e->is_exact(); });
}
std::vector<double> all_steps(const Call& call) {
  std::vector<double> steps;
  for (const Enclosure* input : call.inputs) {
    if (input != nullptr) {
      steps.insert(steps.end(), input->steps.begin(), input->steps.end());
    }
  }
  std::sort(steps.begin(), steps.end());
  steps.erase(std::unique(steps.begin(), steps.end()), steps.end());
  return steps;
}
double largest_relative(const Call& call) {
  double largest = 0;
  for (const Enclosure* input : call.inputs) {
    largest = std::max(largest, input == nullptr ? 0.0 : input->relative);
  }
  return largest;
}

Outputs exact_outputs(std::vector<Tensor> values) {
  Outputs outputs;
  for (Tensor& value : values) {
    outputs.push_back(exact_enclosure(std::make_shared<const Tensor>(std::move(value))));
  }
  return outputs;
}

void widen(Enclosure& output, std::span<const double> radius) {
  Tensor low = output.low_or_centre();
  Tensor high = output.high_or_centre();
  if (low.is_real()) {
    const std::span<double> lows = low.reals(), highs = high.reals();
    for (std::size_t i = 0; i < radius.size(); ++i) {
      lows[i] -= radius[i];
      highs[i] += radius[i];
    }
  } else {
    const std::span<std::int64_t> lows = low.integers(), highs = high.integers();
    const core::IntegerLimits limits = core::integer_limits(low.type());
    for (std::size_t i = 0; i < radius.size(); ++i) {
      const auto whole = static_cast<std::int64_t>(std::ceil(radius[i]));
      lows[i] = std::max(lows[i] - whole, limits.low);
      highs[i] = std::min(highs[i] + whole, limits.high);
    }
  }
  output.low = std::make_shared<const Tensor>(std::move(low));
  output.high = std::make_shared<const Tensor>(std::move(high));
}

std::vector<const Enclosure*> explicit_inputs(const Call& call, std::vector<Enclosure>& storage) {
  storage.reserve(call.inputs.size());
  std::vector<const Enclosure*> inputs;
  for (const Enclosure* input : call.inputs) {
    if (input != nullptr && input->relative > 0) {
      storage.push_back(with_explicit_ends(*input));
      inputs.push_back(&storage.back());
    } else {
      inputs.push_back(input);
    }
  }
  return inputs;
}

Result<Outputs> at_ends(const Call& call) {
  Result<std::vector<Tensor>> centre = run(call, pick_each(call, centre_of));
  if (!centre) {
    return centre.error();
  }
  Outputs outputs = exact_outputs(std::move(*centre));
  if (all_points(call)) {
    return outputs;
  }
  Result<std::vector<Tensor>> low = run(call, pick_each(call, low_of));
  Result<std::vector<Tensor>> high = run(call, pick_each(call, high_of));
  if (!low || !high) {
    return low ? high.error() : low.error();
  }
  for (std::size_t i = 0; i < outputs.size(); ++i) {
    outputs[i].low = std::make_shared<const Tensor>(std::move((*low)[i]));
    outputs[i].high = std::make_shared<const Tensor>(std::move((*high)[i]));
  }
  return outputs;
}

double extent_product(std::span<const std::int64_t> extents, std::size_t from) {
  double product = 1;
  for (std::size_t i = from; i < extents.size(); ++i) {
    product *= static_cast<double>(extents[i]);
  }
  return product;
}

}  // namespace assay::judge::rules
