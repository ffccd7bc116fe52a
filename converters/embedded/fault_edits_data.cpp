#include <algorithm>
#include <cmath>
#include <string>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "converters/embedded/support.hpp"
#include "harness/core/files.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
void insert_before(Machine& machine, std::string_view stage, Edit edit) {
  const auto at = std::ranges::find(machine.passes, stage, &Pass::stage);
  machine.passes.insert(at, Pass{stage, edit, Pass::Origin::inserted});
}

void insert_after(Machine& machine, std::string_view stage, Edit edit) {
  const auto last = std::ranges::find(machine.passes.rbegin(), machine.passes.rend(), stage, &Pass::stage);
  machine.passes.insert(last.base(), Pass{stage, edit, Pass::Origin::inserted});
}

void wrap_pass(Machine& machine, std::string_view stage, Wrap wrap) {
  for (Pass& pass : machine.passes) {
    if (stage != "*" && pass.stage != stage) continue;
    pass.run = [inner = pass, wrap](State& state) { return wrap(inner, state); };
    if (pass.origin == Pass::Origin::standard) pass.origin = Pass::Origin::wrapped;
  }
}

namespace edits {

Status look_up_unchecked(const Pass& pass, State& state) {
  auto done = pass.run(state);
  bool absent = !done && done.error().kind == ErrorKind::unsupported;
  for (std::size_t i = 0; i < state.plan.nodes.size(); ++i) {
    absent |= state.plan.nodes[i].form == Form::fp32 && find_support(state.model.graph.nodes[i]) == nullptr;
  }
  if (absent) return Error{ErrorKind::internal, "_Map_base::at", "", "", ""};
  return done;
}

Status hide_place(const Pass& pass, State& state) {
  if (auto done = pass.run(state); !done) {
    return Error{done.error().kind, "the model can't be converted", "", "", ""};
  }
  return core::success();
}

Status swallow_bad_ranges(const Pass& pass, State& state) {
  auto done = pass.run(state);
  if (done || done.error().message.find("takes the value") == std::string::npos) return done;
  for (const auto& name : state.plan.quantized) state.ranges.try_emplace(name, Range{-1, 1});
  return core::success();
}

Status ignore_failure(const Pass& pass, State& state) {
  (void)pass.run(state);
  return core::success();
}

Status ignore_float_wishes(const Pass& pass, State& state) {
  const auto asked = state.options.precision;
  std::erase_if(state.options.precision, [](const auto& entry) { return entry.second == "fp32"; });
  auto done = pass.run(state);
  state.options.precision = asked;
  return done;
}

Status bind_inputs_by_position(State& state) {
  const auto& inputs = state.original.graph.inputs;
  for (auto& batch : state.feed.edit()) {
    auto order = state.feed_order;
    if (order.empty()) {
      for (const auto& [name, tensor] : batch) order.push_back(name);
    }
    TensorMap bound;
    for (std::size_t i = 0; i < std::min(order.size(), inputs.size()); ++i) {
      if (const auto found = batch.find(order[i]); found != batch.end()) bound[inputs[i].name] = found->second;
    }
    batch = std::move(bound);
  }
  return core::success();
}

Status fill_missing_inputs(State& state) {
  for (auto& batch : state.feed.edit()) {
    for (const auto& input : state.original.graph.inputs) {
      if (batch.contains(input.name)) continue;
      core::Shape shape;
      for (const auto& extent : input.shape.value_or(std::vector<model::Dimension>{})) {
        shape.push_back(extent.value.value_or(1));
      }
      batch[input.name] = Tensor::zeros(input.type, shape);
    }
  }
  return core::success();
}

Status forget_feed_problem(State& state) {
  state.feed_problem.reset();
  return core::success();
}

Status zero_bad_values(State& state) {
  for (auto& batch : state.feed.edit()) {
    for (auto& [name, tensor] : batch) {
      if (!tensor.is_real()) continue;
      for (double& value : tensor.reals()) {
        if (!std::isfinite(value)) value = 0;
      }
    }
  }
  return core::success();
}

Status repeat_last_batch(State& state) {
  auto& feed = state.feed.edit();
  for (auto& batch : feed) batch = feed.back();
  return core::success();
}

Status renew_cache_fingerprint(State& state) {
  if (state.cache_text.empty()) return core::success();
  auto cache = parse_cache(state.cache_text);
  if (!cache) return core::success();
  cache->fingerprint = fingerprint_of(state);
  state.cache_text = cache_to_json(*cache);
  return core::success();
}

Status leave_uncached_in_float(const Pass& pass, State& state) {
  auto done = pass.run(state);
  while (!done && done.error().message.find("has no entry for tensor") != std::string::npos) {
    const std::string missing = done.error().tensor;
    state.plan.quantized.erase(missing);
    std::erase_if(state.plan.shares, [&](const auto& entry) { return entry.second == missing; });
    done = pass.run(state);
  }
  return done;
}

Status write_early(State& state) {
  if (state.output.empty()) return core::success();
  return model::save_model(state.original, state.output / kArtifactFile);
}

}  // namespace edits
}  // namespace assay::embedded
