#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/pipeline.hpp"
#include "converters/embedded/scales.hpp"

namespace assay::embedded {

Status report(State& state) {
  const auto integer = engine::integer_nodes(with_plain_weights(state.artifact));
  if (!integer) return integer.error();
  std::set<std::string> on_codes(integer->begin(), integer->end());
  // The engine has integer forms for codes of 8 bits; between wider ones it computes in float32.
  const bool wide = !in_bytes(state.options.activation) || !in_bytes(state.options.weight);
  std::map<std::string, Form> forms;
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    const auto& node = state.model.graph.nodes[i];
    const auto& plan = state.plan.nodes[i];
    forms[node.name] = plan.form;
    if ((wide && plan.form == Form::int8) || plan.dynamic) on_codes.insert(node.name);
    if (plan.form == Form::fp32 && !state.imported) {
      state.diagnostics.push_back(
          fmt::format("node \"{}\" ({}) stays in float: {}", node.name, node.op_type, plan.reason));
    }
    if (plan.form != Form::int8 || on_codes.contains(node.name)) continue;
    if (plan.required) return refusal(node, "the engine has no integer form of it, and the options demand int8");
    state.diagnostics.push_back(
        fmt::format("node \"{}\" ({}) runs in float: the engine has no integer form of it", node.name, node.op_type));
  }
  state.precision.clear();
  for (const auto& node : state.original.graph.nodes) {
    const auto computer = state.computed_by.find(node.name);
    if (computer == state.computed_by.end()) continue;
    const auto form = forms.find(computer->second);
    if (form == forms.end() || form->second == Form::no_data) continue;
    state.precision.push_back({node.name, node.op_type, on_codes.contains(computer->second) ? "int8" : "fp32"});
  }
  state.cache_json = cache_to_json({state.fingerprint, state.ranges});
  return core::success();
}

}  // namespace assay::embedded
