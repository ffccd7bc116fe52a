// The JSON forms of a calibration table: Assay's own cache, and what ONNX Runtime's write_calibration_table makes.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "converters/calibration_table.hpp"
#include "harness/core/json.hpp"
#include "harness/core/text.hpp"

namespace assay::converters::tables {
namespace {

using nlohmann::json;

/// "percentile 99.99 symmetric": the method, its share and whether codes lie evenly around zero.
void read_method(const std::string& words, CalibrationTable& table) {
  const auto blank = words.find(' ');
  const std::string name = words.substr(0, blank);
  for (const Method method : {Method::minmax, Method::entropy, Method::percentile, Method::mse}) {
    if (name == method_name(method)) table.method = method;
  }
  table.symmetric = words.ends_with(" symmetric");
  if (table.method == Method::percentile && blank != std::string::npos) {
    table.percentile = core::parse_number(words.substr(blank + 1, words.find(' ', blank + 1) - blank - 1));
  }
}

core::Result<CalibrationTable> read_assay(const json& parsed) {
  if (parsed.value("version", json()) != kTableVersion) {
    return table_error(fmt::format("stale: version {} where this converter writes {}; calibrate anew",
                                   parsed.value("version", json()).dump(), kTableVersion));
  }
  CalibrationTable table;
  table.form = "Assay's cache";
  const auto given = parsed.value("fingerprint", json::object());
  const auto print = given.is_object() ? given : json::object();
  const auto text = [&](const char* key) {
    return print.contains(key) && print[key].is_string() ? print[key].get<std::string>() : "";
  };
  table.origin = TableOrigin{text("model"), {}, text("method")};
  read_method(table.origin->method, table);
  const auto data = print.value("data", json::object());
  for (const auto& [name, hash] : data.items()) {
    if (hash.is_string()) table.origin->data[name] = hash.get<std::string>();
  }
  const auto ranges = parsed.value("ranges", json::object());
  if (!ranges.is_object()) return table_error("\"ranges\" must be an object of tensors");
  for (const auto& [name, range] : ranges.items()) {
    if (!range.is_array() || range.size() != 2 || !range[0].is_number() || !range[1].is_number() ||
        !std::isfinite(range[0].get<double>()) || !std::isfinite(range[1].get<double>()) || range[0] > range[1]) {
      return table_error(fmt::format("the range of tensor \"{}\" is {}, not [low, high]", name, range.dump()));
    }
    table.ranges[name] = {range[0].get<double>(), range[1].get<double>()};
  }
  return table;
}

/// A number, one in a list, or one in a stored array ({"data": …}).
std::optional<double> single(const json& value) {
  if (value.is_number()) return std::isfinite(value.get<double>()) ? std::optional(value.get<double>()) : std::nullopt;
  if (value.is_array() && value.size() == 1) return single(value[0]);
  if (value.is_object() && value.contains("data")) return single(value["data"]);
  return std::nullopt;
}

std::optional<CalibrationTable::Range> pair_of(const json& entry) {
  const bool list = entry.is_array() && entry.size() == 2;
  const bool named = entry.is_object() && entry.contains("lowest") && entry.contains("highest");
  if (!list && !named) return std::nullopt;
  const auto low = single(list ? entry[0] : entry["lowest"]), high = single(list ? entry[1] : entry["highest"]);
  if (!low || !high || *low > *high) return std::nullopt;
  return CalibrationTable::Range{*low, *high};
}

core::Result<CalibrationTable> read_onnxruntime(const json& parsed) {
  CalibrationTable table;
  table.form = "ONNX Runtime's table (JSON)";
  const bool whole = parsed.value("CLS", json()) == "TensorsData";
  const json entries = whole ? parsed.value("data", json::object()) : parsed;
  if (whole) {
    const json method = parsed.value("calibration_method", json::object());
    const json word = method.is_object() ? method.value("value", json()) : json();
    if (word == "CalibrationMethod.MinMax") table.method = Method::minmax;
    if (word == "CalibrationMethod.Entropy") table.method = Method::entropy;
    // Which percentile isn't in the file, so that method stays unstated.
  }
  if (!entries.is_object()) return table_error("\"data\" must be an object of tensors");
  for (const auto& [name, entry] : entries.items()) {
    const auto range = pair_of(entry);
    if (!range) {
      constexpr std::size_t kShown = 80;
      return table_error(fmt::format(
          "its JSON is neither of format \"assay-calibration\" nor ONNX Runtime's table: entry \"{}\" is {}, "
          "not one \"lowest\" and one \"highest\"",
          name, entry.dump().substr(0, kShown)));
    }
    table.ranges[name] = *range;
  }
  return table;
}

}  // namespace

core::Result<CalibrationTable> parse_json(const std::string& text) {
  const auto parsed = core::json_or_discarded<json>(text);
  if (parsed.is_discarded()) return table_error("it begins like JSON, but is not valid JSON; the file may be cut off");
  return parsed.contains("format") || parsed.empty()
             ? parsed.value("format", json()) == "assay-calibration"
                   ? read_assay(parsed)
                   : table_error("its JSON is not of format \"assay-calibration\"")
             : read_onnxruntime(parsed);
}

std::optional<std::string> without_key(const std::string& text, const std::string& tensor) {
  json parsed = core::json_or_discarded<json>(text);
  if (parsed.is_discarded()) return std::nullopt;
  const char* inner = parsed.contains("ranges") ? "ranges" : parsed.contains("data") ? "data" : nullptr;
  json& entries = inner == nullptr ? parsed : parsed[inner];
  if (!entries.is_object() || entries.erase(tensor) == 0) return std::nullopt;
  return parsed.dump(1, ' ', false, json::error_handler_t::replace) + "\n";
}

}  // namespace assay::converters::tables
