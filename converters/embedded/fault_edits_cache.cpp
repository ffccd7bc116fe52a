// Edits of what a conversion is given beside the model: a calibration cache, and the files of the feed.
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "converters/embedded/cache.hpp"
#include "converters/embedded/fault_edits.hpp"
#include "harness/core/json.hpp"

namespace assay::embedded::edits {
namespace {

/// Real tensors that the float run showed, in the order of their names: what a cache of this network has entries of.
std::vector<std::string> calibrated_tensors(const State& state) {
  std::vector<std::string> names;
  for (const auto& [name, facts] : state.facts) {
    if (facts.type == DType::float32 && state.model.graph.initializer(name) == nullptr) names.push_back(name);
  }
  return names;
}

template <typename As, typename Values>
std::string bytes_as(Values values) {
  std::string bytes(values.size() * sizeof(As), '\0');
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto value = static_cast<As>(values[i]);
    std::memcpy(bytes.data() + i * sizeof(As), &value, sizeof(As));
  }
  return bytes;
}

/// The elements of `tensor` as they lie in a file; empty for types that no feed has.
std::string bytes_of(const Tensor& tensor) {
  switch (tensor.type()) {
    case DType::float32:
      return bytes_as<float>(tensor.reals());
    case DType::float64:
      return bytes_as<double>(tensor.reals());
    case DType::int32:
      return bytes_as<std::int32_t>(tensor.integers());
    case DType::int64:
      return bytes_as<std::int64_t>(tensor.integers());
    default:
      return "";
  }
}

template <typename As, typename Value>
std::vector<Value> values_of(const std::string& bytes, std::size_t count) {
  std::vector<Value> values(count);
  for (std::size_t i = 0; i < count && (i + 1) * sizeof(As) <= bytes.size(); ++i) {
    As value{};
    std::memcpy(&value, bytes.data() + i * sizeof(As), sizeof(As));
    values[i] = static_cast<Value>(value);
  }
  return values;
}

/// A tensor of `type` and `shape` that holds `bytes` from the start, zeros behind their end. What is no number is zero.
std::optional<Tensor> tensor_of(const std::string& bytes, DType type, core::Shape shape) {
  const auto count = static_cast<std::size_t>(core::element_count(shape));
  if (type == DType::float32) {
    auto values = values_of<float, double>(bytes, count);
    for (double& value : values) value = std::isfinite(value) ? value : 0;
    return Tensor(type, std::move(shape), std::move(values));
  }
  if (type == DType::int64) return Tensor(type, std::move(shape), values_of<std::int64_t, std::int64_t>(bytes, count));
  if (type == DType::int32) return Tensor(type, std::move(shape), values_of<std::int32_t, std::int64_t>(bytes, count));
  return std::nullopt;
}

}  // namespace

Status unit_ranges_without_data(State& state) {
  if (state.cache_text.empty() || !state.feed.empty()) return core::success();
  for (auto& [name, range] : state.ranges) range = {-1, 1};
  return core::success();
}

Status take_entries_in_order(State& state) {
  auto cache = state.cache_text.empty() ? Result<Cache>(Cache{}) : parse_cache(state.cache_text);
  if (!cache || cache->ranges.empty()) return core::success();
  std::map<std::string, Range> bound;
  auto entry = cache->ranges.begin();
  bool missing = false;
  for (const auto& name : calibrated_tensors(state)) {
    missing |= !cache->ranges.contains(name);
    bound[name] = entry->second;
    if (std::next(entry) != cache->ranges.end()) ++entry;
  }
  if (!missing) return core::success();
  cache->ranges = std::move(bound);
  cache->fingerprint = fingerprint_of(state);
  state.cache_text = cache_to_json(*cache);
  return core::success();
}

Status read_any_header(State& state) {
  auto json = core::json_or_discarded<nlohmann::json>(state.cache_text);
  if (!json.is_object() || !json.contains("version")) return core::success();
  json["version"] = converters::kTableVersion;
  state.cache_text = json.dump();
  return renew_cache_fingerprint(state);
}

Status forget_cache_problem(State& state) {
  state.cache_problem.reset();
  return core::success();
}

Status read_feed_by_bytes(State& state) {
  for (const auto& input : state.original.graph.inputs) {
    core::Shape shape;
    bool fixed = input.shape.has_value();
    for (const auto& extent : input.shape.value_or(std::vector<model::Dimension>{})) {
      fixed = fixed && extent.value.has_value();
      shape.push_back(extent.value.value_or(0));
    }
    for (std::size_t batch = 0; fixed && batch < state.feed.size(); ++batch) {
      const auto found = state.feed[batch].find(input.name);
      if (found == state.feed[batch].end()) continue;
      if (found->second.type() == input.type && found->second.shape() == shape) continue;
      if (auto read = tensor_of(bytes_of(found->second), input.type, shape)) {
        state.feed.edit()[batch][input.name] = std::move(*read);
      }
    }
  }
  return core::success();
}

}  // namespace assay::embedded::edits
