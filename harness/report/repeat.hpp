#pragma once

#include <set>
#include <string>
#include <vector>

#include "results/store.hpp"

namespace assay::report {

/// What a command that shows a verdict again needs beside the verdict.
struct RunWords {
  std::vector<std::string> selection;  ///< the words that selected cases; none: suite default
  std::vector<std::string> programs;   ///< each --converter-cmd
  std::vector<std::string> executors;  ///< each --execute-with
  std::vector<std::string> faults;     ///< each --fault
  std::string variant;
  bool metamorphic = false;
  bool require_judged = false;
  bool no_sandbox = false;
  std::vector<std::string> reads, writes;  ///< each --reads and --writes
  std::string limits;                      ///< --timeout and --memory with their values, where the command has them
  std::string options;                     ///< --options, where the command has it
  std::string artifact;                    ///< --artifact, likewise
  std::string made_by;                     ///< --made-by, likewise
  std::string database;              ///< --db, where it isn't the usual one; a run's recorded command never has it
  std::set<std::string> own_labels;  ///< own_labels_of(selection)
};

/// Who made a verdict, as a command's options name them.
struct Makers {
  std::string converter;  ///< "NAME@VERSION"; empty for the embedded converter, and where the run named programs
  std::string executor;   ///< "NAME@VERSION" of --execute-with, or empty
};
[[nodiscard]] Makers makers_of(const results::JobKey& key, const RunWords& words);

/// Labels of the option sets of the suites that a selection names which mean other options where no suite is named.
[[nodiscard]] std::set<std::string> own_labels_of(const std::vector<std::string>& selection);

/// Whether a word of a selection is meant as the path of a file or folder of cases, or of a suite: nothing else ends or
/// begins so.
[[nodiscard]] bool is_case_file(const std::string& word);

/// Of a run's recorded command line. What it does not know it leaves out.
[[nodiscard]] RunWords run_words(const std::string& command);

/// "assay run CASE …": the shortest command that gives this verdict again, and no other. Files and folders of cases are
/// named, and the suite where it expected a failure or its option set has that label alone: with --only, and all words
/// of the selection, where one of them would select by itself.
[[nodiscard]] std::string repeat_command(const results::ResultRow& row, const RunWords& words);

}  // namespace assay::report
