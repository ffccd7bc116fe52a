#include <algorithm>
#include <cmath>
#include <functional>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/edit.hpp"
#include "converters/embedded/fault_edits.hpp"

namespace assay::embedded::edits {
namespace {

using converters::Method;
using model::Node;

/// Calibrates on other batches than those that were fed.
Status calibrate_on(const Pass& pass, State& state, std::vector<TensorMap> batches) {
  const Batches fed = state.feed;
  state.feed = Batches(std::move(batches));
  auto done = pass.run(state);
  state.feed = fed;
  state.fingerprint = fingerprint_of(state);
  return done;
}

bool takes_data(const State& state) { return state.cache_text.empty() && !state.feed.empty(); }

Status change_ranges(State& state, const std::function<void(Range&)>& change) {
  for (auto& [name, range] : state.ranges) change(range);
  return core::success();
}

/// `tensor` with its first sample (axis 0) in place of all.
Tensor first_sample_everywhere(const Tensor& tensor) {
  if (tensor.rank() == 0 || tensor.size() == 0) return tensor;
  Tensor repeated = tensor;
  const auto length = static_cast<std::size_t>(tensor.size() / tensor.shape()[0]);
  const auto repeat = [&](auto values) {
    for (std::size_t i = length; i < values.size(); ++i) values[i] = values[i % length];
  };
  tensor.is_real() ? repeat(repeated.reals()) : repeat(repeated.integers());
  return repeated;
}

}  // namespace

Status first_batch_only(const Pass& pass, State& state) {
  return takes_data(state) ? calibrate_on(pass, state, {state.feed.front()}) : pass.run(state);
}

Status first_sample_only(const Pass& pass, State& state) {
  if (!takes_data(state)) return pass.run(state);
  std::vector<TensorMap> batches = state.feed.all();
  for (auto& batch : batches) {
    for (auto& [name, tensor] : batch) tensor = first_sample_everywhere(tensor);
  }
  return calibrate_on(pass, state, std::move(batches));
}

Status average_batches(const Pass& pass, State& state) {
  if (!takes_data(state)) return pass.run(state);
  std::map<std::string, Range> sums;
  for (const auto& batch : state.feed) {
    if (auto done = calibrate_on(pass, state, {batch}); !done) return done;
    for (const auto& [name, range] : state.ranges) {
      sums[name].low += range.low;
      sums[name].high += range.high;
    }
  }
  const auto count = static_cast<double>(state.feed.size());
  for (auto& [name, range] : sums) range = {range.low / count, range.high / count};
  state.ranges = std::move(sums);
  return core::success();
}

Status forget_negative_end(State& state) {
  if (!state.options.symmetric) return core::success();
  return change_ranges(state, [](Range& range) { range.low = std::max(range.low, -std::max(range.high, 0.0)); });
}

Status double_histogram_range(State& state) {
  if (state.options.method == Method::minmax || !state.cache_text.empty()) return core::success();
  return change_ranges(state, [](Range& range) { range = {2 * range.low, 2 * range.high}; });
}

Status cut_one_side(State& state) {
  if (state.options.method != Method::percentile || !state.cache_text.empty()) return core::success();
  return change_ranges(state, [](Range& range) { range.low = std::min(0.0, range.high); });
}

Status forget_output_ranges(State& state) {
  if (state.options.method == Method::minmax) return core::success();
  for (const auto& output : state.model.graph.outputs) state.ranges.erase(output.name);
  return core::success();
}

Status fix_softmax_range(State& state) {
  for (const auto& node : state.model.graph.nodes) {
    if (is_op(node, "Softmax") && state.ranges.contains(node.outputs.front())) {
      state.ranges[node.outputs.front()] = {0, 1};
    }
  }
  return core::success();
}

Status mirror_cached_ranges(State& state) {
  if (state.cache_text.empty()) return core::success();
  return change_ranges(state, [](Range& range) {
    const double largest = std::max(std::fabs(range.low), std::fabs(range.high));
    range = {-largest, largest};
  });
}

}  // namespace assay::embedded::edits
