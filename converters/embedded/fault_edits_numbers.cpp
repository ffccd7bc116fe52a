#include <algorithm>
#include <cctype>
#include <cmath>
#include <functional>
#include <limits>
#include <map>

#include "converters/embedded/channels.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded::edits {
namespace {

using model::Node;

/// Every node with an encoded weight.
Status for_weights(State& state, const std::function<void(std::size_t, const Node&, Coded&)>& change) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    if (state.codes[i].weight) change(i, state.model.graph.nodes[i], *state.codes[i].weight);
  }
  return core::success();
}

Status scale_everything(State& state, bool weights, double symmetric, double asymmetric) {
  const bool even = state.options.symmetric;
  for (auto& [name, params] : state.params) {
    for (auto& scale : params.scale) scale = to_float32(scale * (even ? symmetric : asymmetric));
  }
  if (weights) {
    (void)for_weights(state, [&](std::size_t, const Node&, Coded& weight) {
      for (auto& scale : weight.params.scale) scale = to_float32(scale * symmetric);
    });
  }
  assign_bias_scales(state);
  return core::success();
}

/// What careless bookkeeping makes of a name: no suffixes of quantized tensors, no case, no special characters, no end.
std::string simplified(std::string name) {
  constexpr std::size_t kKept = 20;
  for (const std::string_view suffix :
       {"_quantized", "_dequantized", "_scale", "_zero_point", "_QuantizeLinear_Output", "_DequantizeLinear_Output"}) {
    if (name.ends_with(suffix)) name.resize(name.size() - suffix.size());
  }
  for (auto& c : name) {
    const auto byte = static_cast<unsigned char>(c);
    c = std::isalnum(byte) != 0 ? static_cast<char>(std::tolower(byte)) : '_';
  }
  return name.substr(0, kKept);
}

/// Takes over the parameters that are recorded under `key`, or records these.
void merge(std::map<std::string, QuantParams>& recorded, const std::string& key, QuantParams& params) {
  const auto [entry, added] = recorded.try_emplace(key, params);
  if (!added && entry->second.scale.size() == params.scale.size()) params = entry->second;
}

}  // namespace

const Tensor& weight_of(const State& state, std::size_t index) {
  return *state.model.graph.initializer(state.model.graph.nodes[index].input(*state.plan.nodes[index].weight));
}

Status drop_concat_scale(State& state) {
  for (const auto& node : state.model.graph.nodes) {
    if (node.op_type == "Concat") state.params.erase(node.outputs.front());
  }
  return core::success();
}

Status deconvolution_count_cin(State& state) {
  return for_weights(state, [&](std::size_t index, const Node& node, Coded& weight) {
    if (node.op_type != "ConvTranspose" || !weight.params.axis) return;
    const auto cin = static_cast<std::size_t>(weight_of(state, index).shape()[0]);
    weight.params.scale.resize(cin, weight.params.scale.back());
    weight.params.zero_point.resize(cin, 0);
  });
}

Status saturate_bias(State& state) {
  auto done = for_weights(state, [&](std::size_t index, const Node&, Coded& weight) {
    const auto largest = magnitudes_along(weight_of(state, index), weight.params.axis);
    for (std::size_t i = 0; i < largest.size() && i < weight.params.scale.size(); ++i) {
      if (largest[i] > 0) weight.params.scale[i] = to_float32(largest[i] / 127);
    }
  });
  assign_bias_scales(state);
  return done;
}

Status next_zero_point(State& state) {
  for (auto& [name, params] : state.params) {
    if (core::is_real(params.type)) continue;  // its zero point is 0
    const auto limits = core::integer_limits(params.type);
    for (auto& zero : params.zero_point) zero += zero < limits.high ? 1 : -1;
  }
  return core::success();
}

Status divisor_128(State& state) { return scale_everything(state, true, 127.0 / 128.0, 255.0 / 256.0); }

Status double_scales(State& state) { return scale_everything(state, false, 2, 2); }

Status merge_like_names(State& state) {
  std::map<std::string, QuantParams> tensors;
  std::map<std::string, QuantParams> outputs;
  for (auto& [name, params] : state.params) merge(tensors, simplified(name), params);
  for (const auto& node : state.model.graph.nodes) {
    const auto output = state.params.find(node.outputs.front());
    if (output != state.params.end()) merge(outputs, node.name, output->second);
  }
  std::map<std::string, QuantParams> weights;
  auto done = for_weights(state, [&](std::size_t index, const Node& node, Coded& weight) {
    merge(weights, simplified(std::string(node.input(*state.plan.nodes[index].weight))), weight.params);
  });
  assign_bias_scales(state);
  return done;
}

