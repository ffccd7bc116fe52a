#include "converters/embedded/cache.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "harness/core/text.hpp"
#include "harness/model/onnx_io.hpp"

namespace assay::embedded {
namespace {

using nlohmann::json;

constexpr int kVersion = 1;
constexpr double kTensorRtDivisor = 127;
constexpr std::string_view kTensorRtHeader = "TRT-8601-EntropyCalibration2";

Error cache_error(std::string message) {
  return {ErrorKind::invalid_data, "calibration cache: " + std::move(message), "", "", ""};
}

void append_bytes(std::string& bytes, const void* from, std::size_t count) {
  bytes.append(static_cast<const char*>(from), count);
}

std::map<std::string, std::string> data_hashes(const std::vector<TensorMap>& feed) {
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

Result<Cache> parse_tensorrt(const std::string& text) {
  Cache cache;
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);  // the header: TensorRT's version and calibrator
  for (int number = 2; std::getline(lines, line); ++number) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    if (line.empty()) continue;
    const auto colon = line.rfind(": ");
    std::uint32_t bits = 0;
    const char* begin = colon == std::string::npos ? nullptr : line.data() + colon + 2;
    const char* end = line.data() + line.size();
    const auto read = begin == nullptr ? std::from_chars_result{end, std::errc::invalid_argument}
                                       : std::from_chars(begin, end, bits, 16);
    if (read.ec != std::errc{} || read.ptr != end) {
      return cache_error(fmt::format("line {} is not \"tensor: hex\": {}", number, line.substr(0, 80)));
    }
    const auto scale = static_cast<double>(std::bit_cast<float>(bits));
    const auto name = line.substr(0, colon);
    if (!std::isfinite(scale) || scale < 0) {
      return cache_error(
          fmt::format("tensor \"{}\" has scale {}; scales are finite and positive", name, core::exact_text64(scale)));
    }
    cache.ranges[name] = {-scale * kTensorRtDivisor, scale * kTensorRtDivisor};
  }
  return cache;
}

Result<Cache> read_json(const json& parsed) {
  if (!parsed.is_object() || parsed.value("format", json()) != "assay-calibration") {
    return cache_error("its JSON is not of format \"assay-calibration\"");
  }
  if (parsed.value("version", json()) != kVersion) {
    return cache_error(fmt::format("stale: version {} where this converter writes {}; calibrate anew",
                                   parsed.value("version", json()).dump(), kVersion));
  }
  Cache cache;
  const auto given = parsed.value("fingerprint", json::object());
  const auto print = given.is_object() ? given : json::object();
  const auto text = [&](const char* key) {
    return print.contains(key) && print[key].is_string() ? print[key].get<std::string>() : "";
  };
  cache.fingerprint = Fingerprint{text("model"), {}, text("method")};
  const auto data = print.value("data", json::object());
  for (const auto& [name, hash] : data.items()) {
    if (hash.is_string()) cache.fingerprint->data[name] = hash.get<std::string>();
  }
  const auto ranges = parsed.value("ranges", json::object());
  if (!ranges.is_object()) return cache_error("\"ranges\" must be an object of tensors");
  for (const auto& [name, range] : ranges.items()) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number() ||
        !std::isfinite(range[0].get<double>()) || !std::isfinite(range[1].get<double>()) || range[0] > range[1]) {
      return cache_error(fmt::format("the range of tensor \"{}\" is {}, not [low, high]", name, range.dump()));
    }
    cache.ranges[name] = {range[0].get<double>(), range[1].get<double>()};
  }
  return cache;
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
  json out{{"format", "assay-calibration"}, {"version", kVersion}, {"ranges", ranges}};
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
    const double scale = std::max(std::fabs(range.low), std::fabs(range.high)) / kTensorRtDivisor;
    out += fmt::format("{}: {:08x}\n", name, std::bit_cast<std::uint32_t>(static_cast<float>(scale)));
  }
  return out;
}

Result<Cache> parse_cache(const std::string& text) {
  if (text.rfind("TRT-", 0) == 0) return parse_tensorrt(text);
  const auto parsed = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (parsed.is_discarded()) return cache_error("neither JSON nor TensorRT's text form");
  return read_json(parsed);
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
