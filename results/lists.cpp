#include "results/lists.hpp"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <cmath>
#include <cstdint>
#include <ctime>
#include <iterator>
#include <nlohmann/json.hpp>
#include <utility>

#include "harness/core/json.hpp"
#include "harness/core/quoted.hpp"
#include "harness/core/text.hpp"

namespace assay::results {
namespace {

using nlohmann::json;

// Writing: by hand, since a database takes in a million verdicts.

void put(std::string& out, std::string_view text) {
  constexpr unsigned char kFirstPlain = 0x20;
  out += '"';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < kFirstPlain) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}
void put(std::string& out, double value) {
  if (std::isfinite(value)) {
    fmt::format_to(std::back_inserter(out), "{}", value);  // the shortest that reads back
  } else {
    out += std::isnan(value) ? "\"NaN\"" : value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  }
}
template <typename Integer>
requires std::is_integral_v<Integer>
void put(std::string& out, Integer value) { fmt::format_to(std::back_inserter(out), "{}", value); }

template <typename T, typename PutRow>
std::string list_of(const std::vector<T>& rows, PutRow put_row) {
  if (rows.empty()) return {};
  std::string out = "[";
  for (const T& row : rows) {
    if (out.size() > 1) out += ',';
    put_row(out, row);
  }
  return out += ']';
}

template <typename First, typename... Rest>
void put_all(std::string& out, const First& first, const Rest&... rest) {
  out += '[';
  put(out, first);
  ((out += ',', put(out, rest)), ...);
  out += ']';
}

/// The shortest text of a float32 that is read back through a double; "" where there is none.
std::string float_text(double value) {
  const auto narrow = static_cast<float>(value);
  if (static_cast<double>(narrow) != value) return {};
  std::string text = fmt::format("{}", narrow);
  return static_cast<float>(std::strtod(text.c_str(), nullptr)) == narrow ? text : std::string();
}

/// Of a parameter the scales: true where they were written as float32 values.
bool put_floats(std::string& out, const std::vector<double>& values) {
  const std::size_t before = out.size();
  out += '[';
  for (const double value : values) {
    if (out.size() > before + 1) out += ',';
    if (!std::isfinite(value)) {
      put(out, value);
      continue;
    }
    const std::string text = float_text(value);
    if (text.empty()) {
      out.resize(before);
      return false;
    }
    out += text;
  }
  out += ']';
  return true;
}

template <typename T>
void put_list(std::string& out, const std::vector<T>& values) {
  out += '[';
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ',';
    put(out, values[i]);
  }
  out += ']';
}

void put_parameter(std::string& out, const ParameterRow& row) {
  const core::QuantParams& params = row.params;
  out += '[';
  put(out, row.tensor);
  out += ',';
  put(out, core::dtype_name(params.type));
  out += ',';
  if (params.axis) {
    put(out, *params.axis);
  } else {
    out += "null";
  }
  out += ',';
  put(out, params.block);
  const std::size_t before = out.size();
  out += ",\"float32\",";
  if (!put_floats(out, params.scale)) {
    out.resize(before);
    out += ",\"double\",";
    put_list(out, params.scale);
  }
  out += ',';
  put_list(out, params.zero_point);
  out += ']';
}

// Reading. A stranger's file may hold anything.

std::string word(const json& value) {
  return value.is_string() ? core::visible_text(value.get_ref<const std::string&>()) : std::string();
}
double real(const json& value) {
  if (value.is_number()) return value.get<double>();
  if (value == "Infinity") return HUGE_VAL;
  if (value == "-Infinity") return -HUGE_VAL;
  return std::nan("");
}
std::int64_t integer(const json& value) {
  if (value.is_number_unsigned()) {
    const auto whole = value.get<std::uint64_t>();
    return std::in_range<std::int64_t>(whole) ? static_cast<std::int64_t>(whole) : 0;
  }
  return value.is_number_integer() ? value.get<std::int64_t>() : 0;
}
std::size_t count(const json& value) {
  const std::int64_t number = integer(value);
  return number < 0 ? 0 : static_cast<std::size_t>(number);
}