Status first_group_scale(State& state) {
  auto done = for_weights(state, [](std::size_t, const Node& node, Coded& weight) {
    if (node.op_type == "Conv" && node.int_or("group", 1) > 1) {
      std::ranges::fill(weight.params.scale, weight.params.scale.front());
    }
  });
  assign_bias_scales(state);
  return done;
}

Status roll_scales(State& state) {
  return for_weights(state, [](std::size_t, const Node&, Coded& weight) {
    auto& scale = weight.params.scale;
    std::rotate(scale.begin(), scale.begin() + static_cast<std::ptrdiff_t>(scale.size()) - 1, scale.end());
  });
}

Status reverse_scales(State& state) {
  return for_weights(state, [](std::size_t, const Node&, Coded& weight) { std::ranges::reverse(weight.params.scale); });
}

Status zero_bias(State& state) {
  const auto& graph = state.model.graph;
  for (auto& codes : state.codes) {
    if (codes.bias) std::ranges::fill(codes.bias->codes.integers(), 0);
  }
  // The bias of a MatMul is an Add behind it.
  const model::Wiring wiring(graph);
  for (const auto& node : graph.nodes) {
    if (node.op_type != "Add") continue;
    for (const std::size_t side : {0U, 1U}) {
      const auto producer = wiring.producer(node.input(1 - side));
      const auto constant = state.constant_codes.find(std::string(node.input(side)));
      if (!producer || graph.nodes[*producer].op_type != "MatMul" || constant == state.constant_codes.end()) continue;
      auto& held = constant->second;
      if (held.is_real())
        std::ranges::fill(held.reals(), 0);
      else
        std::ranges::fill(held.integers(), state.params[constant->first].zero_point.front());
    }
  }
  return core::success();
}

Status bias_in_output_steps(State& state) {
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    if (!state.codes[i].bias || !state.plan.nodes[i].weight) continue;
    const auto& node = state.model.graph.nodes[i];
    auto output = state.params.find(node.outputs.front());
    for (const auto& reader : state.model.graph.nodes) {  // its Relu has the parameters
      if (output == state.params.end() && reader.input(0) == node.outputs.front()) {
        output = state.params.find(reader.outputs.front());
      }
    }
    if (output == state.params.end()) continue;
    const auto values = state.model.graph.initializer(node.input(*state.plan.nodes[i].bias))->to_reals();
    auto codes = state.codes[i].bias->codes.integers();
    for (std::size_t c = 0; c < codes.size(); ++c) {
      codes[c] = code_of(values[c < values.size() ? c : 0], output->second.scale[0], 0, DType::int32);
    }
  }
  return core::success();
}

Status truncate_weights(State& state) {
  return for_weights(state, [&](std::size_t index, const Node&, Coded& weight) {
    const auto values = weight_of(state, index).reals();
    std::vector<double> codes(values.size());
    std::size_t inner = 1;
    const auto& shape = weight.codes.shape();
    if (weight.params.axis) {
      for (auto i = static_cast<std::size_t>(*weight.params.axis) + 1; i < shape.size(); ++i) {
        inner *= static_cast<std::size_t>(shape[i]);
      }
    }
    for (std::size_t i = 0; i < values.size(); ++i) {
      const double scale = weight.params.scale[i / inner % weight.params.scale.size()];
      codes[i] = code_towards_zero(values[i] / scale, weight.params.type);
    }
    weight.codes = coded(std::move(codes), weight.codes);
  });
}

Status zero_scale_for_zero_range(State& state) {
  constexpr double kSteps = 255;
  const double least = std::numeric_limits<float>::min();
  for (auto& [name, params] : state.params) {
    const auto range = state.ranges.find(name);
    if (range == state.ranges.end()) continue;
    const double extent = std::max(range->second.high, 0.0) - std::min(range->second.low, 0.0);
    if (extent / kSteps < least) std::ranges::fill(params.scale, 0.0);
  }
  return for_weights(state, [&](std::size_t index, const Node&, Coded& weight) {
    const auto largest = magnitudes_along(weight_of(state, index), weight.params.axis);
    for (std::size_t i = 0; i < largest.size() && i < weight.params.scale.size(); ++i) {
      if (largest[i] / 127 < least) weight.params.scale[i] = 0;
    }
  });
}

Status share_bias_codes(State& state) {
  std::map<std::string, Tensor> first;
  for (std::size_t i = 0; i < state.codes.size(); ++i) {
    if (!state.codes[i].bias) continue;
    const std::string name(state.model.graph.nodes[i].input(*state.plan.nodes[i].bias));
    const auto [entry, added] = first.try_emplace(name, state.codes[i].bias->codes);
    if (!added && entry->second.shape() == state.codes[i].bias->codes.shape())
      state.codes[i].bias->codes = entry->second;
  }
  return core::success();
}

}  // namespace assay::embedded::edits
