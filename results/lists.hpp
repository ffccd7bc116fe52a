#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "results/store.hpp"

namespace assay::results {

// What belongs to a verdict, as JSON lists in the database (docs/database.md): one list for each kind, so that a list
// that several verdicts share is stored once. Measured numbers stand apart from what they measure, since they differ
// where the rest doesn't. "" is an empty list. Reading leaves out what it can't read.

[[nodiscard]] std::string findings_text(const std::vector<FindingRow>& rows);
[[nodiscard]] std::string metric_names_text(const std::vector<MetricRow>& rows);
[[nodiscard]] std::string metric_values_text(const std::vector<MetricRow>& rows);
/// Scales that are all float32 values are written as such, in half the digits.
[[nodiscard]] std::string parameters_text(const std::vector<ParameterRow>& rows);
[[nodiscard]] std::string precision_text(const std::vector<PrecisionRow>& rows);
[[nodiscard]] std::string attempts_text(const std::vector<AttemptRow>& rows);
[[nodiscard]] std::string attempt_seconds_text(const std::vector<AttemptRow>& rows);
[[nodiscard]] std::string coverage_text(const std::vector<CoverageRow>& rows);
[[nodiscard]] std::string unjudged_text(const std::vector<UnjudgedRow>& rows);

[[nodiscard]] std::vector<FindingRow> read_findings(std::string_view text);
[[nodiscard]] std::vector<MetricRow> read_metrics(std::string_view names, std::string_view values);
[[nodiscard]] std::vector<ParameterRow> read_parameters(std::string_view text);
[[nodiscard]] std::vector<PrecisionRow> read_precision(std::string_view text);
[[nodiscard]] std::vector<AttemptRow> read_attempts(std::string_view text, std::string_view seconds);
[[nodiscard]] std::vector<CoverageRow> read_coverage(std::string_view text);
[[nodiscard]] std::vector<UnjudgedRow> read_unjudged(std::string_view text);

/// The lists in which parameters were stored up to schema 14.
[[nodiscard]] std::vector<double> read_reals(std::string_view text);
[[nodiscard]] std::vector<std::int64_t> read_integers(std::string_view text);

/// "2026-01-31T12:00:00.123Z" as milliseconds since 1970; nothing for what is written otherwise.
[[nodiscard]] std::optional<std::int64_t> milliseconds_of(std::string_view time);
[[nodiscard]] std::string time_text(std::int64_t milliseconds);
/// The 32 bytes of a SHA-256 in 64 lower-case digits; "" for any other text.
[[nodiscard]] std::string hash_bytes(std::string_view digits);
[[nodiscard]] std::string hash_digits(std::string_view bytes);

}  // namespace assay::results
