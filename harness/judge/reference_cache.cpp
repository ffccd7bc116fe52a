#include "harness/judge/reference_cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

#include "harness/core/text.hpp"
#include "harness/judge/alignment/forward_error.hpp"
#include "harness/judge/alignment/statistics.hpp"
#include "harness/judge/audit/audit.hpp"
#include "harness/judge/integers/integer_memo.hpp"
#include "harness/judge/quantization/grounds.hpp"
#include "harness/model/onnx_io.hpp"
#include "reference/executor.hpp"

namespace assay::judge {
namespace {

using core::Result;
using core::Tensor;
using core::TensorMap;

/// A 128-bit content hash; two mixes of splitmix64's finalizer with different seeds.
class ContentHash {
 public:
  void add(std::uint64_t word) {
    first_ = mix(first_ ^ word);
    second_ = mix(second_ + word * 0x9E3779B97F4A7C15ULL);
  }
  void add(std::string_view text) {
    add(text.size());
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
  }
  void add(const Tensor& tensor) {
    add(static_cast<std::uint64_t>(tensor.type()));
    add(static_cast<std::uint64_t>(tensor.rank()));
    for (const std::int64_t extent : tensor.shape()) add(static_cast<std::uint64_t>(extent));
    if (tensor.is_real()) {
      add(tensor.reals());
    } else {
      add(tensor.integers());
    }
  }
  void add(const TensorMap& tensors) {
    add(tensors.size());
    for (const auto& [name, tensor] : tensors) {
      add(name);
      add(tensor);
    }
  }
  [[nodiscard]] std::pair<std::uint64_t, std::uint64_t> value() const { return {first_, second_}; }

