#pragma once

#include <string>

#include "results/store.hpp"

namespace assay::report {

/// A verdict of the embedded converter; its gate is the usual one of `verdict`.
inline results::ResultRow made_row(const std::string& name, const std::string& verdict,
                                   const std::string& reason = "") {
  results::ResultRow row;
  row.key = {name, "default", "embedded", "1.0.0", "abcd"};
  row.family = name.substr(0, name.find('/'));
  row.case_hash = "1";
  row.verdict = verdict;
  row.gate = verdict == "pass" || verdict == "xfail"            ? "green"
             : verdict == "unsupported" || verdict == "skipped" ? "neutral"
             : verdict == "unjudged" || verdict == "mistrusted" ? "amber"
                                                                : "red";
  row.stage = verdict == "pass" ? "judge" : "artifact";
  row.facet = verdict == "pass" ? "" : "scale";
  row.reason = reason;
  row.seconds = 0.25;
  row.layers = "L0,L1,L2";
  return row;
}

inline results::RunInfo made_run(const std::string& command = "run default") {
  results::RunInfo run;
  run.id = "bd8590e9-98ce-4d24-9ce4-3df7f99defc0";
  run.command = command;
  run.suite = "default";
  run.started_at = "2026-01-31T12:00:00.123Z";
  run.finished_at = "2026-01-31T12:01:00.456Z";
  run.assay_version = "1.0.0";
  return run;
}

}  // namespace assay::report