/// Hands each element with `width` elements of its own to `take`, with its place.
template <typename Take>
void each_list(std::string_view text, std::size_t width, Take take) {
  if (text.empty()) return;
  const auto all = core::json_or_discarded<json>(text);
  if (!all.is_array()) return;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (all[i].is_array() && all[i].size() == width) take(i, all[i]);
  }
}

}  // namespace

std::string findings_text(const std::vector<FindingRow>& rows) {
  return list_of(rows, [](std::string& out, const FindingRow& f) {
    put_all(out, f.stage, f.facet, f.node, f.op, f.tensor, f.data_set, f.layer, f.message, f.margin, f.amber ? 1 : 0);
  });
}
std::string metric_names_text(const std::vector<MetricRow>& rows) {
  return list_of(rows, [](std::string& out, const MetricRow& m) { put_all(out, m.tensor, m.data_set, m.name); });
}
std::string metric_values_text(const std::vector<MetricRow>& rows) {
  return list_of(rows, [](std::string& out, const MetricRow& m) { put(out, m.value); });
}
std::string parameters_text(const std::vector<ParameterRow>& rows) { return list_of(rows, put_parameter); }
std::string precision_text(const std::vector<PrecisionRow>& rows) {
  return list_of(rows, [](std::string& out, const PrecisionRow& p) { put_all(out, p.node, p.op, p.got); });
}
std::string attempts_text(const std::vector<AttemptRow>& rows) {
  return list_of(rows,
                 [](std::string& out, const AttemptRow& a) { put_all(out, a.request, a.number, a.outcome, a.reason); });
}
std::string attempt_seconds_text(const std::vector<AttemptRow>& rows) {
  return list_of(rows, [](std::string& out, const AttemptRow& a) { put(out, a.seconds); });
}
std::string coverage_text(const std::vector<CoverageRow>& rows) {
  return list_of(rows, [](std::string& out, const CoverageRow& c) { put_all(out, c.op, c.nodes, c.judged); });
}
std::string unjudged_text(const std::vector<UnjudgedRow>& rows) {
  return list_of(rows, [](std::string& out, const UnjudgedRow& u) { put_all(out, u.node, u.op, u.reason); });
}

std::vector<FindingRow> read_findings(std::string_view text) {
  std::vector<FindingRow> rows;
  each_list(text, 10, [&](std::size_t /*place*/, const json& f) {
    rows.push_back({word(f[0]), word(f[1]), word(f[2]), word(f[3]), word(f[4]), word(f[5]), word(f[6]), word(f[7]),
                    real(f[8]), integer(f[9]) != 0});
  });
  return rows;
}

std::vector<MetricRow> read_metrics(std::string_view names, std::string_view values) {
  std::vector<MetricRow> rows;
  const std::vector<double> numbers = read_reals(values);
  each_list(names, 3, [&](std::size_t place, const json& m) {
    if (place < numbers.size()) rows.push_back({word(m[0]), word(m[1]), word(m[2]), numbers[place]});
  });
  return rows;
}

std::vector<ParameterRow> read_parameters(std::string_view text) {
  std::vector<ParameterRow> rows;
  each_list(text, 7, [&](std::size_t /*place*/, const json& p) {
    ParameterRow row;
    row.tensor = word(p[0]);
    row.params.type = core::parse_dtype(word(p[1])).value_or(core::DType::undefined);
    if (p[2].is_number_integer()) row.params.axis = integer(p[2]);
    row.params.block = integer(p[3]);
    const bool narrow = p[4] == "float32";
    for (const json& value : p[5]) {
      const double number = real(value);
      row.params.scale.push_back(narrow ? static_cast<double>(static_cast<float>(number)) : number);
    }
    for (const json& value : p[6]) row.params.zero_point.push_back(integer(value));
    rows.push_back(std::move(row));
  });
  return rows;
}

std::vector<PrecisionRow> read_precision(std::string_view text) {
  std::vector<PrecisionRow> rows;
  each_list(text, 3, [&](std::size_t /*place*/, const json& p) {
    rows.push_back({word(p[0]), word(p[1]), word(p[2])});
  });
  return rows;
}

