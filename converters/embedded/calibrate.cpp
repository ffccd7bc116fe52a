#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/engine/engine.hpp"
#include "converters/embedded/histogram.hpp"
#include "converters/embedded/pipeline.hpp"
#include "harness/model/same_content.hpp"

namespace assay::embedded {
namespace {

using converters::Method;

Status run_batches(const State& state, const auto& see) {
  const auto program = engine::Program::compile_float(state.model);
  if (!program) return program.error();
  for (std::size_t index = 0; index < state.feed.size(); ++index) {
    const engine::Observer observe = [&](std::string_view name, const engine::TensorView& tensor) {
      if (tensor.type == DType::float32 && !tensor.floats.empty()) see(name, tensor.floats, index);
    };
    const auto ran = program->run(state.feed[index], nullptr, observe);
    if (!ran) return ran.error().within(fmt::format("calibration batch {}", index));
  }
  return core::success();
}

Result<Observed> observe_extremes(const State& state) {
  Observed observed;
  const auto see = [&](std::string_view name, std::span<const float> values, std::size_t batch) {
    float low = values.front();
    float high = values.front();
    for (const float value : values) {
      if (!std::isfinite(value)) {
        observed.bad.try_emplace(std::string(name), BadValue{batch, value});
        return;
      }
      low = std::min(low, value);
      high = std::max(high, value);
    }
    const Range range{static_cast<double>(low), static_cast<double>(high)};
    const auto [entry, added] = observed.ranges.try_emplace(std::string(name), range);
    entry->second = {std::min(entry->second.low, range.low), std::max(entry->second.high, range.high)};
  };
  if (auto ran = run_batches(state, see); !ran) return ran.error();
  for (const auto& [name, bad] : observed.bad) observed.ranges.erase(name);
  return observed;
}

Result<std::shared_ptr<const Observed>> observe(const State& state) {
  LastObserved* last = state.last_observed.get();
  if (last != nullptr && last->observed != nullptr && last->feed.all() == state.feed.all() &&
      model::same_content(last->model, state.model)) {
    return last->observed;
  }
  auto observed = observe_extremes(state);
  if (!observed) return observed.error();
  auto shared = std::make_shared<const Observed>(std::move(*observed));
  if (last != nullptr) *last = {state.model, state.feed, shared};
  return shared;
}

Result<std::map<std::string, Range>> cut_ranges(const State& state, const Observed& observed) {
  std::map<std::string, Histogram, std::less<>> histograms;
  for (const auto& [name, range] : observed.ranges) histograms.emplace(name, Histogram(range));
  const auto see = [&](std::string_view name, std::span<const float> values, std::size_t) {
    if (const auto found = histograms.find(name); found != histograms.end()) found->second.add(values);
  };
  if (auto ran = run_batches(state, see); !ran) return ran.error();
  std::map<std::string, Range> ranges;
  const auto& options = state.options;
  const auto limits = core::integer_limits(options.activation);
  const auto levels = static_cast<double>(limits.high - limits.low);
  for (const auto& [name, histogram] : histograms) {
    switch (options.method) {
      case Method::entropy:
        ranges[name] = entropy_range(histogram);
        break;
      case Method::percentile:
        ranges[name] = percentile_range(histogram, options.percentile, options.symmetric);
        break;
      case Method::mse:
        ranges[name] = mse_range(histogram, options.symmetric, levels);
        break;
      case Method::minmax:
      case Method::dynamic:
      case Method::given:  // nobody asks: it is refused before
        ranges[name] = histogram.range();
        break;
    }
  }
  return ranges;
}

/// The tensor whose range decides the parameters of `name`.
const std::string& range_owner(const Plan& plan, const std::string& name) {
  const std::string* owner = &name;
  for (auto shared = plan.shares.find(*owner); shared != plan.shares.end(); shared = plan.shares.find(*owner)) {
    owner = &shared->second;
  }
  return *owner;
}

Status check_complete(const State& state, const Observed& observed) {
  for (const auto& name : state.plan.quantized) {
    const auto& owner = range_owner(state.plan, name);
    if (state.model.graph.initializers.contains(owner) || state.ranges.contains(owner)) continue;
    Error error{ErrorKind::invalid_data, "", "", "", owner};
    if (const auto bad = observed.bad.find(owner); bad != observed.bad.end()) {
      error.message = fmt::format("tensor \"{}\" takes the value {} in calibration batch {}; it can't be quantized",
                                  owner, bad->second.value, bad->second.batch);
    } else if (!state.cache_text.empty()) {
      error.message = fmt::format(
          "the calibration cache has no entry for tensor \"{}\", which is to be quantized; "
          "calibrate anew without \"cache\"",
          owner);
    } else {
      error.message = fmt::format("no scale for tensor \"{}\": calibration saw no real value of it", owner);
    }
    return error;
  }
  return core::success();
}

Status calibrate_from_cache(State& state) {
  const auto cache = parse_cache(state.cache_text);
  if (!cache) return cache.error();
  if (auto fresh = check_fresh(*cache, state.fingerprint); !fresh) return fresh;
  state.ranges = cache->ranges;
  return check_complete(state, {});
}

}  // namespace

Status calibrate(State& state) {
  if (state.cache_problem) return *state.cache_problem;
  state.fingerprint = fingerprint_of(state);
  if (!state.cache_text.empty()) return calibrate_from_cache(state);
  const auto observed = observe(state);
  if (!observed) return observed.error();
  if (state.options.method == Method::minmax) {
    state.ranges = (*observed)->ranges;
  } else {
    auto ranges = cut_ranges(state, **observed);
    if (!ranges) return ranges.error();
    state.ranges = std::move(*ranges);
  }
  return check_complete(state, **observed);
}

}  // namespace assay::embedded
