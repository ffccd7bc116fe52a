#pragma once

#include <string>
#include <vector>

#include "results/store.hpp"

namespace assay::report {

/// What a command that shows a verdict again needs beside the verdict.
struct RunWords {
  std::vector<std::string> files;      ///< files_of() the selection
  std::vector<std::string> programs;   ///< each --converter-cmd
  std::vector<std::string> executors;  ///< each --execute-with
  std::vector<std::string> faults;     ///< each --fault
  std::string variant;
  bool metamorphic = false;
  std::string options;   ///< --options, where the command has it
  std::string artifact;  ///< --artifact, likewise
  std::string made_by;   ///< --made-by, likewise
};

/// Who made a verdict, as a command's options name them.
struct Makers {
  std::string converter;  ///< "NAME@VERSION"; empty for the embedded converter, and where the run named programs
  std::string executor;   ///< "NAME@VERSION" of --execute-with, or empty
};
[[nodiscard]] Makers makers_of(const results::JobKey& key, const RunWords& words);

/// Whether a word of a selection is meant as the path of a file or folder of cases, or of a suite: nothing else ends or
/// begins so.
[[nodiscard]] bool is_case_file(const std::string& word);

/// What of a selection a command that repeats one verdict must name: the path of a file or folder; all of the words
/// where there are others beside it, since each would select by itself.
[[nodiscard]] std::vector<std::string> files_of(const std::vector<std::string>& words);

/// Of a run's recorded command line. What it does not know it leaves out.
[[nodiscard]] RunWords run_words(const std::string& command);

/// "assay run CASE …": the shortest command that gives this verdict again.
[[nodiscard]] std::string repeat_command(const results::ResultRow& row, const RunWords& words);

}  // namespace assay::report
