#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "harness/cli/terminal.hpp"
#include "harness/run/runner.hpp"

namespace assay::cli {

/// What `assay run` prints of a run for people.
///
/// First who is judged and where the data come from; then a line for the first red verdicts of each cause (for
/// each verdict with Detail::everything, and of runs of a few verdicts); then what is not green, grouped by cause, with
/// the smallest case of each in full; then what changed since it was accepted; and one line of counts. On a terminal
/// the verdicts' lines are printed as they come, elsewhere in the order of the plan, so that the same run prints the
/// same.
class RunOutput {
 public:
  enum class Detail { last_line, usual, everything };
  struct Words {
    Detail detail = Detail::usual;
    std::string judged = {};  ///< who is judged, where it isn't the converters that take part: "artifact q.onnx"
    std::string changed_by;   ///< "fault bias_dropped", "variant tflite", or ""
    std::string selection;    ///< "suite default"
    std::string data;         ///< "data drawn from each case's seed"
    std::string database;     ///< " --db FILE" for the commands that are printed, or ""
    std::function<std::string(const run::RunReport&, const results::ResultRow&)> repeat;
    /// The graph that a verdict's case has; null where it has none.
    std::function<const model::Graph*(const results::ResultRow&)> graph;
    /// "the case sets per_axis true" of what a case's own options change in an option set; or "".
    std::function<std::string(const results::ResultRow&)> set_by_case;
  };
  RunOutput(Words words, Terminal out, Terminal progress) : words_(std::move(words)), out_(out), progress_(progress) {}

  void begin(const std::vector<run::RunProgram>& programs, std::size_t planned);
  /// Called after each verdict, one call at a time.
  void verdict(const results::ResultRow& row, std::size_t done, std::size_t planned);
  void end(const run::RunReport& report);
  /// Takes the progress line away, where the run ends otherwise.
  void clear() { progress_.clear(); }

 private:
  /// Counts what it shows and leaves out.
  [[nodiscard]] bool shows(const results::ResultRow& row);
  void print_verdict(const results::ResultRow& row) const;
  void print_causes(const run::RunReport& report) const;
  void print_drift(const run::RunReport& report) const;

  Words words_;
  Terminal out_;
  Progress progress_;
  std::vector<run::RunProgram> programs_;
  std::size_t planned_ = 0;
  std::map<std::string, std::size_t> of_cause_;  ///< red verdicts, by cause
  std::size_t shown_red_ = 0, left_out_ = 0;
};

/// "onnxruntime 1.31.1" of each program, with " and " before the last.
[[nodiscard]] std::string judged_programs(const std::vector<run::RunProgram>& programs);

/// The first line of what is said of one model: the artifact, or who converts, and where the data come from.
[[nodiscard]] std::string judged_line(const std::string& artifact, const run::RunReport& report,
                                      const std::string& data);

}  // namespace assay::cli