std::vector<AttemptRow> read_attempts(std::string_view text, std::string_view seconds) {
  std::vector<AttemptRow> rows;
  const std::vector<double> numbers = read_reals(seconds);
  each_list(text, 4, [&](std::size_t place, const json& a) {
    rows.push_back({word(a[0]), static_cast<int>(integer(a[1])), word(a[2]), word(a[3]),
                    place < numbers.size() ? numbers[place] : 0});
  });
  return rows;
}

std::vector<CoverageRow> read_coverage(std::string_view text) {
  std::vector<CoverageRow> rows;
  each_list(text, 3, [&](std::size_t /*place*/, const json& c) {
    rows.push_back({word(c[0]), count(c[1]), count(c[2])});
  });
  return rows;
}

std::vector<UnjudgedRow> read_unjudged(std::string_view text) {
  std::vector<UnjudgedRow> rows;
  each_list(text, 3, [&](std::size_t /*place*/, const json& u) {
    rows.push_back({word(u[0]), word(u[1]), word(u[2])});
  });
  return rows;
}

std::vector<double> read_reals(std::string_view text) {
  std::vector<double> values;
  if (text.empty()) return values;
  const auto all = core::json_or_discarded<json>(text);
  if (!all.is_array()) return values;
  for (const json& value : all) values.push_back(real(value));
  return values;
}

std::vector<std::int64_t> read_integers(std::string_view text) {
  std::vector<std::int64_t> values;
  const auto all = core::json_or_discarded<json>(text);
  if (!all.is_array()) return values;
  for (const json& value : all) values.push_back(integer(value));
  return values;
}

std::string time_text(std::int64_t milliseconds) {
  constexpr std::int64_t kThousand = 1000;
  return fmt::format("{:%Y-%m-%dT%H:%M:%S}.{:03}Z", fmt::gmtime(static_cast<std::time_t>(milliseconds / kThousand)),
                     milliseconds % kThousand);
}

std::optional<std::int64_t> milliseconds_of(std::string_view time) {
  constexpr std::string_view kForm = "0000-00-00T00:00:00.000Z";
  if (time.size() != kForm.size()) return std::nullopt;
  std::int64_t parts[7] = {};
  std::size_t part = 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    const bool digit = time[i] >= '0' && time[i] <= '9';
    if (digit != (kForm[i] == '0') || (!digit && time[i] != kForm[i])) return std::nullopt;
    if (digit) {
      parts[part] = parts[part] * 10 + (time[i] - '0');
    } else {
      ++part;
    }
  }
  using std::chrono::year_month_day;
  const year_month_day date(std::chrono::year(static_cast<int>(parts[0])),
                            std::chrono::month(static_cast<unsigned>(parts[1])),
                            std::chrono::day(static_cast<unsigned>(parts[2])));
  constexpr std::int64_t kFirstYear = 1970, kHours = 24, kSixty = 60, kThousand = 1000;
  if (!date.ok() || parts[0] < kFirstYear || parts[3] >= kHours || parts[4] >= kSixty || parts[5] >= kSixty) {
    return std::nullopt;
  }
  const std::int64_t days = std::chrono::sys_days(date).time_since_epoch().count();
  return (((days * kHours + parts[3]) * kSixty + parts[4]) * kSixty + parts[5]) * kThousand + parts[6];
}

std::string hash_bytes(std::string_view digits) {
  constexpr std::size_t kDigits = 64;
  if (digits.size() != kDigits) return {};
  std::string bytes;
  for (std::size_t i = 0; i < digits.size(); i += 2) {
    int byte = 0;
    for (const char c : digits.substr(i, 2)) {
      const bool decimal = c >= '0' && c <= '9';
      if (!decimal && (c < 'a' || c > 'f')) return {};
      byte = byte * 16 + (decimal ? c - '0' : c - 'a' + 10);
    }
    bytes.push_back(static_cast<char>(byte));
  }
  return bytes;
}

std::string hash_digits(std::string_view bytes) {
  std::string digits;
  for (const char byte : bytes) {
    fmt::format_to(std::back_inserter(digits), "{:02x}", static_cast<unsigned>(static_cast<unsigned char>(byte)));
  }
  return digits;
}

}  // namespace assay::results
