#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "harness/core/quant_params.hpp"
#include "harness/core/result.hpp"

namespace assay::results {

/// One planned verdict: a case under an option set by a converter version.
struct JobKey {
  std::string case_name, options, converter, version;
  friend auto operator<=>(const JobKey&, const JobKey&) = default;
};

struct MetricRow { std::string tensor, data_set, name; double value = 0; };
struct ParameterRow { std::string tensor; core::QuantParams params; };
struct PrecisionRow { std::string node, op, got; };
struct FindingRow { std::string stage, facet, node, op, tensor, data_set, layer, message; double margin = 0; };

/// One verdict as it is stored. Plain words, so that results depends on nothing of the judge.
struct ResultRow {
  JobKey key;
  std::string family, case_hash, converter_hash;
  std::string verdict, gate, stage, facet, node, op, reason, signature, style, layers, artifact_kind;
  std::optional<double> margin, sqnr_db;
  double seconds = 0;
  int attempt = 1;
  std::string started_at;  ///< UTC, ISO 8601
  std::vector<FindingRow> findings;
  std::vector<MetricRow> metrics;
  std::vector<ParameterRow> parameters;
  std::vector<PrecisionRow> precision;
};

struct RunInfo {
  std::string id;  ///< UUID
  std::string command, suite, started_at, finished_at, assay_version;
  std::size_t planned = 0;
};

/// The results database (DESIGN section 7). One writer: the parent process. Every call is its own transaction.
class Store {
 public:
  /// Opens or creates; migrates older schemas; refuses newer ones and files that are no database of Assay's, untouched.
  [[nodiscard]] static core::Result<Store> open(const std::filesystem::path& file);
  Store(Store&&) noexcept;
  Store& operator=(Store&&) noexcept;
  ~Store();

  [[nodiscard]] core::Result<std::string> begin_run(const RunInfo& info, const std::vector<JobKey>& planned);
  /// Marks a job as started, so that a killed run knows which one it held.
  [[nodiscard]] core::Status job_started(const std::string& run, const JobKey& key);
  [[nodiscard]] core::Status record(const std::string& run, const ResultRow& row);
  [[nodiscard]] core::Status finish_run(const std::string& run);

  /// The newest unfinished run of the same command, for --resume.
  [[nodiscard]] core::Result<std::optional<RunInfo>> unfinished_run(const std::string& suite);
  /// Planned jobs of a run by state: done, started but never recorded (killed), not started.
  struct Progress { std::vector<JobKey> done, started, waiting; };
  [[nodiscard]] core::Result<Progress> progress(const std::string& run);
  [[nodiscard]] core::Result<std::vector<ResultRow>> results(const std::string& run);
  [[nodiscard]] core::Result<std::vector<RunInfo>> runs();
  struct HistoryRow { RunInfo run; ResultRow result; };
  /// A case's series, oldest first.
  [[nodiscard]] core::Result<std::vector<HistoryRow>> history(const std::string& case_pattern);

 private:
  struct State;
  explicit Store(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace assay::results
