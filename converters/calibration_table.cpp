#include "converters/calibration_table.hpp"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <sstream>

#include "harness/core/text.hpp"

namespace assay::converters {
namespace tables {
namespace {

constexpr std::size_t kShownCharacters = 80;
constexpr std::size_t kScaleDigits = 8;

/// Which calibrator a TensorRT header names. Its legacy calibrator takes a quantile that the file doesn't tell.
void read_header(CalibrationTable& table) {
  const std::string calibrator = table.header.substr(table.header.rfind('-') + 1);
  if (calibrator == "EntropyCalibration2") {
    table.method = Method::entropy;
    table.first_batch_bins = true;
  } else if (calibrator == "EntropyCalibration") {
    table.method = Method::entropy;
  } else if (calibrator == "MinMaxCalibration") {
    table.method = Method::minmax;
  }
}

std::string shown(const std::string& line) { return line.substr(0, kShownCharacters); }

/// A line of a file that may come from another system.
bool next_line(std::istream& lines, std::string& line) {
  if (!std::getline(lines, line)) return false;
  if (!line.empty() && line.back() == '\r') line.pop_back();
  return true;
}

core::Status add(CalibrationTable& table, const std::string& name, CalibrationTable::Range range, int number) {
  if (table.ranges.emplace(name, range).second) return core::success();
  return table_error(fmt::format("line {}: tensor \"{}\" stands there a second time", number, name));
}

}  // namespace

core::Error table_error(std::string message) {
  return {core::ErrorKind::invalid_data, "calibration cache: " + std::move(message), "", "", ""};
}

core::Result<CalibrationTable> parse_tensorrt(const std::string& text) {
  CalibrationTable table;
  table.form = "TensorRT's cache";
  table.magnitudes = true;
  table.symmetric = true;
  std::istringstream lines(text);
  next_line(lines, table.header);
  read_header(table);
  std::string line;
  for (int number = 2; next_line(lines, line); ++number) {
    if (line.empty()) continue;
    const auto colon = line.rfind(": ");
    const std::string digits = colon == std::string::npos ? "" : line.substr(colon + 2);
    std::uint32_t bits = 0;
    const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), bits, 16);
    const bool whole = read.ec == std::errc{} && read.ptr == digits.data() + digits.size();
    if (!whole || digits.size() != kScaleDigits) {
      return table_error(fmt::format("line {} is not \"tensor: hex\" with {} digits: {}{}", number, kScaleDigits,
                                     shown(line), lines.eof() ? "; the file is cut off there" : ""));
    }
    const auto scale = static_cast<double>(std::bit_cast<float>(bits));
    const std::string name = line.substr(0, colon);
    if (!std::isfinite(scale) || scale < 0) {
      return table_error(
          fmt::format("tensor \"{}\" has scale {}; scales are finite and positive", name, core::exact_text64(scale)));
    }
    const double high = scale * kTableDivisor;
    if (auto status = add(table, name, {-high, high}, number); !status) return status.error();
  }
  return table;
}

core::Result<CalibrationTable> parse_plain(const std::string& text) {
  CalibrationTable table;
  table.form = "ONNX Runtime's table (text)";
  table.magnitudes = true;
  table.symmetric = true;
  std::istringstream lines(text);
  std::string line;
  for (int number = 1; next_line(lines, line); ++number) {
    if (line.empty()) continue;
    const auto blank = line.rfind(' ');
    const auto high =
        blank == std::string::npos || blank == 0 ? std::nullopt : core::parse_number(line.substr(blank + 1));
    if (!high && number == 1) {
      return table_error(
          fmt::format("not a calibration table: neither JSON nor TensorRT's text form (a TRT-… line, then "
                      "\"tensor: hex\"), nor ONNX Runtime's \"tensor magnitude\" lines or FlatBuffers; it begins with "
                      "\"{}\"",
                      shown(line)));
    }
    if (!high) return table_error(fmt::format("line {} is not \"tensor magnitude\": {}", number, shown(line)));
    // A number that is cut off is a number too.
    if (lines.eof()) return table_error(fmt::format("line {} has no end; the file is cut off there", number));
    if (auto status = add(table, line.substr(0, blank), {-*high, *high}, number); !status) return status.error();
  }
  return table;
}

std::optional<std::string> without_line(const std::string& text, const std::string& tensor) {
  std::istringstream lines(text);
  std::string kept, line;
  bool found = false;
  for (bool first = true; std::getline(lines, line); first = false) {
    const std::string before = line.substr(0, line.rfind(' '));
    const bool entry = before == tensor || before == tensor + ":";
    const bool header = first && line.starts_with("TRT-");
    if (entry && !header) {
      found = true;
    } else {
      kept += line + "\n";
    }
  }
  return found ? std::optional(kept) : std::nullopt;
}

}  // namespace tables

std::optional<std::string> without_entry(const std::string& bytes, const std::string& tensor) {
  if (bytes.find('\0') != std::string::npos) return std::nullopt;
  return bytes.starts_with("{") ? tables::without_key(bytes, tensor) : tables::without_line(bytes, tensor);
}

core::Result<CalibrationTable> parse_calibration_table(const std::string& bytes) {
  const auto first = bytes.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) return tables::table_error("the file is empty");
  const auto parse = [&] {
    if (bytes.starts_with("TRT-")) return tables::parse_tensorrt(bytes);
    if (bytes.find('\0') != std::string::npos) return tables::parse_flatbuffers(bytes);
    return bytes[first] == '{' ? tables::parse_json(bytes) : tables::parse_plain(bytes);
  };
  auto table = parse();
  if (table && table->ranges.empty()) return tables::table_error(table->form + " holds no tensor");
  return table;
}

}  // namespace assay::converters
