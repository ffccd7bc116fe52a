// A calibration table whose header is another one's: what a converter must not take for its own.
#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "converters/calibration_table.hpp"
#include "harness/core/json.hpp"

namespace assay::converters {
namespace {

constexpr int kTwice = 2;

/// Assay's own form: its version, or the method that its fingerprint names.
std::optional<std::string> with_other_key(const std::string& bytes, HeaderWord word) {
  using nlohmann::json;
  json table = core::json_or_discarded<json>(bytes);
  if (!table.is_object() || table.value("format", json()) != "assay-calibration") return std::nullopt;
  if (!table.contains("ranges") || !table["ranges"].is_object()) return std::nullopt;
  if (word == HeaderWord::version) {
    table["version"] = kTableVersion + 1;
  } else {
    json& print = table["fingerprint"];
    if (!print.is_object()) return std::nullopt;
    const std::string entropy(method_name(Method::entropy));
    print["method"] = print.value("method", json()) == entropy ? std::string(method_name(Method::minmax)) : entropy;
  }
  for (json& range : table["ranges"]) {
    for (json& end : range) end = kTwice * end.get<double>();
  }
  return table.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

/// "TRT-8601-EntropyCalibration2" with another version, or another calibrator.
std::string other_line(const std::string& line, HeaderWord word) {
  const auto version = line.find('-') + 1, calibrator = line.rfind('-') + 1;
  if (word == HeaderWord::version) return line.substr(0, version) + "1" + line.substr(calibrator - 1);
  const std::string minmax = "MinMaxCalibration";
  return line.substr(0, calibrator) + (line.substr(calibrator) == minmax ? "EntropyCalibration2" : minmax);
}

/// TensorRT's form; the scales are the bits of float32.
std::optional<std::string> with_other_line(const std::string& bytes, HeaderWord word) {
  std::istringstream lines(bytes);
  std::string line, out;
  std::getline(lines, line);
  if (line.find('-') == line.rfind('-')) return std::nullopt;
  out = other_line(line, word) + "\n";
  while (std::getline(lines, line)) {
    const auto colon = line.rfind(": ");
    std::uint32_t bits = 0;
    const char* end = line.data() + line.size();
    if (colon == std::string::npos || std::from_chars(line.data() + colon + 2, end, bits, 16).ptr != end) {
      return std::nullopt;
    }
    const float scale = kTwice * std::bit_cast<float>(bits);
    out += fmt::format("{}: {:08x}\n", line.substr(0, colon), std::bit_cast<std::uint32_t>(scale));
  }
  return out;
}

}  // namespace

std::optional<std::string> with_other_header(const std::string& bytes, HeaderWord word) {
  return bytes.starts_with("TRT-") ? with_other_line(bytes, word) : with_other_key(bytes, word);
}

}  // namespace assay::converters
