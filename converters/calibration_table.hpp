#pragma once

#include <map>
#include <optional>
#include <string>

#include "converters/converter.hpp"
#include "harness/core/result.hpp"

namespace assay::converters {

/// What a table was made from; ranges of other origin are of no use.
struct TableOrigin {
  std::string model;                        ///< sha256 of the serialized original
  std::map<std::string, std::string> data;  ///< by input: sha256 over every batch; empty without data
  std::string method;                       ///< "minmax", "percentile 99.99", "entropy symmetric"
  friend bool operator==(const TableOrigin&, const TableOrigin&) = default;
};

/// A calibration table, whichever program wrote it.
struct CalibrationTable {
  struct Range {
    double low = 0, high = 0;
    friend bool operator==(const Range&, const Range&) = default;
  };
  std::string form;    ///< "Assay's cache", "TensorRT's cache", "ONNX Runtime's table (JSON)" …
  std::string header;  ///< TensorRT's first line
  std::map<std::string, Range> ranges;
  /// Holds one magnitude a tensor (low = −high), for int8 codes around zero with scale high / 127. As it was written: a
  /// writer that forgets the sign of a range leaves a negative one.
  bool magnitudes = false;
  std::optional<Method> method;  ///< as the file states it
  bool symmetric = false;        ///< the method was a symmetric one, as the file states it
  std::optional<double> percentile;
  bool first_batch_bins = false;      ///< TensorRT's entropy-2: its histogram's bins come from the first batch
  std::optional<TableOrigin> origin;  ///< Assay's cache only
};

/// Divisor of a magnitude: TensorRT and ONNX Runtime leave code −128 unused.
inline constexpr double kTableDivisor = 127;
/// Of Assay's own form.
inline constexpr int kTableVersion = 1;

/// Reads a calibration table of Assay (JSON), TensorRT (a "TRT-…" line, then "tensor: hex", the big-endian bits of the
/// float32 scale; split at the last ": ", since names hold colons and blanks) or ONNX Runtime (calibration.json,
/// calibration.cache with "tensor magnitude" lines, calibration.flatbuffers). The form is told by the content.
/// Errors   invalid_data, naming the line, key or offset; a table without tensors is one.
[[nodiscard]] core::Result<CalibrationTable> parse_calibration_table(const std::string& bytes);

/// The table without the entry of `tensor`, in the form that it has: Assay's cache, ONNX Runtime's JSON, or lines.
/// Nothing where it has no such entry, or is a FlatBuffer.
[[nodiscard]] std::optional<std::string> without_entry(const std::string& bytes, const std::string& tensor);

enum class HeaderWord { version, method };
/// The table of another version of its form, or of another calibration method, as its header says; every number is
/// twice what it was, since there it means something else. Assay's cache and TensorRT's; nothing for the others, whose
/// header has no such word.
[[nodiscard]] std::optional<std::string> with_other_header(const std::string& bytes, HeaderWord word);

namespace tables {
/// The parts of parse_calibration_table, by form.
[[nodiscard]] core::Result<CalibrationTable> parse_tensorrt(const std::string& text);
[[nodiscard]] core::Result<CalibrationTable> parse_json(const std::string& text);
[[nodiscard]] core::Result<CalibrationTable> parse_plain(const std::string& text);
[[nodiscard]] core::Result<CalibrationTable> parse_flatbuffers(const std::string& bytes);
/// The parts of without_entry.
[[nodiscard]] std::optional<std::string> without_line(const std::string& text, const std::string& tensor);
[[nodiscard]] std::optional<std::string> without_key(const std::string& text, const std::string& tensor);
[[nodiscard]] core::Error table_error(std::string message);
}  // namespace tables

}  // namespace assay::converters