 private:
  /// Words in turn to four lanes, so that their multiplications overlap.
  template <typename Word>
  void add(std::span<const Word> words) {
    std::array<std::uint64_t, 4> lanes{1, 2, 3, 4};
    for (std::size_t i = 0; i < words.size(); ++i) {
      std::uint64_t& lane = lanes[i % lanes.size()];
      lane = std::rotl(lane ^ std::bit_cast<std::uint64_t>(words[i]), 29) * 0x9E3779B97F4A7C15ULL;
    }
    for (const std::uint64_t lane : lanes) add(lane);
  }
  static std::uint64_t mix(std::uint64_t z) {
    z = (z ^ (z >> 30U)) * 0xBF58476D1CE4E5B9ULL;
    z = (z ^ (z >> 27U)) * 0x94D049BB133111EBULL;
    return z ^ (z >> 31U);
  }
  std::uint64_t first_ = 0x243F6A8885A308D3ULL, second_ = 0x13198A2E03707344ULL;
};

struct Extremes {
  double low = 0, high = 0;
  bool finite = true;
};

/// Of at least one value. Values in turn to eight lanes, so that the comparisons overlap.
Extremes extremes(std::span<const double> values) {
  constexpr std::size_t kLanes = 8;
  std::array<double, kLanes> lows{}, highs{};
  lows.fill(values.front());
  highs.fill(values.front());
  bool finite = true;
  const auto take = [&](std::size_t lane, double value) {
    finite &= std::isfinite(value);
    lows[lane] = std::min(lows[lane], value);
    highs[lane] = std::max(highs[lane], value);
  };
  std::size_t i = 0;
  for (; i + kLanes <= values.size(); i += kLanes) {
    for (std::size_t lane = 0; lane < kLanes; ++lane) take(lane, values[i + lane]);
  }
  for (; i < values.size(); ++i) take(0, values[i]);
  return {*std::ranges::min_element(lows), *std::ranges::max_element(highs), finite};
}

/// Extends `range` by the values of one batch. A sample is a slice along axis 0: what per-sample averaging sees.
void extend(TensorRange& range, const Tensor& tensor) {
  const auto values = tensor.reals();
  range.shape = tensor.shape();
  if (values.empty()) return;
  double least = values.front(), most = values.front();
  const std::size_t samples = tensor.rank() > 1 ? static_cast<std::size_t>(tensor.shape().front()) : 1;
  const std::size_t stride = values.size() / samples;
  for (std::size_t s = 0; s < samples; ++s) {
    const auto slice = values.subspan(s * stride, stride);
    const auto [low, high, finite] = extremes(slice);
    range.finite = range.finite && finite;
    const bool first = range.samples == 0;
    range.low = first ? low : std::min(range.low, low);
    range.high = first ? high : std::max(range.high, high);
    range.inner_low = first ? low : std::max(range.inner_low, low);
    range.inner_high = first ? high : std::min(range.inner_high, high);
    range.samples += static_cast<std::int64_t>(stride);
    least = std::min(least, low);
    most = std::max(most, high);
  }
  range.batch_low += least;
  range.batch_high += most;
  range.batch_extent += std::max(-least, most);
  range.widened_low += std::min(least, 0.0);
  range.widened_high += std::max(most, 0.0);
  ++range.batches;
}

/// Extends the extremes of each index along axis 1.
/// Adds the values at ⌊n·(1 − share)⌋ and ⌊n·share⌋ of the batch's n sorted ones.
void add_quantiles(TensorRange& range, const Tensor& tensor, double share) {
  if (tensor.size() == 0) return;
  std::vector<double> values(tensor.reals().begin(), tensor.reals().end());
  const auto at = [&](double part) {
    const auto count = static_cast<double>(values.size());
    const auto index = static_cast<std::ptrdiff_t>(std::min(std::floor(count * part), count - 1));
    std::ranges::nth_element(values, values.begin() + index);
    return values[static_cast<std::size_t>(index)];
  };
  range.quantile_low += at(1 - share);
  range.quantile_high += at(share);
}

void extend(std::vector<std::pair<double, double>>& channels, const Tensor& tensor) {
  if (tensor.rank() < 2 || tensor.size() == 0) return;
  const auto extent = static_cast<std::size_t>(tensor.shape()[1]);
  const auto values = tensor.reals();
  const std::size_t inner = values.size() / extent / static_cast<std::size_t>(tensor.shape()[0]);
  constexpr double kNothing = std::numeric_limits<double>::infinity();
  channels.resize(extent, {kNothing, -kNothing});
  for (std::size_t i = 0; i < values.size(); ++i) {
    auto& [low, high] = channels[i / inner % extent];
    low = std::min(low, values[i]);
    high = std::max(high, values[i]);
  }
}

/// Adds the mean of each index along `axis`.
void add_means(std::vector<double>& sums, const Tensor& tensor, std::size_t axis) {
  if (tensor.size() == 0) return;
  const std::vector<double> means = means_along(tensor, axis);
  sums.resize(means.size());
  std::ranges::transform(sums, means, sums.begin(), std::plus());
}

std::pair<std::uint64_t, std::uint64_t> run_key(const std::string& key_text, const TensorMap& inputs) {
  ContentHash hash;
  hash.add(std::string_view("run"));
  hash.add(key_text);
  hash.add(inputs);
  return hash.value();
}

std::size_t size_bytes(const TensorMap& tensors) {
  std::size_t bytes = 0;
  for (const auto& [name, tensor] : tensors) bytes += 8 * static_cast<std::size_t>(tensor.size()) + name.size();
  return bytes;
}

}  // namespace

std::string model_key(const model::Model& model, const std::string& content_hash) {
  return content_hash.empty() ? core::sha256_hex(model::serialize_model(model)) : content_hash;
}

const ReferenceCache::Entry* ReferenceCache::find(const Key& key) {
  const auto found = index_.find(key);
  if (found == index_.end()) return nullptr;
  entries_.splice(entries_.begin(), entries_, found->second);
  return &entries_.front();
}

void ReferenceCache::keep(Entry entry) {
  bytes_ += entry.bytes;
  entries_.push_front(std::move(entry));
  index_[entries_.front().key] = entries_.begin();
  while (bytes_ > kBudgetBytes && !entries_.empty()) {
    bytes_ -= entries_.back().bytes;
    index_.erase(entries_.back().key);
    entries_.pop_back();
  }
}

Result<std::shared_ptr<const TensorMap>> ReferenceCache::run(const model::Model& model, const std::string& key_text,
                                                             const TensorMap& inputs) {
  const Key key = run_key(key_text, inputs);
  if (const Entry* entry = find(key)) return entry->tensors;
  auto tensors = std::make_shared<TensorMap>();
  reference::RunOptions options;
  options.observe = [&](const std::string& name, const Tensor& value) { tensors->insert_or_assign(name, value); };
  ++executions_;
  auto outputs = reference::execute(model, inputs, options);
  if (!outputs) return outputs.error();
  for (auto& [name, tensor] : *outputs) tensors->insert_or_assign(name, std::move(tensor));
  std::shared_ptr<const TensorMap> result = std::move(tensors);
  keep({key, result, nullptr, size_bytes(*result)});
  return result;
}

Result<std::shared_ptr<const CalibrationRanges>> ReferenceCache::ranges(const model::Model& model,
                                                                        const std::string& key_text,
                                                                        const std::vector<TensorMap>& batches,
                                                                        KeptOfRanges kept) {
  ContentHash hash;
  hash.add(std::string_view(kept.values ? "values" : "ranges"));
  hash.add(std::string_view(kept.channels ? "channels" : ""));
  hash.add(std::string_view(kept.means ? "means" : ""));
  hash.add(fmt::format("{}", kept.batch_share));
  hash.add(key_text);
  for (const TensorMap& batch : batches) hash.add(batch);
  for (const auto& [key, newest] : newest_ranges_) {
    if (key == hash.value()) return newest;
  }
  if (const Entry* entry = find(hash.value())) return entry->ranges;
  auto result = std::make_shared<CalibrationRanges>();
  std::size_t batch = 0;
  const auto observe = [&](const std::string& name, const Tensor& value) {
    if (!value.is_real()) return;
    TensorRange& range = result->ranges[name];
    extend(range, value);
    if (batch == 0) range.first = std::max(-range.low, range.high);
    if (kept.batch_share > 0) add_quantiles(range, value, kept.batch_share);
    if (kept.channels) extend(result->channels[name], value);
    if (kept.means && batch < kMeanBatches && value.rank() > 1) {
      ChannelMeans& means = result->means[name];
      add_means(means.along_channels, value, 1);
      add_means(means.along_last, value, static_cast<std::size_t>(value.rank()) - 1);
    }
    if (!kept.values) return;
    auto& all = result->sorted_values[name];
    const auto values = value.reals();
    all.insert(all.end(), values.begin(), values.end());
  };
  reference::RunOptions options;
  options.observe = observe;
  for (; batch < batches.size(); ++batch) {
    if (const Entry* entry = find(run_key(key_text, batches[batch]))) {  // a data set that is a batch as well
      for (const auto& [name, value] : *entry->tensors) observe(name, value);
      continue;
    }
    ++executions_;
    if (auto outputs = reference::execute(model, batches[batch], options); !outputs) {
      return outputs.error().within(fmt::format("calibration batch {}", batch));
    }
  }
  for (auto& [name, values] : result->sorted_values) std::ranges::sort(values);
  for (auto& [name, means] : result->means) {
    for (auto* each : {&means.along_channels, &means.along_last}) {
      for (double& mean : *each) mean /= static_cast<double>(std::min(batches.size(), kMeanBatches));
    }
  }
  add_forward_errors(model, result->ranges);
  std::size_t bytes = 0;
  for (const auto& [name, values] : result->sorted_values) bytes += 8 * values.size();
  std::shared_ptr<const CalibrationRanges> shared = std::move(result);
  keep({hash.value(), nullptr, shared, bytes + 256 * shared->ranges.size()});
  newest_ranges_.emplace_front(hash.value(), shared);
  if (newest_ranges_.size() > kNewestRanges) newest_ranges_.pop_back();
  return shared;
}

GroundsCache& ReferenceCache::grounds() {
  if (grounds_ == nullptr) grounds_ = std::make_shared<GroundsCache>();
  return *grounds_;
}

IntegerMemo& ReferenceCache::integers() {
  if (integers_ == nullptr) integers_ = std::make_shared<IntegerMemo>();
  return *integers_;
}

std::shared_ptr<ReferenceCache> make_reference_cache() { return std::make_shared<ReferenceCache>(); }

}  // namespace assay::judge
