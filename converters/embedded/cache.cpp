#include "converters/embedded/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <nlohmann/json.hpp>

#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

using nlohmann::json;

constexpr std::string_view kTensorRtHeader = "TRT-8601-EntropyCalibration2";

Error cache_error(std::string message) {
  return {ErrorKind::invalid_data, "calibration cache: " + std::move(message), "", "", ""};
}

void append_bytes(std::string& bytes, const void* from, std::size_t count) {
  bytes.append(static_cast<const char*>(from), count);
}

std::map<std::string, std::string> data_hashes(const Batches& feed) {
  std::map<std::string, std::string> bytes;
  for (const auto& batch : feed) {
    for (const auto& [name, tensor] : batch) {
      auto& all = bytes[name];
      all += fmt::format("{}{}\n", core::dtype_name(tensor.type()), core::shape_text(tensor.shape()));
      if (tensor.is_real()) {
        append_bytes(all, tensor.reals().data(), tensor.reals().size_bytes());
      } else {
        append_bytes(all, tensor.integers().data(), tensor.integers().size_bytes());
      }
    }
  }
  for (auto& [name, all] : bytes) all = core::sha256_hex(all);
  return bytes;
}

}  // namespace

Fingerprint fingerprint_of(const State& state) {
  Fingerprint print{core::sha256_hex(model::serialize_model(state.original)), data_hashes(state.feed),
                    std::string(converters::method_name(state.options.method))};
  if (state.options.method == converters::Method::percentile) {
    print.method += " " + core::exact_text64(state.options.percentile);
  }
  // Percentile and MSE cut another range where codes lie evenly around zero.
  if (state.options.symmetric && state.options.method != converters::Method::minmax) print.method += " symmetric";
  return print;
}

std::string cache_to_json(const Cache& cache) {
  json ranges = json::object();
  for (const auto& [name, range] : cache.ranges) ranges[name] = {range.low, range.high};
  json out{{"format", "assay-calibration"}, {"version", converters::kTableVersion}, {"ranges", ranges}};
  if (cache.fingerprint) {
    out["fingerprint"] = {
        {"model", cache.fingerprint->model}, {"data", cache.fingerprint->data}, {"method", cache.fingerprint->method}};
  }
  return out.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

std::string cache_to_tensorrt(const Cache& cache) {
  std::string out(kTensorRtHeader);
  out += "\n";
  for (const auto& [name, range] : cache.ranges) {
    const double scale = std::max(std::fabs(range.low), std::fabs(range.high)) / converters::kTableDivisor;
    out += fmt::format("{}: {:08x}\n", name, std::bit_cast<std::uint32_t>(static_cast<float>(scale)));
  }
  return out;
}

Result<Cache> parse_cache(const std::string& text) {
  auto table = converters::parse_calibration_table(text);
  if (!table) return table.error();
  Cache cache{std::move(table->origin), {}};
  for (const auto& [name, range] : table->ranges) {
    if (range.low > range.high) return cache_error(fmt::format("tensor \"{}\" has magnitude {}", name, range.high));
    cache.ranges[name] = {range.low, range.high};
  }
  return cache;
}

Status check_fresh(const Cache& cache, const Fingerprint& now) {
  if (!cache.fingerprint) return core::success();
  const auto& made = *cache.fingerprint;
  std::vector<std::string> differences;
  const auto compare = [&](std::string_view what, const std::string& then, const std::string& today) {
    constexpr std::size_t kShown = 12;
    if (then == today) return;
    const auto shown = [](const std::string& text) { return text.empty() ? "none" : text.substr(0, kShown); };
    differences.push_back(fmt::format("{} (cache {}, now {})", what, shown(then), shown(today)));
  };
  compare("the model", made.model, now.model);
  for (const auto& [name, hash] : now.data) {
    const auto then = made.data.find(name);
    compare(fmt::format("the data of input \"{}\"", name), then == made.data.end() ? "" : then->second, hash);
  }
  if (made.method != now.method) {
    differences.push_back(fmt::format("the method (cache {}, now {})", made.method, now.method));
  }
  if (differences.empty()) return core::success();
  return cache_error(fmt::format("stale: {} differ{}; calibrate anew without \"cache\"", core::join(differences, ", "),
                                 differences.size() == 1 ? "s" : ""));
}

}  // namespace assay::embedded
